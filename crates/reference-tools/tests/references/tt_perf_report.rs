//! Compares reports of recorded runs with those of tt-perf-report, row by row and cell by cell.
//!
//! The runs are not part of the repository; `testdata` says where they lie and what their absence means.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use metal_perf::{
    Advice, Analysed, Conventions, CsvOptions, IdRange, MetalOptions, MetalReport, OpKind, advice_of,
    write_csv, write_summary_csv,
};
use reference_tools::tt_perf_report;
use trace_ingest::metal::read_ops;

fn cases() -> Vec<PathBuf> {
    let Some(folder) = testdata::corpus("metal") else { return Vec::new() };
    let cases = testdata::entries(&folder);
    assert!(!cases.is_empty(), "the folder of recorded runs is empty");
    cases
}

/// A file of the reference, and what it was made with.
struct Run {
    file: &'static str,
    advice: bool,
    ignore_signposts: bool,
    merge_devices: bool,
    id_range: Option<IdRange>,
}

const WHOLE: Run =
    Run { file: "", advice: true, ignore_signposts: true, merge_devices: true, id_range: None };
const FROM_20_TO_120: IdRange = IdRange { first: Some(20), last: Some(120) };

const RUNS: [Run; 4] = [
    Run { file: "ref_default.csv", ignore_signposts: false, ..WHOLE },
    Run { file: "ref_ignore_signposts.csv", advice: false, ..WHOLE },
    Run { file: "ref_no_merge.csv", merge_devices: false, ..WHOLE },
    Run { file: "ref_id_20_120.csv", id_range: Some(FROM_20_TO_120), ..WHOLE },
];

impl Run {
    fn report(&self, case: &Path, conventions: Conventions) -> MetalReport {
        let options = MetalOptions {
            conventions,
            ignore_signposts: self.ignore_signposts,
            merge_devices: self.merge_devices,
            id_range: self.id_range,
            ..MetalOptions::default()
        };
        MetalReport::new(
            read_ops(&[case.join("ops.csv")], &trace_ingest::ReadOptions::default()).unwrap(),
            options,
        )
        .unwrap()
    }

    fn csv(&self, report: &MetalReport) -> Vec<u8> {
        let mut out = Vec::new();
        write_csv(report, CsvOptions { advice: self.advice, raw_op_codes: false }, &mut out).unwrap();
        out
    }
}

/// Rows of a CSV file by ID, and the names of its columns in order.
struct Table {
    columns: Vec<String>,
    ids: Vec<u32>,
    rows: BTreeMap<u32, Vec<String>>,
}

fn table(bytes: &[u8]) -> Table {
    let mut reader = csv::Reader::from_reader(bytes);
    let columns = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let records: Vec<Vec<String>> =
        reader.records().map(|record| record.unwrap().iter().map(str::to_owned).collect()).collect();
    let ids: Vec<u32> = records.iter().map(|cells| cells[0].parse().unwrap()).collect();
    let rows: BTreeMap<u32, Vec<String>> = ids.iter().copied().zip(records).collect();
    assert_eq!(rows.len(), ids.len(), "an ID occurs twice");
    Table { columns, ids, rows }
}

/// What an item of advice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    ActiveExperts,
    DramSharded,
    Grid,
    Fidelity,
    InputOutsideL1,
    NoConfig,
    InnerBlock,
    Subblock,
    Fine,
}

/// How the reference's items begin.
const KINDS: [(&str, Kind); 5] = [
    ("If possible place input 0 in L1", Kind::InputOutsideL1),
    ("No program_config", Kind::NoConfig),
    ("If your matmuls are not FLOP-bound", Kind::Fidelity),
    ("in0_block_w=", Kind::Fine),
    ("Increase grid size", Kind::Grid),
];

fn kinds_of_text(text: &str) -> Vec<Kind> {
    let kind = |item: &str| KINDS.iter().find(|(start, _)| item.starts_with(start)).unwrap().1;
    text.split(" • ").filter(|item| !item.is_empty()).map(kind).collect()
}

fn kinds_of(report: &MetalReport, id: u32) -> Vec<Kind> {
    let op = report.ops.iter().find(|op| op.id == id).unwrap();
    advice_of(report, op)
        .iter()
        .map(|item| match item {
            Advice::ActiveExpertsUnknown => Kind::ActiveExperts,
            Advice::DramShardedProgramConfig => Kind::DramSharded,
            Advice::LargerGrid { .. } => Kind::Grid,
            Advice::Fidelity(_) => Kind::Fidelity,
            Advice::InputOutsideL1 { .. } => Kind::InputOutsideL1,
            Advice::NoProgramConfig => Kind::NoConfig,
            Advice::NoInnerBlock | Advice::SmallInnerBlock { .. } => Kind::InnerBlock,
            Advice::NoOutSubblock | Advice::SmallOutSubblock { .. } => Kind::Subblock,
            Advice::ConfigFine { .. } => Kind::Fine,
        })
        .collect()
}

