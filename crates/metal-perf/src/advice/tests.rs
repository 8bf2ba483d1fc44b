//! Advice on operations whose bound and configuration are set by hand.

use trace_ingest::metal::ops_from_bytes;

use super::*;
use crate::hand_made::conventions;
use crate::op::SparseBatches;
use crate::options::MetalOptions;

const HEADER: &str = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,DEVICE ARCH,ATTRIBUTES,MATH FIDELITY,CORE COUNT,\
    AVAILABLE WORKER CORE COUNT,HOST START TS,HOST DURATION [ns],OP TO OP LATENCY [ns],DEVICE KERNEL DURATION [ns],\
    INPUT_0_W_PAD[LOGICAL],INPUT_0_Z_PAD[LOGICAL],INPUT_0_Y_PAD[LOGICAL],INPUT_0_X_PAD[LOGICAL],INPUT_0_DATATYPE,\
    INPUT_0_MEMORY,\
    INPUT_1_W_PAD[LOGICAL],INPUT_1_Z_PAD[LOGICAL],INPUT_1_Y_PAD[LOGICAL],INPUT_1_X_PAD[LOGICAL],INPUT_1_DATATYPE,\
    INPUT_1_MEMORY,\
    OUTPUT_0_W_PAD[LOGICAL],OUTPUT_0_Z_PAD[LOGICAL],OUTPUT_0_Y_PAD[LOGICAL],OUTPUT_0_X_PAD[LOGICAL],\
    OUTPUT_0_DATATYPE,OUTPUT_0_MEMORY\n";

/// A file with products of 512³, each of this fidelity and these datatypes, the first input in `memory`.
fn product(fidelity: &str, [input_0, input_1, output]: [&str; 3], memory: &str) -> String {
    format!(
        "Matmul,tt_dnn_device,1024,0,blackhole,,{fidelity},64,110,100,5000,0,10000,\
        1[1],1[1],512[512],512[512],{input_0},{memory},1[1],1[1],512[512],512[512],{input_1},DEV_0_DRAM_INTERLEAVED,\
        1[1],1[1],512[512],512[512],{output},DEV_0_DRAM_INTERLEAVED\n"
    )
}

fn report(rows: &str, are_theirs: bool) -> MetalReport {
    let table = ops_from_bytes(vec![("ops.csv".into(), format!("{HEADER}{rows}").into_bytes())]).unwrap();
    MetalReport::new(table, MetalOptions { conventions: conventions(are_theirs), ..MetalOptions::default() })
        .unwrap()
}

/// Advice on the only operation after `change`.
fn advice(rows: &str, are_theirs: bool, change: impl FnOnce(&mut Op)) -> Vec<Advice> {
    let mut report = report(rows, are_theirs);
    change(&mut report.ops[0]);
    advice_of(&report, &report.ops[0])
}

const BF16: [&str; 3] = ["BFLOAT16"; 3];
const L1: &str = "DEV_0_L1_INTERLEAVED";

fn is_fidelity(item: &Advice) -> bool {
    matches!(item, Advice::Fidelity(_))
}

#[test]
fn products_bound_by_dram_are_to_be_sharded() {
    let row = product("HiFi2", BF16, L1);
    let bound = |op: &mut Op| op.bound = Some(Bound::Dram);
    let found = advice(&row, true, |op| {
        bound(op);
        op.flops_percent = Some(39.9);
    });
    assert_eq!(found.len(), 2);
    assert_eq!(found[0], Advice::DramShardedProgramConfig);
    assert!(is_fidelity(&found[1]), "HiFi2 loses bits, and there are FLOPs to spare");
    let found = advice(&row, true, |op| {
        bound(op);
        op.flops_percent = Some(40.0);
    });
    assert_eq!(found, [Advice::DramShardedProgramConfig]);
    let sharded = advice(&row, true, |op| {
        bound(op);
        op.flops_percent = Some(50.0);
        op.dram_sharded = true;
    });
    assert_eq!(sharded, []);
}

#[test]
fn products_bound_by_both_may_have_a_larger_grid_too() {
    let row = product("LoFi", ["BFLOAT8_B", "BFLOAT4_B", "BFLOAT8_B"], L1);
    let both = |op: &mut Op| op.bound = Some(Bound::Both);
    assert_eq!(advice(&row, true, both), [Advice::DramShardedProgramConfig]);
    let grid = Advice::LargerGrid { cores: 64, available: 110 };
    assert_eq!(advice(&row, false, both), [Advice::DramShardedProgramConfig, grid]);
}

#[test]
fn products_bound_by_flops_want_cores_and_fewer_passes() {
    let row = product("HiFi4", ["BFLOAT8_B"; 3], L1);
    let flop = |op: &mut Op| op.bound = Some(Bound::Flop);
    let found = advice(&row, false, flop);
    assert_eq!(found[0], Advice::LargerGrid { cores: 64, available: 110 });
    assert!(is_fidelity(&found[1]));
    let found = advice(&row, false, |op| {
        flop(op);
        op.dram_sharded = true;
    });
    assert!(found.len() == 1 && is_fidelity(&found[0]), "cores of sharded products are given by the DRAM");
}

