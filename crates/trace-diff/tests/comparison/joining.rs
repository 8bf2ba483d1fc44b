//! What is joined with what, and that nothing is lost.

use proptest::prelude::*;
use sheets::{Cell, Table};
use trace_diff::{
    CompareNotice, CompareOptions, Comparison, Joined, Limit, Match, NameClasses, Row, Side, Status, Subject,
    compare, comparison_sheets, markdown, waterfall,
};

use crate::sides::{corpus_report, side, table};

fn compared(a: Vec<Table>, b: Vec<Table>) -> Comparison {
    compare(&side("a", a), &side("b", b), &CompareOptions::default())
}

/// Operators with their time in ms and their calls.
fn operators(rows: &[(&'static str, f64, i64)]) -> Table {
    let rows: Vec<[Cell<'static>; 3]> =
        rows.iter().map(|&(name, ms, calls)| [name.into(), ms.into(), (calls as f64).into()]).collect();
    table("ops_summary", ["name", "total_direct_kernel_time_ms", "Count"], &rows)
}

/// Calls with type, shape and strides, their time in µs and their number.
fn calls(rows: &[([&'static str; 4], f64, f64)]) -> Table {
    let rows: Vec<[Cell<'static>; 6]> = rows
        .iter()
        .map(|&([name, types, dims, strides], us, count)| {
            [name.into(), types.into(), dims.into(), strides.into(), us.into(), count.into()]
        })
        .collect();
    let headers = [
        "name",
        "Input type",
        "Input Dims",
        "Input Strides",
        "total_direct_kernel_time_sum",
        "operation_count",
    ];
    table("ops_unique_args", headers, &rows)
}

fn row<'c>(table: &'c Joined, name: &str) -> &'c Row {
    table.rows.iter().find(|row| row.name() == name).unwrap_or_else(|| panic!("{name}: {table:#?}"))
}

#[test]
fn rows_are_in_both_gone_or_new_and_the_largest_change_is_first() {
    let a = operators(&[("aten::mm", 4.0, 10), ("aten::add", 2.0, 5), ("aten::old", 1.0, 1)]);
    let b = operators(&[("aten::add", 2.5, 5), ("aten::mm", 1.0, 10), ("aten::new", 0.5, 2)]);
    let comparison = compared(vec![a], vec![b]);
    let table = comparison.main_table().unwrap();
    let told: Vec<_> = table
        .rows
        .iter()
        .map(|row| (row.name(), row.status.as_str(), row.delta_us(), row.delta_percent()))
        .collect();
    assert_eq!(
        told,
        [
            ("aten::mm", "both", -3000.0, Some(-75.0)),
            ("aten::old", "gone", -1000.0, Some(-100.0)),
            ("aten::add", "both", 500.0, Some(25.0)),
            ("aten::new", "new", 500.0, None),
        ]
    );
    assert_eq!(row(table, "aten::mm").speedup(), Some(4.0));
    assert_eq!((row(table, "aten::old").speedup(), row(table, "aten::new").speedup()), (None, None));
    assert_eq!((table.totals[0].time_us, table.totals[1].time_us, table.gap_us()), (7000.0, 4000.0, -3000.0));
}

/// A table that is not keyed by all that its rows differ in has several rows of one key, such as an operator on two
/// threads. Joined row by row they would multiply.
#[test]
fn rows_of_one_key_are_one_before_they_are_joined() {
    let twice = || {
        calls(&[
            (["aten::mm", "('float',)", "((2, 3),)", "((3, 1),)"], 10.0, 1.0),
            (["aten::mm", "('float',)", "((2, 3),)", "((3, 1),)"], 30.0, 3.0),
        ])
    };
    let comparison = compared(vec![twice()], vec![twice()]);
    let table = comparison.about(Subject::Call).unwrap();
    assert_eq!(table.rows.len(), 1);
    let figures = table.rows[0].figures[0];
    assert_eq!((figures.time_us, figures.calls, figures.mean_us), (40.0, Some(4.0), Some(10.0)));
    assert_eq!(table.rows[0].delta_us(), 0.0);
}

#[test]
fn keys_are_equal_however_they_are_written() {
    let a = calls(&[
        (["aten::mm", "('long', 'c10::Half')", "((2, 3), ())", "((3, 1), ())"], 1.0, 1.0),
        (["aten::miopen_convolution", "('float',)", "((1,),)", "((1,),)"], 2.0, 1.0),
        (["aten::copy_", "('float',)", "((4, 4),)", "((4, 1),)"], 3.0, 1.0),
        (["aten::copy_", "('float',)", "((4, 4),)", "((1, 4),)"], 4.0, 1.0),
    ]);
    let b = calls(&[
        (["aten::mm", r#"["long int","c10::Half"]"#, "[[2,3],[]]", "[[3,1],[]]"], 1.0, 1.0),
        (["aten::cudnn_convolution", "('float',)", "((1,),)", "((1,),)"], 5.0, 1.0),
        (["aten::copy_", "('float',)", "((4, 4),)", "((4, 1),)"], 3.0, 1.0),
        (["aten::copy_", "('float',)", "((4, 4),)", "((8, 1),)"], 6.0, 1.0),
    ]);
    let comparison = compared(vec![a.clone()], vec![b.clone()]);
    let table = comparison.about(Subject::Call).unwrap();
    let status = |row: &Row| (row.name().to_owned(), row.status, row.delta_us());
    let mut told: Vec<_> = table.rows.iter().map(status).collect();
    told.sort_by(|one, other| one.0.cmp(&other.0).then(one.2.total_cmp(&other.2)));
    assert_eq!(
        told,
        [
            ("aten::copy_".to_owned(), Status::Both(Match::Exact), 0.0),
            ("aten::copy_".to_owned(), Status::Both(Match::Relaxed), 2.0),
            (
                "aten::miopen_convolution → aten::cudnn_convolution".to_owned(),
                Status::Both(Match::SameWork),
                3.0
            ),
            ("aten::mm".to_owned(), Status::Both(Match::Exact), 0.0),
        ]
    );
    // Without classes of names the convolutions have nothing to do with each other.
    let options = CompareOptions { names: NameClasses::exact(), ..CompareOptions::default() };
    let comparison = compare(&side("a", vec![a]), &side("b", vec![b]), &options);
    let table = comparison.about(Subject::Call).unwrap();
    assert_eq!(row(table, "aten::miopen_convolution").status, Status::Gone);
    assert_eq!(row(table, "aten::cudnn_convolution").status, Status::New);
}

#[test]
fn tables_that_one_report_lacks_are_left_out_and_said_to_be() {
    let gemm = || {
        table(
            "GEMM",
            ["name", "param: M", "Kernel Time (µs)_sum", "name_count"],
            &[["aten::mm".into(), 512.0.into(), 7.0.into(), 1.0.into()]],
        )
    };
    let kernels =
        table("kernel_summary", ["Kernel name", "Kernel duration (µs)_sum"], &[["k".into(), 1.0.into()]]);
    let comparison =
        compared(vec![operators(&[("x", 1.0, 1)]), kernels, gemm()], vec![operators(&[("x", 1.0, 1)])]);
    let sheets: Vec<&str> = comparison.tables.iter().map(|table| table.sheet.as_str()).collect();
    // A report without matrix products has no sheet of them.
    assert_eq!(sheets, ["ops_summary", "GEMM"]);
    assert_eq!(comparison.tables[1].rows[0].status, Status::Gone);
    let expected = CompareNotice::OnlyIn { sheet: "kernel_summary".into(), run: "a".into() };
    assert_eq!(comparison.notices, [expected]);
}

#[test]
fn reports_without_a_table_in_common_have_no_comparison() {
    let gemm = table(
        "GEMM",
        ["name", "param: M", "Kernel Time (µs)_sum", "name_count"],
        &[["aten::mm".into(), 512.0.into(), 7.0.into(), 1.0.into()]],
    );
    let operations = table("ops", ["OP Code", "Device Time"], &[["Matmul".into(), 7.0.into()]]);
    let comparison = compared(vec![operators(&[("x", 1.0, 1)]), gemm], vec![operations]);
    assert!(comparison.tables.is_empty());
    assert_eq!(comparison.notices.len(), 2, "{:?}", comparison.notices);
}

#[test]
fn reports_with_other_columns_are_joined_by_what_they_share() {
    let full = calls(&[(["aten::mm", "('float',)", "((2, 3),)", "((3, 1),)"], 10.0, 1.0)]);
    let short = table(
        "ops_all",
        ["name", "Input Dims", "total_direct_kernel_time_sum"],
        &[["aten::mm".into(), "((2, 3),)".into(), 4.0.into()]],
    );
    let comparison = compared(vec![full], vec![short]);
    let table = comparison.about(Subject::Call).unwrap();
    assert_eq!(table.keys, ["name", "Input Dims"]);
    assert_eq!((table.rows.len(), table.rows[0].delta_us()), (1, -6.0));
    let keys: Vec<String> = comparison.notices.iter().map(ToString::to_string).collect();
    assert_eq!(keys.len(), 2, "{keys:?}");
    assert!(keys[0].contains("`Input type`, which the report of b lacks"), "{keys:?}");
    // Times of the device and times of the host are not the same figure.
    let host = crate::sides::table("ops_summary", ["name", "host_us"], &[["x".into(), 1.0.into()]]);
    let comparison = compared(vec![operators(&[("x", 1.0, 1)])], vec![host]);
    assert_eq!(comparison.notices, [CompareNotice::NoTime { sheet: "ops_summary".into() }]);
}

#[test]
fn figures_are_per_step_where_both_reports_have_recorded_steps() {
    let steps = |count: f64, source: &'static str| {
        table(
            "iteration_groups",
            ["level", "source", "iterations"],
            &[
                ["step".into(), source.into(), (count - 1.0).into()],
                ["step".into(), source.into(), 1.0.into()],
                ["layer".into(), "module calls".into(), 24.0.into()],
            ],
        )
    };
    let (a, b) = (operators(&[("x", 3.0, 30)]), operators(&[("x", 6.0, 50)]));
    let comparison =
        compared(vec![a.clone(), steps(3.0, "recorded steps")], vec![b.clone(), steps(5.0, "annotations")]);
    assert_eq!(comparison.steps, Some([3, 5]));
    let [in_a, in_b] = comparison.tables[0].rows[0].figures;
    assert_eq!((in_a.time_us, in_a.calls, in_a.mean_us), (1000.0, Some(10.0), Some(100.0)));
    assert_eq!((in_b.time_us, in_b.calls, in_b.mean_us), (1200.0, Some(10.0), Some(120.0)));
    // Steps that were inferred may be none.
    let comparison = compared(vec![a, steps(3.0, "kernel sequence")], vec![b, steps(5.0, "recorded steps")]);
    assert_eq!(comparison.steps, None);
}

#[test]
fn steps_that_a_recording_cuts_count_by_their_time() {
    let steps = |partial: &[f64], whole: &[f64]| {
        let row =
            |state: &'static str, ms: f64| ["step".into(), "recorded steps".into(), state.into(), ms.into()];
        let rows: Vec<_> = whole
            .iter()
            .map(|&ms| row("steady", ms))
            .chain(partial.iter().map(|&ms| row("partial", ms)))
            .collect();
        table("iterations", ["level", "source", "state", "duration (ms)"], &rows)
    };
    let side = |partial: &[f64], whole: &[f64]| vec![operators(&[("x", 3.0, 30)]), steps(partial, whole)];
    let counted = |a, b| compared(a, b).steps;
    assert_eq!(counted(side(&[0.001], &[20.0, 23.0, 30.0]), side(&[22.0, 3.0], &[23.0, 23.0])), Some([3, 3]));
    // Of a step that is cut it is not known how long it takes.
    assert_eq!(counted(side(&[5.0], &[]), side(&[], &[20.0, 20.0])), None);
}

#[test]
fn calls_that_differ_by_one_factor_are_a_warning() {
    let a = operators(&[("x", 1.0, 3), ("y", 1.0, 6), ("z", 1.0, 30)]);
    let b = operators(&[("x", 1.0, 5), ("y", 1.0, 10), ("z", 1.0, 50)]);
    let comparison = compared(vec![a.clone()], vec![b]);
    assert!(
        matches!(&comparison.notices[..], [CompareNotice::OneFactor { factor, .. }] if (factor * 3.0 - 5.0).abs() < 1e-9),
        "{:?}",
        comparison.notices
    );
    assert_eq!(compared(vec![a.clone()], vec![a]).notices, []);
}

#[test]
fn recordings_that_are_cut_differently_are_compared_call_by_call() {
    let timeline = |ms: f64| table("gpu_timeline", ["type", "time ms"], &[["total_time".into(), ms.into()]]);
    let a = operators(&[("x", 30.0, 300), ("y", 20.0, 100), ("z", 1.4, 7)]);
    let b = operators(&[("x", 15.0, 100), ("y", 8.2, 40), ("z", 0.2, 2)]);
    let comparison = compared(vec![timeline(60.0), a.clone()], vec![timeline(25.0), b]);
    assert!(matches!(&comparison.notices[..], [CompareNotice::CutDifferently { .. }]), "{comparison:#?}");
    let table = comparison.main_table().unwrap();
    let told: Vec<_> =
        table.rows.iter().map(|row| (row.name(), row.figures.map(|figures| figures.time_us))).collect();
    assert_eq!(told, [("x", [100.0, 150.0]), ("z", [200.0, 100.0]), ("y", [200.0, 205.0])]);
    // Nothing is said of the spans.
    assert!(comparison.span().is_none() && waterfall(&comparison).is_empty());
    assert!(!markdown(&comparison).contains("60.00 ms"));
    let check = |limit: &str| limit.parse::<Limit>().unwrap().check(&comparison).map(|found| found.is_some());
    assert_eq!([check("op:x>40%"), check("op:x>60%")], [Ok(true), Ok(false)]);
    assert!(check("total_time>5%").is_err() && check("gone>1us").is_err());
    let same = compared(vec![timeline(60.0), a.clone()], vec![timeline(60.0), a]);
    assert!(!same.is_cut_differently && same.span().is_some());
}

/// The large product is in most of A and in little of B: the mean of all products is less, though each takes as long or longer.
#[test]
fn calls_of_recordings_that_are_cut_differently_are_held_against_those_of_their_shapes() {
    let (small, large) = (["mm", "float", "(8, 8)", ""], ["mm", "float", "(64, 64)", ""]);
    let a = [operators(&[("mm", 1.1, 20)]), calls(&[(small, 100.0, 10.0), (large, 1000.0, 10.0)])];
    let b = [operators(&[("mm", 0.16, 6)]), calls(&[(small, 50.0, 5.0), (large, 110.0, 1.0)])];
    let comparison = compared(a.into(), b.into());
    assert!(comparison.is_cut_differently);
    let rows = &comparison.ranked_table().unwrap().rows;
    let told = rows.iter().filter(|row| !row.is_noise());
    let told: Vec<_> = told.map(|row| (row.keys[2].as_deref(), row.delta_us())).collect();
    assert_eq!(told, [(Some("(64, 64)"), 10.0)]);
    assert!(markdown(&comparison).contains("+10.0%"));
}

#[test]
fn runs_with_little_in_common_are_a_warning() {
    let comparison = compared(
        vec![operators(&[("x", 9.0, 1), ("z", 1.0, 1)])],
        vec![operators(&[("y", 9.0, 1), ("z", 1.0, 1)])],
    );
    let expected = CompareNotice::LittleInCommon { likeness: 1.0 / 3.0, sheet: "ops_summary".into() };
    assert_eq!(comparison.notices, [expected]);
    let nothing = compared(vec![operators(&[("x", 9.0, 1)])], vec![operators(&[("y", 9.0, 1)])]);
    assert!(
        nothing.notices[0].to_string().starts_with("only 0.0% of the calls in ops_summary"),
        "{nothing:?}"
    );
    let empty = compared(vec![operators(&[])], vec![operators(&[])]);
    assert_eq!((empty.likeness().is_none(), empty.notices), (true, vec![]));
}

/// Calls are alike by operator, types and shapes.
#[test]
fn likeness_is_that_of_calls_whatever_their_strides() {
    let a = calls(&[
        (["aten::mm", "('long',)", "((2, 3),)", "((3, 1),)"], 1.0, 3.0),
        (["aten::cudnn_convolution", "('float',)", "((1,),)", "((1,),)"], 2.0, 1.0),
    ]);
    let b = calls(&[
        (["aten::mm", "('long int',)", "[[2,3]]", "[[1,2]]"], 1.0, 2.0),
        (["aten::mm", "('long int',)", "[[2,4]]", "[[4,1]]"], 1.0, 1.0),
        (["aten::miopen_convolution", "('float',)", "((1,),)", "((1,),)"], 5.0, 1.0),
    ]);
    let comparison =
        compared(vec![operators(&[("aten::mm", 1.0, 1)]), a], vec![operators(&[("x", 1.0, 1)]), b]);
    let (likeness, table) = comparison.likeness().unwrap();
    assert_eq!((likeness, table.subject), (3.0 / 5.0, Subject::Call));
    assert_eq!(comparison.notices, []);
}

/// One model on two GPUs, of which one fills 24 more tensors, and models that share an operator by chance.
#[test]
fn corpus_models_are_like_themselves_alone() {
    for (a, b, expected) in [
        ("h100-qwen1.5-0.5b", "mi300-qwen1.5-0.5b", 1030.0 / 1054.0),
        ("h100-qwen1.5-0.5b", "mi300-bert-small", 0.000_917),
        ("h100-owlv2-large", "h100-falconsai-vit", 0.0),
        ("mi300-timesformer", "mi300-timesformer", 1.0),
    ] {
        let (Some(one), Some(other)) = (corpus_report(a), corpus_report(b)) else { return };
        let comparison = compare(&one, &other, &CompareOptions::default());
        let (likeness, table) = comparison.likeness().unwrap();
        assert_eq!(table.subject, Subject::Call);
        assert!((likeness - expected).abs() < 1e-6, "{a} and {b}: {likeness}");
        let is_warned = |notice: &CompareNotice| matches!(notice, CompareNotice::LittleInCommon { .. });
        assert_eq!(comparison.notices.iter().any(is_warned), expected < 0.5, "{a} and {b}");
    }
}

#[test]
fn columns_that_are_no_numbers_are_left_out_and_said_to_be() {
    let broken =
        table("ops_summary", ["name", "total_direct_kernel_time_ms"], &[["x".into(), "much".into()]]);
    let comparison = compared(vec![operators(&[("x", 1.0, 1)])], vec![broken]);
    assert_eq!(comparison.notices, [CompareNotice::NoTime { sheet: "ops_summary".into() }]);
    assert!(comparison.tables.is_empty());
}

#[test]
fn limits_are_about_time_that_is_added() {
    let timeline = |ms: f64| table("gpu_timeline", ["type", "time ms"], &[["total_time".into(), ms.into()]]);
    let a = vec![
        timeline(10.0),
        operators(&[("x", 4.0, 1), ("aten::miopen_convolution", 2.0, 1), ("old", 1.0, 1)]),
    ];
    let b = vec![
        timeline(11.0),
        operators(&[("x", 5.0, 1), ("aten::cudnn_convolution", 1.0, 1), ("new", 0.5, 1)]),
    ];
    let comparison = compared(a, b);
    for (limit, exceeded) in [
        ("total_time>9.9%", Some("b exceeds total_time>9.9%: +1.000 ms (+10.0%)")),
        ("total_time>10%", None),
        ("total_time>999us", Some("b exceeds total_time>999us: +1.000 ms (+10.0%)")),
        ("op:x>1ms", None),
        ("op:x>20%", Some("b exceeds op:x>20%: +1.000 ms (+25.0%)")),
        ("op:aten::cudnn_convolution>0%", None),
        ("op:new>1000%", Some("b exceeds op:new>1000%: +500.0 µs")),
        ("new>0.4ms", Some("b exceeds new>400us: +500.0 µs (+5.0%)")),
        ("gone>1ms", None),
    ] {
        let found = limit.parse::<Limit>().unwrap().check(&comparison).unwrap();
        assert_eq!(found.map(|found| found.to_string()).as_deref(), exceeded, "{limit}");
    }
    for limit in ["op:none>1%", "kernel:x>1%", "idle_time>1%"] {
        let error = limit.parse::<Limit>().unwrap().check(&comparison).unwrap_err().to_string();
        assert!(error.contains("neither a nor b has"), "{error}");
    }
}

/// Parts of a difference: kinds of work, what they do at the same time, communication and idle time.
fn parts(a: [f64; 3], b: [f64; 3]) -> Comparison {
    let report = |[gemm, elementwise, idle]: [f64; 3]| {
        let rows = [
            ["computation_time".into(), (gemm + elementwise * 0.5).into()],
            ["exposed_comm_time".into(), 0.25.into()],
            ["idle_time".into(), idle.into()],
            ["total_time".into(), (gemm + elementwise * 0.5 + 0.25 + idle).into()],
        ];
        let kinds = [["GEMM".into(), gemm.into()], ["elementwise".into(), elementwise.into()]];
        vec![
            table("gpu_timeline", ["type", "time ms"], &rows),
            table("ops_summary_by_category", ["op category", "total_direct_kernel_time_ms"], &kinds),
        ]
    };
    compared(report(a), report(b))
}

#[test]
fn a_waterfall_goes_from_one_time_to_the_other() {
    let steps = waterfall(&parts([4.0, 2.0, 1.0], [6.0, 1.0, 1.5]));
    let told: Vec<_> =
        steps.iter().map(|step| (step.name.as_str(), step.whole_us, step.delta_us, step.base_us)).collect();
    assert_eq!(
        told,
        [
            ("a", Some(6250.0), None, None),
            ("GEMM", None, Some(2000.0), Some(6250.0)),
            ("elementwise", None, Some(-1000.0), Some(7250.0)),
            ("overlap and uncategorized work", None, Some(500.0), Some(7250.0)),
            ("idle", None, Some(500.0), Some(7750.0)),
            ("b", Some(8250.0), None, None),
        ]
    );
}

/// Parts of a span that contain each other have no running sum.
#[test]
fn only_rows_that_add_up_are_summed() {
    let comparison = parts([4.0, 2.0, 1.0], [6.0, 1.0, 1.5]);
    for (sheet, sums) in comparison_sheets(&comparison, "")[2..].iter().zip([false, true]) {
        let table = sheet.table(&comparison).unwrap().unwrap();
        assert_eq!(table.column("cumulative_share").is_some(), sums, "{}", table.name());
    }
}

#[test]
fn markdown_names_the_largest_changes() {
    let timeline = |ms: f64| table("gpu_timeline", ["type", "time ms"], &[["total_time".into(), ms.into()]]);
    let a = vec![timeline(10.0), operators(&[("f<int>", 4.0, 1)])];
    let b = vec![timeline(11.0), operators(&[("f<int>", 5.0, 1), ("g", 0.5, 1)])];
    let text = markdown(&compared(a, b));
    for line in [
        "### b against a",
        "**10.00 ms** in a, **11.00 ms** in b (+10.0%)",
        "| f&lt;int&gt; |  | 4.000 ms | 5.000 ms | +1.000 ms | +25.0% |",
        "| g | new |  | 500.0 µs | +500.0 µs |  |",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}:\n{text}");
    }
}

#[test]
fn sheets_have_the_names_of_the_runs_and_the_sums_at_the_end() {
    let a = operators(&[("x", 4.0, 1), ("old", 1.0, 1)]);
    let b = operators(&[("x", 2.0, 1), ("new", 0.5, 1)]);
    let comparison = compared(vec![a], vec![b]);
    let sheets = comparison_sheets(&comparison, "");
    let table = sheets[2].table(&comparison).unwrap().unwrap();
    let cells = |name: &str| {
        table.column(name).unwrap().cells().map(|cell| cell.text().into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(cells("name"), ["x", "old", "new", "(total)"]);
    assert_eq!(cells("status"), ["both", "gone", "new", "total"]);
    assert_eq!(cells("time_us: a"), ["4000.0", "1000.0", "", "5000.0"]);
    assert_eq!(cells("time_us: b"), ["2000.0", "", "500.0", "2500.0"]);
    assert_eq!(cells("delta_us"), ["-2000.0", "-1000.0", "500.0", "-2500.0"]);
    assert_eq!(cells("speedup"), ["2.0", "", "", "2.0"]);
    assert_eq!(cells("share_of_gap"), ["80.0", "40.0", "-20.0", "100.0"]);
    assert_eq!(cells("cumulative_share"), ["80.0", "120.0", "100.0", "100.0"]);
}

/// Rows that share names, shapes and strides by chance, some without a time.
fn some_calls() -> impl Strategy<Value = Table> {
    let name =
        prop::sample::select(vec!["aten::mm", "aten::miopen_convolution", "aten::cudnn_convolution", "x"]);
    let types = prop::sample::select(vec!["('long',)", "('long int',)", "('float',)"]);
    let dims = prop::sample::select(vec!["((1, 2),)", "[[1,2]]", "((2, 2),)", "()"]);
    let strides = prop::sample::select(vec!["((2, 1),)", "((1, 2),)", "((7, 1),)"]);
    let row = (name, types, dims, strides, 0.0..1e6_f64, 1..50_u32);
    prop::collection::vec(row, 0..40).prop_map(|rows| {
        let rows: Vec<_> = rows
            .into_iter()
            .map(|(name, types, dims, strides, us, count)| {
                ([name, types, dims, strides], us, f64::from(count))
            })
            .collect();
        calls(&rows)
    })
}

fn sums(table: &Table) -> [f64; 2] {
    ["total_direct_kernel_time_sum", "operation_count"].map(|name| {
        let cells = table.column(name).unwrap().cells();
        cells.map(|cell| if let Cell::Number(number) = cell { number } else { 0.0 }).sum()
    })
}

proptest! {
    /// The rows in both, gone and new add up to each table, whatever was joined with what.
    #[test]
    fn the_groups_add_up_to_each_table(a in some_calls(), b in some_calls()) {
        // One step each, whatever the numbers of calls are.
        let [of_a, of_b] = [("a", &a), ("b", &b)].map(|(name, calls)| Side { steps: Some(1), ..side(name, vec![calls.clone()]) });
        let comparison = compare(&of_a, &of_b, &CompareOptions::default());
        let table = comparison.about(Subject::Call).unwrap();
        for (side, source) in [&a, &b].into_iter().enumerate() {
            let [time, count] = sums(source);
            let in_rows: f64 = table.rows.iter().map(|row| row.figures[side].time_us).sum();
            let counted: f64 = table.rows.iter().filter_map(|row| row.figures[side].calls).sum();
            prop_assert!((in_rows - time).abs() <= 1e-9 * time.max(1.0), "{in_rows} of {time}");
            prop_assert!((table.totals[side].time_us - time).abs() <= 1e-9 * time.max(1.0));
            prop_assert_eq!(counted, count);
        }
        for row in &table.rows {
            let absent = if row.status == Status::Gone { Some(1) } else { (row.status == Status::New).then_some(0) };
            prop_assert!(absent.is_none_or(|side| row.figures[side].time_us == 0.0));
        }
        let gap: f64 = table.rows.iter().map(Row::delta_us).sum();
        prop_assert!((gap - table.gap_us()).abs() <= 1e-6);
    }

    /// The steps of a waterfall end where B is.
    #[test]
    fn the_steps_add_up_to_the_difference(a in prop::array::uniform3(0.0..1e3_f64), b in prop::array::uniform3(0.0..1e3_f64)) {
        let steps = waterfall(&parts(a, b));
        let wholes: Vec<f64> = steps.iter().filter_map(|step| step.whole_us).collect();
        let sum: f64 = steps.iter().filter_map(|step| step.delta_us).sum();
        prop_assert!((wholes[0] + sum - wholes[1]).abs() <= 1e-9 * (wholes[0] + wholes[1]));
    }

    /// What is gone one way is new the other way, and changes have the other sign.
    #[test]
    fn a_mirrored_comparison_has_the_mirrored_answer(a in some_calls(), b in some_calls()) {
        let count = |comparison: &Comparison, status: Status| {
            comparison.about(Subject::Call).unwrap().rows.iter().filter(|row| row.status == status).count()
        };
        let (one, other) = (compared(vec![a.clone()], vec![b.clone()]), compared(vec![b], vec![a]));
        prop_assert_eq!(count(&one, Status::Gone), count(&other, Status::New));
        prop_assert_eq!(count(&one, Status::New), count(&other, Status::Gone));
        let gap = |comparison: &Comparison| comparison.about(Subject::Call).unwrap().gap_us();
        prop_assert_eq!(gap(&one), -gap(&other));
    }

    /// A report does not differ from itself.
    #[test]
    fn a_report_and_itself_have_no_difference(a in some_calls()) {
        let comparison = compared(vec![a.clone()], vec![a]);
        let table = comparison.about(Subject::Call).unwrap();
        prop_assert!(table.rows.iter().all(|row| row.status == Status::Both(Match::Exact) && row.delta_us() == 0.0));
    }
}
