//! Which rows are reported, and with which figures.

use super::place::{Row, column, names, op, operations, place, place_of, printed, says, signpost};

fn two_runs() -> Vec<Row> {
    vec![
        op("P"),
        signpost("run"),
        op("A"),
        op("B"),
        signpost("end"),
        signpost("run"),
        op("C"),
        op("D"),
        signpost("end"),
        op("E"),
    ]
}

#[test]
fn signposts_bound_what_is_reported() {
    let place = place_of(&two_runs());
    for (options, expected) in [
        (&[][..], &["E"][..]),
        (&["--signpost", "run"], &["A", "B", "C", "D", "E"]),
        (&["--start-signpost", "run", "--end-signpost", "end"], &["A", "B"]),
        (&["--start-signpost", "run", "--end-signpost", "end", "--occurrence", "2"], &["C", "D"]),
        (&["--end-signpost", "run"], &["P"]),
        (&["--ignore-signposts", "--id-range", "7-9"], &["C", "D"]),
    ] {
        let shown = names(&place, options);
        let shown: Vec<&String> = shown.iter().filter(|name| !name.ends_with("(signpost)")).collect();
        assert_eq!(shown, expected, "{options:?}");
    }
    let printed = names(&place, &["--signpost", "run", "--print-signposts"]);
    assert_eq!(printed.iter().filter(|name| name.ends_with("(signpost)")).count(), 3, "{printed:?}");
}

#[test]
fn compat_takes_what_follows_the_first_signpost_of_the_last_name() {
    let place = place_of(&two_runs());
    assert_eq!(names(&place, &["--compat"]), ["C", "D", "E"]);
}

#[test]
fn a_last_signpost_without_operations_is_stepped_over() {
    let place = place_of(&[signpost("run"), op("A"), op("B"), signpost("finished")]);
    assert_eq!(names(&place, &[]), ["A", "B"]);
    says(&printed(&place, &[]), &["\"finished\"", "\"run\""]);
    assert_eq!(names(&place, &["--compat"]).len(), 0);
}

#[test]
fn a_signpost_that_is_not_there_is_told() {
    let place = place_of(&two_runs());
    says(&printed(&place, &["--signpost", "walk"]), &["walk"]);
}

#[test]
fn signposts_are_listed_with_what_follows_them() {
    let place = place_of(&two_runs());
    let outcome = printed(&place, &["--list-signposts"]);
    let lines: Vec<&str> = outcome.out.lines().collect();
    assert_eq!(lines.iter().filter(|line| line.contains("run")).count(), 2, "{outcome:#?}");
    assert_eq!(lines.iter().filter(|line| line.contains("end")).count(), 2, "{outcome:#?}");
    assert!(!outcome.out.contains("-0 μs"), "{outcome:#?}");
    assert!(!outcome.out.contains("OP Code"), "nothing is reported: {outcome:#?}");
    let none = printed(&place_of(&[op("A")]), &["--list-signposts"]);
    assert!(none.out.contains("no signposts"), "{none:#?}");
}

#[test]
fn ids_choose_rows_and_may_be_open_at_an_end() {
    let place = place_of(&two_runs());
    for (range, expected) in [("2-4", &["P", "A"][..]), ("10-", &["E"]), ("-4", &["P", "A"])] {
        let shown = names(&place, &["--ignore-signposts", "--id-range", range]);
        let shown: Vec<&String> = shown.iter().filter(|name| !name.ends_with("(signpost)")).collect();
        assert_eq!(shown, expected, "{range}");
    }
    // The first row that is shown has no gap: what came before it is not shown.
    let rows = operations(&place, &["--ignore-signposts", "--id-range", "8-9"]);
    assert_eq!(column(&rows, "Op-to-Op Gap")[0], "");
}

#[test]
fn operations_of_the_host_may_be_left_out() {
    let host = Row { kind: "python_fallback", device: None, duration: "", gap: "", ..op("add (torch)") };
    let place = place_of(&[op("A"), host, op("B")]);
    let rows = operations(&place, &[]);
    assert_eq!(column(&rows, "Bound"), ["", "HOST", ""]);
    assert_eq!(column(&rows, "Device Time"), ["10.0", "", "10.0"]);
    assert_eq!(names(&place, &["--no-host-ops"]), ["A", "B"]);
    let shown = printed(&place, &["--no-host-ops", "-v"]);
    assert!(shown.out.contains("0 of 1 host op,"), "{shown:#?}");
}

