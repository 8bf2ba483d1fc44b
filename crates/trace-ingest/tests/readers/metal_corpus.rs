//! Real CSV files of operations, where the corpus is at hand.

use std::collections::BTreeSet;
use std::path::PathBuf;

use trace_ingest::ReadOptions;
use trace_ingest::metal::{CsvFormat, OpType, OpsTable, read_ops};

fn corpus_path(name: &str) -> Option<PathBuf> {
    testdata::corpus(&format!("metal/{name}/ops.csv"))
}

fn count(table: &OpsTable, op_type: OpType) -> usize {
    table.rows.iter().filter(|row| row.op_type == op_type).count()
}

#[test]
fn rows_devices_and_chips_are_all_there() {
    // Name, form, operations on devices, signposts, devices, chip, cores of the chip.
    for (name, format, ops, signposts, devices, arch, cores) in [
        ("bh20_oft_integral_image_trace", CsvFormat::V1, 21, 6, 1, "", None),
        ("bh_64_clip_encoder_1", CsvFormat::V2_1, 660, 0, 1, "blackhole", Some(64)),
        ("bh_8xp150_deepseek_v3_d_p", CsvFormat::V2_1, 208, 0, 8, "blackhole", Some(110)),
        ("ops_perf_results_2025_09_18_11_39_20", CsvFormat::V2, 621, 50, 1, "", None),
    ] {
        let Some(path) = corpus_path(name) else { continue };
        let table = read_ops(&[path], &ReadOptions::default()).unwrap();
        assert_eq!(table.warnings, [], "{name}");
        assert_eq!(table.format, format, "{name}");
        let found = (count(&table, OpType::Device), count(&table, OpType::Signpost), table.rows.len());
        assert_eq!(found, (ops, signposts, ops + signposts), "{name}");
        assert_eq!(table.files[0].devices, Some(devices), "{name}");
        assert_eq!(table.rows.last().unwrap().id as usize, ops + signposts + 1, "{name}");
        let of_ops = || table.rows.iter().filter(|row| row.op_type == OpType::Device);
        let chips: BTreeSet<&str> = of_ops().map(|row| table.text(row.arch)).collect();
        assert_eq!(chips, BTreeSet::from([arch]), "{name}");
        assert_eq!(of_ops().filter_map(|row| row.available_cores).max(), cores, "{name}");
        assert!(
            of_ops().all(|row| row.kernel_duration_ns.is_some() && row.global_call_count.is_some()),
            "{name}"
        );
        assert!(
            of_ops().all(|row| !table.inputs(row).is_empty() || !table.outputs(row).is_empty()),
            "{name}"
        );
    }
}

#[test]
fn every_call_of_eight_devices_has_a_row_of_each() {
    let Some(path) = corpus_path("bh_8xp150_deepseek_v3_d_p") else { return };
    let table = read_ops(std::slice::from_ref(&path), &ReadOptions::default()).unwrap();
    let calls: BTreeSet<_> = table.rows.iter().map(|row| row.global_call_count.unwrap() / 1024).collect();
    let devices: BTreeSet<_> = table.rows.iter().map(|row| row.global_call_count.unwrap() % 1024).collect();
    assert_eq!((calls.len(), devices), (26, (0..8).collect()));
    assert!(
        table.rows.iter().all(|row| row.global_call_count.unwrap() % 1024 == i64::from(row.device.unwrap()))
    );
    let first = &table.rows[0];
    let inputs = table.inputs(first);
    assert_eq!(inputs[0].dims.map(|dim| dim.padded.unwrap()), [1, 1, 3200, 1792]);
    assert_eq!(inputs[1].dims.map(|dim| dim.padded.unwrap()), [1, 1, 1792, 1536]);
    assert_eq!(table.text(inputs[1].datatype), "BFLOAT8_B");
    assert_eq!(table.text(table.outputs(first)[0].memory), "DEV_0_L1_INTERLEAVED");

    let twice = read_ops(&[path.clone(), path], &ReadOptions::default()).unwrap();
    let devices: BTreeSet<_> = twice.rows.iter().filter_map(|row| row.device).collect();
    assert_eq!((devices, twice.rows.len()), ((0..16).collect(), 416));
}
