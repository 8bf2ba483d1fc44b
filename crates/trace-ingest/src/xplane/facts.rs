//! The stats that events are placed, named, categorised and linked by.

use super::stat::{RawStat, RawValue, StatNames};
use crate::string_table::{StringId, StringTable, lossy};

/// A stat that reading uses. All others are found when they are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KnownStat {
    HloOp,
    HloModule,
    ProgramId,
    SymbolId,
    RunId,
    CorrelationId,
    StepName,
    StepNumber,
    GroupId,
    DeviceOffset,
    DeviceDuration,
    KernelDetails,
    MemcpyDetails,
    GraphExecution,
    FrameworkOperation,
    HloProto,
    Other,
}

impl KnownStat {
    fn from_name(name: &str) -> Self {
        match name {
            "hlo_op" => KnownStat::HloOp,
            "hlo_module" => KnownStat::HloModule,
            "program_id" => KnownStat::ProgramId,
            "symbol_id" => KnownStat::SymbolId,
            "run_id" => KnownStat::RunId,
            "correlation_id" => KnownStat::CorrelationId,
            "step_name" => KnownStat::StepName,
            "step_num" => KnownStat::StepNumber,
            "group_id" => KnownStat::GroupId,
            "device_offset_ps" => KnownStat::DeviceOffset,
            "device_duration_ps" => KnownStat::DeviceDuration,
            "kernel_details" => KnownStat::KernelDetails,
            "memcpy_details" => KnownStat::MemcpyDetails,
            "cuda_graph_exec_id" => KnownStat::GraphExecution,
            "tf_op" => KnownStat::FrameworkOperation,
            "Hlo Proto" | "hlo_proto" => KnownStat::HloProto,
            _ => KnownStat::Other,
        }
    }
}

/// What the stats of an event, or of its kind, say. Texts are [`StringId::EMPTY`] where they are absent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) hlo_op: StringId,
    pub(crate) hlo_module: StringId,
    pub(crate) program_id: Option<u64>,
    pub(crate) symbol_id: Option<u64>,
    pub(crate) run_id: Option<u64>,
    pub(crate) correlation: Option<i64>,
    pub(crate) step_name: StringId,
    pub(crate) is_step: bool,
    pub(crate) group: Option<i64>,
    pub(crate) device_offset: Option<i64>,
    pub(crate) device_duration: Option<i64>,
    pub(crate) kernel_details: StringId,
    pub(crate) memcpy_details: StringId,
    pub(crate) is_graph: bool,
    pub(crate) framework_operation: StringId,
    /// Where an embedded module lies.
    pub(crate) hlo_proto: Option<(usize, usize)>,
    /// Whether a stat that makes up an [`super::XlaCall`] was given.
    pub(crate) names_call: bool,
}

/// Reads the stats of a plane into [`Facts`].
pub(crate) struct StatReader {
    /// What each entry of [`StatNames`] is.
    known: Vec<KnownStat>,
    /// Interned text of each entry, once it was referred to.
    texts: Vec<Option<StringId>>,
    /// Stats without an entry.
    pub(crate) unnamed: u64,
    /// Texts that were not UTF-8.
    pub(crate) invalid_utf8: u64,
}

impl StatReader {
    pub(crate) fn new(names: &StatNames) -> Self {
        StatReader {
            known: names.names.iter().map(|name| KnownStat::from_name(name)).collect(),
            texts: vec![None; names.names.len()],
            unnamed: 0,
            invalid_utf8: 0,
        }
    }

    /// Takes note of a stat.
    #[inline(always)]
    pub(crate) fn note(
        &mut self,
        facts: &mut Facts,
        stat: RawStat,
        names: &StatNames,
        bytes: &[u8],
        strings: &mut StringTable,
    ) {
        let Some(index) = names.table.find(stat.metadata_id) else {
            self.unnamed += 1;
            return;
        };
        let known = self.known[index];
        if known == KnownStat::Other {
            return;
        }
        let unsigned = match stat.value {
            RawValue::Unsigned(value) => Some(value),
            RawValue::Signed(value) => Some(value as u64),
            _ => None,
        };
        let signed = unsigned.map(|value| value as i64);
        let mut text = || self.text(&stat.value, names, bytes, strings);
        match known {
            KnownStat::HloOp => facts.hlo_op = text(),
            KnownStat::HloModule => facts.hlo_module = text(),
            KnownStat::ProgramId => facts.program_id = unsigned,
            KnownStat::SymbolId => facts.symbol_id = unsigned,
            KnownStat::RunId => facts.run_id = unsigned,
            KnownStat::CorrelationId => facts.correlation = signed,
            KnownStat::StepName => facts.step_name = text(),
            KnownStat::StepNumber => facts.is_step = true,
            KnownStat::GroupId => facts.group = signed,
            KnownStat::DeviceOffset => facts.device_offset = signed,
            KnownStat::DeviceDuration => facts.device_duration = signed,
            KnownStat::KernelDetails => facts.kernel_details = text(),
            KnownStat::MemcpyDetails => facts.memcpy_details = text(),
            KnownStat::GraphExecution => facts.is_graph = true,
            KnownStat::FrameworkOperation => facts.framework_operation = text(),
            KnownStat::HloProto => {
                if let RawValue::Bytes(span) = stat.value {
                    facts.hlo_proto = Some((span.start, span.end));
                }
            }
            KnownStat::Other => {}
        }
        facts.names_call |= matches!(
            known,
            KnownStat::HloOp
                | KnownStat::HloModule
                | KnownStat::ProgramId
                | KnownStat::SymbolId
                | KnownStat::RunId
        );
    }

    fn text(
        &mut self,
        value: &RawValue,
        names: &StatNames,
        bytes: &[u8],
        strings: &mut StringTable,
    ) -> StringId {
        match value {
            RawValue::Reference(id) => match names.table.find(*id) {
                Some(index) => *self.texts[index].get_or_insert_with(|| strings.intern(&names.names[index])),
                None => {
                    self.unnamed += 1;
                    StringId::EMPTY
                }
            },
            RawValue::Text(span) => strings.intern(&lossy(&bytes[span.clone()], &mut self.invalid_utf8)),
            _ => StringId::EMPTY,
        }
    }
}
