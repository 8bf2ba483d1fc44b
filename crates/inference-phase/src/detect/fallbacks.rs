//! Last resorts, for steps that nothing else decides: names of kernels, names of operators of engines, lengths of
//! attention, and how often steps of a kind occur. Each labels a whole step, never a kernel, and none is sure.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

use super::draft::Draft;
use super::evidence::Evidence;
use super::layers::Verdict;
use crate::step::{Phase, Source};

/// Confidence of names.
const BY_NAME: f64 = 0.4;
/// Confidence of a step of the same size as steps that are known.
const BY_LIKENESS: f64 = 0.4;
/// Confidence of lengths that drafts and short prompts share, and of frequencies.
const BY_CHANCE: f64 = 0.3;

/// Decides the steps that are still unknown.
pub(super) fn decide(drafts: &mut [Draft], threshold: i64) {
    let kinds = Kinds::new(drafts);
    let times = Times::new(drafts);
    for draft in drafts.iter_mut().filter(|draft| draft.is_open()) {
        let evidence = &draft.evidence;
        let found = Some(evidence)
            .filter(|evidence| !evidence.attends_otherwise())
            .and_then(|evidence| {
                Phase::from_weights(evidence.named_kernel_time)
                    .or_else(|| Phase::from_weights(evidence.named_operator_calls))
            })
            .map(|phase| (phase, BY_NAME))
            .or_else(|| by_lengths(evidence, threshold))
            .or_else(|| kinds.decide(evidence))
            .or_else(|| times.as_ref().filter(|_| is_timed(draft))?.decide(evidence));
        if let Some((phase, confidence)) = found {
            draft.verdict = Verdict { phase, source: Source::Names, confidence };
        }
    }
}

/// A few new tokens that attend to many more are drafts more often than what a cache left of a prompt.
fn by_lengths(evidence: &Evidence, threshold: i64) -> Option<(Phase, f64)> {
    let (queries, keys) = evidence.lengths?;
    let is_few = queries <= threshold && keys? > queries.saturating_mul(8);
    (is_few && evidence.images == 0).then_some((Phase::Decode, BY_CHANCE))
}

/// Steps by their number of tokens.
struct Kinds {
    /// Per number of tokens how often the steps attend, and the phase of those that are known if it is one.
    by_size: BTreeMap<i64, (usize, Option<Phase>)>,
    /// The number of tokens that most steps have; the smallest of equals.
    usual: i64,
    /// Whether steps of generation are replayed from whole graphs, or have attention of their own.
    generates_otherwise: bool,
}

impl Kinds {
    fn new(drafts: &[Draft]) -> Self {
        let mut by_size: BTreeMap<i64, (usize, Option<Phase>)> = BTreeMap::new();
        let mut contradicted = Vec::new();
        for draft in drafts {
            let Some(size) = size(&draft.evidence) else { continue };
            let (count, known) = by_size.entry(size).or_default();
            // Steps without logits run together where they are of one size, so calls are counted.
            *count += draft.evidence.eager_attention.max(1);
            if draft.verdict.phase == Phase::Unknown {
                continue;
            }
            match known {
                Some(phase) if *phase != draft.verdict.phase => contradicted.push(size),
                _ => *known = Some(draft.verdict.phase),
            }
        }
        for size in contradicted {
            if let Some((_, known)) = by_size.get_mut(&size) {
                *known = None;
            }
        }
        let usual = by_size
            .iter()
            .max_by_key(|&(&size, &(count, _))| (count, std::cmp::Reverse(size)))
            .map_or(0, |(&size, _)| size);
        let is_apart = |draft: &Draft| {
            let evidence = &draft.evidence;
            draft.verdict.phase == Phase::Decode
                && (evidence.attending_graphs > 0
                    || (evidence.generation_attention > 0 && evidence.plain_attention_kernels == 0))
        };
        Kinds { by_size, usual, generates_otherwise: drafts.iter().any(is_apart) }
    }

    /// As steps of the same size are; else, among steps of several sizes, the small ones that recur are generation and
    /// the larger, rarer ones prompts. Steps of one size alone have nothing to be compared with.
    fn decide(&self, evidence: &Evidence) -> Option<(Phase, f64)> {
        let Some(size) = size(evidence) else {
            // An engine that replays generation launches one by one what it has no graph for, and one with attention
            // for generation alone has other for prompts.
            let is_eager = evidence.graph_launches == 0
                && evidence.eager_attention_kernels > 1
                && evidence.generation_attention == 0;
            return (self.generates_otherwise && is_eager).then_some((Phase::Prefill, BY_CHANCE));
        };
        let &(count, known) = self.by_size.get(&size)?;
        if let Some(phase) = known {
            return Some((phase, BY_LIKENESS));
        }
        let &(usual_count, usual_phase) = self.by_size.get(&self.usual)?;
        if size > self.usual && count < usual_count && usual_phase.is_none_or(|phase| phase == Phase::Decode)
        {
            return Some((Phase::Prefill, BY_CHANCE));
        }
        let has_larger =
            self.by_size.range((Excluded(size), Unbounded)).any(|(_, &(other, _))| other < count);
        (size == self.usual && count > 1 && has_larger).then_some((Phase::Decode, BY_CHANCE))
    }
}

