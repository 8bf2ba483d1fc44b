//! The table is whole, the same for the same seed, and the one that is kept.

use std::path::Path;

use super::write;

fn table(events: u64, seed: u64) -> String {
    let mut bytes = Vec::new();
    write(events, seed, &mut bytes).expect("a run");
    String::from_utf8(bytes).expect("text")
}

#[test]
fn every_line_has_the_cells_of_the_header() {
    let text = table(1000, 3);
    let lines: Vec<&str> = text.split_terminator("\r\n").collect();
    assert_eq!(lines.len(), 1001);
    let columns = lines[0].split(',').count();
    for line in &lines {
        assert_eq!(line.split(',').count(), columns, "{line}");
    }
    for kind in ["signpost", "python_fallback", "tt_dnn_device"] {
        assert!(lines.iter().any(|line| line.split(',').nth(1) == Some(kind)), "{kind}");
    }
}

#[test]
fn all_devices_run_every_operation_under_one_call() {
    let text = table(500, 3);
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let of_devices: Vec<&Vec<&str>> = rows.iter().filter(|row| row[1] == "tt_dnn_device").collect();
    for call in of_devices.chunks_exact(4) {
        let number = |row: &&Vec<&str>| row[2].parse::<u64>().expect("a number");
        assert!(call.iter().all(|row| row[0] == call[0][0] && number(row) / 1024 == number(&call[0]) / 1024));
        assert_eq!(call.iter().map(|row| number(row) % 1024).collect::<Vec<_>>(), [0, 1, 2, 3]);
    }
}

#[test]
fn the_seed_decides_the_times() {
    assert_eq!(table(200, 1), table(200, 1));
    assert_ne!(table(200, 1), table(200, 2));
    assert!(write(99, 1, &mut Vec::new()).is_err());
}

/// `testdata/generated/README.md` gives the same command.
#[test]
fn the_kept_table_is_what_the_generator_writes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/generated/metal_ops.csv");
    let kept = std::fs::read_to_string(path).expect("metal_ops.csv");
    assert!(kept == table(320, 1), "metal_ops.csv differs: write it again as its README says");
}
