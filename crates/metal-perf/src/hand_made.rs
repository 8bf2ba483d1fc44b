//! Small tables for tests.

use sheets::{Layout, Scope};
use trace_ingest::metal::{CsvFormat, Dim, OpRow, OpType, OpsFile, OpsTable, OptionalColumns, Tensor};

use crate::conventions::Conventions;
use crate::options::MetalOptions;
use crate::report::MetalReport;

/// The conventions that differ from ours in every rule: those of tt-perf-report.
pub(crate) const THEIRS: Conventions = Conventions {
    scope: Scope::Core,
    layout: Layout::Listed,
    first_signposts: true,
    merges_by_front: true,
    plain_csv: true,
    kinds_by_name: true,
    traffic_of_matmul_only: true,
    blank_without_traffic: true,
    one_product_per_convolution: true,
    absent_is_on: true,
    one_timeline: true,
    silent_above_hundred: true,
    drops_unplaced: true,
    short_host_names: true,
    listed_attention_only: true,
    no_buffers: true,
    weighs_all_devices: true,
    keeps_grid_if_both_bound: true,
    fidelity_with_config_only: true,
};

/// [`THEIRS`], or ours.
pub(crate) fn conventions(are_theirs: bool) -> Conventions {
    if are_theirs { THEIRS } else { Conventions::default() }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) kind: OpType,
    pub(crate) file: u32,
    pub(crate) device: Option<u32>,
    /// Number of the call, without the device.
    pub(crate) call: Option<i64>,
    pub(crate) trace: Option<i64>,
    pub(crate) replay: Option<i64>,
    /// In nanoseconds.
    pub(crate) duration: Option<f64>,
    pub(crate) gap: Option<f64>,
    /// In place of the row's number.
    pub(crate) time: Option<i64>,
    pub(crate) cores: Option<u32>,
    pub(crate) available: Option<u32>,
    pub(crate) arch: &'static str,
    pub(crate) memory: &'static str,
    pub(crate) cycles: Option<(u64, u64)>,
}

impl Line {
    /// An operation of device 0 that takes 10 µs.
    pub(crate) fn op(name: &'static str) -> Line {
        Line {
            name,
            kind: OpType::Device,
            file: 0,
            device: Some(0),
            call: None,
            trace: None,
            replay: None,
            duration: Some(10_000.0),
            gap: Some(0.0),
            time: None,
            cores: None,
            available: None,
            arch: "",
            memory: "",
            cycles: None,
        }
    }

    pub(crate) fn signpost(name: &'static str) -> Line {
        Line { kind: OpType::Signpost, device: None, duration: None, gap: None, ..Line::op(name) }
    }

    pub(crate) fn host(name: &'static str) -> Line {
        Line { kind: OpType::PythonFallback, device: None, duration: None, gap: None, ..Line::op(name) }
    }
}

pub(crate) fn table(lines: &[Line]) -> OpsTable {
    let mut table = OpsTable { format: CsvFormat::V2, ..OpsTable::default() };
    table.has =
        OptionalColumns { host_start: true, op_to_op: true, kernel_duration: true, ..Default::default() };
    let files = lines.iter().map(|line| line.file).max().unwrap_or(0);
    let devices =
        lines.iter().filter_map(|line| line.device).max().map(|device| (device + 1).div_ceil(files + 1));
    for file in 0..=files {
        let is_in_file = |line: &&Line| line.file == file;
        let start = lines.iter().position(|line| line.file == file).unwrap_or(0) as u32;
        let rows = start..start + lines.iter().filter(is_in_file).count() as u32;
        table.files.push(OpsFile { path: format!("{file}.csv").into(), rows, devices });
    }
    for (position, line) in lines.iter().enumerate() {
        let tensor = table.tensors.len() as u32;
        let memory = table.strings.intern(line.memory);
        table.tensors.push(Tensor { dims: [Dim::default(); 4], memory, ..Tensor::default() });
        let device = line.device.unwrap_or(0) % devices.unwrap_or(1);
        table.rows.push(OpRow {
            id: position as u32 + 2,
            file: line.file,
            op_code: table.strings.intern(line.name),
            op_type: line.kind,
            global_call_count: line.call.map(|call| call * 1024 + i64::from(device)),
            device: line.device,
            arch: table.strings.intern(line.arch),
            core_count: line.cores,
            available_cores: line.available,
            host_start: Some(line.time.unwrap_or(position as i64)),
            kernel_duration_ns: line.duration,
            fw_duration_ns: line.duration,
            op_to_op_ns: line.gap,
            fw_start_cycle: line.cycles.map(|cycles| cycles.0),
            fw_end_cycle: line.cycles.map(|cycles| cycles.1),
            inputs: tensor..tensor + 1,
            trace_id: line.trace,
            replay_session: line.replay,
            ..OpRow::default()
        });
    }
    table
}

pub(crate) fn report(lines: &[Line], options: MetalOptions) -> MetalReport {
    MetalReport::new(table(lines), options).unwrap()
}

/// Names of the rows that are shown.
pub(crate) fn names(report: &MetalReport) -> String {
    let names = report.ops.iter().map(|op| report.table.text(op.raw_op_code));
    names.collect::<Vec<_>>().join(" ")
}
