//! What tokens, attention and graphs say of a step, each on its own.

use super::evidence::{Evidence, Packed};
use super::options::DetectOptions;
use crate::step::{Phase, Source};

/// A phase and how sure it is.
pub(super) type Basis = (Phase, f64);

/// What a layer says of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Verdict {
    pub(super) phase: Phase,
    pub(super) source: Source,
    pub(super) confidence: f64,
}

impl Verdict {
    pub(super) const NONE: Verdict =
        Verdict { phase: Phase::Unknown, source: Source::Nothing, confidence: 0.0 };
}

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

/// Decides by tokens.
pub(super) fn by_tokens(
    evidence: &Evidence,
    options: &DetectOptions,
    is_language_model: bool,
) -> Option<Verdict> {
    let threshold = options.decode_threshold;
    let verdict = |(phase, confidence)| Verdict { phase, source: Source::Tokens, confidence };
    // Models of images attend too and have neither phase; those that read images to write of them have logits.
    let writes_text = is_language_model && (evidence.images == 0 || evidence.logit_rows().is_some());
    if writes_text && let Some(found) = by_request(evidence, threshold) {
        return found.map(verdict);
    }
    let has_graphs = evidence.graph_launches > 0;
    let most_generated = most_generated(options, has_graphs);
    let found = match (evidence.tokens(), evidence.logit_rows()) {
        // More than the engine's requests can be extended by.
        (Some(tokens), _) if writes_text && most_generated.is_some_and(|most| tokens > most) => {
            Some((Phase::Prefill, PLAIN))
        }
        (Some(tokens), Some(rows)) => {
            let most = most_generated.unwrap_or(MOST_GENERATED);
            by_rows(tokens, evidence.chosen_rows().unwrap_or(rows), threshold, has_graphs, most)
        }
        // A rank without head, or a chunk whose logits nobody wants.
        (Some(tokens), None) if writes_text && most_generated.is_none() && tokens > MOST_REQUESTS => {
            Some((Phase::Prefill, BY_SIZE))
        }
        _ => None,
    };
    found.map(verdict)
}

