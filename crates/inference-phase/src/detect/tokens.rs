//! Tokens against rows of logits, and new tokens per request.
//!
//! A request in generation brings one token into a step, or the few that were drafted for it, and wants logits after
//! every one of them. A prompt brings many and wants logits after its last alone.

use super::evidence::Evidence;
use super::{Basis, Verdict};
use crate::phase::Phase;
use crate::step::Source;

/// Confidence of a comparison of tokens with rows of logits that leaves no doubt.
const PLAIN: f64 = 0.9;
/// Confidence where padding or drafted tokens explain why there are more tokens than rows.
const EXPLAINED: f64 = 0.7;
/// Confidence of what only the number of tokens says.
const BY_SIZE: f64 = 0.5;

/// No engine extends more requests in one step, times drafted tokens; their limits are 256 to 1024 requests.
const MOST_GENERATED: i64 = 4096;
/// The same where tokens alone are known.
const MOST_REQUESTS: i64 = 2048;
/// Fewer requests than this may well have prompts of one length.
const REQUESTS_OF_CHANCE: i64 = 4;

/// Decides by tokens; `threshold` is the most new tokens per request that a generation step may have.
pub(super) fn decide(evidence: &Evidence, threshold: i64, is_language_model: bool) -> Option<Verdict> {
    let verdict = |(phase, confidence)| Verdict { phase, source: Source::Tokens, confidence };
    // Models of images attend too and have neither phase; those that read images to write of them have logits.
    let writes_text = is_language_model && (evidence.images == 0 || evidence.logit_rows().is_some());
    if writes_text && let Some(found) = by_request(evidence, threshold) {
        return found.map(verdict);
    }
    let found = match (evidence.tokens(), evidence.logit_rows()) {
        (Some(tokens), Some(rows)) => {
            let has_graphs = evidence.graph_launches > 0;
            // Where logits of all tokens were asked for with their probabilities, tokens are chosen for fewer.
            let chosen =
                evidence.sampled_rows.filter(|&chosen| chosen < rows && tokens <= rows && !has_graphs);
            by_rows(tokens, chosen.unwrap_or(rows), threshold, has_graphs)
        }
        // A rank without head, or a chunk whose logits nobody wants.
        (Some(tokens), None) if writes_text && tokens > MOST_REQUESTS => Some((Phase::Prefill, BY_SIZE)),
        _ => None,
    };
    found.map(verdict)
}

/// Where activations have a dimension of requests, the length of the other is the new tokens per request. `Some(None)`
/// where it leaves open which it is: frameworks of this kind compute logits of all tokens, which says nothing.
fn by_request(evidence: &Evidence, threshold: i64) -> Option<Option<Basis>> {
    if let Some((queries, keys)) = evidence.lengths {
        return Some(match keys {
            // A prompt in one piece, however short, attends to itself alone.
            Some(keys) if keys == queries && queries > 1 => Some((Phase::Prefill, PLAIN)),
            Some(keys) if queries == 1 && keys > 1 => Some((Phase::Decode, PLAIN)),
            None if queries == 1 => Some((Phase::Decode, PLAIN)),
            _ if queries > threshold => Some((Phase::Prefill, PLAIN)),
            _ => None,
        });
    }
    let tokens = evidence.tokens_per_request?;
    Some(match tokens {
        1 => Some((Phase::Decode, EXPLAINED)),
        _ if tokens > threshold => Some((Phase::Prefill, EXPLAINED)),
        _ => None,
    })
}

/// Tokens against rows of logits, in engines that pack all requests into one dimension.
fn by_rows(tokens: i64, rows: i64, threshold: i64, has_graphs: bool) -> Option<Basis> {
    if rows <= 0 {
        return None;
    }
    if tokens <= rows {
        // Logits of all tokens of a prompt, asked for with their probabilities.
        return Some(if rows > MOST_GENERATED { (Phase::Prefill, BY_SIZE) } else { (Phase::Decode, PLAIN) });
    }
    if tokens > rows.saturating_mul(threshold.max(1)) {
        return Some((Phase::Prefill, PLAIN));
    }
    if has_graphs && tokens <= captured_size(rows) {
        return Some((Phase::Decode, EXPLAINED));
    }
    // Few requests with a few tokens each: short prompts, or what a cached prefix left of long ones, or drafts.
    if rows < REQUESTS_OF_CHANCE {
        return None;
    }
    // As many for each of many requests are drafts; anything between is a chunk of a prompt beside a large batch.
    Some(if tokens % rows == 0 { (Phase::Decode, EXPLAINED) } else { (Phase::Prefill, EXPLAINED) })
}

/// The size that graphs are captured for and that a batch is padded to: engines capture 1, 2, 4, then every eighth
/// size, and larger steps from 256 on.
fn captured_size(rows: i64) -> i64 {
    match rows {
        ..=2 => rows,
        3..=4 => 4,
        5..=256 => padded_to(8, rows),
        _ => padded_to(64, rows),
    }
}

fn padded_to(multiple: i64, rows: i64) -> i64 {
    match rows.rem_euclid(multiple) {
        0 => rows,
        above => rows.saturating_add(multiple - above),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_against_rows_of_logits() {
        use Phase::{Decode, Prefill};
        for (tokens, rows, graphs, expected) in [
            // Recorded steps of engines.
            (15_360, 15, false, Some(Prefill)),
            (32, 32, false, Some(Decode)),
            (8192, 46, true, Some(Prefill)),
            (888, 1, false, Some(Prefill)),
            // A large batch, and one with four drafted tokens each, all of whose logits are wanted.
            (256, 256, false, Some(Decode)),
            (1024, 1024, false, Some(Decode)),
            (128, 128, false, Some(Decode)),
            // Drafted tokens of which only the last one's logits are wanted.
            (128, 32, false, Some(Decode)),
            // One short prompt, or two of one length.
            (7, 1, false, None),
            (14, 2, false, None),
            // A chunk beside a batch so large that the chunk is no tenfold of it.
            (2048, 257, false, Some(Prefill)),
            (95, 32, true, Some(Prefill)),
            // Padded to the size of a graph.
            (40, 33, true, Some(Decode)),
            (4, 3, true, Some(Decode)),
            (4, 3, false, None),
            // Logits of a whole prompt.
            (9000, 9000, false, Some(Prefill)),
            (0, 0, false, None),
        ] {
            assert_eq!(
                by_rows(tokens, rows, 10, graphs).map(|found| found.0),
                expected,
                "{tokens} {rows} {graphs}"
            );
        }
    }

    #[test]
    fn new_tokens_per_request_against_keys() {
        use Phase::{Decode, Prefill};
        for (queries, keys, expected) in [
            (1, Some(560), Some(Decode)),
            (1, None, Some(Decode)),
            (559, Some(559), Some(Prefill)),
            // A prompt of a few tokens, and its continuation after a cached prefix, which drafts look like too.
            (7, Some(7), Some(Prefill)),
            (7, Some(900), None),
            (70, Some(900), Some(Prefill)),
            (1, Some(1), None),
        ] {
            let evidence = Evidence { lengths: Some((queries, keys)), ..Evidence::default() };
            let found = by_request(&evidence, 10).flatten().map(|found| found.0);
            assert_eq!(found, expected, "{queries} {keys:?}");
        }
    }
}
