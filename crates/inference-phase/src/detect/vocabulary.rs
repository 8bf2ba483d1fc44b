//! Which projections compute logits, and how wide the vocabulary is.
//!
//! The language-model head is what tells requests from tokens: engines run it only for the tokens that a next token
//! is wanted after. It has to be found by shape, because every projection goes through the same few operators.

use gpu_timeline::SortFew;
use hashbrown::{HashMap, HashSet};

use super::calls::{Call, NARROWEST_VOCABULARY, ThreadItems, What};

/// What was found of the model's vocabulary.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    /// Shapes (inner, outer) of the weights of heads: a draft model has one of its own.
    heads: HashSet<(i64, i64)>,
    /// Widths of logits.
    widths: HashSet<i64>,
    /// Widths of the activations that heads read.
    hidden: HashSet<i64>,
    /// Whether a table of token embeddings or a head was seen at all, as in every language model's first or last rank.
    pub(super) seen: bool,
}

impl Vocabulary {
    pub(super) fn is_head(&self, inner: i64, outer: Option<i64>) -> bool {
        outer.is_some_and(|outer| self.heads.contains(&(inner, outer)))
    }

    /// Whether a matrix of this width is logits.
    pub(super) fn is_logits(&self, width: i64) -> bool {
        self.widths.contains(&width)
    }

    /// Whether activations of this width are those between layers. Without a head nothing tells them from others.
    pub(super) fn is_hidden(&self, width: i64) -> bool {
        self.hidden.is_empty() || self.hidden.contains(&width)
    }
}

/// A projection's weight, over the whole trace.
#[derive(Debug, Default)]
struct Weight {
    calls: usize,
    rows: HashSet<i64>,
    /// Calls with fewer rows than another projection of the same activations since the call before.
    selective: usize,
    /// Attention between its calls, all together.
    attention: usize,
}

/// Padding of a vocabulary to a multiple that suits the ranks and the hardware stays below this.
const LARGEST_PADDING: i64 = 1024;

/// No projection inside a layer has this many outputs unless another reads them.
const LEAST_VOCABULARY_WIDTH: i64 = 50_000;

/// Width from which the widest projection is taken for a head where nothing can be said against it.
const LIKELY_VOCABULARY: i64 = 16_384;

pub(super) fn find(threads: &[ThreadItems]) -> Vocabulary {
    let mut sampled: HashMap<i64, HashSet<i64>> = HashMap::new();
    let mut ranked: HashMap<i64, HashSet<i64>> = HashMap::new();
    let mut tables: HashSet<(i64, i64)> = HashSet::new();
    let mut weights: HashMap<(i64, i64), Weight> = HashMap::new();
    // By width of activations what is computed from them.
    let mut readers: HashMap<i64, HashSet<Option<i64>>> = HashMap::new();
    for thread in threads {
        weigh(thread, &mut weights);
        for item in &thread.items {
            match item.what {
                What::Call(Call::Sampling { rows, width, sure: true }) => {
                    sampled.entry(width).or_default().insert(rows);
                }
                What::Call(Call::Sampling { rows, width, sure: false }) => {
                    ranked.entry(width).or_default().insert(rows);
                }
                What::Call(Call::Embedding { entries, width, .. }) if entries >= NARROWEST_VOCABULARY => {
                    tables.insert((entries, width));
                }
                What::Call(Call::Projection { inner, outer, .. }) => {
                    readers.entry(inner).or_default().insert(outer);
                }
                _ => {}
            }
        }
    }
    // Sorted, so that equal traces give equal answers.
    let mut candidates: Vec<(i64, i64)> = weights.keys().copied().collect();
    candidates.sort_few_by_key(|&(inner, outer)| std::cmp::Reverse((outer, inner)));

    let mut vocabulary = Vocabulary { seen: !tables.is_empty(), ..Vocabulary::default() };
    vocabulary.widths.extend(sampled.keys());
    // Ranking over a vocabulary that something else knows; sparse attention ranks its keys.
    let known = |width: &i64| {
        sampled.contains_key(width)
            || tables.iter().any(|&(entries, _)| is_padded(entries, *width))
            || candidates.iter().any(|&(_, outer)| is_padded(outer, *width))
    };
    let mut choices = sampled.clone();
    for (width, rows) in ranked.into_iter().filter(|(width, _)| known(width)) {
        vocabulary.widths.insert(width);
        choices.entry(width).or_default().extend(rows);
    }
    let mut best = 0;
    let mut heads = Vec::new();
    for &(inner, outer) in &candidates {
        let weight = &weights[&(inner, outer)];
        let surety = surety((inner, outer), weight, &choices, &tables, &readers);
        if surety > best {
            (best, heads) = (surety, Vec::new());
        }
        // The widest alone where only its width speaks for it.
        if surety == best && surety > 0 && (surety > 1 || heads.is_empty()) {
            heads.push((inner, outer));
        }
    }
    for (inner, outer) in heads {
        vocabulary.seen = true;
        vocabulary.heads.insert((inner, outer));
        vocabulary.widths.insert(outer);
        vocabulary.hidden.insert(inner);
    }
    vocabulary
}

