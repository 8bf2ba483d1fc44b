//! Collective communication by kind and size.

use perf_models::CommunicationPatterns;
use trace_ingest::{Category, Collective, DistributedInfo, EventArguments, ProcessGroup, TraceFacts};
use tree_perf::{AnalysisOptions, Notice};

use crate::common::{THEIRS, Table};
use crate::fixture::{Analysed, Fixture};

const SHEET: &str = "coll_analysis";

/// A trace with an operator, without which there is nothing but the device's own sheets.
fn trace() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.op("c10d::allreduce_", (0.0, 10.0));
    fixture
}

fn all_reduce(fixture: &mut Fixture, group: Option<&str>, elements: i64) -> Collective {
    let mut text = |text: &str| Some(fixture.builder.intern(text));
    Collective {
        name: text("allreduce"),
        group_name: group.and_then(&mut text),
        group_ranks: text("[0, 1]"),
        group_size: Some(2),
        dtype: text("BFloat16"),
        in_elements: Some(elements),
        out_elements: Some(elements),
        in_split_size: text("[]"),
        out_split_size: text("[]"),
        ..Collective::default()
    }
}

#[test]
fn kernels_of_one_kind_and_size_are_one_row() {
    let mut fixture = trace();
    let small = all_reduce(&mut fixture, Some("0"), 1024 * 1024);
    let large = all_reduce(&mut fixture, Some("0"), 4 * 1024 * 1024);
    fixture.collective(("ncclDevKernel_AllReduce", 4, 1000.0, 10.0), small);
    fixture.collective(("ncclDevKernel_AllReduce", 4, 1100.0, 14.0), small);
    fixture.collective(("ncclDevKernel_AllReduce", 4, 1200.0, 40.0), large);
    // The same collective called by another rank of the group is the same kind.
    fixture.collective(("ncclDevKernel_AllReduce", 4, 1300.0, 12.0), Collective { rank: Some(1), ..small });
    let table = fixture.table(SHEET);
    let key = "rank | Process Group Name | Process Group Ranks | Collective name | Group size \
         | dtype | In msg nelems | Out msg nelems | In split size | Out split size | stream";
    let expected = [
        "0 | 0 | [0, 1] | allreduce | 2 | BFloat16 | 4194304 | 4194304 | [] | [] | 4",
        "0 | 0 | [0, 1] | allreduce | 2 | BFloat16 | 1048576 | 1048576 | [] | [] | 4",
    ];
    assert_eq!(table.select(key), expected);
    let figures = "In msg size (MB)_first | Out msg size (MB)_first | dur_sum | dur_mean | dur_std \
         | dur_min | dur_max | operation_count";
    assert_eq!(
        table.select(figures),
        ["8 | 8 | 40 | 40 | - | 40 | 40 | 1", "2 | 2 | 36 | 12 | 2 | 10 | 14 | 3"]
    );
}

#[test]
fn sizes_are_elements_times_the_size_of_their_type() {
    const MEBI: i64 = 1024 * 1024;
    for (dtype, elements, size) in [
        ("Double", Some(MEBI), "8"),
        ("Long", Some(MEBI), "8"),
        ("Float", Some(MEBI), "4"),
        ("Int", Some(MEBI), "4"),
        ("BFloat16", Some(MEBI), "2"),
        ("Half", Some(MEBI), "2"),
        ("Short", Some(MEBI), "2"),
        ("Bool", Some(MEBI), "1"),
        ("Byte", Some(MEBI), "1"),
        ("Byte", Some(MEBI / 2), "0.5"),
        ("Byte", None, "-"),
        ("Float8_e9m9", Some(MEBI), "-"),
        ("Double", Some(i64::MAX), "70368744177664"),
    ] {
        let mut fixture = trace();
        let dtype_id = Some(fixture.builder.intern(dtype));
        let collective = Collective {
            dtype: dtype_id,
            in_elements: elements,
            out_elements: None,
            ..Collective::default()
        };
        fixture.collective(("ncclDevKernel_AllReduce", 4, 1000.0, 10.0), collective);
        let sizes = fixture.table(SHEET).select("dtype | In msg size (MB)_first | Out msg size (MB)_first");
        assert_eq!(sizes, [format!("{dtype} | {size} | -")], "{elements:?}");
    }
}

