//! The tables that `nsys stats` 2023.4 made of this project's recordings (`stats_nsys.sh`), to the digits that it prints.

use std::collections::BTreeMap;
use std::path::Path;

use nsys_perf::{NsysAnalysis, NsysOptions, nsys_stats_sheets};
use trace_ingest::{NsysReading, ReadOptions, read_path};
use trace2tree::{TraceTree, TreeOptions};

use crate::common::Table;
use crate::recorded::recording;

/// Figures in which we differ on purpose: table, column, why.
const OTHER_FIGURES: [(&str, &str, &str); 2] = [
    (
        "nvtx_gpu_proj_sum",
        "Avg Num Child",
        "nsys counts only the ranges directly inside that have device work",
    ),
    ("cuda_gpu_trace", "Throughput (MB/s)", "nsys multiplies by a whole number of copies per second"),
];

/// Columns that tell rows apart.
const KEYS: [&str; 15] = [
    "Name",
    "Range",
    "NVTX Range",
    "Style",
    "Operation",
    "GridXYZ",
    "BlockXYZ",
    "PID",
    "TID",
    "DevId",
    "API Name",
    "Kernel Name",
    "Start (ns)",
    "Device",
    "Strm",
];

/// Names as both have them: nsys 2023.4 writes ranges of the default domain without a colon, as later versions do not, and
/// cuts versions of calls off names only where they have four digits.
fn common_name(column: &str, name: &str) -> String {
    match column {
        "Range" | "NVTX Range" => name.trim_start_matches(':').to_string(),
        "Name" | "API Name" => {
            let digits = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
            match digits.strip_suffix("_v") {
                Some(base) if name.len() - digits.len() >= 4 => base.to_string(),
                _ => name.to_string(),
            }
        }
        _ => name.to_string(),
    }
}

/// Whether a figure is one that was printed, rounded to the digits that it has.
fn is_rounded(printed: &str, figure: Option<&str>) -> bool {
    let Some(figure) = figure else {
        // The deviation of no values is printed as 0.
        return printed.is_empty() || printed == "0.0";
    };
    if printed == figure {
        return true;
    }
    let (Ok(wanted), Ok(found)) = (printed.parse::<f64>(), figure.parse::<f64>()) else { return false };
    let digits = printed.split_once('.').map_or(0, |(_, digits)| digits.len());
    (wanted - found).abs() <= 0.5001 * 10_f64.powi(-(digits as i32))
}

fn faults(tree: &TraceTree, table: &str, printed: &Path) -> Vec<String> {
    let analysis = NsysAnalysis::new(tree, NsysOptions { gpu_trace: true, ..NsysOptions::default() });
    let sheet = nsys_stats_sheets().into_iter().find(|sheet| sheet.name == table).unwrap();
    let ours = Table::new(&sheet.table(&analysis).unwrap().unwrap());

    let mut reader = csv::Reader::from_path(printed).unwrap();
    let headers: Vec<String> = reader.headers().unwrap().iter().map(str::to_string).collect();
    let place = |column: &String| {
        let at = ours.headers.iter().position(|header| header == column);
        at.unwrap_or_else(|| panic!("{table} has no column {column}: {:?}", ours.headers))
    };
    let places: Vec<usize> = headers.iter().map(place).collect();
    assert_eq!(ours.headers.len(), headers.len(), "{table}");
    let key = |cells: Vec<&str>| -> Vec<String> {
        let named = headers.iter().zip(cells).filter(|(column, _)| KEYS.contains(&column.as_str()));
        named.map(|(column, cell)| common_name(column, cell)).collect()
    };
    let mut rows: BTreeMap<Vec<String>, Vec<&Vec<Option<String>>>> = BTreeMap::new();
    for row in &ours.rows {
        let cells = places.iter().map(|&place| row[place].as_deref().unwrap_or_default()).collect();
        rows.entry(key(cells)).or_default().push(row);
    }
    let mut faults = Vec::new();
    for record in reader.records().map(Result::unwrap) {
        let key = key(record.iter().collect());
        let Some(row) = rows.get_mut(&key).and_then(Vec::pop) else {
            // nsys has a row for the kernels that are in no range; here they are in no row.
            let is_outside = table == "nvtx_kern_sum" && record.get(0) == Some("");
            faults.extend((!is_outside).then(|| format!("no row {key:?}")));
            continue;
        };
        for ((column, printed), &place) in headers.iter().zip(&record).zip(&places) {
            let figure = &row[place];
            let differs = OTHER_FIGURES.iter().any(|&(other, name, _)| (other, name) == (table, column));
            if !differs && !KEYS.contains(&column.as_str()) && !is_rounded(printed, figure.as_deref()) {
                faults.push(format!("{key:?} {column}: {figure:?}, not {printed}"));
            }
        }
    }
    faults.extend(
        rows.into_iter().filter(|(_, left)| !left.is_empty()).map(|(key, _)| format!("also {key:?}")),
    );
    faults
}

#[test]
fn tables_are_those_of_nsys_stats() {
    for name in ["nvtx_and_copies", "transformer_step"] {
        let nsys = NsysReading { whole_texts: true, ..NsysReading::default() };
        let reading = ReadOptions { nsys, ..ReadOptions::default() };
        let trace = read_path(&recording(name), &reading).unwrap();
        let tree = TraceTree::build(trace, &TreeOptions::default());
        let folder = recording(name).with_file_name("stats").join(name);
        let mut tables = 0;
        for file in std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()) {
            let table = file.file_stem().unwrap().to_str().unwrap();
            let faults = faults(&tree, table, &file);
            assert!(faults.is_empty(), "{name} {table}: {:#?}", &faults[..faults.len().min(10)]);
            tables += 1;
        }
        assert!(tables >= 7, "{name}: {tables} tables");
    }
}