#[test]
fn devices_are_one_row_unless_kept_apart() {
    let on =
        |code, device, call, duration| Row { device: Some(device), call: Some(call), duration, ..op(code) };
    let place = place_of(&[
        on("A", 0, 1, "10000"),
        on("A", 1, 1, "12000"),
        on("AllGatherAsyncDeviceOperation", 0, 2, "30000"),
        on("AllGatherAsyncDeviceOperation", 1, 2, "10000"),
    ]);
    let times = |options: &[&str]| column(&operations(&place, options), "Device Time");
    assert_eq!(times(&[]), ["12.0", "20.0"]);
    assert_eq!(times(&["--collective-time", "min"]), ["12.0", "10.0"]);
    assert_eq!(times(&["--collective-time", "max"]), ["12.0", "30.0"]);
    assert_eq!(times(&["--no-merge-devices"]), ["10.0", "12.0", "30.0", "10.0"]);
}

#[test]
fn a_device_that_lacks_an_operation_shifts_nothing() {
    let on = |code, device, call| Row { device: Some(device), call: Some(call), ..op(code) };
    let place = place_of(&[on("X", 1, 1), on("A", 0, 2), on("A", 1, 2), on("B", 0, 3), on("B", 1, 3)]);
    assert_eq!(names(&place, &[]), ["X", "A", "B"]);
    assert_eq!(names(&place, &["--compat"]).len(), 5);
}

#[test]
fn the_order_of_the_file_is_kept_on_request() {
    let text = super::place::table(&[op("A"), op("B")]);
    let swapped: Vec<&str> = text.split_terminator("\r\n").collect();
    let place = place_of(&[]);
    place.put("ops.csv", format!("{}\r\n{}\r\n{}\r\n", swapped[0], swapped[2], swapped[1]));
    assert_eq!(names(&place, &[]), ["A", "B"]);
    assert_eq!(names(&place, &["--tracing-mode"]), ["B", "A"]);
}

fn product() -> Row {
    Row { product: Some([512, 512, 512]), ..op("MatmulDeviceOperation") }
}

#[test]
fn the_chip_decides_what_percentages_are_of() {
    let place = place_of(&[product()]);
    let percent =
        |options: &[&str]| column(&operations(&place, options), "DRAM %")[0].parse::<f64>().unwrap();
    assert!((percent(&[]) - 30.72).abs() < 1e-9);
    assert!((percent(&["--arch", "p100"]) - 157.2864 / 448.0 * 100.0).abs() < 1e-9);
}

#[test]
fn the_duration_may_be_that_with_firmware() {
    let place = place_of(&[product()]);
    assert_eq!(column(&operations(&place, &[]), "Device Time"), ["10.0"]);
    assert_eq!(column(&operations(&place, &["--duration", "fw"]), "Device Time"), ["11.0"]);
}

#[test]
fn sparse_products_need_the_number_of_active_experts() {
    let sparse = Row { attributes: "{'is_input_b_sparse': 'true'}", ..product() };
    let place = place_of(&[Row { code: "SparseMatmulDeviceOperation", ..sparse }]);
    assert!(names(&place, &[])[0].contains("active=?"));
    assert!(names(&place, &["--active-experts", "1"])[0].contains("active=1/"));
    place.run("metal ops.csv --active-experts 0").exits_with(2);
}

#[test]
fn blank_cells_are_blank_figures() {
    let blank =
        Row { fidelity: "", cores: "", duration: "", fw_duration: "", gap: "", memory: "", ..product() };
    let rows = operations(&place_of(&[product(), blank]), &[]);
    assert_eq!(rows.len(), 2);
    for name in ["Device Time", "Cores", "FLOPs %", "DRAM %"] {
        assert_eq!(rows[1][name], "", "{name}");
    }
}

#[test]
fn several_files_are_several_hosts() {
    let place = place();
    let one = operations(&place, &["--no-merge-devices"]);
    std::fs::copy(place.path("ops.csv"), place.path("more.csv")).unwrap();
    place.run("metal ops.csv more.csv --no-merge-devices --csv both.csv").exits_with(0);
    let both = super::place::records(&place.bytes("both.csv"));
    assert_eq!(both.len(), 2 * one.len());
    assert!(column(&both, "Device").contains(&"7".to_owned()));
}
