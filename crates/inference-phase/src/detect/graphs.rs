//! What the replay of captured graphs says.

use super::Verdict;
use super::evidence::Evidence;
use crate::phase::Phase;
use crate::step::Source;

/// Confidence of the way graphs are used.
const CONFIDENCE: f64 = 0.7;

/// Decides by graphs: engines capture the whole model for batches of one token per request, whose shapes recur, and
/// leave prompts to eager launches or to graphs in pieces around attention. So one graph that is most of a step is a
/// decode step, and so are several with attention in each: passes of one step, which drafts or schedules ahead. Models
/// of images are captured whole too.
pub(super) fn decide(evidence: &Evidence) -> Option<Verdict> {
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
    is_decode.then_some(Verdict { phase: Phase::Decode, source: Source::Graphs, confidence: CONFIDENCE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_graph_that_is_most_of_a_step_is_decode() {
        let whole = Evidence { graph_launches: 1, graph_time: 90, device_time: 100, ..Evidence::default() };
        assert_eq!(decide(&whole).map(|verdict| verdict.phase), Some(Phase::Decode));
        let pieces = Evidence { graph_launches: 25, eager_attention: 24, ..whole.clone() };
        assert_eq!(decide(&pieces), None);
        let ahead = Evidence { graph_launches: 3, attending_graphs: 3, ..whole.clone() };
        assert_eq!(decide(&ahead).map(|verdict| verdict.phase), Some(Phase::Decode));
        let small = Evidence { graph_time: 40, ..whole.clone() };
        assert_eq!(decide(&small), None);
        let image = Evidence { images: 1, ..whole };
        assert_eq!(decide(&image), None);
    }
}