#[test]
fn slow_products_are_led_to_l1_and_to_a_program_config() {
    let row = product("HiFi2", ["BFLOAT8_B"; 3], "DEV_0_DRAM_INTERLEAVED");
    let slow = |op: &mut Op| op.bound = Some(Bound::Slow);
    let memory = "DEV_0_DRAM_INTERLEAVED".to_owned();
    assert_eq!(advice(&row, false, slow), [Advice::InputOutsideL1 { memory }, Advice::NoProgramConfig]);

    let row = product("HiFi2", ["BFLOAT8_B"; 3], L1);
    let cases = [
        (
            (Some(1), Some(1), Some(1)),
            vec![Advice::SmallInnerBlock { width: 1 }, Advice::SmallOutSubblock { height: 1, width: 1 }],
        ),
        ((None, Some(2), None), vec![Advice::NoInnerBlock, Advice::NoOutSubblock]),
        (
            (Some(4), Some(1), Some(8)),
            vec![Advice::ConfigFine { inner_block_width: 4, out_subblock: Some((1, 8)) }],
        ),
    ];
    for ((inner, height, width), expected) in cases {
        let found = advice(&row, false, |op| {
            slow(op);
            (op.inner_block_width, op.out_subblock_h, op.out_subblock_w) = (inner, height, width);
        });
        assert_eq!(found, expected);
    }
    let sharded = advice(&row, false, |op| {
        slow(op);
        op.dram_sharded = true;
        op.inner_block_width = Some(2);
    });
    assert_eq!(sharded, [Advice::ConfigFine { inner_block_width: 2, out_subblock: None }]);
}

#[test]
fn fidelity_of_slow_products_is_spoken_of_where_there_is_an_opinion() {
    let slow = |op: &mut Op| op.bound = Some(Bound::Slow);
    let configured = |op: &mut Op| {
        op.bound = Some(Bound::Slow);
        (op.inner_block_width, op.out_subblock_h, op.out_subblock_w) = (Some(2), Some(1), Some(2));
    };
    let bf16 = product("HiFi2", BF16, L1);
    assert!(!advice(&bf16, true, slow).iter().any(is_fidelity), "not without a program config");
    assert!(advice(&bf16, false, slow).iter().any(is_fidelity));
    let integers = product("HiFi2", ["UINT16"; 3], L1);
    assert!(advice(&integers, true, configured).iter().any(is_fidelity), "says that it does not apply");
    assert!(!advice(&integers, false, configured).iter().any(is_fidelity));
}

#[test]
fn sparse_products_without_active_experts_ask_for_their_number() {
    let found = advice(&product("HiFi2", BF16, L1), false, |op| {
        op.sparse = Some(SparseBatches { active: None, dense: 128 });
        op.bound = None;
    });
    assert_eq!(found, [Advice::ActiveExpertsUnknown]);
}

#[test]
fn findings_say_how_much_there_is_to_win() {
    let mut report = report(&product("HiFi2", BF16, L1).repeat(4), false);
    assert_eq!(report.ops.len(), 4);
    report.ops[0].kind = OpKind::Host;
    report.ops[1].gap_us = Some(6.5);
    report.ops[2].gap_us = Some(16.0);
    report.ops[3].flops_percent = Some(120.0);
    report.totals.device_time_us = 40.0;
    report.totals.gap_us = 60.0;
    let found = findings(&report);
    assert_eq!(found[0], Finding::HostFallback { ops: vec![0], host_time_us: Some(5.0) });
    let gaps = Finding::HighGaps { ops: vec![2], gap_us: 16.0, saving_us: 10.0, saving_percent: Some(10.0) };
    assert_eq!(found[1], gaps);
    assert!(found[1].to_string().contains("10 μs (10.0%"), "{}", found[1]);
    let products: Vec<&[usize]> = found[2..5].iter().map(Finding::ops).collect();
    assert_eq!(products, [[1], [2], [3]]);
    assert!(found[2].at_most_us().unwrap() < 10.0);
    assert_eq!(found[4].at_most_us(), None, "nothing to win is known above 100%");
    assert!(found[5].to_string().starts_with("120.0% of the FLOPs"), "{}", found[5]);
    assert_eq!(found.len(), 6);
}

#[test]
fn products_without_bound_are_fine_or_not_analysed() {
    let finding = |bound| Finding::MatrixProduct { op: 0, bound, advice: Vec::new(), at_most_us: None };
    assert!(finding(Some(Bound::Dram)).to_string().starts_with('✅'));
    assert!(finding(None).to_string().starts_with("Not analyzed"));
}

#[test]
fn one_operation_is_not_several() {
    let on_host = |ops| Finding::HostFallback { ops, host_time_us: None }.to_string();
    assert_eq!(on_host(vec![4]), "1 operation ran on the host: move it to the device.");
    assert_eq!(on_host(vec![4, 5]), "2 operations ran on the host: move them to the device.");
    let gaps =
        |ops| Finding::HighGaps { ops, gap_us: 90.0, saving_us: 70.0, saving_percent: None }.to_string();
    for (ops, start) in [
        (vec![4], "The device waited before 1 operation. Shortening the gap to 6 μs would save 70 μs: "),
        (vec![4, 5], "The device waited before 2 operations. Shortening each gap to 6 μs would save 70 μs: "),
    ] {
        assert!(gaps(ops.clone()).starts_with(start), "{}", gaps(ops));
    }
}
