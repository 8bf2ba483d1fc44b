//! TraceLens's comparison of reports that it wrote: Qwen 1.5 on an H100 and on an MI300X. The expected figures are
//! those of TraceLens 171dd747.

use reference_tools::{ParityNotice, ParityTables, SheetGroup, compare_as_tracelens};
use sheets::{Cell, Table};
use trace_diff::{ReportFormat, is_compared, read_report};

use crate::sides::{corpus_report, side, table};

fn all_groups() -> Vec<SheetGroup> {
    SheetGroup::ALL.iter().map(|(_, group)| *group).collect()
}

/// The comparison of two reports of the corpus.
fn compared(baseline: &str, variant: &str) -> Option<ParityTables> {
    let sides = [corpus_report(baseline)?, corpus_report(variant)?];
    Some(compare_as_tracelens(&sides, &all_groups()).unwrap())
}

fn qwen() -> Option<ParityTables> {
    compared("h100-qwen1.5-0.5b", "mi300-qwen1.5-0.5b")
}

fn find<'t>(made: &'t ParityTables, name: &str) -> &'t Table {
    made.tables.iter().find(|table| table.name() == name).unwrap_or_else(|| panic!("{name}"))
}

/// The row whose first cell is this, as CSV files show it, in these columns, whose names are joined by ` | `.
fn row(table: &Table, key: &str, columns: &str) -> Vec<String> {
    let row = (0..table.height()).find(|&row| table.columns()[0].cell(row).text() == key).unwrap();
    let cell =
        |name: &str| table.column(name).unwrap_or_else(|| panic!("{name}")).cell(row).text().into_owned();
    columns.split(" | ").map(cell).collect()
}

/// Whether texts are equal, numbers up to 1e-6 of their size: the reference reads numbers not quite exactly. Theirs are
/// joined by ` | `.
fn assert_alike(ours: &[String], theirs: &str) {
    let theirs: Vec<&str> = theirs.split(" | ").collect();
    let alike = |ours: &str, theirs: &str| match (ours.parse::<f64>(), theirs.parse::<f64>()) {
        // A whole number and one with a fraction look different.
        (Ok(a), Ok(b)) => (a - b).abs() <= 1e-6 * b.abs() && ours.contains('.') == theirs.contains('.'),
        _ => ours == theirs,
    };
    let all =
        ours.len() == theirs.len() && ours.iter().zip(&theirs).all(|(ours, theirs)| alike(ours, theirs));
    assert!(all, "{ours:?}, expected {theirs:?}");
}

#[test]
fn corpus_timeline_is_in_the_order_of_its_keys() {
    let Some(made) = qwen() else { return };
    let timeline = find(&made, "gpu_timeline");
    let headers: Vec<&str> = timeline.columns().iter().map(|column| column.name()).collect();
    assert_eq!(
        headers.join(" | "),
        "type | time ms__mi300_diff | time ms__mi300_pct | h100::time ms | h100::percent | mi300::time ms | mi300::percent"
    );
    let types: Vec<String> = timeline.columns()[0].cells().map(|cell| cell.text().into_owned()).collect();
    assert!(types.is_sorted(), "{types:?}");
    let columns = "type | h100::time ms | mi300::time ms | time ms__mi300_diff | time ms__mi300_pct";
    for expected in [
        "busy_time | 31.905483154296874 | 29.743927734375 | -2.161555419921875 | -6.774871295533938",
        "exposed_comm_time | 0.0 | 0.0 | 0.0 | ",
        "exposed_memcpy_time | 0.002367919921875 | 0.000759765625 | -0.001608154296875 | -67.9142179606145",
        "idle_time | 2.986935791015625 | 3.38740576171875 | 0.4004699707031252 | 13.407384648431176",
        "total_time | 34.8924189453125 | 33.13133349609375 | -1.761085449218747 | -5.0471864733107985",
    ] {
        let kind = expected.split(" | ").next().unwrap();
        assert_alike(&row(timeline, kind, columns), expected);
    }
}

