//! `tracelens archs`: the bundled architectures.

use std::collections::BTreeMap;

use perf_models::{Architecture, ComputeSpec, PeakBasis, architectures};
use report_writers::terminal::{Style, TextColumn, table};
use serde::Serialize;

use crate::console;
use crate::context::Context;
use crate::error::Failure;

/// Peaks that the table shows; the files have more.
const SPECS: [&str; 9] = [
    "matrix_fp4",
    "matrix_fp8",
    "matrix_int8",
    "matrix_bf16",
    "matrix_fp16",
    "matrix_tf32",
    "matrix_fp32",
    "matrix_fp64",
    "vector_fp32",
];

/// Columns that the table takes.
const WIDTH: usize = 140;

/// The peaks of one basis.
struct Row {
    architecture: &'static Architecture,
    basis: PeakBasis,
}

pub(crate) fn run(json: bool, context: &Context<'_>) -> Result<(), Failure> {
    let of =
        |architecture| [PeakBasis::Nominal, PeakBasis::Achievable].map(|basis| Row { architecture, basis });
    let rows: Vec<Row> = architectures().flat_map(of).filter(|row| !row.peaks().is_empty()).collect();
    if json {
        let documents: Vec<Document<'_>> = rows.iter().map(Document::new).collect();
        return context.print_result(context.about(&[]), &serde_json::json!({ "architectures": documents }));
    }
    let mut columns = vec![
        TextColumn::left("architecture", |row: &Row| row.architecture.name.as_str()),
        TextColumn::left("peaks", |row: &Row| row.basis.to_string()),
        TextColumn::right("GB/s", |row: &Row| row.architecture.memory_bandwidth_gb_per_s.to_string()),
    ];
    columns.extend(
        SPECS.map(|spec| {
            TextColumn::right(spec.trim_start_matches("matrix_"), move |row: &Row| row.peak(spec))
        }),
    );
    let style = context.style();
    // Names are there to be typed: a narrow terminal wraps them rather than losing a part.
    let text = table(&columns, &rows, Style { width: style.width.max(WIDTH), ..style });
    let note = "Dense peaks of the matrix units in TFLOP/s (int8: TOP/s); vector_fp32: of the vector units.\nnominal: \
                the vendor's data sheet. achievable: measured and published; --peak achievable uses these.";
    Ok(console::print(format_args!("{text}\n{note}\n"))?)
}

/// The peaks of one basis for programs.
#[derive(Serialize)]
struct Document<'r> {
    name: &'r str,
    peaks: String,
    memory_bandwidth_gb_per_s: f64,
    /// By unit and precision.
    peak_tflops: BTreeMap<String, f64>,
}

impl<'r> Document<'r> {
    fn new(row: &'r Row) -> Self {
        Document {
            name: &row.architecture.name,
            peaks: row.basis.to_string(),
            memory_bandwidth_gb_per_s: row.architecture.memory_bandwidth_gb_per_s,
            peak_tflops: row.peaks().iter().map(|(spec, peak)| (spec.to_string(), *peak)).collect(),
        }
    }
}

impl Row {
    fn peaks(&self) -> &'static BTreeMap<ComputeSpec, f64> {
        match self.basis {
            PeakBasis::Nominal => &self.architecture.nominal_tflops,
            PeakBasis::Achievable => &self.architecture.achievable_tflops,
        }
    }

    fn peak(&self, spec: &str) -> String {
        let peak = spec.parse().ok().and_then(|spec: ComputeSpec| self.peaks().get(&spec));
        peak.map_or_else(|| "–".to_string(), |peak| peak.to_string())
    }
}
