//! What attention says: its names, and query tokens against requests where sequences are packed.

use super::evidence::Evidence;
use super::{Basis, Verdict};
use crate::phase::Phase;
use crate::step::Source;

/// Confidence of names and shapes of attention.
const CONFIDENCE: f64 = 0.8;

/// Decides by attention. Attention of both kinds in one step is a mixed one.
pub(super) fn decide(evidence: &Evidence, threshold: i64) -> Option<Verdict> {
    let (context, generation) = kinds(evidence, threshold);
    // A kernel of either kind beside generation's own leaves open what it is for.
    if generation && !context && evidence.attends_otherwise() {
        return None;
    }
    let phase = match (context, generation) {
        (true, true) => Phase::Mixed,
        (true, false) => Phase::Prefill,
        (false, true) => Phase::Decode,
        (false, false) => return None,
    };
    Some(Verdict { phase, source: Source::Attention, confidence: CONFIDENCE })
}

/// A step that processes prompts is a mixed one if some attention of it is generation's.
pub(super) fn refine(phase: Phase, evidence: &Evidence) -> Phase {
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

fn packed(evidence: &Evidence, threshold: i64) -> Option<Basis> {
    let (rows, requests) = evidence.packed?;
    if rows <= requests {
        return Some((Phase::Decode, CONFIDENCE));
    }
    (rows > requests.saturating_mul(threshold.max(1))).then_some((Phase::Prefill, CONFIDENCE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_sequences_of_one_token_are_generation() {
        for (rows, requests, expected) in
            [(64, 64, Some(Phase::Decode)), (4096, 4, Some(Phase::Prefill)), (128, 32, None)]
        {
            let evidence = Evidence { packed: Some((rows, requests)), ..Evidence::default() };
            assert_eq!(decide(&evidence, 10).map(|verdict| verdict.phase), expected);
        }
    }

    #[test]
    fn names_of_both_kinds_are_a_mixed_step() {
        let evidence = Evidence { context_attention: 2, generation_attention: 2, ..Evidence::default() };
        assert_eq!(decide(&evidence, 10).map(|verdict| verdict.phase), Some(Phase::Mixed));
        assert_eq!(refine(Phase::Prefill, &evidence), Phase::Mixed);
        assert_eq!(refine(Phase::Decode, &evidence), Phase::Decode);
    }
}