#[test]
fn corpus_operators_have_blanks_where_a_report_lacks_them() {
    let Some(made) = qwen() else { return };
    let operators = find(&made, "ops_summary");
    assert_eq!(operators.height(), 21);
    let columns = "h100::total_direct_kernel_time_ms | mi300::total_direct_kernel_time_ms \
         | total_direct_kernel_time_ms__mi300_diff | total_direct_kernel_time_ms__mi300_pct | h100::Count \
         | mi300::Count";
    let expected =
        "6.75289990234375 | 4.54128857421875 | -2.2116113281250005 | -32.75054213905065 | 220.0 | 220";
    assert_alike(&row(operators, "aten::mul", columns), expected);
    // Sorted by the time of the baseline, those without at the end.
    let last = operators.columns()[0].cell(20);
    assert_eq!(last.text(), "aten::fill_");
    assert_alike(&row(operators, "aten::fill_", columns), " | 0.107544921875 |  |  |  | 24");
}

#[test]
fn corpus_sheets_are_split_into_three_with_the_columns_that_say_something() {
    let Some(made) = qwen() else { return };
    for (name, shapes) in [
        ("ops_unique_args", [(35, 55), (0, 0), (1, 27)]),
        ("unified_perf_summary", [(35, 87), (0, 0), (0, 0)]),
        ("GEMM", [(5, 75), (0, 0), (0, 0)]),
        ("SDPA_fwd", [(1, 77), (0, 0), (0, 0)]),
        ("un_eltwise", [(10, 70), (0, 0), (0, 0)]),
        ("bin_eltwise", [(9, 71), (0, 0), (0, 0)]),
    ] {
        let parts = ["intersect", "only_baseline", "only_variant"];
        let shape = |part: &str| {
            let table = find(&made, &format!("{name}_{part}_mi300"));
            (table.height(), table.columns().len())
        };
        assert_eq!(parts.map(shape), shapes, "{name}");
    }
    let only = find(&made, "ops_unique_args_only_variant_mi300");
    assert_eq!(
        (only.columns()[0].cell(0).text(), only.column("Input Dims").unwrap().cell(0).text()),
        ("aten::fill_".into(), "((1,), ())".into())
    );
    let products = find(&made, "GEMM_intersect_mi300");
    for (columns, expected) in [
        ("param: B | param: K | param: M | param: N", "1 | 1024 | 8944 | 2816"),
        ("h100::Kernel Time (µs)_sum | mi300::Kernel Time (µs)_sum", "4055.25244140625 | 5308.2734375"),
        (
            "Kernel Time (µs)_sum__mi300_diff | Kernel Time (µs)_sum__mi300_pct",
            "1253.02099609375 | 30.898717507688296",
        ),
        (
            "name_count__mi300_diff | h100::TFLOPS/s_mean | mi300::TFLOPS/s_mean | TFLOPS/s_mean__mi300_pct",
            "0 | 610.6657102342793 | 466.8243456800369 | -23.554845497884315",
        ),
    ] {
        assert_alike(&row(products, "aten::mm", columns), expected);
    }
}

/// The totals of the reports are 45432.7 and 43062.0 µs.
#[test]
fn corpus_kernels_that_share_a_name_multiply_and_are_said_to() {
    let Some(made) = qwen() else { return };
    let kernels = find(&made, "kernel_summary");
    assert_eq!((kernels.height(), kernels.columns().len()), (85, 21));
    let sum = |tag: &str| -> f64 {
        let column = kernels.column(&format!("{tag}::Kernel duration (µs)_sum")).unwrap();
        column.cells().map(|cell| if let Cell::Number(us) = cell { us } else { 0.0 }).sum()
    };
    assert!((sum("h100") - 51676.6).abs() < 0.05 && (sum("mi300") - 47974.8).abs() < 0.05);
    assert!(
        made.notices.iter().all(|notice| !matches!(notice, ParityNotice::Missing { .. })),
        "{:?}",
        made.notices
    );
}

/// The figures of a rocprofv3 report, whose kernels are keyed by `name`.
#[test]
fn kernels_of_rocprofv3_reports_are_joined_by_their_names() {
    let headers = [
        "name",
        "Total Kernel Time (ms)",
        "Total Kernel Time (µs)",
        "Mean Kernel Time (µs)",
        "Count",
        "Category",
    ];
    let report = |ms: f64, mean: f64| {
        let row =
            ["ncclDevKernel_Generic_1".into(), ms.into(), 0.0.into(), mean.into(), 270.0.into(), "c".into()];
        table("kernel_summary", headers, &[row])
    };
    let sides = [side("a", vec![report(27018592.547, 2.0)]), side("b", vec![report(11347820.855, 1.0)])];
    let made = compare_as_tracelens(&sides, &[SheetGroup::KernelSummary]).unwrap();
    let kernels = find(&made, "kernel_summary");
    let columns = "Total Kernel Time (ms)__b_diff | Total Kernel Time (ms)__b_pct | Count__b_diff";
    let expected = "-15670771.691999998 | -57.99995564069454 | 0.0";
    assert_alike(&row(kernels, "ncclDevKernel_Generic_1", columns), expected);
    assert!(kernels.column("a::Category").is_none() && kernels.column("a::Total Kernel Time (µs)").is_none());
}