/// Counts of every weight's calls on one thread.
fn weigh(thread: &ThreadItems, weights: &mut HashMap<(i64, i64), Weight>) {
    let mut attention = 0usize;
    let mut attention_end = i64::MIN;
    // Per activation width the most rows so far, and per weight what these counts were at its last call.
    let mut last: HashMap<(i64, i64), usize> = HashMap::new();
    let mut rows_since: HashMap<i64, Vec<(i64, i64)>> = HashMap::new();
    let mut head_end = i64::MIN;
    for item in &thread.items {
        match item.what {
            What::Call(Call::Attention(_)) | What::Attends if item.start >= attention_end => {
                attention += 1;
                attention_end = item.end;
            }
            What::Launch(launch) if launch.is_graph => attention += launch.attention,
            What::Call(Call::Projection { rows, inner, outer: Some(outer), .. }) => {
                // Wrappers of one projection count once.
                let is_inner = item.start < head_end;
                head_end = head_end.max(item.end);
                let since = rows_since.entry(inner).or_default();
                if is_inner && since.last() == Some(&(rows, outer)) {
                    continue;
                }
                let weight = weights.entry((inner, outer)).or_default();
                weight.calls += 1;
                weight.rows.insert(rows);
                let before = last.insert((inner, outer), attention).unwrap_or(0);
                weight.attention += attention - before;
                let begin = since.iter().rposition(|&(_, other)| other == outer).map_or(0, |at| at + 1);
                if since[begin..].iter().any(|&(others, _)| others > rows) {
                    weight.selective += 1;
                }
                since.push((rows, outer));
                // A layer has few projections of the same activations; more than a few layers need not be looked at.
                if since.len() > 256 {
                    since.drain(..128);
                }
            }
            _ => {}
        }
    }
}

/// Whether logits of `padded` columns are of a vocabulary of `width`, padding cut off.
fn is_padded(padded: i64, width: i64) -> bool {
    padded.checked_sub(width).is_some_and(|padding| (0..LARGEST_PADDING).contains(&padding))
}

