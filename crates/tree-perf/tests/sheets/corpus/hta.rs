//! The tables of Holistic Trace Analysis: what its main branch at f4d0062c says of the same files.

use tree_perf::{Analysis, AnalysisOptions, pytorch_sheets};

use super::read;
use crate::common::Table;

fn analysis(case: &str) -> Option<Analysis> {
    let options = AnalysisOptions { hta: true, ..AnalysisOptions::default() };
    Some(Analysis::new(read(&testdata::corpus(&format!("pytorch/{case}/trace.json.gz"))?), options))
}

#[test]
fn times_of_the_device_are_those_of_hta() {
    for (case, row) in [
        ("h100-falconsai-vit", "6491 | 1065 | 3 | 7559"),
        ("h100-qwen1.5-0.5b", "5688 | 43981 | -17 | 49652"),
        ("h100-owlv2-large", "516680 | 547123 | 14484 | 1078287"),
        ("mi300-bert-small", "3168 | 326 | 1 | 3495"),
        ("mi300-qwen1.5-0.5b", "5537 | 41548 | 0 | 47085"),
        ("mi300-timesformer", "1861 | 118313 | 1092 | 121266"),
        ("normalization-layers", "1067923 | 833 | 23 | 1068779"),
        ("torch-compile-triton", "27 | 12574 | 0 | 12601"),
    ] {
        let Some(analysis) = analysis(case) else { continue };
        let columns = ["idle_time(us)", "compute_time(us)", "non_compute_time(us)", "kernel_time(us)"];
        let table = Table::of_sheet(&analysis, "hta_temporal_breakdown");
        assert_eq!(table.select(&columns), [row], "{case}");
    }
}

#[test]
fn idle_times_of_streams_are_those_of_hta() {
    let cases: [(&str, &[&str]); 4] = [
        ("h100-falconsai-vit", &["7 | host_wait | 6471", "7 | kernel_wait | 20", "7 | other | 0"]),
        ("h100-qwen1.5-0.5b", &["7 | host_wait | 1543", "7 | kernel_wait | 4145", "7 | other | 0"]),
        ("mi300-qwen1.5-0.5b", &["0 | host_wait | 3424", "0 | kernel_wait | 1936", "0 | other | 177"]),
        ("mi300-timesformer", &["0 | host_wait | 1401", "0 | kernel_wait | 460", "0 | other | 0"]),
    ];
    for (case, rows) in cases {
        let Some(analysis) = analysis(case) else { continue };
        let table = Table::of_sheet(&analysis, "hta_idle_time_breakdown");
        assert_eq!(table.select(&["stream", "idle_category", "idle_time"]), rows, "{case}");
    }
}

/// Where a launch and a start are at one µs, HTA's order is not defined: means are within a thousandth.
#[test]
fn lengths_of_queues_are_those_of_hta() {
    for (case, points, mean, max) in [
        ("h100-falconsai-vit", "312", 0.576_923, "4"),
        ("h100-qwen1.5-0.5b", "2396", 47.766, "111"),
        ("mi300-qwen1.5-0.5b", "2060", 62.171, "147"),
        ("h100-owlv2-large", "10330", 377.180, "777"),
    ] {
        let Some(analysis) = analysis(case) else { continue };
        let table = Table::of_sheet(&analysis, "hta_queue_length_summary");
        assert_eq!(table.select(&["count", "max"]), [format!("{points} | {max}")], "{case}");
        let found = table.numbers("mean")[0];
        assert!((found / mean - 1.0).abs() < 1e-3, "{case}: {found}, not {mean}");
    }
}

#[test]
fn delays_of_launches_are_those_of_hta() {
    for (case, rows, mean) in
        [("h100-falconsai-vit", 107, "4.803738"), ("h100-qwen1.5-0.5b", 1197, "1358.786132")]
    {
        let Some(analysis) = analysis(case) else { continue };
        let delays = Table::of_sheet(&analysis, "hta_cuda_kernel_launch_stats").numbers("launch_delay");
        let found = delays.iter().sum::<f64>() / delays.len() as f64;
        assert_eq!((delays.len(), format!("{found:.6}").as_str()), (rows, mean), "{case}");
    }
    let Some(rocm) = analysis("mi300-qwen1.5-0.5b") else { return };
    let sheets = pytorch_sheets();
    let sheet = sheets.iter().find(|sheet| sheet.name == "hta_cuda_kernel_launch_stats").unwrap();
    assert!(sheet.table(&rocm).unwrap().is_none());
}
