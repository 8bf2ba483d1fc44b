//! Jobs of hosts with an XPlane profile each: profiles written by hand, and those of the corpus.

use std::fs;
use std::path::{Path, PathBuf};

use hlo_cost::{ElementType, HloComputation, HloInstruction, HloModule, Shape};
use multi_rank::{
    Diagnostic, HostOfJob, Job, JobAnalysis, JobFolder, JobOptions, ProfileDevice, RankTables, Source,
    StepLateness, host_names, job_sheets, rank_tables, rank_tables_of_host,
};
use sheets::{Layout, Table};
use tempfile::TempDir;
use trace_ingest::xplane::proto::{
    EventPlace, XEvent, XEventMetadata, XLine, XPlane, XSpace, XStat, XStatMetadata, XStatValue,
};
use trace_ingest::xplane::{profile_from_bytes, read_profile};
use trace_ingest::{ReadOptions, read_path};
use tree_perf::{Analysis, AnalysisOptions};
use xla_perf::{JaxAnalysis, JaxOptions, gpus_at_work};

/// A kernel of the instruction with its name: start and duration in ns.
#[derive(Clone, Debug)]
struct Kernel(&'static str, i64, i64);

/// A GPU that ran these kernels.
fn gpu(number: i64, kernels: &[Kernel]) -> XPlane {
    let mut plane = XPlane { id: number, name: format!("/device:GPU:{number}"), ..XPlane::default() };
    let stats = ["hlo_op", "hlo_module", "program_id"];
    for (id, name) in (1..).zip(stats) {
        let stat = XStatMetadata { id, name: name.to_owned(), ..XStatMetadata::default() };
        plane.stat_metadata.insert(id, stat);
    }
    let mut events = Vec::new();
    for (id, Kernel(name, start, duration)) in (1..).zip(kernels) {
        let kind = XEventMetadata { id, name: (*name).to_owned(), ..XEventMetadata::default() };
        plane.event_metadata.insert(id, kind);
        let values = [
            XStatValue::Text((*name).to_owned()),
            XStatValue::Text("jit_step".to_owned()),
            XStatValue::Signed(5),
        ];
        let stats = (1..).zip(values).map(|(id, value)| XStat { metadata_id: id, value: Some(value) });
        events.push(XEvent {
            metadata_id: id,
            place: Some(EventPlace::OffsetPs(start * 1_000)),
            duration_ps: duration * 1_000,
            stats: stats.collect(),
        });
    }
    plane.lines = vec![XLine { id: 7, name: "Stream #7(Kernel)".to_owned(), events, ..XLine::default() }];
    plane
}

/// A program with a product, a gather among {0,2} and {1,3}, a sum over all devices, and a permute around all.
fn program() -> XPlane {
    let array = |length: u64| Shape::array(ElementType::Bf16, [length]);
    let instruction = |id, name: &str, opcode: &str, length| HloInstruction {
        operands: if id > 1 { vec![1] } else { Vec::new() },
        use_global_device_ids: true,
        channel_id: Some(id),
        ..HloInstruction::new(id, name, opcode, array(length))
    };
    let pair = |source| hlo_cost::SourceTarget { source, target: (source + 1) % 4 };
    let instructions = vec![
        instruction(1, "p", "parameter", 1_000_000),
        instruction(2, "fusion.1", "fusion", 1_000_000),
        HloInstruction {
            dimensions: vec![0],
            replica_groups: "[2,2]<=[2,2]T(1,0)".parse().unwrap(),
            ..instruction(3, "all-gather.1", "all-gather", 2_000_000)
        },
        instruction(4, "all-reduce.1", "all-reduce", 1_000_000),
        HloInstruction {
            source_target_pairs: (0..4).map(pair).collect(),
            ..instruction(5, "collective-permute.1", "collective-permute", 1_000_000)
        },
    ];
    let main = HloComputation { id: 1, name: "main".to_owned(), root: 4, instructions };
    let module = HloModule::new("jit_step", 1, vec![main]);
    let mut plane = XPlane { name: "/host:metadata".to_owned(), ..XPlane::default() };
    let name = "Hlo Proto".to_owned();
    plane.stat_metadata.insert(1, XStatMetadata { id: 1, name, ..XStatMetadata::default() });
    let stats = vec![XStat { metadata_id: 1, value: Some(XStatValue::Bytes(module.to_bytes())) }];
    let program =
        XEventMetadata { id: 5, name: "jit_step(5)".to_owned(), stats, ..XEventMetadata::default() };
    plane.event_metadata.insert(5, program);
    plane
}

fn profile(gpus: &[Vec<Kernel>], program: Option<XPlane>) -> Vec<u8> {
    let planes = (0..).zip(gpus).map(|(number, kernels)| gpu(number, kernels)).chain(program);
    XSpace { planes: planes.collect(), ..XSpace::default() }.to_bytes()
}

fn analysis(bytes: Vec<u8>) -> JaxAnalysis {
    let profile = profile_from_bytes(Path::new("host.xplane.pb"), bytes).unwrap();
    JaxAnalysis::new(profile, JaxOptions::default())
}

const STEPS: i64 = 12;
const LATE: usize = 3;
const LATE_FROM: i64 = 4;
/// How far the clock of the second host is ahead, in ns.
const AHEAD: i64 = 7_000_000;

/// What the devices of two hosts do, two each: in steps of about 10 ms a product of 1 ms, which takes 3 ms on rank 3 from step 4
/// on, a gather among {0,2} and {1,3}, and a sum over all. Nobody leaves these before the last one has entered.
fn kernels(rank: usize) -> Vec<Kernel> {
    let product = |rank: usize, step| if rank == LATE && step >= LATE_FROM { 3_000_000 } else { 1_000_000 };
    let mut kernels = Vec::new();
    for step in 0..STEPS {
        let start = 10_000_000 * step + 70_000 * (step * step % 11);
        let gather = |rank: usize| start + 100_000 + product(rank, step) + 1_000 * rank as i64;
        let gathered = |rank: usize| gather(rank).max(gather((rank + 2) % 4)) + 200_000;
        let sum = |rank: usize| gathered(rank) + 5_000;
        let end = (0..4).map(sum).max().unwrap() + 300_000;
        kernels.push(Kernel("fusion.1", start + 100_000, product(rank, step)));
        kernels.push(Kernel("all-gather.1", gather(rank), gathered(rank) - gather(rank)));
        kernels.push(Kernel("all-reduce.1", sum(rank), end - sum(rank)));
    }
    let clock = if rank < 2 { 0 } else { AHEAD };
    kernels.into_iter().map(|Kernel(name, start, duration)| Kernel(name, start + clock, duration)).collect()
}

/// The job of these devices, two on a host.
fn job(devices: &[Vec<Kernel>]) -> (TempDir, JobAnalysis) {
    let folder = tempfile::tempdir().unwrap();
    let mut tables = JobFolder::open(&folder.path().join("tables")).unwrap();
    for (host, gpus) in (0..).zip(devices.chunks(2)) {
        let path = folder.path().join(format!("host{host}.xplane.pb"));
        fs::write(&path, profile(gpus, Some(program()))).unwrap();
        let place = HostOfJob { name: format!("host{host}"), first_rank: 2 * host, world_size: 4 };
        add(&mut tables, &path, &place);
    }
    let ranks = tables.ranks().iter().map(|rank| (rank.clone(), None)).collect();
    (folder, JobAnalysis::new(Job::open(ranks).unwrap(), JobOptions::default()).unwrap())
}

fn add(folder: &mut JobFolder, path: &Path, host: &HostOfJob) {
    let source = Source::of(path).unwrap();
    let profile = read_profile(path, &ReadOptions::default()).unwrap();
    let devices = u32::try_from(gpus_at_work(&profile).len()).unwrap();
    let tables = rank_tables_of_host(&JaxAnalysis::new(profile, JaxOptions::default()), host);
    for ((plane, tables), rank) in tables.into_iter().zip(host.first_rank..) {
        let device = ProfileDevice { plane, devices, rank, world_size: host.world_size };
        folder.add(&tables, source.for_device(device)).unwrap();
    }
}

fn table(analysis: &JobAnalysis, name: &str) -> Table {
    let sheet = job_sheets().into_iter().find(|sheet| sheet.name == name).unwrap();
    sheet.table_in(analysis, Layout::Listed).unwrap().unwrap()
}

fn cells(table: &Table, column: &str) -> Vec<String> {
    let column = table.column(column).unwrap_or_else(|| panic!("no column {column}"));
    column.cells().map(|cell| cell.text().into_owned()).collect()
}

#[test]
fn the_devices_of_a_host_are_ranks_with_the_groups_of_the_program() {
    let host = HostOfJob { name: "a17".to_owned(), first_rank: 2, world_size: 4 };
    let tables = rank_tables_of_host(&analysis(profile(&[kernels(2), kernels(3)], Some(program()))), &host);
    let planes: Vec<i64> = tables.iter().map(|(plane, _)| *plane).collect();
    assert_eq!(planes, [0, 1]);
    for ((_, tables), (rank, gather)) in tables.iter().zip([(2, "0,2"), (3, "1,3")]) {
        let row = &tables.rank;
        assert_eq!((row.rank, row.world_size, row.host.as_deref()), (Some(rank), Some(4), Some("a17")));
        assert_eq!((row.visible_devices, row.collectives), (2, 2 * STEPS));
        assert_eq!(
            row.computation_ns,
            kernels(rank as usize)
                .iter()
                .filter(|kernel| kernel.0 == "fusion.1")
                .map(|kernel| kernel.2)
                .sum::<i64>()
        );
        let members: Vec<Option<&str>> = tables.groups.iter().map(|group| group.members.as_deref()).collect();
        assert_eq!(members, [Some(gather), Some("0-3")]);
        let first = &tables.collectives[0];
        assert_eq!((first.name.as_deref(), first.dtype.as_deref()), (Some("all-gather"), Some("bf16")));
        assert_eq!((first.in_elements, first.out_elements), (Some(1_000_000), Some(2_000_000)));
        assert_eq!((first.in_bytes, first.out_bytes), (Some(2_000_000), Some(4_000_000)));
        assert_eq!(first.since_computation_ns, 1_000_000);
        let kernels: Vec<(Option<&str>, i64)> =
            tables.kernels.iter().map(|row| (row.name.as_deref(), row.count)).collect();
        let count = |name: &str| {
            kernels.iter().filter(|(known, _)| *known == Some(name)).map(|(_, count)| count).sum::<i64>()
        };
        assert_eq!(["all-gather.1", "all-reduce.1", "fusion.1"].map(count), [STEPS; 3]);
        let ops: Vec<(Option<&str>, i64)> =
            tables.ops.iter().map(|row| (row.name.as_deref(), row.calls)).collect();
        assert_eq!(
            ops,
            [(Some("all-gather.1"), STEPS), (Some("all-reduce.1"), STEPS), (Some("fusion.1"), STEPS)]
        );
    }
    // Executions of one number are one collective, and no two of a rank are.
    let sequences = |tables: &RankTables| {
        let of_all = tables.collectives.iter().filter(|row| row.name.as_deref() == Some("all-reduce"));
        of_all.map(|row| row.sequence.unwrap()).collect::<Vec<_>>()
    };
    let (first, mut second) = (sequences(&tables[0].1), sequences(&tables[1].1));
    assert_eq!(first, second);
    second.sort_unstable();
    second.dedup();
    assert_eq!(second.len(), first.len());
}

#[test]
fn collectives_clocks_and_the_straggler_of_two_hosts_are_found() {
    let (_folder, analysis) = job(&[kernels(0), kernels(1), kernels(2), kernels(3)]);
    assert_eq!(analysis.diagnostics(), []);
    let matching = table(&analysis, "matching");
    assert!(cells(&matching, "match").iter().all(|tier| tier == "seq"), "{matching:?}");
    assert_eq!(cells(&matching, "not matched"), vec!["0"; 8]);
    let clocks = table(&analysis, "clock");
    assert_eq!(cells(&clocks, "offset_us"), ["0.0", "7000.0"]);
    let ranks = table(&analysis, "ranks_overview");
    let lateness: Vec<f64> =
        cells(&ranks, "lateness (ms)").iter().map(|cell| cell.parse().unwrap_or(0.0)).collect();
    // 2 ms in each of 8 steps, behind a rank that enters 2 µs earlier.
    assert!((lateness[LATE] - 2.0 * (STEPS - LATE_FROM) as f64).abs() < 0.1, "{lateness:?}");
    assert!(lateness.iter().enumerate().all(|(rank, late)| rank == LATE || *late < 0.1), "{lateness:?}");
    let causes = table(&analysis, "straggler_causes");
    assert!(cells(&causes, "rank").iter().all(|rank| rank == "3"), "{causes:?}");
    assert!(cells(&causes, "cause").iter().all(|cause| cause == "computation"), "{causes:?}");
}

#[test]
fn executions_pair_where_a_device_lacks_the_first() {
    let late_start: Vec<Kernel> = kernels(1).into_iter().skip(3).collect();
    let (_folder, analysis) = job(&[kernels(0), late_start, kernels(2), kernels(3)]);
    let lacks = analysis
        .diagnostics()
        .iter()
        .find_map(|diagnostic| match diagnostic {
            Diagnostic::ShorterWindow { rank, before, after } => Some((*rank, *before, *after)),
            _ => None,
        })
        .unwrap();
    // Its gather and its sum of the first step.
    assert_eq!(lacks, (1, 2, 0));
    let clocks = table(&analysis, "clock");
    assert_eq!(cells(&clocks, "offset_us"), ["0.0", "7000.0"]);
}

/// Kernels of each step: a product, a gather, a sum.
const IN_A_STEP: usize = 3;

#[test]
fn hosts_whose_profiles_begin_at_different_steps_pair_by_the_time_at_which_collectives_end() {
    let from_third = |rank: usize| kernels(rank).into_iter().skip(2 * IN_A_STEP).collect::<Vec<_>>();
    let (_folder, analysis) = job(&[kernels(0), kernels(1), from_third(2), from_third(3)]);
    let (host, against) = ("host1".to_owned(), "host0".to_owned());
    let other = Diagnostic::OtherFirstStep { host, against };
    assert!(analysis.diagnostics().contains(&other), "{:?}", analysis.diagnostics());
    let matching = table(&analysis, "matching");
    let of_second_host: Vec<String> = cells(&matching, "rank")
        .into_iter()
        .zip(cells(&matching, "match"))
        .filter_map(|(rank, tier)| (rank == "2" || rank == "3").then_some(tier))
        .collect();
    assert_eq!(of_second_host, vec!["aligned"; 4]);
    assert_eq!(cells(&matching, "not matched"), vec!["0"; 8]);
    assert_eq!(cells(&table(&analysis, "clock"), "offset_us"), ["0.0", "7000.0"]);
    let lacking = |diagnostic: &&Diagnostic| {
        matches!(diagnostic, Diagnostic::ShorterWindow { before: 4, after: 0, .. })
    };
    assert_eq!(analysis.diagnostics().iter().filter(lacking).count(), 2, "{:?}", analysis.diagnostics());
    let causes = table(&analysis, "straggler_causes");
    assert!(cells(&causes, "rank").iter().all(|rank| rank == "3"), "{causes:?}");
    // The collectives tell which steps of the two hosts are the same: the second lacks two of twelve.
    let StepLateness { steps, lateness, .. } = analysis.step_lateness().unwrap();
    let lacking = |rank: usize| lateness[rank].iter().take_while(|late| late.is_none()).count();
    assert_eq!([lacking(0), lacking(1)], [0; 2]);
    assert_eq!([6 * lacking(2), 6 * lacking(3)], [steps.len(); 2], "{lateness:?}");
}

#[test]
fn a_permute_is_of_all_devices_that_it_names_and_waits_for_none() {
    let permute = vec![Kernel("collective-permute.1", 0, 1_000)];
    let host = HostOfJob { name: "a".to_owned(), first_rank: 0, world_size: 4 };
    let tables = rank_tables_of_host(&analysis(profile(&[permute], Some(program()))), &host);
    assert_eq!(tables[0].1.groups[0].members.as_deref(), Some("0-3"));
    assert_eq!(tables[0].1.collectives[0].name.as_deref(), Some("collective-permute"));
}

#[test]
fn a_host_without_its_program_or_without_collectives_is_named() {
    let host = HostOfJob { name: "a".to_owned(), first_rank: 0, world_size: 1 };
    let sum = vec![Kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 1_000)];
    let bare = rank_tables_of_host(&analysis(profile(&[sum], None)), &host);
    assert_eq!(bare[0].1.collectives.len(), 1);
    let groups = &bare[0].1.groups;
    assert_eq!((groups.len(), groups[0].name.as_deref(), groups[0].size), (1, None, None));
    assert!(bare[0].1.collectives.iter().all(|row| row.sequence.is_none() && row.in_bytes.is_none()));
    let product = vec![Kernel("fusion.1", 0, 1_000)];
    let (_folder, analysis) = job(&[kernels(0), kernels(1), product.clone(), product]);
    for rank in [2, 3] {
        let expected = Diagnostic::NoCollectives { rank };
        assert!(analysis.diagnostics().contains(&expected), "{:?}", analysis.diagnostics());
    }
    let alone = Diagnostic::ClockAlone { host: "host1".to_owned() };
    assert!(analysis.diagnostics().contains(&alone), "{:?}", analysis.diagnostics());
}