/// Steps by their device time, where the engine's frames mark them and no shapes were recorded.
struct Times {
    /// Up to this a step takes like most.
    usual: i64,
    /// Above this a step is of the long kind.
    long: i64,
}

/// Fewer steps say nothing of frequencies.
const LEAST_STEPS: usize = 5;

impl Times {
    /// `None` where all steps take about as long, or the long ones are no exception.
    fn new(drafts: &[Draft]) -> Option<Self> {
        let is_marked = |draft: &&Draft| draft.marked && draft.annotated.is_none();
        let mut times: Vec<i64> = drafts
            .iter()
            .filter(is_marked)
            .map(|draft| draft.evidence.device_time)
            .filter(|&time| time > 0)
            .collect();
        times.sort_unstable();
        let &median = times.get(times.len() / 2)?;
        let (usual, long) = (median.saturating_add(median / 4), median.saturating_mul(2));
        let long_count = times.len() - times.partition_point(|&time| time <= long);
        (times.len() >= LEAST_STEPS && long_count > 0 && long_count * 3 <= times.len())
            .then_some(Times { usual, long })
    }

    /// Steps of generation recur and take alike; the few that take more than twice as long have prompts in them. A
    /// short prompt beside a large batch may take anything between.
    fn decide(&self, evidence: &Evidence) -> Option<(Phase, f64)> {
        match evidence.device_time {
            ..=0 => None,
            time if time > self.long => Some((Phase::Prefill, BY_CHANCE)),
            time => (time <= self.usual).then_some((Phase::Decode, BY_CHANCE)),
        }
    }
}

fn is_timed(draft: &Draft) -> bool {
    draft.marked && draft.annotated.is_none() && size(&draft.evidence).is_none()
}

/// Tokens of a step, or new tokens per request.
fn size(evidence: &Evidence) -> Option<i64> {
    evidence.lengths.map(|(queries, _)| queries).or_else(|| evidence.tokens())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(sizes: &[(i64, Phase)]) -> Vec<Draft> {
        sizes
            .iter()
            .map(|&(tokens, phase)| {
                let mut draft = Draft::implied(None, 0, 1);
                draft.evidence = Evidence { token_rows: Some(tokens), host_items: 1, ..Evidence::default() };
                draft.verdict.phase = phase;
                draft
            })
            .collect()
    }

    fn phases(mut drafts: Vec<Draft>) -> Vec<Phase> {
        decide(&mut drafts, 10);
        drafts.iter().map(|draft| draft.verdict.phase).collect()
    }

    #[test]
    fn steps_of_one_kind_get_no_label_by_frequency() {
        assert_eq!(phases(steps(&[(64, Phase::Unknown); 20])), [Phase::Unknown; 20]);
    }

    #[test]
    fn frequency_compares_kinds_of_steps() {
        let mut sizes = vec![(64, Phase::Unknown); 5];
        sizes.push((1500, Phase::Unknown));
        let mut expected = vec![Phase::Decode; 5];
        expected.push(Phase::Prefill);
        assert_eq!(phases(steps(&sizes)), expected);
    }

    #[test]
    fn a_step_is_what_known_steps_of_its_size_are() {
        let found = phases(steps(&[(7, Phase::Decode), (7, Phase::Unknown), (9, Phase::Decode)]));
        assert_eq!(found[1], Phase::Decode);
        let contradicted = phases(steps(&[(7, Phase::Decode), (7, Phase::Prefill), (7, Phase::Unknown)]));
        assert_eq!(contradicted[2], Phase::Unknown);
    }

    #[test]
    fn a_short_prompt_among_decode_steps_is_the_rarer_kind() {
        let mut sizes = vec![(1, Phase::Decode); 9];
        sizes.push((7, Phase::Unknown));
        assert_eq!(phases(steps(&sizes))[9], Phase::Prefill);
    }

    #[test]
    fn marked_steps_without_shapes_are_compared_by_time() {
        let phases_of = |times: &[i64]| {
            let steps = times.iter().map(|&time| {
                let evidence = Evidence { device_time: time, host_items: 1, ..Evidence::default() };
                Draft { marked: true, evidence, ..Draft::implied(None, 0, 1) }
            });
            phases(steps.collect())
        };
        let mut expected = vec![Phase::Decode; 6];
        expected[2] = Phase::Prefill;
        assert_eq!(phases_of(&[10, 11, 80, 10, 9, 12]), expected);
        expected[4] = Phase::Unknown;
        assert_eq!(phases_of(&[10, 11, 80, 10, 18, 12]), expected);
        assert_eq!(phases_of(&[10, 11, 12, 10, 9, 12]), [Phase::Unknown; 6]);
        assert_eq!(phases_of(&[10, 80]), [Phase::Unknown; 2]);
    }
}