#[test]
fn bandwidths_are_those_of_nccl_tests_over_the_mean_and_the_shortest_duration() {
    // 1,000,000 elements of two bytes given, four times as many got, by a group of four; 20 and 60 µs.
    for (name, ranks, expected) in [
        ("allreduce", Some(4), "8000000 | 200 | 400 | 300 | 600"),
        ("_allgather_base", Some(4), "8000000 | 200 | 400 | 150 | 300"),
        ("broadcast", Some(4), "8000000 | 200 | 400 | 200 | 400"),
        ("allreduce", None, "8000000 | 200 | 400 | - | -"),
    ] {
        let mut fixture = trace();
        let collective = Collective {
            name: Some(fixture.builder.intern(name)),
            group_size: ranks,
            out_elements: Some(4_000_000),
            ..all_reduce(&mut fixture, Some("0"), 1_000_000)
        };
        fixture.collective(("ncclDevKernel", 4, 1000.0, 20.0), collective);
        fixture.collective(("ncclDevKernel", 4, 1100.0, 60.0), collective);
        let columns = "message size (bytes) | algorithm bandwidth (GB/s)_mean \
             | algorithm bandwidth (GB/s)_max | bus bandwidth (GB/s)_mean \
             | bus bandwidth (GB/s)_max";
        assert_eq!(fixture.table(SHEET).select(columns), [expected], "{name} {ranks:?}");
    }
}

#[test]
fn a_sheet_of_tracelens_has_no_bandwidth_and_no_size_of_eight_bit_floats() {
    let mut fixture = trace();
    let dtype = Some(fixture.builder.intern("Float8_e4m3fn"));
    let collective = Collective { dtype, ..all_reduce(&mut fixture, Some("0"), 1 << 20) };
    fixture.collective(("ncclDevKernel_AllReduce", 4, 1000.0, 10.0), collective);
    let trace = fixture.analyse(AnalysisOptions::default());
    let ours = Table::build(&trace, SHEET).unwrap();
    assert_eq!(ours.select("In msg size (MB)_first | message size (bytes)"), ["1 | 1048576"]);

    let options = AnalysisOptions { conventions: THEIRS, ..AnalysisOptions::default() };
    let mut fixture = self::trace();
    let dtype = Some(fixture.builder.intern("Float8_e4m3fn"));
    let collective = Collective { dtype, ..all_reduce(&mut fixture, Some("0"), 1 << 20) };
    fixture.collective(("ncclDevKernel_AllReduce", 4, 1000.0, 10.0), collective);
    let theirs = Table::build(&fixture.analyse(options), SHEET).unwrap();
    assert_eq!(theirs.select("In msg size (MB)_first"), ["-"]);
    assert!(!theirs.headers.iter().any(|header| header.contains("bandwidth")));
}

#[test]
fn kernels_without_any_record_are_kept() {
    let mut fixture = trace();
    fixture.unlinked(("ncclDevKernel_Broadcast", 4, 1000.0, 10.0));
    fixture.unlinked(("vllm::cross_device_reduce_1stage<bf16>", 4, 1100.0, 30.0));
    let rows = fixture.table(SHEET).select("Collective name | dtype | In msg size (MB)_first | dur_sum");
    assert_eq!(rows, ["allreduce | - | - | 30", "- | - | - | 10"]);
}

