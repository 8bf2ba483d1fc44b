use proptest::prelude::*;

use super::*;
use crate::hand_made::{Line, report};
use crate::options::MetalOptions;

fn at(name: &'static str, memory: &'static str, us: f64) -> Line {
    Line { memory, duration: Some(us * 1000.0), ..Line::op(name) }
}

fn options(group_by: GroupBy) -> MetalOptions {
    MetalOptions { group_by, ..MetalOptions::default() }
}

fn rows(groups: &[StackedGroup]) -> Vec<(&str, Option<&str>, f64, usize)> {
    groups.iter().map(|g| (g.name.as_str(), g.buffer.as_deref(), g.time_us, g.count)).collect()
}

#[test]
fn groups_are_by_operation_memory_or_category() {
    let lines = [
        at("Transpose", "DEV_0_DRAM_INTERLEAVED", 1.0),
        at("Transpose", "DEV_0_L1_HEIGHT_SHARDED", 2.0),
        at("Transpose", "DEV_0_DRAM_HEIGHT_SHARDED", 4.0),
        at("Halo", "", 3.0),
    ];
    let by = |group_by| stacked(&report(&lines, options(group_by)));
    assert_eq!(rows(&by(GroupBy::Op)), [("Transpose", None, 7.0, 3), ("Halo", None, 3.0, 1)]);
    assert_eq!(rows(&by(GroupBy::Category)), [("TM", None, 7.0, 3), ("DM", None, 3.0, 1)]);
    assert_eq!(
        rows(&by(GroupBy::Memory)),
        [
            ("Transpose (in0:height_sharded)", Some("DRAM"), 4.0, 1),
            ("Halo", None, 3.0, 1),
            ("Transpose (in0:height_sharded)", Some("L1"), 2.0, 1),
            ("Transpose (in0:dram_interleaved)", Some("DRAM"), 1.0, 1),
        ]
    );
    let compat = MetalOptions { compat: true, ..MetalOptions::default() };
    assert_eq!(
        rows(&stacked(&report(&lines, compat))),
        [
            ("Transpose (in0:height_sharded)", None, 6.0, 2),
            ("Halo", None, 3.0, 1),
            ("Transpose (in0:dram_interleaved)", None, 1.0, 1),
        ]
    );
}

#[test]
fn memories_without_a_layout_and_host_operations_keep_their_rows() {
    let lines = [at("Copy", "HOST", 1.0), Line::host("add (torch)"), Line::signpost("run")];
    let of = |compat, merge_devices| {
        let options =
            MetalOptions { compat, merge_devices, ignore_signposts: true, ..MetalOptions::default() };
        stacked(&report(&lines, options)).into_iter().map(|group| group.name).collect::<Vec<_>>()
    };
    assert_eq!(of(false, true), ["Copy (in0:host)", "add (torch)"]);
    assert_eq!(of(false, false), ["Copy (in0:host)", "add (torch)"]);
    assert_eq!(of(true, true), ["add"]);
    assert!(of(true, false).is_empty());
}

#[test]
fn sums_keep_their_second_decimal() {
    let lines = [161.244, 81.979, 20.382, 3.470].map(|us| at("A", "", us));
    let groups = stacked(&report(&lines, options(GroupBy::Op)));
    assert_eq!(format!("{:.2}", groups[0].time_us), "267.07");
}

#[test]
fn ties_are_in_order_of_names_and_no_time_is_no_percent() {
    let groups = stacked(&report(&[at("B", "", 0.0), at("A", "", 0.0)], options(GroupBy::Op)));
    assert_eq!(rows(&groups), [("A", None, 0.0, 1), ("B", None, 0.0, 1)]);
    assert!(groups.iter().all(|group| group.percent == 0.0));
}

#[test]
fn flops_spread_over_operations_weighted_with_their_times() {
    let mut report = report(&[at("A", "", 1.0), at("A", "", 3.0), at("A", "", 5.0)], options(GroupBy::Op));
    report.ops[0].flops_percent = Some(10.0);
    report.ops[1].flops_percent = Some(30.0);
    let flops = stacked(&report)[0].flops.unwrap();
    assert_eq!((flops.min, flops.max, flops.mean), (10.0, 30.0, 20.0));
    assert_eq!((flops.std, flops.weighted_mean), (Some(200.0_f64.sqrt()), Some(25.0)));
    report.ops[1].flops_percent = None;
    assert_eq!(stacked(&report)[0].flops.unwrap().std, None);
}

#[test]
fn devices_kept_apart_have_groups_and_weights_of_their_own() {
    let on = |device, us| Line { device: Some(device), ..at("A", "", us) };
    let of = |compat| {
        let options = MetalOptions { compat, merge_devices: false, ..options(GroupBy::Op) };
        let mut report = report(&[on(0, 1.0), on(1, 3.0)], options);
        report.ops[0].flops_percent = Some(10.0);
        report.ops[1].flops_percent = Some(30.0);
        let groups = stacked(&report);
        let row = |group: &StackedGroup| (group.device, group.percent, group.flops.unwrap().weighted_mean);
        groups.iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(of(false), [(Some(1), 100.0, Some(30.0)), (Some(0), 100.0, Some(10.0))]);
    assert_eq!(of(true), [(Some(1), 100.0, Some(25.0)), (Some(0), 100.0, Some(25.0))]);
}

proptest! {
    #[test]
    fn percentages_sum_to_a_hundred_and_counts_to_the_rows(
        picks in prop::collection::vec((0_usize..4, 1_u32..100_000), 1..50),
    ) {
        let name = |at: usize| ["A", "B", "C", "D"][at];
        let lines: Vec<Line> = picks.iter().map(|&(op, ns)| at(name(op), "", f64::from(ns) / 1000.0)).collect();
        let report = report(&lines, options(GroupBy::Op));
        let groups = stacked(&report);
        prop_assert!((groups.iter().map(|group| group.percent).sum::<f64>() - 100.0).abs() < 1e-9);
        prop_assert_eq!(groups.iter().map(|group| group.count).sum::<usize>(), lines.len());
        let shares = report.ops.iter().filter_map(|op| op.total_percent).sum::<f64>();
        prop_assert!((shares - 100.0).abs() < 1e-9);
    }
}
