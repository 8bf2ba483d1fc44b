//! The tables of Holistic Trace Analysis: what its main branch at f4d0062c says of the same files, and tables of small traces.

use reference_tools::{Hta, hta_sheets};
use testdata::trace::{Fixture, correlated};
use trace_ingest::{Category, EventArguments, MemoryTransfer, ReadOptions, read_path};
use trace2tree::{TraceTree, TreeOptions};

use crate::common::Table;

fn made_tree(fixture: Fixture) -> TraceTree {
    TraceTree::build(fixture.finish(), &TreeOptions::default())
}

/// The tree of a recording; `None` without the corpus.
fn tree(case: &str) -> Option<TraceTree> {
    let path = testdata::corpus(&format!("pytorch/{case}/trace.json.gz"))?;
    let trace =
        read_path(&path, &ReadOptions { skip_python_frames: true, ..ReadOptions::default() }).unwrap();
    Some(TraceTree::build(trace, &TreeOptions::default()))
}

fn made(hta: &Hta<'_>, name: &str) -> Option<Table> {
    let sheets = hta_sheets();
    let table = sheets.iter().find(|sheet| sheet.name == name).unwrap().table(hta).unwrap();
    table.map(|table| Table::new(&table))
}

fn table(tree: &TraceTree, name: &str) -> Table {
    made(&Hta::new(tree, None), name).unwrap()
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
        let Some(tree) = tree(case) else { continue };
        let columns = "idle_time(us) | compute_time(us) | non_compute_time(us) | kernel_time(us)";
        let table = table(&tree, "hta_temporal_breakdown");
        assert_eq!(table.select(columns), [row], "{case}");
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
        let Some(tree) = tree(case) else { continue };
        let table = table(&tree, "hta_idle_time_breakdown");
        assert_eq!(table.select("stream | idle_category | idle_time"), rows, "{case}");
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
        let Some(tree) = tree(case) else { continue };
        let table = table(&tree, "hta_queue_length_summary");
        assert_eq!(table.select("count | max"), [format!("{points} | {max}")], "{case}");
        let found = table.numbers("mean")[0];
        assert!((found / mean - 1.0).abs() < 1e-3, "{case}: {found}, not {mean}");
    }
}

#[test]
fn delays_of_launches_are_those_of_hta() {
    for (case, rows, mean) in
        [("h100-falconsai-vit", 107, "4.803738"), ("h100-qwen1.5-0.5b", 1197, "1358.786132")]
    {
        let Some(tree) = tree(case) else { continue };
        let delays = table(&tree, "hta_cuda_kernel_launch_stats").numbers("launch_delay");
        let found = delays.iter().sum::<f64>() / delays.len() as f64;
        assert_eq!((delays.len(), format!("{found:.6}").as_str()), (rows, mean), "{case}");
    }
    let Some(rocm) = tree("mi300-qwen1.5-0.5b") else { return };
    assert!(made(&Hta::new(&rocm, None), "hta_cuda_kernel_launch_stats").is_none());
}

#[test]
fn time_series_have_a_row_for_each_change() {
    let mut fixture = Fixture::default();
    for (launch, start) in [(10.0, 30.0), (20.0, 40.0)] {
        fixture.launch_kernels("cudaLaunchKernel", (launch, 1.0), &[("k", 7, start, 5.0)]);
    }
    for (start, rate) in [(50.0, 2.0), (55.0, 3.0)] {
        let arguments = EventArguments {
            stream: Some(8),
            transfer: Some(MemoryTransfer { bandwidth_gb_per_s: Some(rate), ..MemoryTransfer::default() }),
            ..correlated(fixture.correlation())
        };
        let (category, name) = (Category::GPU_MEMCPY, "Memcpy HtoD (Pinned -> Device)");
        fixture.event(category, name, (0, 8), (start, 10.0), arguments);
    }
    let tree = made_tree(fixture);
    let queue = table(&tree, "hta_queue_length_time_series");
    let rows = queue.select("rank | ts | pid | tid | stream | queue_length");
    assert_eq!(
        rows,
        [
            "0 | 0 | 0 | 7 | 7 | 1",
            "0 | 10 | 0 | 7 | 7 | 2",
            "0 | 20 | 0 | 7 | 7 | 1",
            "0 | 30 | 0 | 7 | 7 | 0"
        ]
    );
    let rates = table(&tree, "hta_memory_bw_time_series");
    let rows = rates.select("rank | ts | pid | name | memory_bw_gbps");
    let expected = [
        "40 | 0 | Memcpy HtoD | 2",
        "45 | 0 | Memcpy HtoD | 5",
        "50 | 0 | Memcpy HtoD | 3",
        "55 | 0 | Memcpy HtoD | 0",
    ];
    assert_eq!(rows, expected.map(|row| format!("0 | {row}")));
    let summary = table(&tree, "hta_memory_bw_summary");
    assert_eq!(summary.select("name | count | max"), ["Memcpy HtoD | 3 | 5"]);
}

#[test]
fn a_kernel_has_the_shortest_annotation_of_its_row() {
    let mut fixture = Fixture::default();
    fixture.unlinked(("before", 7, 0.0, 10.0));
    fixture.unlinked(("around", 7, 10.0, 100.0));
    fixture.unlinked(("inside", 7, 50.0, 5.0));
    fixture.unlinked(("outer alone", 7, 120.0, 5.0));
    for (name, span) in [("inner", (40.0, 20.0)), ("outer", (10.0, 200.0))] {
        fixture.event(Category::GPU_USER_ANNOTATION, name, (0, 7), span, EventArguments::default());
    }
    let table = table(&made_tree(fixture), "hta_gpu_kernels_with_user_annotations");
    assert_eq!(
        table.select("ts | dur | stream | s_name | user_annotation"),
        [
            "0 | 10 | 7 | before | -",
            "10 | 100 | 7 | around | inner",
            "50 | 5 | 7 | inside | inner",
            "120 | 5 | 7 | outer alone | outer",
        ]
    );
}

#[test]
fn sequences_are_of_the_outermost_operators_of_a_name() {
    let mut fixture = Fixture::default();
    let call = |fixture: &mut Fixture, at: f64, kernels: &[&str]| {
        fixture.op("aten::conv2d", (at, 50.0));
        // An operator of the name inside another does not count.
        fixture.op("aten::conv2d_inner", (at + 1.0, 40.0));
        for (position, name) in kernels.iter().enumerate() {
            let start = at + 2.0 + 5.0 * position as f64;
            fixture.launch_kernels("cudaLaunchKernel", (start, 1.0), &[(name, 7, start + 100.0, 4.0)]);
        }
    };
    call(&mut fixture, 0.0, &["a", "b", "c"]);
    call(&mut fixture, 60.0, &["a", "b"]);
    call(&mut fixture, 120.0, &["a", "b", "c"]);
    call(&mut fixture, 180.0, &["a", "b", "d"]);
    let tree = made_tree(fixture);
    let hta = Hta::new(&tree, Some("conv2d".to_owned()));
    assert_eq!(hta.without_sequences(), None);
    assert_eq!(Hta::new(&tree, Some("matmul".to_owned())).without_sequences(), Some("matmul"));
    let table = made(&hta, "hta_frequent_kernel_sequences").unwrap();
    assert_eq!(
        table.select("pattern | count | GPU kernel duration (us) | CPU op duration (us)"),
        ["aten::conv2d|a|b|c | 2 | 24 | 100", "aten::conv2d|a|b|d | 1 | 12 | 50"]
    );
}
