//! Which captures come into question for a step.

use perf_models::{AnnotationKind, IterationAnnotation};

use super::details::{CaptureFile, CaptureMode};

/// How large a step is, in the units that engines capture for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StepSize {
    pub(super) tokens: i64,
    /// `None` for steps with prompts, which are not captured for a number of requests.
    pub(super) requests: Option<i64>,
    /// Whether the engine captures steps without prompts for a number of requests rather than of tokens.
    pub(super) counts_requests: bool,
    /// Whether the text has the products of lengths, so is the most detailed one of nested ones.
    pub(super) is_detailed: bool,
}

impl StepSize {
    /// The size that an annotation states; `None` for texts that annotate no step. Of `execute_128_anything` the
    /// number is taken.
    pub(super) fn of(annotation: &str) -> Option<StepSize> {
        let Some(step) = IterationAnnotation::parse(annotation) else {
            let number = annotation.strip_prefix("execute_")?.split('_').next()?;
            let tokens = number.parse().ok()?;
            return Some(StepSize { tokens, requests: None, counts_requests: false, is_detailed: false });
        };
        let is_sglang = matches!(
            step.kind,
            AnnotationKind::SglangDetailed | AnnotationKind::SglangNative | AnnotationKind::SglangOther
        );
        Some(StepSize {
            tokens: step.batch_size,
            // Only steps without prompts are captured for so many requests, however many tokens each has.
            requests: Some(step.requests()).filter(|&requests| requests > 0 && step.context_requests == 0),
            counts_requests: is_sglang,
            is_detailed: step.has_pair_statistics,
        })
    }
}

/// A captured trace that may be what a step replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) file: usize,
    /// Whether its size alone does not speak for it: only the names of all kernels do then.
    pub(super) needs_names: bool,
}

/// The smallest of the sizes that a batch of this size fits into.
fn closest_size(size: i64, sizes: impl Iterator<Item = i64>) -> Option<i64> {
    sizes.filter(|&captured| captured >= size).min()
}

/// Captured traces in the order in which they come into question for a step with this many graph launches.
///
/// First those of the smallest size that holds the step, then larger ones, which padding across ranks leads to, then
/// those of unknown size. Of one size, that mode comes first that the number of launches speaks for, of these the
/// captures whose file name has the rank of the replay, and of these the one listed last. A step of unknown size takes a capture only if all in the folder are of one size.
pub(super) fn candidates(
    files: &[CaptureFile],
    size: Option<StepSize>,
    launches: usize,
    rank: Option<i64>,
) -> Vec<Candidate> {
    let sizes = || files.iter().filter_map(|file| file.batch_size);
    let wanted = CaptureMode::of_captures(launches);
    // Other names than the two may mean either.
    let preference = |file: usize| {
        let is_of_rank = rank.is_some() && rank_in(&files[file].file) == rank;
        (files[file].mode != wanted, !is_of_rank, std::cmp::Reverse(file))
    };
    let of_size = |size: Option<i64>, needs_names: bool| {
        let mut found: Vec<usize> = (0..files.len()).filter(|&file| files[file].batch_size == size).collect();
        found.sort_by_key(|&file| preference(file));
        found.into_iter().map(move |file| Candidate { file, needs_names })
    };
    let Some(size) = size else {
        let mut distinct: Vec<Option<i64>> = files.iter().map(|file| file.batch_size).collect();
        distinct.sort_unstable();
        distinct.dedup();
        return match distinct[..] {
            [only] => of_size(only, false).collect(),
            _ => Vec::new(),
        };
    };
    let tokens = closest_size(size.tokens, sizes());
    let requests = size.requests.and_then(|requests| closest_size(requests, sizes()));
    let [own, other] =
        if size.counts_requests && requests.is_some() { [requests, tokens] } else { [tokens, requests] };
    // The size in the unit that the engine does not capture for is a guess.
    let other = other.filter(|_| own != other);
    let least = own.max(other).unwrap_or(i64::MAX);
    let mut larger: Vec<i64> = sizes().filter(|&size| size > least).collect();
    larger.sort_unstable();
    larger.dedup();
    own.map(|size| (size, false))
        .into_iter()
        .chain(other.map(|size| (size, true)))
        .chain(larger.into_iter().map(|size| (size, true)))
        .flat_map(|(size, needs_names)| of_size(Some(size), needs_names))
        .chain(of_size(None, true))
        .collect()
}

