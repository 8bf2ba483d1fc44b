//! The columns are documented: in the code, and from there in the README.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use polars::prelude::DataType;
use trace_ingest::{Category, Collective, EventArguments};
use tree_perf::{
    Analysis, AnalysisOptions, ChartShape, Column, ColumnKind, ReportLayout, Sheet, Unit, all_sheets,
};

use crate::fixture::Fixture;

const BEGIN: &str = "<!-- columns: written by the test `the_readme_lists_the_columns` -->\n";
const END: &str = "<!-- end of columns -->\n";

fn unit(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Text => "text",
        ColumnKind::Nested => "Python literal",
        ColumnKind::Count => "count",
        ColumnKind::Identifier => "identifier",
        ColumnKind::Flag => "True or False",
        ColumnKind::Number(Unit::Microseconds) => "µs",
        ColumnKind::Number(Unit::Milliseconds) => "ms",
        ColumnKind::Number(Unit::Percent) => "%",
        ColumnKind::Number(Unit::Mebibytes) => "MiB",
        ColumnKind::Number(Unit::One) => "ratio",
    }
}

fn reference() -> String {
    let mut text = String::new();
    // Sheets with the same columns are described together, where the first of them stands.
    let mut described: Vec<&[Column]> = Vec::new();
    for first in all_sheets() {
        if described.iter().any(|columns| std::ptr::eq(*columns, first.columns)) {
            continue;
        }
        described.push(first.columns);
        let same: Vec<&Sheet> =
            all_sheets().iter().copied().filter(|sheet| std::ptr::eq(sheet.columns, first.columns)).collect();
        let others = same.len() - 1;
        if let [sheet] = same[..] {
            writeln!(text, "\n### `{}`\n\n{}", sheet.name, sheet.description).unwrap();
        } else {
            writeln!(text, "\n### `{}` and {others} more\n", first.name).unwrap();
            for sheet in &same {
                writeln!(text, "- `{}`: {}", sheet.name, sheet.description).unwrap();
            }
        }
        for sheet in same.iter().filter(|sheet| sheet.current_name != sheet.name) {
            let (name, current) = (sheet.name, sheet.current_name);
            writeln!(text, "\nWith `--sheet-names current` `{name}` is called `{current}`.").unwrap();
        }
        let sheet = first;
        text.push_str("\n| column | unit | meaning |\n| --- | --- | --- |\n");
        for column in sheet.columns {
            let meaning = column.description.replace('|', "\\|");
            writeln!(text, "| `{}` | {} | {meaning} |", column.name, unit(column.kind)).unwrap();
        }
    }
    text.push('\n');
    text
}

#[test]
fn the_readme_lists_the_columns() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = readme.split_once(BEGIN).expect("the README has the marker before the columns");
    let (listed, after) = rest.split_once(END).expect("the README has the marker after the columns");
    let current = reference();
    if listed == current {
        return;
    }
    if std::env::var_os("UPDATE_README").is_some_and(|value| value == "1") {
        std::fs::write(&path, [before, BEGIN, &current, END, after].concat()).unwrap();
        return;
    }
    let stale = listed.lines().zip(current.lines()).find(|(listed, current)| listed != current);
    panic!(
        "the column reference of crates/tree-perf/README.md is stale, first at {stale:#?}\n\
         UPDATE_README=1 cargo test -p tree-perf --test sheets the_readme_lists_the_columns"
    );
}

/// A trace with something for every sheet and column.
fn everything_there_is() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.mm(0.0, &[("gemm", 7, 1000.0, 5.0)]);
    fixture.python("torch/utils/checkpoint.py(1110): recompute_fn", (20.0, 30.0));
    fixture.call_with_dims("aten::mm", 25.0, &[&[2, 2]], &[("gemm", 7, 1050.0, 6.0)]);
    fixture.call("c10d::allreduce_", 60.0, &[("ncclDevKernel_AllReduce", 8, 1040.0, 80.0)]);
    fixture.collective(("ncclDevKernel_AllReduce", 8, 1200.0, 5.0), Collective::default());
    fixture.launch("cudaLaunchKernel", (100.0, 1.0), 99);
    let other_device = EventArguments {
        correlation: Some(99),
        device: Some(1),
        stream: Some(7),
        ..EventArguments::default()
    };
    fixture.event(Category::KERNEL, "k", (1, 7), (1300.0, 4.0), other_device);
    fixture
}

/// Every combination of the options that change columns or rows.
fn combinations() -> impl Iterator<Item = AnalysisOptions> {
    (0..1u32 << 10).map(|bits| {
        let is_set = |bit: u32| bits & (1 << bit) != 0;
        AnalysisOptions {
            detect_recompute: is_set(0),
            include_call_stack: is_set(1),
            include_overlap_info: is_set(2),
            include_first_occurrence_time: is_set(3),
            group_by_num_kernels: is_set(4),
            include_unlinked_kernels: is_set(5),
            micro_idle_threshold_us: is_set(6).then_some(5.0),
            topk_ops: is_set(7).then_some(1),
            topk_roofline_ops: is_set(7).then_some(1),
            architecture: is_set(8).then(|| perf_models::architecture("MI300X").unwrap().clone()),
            group_by_parent_module: is_set(9),
            layout: if is_set(9) { ReportLayout::Inference } else { ReportLayout::Standard },
            kernel_summary: true,
            short_kernel_study: true,
            ..AnalysisOptions::default()
        }
    })
}

