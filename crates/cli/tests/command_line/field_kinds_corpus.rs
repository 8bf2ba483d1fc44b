//! What kernels of strangers' recordings do: cases after public reports, and whole recordings with figures that others
//! counted.

use serde_json::Value;
use testdata::corpus;

use crate::program::{Sheets, Workplace};

/// The sheets of a recording of the corpus; `None` where there is no corpus.
fn sheets(recording: &str) -> Option<Sheets> {
    let file = corpus(recording)?;
    let report = ["report", file.to_str().unwrap(), "--json"];
    let kernels = matches!(file.extension(), Some(end) if end == "json" || end == "gz");
    let kernels = kernels.then_some("--enable_kernel_summary");
    let arguments: Vec<&str> = report.into_iter().chain(kernels).collect();
    Some(Sheets::parse(&Workplace::with("").run(&arguments).exits_with(0).out))
}

/// Categories of kernels by their names, shortened to what tells them apart.
#[track_caller]
fn assert_categories(sheets: &Sheets, name: &str, category: &str, expected: &[(&str, &str)]) {
    let kernels = sheets.column("kernel_summary", name);
    let categories = sheets.column("kernel_summary", category);
    for (part, expected) in expected {
        let is_named = |kernel: &&Value| kernel.as_str().unwrap().contains(part);
        let row = kernels.iter().position(is_named).unwrap_or_else(|| panic!("no kernel {part}"));
        assert_eq!(categories[row], expected, "{part}");
    }
}

#[test]
fn libraries_that_exchange_tokens_and_buffers_communicate() {
    let Some(case) = sheets("field/cases/04-communication-kernels/kernels.json") else { return };
    assert_eq!(case.timeline("total_comm_time"), 16.736);
    let Some(training) = sheets("experts/h800-deepseek-v3-train/trace.json.gz") else { return };
    assert_eq!(training.timeline("total_comm_time"), 113.03);
    assert_eq!(training.timeline("exposed_comm_time"), 4.158);
}

#[test]
fn kernels_of_engines_are_products_and_attention() {
    let Some(sheets) = sheets("field/cases/20-kernels-of-no-category/kernels.json") else { return };
    assert_categories(
        &sheets,
        "Kernel name",
        "Parent op category",
        &[
            ("marlin", "GEMM"),
            ("_fwd_grouped_kernel_stage1", "SDPA_fwd"),
            ("mla_a8w8", "SDPA_fwd"),
            ("bmm_E4m3", "GEMM"),
            ("SingleDecodeWithKVCacheKernel", "SDPA_fwd"),
            ("dequantize_mul_mat_vec", "GEMM"),
        ],
    );
}

#[test]
fn products_of_quantised_matrices_are_products() {
    let Some(case) = sheets("field/cases/06-ggml-matmul/77_kernel_trace.csv") else { return };
    assert_categories(
        &case,
        "name",
        "Category",
        &[
            ("mul_mat_q", "GEMM"),
            ("mul_mat_vec_q", "GEMM"),
            ("mul_mat_vec_dq", "GEMM"),
            ("quantize_mmq", "GroupQuant"),
            ("k_bin_bcast", "elementwise"),
        ],
    );
    let Some(decode) = sheets("field/recordings/rocprofv3-llm-decode") else { return };
    assert_categories(
        &decode,
        "name",
        "Category",
        &[("mul_mat_vec_q", "GEMM"), ("scale_f32", "elementwise")],
    );
    assert!(!decode.column("kernel_summary_by_category", "op category").contains(&&Value::from("other")));
}

#[test]
fn collectives_of_ascend_are_its_communication() {
    let Some(case) = sheets("field/cases/03-ascend-communication/trace_view.json") else { return };
    let times = ["computation_time", "exposed_comm_time", "total_comm_time"].map(|kind| case.timeline(kind));
    assert_eq!(times, [0.3, 2.1, 2.1]);
    // The vendor's step_trace_time.csv: computing, communication that is not overlapped, all communication.
    let Some(rank) = sheets("field/recordings/ascend-level1-rank0/trace_view.json.gz") else { return };
    for (kind, vendor) in [
        ("computation_time", 8.873_756),
        ("exposed_comm_time", 101.963_203),
        ("total_comm_time", 105.991_878),
    ] {
        let ours = rank.timeline(kind);
        assert!((ours - vendor).abs() < 0.001, "{kind}: {ours}");
    }
}

#[test]
fn collectives_copies_and_runs_of_tpus_are_known() {
    let Some(file) = corpus("field/cases/05-xprof-tpu/tpu.trace.json") else { return };
    let place = Workplace::with("");
    let outcome = place.run(&["report", file.to_str().unwrap(), "--output_csvs_dir", "sheets"]).exits_with(0);
    outcome.with_summary(&[
        "TPU 0 window 3.900 ms (first start to last end): busy 3.600 ms",
        "computation 61.5% ▓ exposed comm 25.6% ▒ exposed copies 5.1%",
        "TPU 1 window 3.900 ms",
        "4 program runs (by recorded steps): 1.000 ms each",
    ]);
    let Some(vllm) = sheets("field/recordings/tpu-vllm/host.trace.json.gz") else { return };
    let [kinds, times] = ["type", "time ms"].map(|column| vllm.column("gpu_timeline_per_device", column));
    let sum = |kind: &str| -> f64 {
        let of_kind = kinds.iter().zip(&times).filter(|(name, _)| **name == kind);
        of_kind.filter_map(|(_, time)| time.as_f64()).sum()
    };
    for (kind, share) in [("total_comm_time", 0.0513), ("total_memcpy_time", 0.0152)] {
        let ours = sum(kind) / sum("busy_time");
        assert!((ours - share).abs() < 1e-4, "{kind}: {ours}");
    }
}

#[test]
fn kernels_of_no_known_class_are_named_and_lead_nothing() {
    for (recording, parts) in [
        (
            "field/recordings/nsys-a100-cloverleaf/trace.sqlite",
            [
                "89.5% of device time is in unclassified kernels (clover::par_ranged2d_kernel",
                "; largest known class: ",
            ],
        ),
        (
            "field/recordings/tpu-vllm/host.trace.json.gz",
            ["largest: GEMM, 62.9% of device time; each TPU idle 0.0% of its window", "GEMM 514 84.562 62.9"],
        ),
    ] {
        let Some(file) = corpus(recording) else { return };
        let place = Workplace::with("");
        let report = ["report", file.to_str().unwrap(), "--output_csvs_dir", "sheets"];
        place.run(&report).exits_with(0).with_summary(&parts);
    }
}
