//! Tables of small TPU profiles, written by hand.

mod xplane;

use sheets::Layout;
use std::path::Path;

use trace_ingest::xplane::{Profile, profile_from_bytes};
use xla_perf::tpu::{
    IdleTime, OpProfileGrouping, Resource, RooflineStep, TpuAnalysis, TpuNotice, TpuProfile, async_copies,
    framework_op_stats, hlo_stats, module_runs, op_profile, overview, roofline, tpu_collectives, tpu_finding,
    tpu_sheets, transfers,
};
use xla_perf::{JaxAnalysis, JaxOptions};

use xplane::{Event, Plane, Stat, breakdown, file};

const PROGRAM: u64 = 7;

fn decoded(planes: Vec<Plane>) -> Profile {
    profile_from_bytes(Path::new("host.xplane.pb"), file(planes)).unwrap()
}

fn read(planes: Vec<Plane>) -> TpuProfile {
    TpuProfile::new(&decoded(planes)).unwrap()
}

/// A core of 100 TFLOP/s and 1000 GB/s.
fn core(ordinal: u64) -> Plane {
    Plane::new(2 + 8 * ordinal, &format!("/device:TPU:{ordinal}"))
        .stat("device_type_string", Stat::Text("TPU v6 Lite"))
        .stat("peak_teraflops_per_second", Stat::Double(100.0))
        .stat("peak_hbm_bw_gigabytes_per_second", Stat::Double(1000.0))
        .stat("peak_cmem_rd_bw_gigabytes_per_second", Stat::Double(0.0))
        .stat("peak_cmem_wr_bw_gigabytes_per_second", Stat::Double(0.0))
        .stat("peak_vmem_rd_bw_gigabytes_per_second", Stat::Double(10_000.0))
        .stat("peak_vmem_wr_bw_gigabytes_per_second", Stat::Double(8_000.0))
        .stat("peak_sram_rd_bw_gigabytes_per_second", Stat::Double(10_000.0))
        .stat("peak_sram_wr_bw_gigabytes_per_second", Stat::Double(8_000.0))
        .stat("has_megacore", Stat::Signed(0))
        .stat("has_merged_vmem", Stat::Signed(1))
}