/// How sure it is that a weight is a head: 0 for not at all.
fn surety(
    (inner, outer): (i64, i64),
    weight: &Weight,
    choices: &HashMap<i64, HashSet<i64>>,
    tables: &HashSet<(i64, i64)>,
    readers: &HashMap<i64, HashSet<Option<i64>>>,
) -> u8 {
    // The table that embeds tokens, transposed; a rank has the same share of both.
    let is_embedded = tables.iter().any(|&(entries, width)| width == inner && is_padded(outer, entries));
    // Nothing multiplies logits; outputs of a gate or an up-projection go on to a weight of as many, or half as many,
    // inputs. This is what tells a vocabulary from a wider feed-forward layer.
    let reads = |width: i64| {
        let others = |other: &Option<i64>| (width, *other) != (inner, Some(outer));
        readers.get(&width).is_some_and(|outers| outers.iter().any(others))
    };
    let is_read = reads(outer) || (outer % 2 == 0 && reads(outer / 2));
    // A choice among as many.
    if choices.keys().any(|&width| outer == width || (is_padded(outer, width) && !is_read)) {
        return 5;
    }
    // Projections inside layers run once per attention, a head once per pass over all layers.
    let once_per_pass = weight.attention >= weight.calls.saturating_mul(2);
    // Rows are left out before a head; a projection inside a layer sees fewer rows only when a smaller step begins.
    let is_selective = weight.selective.saturating_mul(2) >= weight.calls;
    // A choice among what all ranks have, for as many requests. Many vocabularies are near a power of two, and so are
    // the widths of layers: what can be a layer's is no share.
    let is_share = choices.iter().any(|(&width, rows)| {
        [2, 4, 8, 16, 32, 64].into_iter().any(|ranks| {
            outer >= NARROWEST_VOCABULARY / ranks
                && is_padded(outer.saturating_mul(ranks), width)
                && !rows.is_disjoint(&weight.rows)
        })
    });
    let may_be_head = !is_read && (once_per_pass || is_selective || weight.attention == 0);
    match (is_share, is_embedded) {
        (true, true) => return 4,
        (true, false) if may_be_head => return 3,
        (false, true) => return 2,
        _ => {}
    }
    if outer < NARROWEST_VOCABULARY || is_read {
        return 0;
    }
    let is_unopposed = weight.attention == 0 && outer >= LIKELY_VOCABULARY;
    u8::from(outer >= LEAST_VOCABULARY_WIDTH || is_selective || once_per_pass || is_unopposed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::calls::AttentionCall;
    use crate::detect::calls::Item;
    use trace_ingest::{StringId, TraceBuilder};

    /// A thread that makes these calls one after the other.
    fn thread(calls: &[Call]) -> Vec<ThreadItems> {
        let track = TraceBuilder::new().track(1, 1);
        let items = calls
            .iter()
            .zip(0..)
            .map(|(&call, at)| Item {
                start: at * 10,
                end: at * 10 + 5,
                name: StringId::EMPTY,
                what: What::Call(call),
            })
            .collect();
        vec![ThreadItems { track, items }]
    }

    #[test]
    fn padding_of_damaged_sizes_is_none() {
        assert!(is_padded(50_304, 50_257));
        assert!(!is_padded(50_257, 50_304));
        assert!(!is_padded(i64::MAX, -1) && !is_padded(i64::MIN, 1));
    }

    fn mm(rows: i64, inner: i64, outer: i64) -> Call {
        Call::Projection { rows, inner, outer: Some(outer), per_request: None }
    }

    const ATTENTION: Call = Call::Attention(AttentionCall {
        rows: None,
        requests: None,
        longest: None,
        queries: None,
        keys: None,
    });

    fn layers(count: usize, rows: i64, widths: [i64; 3]) -> Vec<Call> {
        let [hidden, qkv, feed_forward] = widths;
        let layer = [
            mm(rows, hidden, qkv),
            ATTENTION,
            mm(rows, hidden, hidden),
            mm(rows, hidden, 2 * feed_forward),
            mm(rows, feed_forward, hidden),
        ];
        layer.repeat(count)
    }

    #[test]
    fn a_feed_forward_layer_wider_than_the_vocabulary_is_no_head() {
        // Llama 2 70B on one device: gate and up together have 57344 outputs, the vocabulary 32000.
        let mut calls = layers(4, 600, [8192, 10_240, 28_672]);
        calls.push(mm(3, 8192, 32_000));
        let vocabulary = find(&thread(&calls));
        assert!(vocabulary.is_head(8192, Some(32_000)));
        assert!(!vocabulary.is_head(8192, Some(57_344)));
    }

    #[test]
    fn a_rank_without_head_has_none() {
        // Multi-head latent attention: 24576 outputs that nothing reads as they are, once per layer.
        let vocabulary = find(&thread(&layers(4, 600, [7168, 24_576, 18_432])));
        assert!(!vocabulary.is_head(7168, Some(24_576)));
        assert!(!vocabulary.is_head(7168, Some(36_864)));
    }

    #[test]
    fn a_share_of_the_vocabulary_is_found_by_what_is_sampled_from_all_shares() {
        // 32000 entries on eight ranks, narrower than any vocabulary; and 128256 on eight, of a layer's width.
        for (share, all) in [(4000, 32_000), (16_032, 128_256)] {
            let mut calls = layers(4, 600, [8192, 1280, 3584]);
            calls.push(mm(3, 8192, share));
            calls.push(Call::Sampling { rows: 3, width: all, sure: true });
            assert!(find(&thread(&calls)).is_head(8192, Some(share)), "{share}");
        }
    }

    #[test]
    fn a_layer_whose_width_divides_the_vocabulary_is_no_share_of_it() {
        // 4096 on eight ranks would be 32768, within the padding of 32000; in decode the rows agree as well.
        for (hidden, all) in [(4096, 32_000), (8192, 32_000), (4096, 131_072)] {
            let mut calls = layers(4, 30, [hidden, 6144, 14_336]);
            calls.push(mm(30, hidden, all));
            calls.push(Call::Sampling { rows: 30, width: all, sure: true });
            let vocabulary = find(&thread(&calls));
            assert!(vocabulary.is_head(hidden, Some(all)) && !vocabulary.is_head(hidden, Some(hidden)));
            // The same where graphs hide the head.
            calls.remove(calls.len() - 2);
            assert!(!find(&thread(&calls)).is_head(hidden, Some(hidden)));
        }
    }

    #[test]
    fn a_ranking_of_keys_is_no_vocabulary() {
        let calls = [Call::Sampling { rows: 600, width: 65_536, sure: false }, mm(600, 7168, 1536)];
        assert!(!find(&thread(&calls)).is_logits(65_536));
    }

    #[test]
    fn logits_after_attention_of_all_layers_are_found_among_decode_steps_alone() {
        let mut calls = Vec::new();
        for _ in 0..3 {
            calls.extend(layers(4, 256, [4096, 6144, 14_336]));
            calls.push(mm(256, 4096, 32_000));
        }
        assert!(find(&thread(&calls)).is_head(4096, Some(32_000)));
    }
}
