//! The first row: names of the columns, where they stand, and what a file without the right ones may be instead.
//! Releases of the profiler have added some columns, left out others and moved them.

use std::path::Path;

use ::csv::{ByteRecord, ReaderBuilder};

use super::ops_table::{CsvFormat, OptionalColumns};
use crate::error::IngestError;
use crate::format::{UNKNOWN_TEXT, describe};

/// Columns that only this profiler's files have.
const TELLING: [&str; 8] = [
    "OP CODE",
    "OP TYPE",
    "GLOBAL CALL COUNT",
    "DEVICE FW START CYCLE",
    "DEVICE FW DURATION [ns]",
    "DEVICE KERNEL DURATION [ns]",
    "OP TO OP LATENCY [ns]",
    "HOST START TS",
];

/// How many of them make a file the profiler's, though others may have been renamed.
const ENOUGH: usize = 2;

/// How much of a header a message shows, in characters.
const SHOWN: usize = 300;

/// Names of the columns of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) names: Vec<String>,
}

/// Whether a text begins with the header of an ops CSV.
pub fn is_ops_csv(head: &[u8]) -> bool {
    Header::at_start(head).is_some_and(|header| header.is_profiler_csv())
}

impl Header {
    pub(super) fn new(record: &ByteRecord) -> Header {
        let name = |cell: &[u8]| String::from_utf8_lossy(cell).trim_matches(is_around_names).to_string();
        Header { names: record.iter().map(name).collect() }
    }

    /// The header that a text begins with, if its first row has several cells.
    fn at_start(head: &[u8]) -> Option<Header> {
        let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        let start = text.iter().position(|byte| !matches!(byte, b'\r' | b'\n'))?;
        let line = text[start..].split(|&byte| byte == b'\n').next().filter(|line| line.contains(&b','))?;
        let mut reader = ReaderBuilder::new().has_headers(false).from_reader(line);
        let mut record = ByteRecord::new();
        reader.read_byte_record(&mut record).ok()?.then(|| Header::new(&record))
    }

    #[cfg(test)]
    pub(super) fn from_names(names: &[&str]) -> Header {
        Header { names: names.iter().map(ToString::to_string).collect() }
    }

    /// Position of a column; of equal names the first counts.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|other| other == name)
    }

    fn is_profiler_csv(&self) -> bool {
        TELLING.iter().filter(|name| self.position(name).is_some()).count() >= ENOUGH
    }

    /// Form of the header.
    pub(super) fn format(&self) -> CsvFormat {
        let device_columns = ["DEVICE ARCH", "AVAILABLE WORKER CORE COUNT"];
        if device_columns.iter().any(|name| self.position(name).is_some()) {
            CsvFormat::V2_1
        } else if self.names.iter().any(|name| name.contains("_PAD[LOGICAL]")) {
            CsvFormat::V2
        } else {
            CsvFormat::V1
        }
    }

    /// Ends reading when columns that no report can do without are missing. `head` is the beginning of the text.
    pub(super) fn require_columns(&self, path: &Path, head: &[u8]) -> Result<(), IngestError> {
        let required = &Column::ALL[..Column::REQUIRED];
        let missing: Vec<String> = required
            .iter()
            .filter(|(_, name)| self.position(name).is_none())
            .map(|(_, name)| self.named_with_look_alike(name))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        if !self.is_profiler_csv() {
            let found = self.description(head);
            return Err(IngestError::NotOpsCsv { path: path.to_path_buf(), found });
        }
        let plural = if missing.len() == 1 { "column" } else { "columns" };
        Err(IngestError::MissingColumns {
            path: path.to_path_buf(),
            missing: format!("{plural} {}", missing.join(", ")),
            header: self.shown(),
        })
    }

    /// A name, and the column that probably is the same under another one.
    fn named_with_look_alike(&self, name: &str) -> String {
        let letters = |name: &str| -> String {
            name.chars()
                .filter(char::is_ascii_alphanumeric)
                .map(|letter| letter.to_ascii_uppercase())
                .collect()
        };
        let wanted = letters(name);
        match self.names.iter().find(|other| letters(other) == wanted) {
            Some(other) => format!("{name:?} (there is {other:?})"),
            None => format!("{name:?}"),
        }
    }

    /// The names for a message, cut when they are many.
    fn shown(&self) -> String {
        let text = self.names.join(", ");
        match text.char_indices().nth(SHOWN) {
            Some((cut, _)) => format!("{}... ({} columns)", text[..cut].escape_debug(), self.names.len()),
            None => text.escape_debug().to_string(),
        }
    }

    fn description(&self, head: &[u8]) -> String {
        if self.position("OP Code").is_some() && self.position("Total %").is_some() {
            return "a report's CSV, not the profiler's".to_string();
        }
        if let [only] = &self.names[..]
            && let Some(separator) = [';', '\t'].into_iter().find(|&other| only.split(other).any(is_telling))
        {
            return format!("a CSV separated by {separator:?} instead of commas");
        }
        match describe(head) {
            UNKNOWN_TEXT if head.contains(&0) => "binary data in an unknown format".to_string(),
            UNKNOWN_TEXT if self.names.len() > 1 => format!("a table with the header {}", self.shown()),
            UNKNOWN_TEXT => "text without columns".to_string(),
            known => known.to_string(),
        }
    }
}

