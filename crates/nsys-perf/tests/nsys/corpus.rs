//! The reference tables of the corpus, computed independently with Python and SQL: integers exactly, others to 1e-12.

use std::collections::BTreeMap;
use std::path::Path;

use nsys_perf::{NsysAnalysis, NsysFinding, NsysOptions, nsys_findings};
use trace_ingest::NsysKernelNames;

use crate::{table, tree};

const CASES: [&str; 2] = ["nsys/h100-2gpu-1s", "nsys/mock"];

/// Rows of a table: cells by header.
type Rows = Vec<BTreeMap<String, String>>;

fn reference(path: &Path) -> Rows {
    let mut reader = csv::Reader::from_path(path).unwrap();
    reader.deserialize().map(Result::unwrap).collect()
}

/// How a reference table is compared with one of ours.
struct Comparison {
    reference: &'static str,
    ours: &'static str,
    kernel_names: NsysKernelNames,
    /// Columns that tell rows apart, separated by commas: the reference's and, behind ` = `, ours where it has another name.
    keys: &'static str,
    /// Columns with figures, likewise.
    figures: &'static str,
}

const TIMES: &str = "Time (%), Total Time (ns), Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns)";
const TIMES_ALONE: &str = "Total Time (ns), Avg (ns), Med (ns), Min (ns), Max (ns), StdDev (ns)";

const fn same(reference: &'static str, keys: &'static str, figures: &'static str) -> Comparison {
    Comparison { reference, ours: reference, kernel_names: NsysKernelNames::Demangled, keys, figures }
}

const COMPARISONS: &[Comparison] = &[
    same("cuda_gpu_kern_sum", "Name, Instances", TIMES),
    Comparison {
        reference: "cuda_gpu_kern_sum_base",
        kernel_names: NsysKernelNames::Short,
        ..same("cuda_gpu_kern_sum", "Name, Instances", TIMES)
    },
    same("cuda_gpu_kern_gb_sum", "Name, Grid = GridXYZ, Block = BlockXYZ, Instances", TIMES),
    same("cuda_api_sum", "Name, Num Calls", TIMES),
    same("cuda_gpu_mem_time_sum", "Operation, Count", TIMES),
    same(
        "cuda_gpu_mem_size_sum",
        "Operation, Count",
        "Total (bytes) = Total (MB), Avg (bytes) = Avg (MB), Med (bytes) = Med (MB), \
         Min (bytes) = Min (MB), Max (bytes) = Max (MB), StdDev (bytes) = StdDev (MB)",
    ),
    same("nvtx_sum", "Range, Style, Instances", TIMES),
    same("nvtx_kern_sum", "NVTX Range, Style, PID, TID, NVTX Inst, Kern Inst, Kernel Name", TIMES_ALONE),
    same(
        "nvtx_gpu_proj_sum",
        "Range, Style, Range Instances, Total GPU Ops",
        "Total Proj Time (ns), Total Range Time (ns), Proj Avg (ns), Proj Med (ns), Proj Min (ns), \
         Proj Max (ns), Proj StdDev (ns), Avg GPU Ops, Avg Range Lvl, Avg Num Child",
    ),
    Comparison {
        ours: "nvtx_ranges",
        ..same(
            "nvtx_gpu_proj_sum",
            "Range = range, Style = style, All Instances = Count, \
             Range Instances = Instances with GPU Work",
            "GPU Op Time (ns) = GPU Op Time (ms), Own GPU Op Time (ns) = Own GPU Op Time (ms), \
             Total Proj Time (ns) = Projected Time (ms)",
        )
    },
    same(
        "cuda_kern_exec_sum",
        "PID, TID, DevId, Count, QCount, API Name, Kernel Name",
        "TAvg (ns), TMed (ns), TMin (ns), TMax (ns), TStdDev (ns), AAvg (ns), AMed (ns), \
         AMin (ns), AMax (ns), AStdDev (ns), QAvg (ns), QMed (ns), QMin (ns), QMax (ns), \
         QStdDev (ns), KAvg (ns), KMed (ns), KMin (ns), KMax (ns), KStdDev (ns)",
    ),
    same(
        "nvtx_tree",
        "path, level, Instances = Count, GPU Ops",
        "Host Time (ns) = Host Time (ms), Own Host Time (ns) = Own Host Time (ms), \
         GPU Op Time (ns) = GPU Op Time (ms), Own GPU Op Time (ns) = Own GPU Op Time (ms), \
         Proj Time (ns) = Projected Time (ms)",
    ),
    same(
        "launch_coverage",
        "device, op = kind, Count, with call = With Call, without call = Without Call, \
         started after the call ended = Started after Call, \
         started before the call ended = Started before Call's End",
        "",
    ),
    same(
        "memory_copy_bandwidth",
        "device, direction, source, destination, Count, Bytes",
        "Total Time (ns) = Total Time (ms), Union Time (ns) = Union Time (ms), Bandwidth (GB/s), \
         Union Bandwidth (GB/s)",
    ),
    // What calls wait for has PyTorch's names here.
    same("sync_summary", "call, Count", "Call Time (ns) = Call Time (ms), Sync Time (ns) = Sync Time (ms)"),
    same(
        "overheads",
        "table, name, Count",
        "Total Time (ns) = Total Time (ms), Max Time (ns) = Max Time (µs)",
    ),
];

/// The columns of a list: the reference's and ours.
fn columns(list: &'static str) -> Vec<(&'static str, &'static str)> {
    let columns = list.split(", ").filter(|column| !column.is_empty());
    columns.map(|column| column.split_once(" = ").unwrap_or((column, column))).collect()
}

