//! Categories, kernels and HIP calls of two GPUs.

use sheets::Layout;
use trace_ingest::Nanoseconds;
use trace_ingest::rocprof::{Kernel, KernelNames, Launch, SourceFormat};

use super::{Fixture, asked, floats, integers, table, texts};
use crate::fixture::{built, headers};
use crate::notice::pftrace_notices;
use crate::{
    HipGrouping, KernelBaseline, KernelGrouping, PftraceOptions, RocprofAnalysis, RocprofNotice,
    RocprofOptions, rocprof_notices, rocprof_sheets,
};

const TABLES: [&str; 6] = [
    "category_summary",
    "xla_top",
    "pftrace_kernel_summary",
    "hip_summary",
    "api_kernel_summary",
    "memory_copy_by_copy_bytes",
];

fn products(grid: u32, workgroup: u32, vgprs: u32) -> Launch {
    Launch {
        grid: [grid, 1, 1],
        workgroup: [workgroup, 1, 1],
        products_only: true,
        vgprs,
        ..Launch::default()
    }
}

/// Two GPUs; on the first, computation overlaps itself and a collective.
fn two_gpus() -> Fixture {
    let mut fixture = Fixture::new();
    let on_a =
        fixture.launch(Launch { accum_vgprs: 4, sgprs: 16, group_segment: 512, ..products(1024, 256, 32) });
    let on_b = fixture.launch(products(2048, 256, 64));
    fixture.kernel("fusion_12", "A", 1_000_000, 20_000).launch = on_a;
    fixture.kernel("fusion_13", "A", 1_030_000, 10_000).launch = on_a;
    fixture.kernel("fusion_13", "B", 1_030_000, 30_000).launch = on_b;
    fixture.kernel("fusion_tiny", "A", 1_045_000, 4_999);
    fixture.kernel("ncclDevKernel_Generic_1(x)", "A", 1_010_000, 40_000);
    fixture.kernel("Cijk_Ailk_Bljk", "A", 1_015_000, 100_000);
    fixture.kernel("__amd_rocclr_copyBuffer.kd", "B", 2_000_000, 7_000);
    fixture.kernel("__amd_rocclr_fillBufferAligned.kd", "B", 2_010_000, 8_000);
    for (name, length, stream, operation) in [
        ("hipMemcpyAsync", 6_000, 3, 77),
        ("hipMemcpyAsync", 9_000, 4, 77),
        ("hipMemcpyAsync", 10_000, 3, 77),
        ("hipLaunchKernel", 5_000, 3, 90),
        ("hipGetDevice", 4_000, 0, 0),
    ] {
        let call = fixture.call(name, 900_000, length);
        call.stream = stream;
        call.operation = operation;
    }
    fixture
}

/// Runtime in ms, count and both fractions of a row of `category_summary`.
fn category(analysis: &RocprofAnalysis, gpu: &str, category: &str) -> [f64; 4] {
    let frame = table(analysis, "category_summary");
    let (gpus, categories) = (texts(&frame, "GPU ID"), texts(&frame, "Category"));
    let row = (0..frame.height()).find(|&row| gpus[row] == gpu && categories[row] == category).unwrap();
    ["Total runtime (ms)", "Total count", "Fraction of compute runtime", "Fraction of total runtime"]
        .map(|column| floats(&frame, column)[row])
}