/// An operation of the program.
fn op(
    plane: &mut Plane,
    symbol: u64,
    name: &str,
    category: &'static str,
    more: &[(&'static str, Stat)],
) -> u64 {
    let mut stats = vec![
        ("program_id", Stat::Number(PROGRAM)),
        ("symbol_id", Stat::Number(symbol)),
        ("hlo_category", Stat::Text(category)),
    ];
    stats.extend_from_slice(more);
    plane.kind(&format!("%{name} = f32[8]{{0}} {category}(%p)"), name, &stats)
}

fn at(kind: u64, start: u64, length: u64) -> Event {
    (kind, start, length, Vec::new())
}

/// In nanoseconds:
/// ```text
/// infeed [0, 100)   while [100, 1000) around fusion [200, 500) and [500, 800)   add [1000, 1100)
/// outfeed [1100, 1150)   the program itself [1200, 1300)
/// ```
fn with_loop(mut plane: Plane) -> Plane {
    let feed = op(&mut plane, 3, "infeed.3", "infeed", &[("bytes_accessed", Stat::Number(50_000))]);
    let around = op(&mut plane, 1, "while.1", "while", &[("flops", Stat::Number(999_999_999))]);
    let memory = breakdown(&[(1, 1, 60_000), (2, 3, 40_000)]);
    let fusion = op(
        &mut plane,
        2,
        "fusion.2",
        "convolution fusion",
        &[
            ("flops", Stat::Number(6_000_000)),
            ("model_flops", Stat::Number(3_000_000)),
            ("bytes_accessed", Stat::Number(100_000)),
            ("memory_access_breakdown", memory),
            ("tf_op", Stat::Text("jit(f)/dot_general_1:")),
        ],
    );
    let add = op(
        &mut plane,
        5,
        "add.5",
        "non-fusion elementwise",
        &[
            ("flops", Stat::Number(1_000)),
            ("bytes_accessed", Stat::Number(40_000)),
            ("tf_op", Stat::Text("jit(f)/add:")),
        ],
    );
    let out = op(&mut plane, 4, "outfeed.4", "outfeed", &[]);
    let itself = op(&mut plane, 0, "program", "call", &[]);
    let stalled = (fusion, 200, 300, vec![("dma_stall_duration_ps", Stat::Number(30_000))]);
    let events = [at(feed, 0, 100), at(around, 100, 900), stalled, at(fusion, 500, 300), at(add, 1000, 100)];
    let events: Vec<Event> = events.into_iter().chain([at(out, 1100, 50), at(itself, 1200, 100)]).collect();
    plane.line(3, "XLA Ops", &events);
    plane
}

#[test]
fn loops_count_once_and_feeds_can_be_left_out() {
    let analysis = TpuAnalysis::new(read(vec![with_loop(core(0))]));
    let rows = hlo_stats(&analysis);
    let times: Vec<_> = rows
        .iter()
        .map(|row| (row.op.name.as_str(), row.times.occurrences, row.times.total_us, row.times.self_us))
        .collect();
    assert_eq!(
        times,
        [
            ("fusion.2", 2, 0.6, 0.6),
            ("while.1", 1, 0.9, 0.3),
            ("add.5", 1, 0.1, 0.1),
            ("infeed.3", 1, 0.1, 0.1),
            ("outfeed.4", 1, 0.05, 0.05),
        ]
    );
    assert_eq!((analysis.table.total.0, analysis.table.idle_time().0), (1_300_000, 150_000));
    let fusion = &rows[0];
    assert_eq!((fusion.rates.flop_rate, fusion.rates.model_flop_rate), (20_000.0, 10_000.0));
    assert_eq!(fusion.times.dma_stall_fraction, 0.05);
    // 20 of 100 TFLOP/s, 200 of 1000 GB/s, and of two equal shares the first
    let roof = fusion.roof.as_ref().unwrap();
    assert!((roof.compute_utilization - 0.2).abs() < 1e-12 && (roof.memory_utilization - 0.2).abs() < 1e-12);
    assert_eq!(roof.bottleneck_intensity, 60.0);
    // no breakdown, so all bytes are of the high-bandwidth memory
    assert_eq!(rows[2].roof.as_ref().unwrap().bound_by, Resource::Hbm);

    let roofline = roofline(&analysis);
    let program = |includes_feeds: bool| {
        let mut rows = roofline.iter().filter(|row| row.includes_feeds == includes_feeds);
        let program = rows.next().unwrap();
        assert!(program.op.is_none() && program.step == RooflineStep::Total);
        let names: Vec<&str> = rows.filter_map(|row| row.op).map(|op| op.name.as_str()).collect();
        (program.times.total_us, program.rates.flop_rate, names)
    };
    // the loop's own operations are those of what runs inside
    let flops = 2.0 * 6_000_000.0 + 1_000.0;
    let all = ["fusion.2", "while.1", "add.5", "infeed.3", "outfeed.4"];
    assert_eq!(program(true), (1.3, flops / 1300.0, all.to_vec()));
    assert_eq!(program(false), (1.15, flops / 1150.0, all[..3].to_vec()));
}

#[test]
fn loops_are_in_no_category_and_their_own_time_is_the_programs() {
    let analysis = TpuAnalysis::new(read(vec![with_loop(core(0))]));
    let root = op_profile(&analysis, OpProfileGrouping::ByProgram, IdleTime::Included);
    let parts: Vec<_> =
        root.children.iter().map(|part| (part.name.as_str(), part.metrics.work.time.0)).collect();
    assert_eq!(parts, [("main", 1_150_000), ("IDLE", 150_000)]);
    let categories: Vec<_> =
        root.children[0].children.iter().map(|part| (part.name.as_str(), part.metrics.work.time.0)).collect();
    let leaves = [("convolution fusion", 600_000), ("non-fusion elementwise", 100_000), ("infeed", 100_000)];
    assert_eq!(categories[..3], leaves);
    assert_eq!(categories[3..], [("outfeed", 50_000)]);
    let fusion = &root.children[0].children[0].metrics;
    let utilization = fusion.bandwidth_utilization;
    let on_chip = 80_000.0 / 600e-9 / 8e12;
    assert!((utilization[0] - 0.2).abs() < 1e-12 && utilization[1] == 0.0);
    assert!((utilization[2] - on_chip).abs() < 1e-12);
    assert_eq!(fusion.bytes, [120_000, 0, 80_000]);
}

#[test]
fn work_of_the_core_is_what_its_duty_cycle_has() {
    let mut plane = with_loop(core(0));
    let run = plane.kind("jit_f(7)", "", &[]);
    plane.line(2, "XLA Modules", &[(run, 0, 1500, vec![("run_id", Stat::Number(4))])]);
    let analysis = TpuAnalysis::new(read(vec![plane]));
    // [100, 1100) and [1200, 1300) of [0, 1500)
    let cycle = analysis.duty_cycle();
    assert_eq!((cycle.active.0, cycle.span.0), (1_100_000, 1_500_000));
    let runs = module_runs(&analysis);
    assert_eq!(runs.len(), 1);
    assert_eq!((runs[0].ops, runs[0].op_time.0, runs[0].idle_time.0), (7, 1_250_000, 250_000));
    assert_eq!((runs[0].run.run_id, runs[0].start_skew), (Some(4), None));
    // named by the run, because no module is embedded
    let root = op_profile(&analysis, OpProfileGrouping::ByProgram, IdleTime::Excluded);
    assert_eq!(root.children[0].name, "jit_f(7)");
    let overview = overview(&analysis);
    assert_eq!(overview.steps.unwrap().mean_ms, 1.5e-3);
    assert_eq!(overview.compute_32bit, Some(1.0));
}

#[test]
fn without_peaks_there_are_reasons_and_no_roofline() {
    let plane = Plane::new(2, "/device:TPU:0").stat("peak_teraflops_per_second", Stat::Double(100.0));
    let analysis = TpuAnalysis::new(read(vec![with_loop(plane)]));
    assert!(roofline(&analysis).is_empty());
    let rows = hlo_stats(&analysis);
    assert_eq!(rows.len(), 5);
    let reason = "the device plane does not state peak_hbm_bw_gigabytes_per_second";
    assert_eq!(rows[0].roof.as_ref().unwrap_err().to_string(), reason);
    assert_eq!(overview(&analysis).flops_utilization, None);
    let notices = TpuNotice::all(&analysis);
    assert!(notices.contains(&TpuNotice::NoPeaks { reason: reason.to_string() }), "{notices:?}");
    // the program itself
    assert!(notices.contains(&TpuNotice::WithoutOperation { executions: 1, time_us: 0.1 }), "{notices:?}");
}

#[test]
fn framework_operations_count_the_most_executions_of_their_parts() {
    let mut host = Plane::new(0, "/host:CPU");
    let outer = host.kind("model/outer:Outer", "", &[]);
    let inner = host.kind("model/inner:Inner", "", &[]);
    let other = host.kind("PjitFunction(f)", "", &[]);
    host.line(1, "python", &[at(outer, 0, 100), at(inner, 20, 30), at(other, 60, 500), at(inner, 150, 10)]);
    let analysis = TpuAnalysis::new(read(vec![with_loop(core(0)), host]));
    let rows = framework_op_stats(&analysis, IdleTime::Included);
    let rows: Vec<_> = rows
        .iter()
        .map(|row| (row.place.as_str(), row.name, row.kind, row.occurrences, row.self_time.0))
        .collect();
    assert_eq!(
        rows,
        [
            ("Device", "jit(f)/dot_general_1", "dot_general", 2, 600_000),
            ("Device", "while.1", "Unknown", 1, 300_000),
            ("Device", "IDLE", "IDLE", 0, 150_000),
            ("Device", "infeed.3", "Unknown", 1, 100_000),
            ("Device", "jit(f)/add", "add", 1, 100_000),
            ("Device", "outfeed.4", "Unknown", 1, 50_000),
            ("Host", "model/outer", "Outer", 1, 70_000),
            ("Host", "IDLE", "IDLE", 0, 50_000),
            ("Host", "model/inner", "Inner", 2, 40_000),
        ]
    );
}

#[test]
fn the_clock_of_the_device_counts_where_it_is_complete() {
    let mut plane = core(0);
    let add = op(&mut plane, 1, "add.1", "non-fusion elementwise", &[]);
    let clock = |offset: u64, length: u64| {
        let offset = ("device_offset_ps", Stat::Number(offset * 1000));
        vec![offset, ("device_duration_ps", Stat::Number(length * 1000))]
    };
    let half = vec![("device_offset_ps", Stat::Number(1))];
    plane.line(
        3,
        "XLA Ops",
        &[(add, 0, 10, clock(5, 70)), (add, 100, 20, half), (add, 200, 30, clock(300, 1))],
    );
    let analysis = TpuAnalysis::new(read(vec![plane]));
    let rows = hlo_stats(&analysis);
    // 70 and 1 by the clock of the device, 20 by that of the profile; from 5 to 301
    assert_eq!((rows[0].times.occurrences, rows[0].times.total_us), (3, 0.091));
    assert_eq!(analysis.table.total.0, 296_000);
}

#[test]
fn steps_have_a_row_each_and_an_average() {
    let planes = [0, 1].map(|ordinal| {
        let mut plane = core(ordinal);
        let add = op(&mut plane, 1, "add.1", "non-fusion elementwise", &[("flops", Stat::Number(1_000_000))]);
        let steps = [plane.kind("10", "", &[]), plane.kind("11", "", &[]), plane.kind("12", "", &[])];
        let group = |group: i64| vec![("group_id", Stat::Signed(group))];
        // the second execution says that it belongs to the first step although it starts in the second
        let ops = [(add, 0, 40, Vec::new()), (add, 100, 10, group(0)), (add, 150, 20, Vec::new())];
        plane.line(3, "XLA Ops", &ops);
        // the third step is on the first core only
        let count = if ordinal == 0 { 3 } else { 2 };
        let events: Vec<Event> =
            (0..count).map(|step| (steps[step], 100 * step as u64, 90, group(step as i64))).collect();
        plane.line(1, "Steps", &events);
        plane
    });
    let analysis = TpuAnalysis::new(read(planes.into()));
    // from 0 to the end of the last step, 290 and 190
    assert_eq!(analysis.table.total.0, 480_000);
    let rows = roofline(&analysis);
    let of = |step: &str| {
        let rows = rows.iter().filter(|row| row.includes_feeds && row.step.as_str() == step);
        let rows: Vec<_> =
            rows.map(|row| (row.times.occurrences, row.times.total_us, row.self_fraction)).collect();
        rows
    };
    assert_eq!(of("Total"), [(1, 0.48, 0.0), (6, 0.14, 140.0 / 480.0)]);
    assert_eq!(of("10"), [(1, 0.18, 0.0)]);
    assert_eq!(of("11"), [(1, 0.18, 0.0)]);
    assert_eq!(of("12"), []);
    // per step: 360 ns of both in 2 steps
    assert_eq!(of("Average"), [(1, 0.18, 0.0)]);
    let flop_rate = |step: &str| rows.iter().find(|row| row.step.as_str() == step).unwrap().rates.flop_rate;
    let rates = ["10", "11", "Average"].map(flop_rate);
    assert_eq!(rates, [4e6 / 180.0, 2e6 / 180.0, 6e6 / 360.0]);
    let occurrences: Vec<u64> = analysis.steps().iter().map(|step| step.table.ops[0].occurrences).collect();
    assert_eq!(occurrences, [4, 2]);
    let steps = overview(&analysis).steps.unwrap();
    assert_eq!((steps.count, steps.mean_ms, steps.deviation_ms), (4, 9e-5, 0.0));
}

#[test]
fn copies_are_hidden_by_what_is_computed_meanwhile() {
    let mut plane = core(0);
    let stats = |program: u64, symbol: u64, category: &'static str| {
        vec![
            ("program_id", Stat::Number(program)),
            ("symbol_id", Stat::Number(symbol)),
            ("hlo_category", Stat::Text(category)),
            ("raw_bytes_accessed", Stat::Number(1_000)),
        ]
    };
    let shapes = "(f32[8]{0}, f32[8]{0:S(5)}, u32[]{:S(2)})";
    let start = format!("%copy-start.1 = {shapes} copy-start(f32[8]{{0:S(5)}} %p)");
    let start = plane.kind(&start, "copy-start.1", &stats(PROGRAM, 1, "copy-start"));
    let done = format!("%copy-done.9 = f32[8]{{0}} copy-done({shapes} %copy-start.1)");
    let done = plane.kind(&done, "copy-done.9", &stats(PROGRAM, 2, "copy-done"));
    let add = op(&mut plane, 3, "add.3", "non-fusion elementwise", &[]);
    let reduce = op(&mut plane, 4, "all-reduce.4", "all-reduce", &[]);
    plane.line(
        3,
        "XLA Ops",
        &[
            at(start, 0, 5),
            at(add, 10, 40),
            at(reduce, 50, 20),
            at(done, 80, 20),
            at(start, 200, 5), // without an end
        ],
    );
    let analysis = TpuAnalysis::new(read(vec![plane]));
    let (found, unfinished) = transfers(&analysis);
    assert_eq!((found.len(), unfinished), (1, 1));
    let copy = &found[0];
    assert_eq!(copy.direction.as_str(), "host to device");
    assert_eq!((copy.span.duration.0, copy.exposed.0, copy.hidden.0), (100_000, 25_000, 40_000));
    assert_eq!(copy.other.0, 35_000);
    let rows = async_copies(&found);
    assert_eq!((rows[0].count, rows[0].bytes, rows[0].exposed.0), (1, 1_000, 25_000));
    let notices = TpuNotice::all(&analysis);
    assert_eq!(notices, [TpuNotice::Unfinished { transfers: 1 }]);
    let finding = tpu_finding(&analysis).unwrap();
    assert_eq!(finding.to_string(), "device idle 56.1% of the window; compute 19.5%");
}

#[test]
fn executions_that_overlap_are_one_exchange() {
    let planes = [(0, 0), (1, 30)].map(|(ordinal, late)| {
        let mut plane = core(ordinal);
        let reduce =
            op(&mut plane, 1, "all-reduce.1", "all-reduce", &[("bytes_accessed", Stat::Number(500))]);
        plane.line(3, "XLA Ops", &[at(reduce, late, 100 - late), at(reduce, 200 + late, 110 - late)]);
        plane
    });
    let analysis = TpuAnalysis::new(read(planes.into()));
    let rows = tpu_collectives(&analysis);
    let figures: Vec<_> = rows
        .iter()
        .map(|row| (row.cores.len(), row.start_skew().0, row.end_skew().0, row.shared_time().0))
        .collect();
    assert_eq!(figures, [(2, 30_000, 0, 70_000), (2, 30_000, 0, 80_000)]);
    assert!((rows[0].bandwidth() - 500.0 / 70.0).abs() < 1e-12);
}

#[test]
fn sparse_cores_and_empty_cores_are_told_and_do_no_harm() {
    let mut sparse = Plane::new(9, "/device:TPU:0 SparseCore 1");
    let kind = sparse.kind("gather", "", &[]);
    sparse.line(1, "Sparse Core Ops", &[at(kind, 0, 5)]);
    let analysis = TpuAnalysis::new(read(vec![core(0), sparse]));
    let planes = vec!["/device:TPU:0 SparseCore 1".to_string()];
    assert_eq!(TpuNotice::all(&analysis), [TpuNotice::SparseCores { planes }]);
    assert!(hlo_stats(&analysis).is_empty() && module_runs(&analysis).is_empty());
    assert_eq!(tpu_finding(&analysis), None);
    assert_eq!(overview(&analysis).idle, None);
    let other =
        profile_from_bytes(Path::new("host.xplane.pb"), file(vec![Plane::new(0, "/host:CPU")])).unwrap();
    assert_eq!(TpuProfile::new(&other), None);
}

/// Names of the sheets that a profile has; checks that each has the columns that it describes.
fn sheets(planes: Vec<Plane>) -> Vec<String> {
    let analysis = JaxAnalysis::new(decoded(planes), JaxOptions::default());
    let mut names = Vec::new();
    for sheet in tpu_sheets() {
        let Some(table) = sheet.table_in(&analysis, Layout::Listed).unwrap() else { continue };
        let described: Vec<&str> = sheet.columns.iter().map(|column| column.name).collect();
        let columns: Vec<&str> = table.columns().iter().map(|column| column.name()).collect();
        assert_eq!(columns, described, "{}", sheet.name);
        assert!(table.height() > 0 && sheet.columns.iter().all(|column| !column.description.is_empty()));
        names.push(sheet.name.to_string());
    }
    names
}

#[test]
fn every_sheet_has_its_columns_and_is_absent_without_rows() {
    let without_peaks = Plane::new(2, "/device:TPU:0");
    let tables = ["overview", "hlo_stats", "roofline_model", "op_profile", "framework_op_stats"];
    assert_eq!(sheets(vec![with_loop(core(0))]), tables);
    let tables: Vec<&str> = tables.into_iter().filter(|name| *name != "roofline_model").collect();
    assert_eq!(sheets(vec![with_loop(without_peaks)]), tables);
    assert!(sheets(vec![Plane::new(0, "/host:CPU")]).is_empty());
    assert!(tpu_sheets().iter().all(|sheet| sheet.name.len() <= 31));
}

#[test]
fn the_sums_of_a_profile_are_made_once_for_all_sheets() {
    let analysis = JaxAnalysis::new(decoded(vec![with_loop(core(0))]), JaxOptions::default());
    let sums = analysis.tpu().unwrap();
    for sheet in tpu_sheets() {
        sheet.table(&analysis).unwrap();
    }
    assert!(std::ptr::eq(sums, analysis.tpu().unwrap()));
    assert_eq!(sums.table, TpuAnalysis::new(sums.profile.clone()).table);
}
