//! Compares the tables of a TPU profile with those of the XLA profiler's own tools, every row and every column.

use std::path::{Path, PathBuf};

use serde_json::Value;
use trace_ingest::ReadOptions;
use trace_ingest::xplane::read_profile;
use xla_perf::tpu::{
    FrameworkOpRow, HloStatsRow, IdleTime, OpProfileGrouping, OpProfileLevel, OpProfileNode, RooflineRow,
    TpuAnalysis, TpuOp, TpuProfile, framework_op_stats, hlo_stats, module_runs, op_profile, overview,
    roofline, tpu_collectives, tpu_finding, transfers,
};

fn folder() -> Option<PathBuf> {
    super::folder("tpu-v6e-inference")
}

fn profile(folder: &Path) -> TpuProfile {
    TpuProfile::new(&read_profile(&folder.join("trace.xplane.pb"), &ReadOptions::default()).unwrap()).unwrap()
}

fn reference(folder: &Path, tool: &str) -> Value {
    let path = folder.join("xprof").join(format!("{tool}.json"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Labels of a table's columns, and its rows.
fn table(table: &Value) -> (Vec<String>, Vec<Vec<Value>>) {
    let label = |column: &Value| column["label"].as_str().unwrap().to_string();
    let labels = table["cols"].as_array().unwrap().iter().map(label).collect();
    let cells = |row: &Value| row["c"].as_array().unwrap().iter().map(|cell| cell["v"].clone()).collect();
    (labels, table["rows"].as_array().unwrap().iter().map(cells).collect())
}

fn assert_same(ours: &Value, theirs: &Value, place: &str) {
    match (ours.as_f64(), theirs.as_f64()) {
        (Some(ours), Some(theirs)) => {
            let far = (ours - theirs).abs() > 1e-9 * theirs.abs().max(f64::MIN_POSITIVE);
            assert!(!far, "{place}: {ours} is not {theirs}");
        }
        _ => assert_eq!(ours, theirs, "{place}"),
    }
}

fn assert_table(ours: &[Vec<(&str, Value)>], theirs: &Value, name: &str) {
    let (labels, rows) = table(theirs);
    assert_eq!(ours.len(), rows.len(), "rows of {name}");
    for (at, (our_row, their_row)) in ours.iter().zip(&rows).enumerate() {
        let our_labels: Vec<&str> = our_row.iter().map(|cell| cell.0).collect();
        assert_eq!(our_labels, labels, "columns of {name}");
        for ((label, ours), theirs) in our_row.iter().zip(their_row) {
            assert_same(ours, theirs, &format!("{name}, row {at}, {label}"));
        }
    }
}

fn yes(value: bool) -> Value {
    if value { "Yes" } else { "No" }.into()
}

fn hlo_stats_row(row: &HloStatsRow<'_>) -> Vec<(&'static str, Value)> {
    let (times, rates, op) = (&row.times, &row.rates, row.op);
    vec![
        ("Rank", f64::from(row.rank).into()),
        ("Program id", row.program.to_string().into()),
        ("HLO op category", op.category.as_str().into()),
        ("HLO op name", op.name.as_str().into()),
        ("HLO op text", op.expression.as_str().into()),
        ("Framework op name", op.framework.as_str().into()),
        ("#Occurrences", (times.occurrences as f64).into()),
        ("Total time (us)", times.total_us.into()),
        ("Avg. time (us)", times.average_us.into()),
        ("Total self time (us)", times.self_us.into()),
        ("Avg. self time (us)", times.average_self_us.into()),
        ("Total self time (%)", (row.self_fraction * 100.0).into()),
        ("Cumulative total self time (%)", (row.cumulative_fraction * 100.0).into()),
        ("%time stalled by DMA", (times.dma_stall_fraction * 100.0).into()),
        ("Model GFLOP/s", rates.model_flop_rate.into()),
        ("Normalized GFLOP/s", rates.flop_rate.into()),
        ("Measured memory BW (GiB/s)", rates.memory_bandwidth.into()),
        ("HBM BW (GiB/s)", rates.bandwidth.hbm.into()),
        ("CMEM Read BW (GiB/s)", rates.bandwidth.cmem_read.into()),
        ("CMEM Write BW (GiB/s)", rates.bandwidth.cmem_write.into()),
        ("Operational intensity (FLOPS/Byte)", rates.intensity.into()),
        ("Bound by", row.roof.as_ref().unwrap().bound_by.as_str().into()),
        ("Rematerialization", yes(row.is_rematerialized)),
        ("Outside Compilation", yes(row.is_outside_compilation)),
        ("Autotuned", yes(false)), // of GPUs only
        ("Source Info", op.source.as_str().into()),
        ("Source Stack", op.source_stack.as_str().into()),
    ]
}

#[test]
fn op_stats_are_those_of_the_profiler() {
    let Some(folder) = folder() else { return };
    let analysis = TpuAnalysis::new(profile(&folder));
    let rows: Vec<_> = hlo_stats(&analysis).iter().map(hlo_stats_row).collect();
    assert_table(&rows, &reference(&folder, "hlo_stats"), "hlo_stats");
    assert_eq!(analysis.table.idle_time().0, 48_611_795_062_500);
}

fn source_link(op: Option<&TpuOp>) -> Value {
    match op.filter(|op| !op.source.is_empty()) {
        Some(op) => format!("<div title='{}'>{}</div>", op.source_stack, op.source).into(),
        None => "".into(),
    }
}

fn roofline_row(row: &RooflineRow<'_>) -> Vec<(&'static str, Value)> {
    let (times, rates, roof) = (&row.times, &row.rates, &row.roof);
    let intensity = &rates.intensity_by_memory;
    vec![
        ("Step", row.step.as_str().into()),
        ("Rank", f64::from(row.rank).into()),
        ("Category", row.op.map_or("Program", |op| &op.category).into()),
        ("Operation", row.op.map_or("Program", |op| &op.name).into()),
        ("# Occurrences", (times.occurrences as f64).into()),
        ("Total Time (us)", times.total_us.into()),
        ("Avg. time (us)", times.average_us.into()),
        ("Total self time (us)", times.self_us.into()),
        ("Avg. self time (us)", times.average_self_us.into()),
        ("Total self time (%)", row.self_fraction.into()),
        ("Cumulative total self time (%)", row.cumulative_fraction.into()),
        ("%time stalled by DMA", times.dma_stall_fraction.into()),
        ("Normalized FLOP Rate (GFLOP/s)", rates.flop_rate.into()),
        ("Model FLOP Rate (GFLOP/s)", rates.model_flop_rate.into()),
        ("Memory BW (GiB/s)", rates.memory_bandwidth.into()),
        ("HBM BW (GiB/s)", rates.bandwidth.hbm.into()),
        ("CMEM Read BW (GiB/s)", rates.bandwidth.cmem_read.into()),
        ("CMEM Write BW (GiB/s)", rates.bandwidth.cmem_write.into()),
        ("VMEM Read BW (GiB/s)", rates.bandwidth.vmem_read.into()),
        ("VMEM Write BW (GiB/s)", rates.bandwidth.vmem_write.into()),
        ("Operational Intensity (FLOP/Byte)", rates.intensity.into()),
        ("HBM Operational Intensity (FLOP/Byte)", intensity.hbm.into()),
        ("CMEM Read Operational Intensity (FLOP/Byte)", intensity.cmem_read.into()),
        ("CMEM Write Operational Intensity (FLOP/Byte)", intensity.cmem_write.into()),
        ("VMEM Read Operational Intensity (FLOP/Byte)", intensity.vmem_read.into()),
        ("VMEM Write Operational Intensity (FLOP/Byte)", intensity.vmem_write.into()),
        ("Bottleneck Operational Intensity (FLOP/Byte)", roof.bottleneck_intensity.into()),
        ("Bound by", roof.bound_by.as_str().into()),
        ("Total Time per core (us)", row.time_per_core_us.into()),
        ("Total Time (%)", row.total_fraction.into()),
        ("Optimal FLOP Rate (GFLOP/s)", roof.optimal_flop_rate.into()),
        ("Roofline efficiency (%)", roof.efficiency.into()),
        ("FLOP Rate / Peak (%)", roof.compute_utilization.into()),
        ("Max memory (cmem or hbm) bandwidth utilization (%)", roof.memory_utilization.into()),
        ("Include Infeed/Outfeed", row.includes_feeds.into()),
        ("Program ID", row.program.to_string().into()),
        ("Source Info", source_link(row.op)),
    ]
}

#[test]
fn roofline_is_that_of_the_profiler() {
    let Some(folder) = folder() else { return };
    let analysis = TpuAnalysis::new(profile(&folder));
    let theirs = reference(&folder, "roofline_model");
    let rows: Vec<_> = roofline(&analysis).iter().map(roofline_row).collect();
    assert_table(&rows, &theirs[0], "roofline_model");

    let facts = &theirs[0]["p"];
    let peaks = analysis.profile.peaks.as_ref().unwrap();
    assert_eq!(facts["device_type"], analysis.profile.device_type.as_str());
    assert_eq!(facts["has_merged_vmem"], if peaks.has_merged_vmem { "1" } else { "0" });
    assert_eq!(facts["megacore"], if peaks.has_megacore { "1" } else { "0" });
    assert_eq!(facts["has_cmem"], if peaks.has_cmem() { "1" } else { "0" });
    let gibi = |giga: f64| giga * 1e9 / f64::from(1 << 30);
    for (fact, ours) in [
        ("peak_flop_rate", peaks.teraflops * 1e3),
        ("peak_hbm_bw", gibi(peaks.hbm)),
        ("peak_vmem_read_bw", gibi(peaks.vmem_read)),
        ("peak_vmem_write_bw", gibi(peaks.vmem_write)),
        ("peak_cmem_read_bw", gibi(peaks.cmem_read)),
        ("peak_cmem_write_bw", gibi(peaks.cmem_write)),
        ("hbm_ridge_point", peaks.ridge_point(peaks.hbm).unwrap()),
        ("vmem_read_ridge_point", peaks.ridge_point(peaks.vmem_read).unwrap()),
        ("vmem_write_ridge_point", peaks.ridge_point(peaks.vmem_write).unwrap()),
        ("cmem_read_ridge_point", peaks.ridge_point(peaks.cmem_read).unwrap_or(0.0)),
    ] {
        let theirs: f64 = facts[fact].as_str().unwrap().parse().unwrap();
        // written with six digits
        assert!((ours - theirs).abs() <= 5e-6 * theirs, "{fact}: {ours} is not {theirs}");
    }
}

/// Every node of both trees. The profiler lists below a fusion what was fused, without any figure: those are skipped.
fn assert_node(ours: &OpProfileNode<'_>, theirs: &Value, place: &str) -> usize {
    let place = format!("{place}/{}", ours.name);
    assert_eq!(ours.name, theirs["name"].as_str().unwrap(), "{place}");
    let metrics = &theirs["metrics"];
    let same = |ours: f64, theirs: &Value, name: &str| {
        assert_same(&ours.into(), &theirs.as_f64().unwrap().into(), &format!("{place}: {name}"));
    };
    let own = &ours.metrics;
    same(own.flops_utilization, &metrics["flops"], "flops");
    same(own.work.time.0 as f64, &metrics["rawTime"], "rawTime");
    same(own.work.model_flops as f64, &metrics["rawFlops"], "rawFlops");
    same(own.work.flops as f64, &metrics["bf16Flops"], "bf16Flops");
    same(own.occurrences as f64, &metrics["occurrences"], "occurrences");
    same(own.average_ps(), &metrics["avgTimePs"], "avgTimePs");
    for memory in 0..3 {
        same(own.bandwidth_utilization[memory], &metrics["bandwidthUtils"][memory], "bandwidthUtils");
        same(own.bytes[memory] as f64, &metrics["rawBytesAccessedArray"][memory], "rawBytesAccessedArray");
    }
    let mut nodes = 1;
    match ours.level {
        OpProfileLevel::Op(op) => {
            let xla = &theirs["xla"];
            assert_eq!(xla["category"], op.category.as_str(), "{place}");
            assert_eq!(xla["expression"], op.expression.as_str(), "{place}");
            assert_eq!(xla["provenance"], op.framework.as_str(), "{place}");
            assert_eq!(xla["programId"], ours.program.unwrap().to_string(), "{place}");
            let source = &xla["sourceInfo"];
            let line = source["lineNumber"].as_i64().unwrap();
            let file = source["fileName"].as_str().unwrap();
            assert_eq!(
                op.source,
                if file.is_empty() { String::new() } else { format!("{file}:{line}") },
                "{place}"
            );
            assert_eq!(source["stackFrame"], op.source_stack.as_str(), "{place}");
        }
        _ => {
            let children = theirs["children"].as_array().unwrap();
            assert_eq!(ours.children.len(), children.len(), "{place}");
            for (ours, theirs) in ours.children.iter().zip(children) {
                nodes += assert_node(ours, theirs, &place);
            }
        }
    }
    nodes
}

#[test]
fn op_profile_is_that_of_the_profiler() {
    let Some(folder) = folder() else { return };
    let analysis = TpuAnalysis::new(profile(&folder));
    let theirs = reference(&folder, "op_profile");
    for (name, grouping, idle, nodes) in [
        ("byCategory", OpProfileGrouping::ByCategory, IdleTime::Included, 25),
        ("byProgram", OpProfileGrouping::ByProgram, IdleTime::Included, 28),
        ("byCategoryExcludeIdle", OpProfileGrouping::ByCategory, IdleTime::Excluded, 24),
        ("byProgramExcludeIdle", OpProfileGrouping::ByProgram, IdleTime::Excluded, 27),
    ] {
        let ours = op_profile(&analysis, grouping, idle);
        assert_eq!(assert_node(&ours, &theirs[name], name), nodes, "{name}");
    }
}

fn framework_row(row: &FrameworkOpRow<'_>) -> Vec<(&'static str, Value)> {
    let is_device = row.place.as_str() == "Device";
    let on = |is_here: bool, share: f64| Value::from(if is_here { share } else { 0.0 });
    vec![
        ("Rank", f64::from(row.rank).into()),
        ("Host/device", row.place.as_str().into()),
        ("Operation Type", row.kind.into()),
        ("Operation Name", row.name.into()),
        ("#Occurrences", (row.occurrences as f64).into()),
        ("Total time (us)", (row.work.time.to_microseconds()).into()),
        ("Avg. time (us)", row.average_us().into()),
        ("Total self-time (us)", (row.self_time.to_microseconds()).into()),
        ("Avg. self-time (us)", row.average_self_us().into()),
        ("Total self-time on Device (%)", on(is_device, row.self_fraction)),
        ("Cumulative total-self time on Device (%)", on(is_device, row.cumulative_fraction)),
        ("Total self-time on Host (%)", on(!is_device, row.self_fraction)),
        ("Cumulative total-self time on Host (%)", on(!is_device, row.cumulative_fraction)),
        ("Normalized FLOP Rate (FLOPs/s)", row.rates.flop_rate.into()),
        ("Model FLOP Rate (GFLOP/s)", row.rates.model_flop_rate.into()),
        ("Measured Memory BW (GBytes/Sec)", row.rates.memory_bandwidth.into()),
        ("Operational Intensity (FLOPs/Byte)", row.rates.intensity.into()),
        ("Bound by", row.bound_by.as_str().into()),
        ("Execution mode", "Function".into()), // nothing of XLA runs eagerly
    ]
}

#[test]
fn framework_op_stats_are_those_of_the_profiler() {
    let Some(folder) = folder() else { return };
    let analysis = TpuAnalysis::new(profile(&folder));
    let theirs = reference(&folder, "framework_op_stats");
    for (at, idle) in [IdleTime::Included, IdleTime::Excluded].into_iter().enumerate() {
        let rows: Vec<_> = framework_op_stats(&analysis, idle).iter().map(framework_row).collect();
        assert_table(&rows, &theirs[at], "framework_op_stats");
    }
}

#[test]
fn overview_is_that_of_the_profiler() {
    let Some(folder) = folder() else { return };
    let analysis = TpuAnalysis::new(profile(&folder));
    let overview = overview(&analysis);
    let theirs = reference(&folder, "overview_page");
    let top: Vec<_> = overview
        .top_ops
        .iter()
        .map(|op| {
            vec![
                ("Time (%)", op.self_fraction.into()),
                ("Cumulative time (%)", op.cumulative_fraction.into()),
                ("Category", op.kind.into()),
                ("Operation", op.name.into()),
                ("GFLOPs/Sec", op.rates.flop_rate.into()),
                ("TensorCore eligibility", false.into()), // of GPUs only
                ("Op is using TensorCore", false.into()),
            ]
        })
        .collect();
    assert_table(&top, &theirs[0], "overview_page");
    let percent = |share: Option<f64>| format!("{:.1}%", share.unwrap() * 100.0);
    assert_eq!(theirs[0]["p"]["host_tf_op_percent"], percent(overview.host_op_fraction));
    assert_eq!(theirs[0]["p"]["device_tf_op_percent"], percent(overview.device_op_fraction));
    assert_eq!(
        theirs[0]["p"]["mxu_utilization_percent"],
        format!("{:.1}%", overview.mxu_utilization.unwrap())
    );
    assert_eq!(theirs[2]["p"]["device_type"], overview.device_type.as_str());
    assert_eq!(theirs[2]["p"]["device_core_count"], overview.cores.to_string());
}

#[test]
fn the_finding_names_what_the_time_goes_to() {
    let Some(folder) = folder() else { return };
    let finding = tpu_finding(&TpuAnalysis::new(profile(&folder))).unwrap();
    assert_eq!(
        finding.to_string(),
        "largest: host-offload copies, copy-done 83.6% of the window; compute 2.6%"
    );
}

#[test]
fn runs_of_a_program_have_their_times_on_each_core() {
    let Some(folder) = folder() else { return };
    let analysis = TpuAnalysis::new(profile(&folder));
    let rows = module_runs(&analysis);
    assert_eq!(rows.len(), 105 + 3 * 103);
    let of_core = rows.iter().filter(|row| row.core == 0 && row.run.module == "jit_f(12190760917235803885)");
    let mut times: Vec<f64> = of_core.map(|row| row.run.span.duration.to_microseconds()).collect();
    times.sort_by(f64::total_cmp);
    assert_eq!(times.len(), 100);
    let near = |ours: f64, theirs: f64| assert!((ours - theirs).abs() < 1e-3, "{ours} is not {theirs}");
    near(times.iter().sum::<f64>() / 100.0, 784_154.408);
    near((times[49] + times[50]) / 2.0, 784_122.781);
    near(times[0], 551_121.306_25);
    near(times[99], 981_629.253);
    assert!(rows.iter().all(|row| row.op_time + row.idle_time == row.run.span.duration));
    assert!(rows.iter().filter(|row| row.run.module.starts_with("jit_f(")).all(|row| row.ops == 15));
}

#[test]
fn every_asynchronous_copy_has_its_start_and_its_end() {
    let Some(folder) = folder() else { return };
    let analysis = TpuAnalysis::new(profile(&folder));
    let (transfers, unfinished) = transfers(&analysis);
    // 6 copies in each of 100 runs on 4 cores
    assert_eq!((transfers.len(), unfinished), (2400, 0));
    let ends = |name: &str| transfers.iter().filter(|transfer| transfer.done.name == name).count();
    for name in ["copy-done", "copy-done.1", "copy-done.2", "copy-done.3", "copy-done.4", "copy-done.5"] {
        assert_eq!(ends(name), 400, "{name}");
    }
    for transfer in &transfers {
        assert_eq!(transfer.start.name, transfer.done.name.replace("done", "start"));
        assert_eq!(transfer.bytes, 5_368_709_120);
        let to_host = ["copy-done.1", "copy-done.3", "copy-done.5"].contains(&transfer.done.name.as_str());
        assert_eq!(transfer.direction.as_str(), if to_host { "device to host" } else { "host to device" });
        let parts = transfer.exposed + transfer.hidden + transfer.other;
        assert_eq!(parts, transfer.span.duration);
    }
}

#[test]
fn every_exchange_has_its_four_cores() {
    let Some(folder) = folder() else { return };
    let analysis = TpuAnalysis::new(profile(&folder));
    let rows = tpu_collectives(&analysis);
    assert_eq!(rows.len(), 3);
    for row in &rows {
        let mut cores: Vec<u32> = row.cores.iter().map(|core| core.0).collect();
        cores.sort_unstable();
        assert_eq!(cores, [0, 1, 2, 3]);
        assert_eq!((row.replica_groups, row.bytes()), ("[4,2]<=[2,4]T(1,0)", 10_737_418_240));
        // they start within 30 µs and take 122 ms
        assert!(row.start_skew().0 < 30_000_000 && row.shared_time().0 > 121_000_000_000);
    }
}