/// The number after the last `rank` of a file name: of `bs_32_rank0.json` it is 0.
fn rank_in(file: &str) -> Option<i64> {
    let (_, after) = file.rsplit_once("rank")?;
    let number = after.trim_start_matches(['_', '-']);
    let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
    number[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_size_that_holds_the_batch_is_closest() {
        for (size, sizes, expected) in [
            (128, &[64, 256, 512][..], Some(256)),
            (30, &[16, 32, 64], Some(32)),
            (32, &[64, 32], Some(32)),
            (100, &[16, 32], None),
        ] {
            assert_eq!(closest_size(size, sizes.iter().copied()), expected);
        }
    }

    #[test]
    fn annotations_state_tokens_and_requests() {
        let size = |annotation| {
            StepSize::of(annotation).map(|size| (size.tokens, size.requests, size.counts_requests))
        };
        for (annotation, expected) in [
            ("execute_128_context_3_generation_2", Some((128, None, false))),
            ("execute_context_0(0)_generation_32(128)", Some((128, Some(32), false))),
            ("step[DECODE bs=64 g_sq=128 g_sqsq=256 g_sqsk=262144 g_sk=131072]", Some((128, Some(64), true))),
            ("step[EXTEND bs=2 toks=64]", Some((64, None, true))),
            ("execute_diffusion_1_1024x1024", Some((1, None, false))),
            ("ProfilerStep#3", None),
            ("execute_model", None),
        ] {
            assert_eq!(size(annotation), expected, "{annotation}");
        }
    }

    fn files(files: &[(Option<i64>, &str)]) -> Vec<CaptureFile> {
        let file = |&(batch_size, mode): &(Option<i64>, &str)| CaptureFile {
            file: String::new(),
            batch_size,
            mode: CaptureMode::named(mode),
        };
        files.iter().map(file).collect()
    }

    fn order(captured: &[(Option<i64>, &str)], annotation: &str, launches: usize) -> Vec<(usize, bool)> {
        let found = candidates(&files(captured), StepSize::of(annotation), launches, None);
        found.into_iter().map(|candidate| (candidate.file, candidate.needs_names)).collect()
    }

    #[test]
    fn larger_and_unknown_sizes_come_after_the_closest_and_need_names() {
        let captured = [(Some(64), "FULL"), (None, "FULL"), (Some(16), "FULL"), (Some(32), "FULL")];
        let step = "execute_context_0(0)_generation_30(30)";
        assert_eq!(order(&captured, step, 1), [(3, false), (0, true), (1, true)]);
        assert_eq!(order(&captured, "execute_context_0(0)_generation_100(100)", 1), [(1, true)]);
    }

    #[test]
    fn the_number_of_launches_chooses_between_modes_of_one_size() {
        let captured = [(Some(8), "FULL"), (Some(8), "PIECEWISE"), (Some(8), "DECODE"), (Some(8), "FULL")];
        let step = "execute_context_0(0)_generation_8(8)";
        let files =
            |launches| order(&captured, step, launches).iter().map(|found| found.0).collect::<Vec<_>>();
        assert_eq!(files(1), [3, 0, 2, 1]);
        assert_eq!(files(25), [1, 3, 2, 0]);
    }

    #[test]
    fn captures_of_the_replays_own_rank_come_first() {
        for (file, rank) in [
            ("bs_32_rank0.json.gz", Some(0)),
            ("graph_capture_rank_12.1773709679453551615.pt.trace.json.gz", Some(12)),
            ("rank-3.json", Some(3)),
            ("ranked.json", None),
            ("bs_32.json", None),
        ] {
            assert_eq!(rank_in(file), rank, "{file}");
        }
        let mut captured = files(&[(Some(8), "FULL"), (Some(8), "FULL"), (Some(8), "PIECEWISE")]);
        for (file, name) in
            captured.iter_mut().zip(["bs_8_rank0.json", "bs_8_rank1.json", "bs_8_rank0_p.json"])
        {
            file.file = name.to_owned();
        }
        let size = StepSize::of("execute_context_0(0)_generation_8(8)");
        let order =
            |rank| candidates(&captured, size, 1, rank).iter().map(|found| found.file).collect::<Vec<_>>();
        assert_eq!(order(Some(0)), [0, 1, 2]);
        assert_eq!(order(Some(1)), [1, 0, 2]);
        assert_eq!(order(None), [1, 0, 2]);
    }

    #[test]
    fn engines_that_capture_for_requests_are_asked_for_requests_first() {
        let captured = [(Some(8), "FULL"), (Some(32), "FULL"), (Some(64), "FULL")];
        let verify = "step[TARGET_VERIFY bs=8 toks=32 g_sq=32 g_sqsq=128 g_sqsk=4096 g_sk=1024]";
        assert_eq!(order(&captured, verify, 1), [(0, false), (1, true), (2, true)]);
        let drafted = "execute_context_0(0)_generation_8(32)";
        assert_eq!(order(&captured, drafted, 1), [(1, false), (0, true), (2, true)]);
    }

    #[test]
    fn without_a_step_one_size_is_taken_and_of_several_none() {
        let one = files(&[(Some(8), "FULL"), (Some(8), "PIECEWISE")]);
        assert_eq!(candidates(&one, None, 2, None).first().map(|candidate| candidate.file), Some(1));
        assert_eq!(candidates(&files(&[(Some(8), "FULL"), (None, "FULL")]), None, 1, None), []);
    }
}
