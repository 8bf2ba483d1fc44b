//! Which capture a replay takes, and what becomes of it.

use inference_phase::capture::{CaptureLibrary, MergeReport, Mismatch, Outcome, Pairing, SkipReason, merge};
use trace_ingest::ReadOptions;
use trace2tree::TraceTree;

use crate::capture::trace::{Call, Recording, assert_conserved, device_events, has_shapes};

/// Files of `(name, annotation, captures)`.
fn library(files: &[(&str, &str, &[&[Call<'_>]])], named: bool) -> (tempfile::TempDir, CaptureLibrary) {
    let folder = tempfile::tempdir().unwrap();
    for (name, annotation, captures) in files {
        let mut recording = Recording::default();
        for calls in *captures {
            recording.capture(calls, named);
        }
        recording.annotate(annotation, (0, 100_000));
        recording.write(&folder.path().join(name));
    }
    let library = CaptureLibrary::open(folder.path(), &ReadOptions::default()).unwrap();
    (folder, library)
}

fn merged(replay: &Recording, library: &mut CaptureLibrary) -> (TraceTree, MergeReport) {
    let before = replay.tree();
    let mut tree = before.clone();
    let report = merge(&mut tree, library, &ReadOptions::default());
    assert_conserved(&before, &tree);
    (tree, report)
}

fn outcomes(report: &MergeReport) -> Vec<&Outcome> {
    report.launches.iter().map(|launch| &launch.outcome).collect()
}

/// Operator above each device event, with the rows of its first operand.
fn operators(tree: &TraceTree) -> Vec<String> {
    let of = |event| match tree.operator(event) {
        Some(operator) => {
            let dims = tree.trace().argument(operator, |signature| signature.dims).unwrap();
            let text = dims.display(trace_ingest::Sequence::List).to_string();
            format!("{} {text}", tree.trace().name(operator))
        }
        None => "none".to_owned(),
    };
    device_events(tree).into_iter().map(of).collect()
}

const STEP_OF_30: &str = "execute_context_0(0)_generation_30(30)";

#[test]
fn a_full_graph_serves_every_step_of_its_size() {
    let calls: &[Call<'_>] = &[("aten::copy_", 32, None), ("aten::mm", 32, Some("gemm"))];
    let other: &[Call<'_>] = &[("aten::copy_", 64, None), ("aten::mm", 64, Some("gemm"))];
    let files: &[(&str, &str, &[&[Call<'_>]])] =
        &[("64.json", "capture_64_FULL", &[other]), ("32.json", "capture_32_FULL", &[calls])];
    let (_folder, mut library) = library(files, true);
    let mut replay = Recording::default();
    for _ in 0..3 {
        replay.step(STEP_OF_30, &[&[("Memcpy DtoD (Device -> Device)", 7, 3), ("gemm", 7, 5)]]);
    }
    replay.step(
        "execute_context_0(0)_generation_64(64)",
        &[&[("Memcpy DtoD (Device -> Device)", 7, 3), ("gemm", 7, 5)]],
    );
    let (tree, report) = merged(&replay, &mut library);
    assert_eq!(
        (report.merged(), report.merged_device_events(), report.unverified_device_events()),
        (4, 8, 0)
    );
    let of_32 = ["aten::copy_ [[32, 8], [8, 16]]", "aten::mm [[32, 8], [8, 16]]"];
    let of_64 = ["aten::copy_ [[64, 8], [8, 16]]", "aten::mm [[64, 8], [8, 16]]"];
    assert_eq!(operators(&tree), [of_32, of_32, of_32, of_64].concat());
    for event in device_events(&tree) {
        assert_eq!(tree.module_stack(event), ["nn.Module: Mlp"]);
        assert!(tree.operator(event).is_some_and(|operator| tree.is_captured(operator)));
    }
    let again = merge(&mut tree.clone(), &mut library, &ReadOptions::default());
    assert_eq!(again.launches, [], "what is merged is no launch of device events any more");
}

#[test]
fn pieces_are_paired_in_turn_and_one_bad_pair_costs_no_other() {
    let piece = |kernel| -> Vec<Call<'_>> { vec![("aten::mm", 30, Some(kernel))] };
    let pieces = [piece("a"), piece("b"), piece("c")];
    let captures: Vec<&[Call<'_>]> = pieces.iter().map(Vec::as_slice).collect();
    let (_folder, mut library) = library(&[("p.json", "capture_32_PIECEWISE", &captures)], true);
    let mut replay = Recording::default();
    replay.step(STEP_OF_30, &[&[("a", 7, 3)], &[("x", 7, 3)], &[("c", 7, 3)]]);
    replay.step(STEP_OF_30, &[&[("a", 7, 3)], &[("b", 7, 3)]]);
    let (tree, report) = merged(&replay, &mut library);
    let merged = |capture| Outcome::Merged { file: 0, capture, pairing: Pairing::InOrder, unverified: 0 };
    let count = Outcome::Skipped(SkipReason::GraphCount { launches: 2, captures: 3 });
    let name = Outcome::Skipped(SkipReason::Mismatch(Mismatch::Names));
    assert_eq!(outcomes(&report), [&merged(0), &name, &merged(2), &count, &count]);
    assert_eq!((report.device_events(), report.merged_device_events()), (5, 2));
    let with_shapes = device_events(&tree).iter().filter(|&&event| has_shapes(&tree, event)).count();
    assert_eq!(with_shapes, 2);
    assert_eq!(
        report.skipped(),
        [
            (SkipReason::GraphCount { launches: 2, captures: 3 }, 2),
            (SkipReason::Mismatch(Mismatch::Names), 1)
        ]
    );
}

#[test]
fn a_larger_capture_is_taken_when_names_speak_for_it() {
    let small: &[Call<'_>] = &[("aten::mm", 32, Some("gemm_small"))];
    let large: &[Call<'_>] = &[("aten::mm", 64, Some("gemm_large"))];
    let files: &[(&str, &str, &[&[Call<'_>]])] =
        &[("32.json", "capture_32_FULL", &[small]), ("64.json", "capture_64_FULL", &[large])];
    let mut replay = Recording::default();
    replay.step(STEP_OF_30, &[&[("gemm_large", 7, 3)]]);
    let (_folder, mut captures) = library(files, true);
    let (tree, _) = merged(&replay, &mut captures);
    assert_eq!(operators(&tree), ["aten::mm [[64, 8], [8, 16]]"]);

    // Without names the size alone decides, and that no name speaks for it is told.
    let (_folder, mut captures) = library(files, false);
    let (tree, report) = merged(&replay, &mut captures);
    assert_eq!(operators(&tree), ["aten::mm [[32, 8], [8, 16]]"]);
    assert_eq!((report.merged(), report.unverified_device_events()), (1, 1));
}

#[test]
fn without_names_a_capture_of_another_size_is_not_guessed() {
    let small: &[Call<'_>] = &[("aten::mm", 32, Some("a"))];
    let large: &[Call<'_>] = &[("aten::mm", 64, Some("a")), ("aten::mm", 64, Some("b"))];
    let files: &[(&str, &str, &[&[Call<'_>]])] =
        &[("32.json", "capture_32_FULL", &[small]), ("64.json", "capture_64_FULL", &[large])];
    let (_folder, mut captures) = library(files, false);
    let mut replay = Recording::default();
    replay.step(STEP_OF_30, &[&[("a", 7, 3), ("b", 7, 3)]]);
    let (_, report) = merged(&replay, &mut captures);
    assert_eq!(report.skipped(), [(SkipReason::Mismatch(Mismatch::Counts), 1)]);
}

#[test]
fn calls_that_the_replay_left_out_are_not_copied() {
    let calls: &[Call<'_>] =
        &[("aten::mm", 32, Some("a")), ("aten::idle", 32, Some("z")), ("aten::mm", 32, Some("b"))];
    let (_folder, mut captures) = library(&[("f.json", "capture_32_FULL", &[calls])], true);
    let mut replay = Recording::default();
    replay.step(STEP_OF_30, &[&[("a", 7, 3), ("b", 7, 3)]]);
    let (tree, report) = merged(&replay, &mut captures);
    let skipping = Outcome::Merged { file: 0, capture: 0, pairing: Pairing::Skipping, unverified: 0 };
    assert_eq!(outcomes(&report), [&skipping]);
    assert_eq!(tree.find_by_name("aten::idle"), []);
}

#[test]
fn launches_that_nothing_fits_say_why() {
    let calls: &[Call<'_>] = &[("aten::mm", 32, Some("a"))];
    let files: &[(&str, &str, &[&[Call<'_>]])] =
        &[("16.json", "capture_16_FULL", &[calls]), ("32.json", "capture_32_FULL", &[calls])];
    let (_folder, mut captures) = library(files, true);
    let mut replay = Recording::default();
    replay.step("execute_context_1(100)_generation_0(0)", &[&[("a", 7, 3)]]);
    replay.step("some other annotation", &[&[("a", 7, 3)]]);
    replay.step(STEP_OF_30, &[&[]]);
    let (_, report) = merged(&replay, &mut captures);
    let said: Vec<String> = report.skipped().iter().map(|(reason, _)| reason.to_string()).collect();
    assert_eq!(
        said,
        [
            "no device event was recorded for the launch",
            "no annotated engine step around the launch gives the capture size",
            "no capture is large enough for a step of 100 tokens",
        ]
    );
}

#[test]
fn rocm_kernels_that_copy_and_fill_match_copies_and_fills() {
    let calls: &[Call<'_>] = &[("aten::copy_", 32, None), ("aten::mm", 32, Some("gemm"))];
    let (_folder, mut captures) = library(&[("f.json", "capture_32_FULL", &[calls])], true);
    let mut replay = Recording::default();
    replay.step(STEP_OF_30, &[&[("__amd_rocclr_copyBuffer", 7, 3), ("gemm", 7, 3)]]);
    let (_, report) = merged(&replay, &mut captures);
    assert_eq!((report.merged(), report.unverified_device_events()), (1, 0));
}