#[test]
fn categories_of_each_gpu_and_their_means() {
    let analysis = two_gpus().analysis(PftraceOptions::default());
    let (of_compute, of_total) = (0.3076923076923077, 0.23529411764705882);
    assert_eq!(category(&analysis, "0", "other"), [0.03, 2.0, 3.0 / 13.0, 3.0 / 17.0]);
    assert_eq!(category(&analysis, "0", "GEMM"), [0.1, 1.0, 10.0 / 13.0, 10.0 / 17.0]);
    assert_eq!(category(&analysis, "0", "communication"), [0.04, 1.0, of_compute, of_total]);
    // The collective runs from 10 to 50 µs, something is computed from 0 to 115 µs.
    assert_eq!(category(&analysis, "0", "overlapped_comm"), [0.04, 0.0, of_compute, of_total]);
    assert_eq!(category(&analysis, "0", "non_overlapped_comm"), [0.0, 0.0, 0.0, 0.0]);
    assert_eq!(category(&analysis, "0", "compute_total"), [0.13, 0.0, 1.0, 13.0 / 17.0]);
    assert_eq!(category(&analysis, "0", "total_incl_comm")[0], 0.17);
    assert_eq!(category(&analysis, "1", "other")[..2], [0.03, 1.0]);
    assert_eq!(category(&analysis, "1", "copy/fill")[..2], [0.015, 2.0]);
    assert_eq!(category(&analysis, "1", "total_incl_comm")[..2], [0.045, 0.0]);
    assert_eq!(category(&analysis, "Avg", "other"), [0.03, 1.5, 0.4487179487179487, 0.4215686274509804]);

    let analysis = two_gpus().with_short_categories(PftraceOptions::default());
    assert_eq!(category(&analysis, "0", "xla"), [0.03, 2.0, 3.0 / 13.0, 3.0 / 17.0]);
    assert_eq!(category(&analysis, "0", "rccl"), [0.04, 1.0, of_compute, of_total]);
    assert_eq!(category(&analysis, "0", "overlapped_comm"), [0.04, 0.0, of_compute, of_total]);
    assert_eq!(category(&analysis, "1", "memcpy/memset")[..2], [0.007, 1.0]);
    assert_eq!(category(&analysis, "1", "fillBuffer")[..2], [0.008, 1.0]);
}

#[test]
fn the_reference_counts_overlap_by_pairs() {
    let analysis = two_gpus().reference(PftraceOptions::default());
    // 10..20 µs beside the fusion and 15..50 µs beside the matrix product.
    assert_eq!(category(&analysis, "0", "overlapped_comm")[0], 0.045);
    assert_eq!(category(&analysis, "0", "non_overlapped_comm")[0], -0.005);
    assert_eq!(category(&analysis, "0", "compute_total")[0], 0.13);
}

#[test]
fn rows_of_categories_have_the_same_order_for_every_gpu_and_means_an_alphabetical_one() {
    let sums = ["overlapped_comm", "non_overlapped_comm", "compute_total", "total_incl_comm"];
    let by_time = ["GEMM", "other", "communication", "copy/fill"];
    let tracelens = [
        "xla",
        "aiterfwd",
        "aiterbwd",
        "gemm",
        "ckbwd",
        "ckfwd",
        "te",
        "memcpy/memset",
        "fillBuffer",
        "rccl",
    ];
    for (analysis, order) in [
        (two_gpus().analysis(PftraceOptions::default()), &by_time[..]),
        (two_gpus().with_short_categories(PftraceOptions::default()), &tracelens),
    ] {
        let frame = table(&analysis, "category_summary");
        let (gpus, categories) = (texts(&frame, "GPU ID"), texts(&frame, "Category"));
        let of = |gpu: &str| -> Vec<&str> {
            (0..gpus.len()).filter(|&row| gpus[row] == gpu).map(|row| categories[row].as_str()).collect()
        };
        let mut order = [order, &sums].concat();
        assert_eq!((of("0"), of("1")), (order.clone(), order.clone()));
        order.sort_unstable();
        assert_eq!(of("Avg"), order);
    }
}

#[test]
fn other_kernels_by_time_whatever_their_length() {
    let fixture = two_gpus();
    let frame = table(&fixture.analysis(PftraceOptions::default()), "xla_top");
    assert_eq!(headers(&frame), ["Kernel", "Total time (ms)", "Count", "Fraction of XLA"]);
    assert_eq!(texts(&frame, "Kernel"), ["fusion_13", "fusion_12", "fusion_tiny"]);
    assert_eq!(floats(&frame, "Total time (ms)"), [0.04, 0.02, 0.004999]);
    assert_eq!(integers(&frame, "Count"), [2, 1, 1]);
    assert_eq!(
        floats(&frame, "Fraction of XLA"),
        [0.615394082985892, 0.307697041492946, 0.07690887552116187]
    );

    let merged = PftraceOptions { merge_kernels: true, top_xla: 1, ..PftraceOptions::default() };
    let frame = table(&fixture.analysis(merged), "xla_top");
    assert_eq!((texts(&frame, "Kernel"), integers(&frame, "Count")), (vec!["fusion_".to_owned()], vec![3]));
    assert_eq!(floats(&frame, "Fraction of XLA"), [60_000.0 / 64_999.0]);
}