fn is_telling(name: &str) -> bool {
    TELLING.contains(&name)
}

fn is_around_names(letter: char) -> bool {
    letter.is_whitespace() || letter == '\u{feff}'
}

/// A column of which there is one in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[rustfmt::skip]
pub(super) enum Column {
    OpCode, OpType, GlobalCallCount, DeviceId, Attributes,
    DeviceArch, MathFidelity, CoreCount, AvailableCores, SubDevice,
    HostStart, HostDuration, FwStartCycle, FwEndCycle, OpToOp, FwDuration, KernelDuration,
    TraceId, ReplaySession, PmIdeal, PmCompute, PmBandwidth, FpuUtil, NocUtil, DramUtil,
}

impl Column {
    /// All of them, in the order of their declaration, with the profiler's names of them.
    pub(super) const ALL: [(Column, &'static str); 25] = [
        (Column::OpCode, "OP CODE"),
        (Column::OpType, "OP TYPE"),
        (Column::GlobalCallCount, "GLOBAL CALL COUNT"),
        (Column::DeviceId, "DEVICE ID"),
        (Column::Attributes, "ATTRIBUTES"),
        (Column::DeviceArch, "DEVICE ARCH"),
        (Column::MathFidelity, "MATH FIDELITY"),
        (Column::CoreCount, "CORE COUNT"),
        (Column::AvailableCores, "AVAILABLE WORKER CORE COUNT"),
        (Column::SubDevice, "SUB DEVICE ID"),
        (Column::HostStart, "HOST START TS"),
        (Column::HostDuration, "HOST DURATION [ns]"),
        (Column::FwStartCycle, "DEVICE FW START CYCLE"),
        (Column::FwEndCycle, "DEVICE FW END CYCLE"),
        (Column::OpToOp, "OP TO OP LATENCY [ns]"),
        (Column::FwDuration, "DEVICE FW DURATION [ns]"),
        (Column::KernelDuration, "DEVICE KERNEL DURATION [ns]"),
        (Column::TraceId, "METAL TRACE ID"),
        (Column::ReplaySession, "METAL TRACE REPLAY SESSION ID"),
        (Column::PmIdeal, "PM IDEAL [ns]"),
        (Column::PmCompute, "PM COMPUTE [ns]"),
        (Column::PmBandwidth, "PM BANDWIDTH [ns]"),
        (Column::FpuUtil, "PM FPU UTIL (%)"),
        (Column::NocUtil, "NOC UTIL (%)"),
        (Column::DramUtil, "DRAM BW UTIL (%)"),
    ];

    /// How many of them, from the first, every file has to have.
    pub(super) const REQUIRED: usize = 5;
}

/// Columns of one input or output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TensorColumns {
    /// W, Z, Y and X.
    pub(super) dims: [Option<usize>; 4],
    pub(super) layout: Option<usize>,
    pub(super) datatype: Option<usize>,
    pub(super) memory: Option<usize>,
}

/// No operation has as many inputs; a larger number in a name is none.
const MOST_TENSORS: usize = 256;

/// Positions of the columns of a file.
pub(super) struct Columns {
    single: [Option<usize>; Column::ALL.len()],
    pub(super) inputs: Vec<TensorColumns>,
    pub(super) outputs: Vec<TensorColumns>,
}

impl Columns {
    pub(super) fn new(header: &Header) -> Columns {
        let mut columns = Columns {
            single: Column::ALL.map(|(_, name)| header.position(name)),
            inputs: Vec::new(),
            outputs: Vec::new(),
        };
        for (position, name) in header.names.iter().enumerate() {
            if let Some(rest) = name.strip_prefix("INPUT_") {
                put(&mut columns.inputs, rest, position);
            } else if let Some(rest) = name.strip_prefix("OUTPUT_") {
                put(&mut columns.outputs, rest, position);
            }
        }
        columns
    }

    pub(super) fn position(&self, column: Column) -> Option<usize> {
        self.single[column as usize]
    }

