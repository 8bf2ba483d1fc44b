//! The models' FLOPs and bytes beside what the hardware's counters say of the same calls: `operators.py` recorded as a
//! trace, and with Nsight Compute on the same H200.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use trace_ingest::{Category, ReadOptions, read_path};
use tree_perf::{Analysis, AnalysisOptions};

/// What the models say of the operators of a case.
#[derive(Default)]
struct Modelled {
    flops: f64,
    bytes: f64,
    /// Operators that took time on the device and have no figures.
    gaps: Vec<String>,
}

/// What the counters say of the kernels of a case.
#[derive(Default)]
struct Counted {
    /// Operations of the matrix units.
    matrix_ops: f64,
    /// Operations of the ordinary units on 32 and 64 bits.
    scalar_ops: f64,
    /// Bytes that memory read and wrote.
    memory_bytes: f64,
    /// Bytes that the multiprocessors read from and wrote to the second-level cache.
    l2_bytes: f64,
}

fn recording(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/recorded/h200").join(file)
}

fn counted() -> BTreeMap<String, Counted> {
    let mut cases: BTreeMap<String, Counted> = BTreeMap::new();
    for row in csv::Reader::from_path(recording("operator_counters.csv")).unwrap().deserialize() {
        let row: BTreeMap<String, String> = row.unwrap();
        let number = |column: &str| row[column].parse::<f64>().unwrap();
        let case = cases.entry(row["case"].clone()).or_default();
        case.matrix_ops += number("matrix_ops");
        case.scalar_ops += number("fp32_ops") + number("fp64_ops");
        case.memory_bytes += number("memory_read_bytes") + number("memory_written_bytes");
        case.l2_bytes += number("l2_read_bytes") + number("l2_written_bytes");
    }
    cases
}

fn modelled() -> BTreeMap<String, Modelled> {
    let trace = read_path(&recording("operators.json.gz"), &ReadOptions::default()).unwrap();
    let analysis = Analysis::new(trace, AnalysisOptions::default());
    let (trace, events) = (analysis.trace(), analysis.trace().events());
    let annotations = events.ids().filter(|&event| events.category(event) == Category::USER_ANNOTATION);
    let cases: Vec<_> = annotations
        .filter_map(|event| {
            Some((trace.name(event).strip_prefix("case: ")?, events.start(event)..events.end(event)))
        })
        .collect();
    let mut modelled: BTreeMap<String, Modelled> = BTreeMap::new();
    for work in analysis.charged_work() {
        let start = events.start(work.operator);
        let Some((case, _)) = cases.iter().find(|(_, span)| span.contains(&start)) else { continue };
        let case = modelled.entry((*case).to_owned()).or_default();
        case.flops += work.flops().unwrap_or(0.0);
        case.bytes += work.bytes().unwrap_or(0.0);
        if work.gap.is_some() {
            case.gaps.push(trace.name(work.operator).to_owned());
        }
    }
    modelled
}

/// Operations that the matrix units carried out for each FLOP of the model.
const PRODUCTS: &[(&str, f64)] = &[
    ("mm bf16", 1.0),
    ("mm fp16", 1.0),
    ("mm fp64", 1.0),
    ("mm tf32", 1.0),
    ("addmm bf16", 1.0),
    ("bmm bf16", 1.0),
    ("baddbmm bf16", 1.0),
    ("_scaled_mm fp8", 1.0),
    ("_int_mm", 1.0),
    ("conv2d 1x1", 1.0),
    ("conv2d 3x3", 1.0),
    ("conv2d 3x3 stride 2", 1.0),
    ("conv2d 3x3 backward", 1.0),
    ("flash attention", 1.0),
    ("efficient attention", 1.0),
    ("cuDNN attention", 1.0),
    ("flash attention backward", 1.0),
    ("grouped rows bf16", 1.0),
    ("grouped columns bf16", 1.0),
    ("grouped sums bf16", 1.0),
    // Tiles of 128 columns that reach beyond 5000.
    ("mm bf16 of uneven sizes", 1.049),
    // Tiles on the diagonal of the mask are computed whole.
    ("flash attention, causal", 1.0625),
    ("flash attention of grouped queries", 1.0625),
    ("flash attention backward, causal", 1.125),
    // These compute the scores again, which their models do not count: five products instead of four.
    ("efficient attention backward", 1.25),
    ("cuDNN attention backward", 1.25),
    // 16 channels in tiles of 32, 32 channels in tiles of 64, one column in tiles of 8.
    ("conv3d 3x3x3", 2.0),
    ("conv_transpose2d", 2.0),
    ("mm bf16 with one column", 8.0),
];

