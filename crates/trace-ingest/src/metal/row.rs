//! From the cells of a row to an operation.

use ::csv::ByteRecord;

use super::cells;
use super::columns::{Column, Columns, TensorColumns};
use super::ops_table::{Dim, OpRow, OpType, SubDevice, Tensor};
use crate::string_table::{StringId, StringTable};

/// Reads the rows of a file, and counts cells that say nothing usable.
pub(super) struct RowReader {
    columns: Columns,
    /// Cells with content that was read as blank, by position of the column.
    unusable: Vec<u64>,
}

/// Cells of a row.
struct Cells<'r> {
    record: &'r ByteRecord,
    unusable: &'r mut [u64],
}

impl RowReader {
    /// `width` is the number of columns of the file.
    pub(super) fn new(columns: Columns, width: usize) -> RowReader {
        RowReader { columns, unusable: vec![0; width] }
    }

    /// Reads a row. Its tensors go to the end of `tensors`. The caller sets its id and file.
    pub(super) fn read(
        &mut self,
        record: &ByteRecord,
        strings: &mut StringTable,
        tensors: &mut Vec<Tensor>,
    ) -> OpRow {
        let columns = &self.columns;
        let mut cells = Cells { record, unusable: &mut self.unusable };
        let at = |column| columns.position(column);
        let inputs = cells.tensors(&columns.inputs, strings, tensors);
        let outputs = cells.tensors(&columns.outputs, strings, tensors);
        OpRow {
            id: 0,
            file: 0,
            op_code: match cells.filled(at(Column::OpCode)) {
                Some(cell) => strings.intern(&cells::printable(cell)),
                None => StringId::EMPTY,
            },
            op_type: op_type(cells.filled(at(Column::OpType)).unwrap_or_default()),
            global_call_count: cells.figure(at(Column::GlobalCallCount), cells::whole),
            device: cells.figure(at(Column::DeviceId), cells::device),
            arch: cells.text(at(Column::DeviceArch), strings),
            attributes: cells.text(at(Column::Attributes), strings),
            fidelity: cells.text(at(Column::MathFidelity), strings),
            core_count: cells.figure(at(Column::CoreCount), cells::cores),
            available_cores: cells.figure(at(Column::AvailableCores), cells::cores),
            host_start: cells.figure(at(Column::HostStart), cells::whole),
            host_duration_ns: cells.figure(at(Column::HostDuration), cells::finite),
            fw_start_cycle: cells.figure(at(Column::FwStartCycle), cells::cycle),
            fw_end_cycle: cells.figure(at(Column::FwEndCycle), cells::cycle),
            fw_duration_ns: cells.figure(at(Column::FwDuration), cells::finite),
            kernel_duration_ns: cells.figure(at(Column::KernelDuration), cells::finite),
            op_to_op_ns: cells.figure(at(Column::OpToOp), cells::finite),
            inputs,
            outputs,
            sub_device: cells.sub_device(at(Column::SubDevice), strings),
            trace_id: cells.figure(at(Column::TraceId), cells::whole),
            replay_session: cells.figure(at(Column::ReplaySession), cells::whole),
            pm_ideal_ns: cells.figure(at(Column::PmIdeal), cells::finite),
            pm_compute_ns: cells.figure(at(Column::PmCompute), cells::finite),
            pm_bandwidth_ns: cells.figure(at(Column::PmBandwidth), cells::finite),
            dram_util_percent: cells.figure(at(Column::DramUtil), cells::finite),
            noc_util_percent: cells.figure(at(Column::NocUtil), cells::finite),
            fpu_util_percent: cells.figure(at(Column::FpuUtil), cells::finite),
        }
    }

    /// Counts of unusable cells, by position of the column.
    pub(super) fn unusable(&self) -> impl Iterator<Item = (usize, u64)> {
        self.unusable.iter().copied().enumerate().filter(|(_, count)| *count > 0)
    }
}

impl<'r> Cells<'r> {
    /// Content of a cell that is there and not blank.
    fn filled(&self, position: Option<usize>) -> Option<&'r [u8]> {
        self.record.get(position?).filter(|cell| !cells::is_blank(cell))
    }

    fn text(&self, position: Option<usize>, strings: &mut StringTable) -> StringId {
        self.filled(position).map_or(StringId::EMPTY, |cell| strings.intern(&cells::text(cell)))
    }

    fn figure<T>(&mut self, position: Option<usize>, read: fn(&[u8]) -> Option<T>) -> Option<T> {
        let figure = read(self.filled(position)?);
        if figure.is_none() {
            self.count_unusable(position);
        }
        figure
    }

    fn dim(&mut self, position: Option<usize>) -> Dim {
        let Some(cell) = self.filled(position) else { return Dim::default() };
        let (padded, logical) = cells::dim(cell);
        if padded.is_none() && !cells::is_zero_dim(cell) {
            self.count_unusable(position);
        }
        Dim { padded, logical }
    }

    fn count_unusable(&mut self, position: Option<usize>) {
        if let Some(count) = position.and_then(|position| self.unusable.get_mut(position)) {
            *count += 1;
        }
    }

    fn sub_device(&self, position: Option<usize>, strings: &mut StringTable) -> SubDevice {
        let Some(cell) = self.filled(position) else { return SubDevice::None };
        if let Some(number) = cells::whole(cell) {
            return SubDevice::Number(number);
        }
        match cells::sub_device_name(cell) {
            name if name.is_empty() => SubDevice::None,
            name => SubDevice::Text(strings.intern(&name)),
        }
    }

    /// Appends the tensors of a row up to the last that is not blank; returns where they stand.
    fn tensors(
        &mut self,
        columns: &[TensorColumns],
        strings: &mut StringTable,
        tensors: &mut Vec<Tensor>,
    ) -> std::ops::Range<u32> {
        let start = tensors.len();
        let mut end = start;
        for column in columns {
            let tensor = Tensor {
                dims: column.dims.map(|position| self.dim(position)),
                layout: self.text(column.layout, strings),
                datatype: self.text(column.datatype, strings),
                memory: self.text(column.memory, strings),
            };
            tensors.push(tensor);
            if tensor != Tensor::default() {
                end = tensors.len();
            }
        }
        tensors.truncate(end);
        start as u32..end as u32
    }
}

fn op_type(cell: &[u8]) -> OpType {
    match cell.trim_ascii() {
        b"tt_dnn_device" => OpType::Device,
        b"signpost" => OpType::Signpost,
        b"python_fallback" => OpType::PythonFallback,
        b"tt_dnn_cpu" => OpType::Cpu,
        _ => OpType::Other,
    }
}