#[test]
fn in_its_manner_every_cell_is_that_of_the_reference() {
    for case in cases() {
        for run in &RUNS {
            let place = format!("{}/{}", case.file_name().unwrap().display(), run.file);
            let report = run.report(&case, tt_perf_report().tenstorrent);
            let written = run.csv(&report);
            let reference = std::fs::read(case.join(run.file)).unwrap();
            let (ours, theirs) = (table(&written), table(&reference));
            assert_eq!(ours.columns, theirs.columns, "{place}");
            assert_eq!(ours.ids, theirs.ids, "{place}");
            for (id, row) in &theirs.rows {
                for ((column, theirs), ours) in theirs.columns.iter().zip(row).zip(&ours.rows[id]) {
                    if column == "Advice" {
                        assert_eq!(kinds_of(&report, *id), kinds_of_text(theirs), "{place}: ID {id}: {ours}");
                        assert_eq!(kinds_of_text(theirs).is_empty(), ours.is_empty(), "{place}: ID {id}");
                    } else {
                        assert_eq!(ours, theirs, "{place}: ID {id}: {column}");
                    }
                }
            }
            if !run.advice {
                assert!(written == reference, "{place}: cells are equal, but bytes are not");
            }
        }
    }
}

#[test]
fn in_its_manner_the_summary_is_that_of_the_reference() {
    for case in cases() {
        let mut written = Vec::new();
        write_summary_csv(&RUNS[1].report(&case, tt_perf_report().tenstorrent), &mut written).unwrap();
        let reference = std::fs::read_to_string(case.join("ref_summary.csv")).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), reference, "{}", case.display());
    }
}

/// A difference from the reference that is meant, by the number of the quirk that it comes from.
struct Meant {
    quirk: &'static str,
    columns: &'static [&'static str],
    /// Whether it explains theirs and ours.
    explains: fn(&Place<'_>) -> bool,
}

/// Where two cells differ.
struct Place<'a> {
    run: &'a str,
    theirs: &'a str,
    ours: &'a str,
    /// Cells of their row.
    row: BTreeMap<&'a str, &'a str>,
    report: &'a MetalReport,
    id: u32,
    /// Whether the files have different rows.
    other_rows: bool,
}

const MEANT: [Meant; 8] = [
    Meant {
        quirk: "beyond: what an operation without a model of its own moves from and to DRAM is known from its tensors",
        columns: &["DRAM", "DRAM %", "Bound", "Bound Analysis"],
        explains: |place| {
            let op = place.report.ops.iter().find(|op| op.id == place.id).unwrap();
            matches!(place.row["Bound Analysis"], "none" | "flops_only")
                && matches!(op.analysed, Analysed::DramOnly | Analysed::Full)
                && place.theirs
                    == if place.ours == op.analysed.as_str() { place.row["Bound Analysis"] } else { "" }
        },
    },
    Meant {
        quirk: "Q1, Q2: the window is another: shares are of its time",
        columns: &["Total %"],
        explains: |place| place.other_rows,
    },
    Meant {
        quirk: "Q1, Q2: the window is another: its first operation has no gap",
        columns: &["Op-to-Op Gap"],
        explains: |place| {
            let first = place.report.ops.first().is_some_and(|op| op.id == place.id);
            place.other_rows && first && place.ours.is_empty()
        },
    },
    Meant {
        quirk: "Q7: the first operation of each device has no gap, not only the first of all",
        columns: &["Op-to-Op Gap"],
        explains: |place| {
            let op = place.report.ops.iter().position(|op| op.id == place.id).unwrap();
            let device = place.report.ops[op].device;
            FIRST_GAPS.contains(&place.run)
                && place.ours.is_empty()
                && place.report.ops[..op].iter().all(|before| before.device != device)
        },
    },
    Meant {
        quirk: "Q7: the gaps that are left out are not in the total",
        columns: &["Total %"],
        explains: |place| match place.run {
            "ref_no_merge.csv" => several_devices(place.report),
            run => FIRST_GAPS.contains(&run) && begins_with_signpost(place.report),
        },
    },
    Meant {
        quirk: "Q11: the fidelity is spoken of without a program configuration too",
        columns: &["Advice"],
        explains: |place| {
            let mut expected = kinds_of_text(place.theirs);
            expected.push(Kind::Fidelity);
            expected.contains(&Kind::NoConfig) && kinds_of(place.report, place.id) == expected
        },
    },
    Meant {
        quirk: "Q26: blanks are empty, and counts of calls are whole",
        columns: &["Output Datatype", "Input 0 Datatype", "Input 1 Datatype", "Global Call Count"],
        explains: |place| match place.theirs {
            "nan" => place.ours.is_empty(),
            theirs => theirs.strip_suffix(".0") == Some(place.ours),
        },
    },
    Meant {
        quirk: "beyond: attention is compute under names that the reference does not list, too",
        columns: &["Op Category"],
        explains: |place| {
            place.row["OP Code"].contains("SDPA") && (place.theirs, place.ours) == ("Other", "Compute")
        },
    },
];