/// The figures of TraceLens's pair of training reports, whose files the corpus does not have.
#[test]
fn counts_stay_whole_where_no_operator_is_missing() {
    let report = |name: &str, exposed: &str, mm: &str| {
        let place = tempfile::tempdir().unwrap();
        let write = |file: &str, text: String| std::fs::write(place.path().join(file), text).unwrap();
        write("gpu_timeline.csv", format!("type,time ms\nexposed_comm_time,{exposed}\n"));
        write("ops_summary.csv", format!("name,total_direct_kernel_time_ms,Count\naten::mm,{mm},935\n"));
        side(
            name,
            read_report(place.path(), ReportFormat::CsvDirectory, &|_, names| names, &is_compared).unwrap(),
        )
    };
    let sides = [
        report("a", "319.55992578125", "659.47530859375"),
        report("b", "1559.37419140625", "675.5371708984375"),
    ];
    let made = compare_as_tracelens(&sides, &all_groups()).unwrap();
    let change = row(find(&made, "gpu_timeline"), "exposed_comm_time", "time ms__b_pct");
    assert_alike(&change, "387.9755143245641");
    let columns = "total_direct_kernel_time_ms__b_pct | a::Count | b::Count | Count__b_diff | Count__b_pct";
    let expected = "2.4355517326247433 | 935 | 935 | 0 | 0.0";
    assert_alike(&row(find(&made, "ops_summary"), "aten::mm", columns), expected);
}

#[test]
fn sheets_that_a_report_lacks_are_left_out_and_said_to_be() {
    let timeline = || table("gpu_timeline", ["type", "time ms"], &[["total_time".into(), 1.0.into()]]);
    let sides = [side("a", vec![timeline()]), side("b", vec![timeline()])];
    let made = compare_as_tracelens(&sides, &all_groups()).unwrap();
    assert_eq!(made.tables.len(), 1);
    let missing = |sheet| ParityNotice::Missing { sheet, run: "a".to_owned() };
    assert_eq!(made.notices, [missing("ops_summary"), missing("kernel_summary")]);
}

#[test]
fn rows_of_one_key_do_not_multiply_without_end() {
    let rows: Vec<[Cell<'static>; 2]> = (0..1100).map(|_| ["k".into(), 1.0.into()]).collect();
    let report = || table("gpu_timeline", ["type", "time ms"], &rows);
    let sides = [side("a", vec![report()]), side("b", vec![report()])];
    let error = compare_as_tracelens(&sides, &[SheetGroup::GpuTimeline]).unwrap_err().to_string();
    assert!(error.contains("would exceed 1000000 rows"), "{error}");
    // A column of the key that is not there.
    let other = table("gpu_timeline", ["kind", "time ms"], &[["x".into(), 1.0.into()]]);
    let sides = [side("a", vec![report()]), side("b", vec![other])];
    let error = compare_as_tracelens(&sides, &[SheetGroup::GpuTimeline]).unwrap_err().to_string();
    assert!(error.contains("gpu_timeline of b has no column `type`"), "{error}");
}

#[test]
fn three_reports_have_differences_for_each_variant() {
    let report = |rows: &[(&'static str, f64)]| {
        let rows: Vec<[Cell<'static>; 2]> = rows.iter().map(|&(name, ms)| [name.into(), ms.into()]).collect();
        table("gpu_timeline", ["type", "time ms"], &rows)
    };
    let sides = [
        side("a", vec![report(&[("x", 1.0)])]),
        side("b", vec![report(&[("y", 2.0)])]),
        side("c", vec![report(&[("x", 4.0), ("y", 3.0)])]),
    ];
    let made = compare_as_tracelens(&sides, &[SheetGroup::GpuTimeline]).unwrap();
    let columns = "time ms__b_diff | time ms__c_diff | time ms__c_pct | a::time ms | b::time ms | c::time ms";
    assert_alike(&row(&made.tables[0], "x", columns), " | 3.0 | 300.0 | 1.0 |  | 4.0");
    assert_alike(&row(&made.tables[0], "y", columns), " |  |  |  | 2.0 | 3.0");
}
