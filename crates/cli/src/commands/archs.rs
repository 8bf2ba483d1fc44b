//! `tracelens archs`: the bundled architectures.

use perf_models::{Architecture, ComputeSpec, architectures};
use report_writers::terminal::{Alignment, TextColumn, table};

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
    let mut headers = vec!["architecture", "GB/s"];
    headers.extend(SPECS.map(|spec| spec.trim_start_matches("matrix_")));
    let columns: Vec<TextColumn<'_>> = headers
        .iter()
        .enumerate()
        .map(|(position, header)| TextColumn {
            header,
            alignment: if position == 0 { Alignment::Left } else { Alignment::Right },
        })
        .collect();
    let rows: Vec<Vec<String>> = architectures().map(row).collect();
    let text = table(&columns, &rows, console::style());
    let note = "Peaks in TFLOP/s (int8: TOP/s) of the matrix units, dense; vector_fp32 of the others.";
    Ok(console::print(format_args!("{text}\n{note}\n"))?)
}

fn row(architecture: &Architecture) -> Vec<String> {
    let peak = |spec: &str| {
        let spec: ComputeSpec = spec.parse().ok()?;
        architecture.peak_tflops(spec)
    };
    let mut cells = vec![architecture.name.clone(), architecture.memory_bandwidth_gb_per_s.to_string()];
    cells.extend(SPECS.map(|spec| peak(spec).map_or_else(|| "–".to_string(), |peak| peak.to_string())));
    cells
}
