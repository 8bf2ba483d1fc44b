//! Recorded replays with the recordings of their captures.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use inference_phase::capture::{CaptureLibrary, EXECUTION_DETAILS, Outcome, Pairing, merge};
use trace_ingest::ReadOptions;
use trace2tree::{TraceTree, module_class};

use crate::capture::trace::{assert_conserved, has_shapes, tree};

fn folder(name: &str) -> Option<PathBuf> {
    testdata::corpus(&format!("inference/{name}"))
}

/// Merges and checks that nothing is lost; number of device events of each graph launch.
fn check(folder: &Path, trace: &str, captures: &Path) -> Vec<usize> {
    let reading = ReadOptions::default();
    let before = tree(&folder.join(trace));
    let mut after = before.clone();
    let mut library = CaptureLibrary::open(captures, &reading).unwrap();
    let report = merge(&mut after, &mut library, &reading);
    assert_eq!(library.warnings().len(), 0);
    assert_conserved(&before, &after);
    for launch in &report.launches {
        let Outcome::Merged { pairing: Pairing::InOrder, unverified: 0, .. } = launch.outcome else {
            panic!("{launch:?}")
        };
        assert!(launch.step.is_some());
        let below = after.device_events(launch.launch);
        assert_eq!(below.len(), launch.device_events);
        for &event in below {
            let call = after.launch(event).unwrap();
            assert!(after.is_captured(call));
            let kernel = after.trace().events().arguments().launched_kernel.get(call.index()).unwrap();
            assert_eq!(after.trace().text(kernel), after.trace().name(event));
            let charged = after.kernel_launcher(event).unwrap();
            assert!(has_shapes(&after, event), "{}", after.trace().name(charged));
        }
    }
    let added = after.trace().events().len() - before.trace().events().len();
    assert!(added < 40 * report.device_events(), "only calls around launches are copied, not all {added}");
    report.launches.iter().map(|launch| launch.device_events).collect()
}

/// The captures in a folder without their list.
fn unlisted(captures: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(captures).unwrap().map(Result::unwrap) {
        if entry.file_name() != EXECUTION_DETAILS {
            fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
        }
    }
    folder
}

fn check_with_and_without_list(name: &str, trace: &str, launches: &[usize]) {
    let Some(folder) = folder(name) else { return };
    let captures = folder.join("capture_traces");
    assert_eq!(check(&folder, trace, &captures), launches);
    let unlisted = unlisted(&captures);
    assert_eq!(check(&folder, trace, unlisted.path()), launches);
    let library = CaptureLibrary::open(unlisted.path(), &ReadOptions::default()).unwrap();
    let listed = CaptureLibrary::open(&captures, &ReadOptions::default()).unwrap();
    let known = |library: &CaptureLibrary| -> Vec<_> {
        library.files().iter().map(|file| (file.file.clone(), file.batch_size, file.mode.clone())).collect()
    };
    assert_eq!(known(&library), known(&listed));
    assert!(listed.files().iter().all(|file| file.is_batch_size_stated));
}

#[test]
fn every_kernel_of_a_full_graph_gets_an_operator_with_shapes() {
    check_with_and_without_list("sglang-qwen3-8b-decode", "sglang_Qwen3-8B_decode.json.gz", &[544]);
}

#[test]
fn every_kernel_of_a_piecewise_graph_gets_an_operator_with_shapes() {
    let mut launches = vec![4];
    launches.extend([15; 23]);
    launches.push(12);
    check_with_and_without_list("vllm-prefilldecode-piecewise", "graph_execution.json.gz", &launches);
}

/// Time in µs of the kernels that an operator of a module launched, and how many times it did.
fn time_of(tree: &TraceTree, operator: &str, module: &str) -> (f64, usize) {
    let trace = tree.trace();
    let (mut time, mut calls) = (0, BTreeSet::new());
    for &event in tree.linked_device_events() {
        let Some(launcher) = tree.kernel_launcher(event) else { continue };
        let of_module =
            tree.parent_module(launcher).is_some_and(|frame| module_class(trace.name(frame)) == module);
        if of_module && trace.name(launcher).starts_with(operator) {
            time += trace.events().duration(event);
            calls.insert(launcher);
        }
    }
    (trace.to_microseconds(time), calls.len())
}

/// The figures are those of AMD-AGI/TraceLens for the same recordings.
#[test]
fn operators_of_the_capture_have_the_time_of_their_kernels() {
    let Some(folder) = folder("sglang-qwen3-8b-decode") else { return };
    let reading = ReadOptions::default();
    let mut tree = tree(&folder.join("sglang_Qwen3-8B_decode.json.gz"));
    let mut library = CaptureLibrary::open(&folder.join("capture_traces"), &reading).unwrap();
    merge(&mut tree, &mut library, &reading);
    for (operator, module, expected) in [
        ("aten::mm", "nn.Module: MergedColumnParallelLinear", 2417.659180),
        ("sglang_profiler::attention_paged_attention_ragged", "nn.Module: RadixAttention", 2127.863281),
    ] {
        let (time, calls) = time_of(&tree, operator, module);
        assert_eq!(calls, 36, "{operator}");
        // Times of the trace are rounded to nanoseconds.
        assert!((time - expected).abs() < 0.02, "{operator}: {time} µs");
    }
}
