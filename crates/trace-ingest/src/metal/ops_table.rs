//! What the files hold.

use std::ops::Range;
use std::path::PathBuf;

use crate::string_table::{StringId, StringTable};

/// Operations of one or several files, in file order, one file after the other.
#[derive(Clone, Debug, Default)]
pub struct OpsTable {
    /// Form of the header.
    pub format: CsvFormat,
    /// The files, in the order in which they were named.
    pub files: Vec<OpsFile>,
    /// Interned texts. Blank cells are [`StringId::EMPTY`].
    pub strings: StringTable,
    /// A row per operation, host operation or signpost.
    pub rows: Vec<OpRow>,
    /// Inputs and outputs of all rows.
    pub tensors: Vec<Tensor>,
    /// Which of the columns that a file may lack are there.
    pub has: OptionalColumns,
    /// Faults that did not stop reading.
    pub warnings: Vec<OpsWarning>,
}

/// Form of the header, by the version of the profiler that wrote it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CsvFormat {
    /// Plain shapes (`INPUT_0_W`).
    #[default]
    V1,
    /// Padded and logical shapes (`INPUT_0_W_PAD[LOGICAL]`).
    V2,
    /// The same with `DEVICE ARCH` or `AVAILABLE WORKER CORE COUNT`.
    V2_1,
}

/// One of the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpsFile {
    /// Where it lies.
    pub path: PathBuf,
    /// Its rows.
    pub rows: Range<u32>,
    /// How many devices it has: one more than its highest device number.
    pub devices: Option<u32>,
}

/// Columns that a file may lack; true where any file has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OptionalColumns {
    /// `HOST START TS`
    pub host_start: bool,
    /// `OP TO OP LATENCY [ns]`
    pub op_to_op: bool,
    /// `DEVICE KERNEL DURATION [ns]`
    pub kernel_duration: bool,
    /// `DEVICE FW DURATION [ns]`
    pub fw_duration: bool,
    /// `CORE COUNT`
    pub core_count: bool,
    /// `AVAILABLE WORKER CORE COUNT`
    pub available_cores: bool,
    /// `DEVICE ARCH`
    pub arch: bool,
    /// `SUB DEVICE ID`
    pub sub_device: bool,
    /// `MATH FIDELITY`
    pub fidelity: bool,
    /// `INPUT_0_DATATYPE`
    pub input_0_datatype: bool,
    /// `INPUT_1_DATATYPE`
    pub input_1_datatype: bool,
    /// `OUTPUT_0_DATATYPE`
    pub output_0_datatype: bool,
    /// `INPUT_0_MEMORY`
    pub input_0_memory: bool,
}

/// What kind of row it is (`OP TYPE`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpType {
    /// `tt_dnn_device`: ran on a device.
    Device,
    /// `signpost`: a mark of the program.
    Signpost,
    /// `python_fallback`: ran on the host.
    PythonFallback,
    /// `tt_dnn_cpu`: ran on the host.
    Cpu,
    /// `unknown`, blank, or any other text.
    #[default]
    Other,
}

/// Part of a device that an operation was confined to (`SUB DEVICE ID`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SubDevice {
    /// Blank.
    #[default]
    None,
    /// A whole number.
    Number(i64),
    /// Any other text, trimmed, of at most 32 characters.
    Text(StringId),
}

