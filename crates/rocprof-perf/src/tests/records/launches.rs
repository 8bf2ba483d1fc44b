//! `kernel_launch_shapes`, `kernel_counters` and `kernel_counter_metrics`.

use sheets::Table;
use trace_ingest::rocprof::{Agent, Counter, CounterValue, Dispatch, Launch, Profile};

use super::{assert_rows, cells, dispatch, gpu, profile, table};

/// Dispatches of 1 µs and 3 µs of `gemm`, one of 2 µs of `copy`, and values as (dispatch, counter, value).
fn with(values: &[(u32, &str, f64)]) -> Profile {
    let mut profile = profile();
    profile.dispatches =
        vec![dispatch(0, 0, 1_000, 1), dispatch(0, 2_000, 5_000, 2), dispatch(1, 6_000, 8_000, 3)];
    for &(dispatch, name, value) in values {
        let known = profile.counters.iter().position(|counter| counter.name == name);
        let counter = known.unwrap_or_else(|| {
            profile.counters.push(Counter { name: name.into(), ..Counter::default() });
            profile.counters.len() - 1
        });
        profile.counter_values.push(CounterValue { dispatch, counter: counter as u32, value });
    }
    profile
}

/// Counters and their values.
type Values<'a> = &'a [(&'a str, f64)];

/// The figures of one kernel whose counters were collected in the dispatch of 1 µs.
fn metrics(values: Values<'_>) -> Option<Table> {
    let values: Vec<(u32, &str, f64)> = values.iter().map(|&(name, value)| (0, name, value)).collect();
    table(with(&values), "kernel_counter_metrics")
}

#[test]
fn counters_are_means_over_the_dispatches_that_have_them() {
    let profile =
        with(&[(0, "SQ_WAVES", 10.0), (1, "SQ_WAVES", 20.0), (1, "TCC_HIT_sum", 7.0), (2, "SQ_WAVES", 4.0)]);
    assert_rows(
        &table(profile, "kernel_counters").unwrap(),
        "name | target | Dispatches | Kernel Time (ms) | Mean Kernel Time (µs) | counter: SQ_WAVES | \
         counter: TCC_HIT_sum",
        &["gemm | gfx942 | 2 | 0.004 | 2 | 15 | 7", "copy | gfx942 | 1 | 0.002 | 2 | 4 | -"],
    );
}

#[test]
fn counters_with_one_name_are_one_column() {
    let mut profile = with(&[(0, "SQ_WAVES", 10.0), (1, "OTHER", 30.0)]);
    profile.counters[1].name = "SQ_WAVES".into();
    profile.counters.push(Counter { name: "NEVER_COLLECTED".into(), ..Counter::default() });
    let table = table(profile, "kernel_counters").unwrap();
    assert_eq!(table.columns().len(), 6);
    assert_rows(&table, "counter: SQ_WAVES", &["20"]);
}

#[test]
fn values_of_dispatches_and_counters_that_are_not_there_are_passed_over() {
    let mut profile = with(&[(0, "SQ_WAVES", 10.0)]);
    profile.counter_values.push(CounterValue { dispatch: 99, counter: 0, value: 1.0 });
    profile.counter_values.push(CounterValue { dispatch: 0, counter: 99, value: 1.0 });
    let table = table(profile, "kernel_counters").unwrap();
    assert_rows(&table, "name | counter: SQ_WAVES", &["gemm | 10"]);
}

#[test]
fn figures_follow_their_formulas() {
    // 8 dies: 8000 cycles of all are 1000 of each; times 304 compute units that is 304000.
    let active = ("GRBM_GUI_ACTIVE", 8_000.0);
    let cases: &[(Values<'_>, &str, f64)] = &[
        (
            &[("SQ_INSTS_VALU_MFMA_MOPS_BF16", 1e6), ("SQ_INSTS_VALU_MFMA_MOPS_F64", 1e6)],
            "MFMA FLOPs",
            1.024e9,
        ),
        (
            &[("SQ_INSTS_VALU_MFMA_MOPS_BF16", 1e6), ("SQ_INSTS_VALU_MFMA_MOPS_F64", 1e6)],
            "MFMA TFLOP/s",
            1024.0,
        ),
        (&[("SQ_INSTS_VALU_MFMA_MOPS_F16", 1e6)], "MFMA F16 TFLOP/s", 512.0),
        (&[("SQ_INSTS_VALU_MFMA_MOPS_F6F4", 2e6)], "MFMA F6F4 TFLOP/s", 1024.0),
        (&[("SQ_INSTS_VALU_MFMA_MOPS_I8", 1e6)], "MFMA I8 TOP/s", 512.0),
        (
            &[
                ("SQ_INSTS_VALU_ADD_F32", 1.0),
                ("SQ_INSTS_VALU_MUL_F32", 2.0),
                ("SQ_INSTS_VALU_TRANS_F32", 3.0),
                ("SQ_INSTS_VALU_FMA_F32", 4.0),
                ("SQ_INSTS_VALU_ADD_F64", 100.0),
            ],
            "VALU FLOPs",
            64.0 * 14.0,
        ),
        (
            &[("TCC_EA0_RDREQ_sum", 10.0), ("TCC_EA0_RDREQ_32B_sum", 2.0), ("TCC_BUBBLE_sum", 3.0)],
            "Memory Read Bytes",
            128.0 * 3.0 + 64.0 * 5.0 + 32.0 * 2.0,
        ),
        (&[("TCC_EA_RDREQ", 10.0), ("TCC_EA_RDREQ_32B", 2.0)], "Memory Read Bytes", 64.0 * 8.0 + 32.0 * 2.0),
        (&[("TCC_EA0_RDREQ_DRAM_32B", 10.0), ("FETCH_SIZE", 2.0)], "Memory Read Bytes", 320.0),
        (&[("FETCH_SIZE", 2.0)], "Memory Read Bytes", 2048.0),
        (
            &[("TCC_EA0_WRREQ", 10.0), ("TCC_EA0_WRREQ_64B", 4.0)],
            "Memory Write Bytes",
            64.0 * 4.0 + 32.0 * 6.0,
        ),
        (&[("TCC_EA_WRREQ", 10.0), ("TCC_EA_WRREQ_64B", 4.0)], "Memory Write (GB/s)", 0.448),
        (
            &[("TCC_EA0_WRREQ_WRITE_DRAM_32B", 10.0), ("TCC_EA0_WRREQ_ATOMIC_DRAM_32B", 1.0)],
            "Memory Write Bytes",
            352.0,
        ),
        (&[("FETCH_SIZE", 2_000.0), ("WRITE_SIZE", 3_000.0)], "Memory Bandwidth (GB/s)", 5_120.0),
        (&[("FETCH_SIZE", 2_000.0), ("WRITE_SIZE", 3_000.0)], "Memory Bandwidth (% of peak)", 5_120.0 / 53.0),
        (
            &[("FETCH_SIZE", 1.0), ("WRITE_SIZE", 1.0), ("SQ_INSTS_VALU_MFMA_MOPS_F16", 8.0)],
            "Arithmetic Intensity (FLOP/byte)",
            2.0,
        ),
        (&[("TCC_HIT", 75.0), ("TCC_MISS", 25.0)], "L2 Hit Rate (%)", 75.0),
        (&[("TCC_REQ_sum", 500.0)], "L2 Requests (GB/s)", 64.0),
        (
            &[
                ("TCP_TCC_READ_REQ_sum", 10.0),
                ("TCP_TCC_WRITE_REQ_sum", 5.0),
                ("TCP_TCC_ATOMIC_WITH_RET_REQ_sum", 3.0),
                ("TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum", 2.0),
                ("TCP_TOTAL_CACHE_ACCESSES_sum", 80.0),
            ],
            "vL1D Hit Rate (%)",
            75.0,
        ),
        (&[active, ("SQ_VALU_MFMA_BUSY_CYCLES", 608_000.0)], "MFMA Utilization (%)", 50.0),
        (&[active, ("SQ_ACTIVE_INST_VALU", 76_000.0)], "VALU Utilization (%)", 25.0),
        (&[active, ("SQ_ACTIVE_INST_SCA", 30_400.0)], "SALU Utilization (%)", 10.0),
        (&[("SQ_THREAD_CYCLES_VALU", 480.0), ("SQ_ACTIVE_INST_VALU", 10.0)], "VALU Active Lanes", 48.0),
        (&[("SQ_INSTS", 30.0), ("SQ_BUSY_CU_CYCLES", 20.0)], "Instructions per Cycle", 1.5),
        (&[active, ("SQ_WAVE_CYCLES", 608_000.0)], "Waves per CU", 8.0),
        (&[active, ("SQ_WAVE_CYCLES", 608_000.0)], "Occupancy (%)", 25.0),
        (
            &[("SQ_LDS_BANK_CONFLICT", 20.0), ("SQ_LDS_IDX_ACTIVE", 100.0)],
            "LDS Bank Conflicts per Access",
            0.25,
        ),
        (&[active, ("SQ_LDS_BANK_CONFLICT", 30_400.0)], "LDS Bank Conflicts (% of time)", 10.0),
        (&[active, ("GRBM_COUNT", 16_000.0)], "GPU Busy (%)", 50.0),
    ];
    for &(values, figure, expected) in cases {
        let table = metrics(values).unwrap_or_else(|| panic!("{figure}"));
        let found: f64 = cells(&table, 0, &[figure])[0].parse().unwrap();
        assert!((found / expected - 1.0).abs() < 1e-12, "{figure}: {found}, expected {expected}");
    }
}

#[test]
fn figures_without_all_their_counters_are_left_out() {
    // The size of read requests is not known without those of 128 bytes on GPUs that have them.
    let incomplete: &[Values<'_>] = &[
        &[("TCC_EA0_RDREQ", 10.0), ("TCC_EA0_RDREQ_32B", 2.0)],
        &[("TCC_HIT", 10.0)],
        &[("SQ_INSTS_VALU_ADD_F32", 1.0)],
        &[("SQ_WAVE_CYCLES", 10.0)],
        &[("TCC_HIT", 0.0), ("TCC_MISS", 0.0)],
        &[("SQ_WAVES", 10.0)],
    ];
    for values in incomplete {
        assert!(metrics(values).is_none(), "{values:?}");
        let values: Vec<(u32, &str, f64)> = values.iter().map(|&(name, value)| (0, name, value)).collect();
        assert!(table(with(&values), "kernel_counters").is_some());
    }
}

#[test]
fn rates_are_of_the_dispatches_that_a_counter_was_collected_in() {
    // 512e6 operations in 1 µs, and as many in 3 µs of another run.
    let profile = with(&[
        (0, "SQ_INSTS_VALU_MFMA_MOPS_F16", 1e6),
        (1, "SQ_INSTS_VALU_MFMA_MOPS_BF16", 1e6),
        (2, "SQ_WAVES", 1.0),
    ]);
    let table = table(profile, "kernel_counter_metrics").unwrap();
    let bf16 = 512.0 / 3.0;
    assert_rows(&table, "name | MFMA F16 TFLOP/s", &["gemm | 512", "copy | -"]);
    let found: f64 = cells(&table, 0, &["MFMA TFLOP/s"])[0].parse().unwrap();
    assert!((found / (512.0 + bf16) - 1.0).abs() < 1e-12, "{found}");
}

#[test]
fn cycles_of_other_families_are_not_compared() {
    let mut profile = with(&[(0, "GRBM_GUI_ACTIVE", 8_000.0), (0, "SQ_ACTIVE_INST_VALU", 10.0)]);
    profile.agents[1].name = Some("gfx1100".into());
    assert!(table(profile, "kernel_counter_metrics").is_none());
}

const SHAPE: &str =
    "name | grid | work_group | Work Groups | Waves per Group | VGPRs | Theoretical Occupancy (%) | Count";

fn launched(launches: Vec<Launch>, dispatches: Vec<Dispatch>) -> Profile {
    Profile { launches, dispatches, ..profile() }
}

fn launch() -> Launch {
    Launch {
        grid: [304 * 256 - 1, 2, 1],
        workgroup: [256, 1, 1],
        vgprs: 128,
        accum_vgprs: 128,
        sgprs: 112,
        group_segment: 1024,
        private_segment: 16,
        ..Launch::default()
    }
}

/// A kernel of the same name and grid may be another compilation.
#[test]
fn registers_and_memory_tell_launches_apart() {
    let launches = vec![
        launch(),
        Launch { vgprs: 64, ..launch() },
        Launch { group_segment: 2048, ..launch() },
        Launch { private_segment: 0, ..launch() },
    ];
    let dispatches = (0..4).map(|at| Dispatch { launch: at, ..dispatch(0, 0, 1_000, 1) }).collect();
    let table = table(launched(launches, dispatches), "kernel_launch_shapes").unwrap();
    let key = |row: usize| -> Vec<String> {
        let columns = table.columns().iter().filter(|column| column.is_key());
        columns.map(|column| column.cell(row).text().into_owned()).collect()
    };
    let keys: std::collections::BTreeSet<_> = (0..table.height()).map(key).collect();
    assert_eq!((table.height(), keys.len()), (4, 4));
}

#[test]
fn launches_are_told_apart_by_kernel_and_shape() {
    let other = Launch { grid: [256, 1, 1], vgprs: 64, accum_vgprs: 0, ..launch() };
    let dispatches = vec![
        dispatch(0, 0, 1_000, 1),
        dispatch(0, 2_000, 5_000, 2),
        Dispatch { launch: 1, ..dispatch(0, 6_000, 7_000, 3) },
        // On the other GPU, which is of the same kind.
        Dispatch { agent: Some(2), ..dispatch(0, 6_000, 7_000, 4) },
    ];
    let table = table(launched(vec![launch(), other], dispatches), "kernel_launch_shapes").unwrap();
    assert_rows(
        &table,
        SHAPE,
        &[
            "gemm | (304, 2, 1) | (256, 1, 1) | 608 | 4 | 128 | 25 | 3",
            "gemm | (1, 1, 1) | (256, 1, 1) | 1 | 4 | 64 | 100 | 1",
        ],
    );
    let columns = "target | Work Groups per CU | LDS (bytes) | Scratch (bytes) | \
        Waves per SIMD by VGPRs | Resident Groups per CU | occupancy_limit";
    let per_unit = (1.0 / 304.0).to_string();
    assert_rows(
        &table,
        columns,
        &[
            "gfx942 | 2 | 1024 | 16 | 2 | 2 | vector registers",
            &format!("gfx942 | {per_unit} | 1024 | 16 | 8 | 8 | wave slots"),
        ],
    );
    let columns = "Total Time (ms) | Min Time (µs) | Max Time (µs) | Cumulative Percentage (%)";
    let share = (5.0 / 6.0 * 100.0).to_string();
    assert_rows(&table, columns, &[&format!("0.005 | 1 | 3 | {share}"), "0.001 | 1 | 1 | 100"]);
}

#[test]
fn figures_that_the_format_lacks_are_empty() {
    let products =
        Launch { grid: [5120, 1, 1], workgroup: [256, 1, 1], products_only: true, ..Launch::default() };
    let mut profile = launched(vec![products], vec![Dispatch { agent: None, ..dispatch(1, 0, 10, 1) }]);
    profile.agents.clear();
    let row = "copy | 20 | 256 | 20 | - | - | - | 1";
    assert_rows(&table(profile, "kernel_launch_shapes").unwrap(), SHAPE, &[row]);
}

#[test]
fn work_groups_without_work_items_do_no_harm() {
    let empty = Launch { grid: [0, 4, 1], workgroup: [0, 0, 0], vgprs: 8, ..Launch::default() };
    let table = table(launched(vec![empty], vec![dispatch(0, 0, 10, 1)]), "kernel_launch_shapes").unwrap();
    let row = "gemm | (0, 4, 1) | (0, 0, 0) | 0 | - | 8 | - | 1";
    assert_rows(&table, SHAPE, &[row]);
}

#[test]
fn kinds_of_gpu_are_rows_of_their_own() {
    let mut profile = launched(
        vec![launch()],
        vec![dispatch(0, 0, 2_000, 1), Dispatch { agent: Some(2), ..dispatch(0, 0, 1_000, 2) }],
    );
    profile.agents[2] = Agent { name: Some("gfx1100".into()), compute_units: Some(48), ..gpu("3", 1) };
    assert_rows(
        &table(profile, "kernel_launch_shapes").unwrap(),
        "target | Theoretical Occupancy (%) | Count",
        &["gfx942 | 25 | 1", "gfx1100 | - | 1"],
    );
}