    /// Adds the optional columns that this file has.
    pub(super) fn add_to(&self, has: &mut OptionalColumns) {
        let single = |column| self.position(column).is_some();
        let first = self.inputs.first().copied().unwrap_or_default();
        let second = self.inputs.get(1).copied().unwrap_or_default();
        let output = self.outputs.first().copied().unwrap_or_default();
        has.host_start |= single(Column::HostStart);
        has.op_to_op |= single(Column::OpToOp);
        has.kernel_duration |= single(Column::KernelDuration);
        has.fw_duration |= single(Column::FwDuration);
        has.core_count |= single(Column::CoreCount);
        has.available_cores |= single(Column::AvailableCores);
        has.arch |= single(Column::DeviceArch);
        has.sub_device |= single(Column::SubDevice);
        has.fidelity |= single(Column::MathFidelity);
        has.input_0_datatype |= first.datatype.is_some();
        has.input_1_datatype |= second.datatype.is_some();
        has.output_0_datatype |= output.datatype.is_some();
        has.input_0_memory |= first.memory.is_some();
    }

    /// Names of the columns that this file lacks, of those that are used of every operation.
    pub(super) fn lacking(&self) -> impl Iterator<Item = &'static str> {
        Column::ALL.iter().zip(&self.single).filter(|(_, at)| at.is_none()).map(|((_, name), _)| *name)
    }
}

/// Notes the column of a tensor, named by what follows `INPUT_` or `OUTPUT_`. Of equal names the first counts.
fn put(tensors: &mut Vec<TensorColumns>, rest: &str, position: usize) {
    let Some((index, what)) = rest.split_once('_') else { return };
    let Some(index) = index.parse().ok().filter(|&index: &usize| index < MOST_TENSORS) else { return };
    let mut tensor = tensors.get(index).copied().unwrap_or_default();
    let place = match what.strip_suffix("_PAD[LOGICAL]").unwrap_or(what) {
        "W" => &mut tensor.dims[0],
        "Z" => &mut tensor.dims[1],
        "Y" => &mut tensor.dims[2],
        "X" => &mut tensor.dims[3],
        "LAYOUT" => &mut tensor.layout,
        "DATATYPE" => &mut tensor.datatype,
        "MEMORY" => &mut tensor.memory,
        _ => return,
    };
    place.get_or_insert(position);
    if tensors.len() <= index {
        tensors.resize(index + 1, TensorColumns::default());
    }
    tensors[index] = tensor;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_told_apart_by_their_columns() {
        for (names, expected) in [
            (&["OP CODE", "INPUT_0_W"][..], CsvFormat::V1),
            (&["OP CODE", "INPUT_0_W_PAD[LOGICAL]"], CsvFormat::V2),
            (&["OP CODE", "INPUT_0_W", "DEVICE ARCH"], CsvFormat::V2_1),
            (&["AVAILABLE WORKER CORE COUNT", "INPUT_0_W_PAD[LOGICAL]"], CsvFormat::V2_1),
        ] {
            assert_eq!(Header::from_names(names).format(), expected, "{names:?}");
        }
    }

    #[test]
    fn files_of_the_profiler_are_recognised_by_their_header() {
        assert!(is_ops_csv(b"OP CODE,OP TYPE,X\r\n"));
        assert!(is_ops_csv(b"\xef\xbb\xbf\"OP CODE\",X,\"GLOBAL CALL COUNT\"\nMatmul,1,2\n"));
        assert!(is_ops_csv(b"\n\nOP TYPE,HOST START TS"));
        for other in [&b""[..], b"OP CODE\n", b"OP CODE,Y\n", b"{\"OP CODE\": 1, \"OP TYPE\": 2}", b",,,\n"] {
            assert!(!is_ops_csv(other), "{}", String::from_utf8_lossy(other));
        }
    }

    #[test]
    fn columns_are_declared_in_the_order_of_the_table() {
        for (position, (column, _)) in Column::ALL.iter().enumerate() {
            assert_eq!(*column as usize, position);
        }
    }

    #[test]
    fn columns_of_tensors_are_found_by_number_in_any_order() {
        let header = Header::from_names(&[
            "OUTPUT_0_MEMORY",
            "INPUT_2_X_PAD[LOGICAL]",
            "INPUT_0_W",
            "INPUT_999999999999_W",
            "INPUT_1000_W",
            "INPUT_0_W_PAD[LOGICAL]",
            "INPUT__W",
            "INPUT_0",
            "INPUT_0_STRIDE",
        ]);
        let columns = Columns::new(&header);
        assert_eq!(columns.inputs.len(), 3);
        assert_eq!(columns.inputs[0].dims, [Some(2), None, None, None]);
        assert_eq!(columns.inputs[1], TensorColumns::default());
        assert_eq!(columns.inputs[2].dims, [None, None, None, Some(1)]);
        assert_eq!(columns.outputs[0].memory, Some(0));
    }
}
