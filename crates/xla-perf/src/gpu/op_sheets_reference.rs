//! The same sheets with the figures of the reference tool: the work of an instruction is credited to each of its
//! kernels, by formulas of library calls only.

use hashbrown::HashMap;
use perf_models::GemmKernel;
use polars::prelude::{DataFrame, PolarsResult};

use super::call_groups::append_durations;
use super::kernel_rows::{KernelRow, OperatorTexts, kernel_rows, statistics};
use tree_perf::FrameBuilder;
use crate::analysis::JaxAnalysis;
use crate::kernel_category::KernelCategory;
use crate::record::quoted;
use crate::reference_model::reference_model;
use gpu_timeline::Spread;
use operator_sheets::AGGREGATES;

/// Kernels of one name whose instructions have the same parameters.
struct Group<'a> {
    rows: Vec<KernelRow<'a>>,
    parameters: Vec<(&'static str, String)>,
    flops: f64,
    bytes: Option<f64>,
}

pub(super) fn build(analysis: &JaxAnalysis, category: KernelCategory) -> PolarsResult<Option<DataFrame>> {
    let groups = groups(analysis, category);
    if groups.is_empty() {
        return Ok(None);
    }
    let texts = OperatorTexts::of(analysis);
    let trace = analysis.trace();
    let first = || groups.iter().map(|group| &group.rows[0]);
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in groups.iter().flat_map(|group| &group.parameters) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let mut frame = FrameBuilder::default();
    frame.text("name", first().map(|row| Some(row.name)));
    for name in names {
        let value =
            |group: &Group<'_>| Some(group.parameters.iter().find(|(key, _)| *key == name)?.1.clone());
        frame.text(&format!("param: {name}"), groups.iter().map(value));
    }
    frame.float("GFLOPS_first", groups.iter().map(|group| Some(group.flops / 1e9)));
    let mebibytes = |group: &Group<'_>| Some(group.bytes? / (1024.0 * 1024.0));
    frame.float("Data Moved (MB)_first", groups.iter().map(mebibytes));
    let intensity =
        |group: &Group<'_>| group.bytes.filter(|&bytes| bytes > 0.0).map(|bytes| group.flops / bytes);
    frame.float("FLOPS/Byte_first", groups.iter().map(intensity));
    let mut spreads = |column: &str, work: fn(&Group<'_>) -> Option<f64>| {
        let spread = |group: &Group<'_>| {
            let rate = |row: &KernelRow<'_>| {
                let us = analysis.us(row.time);
                Some(work(group).filter(|_| us > 0.0)? / 1e6 / us)
            };
            Spread::of(group.rows.iter().map(rate))
        };
        let spreads: Vec<Spread> = groups.iter().map(spread).collect();
        frame.statistics(column, &spreads, &AGGREGATES);
    };
    spreads("TB/s", |group| group.bytes);
    spreads("TFLOPS/s", |group| Some(group.flops));
    frame.text("process_name_first", first().map(|_| Some("Unknown")));
    frame.text("process_label_first", first().map(|_| Some("Unknown")));
    let track = |row: &KernelRow<'_>| trace.events().track(row.event.event);
    frame.text("thread_name_first", first().map(|row| trace.thread_name(track(row))));
    let durations: Vec<Vec<i64>> =
        groups.iter().map(|group| group.rows.iter().map(|row| row.time).collect()).collect();
    let details = first().zip(&durations).map(|(row, durations)| {
        Some(format!("[{{'name': {}, {}}}]", quoted(row.name), statistics(analysis, durations)))
    });
    frame.text("kernel_details__summarize_kernel_stats", details);
    let arguments = |row: &KernelRow<'_>| &texts.arguments[row.event.operator];
    frame.text("Input Dims_first", first().map(|row| arguments(row).dims.as_ref()));
    frame.text("Input type_first", first().map(|row| arguments(row).types.as_ref()));
    append_durations(&mut frame, analysis, "Kernel Time (µs)", &durations);
    frame.integer("name_count", groups.iter().map(|group| Some(group.rows.len() as i64)));
    let uid = |row: &KernelRow<'_>| Some(i64::from(trace.events().uid(row.event.event)));
    frame.integer("UID_first", first().map(uid));
    frame.finish().map(Some)
}

/// The groups, most time first.
fn groups(analysis: &JaxAnalysis, category: KernelCategory) -> Vec<Group<'_>> {
    let mut positions = HashMap::new();
    let mut groups: Vec<Group<'_>> = Vec::new();
    for row in kernel_rows(analysis).into_iter().filter(|row| row.category == category) {
        let Some(instruction) = analysis.instruction(row.event.event) else { continue };
        let Some(model) = reference_model(instruction, category) else { continue };
        let mut parameters = model.parameters;
        if category == KernelCategory::Gemm {
            let kernel = GemmKernel::parse(row.name);
            let sides = kernel.and_then(|kernel| kernel.transpose_a.zip(kernel.transpose_b));
            let python = |side: bool| if side { "True" } else { "False" };
            parameters.extend(sides.map(|(a, b)| ("transpose", format!("({}, {})", python(a), python(b)))));
        }
        let position = *positions.entry((row.name, parameters.clone())).or_insert(groups.len());
        match groups.get_mut(position) {
            Some(group) => group.rows.push(row),
            None => {
                groups.push(Group { rows: vec![row], parameters, flops: model.flops, bytes: model.bytes });
            }
        }
    }
    let time = |group: &Group<'_>| group.rows.iter().map(|row| row.time).sum::<i64>();
    groups.sort_by_key(|group| std::cmp::Reverse(time(group)));
    groups
}