/// Most tokens of a step of generation alone, where it is known how many requests the engine runs at a time: each may
/// have as many drafts as the threshold says, and a replayed graph has the size that the batch was padded to.
fn most_generated(options: &DetectOptions, has_graphs: bool) -> Option<i64> {
    let requests = options.max_num_seqs?;
    let tokens = requests.saturating_mul(options.decode_threshold.max(1));
    Some(if has_graphs { tokens.max(captured_size(requests)) } else { tokens })
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

/// Tokens against rows of logits, in engines that pack all requests into one dimension; `most` is how many tokens
/// generation alone may have.
fn by_rows(tokens: i64, rows: i64, threshold: i64, has_graphs: bool, most: i64) -> Option<Basis> {
    if rows <= 0 {
        return None;
    }
    if tokens <= rows {
        // Logits of all tokens of a prompt, asked for with their probabilities.
        return Some(if rows > most { (Phase::Prefill, BY_SIZE) } else { (Phase::Decode, PLAIN) });
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

/// Confidence of names and shapes of attention.
const BY_ATTENTION: f64 = 0.8;

/// Decides by attention. Attention of both kinds in one step is a mixed one.
pub(super) fn by_attention(evidence: &Evidence, threshold: i64) -> Option<Verdict> {
    let (context, generation) = kinds(evidence, threshold);
    // A kernel of either kind beside generation's own leaves open what it is for.
    if generation && !context && evidence.attends_otherwise() {
        return None;
    }
    let phase = Phase::from_kinds(context, generation)?;
    Some(Verdict { phase, source: Source::Attention, confidence: BY_ATTENTION })
}

/// A step that processes prompts is a mixed one if some attention of it is generation's.
pub(super) fn with_generation(phase: Phase, evidence: &Evidence) -> Phase {
    let is_mixed =
        phase == Phase::Prefill && evidence.context_attention > 0 && evidence.generation_attention > 0;
    if is_mixed { Phase::Mixed } else { phase }
}

/// Whether attention of prompts and whether attention of generation is seen.
fn kinds(evidence: &Evidence, threshold: i64) -> (bool, bool) {
    let (mut context, mut generation) = (evidence.context_attention > 0, evidence.generation_attention > 0);
    match packed(evidence, threshold) {
        Some((Phase::Decode, _)) => generation = true,
        Some(_) => context = true,
        None => {}
    }
    (context, generation)
}

/// What shows whether requests are extended beside prompts: the phase of a step that processes some. `None` where the
/// step could be either.
pub(super) fn beside_prompts(evidence: &Evidence) -> Option<Phase> {
    let names = [evidence.named_kernel_time, evidence.named_operator_calls];
    let (context, generation) = (evidence.context_attention > 0, evidence.generation_attention > 0);
    if context && generation {
        return Some(Phase::Mixed);
    }
    if let Some(phase) = evidence.packed.and_then(by_longest) {
        return Some(phase);
    }
    let is_alone = evidence.chosen_rows() == Some(1)
        // Requests that have a dimension of their own have as many new tokens each.
        || evidence.lengths.is_some()
        || evidence.tokens_per_request.is_some()
        // What attends to prompts, without what attends for generation.
        || (context && !generation)
        || names.into_iter().any(|weights| Phase::from_weights(weights) == Some(Phase::Prefill));
    is_alone.then_some(Phase::Prefill)
}

/// The lengths of packed sequences, of which prompts are some: where all are as long as the longest, they are prompts.
/// Where the others do not have two tokens each, one of them at least has a single one, as generation has.
fn by_longest(packed: Packed) -> Option<Phase> {
    if packed.requests == 1 {
        return Some(Phase::Prefill);
    }
    let longest = packed.longest?;
    let others = packed.requests.saturating_sub(1);
    let tokens_of_others = packed.rows.saturating_sub(longest);
    if longest.saturating_mul(packed.requests) == packed.rows {
        Some(Phase::Prefill)
    } else if tokens_of_others < others.saturating_mul(2) {
        Some(Phase::Mixed)
    } else {
        None
    }
}

fn packed(evidence: &Evidence, threshold: i64) -> Option<Basis> {
    let Packed { rows, requests, .. } = evidence.packed?;
    if rows <= requests {
        return Some((Phase::Decode, BY_ATTENTION));
    }
    (rows > requests.saturating_mul(threshold.max(1))).then_some((Phase::Prefill, BY_ATTENTION))
}

/// Confidence of the way graphs are used.
const BY_GRAPHS: f64 = 0.7;

/// Decides by graphs: engines capture the whole model for batches of one token per request, whose shapes recur, and
/// leave prompts to eager launches or to graphs in pieces around attention. So one graph that is most of a step is a
/// decode step, and so are several with attention in each: passes of one step, which drafts or schedules ahead. Models
/// of images are captured whole too.
pub(super) fn by_graphs(evidence: &Evidence) -> Option<Verdict> {
    let most_of_step = evidence.graph_time.saturating_mul(2) > evidence.device_time
        // Attention is in every layer: what is outside of a graph with all of it is the head and the choice of tokens.
        || (evidence.attending_graphs > 0 && evidence.eager_attention_kernels == 0);
    let are_whole = match evidence.graph_launches {
        0 => false,
        1 => true,
        launches => evidence.attending_graphs == launches,
    };
    let is_decode = are_whole
        && most_of_step
        && evidence.eager_attention == 0
        && evidence.images == 0
        && evidence.projected_rows.is_none();
    is_decode.then_some(Verdict { phase: Phase::Decode, source: Source::Graphs, confidence: BY_GRAPHS })
}

#[cfg(test)]
mod tokens_tests {
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
                by_rows(tokens, rows, 10, graphs, MOST_GENERATED).map(|found| found.0),
                expected,
                "{tokens} {rows} {graphs}"
            );
        }
    }

    #[test]
    fn more_tokens_than_the_engines_requests_can_have_are_prompts() {
        let phase = |tokens, rows: Option<i64>, max_num_seqs, decode_threshold| {
            let evidence = Evidence { token_rows: Some(tokens), head_rows: rows, ..Evidence::default() };
            let options = DetectOptions { max_num_seqs, decode_threshold, ..DetectOptions::default() };
            by_tokens(&evidence, &options, true).map(|verdict| verdict.phase)
        };
        let (decode, prefill) = (Some(Phase::Decode), Some(Phase::Prefill));
        // A rank without logits.
        assert_eq!([phase(700, None, None, 10), phase(700, None, Some(64), 10)], [None, prefill]);
        assert_eq!(phase(600, None, Some(64), 10), None);
        // Logits of all tokens of prompts, or of drafts.
        assert_eq!([phase(700, Some(700), None, 10), phase(700, Some(700), Some(64), 10)], [decode, prefill]);
        assert_eq!(phase(600, Some(600), Some(64), 10), decode);
        assert_eq!(phase(600, Some(600), Some(64), 1), prefill);
        // A large engine verifies more drafts than others.
        assert_eq!(
            [phase(6000, Some(6000), None, 10), phase(6000, Some(6000), Some(1024), 10)],
            [prefill, decode]
        );
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

#[cfg(test)]
mod attention_tests {
    use super::*;

    #[test]
    fn packed_sequences_of_one_token_are_generation() {
        for (rows, requests, expected) in
            [(64, 64, Some(Phase::Decode)), (4096, 4, Some(Phase::Prefill)), (128, 32, None)]
        {
            let packed = Some(Packed { rows, requests, longest: None });
            let evidence = Evidence { packed, ..Evidence::default() };
            assert_eq!(by_attention(&evidence, 10).map(|verdict| verdict.phase), expected);
        }
    }

    #[test]
    fn names_of_both_kinds_are_a_mixed_step() {
        let evidence = Evidence { context_attention: 2, generation_attention: 2, ..Evidence::default() };
        assert_eq!(by_attention(&evidence, 10).map(|verdict| verdict.phase), Some(Phase::Mixed));
        assert_eq!(with_generation(Phase::Prefill, &evidence), Phase::Mixed);
        assert_eq!(with_generation(Phase::Decode, &evidence), Phase::Decode);
    }

    #[test]
    fn lengths_of_packed_sequences_show_generation_beside_prompts() {
        use Phase::{Mixed, Prefill};
        for (rows, requests, longest, expected) in [
            (900, 1, None, Some(Prefill)),
            (2048, 4, Some(512), Some(Prefill)),
            (2048 + 3, 4, Some(2048), Some(Mixed)),
            // A chunk, a prompt of 40, and two that are extended: one of three has a single token for certain only
            // where fewer than six are left.
            (2048 + 5, 4, Some(2048), Some(Mixed)),
            (2048 + 42, 4, Some(2048), None),
            (2048, 4, None, None),
        ] {
            let evidence =
                Evidence { packed: Some(Packed { rows, requests, longest }), ..Evidence::default() };
            assert_eq!(beside_prompts(&evidence), expected, "{rows} {requests} {longest:?}");
        }
    }

    #[test]
    fn prompts_are_known_to_be_alone_by_what_attends_to_them() {
        let none = Evidence::default();
        for (evidence, expected) in [
            (Evidence { plain_attention_kernels: 4, head_rows: Some(9), ..none.clone() }, None),
            (Evidence { head_rows: Some(1), ..none.clone() }, Some(Phase::Prefill)),
            (Evidence { context_attention: 4, ..none.clone() }, Some(Phase::Prefill)),
            (Evidence { context_attention: 4, generation_attention: 4, ..none.clone() }, Some(Phase::Mixed)),
            (Evidence { lengths: Some((300, None)), ..none.clone() }, Some(Phase::Prefill)),
            (Evidence { generation_attention: 4, ..none }, None),
        ] {
            assert_eq!(beside_prompts(&evidence), expected, "{evidence:?}");
        }
    }
}

#[cfg(test)]
mod graphs_tests {
    use super::*;

    #[test]
    fn one_graph_that_is_most_of_a_step_is_decode() {
        let whole = Evidence { graph_launches: 1, graph_time: 90, device_time: 100, ..Evidence::default() };
        assert_eq!(by_graphs(&whole).map(|verdict| verdict.phase), Some(Phase::Decode));
        let pieces = Evidence { graph_launches: 25, eager_attention: 24, ..whole.clone() };
        assert_eq!(by_graphs(&pieces), None);
        let ahead = Evidence { graph_launches: 3, attending_graphs: 3, ..whole.clone() };
        assert_eq!(by_graphs(&ahead).map(|verdict| verdict.phase), Some(Phase::Decode));
        let small = Evidence { graph_time: 40, ..whole.clone() };
        assert_eq!(by_graphs(&small), None);
        let image = Evidence { images: 1, ..whole };
        assert_eq!(by_graphs(&image), None);
    }
}