/// What our figure is multiplied with to be in the unit of the reference's column.
fn factor(reference: &str, ours: &str) -> f64 {
    match (reference.rsplit('(').next(), ours.rsplit('(').next()) {
        (Some("ns)"), Some("ms)")) | (Some("bytes)"), Some("MB)")) => 1e6,
        (Some("ns)"), Some("µs)")) => 1e3,
        _ => 1.0,
    }
}

/// The cell of a row: extents of a launch stand in three columns of the reference.
fn cell(row: &BTreeMap<String, String>, column: &str) -> String {
    match column {
        "Grid" | "Block" => {
            let extents = ["X", "Y", "Z"].map(|axis| row[&format!("{column}{axis}")].parse::<u32>().unwrap());
            let [x, y, z] = extents;
            format!("{x:>4} {y:>4} {z:>4}")
        }
        _ => row[column].clone(),
    }
}

#[test]
fn a_full_queue_is_told_from_slow_launches() {
    let Some(folder) = testdata::corpus(CASES[0]) else { return };
    let tree = tree(&folder.join("trace.sqlite"), NsysKernelNames::Demangled);
    let found = nsys_findings(&NsysAnalysis::new(&tree, NsysOptions::default()));
    let [NsysFinding::FullQueue { share }, NsysFinding::PageableCopies { count: 4, .. }] = found[..] else {
        panic!("{found:?}")
    };
    assert!((share - 911_969_806.0 / 932_277_983.0).abs() < 1e-12, "{share}");
}

/// On the correlation alone, which each process counts for itself, there would be 1,643 pairs.
#[test]
fn launches_and_kernels_are_joined_within_their_process() {
    let Some(folder) = testdata::corpus(CASES[0]) else { return };
    let tree = tree(&folder.join("trace.sqlite"), NsysKernelNames::Demangled);
    let table = table(&tree, "cuda_kern_exec_sum").unwrap();
    let column = |name: &str| -> Vec<f64> {
        let at = table.headers.iter().position(|header| header == name).unwrap();
        table.rows.iter().map(|row| row[at].as_ref().map_or(0.0, |cell| cell.parse().unwrap())).collect()
    };
    let total = |mean: &str, count: &str| -> f64 {
        column(mean).iter().zip(column(count)).map(|(mean, count)| mean * count).sum::<f64>().round()
    };
    let [pairs, queued] = ["Count", "QCount"].map(|name| column(name).iter().sum::<f64>());
    assert_eq!((table.rows.len(), pairs, queued), (82, 1_632.0, 1_629.0));
    assert_eq!(total("TAvg (ns)", "Count"), 599_133_773_031.0);
    assert_eq!(total("AAvg (ns)", "Count"), 508_432_383.0);
    assert_eq!(total("QAvg (ns)", "QCount"), 598_602_199_475.0);
}

#[test]
fn tables_are_those_of_the_references() {
    for case in CASES {
        let Some(folder) = testdata::corpus(case) else { return };
        let trees = [NsysKernelNames::Demangled, NsysKernelNames::Short]
            .map(|names| (names, tree(&folder.join("trace.sqlite"), names)));
        let mut faults = Vec::new();
        for Comparison { reference: name, ours, kernel_names, keys, figures } in COMPARISONS {
            let (keys, figures) = (columns(keys), columns(figures));
            let path = folder.join(format!("reference/{name}.csv"));
            if !path.exists() {
                continue;
            }
            let tree = &trees.iter().find(|(names, _)| names == kernel_names).unwrap().1;
            let theirs = reference(&path);
            let Some(table) = table(tree, ours) else {
                faults.extend((!theirs.is_empty()).then(|| format!("{case} {name}: no rows")));
                continue;
            };
            let of_ours = |row: &[Option<String>], column: &str| {
                let at = table.headers.iter().position(|header| header == column);
                row[at.unwrap_or_else(|| panic!("{ours} has no column {column}: {:?}", table.headers))]
                    .clone()
            };
            let key_of_ours = |row: &[Option<String>]| -> Vec<String> {
                keys.iter().map(|(_, column)| of_ours(row, column).unwrap_or_default()).collect()
            };
            let rows: BTreeMap<Vec<String>, &Vec<Option<String>>> =
                table.rows.iter().map(|row| (key_of_ours(row), row)).collect();
            let is_subset = *ours == "nvtx_ranges" || *ours == "sync_summary";
            if table.rows.len() != theirs.len() && !is_subset {
                faults.push(format!("{case} {name}: {} rows, not {}", table.rows.len(), theirs.len()));
            }
            for row in &theirs {
                let key: Vec<String> = keys.iter().map(|(column, _)| cell(row, column)).collect();
                let Some(our_row) = rows.get(&key) else {
                    faults.push(format!("{case} {name}: no row {key:?}"));
                    continue;
                };
                for &(column, our_column) in &figures {
                    let expected = row[column].parse::<f64>().ok();
                    let found = of_ours(our_row, our_column)
                        .map(|cell| cell.parse::<f64>().unwrap() * factor(column, our_column));
                    let is_whole = row[column].parse::<i64>().is_ok();
                    let agrees = match (expected, found) {
                        (None, None) => true,
                        (Some(expected), Some(found)) if is_whole => {
                            found.round() == expected && (found - expected).abs() < 1e-3
                        }
                        (Some(expected), Some(found)) => (found - expected).abs() <= 1e-12 * expected.abs(),
                        _ => false,
                    };
                    if !agrees {
                        faults.push(format!("{case} {name} {key:?} {column}: {found:?}, not {expected:?}"));
                    }
                }
            }
        }
        assert!(faults.is_empty(), "{} faults: {:#?}", faults.len(), &faults[..faults.len().min(30)]);
    }
}
