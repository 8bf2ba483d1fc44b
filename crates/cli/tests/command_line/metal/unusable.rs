//! What is said of files and values that cannot be used.

use super::place::{Row, op, place, place_of, printed, says, signpost, table};

#[test]
fn a_file_of_signposts_alone_has_nothing_to_report() {
    let place = place_of(&[signpost("run"), signpost("end")]);
    let outcome = printed(&place, &[]);
    assert!(outcome.out.contains("no operations to show"), "{outcome:#?}");
    says(&outcome, &["warning: the files", "2 signposts"]);
    // A file that is asked for is written all the same, with its header.
    place.run("metal ops.csv --csv out.csv").exits_with(0);
    let csv = String::from_utf8(place.bytes("out.csv")).unwrap();
    assert!(csv.starts_with("ID,Total %,Bound,OP Code") && csv.lines().count() == 1, "{csv}");
}

#[test]
fn a_header_without_rows_is_told() {
    let outcome = printed(&place_of(&[]), &[]);
    assert!(outcome.out.contains("no operations to show"), "{outcome:#?}");
}

#[test]
fn an_empty_window_names_its_signposts() {
    let place = place_of(&[op("A"), signpost("run"), signpost("end"), op("B")]);
    let outcome = printed(&place, &["--signpost", "run", "--end-signpost", "end"]);
    says(&outcome, &["\"run\"", "\"end\"", "--ignore-signposts"]);
}

#[test]
fn an_unknown_chip_is_refused_with_those_that_are_known() {
    let place = place();
    place.run("metal ops.csv --arch wormhold").exits_with(2).with_error(&[
        "ops.csv",
        "wormhold",
        "wormhole",
        "blackhole",
    ]);
    let alien = Row { arch: "quasar9", ..op("A") };
    let place = place_of(&[alien]);
    place.run("metal ops.csv").exits_with(2).with_error(&["ops.csv", "quasar9", "--arch"]);
    printed(&place, &["--arch", "wormhole"]);
}

#[test]
fn ranges_of_ids_that_are_none_are_refused() {
    let place = place();
    for (range, says) in
        [("10-5", "5-10"), ("-", "5-10"), ("12", "5-10"), ("a-b", "\"a-b\" is not a range of IDs")]
    {
        let outcome = place.run(&["metal", "ops.csv", "--id-range", range]).exits_with(2);
        assert!(outcome.err.contains("--id-range") && outcome.err.contains(says), "{outcome:#?}");
    }
}

#[test]
fn a_table_of_other_columns_is_refused_with_those_that_it_lacks() {
    let place = place();
    place.put("other.csv", "name,time\na,1\n");
    place.run("metal other.csv").exits_with(2).with_error(&["other.csv", "name, time", "ops_perf_results"]);
    place.put("renamed.csv", table(&[op("A")]).replace("OP CODE", "OP NAME"));
    place.run("metal renamed.csv").exits_with(2).with_error(&["renamed.csv", "OP CODE"]);
    place.put("empty.csv", "");
    place.run("metal empty.csv").exits_with(2).with_error(&["empty.csv"]);
    place.run("metal missing.csv").exits_with(2).with_error(&["missing.csv"]);
    place.run("metal").exits_with(2);
}

#[test]
fn files_of_different_numbers_of_devices_are_not_of_one_run() {
    let place = place_of(&[op("A")]);
    let second = Row { device: Some(2), ..op("A") };
    place.put("more.csv", table(&[op("A"), second]));
    place.run("metal ops.csv more.csv").exits_with(2).with_error(&["more.csv"]);
}

#[test]
fn what_is_read_is_not_written_over() {
    let place = place();
    let before = place.bytes("ops.csv");
    for option in ["--csv", "--summary-file", "--summary-svg", "--output_json_path"] {
        place.run(&["metal", "ops.csv", option, "ops.csv"]).exits_with(2).with_error(&["ops.csv"]);
    }
    place.run("metal ops.csv --csv missing/out.csv").exits_with(1).with_error(&["missing/out.csv"]);
    assert_eq!(place.bytes("ops.csv"), before);
}

#[test]
fn options_without_effect_are_told() {
    let place = place();
    for (options, says) in [
        (&["--raw-op-codes"][..], "--raw-op-codes has no effect without --csv"),
        (&["--classic-colors"], "--classic-colors has no effect without --summary-svg"),
        (&["--color", "--no-color"], "--color has no effect with --no-color"),
    ] {
        self::says(&printed(&place, options), &[says]);
    }
    for options in [
        &["--ignore-signposts", "--signpost", "warmup"][..],
        &["--occurrence", "2"],
        &["--no-stack-by-in0", "--group-by", "op"],
        &["--min-percentage", "-1"],
        &["--quiet", "--json"],
    ] {
        place.run(&[&["metal", "ops.csv"], options].concat()).exits_with(2);
    }
}