/// A row of the table. Figures are `None` where the cell is blank or holds no usable number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpRow {
    /// Line of a spreadsheet in which the row stands when all files are put one below the other. Rows that were left
    /// out count too: only without any is it the position plus 2.
    pub id: u32,
    /// Position of its file.
    pub file: u32,
    /// `OP CODE`, without control characters.
    pub op_code: StringId,
    /// `OP TYPE`
    pub op_type: OpType,
    /// `GLOBAL CALL COUNT`: number of the call times 1024, plus the device.
    pub global_call_count: Option<i64>,
    /// Device among those of all files.
    pub device: Option<u32>,
    /// `DEVICE ARCH`
    pub arch: StringId,
    /// `ATTRIBUTES`
    pub attributes: StringId,
    /// `MATH FIDELITY`
    pub fidelity: StringId,
    /// `CORE COUNT`
    pub core_count: Option<u32>,
    /// `AVAILABLE WORKER CORE COUNT`
    pub available_cores: Option<u32>,
    /// `HOST START TS`, in nanoseconds.
    pub host_start: Option<i64>,
    /// `HOST DURATION [ns]`
    pub host_duration_ns: Option<f64>,
    /// `DEVICE FW START CYCLE`
    pub fw_start_cycle: Option<u64>,
    /// `DEVICE FW END CYCLE`
    pub fw_end_cycle: Option<u64>,
    /// `DEVICE FW DURATION [ns]`
    pub fw_duration_ns: Option<f64>,
    /// `DEVICE KERNEL DURATION [ns]`
    pub kernel_duration_ns: Option<f64>,
    /// `OP TO OP LATENCY [ns]`: from the end of the device's operation before to this one's start.
    pub op_to_op_ns: Option<f64>,
    /// `INPUT_i_*`, in [`OpsTable::tensors`]; blank ones behind the last are left out.
    pub inputs: Range<u32>,
    /// `OUTPUT_j_*`, likewise.
    pub outputs: Range<u32>,
    /// `SUB DEVICE ID`
    pub sub_device: SubDevice,
    /// `METAL TRACE ID`
    pub trace_id: Option<i64>,
    /// `METAL TRACE REPLAY SESSION ID`
    pub replay_session: Option<i64>,
    /// `PM IDEAL [ns]`: the profiler's own model; 1 is "not modelled".
    pub pm_ideal_ns: Option<f64>,
    /// `PM COMPUTE [ns]`
    pub pm_compute_ns: Option<f64>,
    /// `PM BANDWIDTH [ns]`
    pub pm_bandwidth_ns: Option<f64>,
    /// `DRAM BW UTIL (%)`, measured.
    pub dram_util_percent: Option<f64>,
    /// `NOC UTIL (%)`, measured.
    pub noc_util_percent: Option<f64>,
    /// `PM FPU UTIL (%)`
    pub fpu_util_percent: Option<f64>,
}

/// An input or output of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tensor {
    /// W, Z, Y and X.
    pub dims: [Dim; 4],
    /// `ROW_MAJOR` or `TILE`.
    pub layout: StringId,
    /// Such as `BFLOAT16`.
    pub datatype: StringId,
    /// Such as `DEV_0_DRAM_INTERLEAVED`.
    pub memory: StringId,
}

/// Length of a tensor along a dimension, in elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dim {
    /// With padding, as the device computes it.
    pub padded: Option<u64>,
    /// Without; the same where the file gives one number.
    pub logical: Option<u64>,
}

/// Faults that did not stop reading, counted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum OpsWarning {
    /// Rows that could not be read were left out.
    #[error("{path}: unreadable rows skipped: {count} (first: line {first_line}: {detail})", path = .path.display())]
    #[diagnostic(code("tenstorrent/reading/malformed-rows"), severity(Warning))]
    MalformedRows {
        /// Which file.
        path: PathBuf,
        /// How many.
        count: u64,
        /// Line of the first.
        first_line: u64,
        /// What is wrong with it.
        detail: String,
    },
    /// A file was opened or decompressed with faults.
    #[error("{path}: {detail}", path = .path.display())]
    #[diagnostic(code("tenstorrent/reading/source"), severity(Warning))]
    Source {
        /// Which file.
        path: PathBuf,
        /// What happened.
        detail: String,
        /// Whether the end of the file is lost.
        loses_rows: bool,
    },
    /// A file names no device.
    #[error("{path}: no row names a device", path = .path.display())]
    #[diagnostic(code("tenstorrent/reading/no-devices"), severity(Warning))]
    NoDevices {
        /// Which file.
        path: PathBuf,
    },
    /// Cells that should hold a number and hold none that is usable were read as blank.
    #[error("cells of {column} without a usable number, read as blank: {count}")]
    #[diagnostic(code("tenstorrent/reading/unusable-cells"), severity(Warning))]
    UnusableCells {
        /// Which column.
        column: String,
        /// How many.
        count: u64,
    },
    /// Columns that not every file has.
    #[error("{path}: lacks columns that another file has: {}", .columns.join(", "), path = .path.display())]
    #[diagnostic(code("tenstorrent/reading/different-columns"), severity(Warning))]
    DifferentColumns {
        /// Which file lacks them.
        path: PathBuf,
        /// Names.
        columns: Vec<String>,
    },
}

impl OpsTable {
    /// Text of an interned string.
    pub fn text(&self, id: StringId) -> &str {
        self.strings.get(id)
    }

    /// Inputs of a row.
    pub fn inputs(&self, row: &OpRow) -> &[Tensor] {
        &self.tensors[row.inputs.start as usize..row.inputs.end as usize]
    }

    /// Outputs of a row.
    pub fn outputs(&self, row: &OpRow) -> &[Tensor] {
        &self.tensors[row.outputs.start as usize..row.outputs.end as usize]
    }
}