#[test]
fn a_collective_named_by_its_kernel_is_the_same_as_one_named_by_the_record() {
    let mut fixture = trace();
    let name = Some(fixture.builder.intern("allreduce"));
    fixture.unlinked(("cross_device_reduce_1stage", 4, 1000.0, 10.0));
    fixture.collective(
        ("cross_device_reduce_1stage", 4, 1100.0, 20.0),
        Collective { name, ..Collective::default() },
    );
    assert_eq!(fixture.table(SHEET).select("Collective name | operation_count"), ["allreduce | 2"]);
}

#[test]
fn calls_without_a_group_are_all_one_when_nothing_tells_groups_apart() {
    for (case, groups, streams, expected) in [
        ("one stream", [None, None], [4, 4], "all"),
        ("two streams", [None, None], [4, 5], "Unknown_Group"),
        ("another names its group", [Some("0"), None], [4, 4], "Unknown_Group"),
    ] {
        let mut fixture = trace();
        for (position, (group, stream)) in groups.into_iter().zip(streams).enumerate() {
            let at = 1000.0 + position as f64 * 100.0;
            let collective = all_reduce(&mut fixture, group, 1 << position);
            fixture.collective(("ncclDevKernel_AllReduce", stream, at, 10.0 - position as f64), collective);
        }
        let names = fixture.table(SHEET).select("Process Group Name");
        assert_eq!(names[1], expected, "{case}");
    }
}

#[test]
fn equal_times_are_in_the_order_of_their_keys() {
    let mut fixture = trace();
    for (position, (group, elements)) in [("2", 8), ("1", 9), ("1", 7)].into_iter().enumerate() {
        let collective = all_reduce(&mut fixture, Some(group), elements);
        fixture.collective(("ncclDevKernel_AllReduce", 4, 1000.0 + position as f64 * 20.0, 5.0), collective);
    }
    let rows = fixture.table(SHEET).select("Process Group Name | In msg nelems");
    assert_eq!(rows, ["1 | 7", "1 | 9", "2 | 8"]);
}

#[test]
fn the_rank_is_that_of_the_recording() {
    let mut fixture = trace();
    fixture.unlinked(("ncclDevKernel_AllReduce", 4, 1000.0, 10.0));
    fixture.builder.facts(TraceFacts {
        distributed: Some(DistributedInfo { rank: Some(3), ..DistributedInfo::default() }),
        ..TraceFacts::default()
    });
    assert_eq!(fixture.table(SHEET).select("rank"), ["3"]);
}

#[test]
fn only_kernels_that_carry_the_number_of_a_call_count() {
    for (case, external_id, rows) in [("neither", None, 0), ("External id", Some(5), 1)] {
        let mut fixture = trace();
        let arguments = EventArguments { external_id, stream: Some(4), ..EventArguments::default() };
        fixture.event(Category::KERNEL, "ncclDevKernel_AllReduce", (0, 4), (1000.0, 10.0), arguments);
        let table = Table::build(&fixture.analyse(AnalysisOptions::default()), SHEET);
        assert_eq!(table.map_or(0, |table| table.rows.len()), rows, "{case}");
    }
}

#[test]
fn the_sheet_is_left_out_when_disabled_or_without_communication() {
    let mut fixture = trace();
    fixture.unlinked(("ncclDevKernel_AllReduce", 4, 1000.0, 10.0));
    let options = AnalysisOptions { disable_coll_analysis: true, ..AnalysisOptions::default() };
    assert!(Table::build(&fixture.analyse(options), SHEET).is_none());

    let mut fixture = trace();
    fixture.unlinked(("gemm", 4, 1000.0, 10.0));
    assert!(Table::build(&fixture.analyse(AnalysisOptions::default()), SHEET).is_none());
}

