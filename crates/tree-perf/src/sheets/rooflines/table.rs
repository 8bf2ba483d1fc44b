//! The table of a sheet of a family.

use perf_models::ComputeSpec;
use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::Sequence;

use crate::analysis::Analysis;
use crate::call_overlap::{CallOverlap, NameLists, append_overlap};
use crate::frame::FrameBuilder;
use crate::places::Places;
use gpu_timeline::Spread;
use operator_sheets::KernelList;
use operator_sheets::{AGGREGATES, Figures};

use super::groups::{Group, Row, SheetRows};

pub(super) fn table(
    analysis: &Analysis,
    sheet: &SheetRows,
    name_lists: Option<&NameLists>,
) -> PolarsResult<DataFrame> {
    let trace = analysis.trace();
    let groups = &sheet.groups;
    let first = || groups.iter().map(|group| &group.rows[0]);
    let mut frame = FrameBuilder::default();
    frame.text("name", first().map(|row| Some(trace.name(row.operator))));
    if let Some(name_lists) = name_lists {
        let names = |row: &Row| row.overlap.0.map(|list| name_lists.literal(analysis, list));
        frame.text("overlapping_kernel_names_first", first().map(names));
    }
    for (position, name) in sheet.parameters.iter().enumerate() {
        let texts = groups.iter().map(|group| group.parameters[position].as_deref());
        frame.text(&format!("param: {name}"), texts);
    }
    if analysis.options().group_by_num_kernels {
        frame.integer("num_kernels", first().map(|row| Some(row.device_events.len() as i64)));
    }
    if analysis.options().detect_recompute {
        frame.flag("is_recompute", first().map(|row| analysis.is_recompute(row.operator)));
    }
    frame.float("GFLOPS_first", first().map(|row| Some(row.figures.gflops())));
    let first_known = |figure: fn(&Figures) -> Option<f64>| {
        groups.iter().map(move |group| group.rows.iter().find_map(|row| figure(&row.figures)))
    };
    frame.float("Data Moved (MB)_first", first_known(Figures::mebibytes));
    frame.float("FLOPS/Byte_first", first_known(Figures::intensity));
    statistics(&mut frame, "TB/s", groups, Figures::tb_per_s);
    statistics(&mut frame, "TFLOPS/s", groups, Figures::tflops_per_s);
    let mut places = Places::new(analysis);
    let of: Vec<u32> = first().map(|row| places.of(trace.events().track(row.operator))).collect();
    for (position, name) in
        ["process_name_first", "process_label_first", "thread_name_first"].into_iter().enumerate()
    {
        frame.text(name, of.iter().map(|&place| Some(places.texts(place)[position])));
    }
    let spec = |row: &Row| row.figures.spec.as_ref().map(ComputeSpec::to_string);
    frame.text("Compute Spec", groups.iter().map(|group| group.rows.iter().find_map(spec)));
    if analysis.architecture().is_some() {
        frame.float("Roofline Time (µs)_first", first_known(|figures| Some(figures.roofline?.time_us())));
        let bound = |row: &Row| row.figures.roofline.map(|roofline| roofline.bound().to_string());
        frame.text("Roofline Bound_first", groups.iter().map(|group| group.rows.iter().find_map(bound)));
        statistics(&mut frame, "Pct Roofline", groups, Figures::percent_of_roofline);
    }

    let lists: Vec<KernelList> = groups.iter().map(|group| kernels(analysis, group)).collect();
    frame.text(
        "kernel_details__summarize_kernel_stats",
        lists.iter().map(|list| Some(list.details(analysis.trace()).to_string())),
    );
    frame.text(
        "trunc_kernel_details",
        lists.iter().map(|list| list.shortened(analysis.trace()).map(|list| list.to_string())),
    );
    if name_lists.is_some() {
        let overlaps: Vec<Vec<&CallOverlap>> =
            groups.iter().map(|group| group.rows.iter().map(|row| &row.overlap.1).collect()).collect();
        let details = "overlapping_kernels_details__summarize_kernel_stats";
        append_overlap(&mut frame, analysis, details, &overlaps);
    }
    let signatures = trace.signatures();
    for (position, name) in
        ["Input Dims_first", "Input type_first", "Input Strides_first", "Concrete Inputs_first"]
            .into_iter()
            .enumerate()
    {
        let list = |row: &Row| {
            let signature = signatures.get(trace.events().signature(row.operator)?);
            let lists = [signature.dims, signature.types, signature.strides, signature.concrete];
            Some(signatures.argument(lists[position]?).display(Sequence::List).to_string())
        };
        frame.text(name, groups.iter().map(|group| group.rows.iter().find_map(list)));
    }
    let time: fn(&Figures) -> Option<f64> = |figures| Some(figures.time_us);
    statistics(&mut frame, "Kernel Time (µs)", groups, time);
    frame.float("Kernel Time (µs)_sum", groups.iter().map(|group| Some(analysis.us(group.time()))));
    frame.integer("name_count", groups.iter().map(|group| Some(group.rows.len() as i64)));
    frame.integer("UID_first", first().map(|row| Some(i64::from(trace.events().uid(row.operator)))));
    frame.flag("nested", groups.iter().map(|group| group.nested == group.rows.len()));
    frame.integer("nested_count", groups.iter().map(|group| Some(group.nested as i64)));
    frame.text("note", groups.iter().map(|group| assumption(analysis, group)));
    frame.finish()
}

fn statistics(frame: &mut FrameBuilder, column: &str, groups: &[Group], figure: fn(&Figures) -> Option<f64>) {
    let spread = |group: &Group| Spread::of(group.rows.iter().map(|row| figure(&row.figures)));
    let spreads: Vec<Spread> = groups.iter().map(spread).collect();
    frame.statistics(column, &spreads, &AGGREGATES);
}

fn kernels(analysis: &Analysis, group: &Group) -> KernelList {
    KernelList::of_events(analysis.trace(), group.rows.iter().map(|row| row.device_events.as_slice()))
}

/// What the figures of the row assume.
fn assumption<'a>(analysis: &'a Analysis, group: &Group) -> Option<&'a str> {
    group.rows.iter().find_map(|row| row.evaluated(analysis)?.assumption.as_deref())
}
