//! `tracelens archs`: the bundled architectures.

use perf_models::{Architecture, ComputeSpec, architectures};
use report_writers::terminal::{TextColumn, table};

use crate::console;
use crate::error::Failure;

/// Peaks that the table shows; the files have more.
const SPECS: [&str; 8] = [
    "matrix_fp4",
    "matrix_fp8",
    "matrix_bf16",
    "matrix_fp16",
    "matrix_int8",
    "matrix_fp32",
    "matrix_fp64",
    "vector_fp32",
];

pub(crate) fn run() -> Result<(), Failure> {
    let mut columns = vec![
        TextColumn::left("architecture", |one: &&Architecture| one.name.as_str()),
        TextColumn::right("GB/s", |one: &&Architecture| one.memory_bandwidth_gb_per_s.to_string()),
    ];
    columns.extend(SPECS.map(|spec| {
        TextColumn::right(spec.trim_start_matches("matrix_"), move |one: &&Architecture| peak(one, spec))
    }));
    let rows: Vec<&Architecture> = architectures().collect();
    let text = table(&columns, &rows, console::style());
    let note = "Peaks in TFLOP/s (int8: TOP/s) of the matrix units, dense; vector_fp32 of the others.";
    Ok(console::print(format_args!("{text}\n{note}\n"))?)
}

fn peak(architecture: &Architecture, spec: &str) -> String {
    let peak = spec.parse().ok().and_then(|spec: ComputeSpec| architecture.peak_tflops(spec));
    peak.map_or_else(|| "–".to_string(), |peak| peak.to_string())
}