/// A file whose rows are meant to differ.
struct MeantRows {
    case: &'static str,
    file: &'static str,
    only_ours: usize,
    only_theirs: usize,
    quirk: &'static str,
}

const MEANT_ROWS: [MeantRows; 2] = [
    MeantRows {
        case: "ops_perf_results_2025_09_18_11_39_20",
        file: "ref_default.csv",
        only_ours: 4,
        only_theirs: 0,
        quirk: "Q2: the last signpost closes the run, and nothing comes after it",
    },
    MeantRows {
        case: "bh20_oft_integral_image_trace",
        file: "ref_default.csv",
        only_ours: 0,
        only_theirs: 7,
        quirk: "Q1, Q2: the last signpost closes the run; the window is what follows the last one that has operations after it",
    },
];

/// Files in which the first operations of devices, or the first behind a signpost, have a gap in the reference.
const FIRST_GAPS: [&str; 2] = ["ref_no_merge.csv", "ref_id_20_120.csv"];

fn begins_with_signpost(report: &MetalReport) -> bool {
    report.ops.first().is_some_and(|op| op.kind == OpKind::Signpost)
}

fn several_devices(report: &MetalReport) -> bool {
    report.ops.iter().filter_map(|op| op.device).collect::<BTreeSet<_>>().len() > 1
}

#[test]
fn under_the_defaults_every_difference_is_meant() {
    let mut seen = BTreeSet::new();
    let mut rows_seen = BTreeSet::new();
    let mut faults: Vec<String> = Vec::new();
    let cases = cases();
    for case in &cases {
        for run in &RUNS {
            let name = case.file_name().unwrap().to_str().unwrap();
            let report = run.report(case, Conventions::default());
            let (ours, theirs) =
                (table(&run.csv(&report)), table(&std::fs::read(case.join(run.file)).unwrap()));
            assert!(ours.columns.starts_with(&theirs.columns), "{name}/{}: columns", run.file);
            let only =
                |one: &Table, other: &Table| one.ids.iter().filter(|id| !other.rows.contains_key(id)).count();
            let differing = (only(&ours, &theirs), only(&theirs, &ours));
            if differing != (0, 0) {
                let meant = MEANT_ROWS.iter().position(|meant| {
                    (meant.case, meant.file, (meant.only_ours, meant.only_theirs))
                        == (name, run.file, differing)
                });
                if meant.is_none() {
                    faults
                        .push(format!("{name}/{}: rows only ours and only theirs: {differing:?}", run.file));
                }
                rows_seen.extend(meant);
            }
            for (id, row) in theirs.rows.iter().filter(|(id, _)| ours.rows.contains_key(id)) {
                let cells: BTreeMap<&str, &str> = theirs
                    .columns
                    .iter()
                    .zip(row)
                    .map(|(column, cell)| (column.as_str(), cell.as_str()))
                    .collect();
                for ((column, theirs), ours) in theirs.columns.iter().zip(row).zip(&ours.rows[id]) {
                    let same = match column.as_str() {
                        "Advice" => kinds_of(&report, *id) == kinds_of_text(theirs),
                        _ => ours == theirs,
                    };
                    if same {
                        continue;
                    }
                    let place = Place {
                        run: run.file,
                        theirs,
                        ours,
                        row: cells.clone(),
                        report: &report,
                        id: *id,
                        other_rows: differing != (0, 0),
                    };
                    let meant = MEANT.iter().position(|meant| {
                        meant.columns.contains(&column.as_str()) && (meant.explains)(&place)
                    });
                    if meant.is_none() {
                        let name = format!("{name}/{}: ID {id} {:?}", run.file, place.row["OP Code"]);
                        faults.push(format!("{name}: {column}: {ours:?} is not {theirs:?}"));
                    }
                    seen.extend(meant);
                }
            }
        }
    }
    assert!(
        faults.is_empty(),
        "{} differences:\n{}",
        faults.len(),
        faults[..faults.len().min(40)].join("\n")
    );
    if !cases.is_empty() {
        for (position, meant) in MEANT.iter().enumerate() {
            assert!(seen.contains(&position), "no difference comes from {}", meant.quirk);
        }
        for (position, meant) in MEANT_ROWS.iter().enumerate() {
            assert!(
                rows_seen.contains(&position),
                "{}/{}: no difference: {}",
                meant.case,
                meant.file,
                meant.quirk
            );
        }
    }
}