fn data_type(kind: ColumnKind) -> DataType {
    match kind {
        ColumnKind::Text | ColumnKind::Nested => DataType::String,
        ColumnKind::Count | ColumnKind::Identifier => DataType::Int64,
        ColumnKind::Flag => DataType::Boolean,
        ColumnKind::Number(Unit::Microseconds)
        | ColumnKind::Number(Unit::Milliseconds)
        | ColumnKind::Number(Unit::Percent)
        | ColumnKind::Number(Unit::Mebibytes)
        | ColumnKind::Number(Unit::One) => DataType::Float64,
    }
}

/// Checks the columns of a sheet of a trace; the names of those that it has.
fn check_columns(sheet: &Sheet, analysis: &Analysis) -> Vec<&'static str> {
    let Some(frame) = sheet.build(analysis).unwrap() else { return Vec::new() };
    let check = |column: &polars::prelude::Column| {
        let name = column.name().as_str();
        let found = sheet.column(name).unwrap_or_else(|| panic!("{}: {name:?} is undocumented", sheet.name));
        assert_eq!(column.dtype(), &data_type(found.kind), "{}: {name}", sheet.name);
        found.name
    };
    let mut names: Vec<&str> = frame.columns().iter().map(check).collect();
    // One description stands for all parameters.
    names.dedup();
    let mut documented = sheet.columns.iter();
    for name in &names {
        let in_order = documented.any(|documented| documented.name == *name);
        assert!(in_order, "{}: {name:?} is in another place, {:?}", sheet.name, analysis.options());
    }
    names
}

#[test]
fn columns_are_documented_in_their_order_whatever_the_options() {
    // By columns: sheets of families share theirs, and no trace has operators of all families.
    let mut seen: BTreeMap<*const Column, BTreeSet<&str>> = BTreeMap::new();
    for options in combinations() {
        let analysis = everything_there_is().analyse(options);
        for sheet in all_sheets() {
            seen.entry(sheet.columns.as_ptr()).or_default().extend(check_columns(sheet, &analysis));
        }
    }
    for sheet in all_sheets() {
        let documented: BTreeSet<&str> = sheet.columns.iter().map(|column| column.name).collect();
        assert_eq!(documented.len(), sheet.columns.len(), "{}: a name occurs twice", sheet.name);
        assert_eq!(
            seen[&sheet.columns.as_ptr()],
            documented,
            "{}: documented columns that no option brings",
            sheet.name
        );
    }
}

#[test]
fn columns_are_documented_for_traces_that_lack_a_part() {
    let mut device_only = Fixture::new();
    device_only.launches(0.0, &[("k", 7, 1000.0, 5.0)]);
    let mut unlinked = Fixture::new();
    unlinked.op("aten::mm", (0.0, 10.0));
    unlinked.unlinked(("k", 7, 1000.0, 5.0));
    for fixture in [device_only, unlinked, Fixture::new()] {
        let analysis = fixture.analyse(crate::incomplete_traces::everything());
        for sheet in all_sheets() {
            check_columns(sheet, &analysis);
        }
    }
}

#[test]
fn charts_show_columns_and_rows_of_their_sheet() {
    let options = AnalysisOptions { kernel_summary: true, ..AnalysisOptions::default() };
    let mut rows_seen = BTreeSet::new();
    for micro_idle_threshold_us in [None, Some(5.0)] {
        let options = AnalysisOptions { micro_idle_threshold_us, ..options.clone() };
        let table = everything_there_is().table_with("gpu_timeline", options);
        rows_seen.extend(table.select(&["type"]));
    }
    for sheet in all_sheets() {
        let Some(chart) = sheet.chart else { continue };
        for name in [chart.categories, chart.values] {
            assert!(sheet.column(name).is_some(), "{}: {name}", sheet.name);
        }
        match chart.shape {
            ChartShape::Stacked(rows) => {
                assert_eq!(sheet.name, "gpu_timeline");
                for row in rows {
                    assert!(rows_seen.contains(*row), "{row}");
                }
            }
            ChartShape::Scatter { x, groups, points, .. } => {
                let other = crate::common::sheet(points.table);
                for name in [x, groups] {
                    assert!(sheet.column(name).is_some(), "{}: {name}", sheet.name);
                }
                for name in [points.x, points.y, points.groups, points.labels, points.weights] {
                    assert!(other.column(name).is_some(), "{}: {name}", other.name);
                }
            }
            ChartShape::Grouped { groups, labels, .. } => {
                for name in labels.iter().chain([&groups]) {
                    assert!(sheet.column(name).is_some(), "{}: {name}", sheet.name);
                }
            }
            ChartShape::Bars(_) | ChartShape::Columns(_) => {}
        }
    }
}
