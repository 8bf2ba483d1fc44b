//! The sheets of hand-made profiles, with figures worked out by hand.

mod calls;
mod launches;
mod memory;

use sheets::{Cell, Table};
use trace_ingest::rocprof::{
    Agent, AgentKind, Call, CopyDirection, Dispatch, Domain, Kernel, Launch, MemoryCopy, Process, Profile,
};
use trace_ingest::{Nanoseconds, StringId};

use crate::fixture::built;
use crate::{RocprofAnalysis, RocprofOptions};

/// A profile of two processes, a CPU, two GPUs of a kind, and the kernels `gemm` (0), `copy` (1) and, of the second
/// process, `gemm` (2).
fn profile() -> Profile {
    let mut profile = Profile {
        processes: vec![Process::default(); 2],
        agents: vec![
            Agent { kind: AgentKind::Cpu, label: "1".into(), ordinal: Some(0), ..Agent::default() },
            gpu("2", 0),
            gpu("3", 1),
        ],
        launches: vec![Launch { grid: [1; 3], workgroup: [1; 3], ..Launch::default() }],
        ..Profile::default()
    };
    for (process, id, name) in [(0, 1, "gemm"), (0, 2, "copy"), (1, 1, "gemm")] {
        let truncated = Some(profile.strings.intern(name));
        profile.kernels.push(Kernel { process, id: Some(id), truncated, ..Kernel::default() });
    }
    profile
}

fn gpu(label: &str, ordinal: i64) -> Agent {
    Agent {
        kind: AgentKind::Gpu,
        label: label.into(),
        name: Some("gfx942:sramecc+:xnack-".into()),
        ordinal: Some(ordinal),
        compute_units: Some(304),
        simds_per_compute_unit: Some(4),
        max_waves_per_simd: Some(8),
        wave_size: Some(64),
        lds_kib: Some(64),
        dies: Some(8),
        memory_bandwidth: Some(5.3e12),
        ..Agent::default()
    }
}

/// A dispatch on the first GPU.
fn dispatch(kernel: u32, start: i64, end: i64, correlation: u64) -> Dispatch {
    Dispatch {
        start: Nanoseconds(start),
        end: Nanoseconds(end),
        correlation: Some(correlation),
        dispatch_id: 0,
        thread: 7,
        queue: 1,
        stream: 0,
        process: 0,
        agent: Some(1),
        kernel,
        launch: 0,
    }
}

fn call(profile: &mut Profile, domain: Domain, name: &str, span: (i64, i64), correlation: u64) -> Call {
    Call {
        start: Nanoseconds(span.0),
        end: Nanoseconds(span.1),
        correlation: Some(correlation),
        thread: 7,
        stream: 0,
        operation: 0,
        process: 0,
        domain,
        kind: StringId::EMPTY,
        name: profile.strings.intern(name),
    }
}

fn copy(profile: &mut Profile, direction: CopyDirection, span: (i64, i64), bytes: Option<u64>) -> MemoryCopy {
    let name = match direction {
        CopyDirection::HostToDevice => "MEMORY_COPY_HOST_TO_DEVICE",
        _ => "MEMORY_COPY_NONE",
    };
    MemoryCopy {
        start: Nanoseconds(span.0),
        end: Nanoseconds(span.1),
        correlation: None,
        bytes,
        thread: 7,
        stream: 0,
        process: 0,
        source: Some(0),
        destination: Some(1),
        direction,
        name: profile.strings.intern(name),
    }
}

/// The table of a sheet.
fn table(profile: Profile, name: &str) -> Option<Table> {
    built(&RocprofAnalysis::new(profile, RocprofOptions::default()), name)
}

/// A row of a table, cell by cell, of the columns asked for; whole figures without a point, nothing as `-`.
fn cells(table: &Table, row: usize, columns: &[&str]) -> Vec<String> {
    let cell = |column: &&str| match table.column(column).unwrap().cell(row) {
        Cell::Missing => "-".to_string(),
        Cell::Number(number) => number.to_string(),
        cell => cell.text().into_owned(),
    };
    columns.iter().map(cell).collect()
}

/// The rows of some columns, all separated by ` | `.
#[track_caller]
fn assert_rows(table: &Table, columns: &str, rows: &[&str]) {
    let names: Vec<&str> = columns.split(" | ").collect();
    let found: Vec<String> = (0..table.height()).map(|row| cells(table, row, &names).join(" | ")).collect();
    assert_eq!(found, rows, "{columns}");
}

#[test]
fn profiles_without_records_have_none_of_the_sheets() {
    let kernels = Profile { dispatches: vec![dispatch(0, 0, 10, 1)], ..profile() };
    for sheet in crate::sheets::records() {
        for profile in [Profile::default(), profile(), kernels.clone()] {
            assert!(table(profile, &sheet.name).is_none(), "{}", sheet.name);
        }
    }
}
