//! Where the columns of a file stand. Releases of the profiler have added some, left out others and moved them.

use super::header::Header;
use super::ops_table::OptionalColumns;

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
    pub(super) fn of(header: &Header) -> Columns {
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
    fn columns_are_declared_in_the_order_of_the_table() {
        for (position, (column, _)) in Column::ALL.iter().enumerate() {
            assert_eq!(*column as usize, position);
        }
    }

    #[test]
    fn columns_of_tensors_are_found_by_number_in_any_order() {
        let header = Header::of_names(&[
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
        let columns = Columns::of(&header);
        assert_eq!(columns.inputs.len(), 3);
        assert_eq!(columns.inputs[0].dims, [Some(2), None, None, None]);
        assert_eq!(columns.inputs[1], TensorColumns::default());
        assert_eq!(columns.inputs[2].dims, [None, None, None, Some(1)]);
        assert_eq!(columns.outputs[0].memory, Some(0));
    }
}