#[test]
fn kernels_by_name_and_launch_configuration() {
    let frame = table(&two_gpus().analysis(PftraceOptions::default()), "pftrace_kernel_summary");
    assert_eq!(
        texts(&frame, "Name"),
        [
            "Cijk_Ailk_Bljk",
            "fusion_13",
            "fusion_12",
            "fusion_13",
            "__amd_rocclr_fillBufferAligned.kd",
            "__amd_rocclr_copyBuffer.kd"
        ]
    );
    assert_eq!(
        floats(&frame, "Time %"),
        [
            46.51162790697674,
            13.953488372093023,
            9.30232558139535,
            4.651162790697675,
            3.7209302325581395,
            3.255813953488372
        ]
    );
    assert_eq!(integers(&frame, "Total Time (ns)"), [100_000, 30_000, 20_000, 10_000, 8_000, 7_000]);
    assert_eq!(
        (&texts(&frame, "Time")[0], &texts(&frame, "Total Time")[0]),
        (&"46.5%".into(), &"100.000 μs".into())
    );
    assert_eq!(texts(&frame, "GridXYZ")[1], "   2048    1    1");
    assert_eq!(texts(&frame, "BlockXYZ")[1], "    256    1    1");
    assert_eq!(integers(&frame, "GridX")[1..4], [2048, 1024, 1024]);
    assert_eq!((integers(&frame, "GridY")[1], integers(&frame, "BlockX")[1]), (1, 256));
    assert_eq!(integers(&frame, "VGPR")[1..4], [64, 32, 32]);
    for (column, value) in [("AccumVGPR", 4), ("SGPR", 16), ("LDS", 512), ("Scratch", 0)] {
        assert_eq!(integers(&frame, column)[2], value, "{column}");
    }
}

#[test]
fn dimensions_that_the_profile_knows_stay_apart() {
    let mut fixture = Fixture::new();
    let flat = fixture.launch(Launch { grid: [64, 1, 1], workgroup: [8, 8, 1], ..Launch::default() });
    let square = fixture.launch(Launch { grid: [8, 4, 2], workgroup: [8, 8, 1], ..Launch::default() });
    fixture.kernel("k", "A", 0, 10_000).launch = flat;
    fixture.kernel("k", "A", 20_000, 9_000).launch = square;
    let frame = table(&fixture.analysis(PftraceOptions::default()), "pftrace_kernel_summary");
    assert_eq!(texts(&frame, "GridXYZ"), ["     64    1    1", "      8    4    2"]);
    assert_eq!(integers(&frame, "GridZ"), [1, 2]);
    assert_eq!(integers(&frame, "BlockY"), [8, 8]);

    let by_name = PftraceOptions { kernel_summary_group: KernelGrouping::Name, ..PftraceOptions::default() };
    let frame = table(&fixture.analysis(by_name), "pftrace_kernel_summary");
    assert_eq!(integers(&frame, "Instances"), [2]);
    assert!(!headers(&frame).iter().any(|name| name.starts_with("Grid") || *name == "VGPR"));
}

#[test]
fn merged_kernels_with_collectives_over_computation() {
    let options = PftraceOptions {
        merge_kernels: true,
        kernel_summary_include_rccl: true,
        kernel_summary_baseline: KernelBaseline::Compute,
        ..PftraceOptions::default()
    };
    let frame = table(&two_gpus().analysis(options), "pftrace_kernel_summary");
    assert_eq!(texts(&frame, "Name")[1..4], ["ncclDevKernel_Generic_(x)", "fusion_", "fusion_"]);
    assert_eq!(floats(&frame, "Time %")[1], 22.857142857142858);
    assert_eq!(integers(&frame, "GridX")[2..4], [1024, 2048]);
    assert_eq!(integers(&frame, "Total Time (ns)")[2..4], [30_000, 30_000]);
    assert_eq!(integers(&frame, "Instances")[2..4], [2, 1]);
    assert_eq!((floats(&frame, "Avg (ns)")[2], floats(&frame, "StdDev (ns)")[2]), (15_000.0, 5_000.0));
    assert_eq!(floats(&frame, "StdDev (ns)")[3], 0.0);
}

