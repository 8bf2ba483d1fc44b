//! `kernel_launch_shapes`.

use trace_ingest::rocprof::{Agent, Dispatch, Launch, Profile};

use super::{assert_rows, dispatch, gpu, profile, table};

const SHAPE: [&str; 8] = [
    "name",
    "grid",
    "work_group",
    "Work Groups",
    "Waves per Group",
    "VGPRs",
    "Theoretical Occupancy (%)",
    "Count",
];

fn with(launches: Vec<Launch>, dispatches: Vec<Dispatch>) -> Profile {
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
    let table = table(with(vec![launch(), other], dispatches), "kernel_launch_shapes").unwrap();
    assert_rows(
        &table,
        &SHAPE,
        &[
            &["gemm", "(304, 2, 1)", "(256, 1, 1)", "608", "4", "128", "25", "3"],
            &["gemm", "(1, 1, 1)", "(256, 1, 1)", "1", "4", "64", "100", "1"],
        ],
    );
    let columns = [
        "target",
        "Work Groups per CU",
        "LDS (bytes)",
        "Scratch (bytes)",
        "Waves per SIMD by VGPRs",
        "Resident Groups per CU",
        "occupancy_limit",
    ];
    let per_unit = (1.0 / 304.0).to_string();
    assert_rows(
        &table,
        &columns,
        &[
            &["gfx942", "2", "1024", "16", "2", "2", "vector registers"],
            &["gfx942", &per_unit, "1024", "16", "8", "8", "wave slots"],
        ],
    );
    let columns = ["Total Time (ms)", "Min Time (µs)", "Max Time (µs)", "Cumulative Percentage (%)"];
    let share = (5.0 / 6.0 * 100.0).to_string();
    assert_rows(&table, &columns, &[&["0.005", "1", "3", &share], &["0.001", "1", "1", "100"]]);
}

#[test]
fn figures_that_the_format_lacks_are_empty() {
    let products =
        Launch { grid: [5120, 1, 1], workgroup: [256, 1, 1], products_only: true, ..Launch::default() };
    let mut profile = with(vec![products], vec![Dispatch { agent: None, ..dispatch(1, 0, 10, 1) }]);
    profile.agents.clear();
    let row: &[&str] = &["copy", "20", "256", "20", "-", "-", "-", "1"];
    assert_rows(&table(profile, "kernel_launch_shapes").unwrap(), &SHAPE, &[row]);
}

#[test]
fn work_groups_without_work_items_do_no_harm() {
    let empty = Launch { grid: [0, 4, 1], workgroup: [0, 0, 0], vgprs: 8, ..Launch::default() };
    let table = table(with(vec![empty], vec![dispatch(0, 0, 10, 1)]), "kernel_launch_shapes").unwrap();
    let row: &[&str] = &["gemm", "(0, 4, 1)", "(0, 0, 0)", "0", "-", "8", "-", "1"];
    assert_rows(&table, &SHAPE, &[row]);
}

#[test]
fn kinds_of_gpu_are_rows_of_their_own() {
    let mut profile = with(
        vec![launch()],
        vec![dispatch(0, 0, 2_000, 1), Dispatch { agent: Some(2), ..dispatch(0, 0, 1_000, 2) }],
    );
    profile.agents[2] = Agent { name: Some("gfx1100".into()), compute_units: Some(48), ..gpu("3", 1) };
    assert_rows(
        &table(profile, "kernel_launch_shapes").unwrap(),
        &["target", "Theoretical Occupancy (%)", "Count"],
        &[&["gfx942", "25", "1"], &["gfx1100", "-", "1"]],
    );
}