#[test]
fn communication_by_a_word_in_the_name_is_said_to_be_a_guess() {
    let mut fixture = Fixture::new();
    fixture.call("my::gather", 0.0, &[("void my_all_gather<int>(int*)", 7, 1000.0, 20.0)]);
    fixture.call("my::reduce", 20.0, &[("ncclDevKernel_AllReduce", 7, 1100.0, 30.0)]);
    let guessed =
        Notice::CommunicationGuessed { kernels: 1, time_us: 20.0, example: "my_all_gather<int>".into() };
    assert_eq!(fixture.analyse(AnalysisOptions::default()).notices(), [guessed]);

    let mut fixture = Fixture::new();
    fixture.call("my::gather", 0.0, &[("void my_all_gather<int>(int*)", 7, 1000.0, 20.0)]);
    let communication = CommunicationPatterns::default().with_pattern("my_all_gather");
    assert_eq!(
        fixture.analyse(AnalysisOptions { communication, ..AnalysisOptions::default() }).notices(),
        []
    );
}

/// Collectives that Gloo ran, in a job of so many ranks.
fn gloo(ranks: Option<i64>) -> Fixture {
    let mut fixture = trace();
    for (name, at, shape) in [
        ("gloo:all_reduce", 10.0, Some(&[256, 4][..])),
        ("gloo:all_reduce", 600.0, Some(&[256, 4])),
        ("gloo:all_gather", 1200.0, Some(&[1024])),
        ("gloo:barrier", 1800.0, None),
    ] {
        let tensor = shape.map(|shape| fixture.arguments(&[(shape, "float", "")]));
        fixture.event(Category::USER_ANNOTATION, name, (1, 2), (at, 500.0), tensor.unwrap_or_default());
    }
    let group = |size| ProcessGroup { size: Some(size), ..ProcessGroup::default() };
    let process_groups = ranks.map(group).into_iter().collect();
    let distributed = Some(DistributedInfo { process_groups, ..DistributedInfo::default() });
    fixture.builder.facts(TraceFacts { distributed, ..TraceFacts::default() });
    fixture
}

#[test]
fn collectives_on_the_host_have_its_time() {
    let columns = "timed | Collective name | Group size | dtype | In msg nelems | Out msg nelems \
         | dur_sum | operation_count | message size (bytes)";
    // Nobody says how much a rank gathers.
    assert_eq!(
        gloo(None).table(SHEET).select(columns),
        [
            "host | all_reduce | - | float | 1024 | 1024 | 1000 | 2 | 4096",
            "host | all_gather | - | float | 1024 | - | 500 | 1 | -",
            "host | barrier | - | - | - | - | 500 | 1 | -",
        ]
    );
    assert_eq!(
        gloo(Some(4)).table(SHEET).select(columns)[..2],
        [
            "host | all_reduce | 4 | float | 1024 | 1024 | 1000 | 2 | 4096",
            "host | all_gather | 4 | float | 1024 | 4096 | 500 | 1 | 16384",
        ]
    );
    // TraceLens knows kernels alone.
    let options = AnalysisOptions { conventions: THEIRS, ..AnalysisOptions::default() };
    assert!(Table::build(&gloo(None).analyse(options), SHEET).is_none());
}

#[test]
fn without_device_work_the_calls_that_name_a_collective_are_listed() {
    let with = |kernel: Option<&str>| {
        let mut fixture = trace();
        for (name, at) in [("allreduce", 20.0), ("wait", 40.0)] {
            let collective = Collective { name: Some(fixture.builder.intern(name)), ..Collective::default() };
            let arguments = EventArguments { collective: Some(collective), ..EventArguments::default() };
            fixture.event(Category::CPU_OP, "record_param_comms", (1, 1), (at, 5.0), arguments);
        }
        if let Some(kernel) = kernel {
            fixture.unlinked((kernel, 7, 1000.0, 20.0));
        }
        Table::build(&fixture.analyse(AnalysisOptions::default()), SHEET)
            .map(|table| table.select("dur_sum | operation_count"))
    };
    assert_eq!(with(None), Some(vec!["5 | 1".to_owned()]));
    // Their kernels are listed.
    assert_eq!(with(Some("ncclDevKernel_AllReduce")), Some(vec!["20 | 1".to_owned()]));
    assert_eq!(with(Some("gemm")), None);
}