#[test]
fn hip_calls_by_function() {
    let frame = table(&two_gpus().analysis(PftraceOptions::default()), "hip_summary");
    assert_eq!(texts(&frame, "Name"), ["hipMemcpyAsync", "hipLaunchKernel"]);
    assert_eq!(floats(&frame, "Time %"), [83.33333333333334, 16.666666666666664]);
    assert_eq!(integers(&frame, "Total Time (ns)"), [25_000, 5_000]);
    assert_eq!(integers(&frame, "Instances"), [3, 1]);
    assert_eq!((floats(&frame, "Avg (ns)")[0], floats(&frame, "Med (ns)")[0]), (25_000.0 / 3.0, 9_000.0));
    assert!((floats(&frame, "StdDev (ns)")[0] - 1699.673171197595).abs() < 1e-9);
    assert_eq!((integers(&frame, "Min (ns)")[0], integers(&frame, "Max (ns)")[0]), (6_000, 10_000));
}

#[test]
fn hip_calls_by_stream_and_operation() {
    for (group, columns, rows) in [
        (HipGrouping::Name, vec!["Name"], 2),
        (HipGrouping::NameStream, vec!["Stream", "Name"], 3),
        (HipGrouping::NameOp, vec!["Op", "Name"], 2),
        (HipGrouping::NameStreamOp, vec!["Stream", "Op", "Name"], 3),
    ] {
        let options = PftraceOptions { hip_summary_group: group, ..PftraceOptions::default() };
        let frame = table(&two_gpus().analysis(options), "hip_summary");
        let headers = headers(&frame);
        assert_eq!(headers[8..8 + columns.len()], columns, "{group:?}");
        assert_eq!(frame.height(), rows, "{group:?}");
        if group.by_stream() {
            assert_eq!(integers(&frame, "Stream"), [3, 4, 3]);
            assert_eq!(integers(&frame, "Total Time (ns)"), [16_000, 9_000, 5_000]);
        }
        if group.by_operation() {
            assert_eq!(integers(&frame, "Op")[0], 77);
        }
    }
}

#[test]
fn records_of_other_threads_and_without_length_do_not_count() {
    let mut fixture = Fixture::new();
    fixture.kernel("kept", "A", 0, 10_000);
    fixture.kernel("other_thread", "A", 0, 10_000).thread = 9;
    fixture.kernel("no_length", "A", 0, 0);
    fixture.kernel("nowhere", "A", 0, 10_000).agent = None;
    fixture.call("kept", 0, 10_000);
    fixture.call("other_thread", 0, 10_000).thread = -2;
    fixture.call("no_length", 0, 0);
    fixture.call("roctxRangePush", 0, 10_000).domain = trace_ingest::rocprof::Domain::Marker;
    let options = PftraceOptions { min_tid: 1, max_tid: 8, min_event_ns: 0, ..PftraceOptions::default() };
    let analysis = fixture.analysis(options);
    for name in ["pftrace_kernel_summary", "hip_summary"] {
        assert_eq!(texts(&table(&analysis, name), "Name"), ["kept"], "{name}");
    }
    assert_eq!(texts(&table(&analysis, "xla_top"), "Kernel"), ["kept"]);
    assert_eq!(pftrace_notices(&analysis), [RocprofNotice::KernelsWithoutAgent { count: 1 }]);
}

#[test]
fn gpus_are_numbered_as_they_occur() {
    let mut fixture = Fixture::new();
    for label in ["0", "Agent 4", "37946"] {
        fixture.agent(label);
    }
    fixture.kernel("gemm", "37946", 50_000, 10_000);
    fixture.kernel("k", "0", 0, 10_000);
    let frame = table(&fixture.analysis(PftraceOptions::default()), "category_summary");
    assert_eq!(frame.height(), 3 * 6, "an agent without kernels has no rows, one called 0 has");
    assert_eq!(category(&fixture.analysis(PftraceOptions::default()), "0", "GEMM")[1], 1.0);
    assert_eq!(category(&fixture.analysis(PftraceOptions::default()), "1", "other")[1], 1.0);
}