#[test]
fn devices_that_groups_name_and_no_profile_shows_are_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("host0.xplane.pb");
    fs::write(&path, profile(&[kernels(0), kernels(1)], Some(program()))).unwrap();
    let mut tables = JobFolder::open(&folder.path().join("tables")).unwrap();
    add(&mut tables, &path, &HostOfJob { name: "host0".to_owned(), first_rank: 0, world_size: 2 });
    let ranks = tables.ranks().iter().map(|rank| (rank.clone(), None)).collect();
    let analysis = JobAnalysis::new(Job::open(ranks).unwrap(), JobOptions::default()).unwrap();
    let missing = analysis.diagnostics().iter().find_map(|diagnostic| match diagnostic {
        Diagnostic::RanksMissing { ranks, of } => Some((ranks.to_string(), *of)),
        _ => None,
    });
    assert_eq!(missing, Some(("2-3".to_owned(), 4)));
}

#[test]
fn traces_and_profiles_make_no_job_together() {
    let folder = tempfile::tempdir().unwrap();
    let profile_path = folder.path().join("host0.xplane.pb");
    fs::write(&profile_path, profile(&[kernels(0)], Some(program()))).unwrap();
    let trace_path = folder.path().join("rank1.json");
    fs::write(&trace_path, r#"{"schemaVersion": 1, "traceEvents": []}"#).unwrap();
    let mut tables = JobFolder::open(&folder.path().join("tables")).unwrap();
    add(&mut tables, &profile_path, &HostOfJob { name: "a".to_owned(), first_rank: 0, world_size: 2 });
    let trace = read_path(&trace_path, &ReadOptions::default()).unwrap();
    let of_trace = rank_tables(&Analysis::new(trace, AnalysisOptions::default()), &trace_path);
    tables.add(&of_trace, Source::of(&trace_path).unwrap()).unwrap();
    let ranks = tables.ranks().iter().map(|rank| (rank.clone(), None)).collect();
    let error = crate::said(&Job::open(ranks).unwrap_err());
    for part in ["host0.xplane.pb", "rank1.json", "each kind"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn hosts_are_named_by_the_profile_then_by_the_path() {
    let paths = ["run/a.xplane.pb", "run/node1/trace.xplane.pb", "x/trace.xplane.pb", "y/trace.xplane.pb.gz"];
    let recorded = [Some("gpu-17".to_owned()), None, None, None];
    let profiles: Vec<(&Path, Option<String>)> = paths.iter().map(Path::new).zip(recorded).collect();
    let expected = ["gpu-17", "node1", "x/trace.xplane.pb", "y/trace.xplane.pb.gz"];
    assert_eq!(host_names(&profiles), expected);
    assert_eq!(host_names(&[(Path::new("run/b.xplane.pb"), None)]), ["b"]);
}

/// The profiles of the corpus; none where it is missing.
fn recorded() -> Vec<PathBuf> {
    let folder = testdata::corpus_folder().join("jax");
    let cases = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut profiles: Vec<PathBuf> =
        cases.map(|case| case.path().join("trace.xplane.pb")).filter(|path| path.is_file()).collect();
    profiles.sort();
    profiles
}

#[test]
fn the_tables_of_recorded_profiles_have_their_collectives_and_their_time() {
    let profiles = recorded();
    if profiles.is_empty() {
        assert!(std::env::var_os("REQUIRE_CORPUS").is_none(), "the corpus has no profiles");
        eprintln!("skipped: {} is missing", testdata::corpus_folder().join("jax").display());
        return;
    }
    for path in profiles {
        let profile = read_profile(&path, &ReadOptions::default()).unwrap();
        let gpus = gpus_at_work(&profile);
        let analysis = JaxAnalysis::new(profile, JaxOptions::default());
        let world_size = u32::try_from(gpus.len()).unwrap();
        let host = HostOfJob { name: "a".to_owned(), first_rank: 0, world_size };
        let tables = rank_tables_of_host(&analysis, &host);
        let planes: Vec<i64> = tables.iter().map(|(plane, _)| *plane).collect();
        assert_eq!(planes, gpus, "{path:?}");
        let collectives: usize = tables.iter().map(|(_, tables)| tables.collectives.len()).sum();
        assert_eq!(collectives, analysis.collectives().kernels.len(), "{path:?}");
        let mut in_steps = 0;
        for ((_, tables), gpu) in tables.iter().zip(analysis.gpus()) {
            assert_eq!(tables.rank.busy_ns, gpu.breakdown.busy / 1_000, "{path:?}");
            let of_gpu = |event: &&xla_perf::GpuEvent| event.pid == gpu.pid;
            let events = analysis.device_events().iter().filter(of_gpu).count();
            let kernels: i64 = tables.kernels.iter().map(|row| row.count).sum();
            assert_eq!(usize::try_from(kernels).unwrap(), events, "{path:?}");
            in_steps += tables.steps.iter().map(|step| step.kernels).sum::<i64>();
        }
        assert!(tables.is_empty() || in_steps > 0, "{path:?}: no kernel is in a step");
    }
}