/// Bytes that passed the second-level cache for each byte of the model, for kernels that have no use for a byte twice.
const TRAFFIC: &[(&str, f64)] = &[
    ("AdamW, fused", 1.0),
    ("add", 1.0),
    ("add of bf16 and fp32", 1.0),
    ("argmax", 1.0),
    ("avg_pool2d", 1.0),
    ("cast to fp32", 1.0),
    ("cat", 1.0),
    ("cumsum", 1.0),
    ("dropout", 1.0),
    ("embedding", 1.0),
    ("fill", 1.0),
    ("gelu", 1.0),
    ("index_select", 1.0),
    ("mul by a number", 1.0),
    ("mul in place", 1.0),
    ("silu", 1.0),
    ("softmax", 1.0),
    ("sum of all", 1.0),
    ("sum of rows", 1.0),
    ("where", 1.0),
    // What is small beside the tensor, a row or indices, is read many times.
    ("add of a row", 1.017),
    ("mean of columns", 1.019),
    ("max_pool2d", 1.059),
    ("upsample", 1.118),
    // `_foreach_addcmul_` takes the gradients twice; the kernel reads them once.
    ("AdamW, foreach", 0.952),
    // A second pass over the input, of two or three tensors in all.
    ("layer_norm", 1.334),
    ("rms_norm", 1.325),
    ("batch_norm in training", 1.502),
    ("batch_norm backward", 1.333),
    ("log_softmax", 1.255),
];

#[test]
fn flops_of_products_are_those_that_the_matrix_units_count() {
    let (modelled, counted) = (modelled(), counted());
    for &(case, expected) in PRODUCTS {
        let ratio = counted[case].matrix_ops / modelled[case].flops;
        assert!((ratio / expected - 1.0).abs() < 0.002, "{case}: {ratio}, not {expected}");
    }
    // Without matrix units.
    let case = "mm fp32";
    assert_eq!(counted[case].matrix_ops, 0.0);
    let ratio = counted[case].scalar_ops / modelled[case].flops;
    assert!((ratio - 1.0).abs() < 0.002, "{case}: {ratio}");
}

#[test]
fn bytes_of_one_pass_over_memory_are_those_that_the_cache_counts() {
    let (modelled, counted) = (modelled(), counted());
    for &(case, expected) in TRAFFIC {
        let ratio = counted[case].l2_bytes / modelled[case].bytes;
        assert!((ratio / expected - 1.0).abs() < 0.005, "{case}: {ratio}, not {expected}");
    }
}

/// Its kernel writes by bulk copies, which the counters of the multiprocessors do not see, and the result stays in the cache.
const BADDBMM: &str = "baddbmm bf16";

#[test]
fn a_product_reads_all_of_what_is_added() {
    let (modelled, counted) = (modelled(), counted());
    let result = 2.0 * 32.0 * 256.0 * 256.0;
    let ratio = counted[BADDBMM].memory_bytes / (modelled[BADDBMM].bytes - result);
    assert!((ratio - 1.0).abs() < 0.002, "{ratio}");
}

#[test]
fn no_model_counts_more_than_the_hardware() {
    let (modelled, counted) = (modelled(), counted());
    for (case, model) in &modelled {
        let counters = &counted[case];
        if counters.matrix_ops > 0.0 && model.gaps.is_empty() {
            assert!(counters.matrix_ops > model.flops * 0.998, "{case}: {} FLOPs", model.flops);
        }
        let bytes = counters.l2_bytes.max(counters.memory_bytes);
        assert!(
            bytes > model.bytes * 0.995 || case == "AdamW, foreach" || case == BADDBMM,
            "{case}: {bytes} of {} bytes",
            model.bytes
        );
    }
    let with_gaps: Vec<_> =
        modelled.iter().filter(|(_, model)| !model.gaps.is_empty()).map(|(case, _)| case).collect();
    assert!(with_gaps.is_empty(), "{with_gaps:?}");
    assert_eq!(modelled.len(), counted.len());
}