#[test]
fn classes_see_the_namespaces_that_perfetto_traces_have() {
    let mut fixture = Fixture::new();
    fixture.kernel("aiter::fmha_fwd_hd128", "A", 0, 10_000);
    let profile = &mut fixture.recorded.profile;
    let truncated = Some(profile.strings.intern("fmha_fwd_hd128"));
    let kernel = &mut profile.kernels[0];
    (kernel.formatted, kernel.truncated) = (kernel.truncated, truncated);
    let analysis = fixture.with_short_categories(PftraceOptions::default());
    assert_eq!(category(&analysis, "0", "aiterfwd")[1], 1.0);
    assert_eq!(category(&fixture.analysis(PftraceOptions::default()), "0", "SDPA_fwd")[1], 1.0);
    let short = RocprofOptions {
        kernel_names: Some(KernelNames::Truncated),
        pftrace: asked(PftraceOptions::default()),
        ..RocprofOptions::default()
    };
    let short = RocprofAnalysis::new(fixture.recorded.profile.clone(), short);
    let frame = table(&short, "pftrace_kernel_summary");
    assert_eq!(texts(&frame, "Name"), ["fmha_fwd_hd128"]);
}

#[test]
fn tables_of_nothing_have_all_headers() {
    let analysis = Fixture::new().analysis(PftraceOptions::default());
    for name in TABLES {
        let frame = table(&analysis, name);
        let sheets = rocprof_sheets();
        let sheet = sheets.iter().find(|sheet| sheet.name == name).unwrap();
        let always = |name: &&str| !["Stream", "Op"].contains(name);
        let columns = sheet.columns.iter().filter(|column| column.only_in != Some(Layout::Roles));
        let columns: Vec<&str> = columns.map(|column| column.name).filter(always).collect();
        assert_eq!((headers(&frame), frame.height()), (columns, 0), "{name}");
    }
    assert_eq!(pftrace_notices(&analysis), []);
}

#[test]
fn tables_are_made_on_request_only() {
    let fixture = two_gpus();
    let none = RocprofAnalysis::new(fixture.recorded.profile.clone(), RocprofOptions::default());
    assert!(TABLES.iter().all(|name| built(&none, name).is_none()));
    assert!(pftrace_notices(&none).is_empty());
    let less = PftraceOptions { no_kernel_summary: true, no_hip_summary: true, ..PftraceOptions::default() };
    let less = fixture.analysis(less);
    let left_out: Vec<&str> = TABLES.into_iter().filter(|name| built(&less, name).is_none()).collect();
    assert_eq!(left_out, ["pftrace_kernel_summary", "hip_summary"]);
}

#[test]
fn short_records_that_are_left_out_are_told() {
    let analysis = two_gpus().analysis(PftraceOptions::default());
    let omissions = [
        RocprofNotice::PftraceShortKernels {
            count: 1,
            time: Nanoseconds(4_999),
            min_event: Nanoseconds(5_000),
        },
        RocprofNotice::PftraceShortCalls {
            count: 1,
            time: Nanoseconds(4_000),
            min_event: Nanoseconds(5_000),
        },
    ];
    assert_eq!(pftrace_notices(&analysis), omissions);
    for omission in &omissions {
        assert!(rocprof_notices(&analysis).contains(omission));
    }
    assert!(omissions[0].to_string().contains("shorter than 5000 ns: 1, 4999 ns in total"));
}

#[test]
fn names_are_those_of_a_perfetto_trace() {
    let mut fixture = Fixture::new();
    fixture.kernel("kA", "A", 0, 10_000);
    let profile = &mut fixture.recorded.profile;
    let mut name = |text: &str| Some(profile.strings.intern(text));
    let (demangled, formatted) = (name("kA(float*) [clone .kd]"), name("kA(float*)"));
    profile.kernels[0] = Kernel { demangled, formatted, ..profile.kernels[0] };
    for (source, shown) in [
        (SourceFormat::Json, "kA(float*)"),
        (SourceFormat::Csv, "kA(float*)"),
        (SourceFormat::Rocpd, "kA(float*)"),
        (SourceFormat::Pftrace, "kA(float*) [clone .kd]"),
        (SourceFormat::ChromeJson, "kA(float*) [clone .kd]"),
    ] {
        fixture.recorded.profile.source = source;
        let frame = table(&fixture.analysis(PftraceOptions::default()), "xla_top");
        assert_eq!(texts(&frame, "Kernel"), [shown], "{source:?}");
    }
}
