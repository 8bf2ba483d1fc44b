//! What numbers of an export stand for: its own tables say it, and where they do not, the schema that is known.

use hashbrown::HashMap;

use super::tables::{COPY_KINDS, MEMORY_KINDS, NVTX_TYPES, OVERHEAD_TYPES, SYNC_TYPES, Tables};
use crate::sqlite::{Broken, Record};
use crate::warning::Warning;

/// Types of rows of NVTX, by their numbers in the known schema.
pub(super) mod nvtx {
    pub(crate) const CATEGORY: i64 = 33;
    pub(crate) const MARK: i64 = 34;
    pub(crate) const THREAD_NAME: i64 = 39;
    pub(crate) const PUSH_POP: i64 = 59;
    pub(crate) const START_END: i64 = 60;
    /// Ranges of NVTX's text files.
    pub(crate) const NVTXT_PUSH_POP: i64 = 70;
    pub(crate) const NVTXT_START_END: i64 = 71;
    pub(crate) const DOMAIN_CREATED: i64 = 75;
    pub(crate) const DOMAIN_DESTROYED: i64 = 76;
    /// Names of CUDA's devices, contexts and streams.
    pub(crate) const CUDA_NAMES: std::ops::RangeInclusive<i64> = 97..=99;

    /// Their names in tables of enumerations.
    pub(super) const NAMES: [(&str, i64); 12] = [
        ("NvtxCategory", CATEGORY),
        ("NvtxMark", MARK),
        ("NvtxThread", THREAD_NAME),
        ("NvtxPushPopRange", PUSH_POP),
        ("NvtxStartEndRange", START_END),
        ("NvtxtPushPopRange", NVTXT_PUSH_POP),
        ("NvtxtStartEndRange", NVTXT_START_END),
        ("NvtxDomainCreate", DOMAIN_CREATED),
        ("NvtxDomainDestroy", DOMAIN_DESTROYED),
        ("NvtxNameCudaDevice", 97),
        ("NvtxNameCudaContext", 98),
        ("NvtxNameCudaStream", 99),
    ];
}

/// A name in tables of enumerations, and the label that events get: PyTorch's where it has one. The place is the number in
/// the known schema.
type Known = &'static [(&'static str, &'static str)];

const COPIES: Known = &[
    ("CUDA_MEMCPY_KIND_UNKNOWN", "Unknown"),
    ("CUDA_MEMCPY_KIND_HTOD", "HtoD"),
    ("CUDA_MEMCPY_KIND_DTOH", "DtoH"),
    ("CUDA_MEMCPY_KIND_HTOA", "HtoA"),
    ("CUDA_MEMCPY_KIND_ATOH", "AtoH"),
    ("CUDA_MEMCPY_KIND_ATOA", "AtoA"),
    ("CUDA_MEMCPY_KIND_ATOD", "AtoD"),
    ("CUDA_MEMCPY_KIND_DTOA", "DtoA"),
    ("CUDA_MEMCPY_KIND_DTOD", "DtoD"),
    ("CUDA_MEMCPY_KIND_HTOH", "HtoH"),
    ("CUDA_MEMCPY_KIND_PTOP", "PtoP"),
    ("CUDA_MEMCPY_KIND_UVM_HTOD", "UVM HtoD"),
    ("CUDA_MEMCPY_KIND_UVM_DTOH", "UVM DtoH"),
    ("CUDA_MEMCPY_KIND_UVM_DTOD", "UVM DtoD"),
];

const MEMORY: Known = &[
    ("CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "Pageable"),
    ("CUDA_MEMOPR_MEMORY_KIND_PINNED", "Pinned"),
    ("CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device"),
    ("CUDA_MEMOPR_MEMORY_KIND_ARRAY", "Array"),
    ("CUDA_MEMOPR_MEMORY_KIND_MANAGED", "Managed"),
    ("CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC", "Device Static"),
    ("CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC", "Managed Static"),
    ("CUDA_MEMOPR_MEMORY_KIND_UNKNOWN", "Unknown"),
];

const OVERHEADS: Known = &[
    ("OVERHEAD_UNDEFINED", "Undefined"),
    ("OVERHEAD_UNKNOWN", "Unknown"),
    ("OVERHEAD_DRIVER_COMPILER", "Driver compilation"),
    ("OVERHEAD_CUPTI_BUFFER_FLUSH", "Buffer flush"),
    ("OVERHEAD_CUPTI_INSTRUMENTATION", "Instrumentation"),
    ("OVERHEAD_CUPTI_RESOURCE", "Resource"),
    ("OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING", "Runtime-triggered module loading"),
    ("OVERHEAD_LAZY_FUNCTION_LOADING", "Lazy function loading"),
    ("OVERHEAD_COMMAND_BUFFER_FULL", "Command buffer full"),
];

const EVENT_SYNC: &str = "Event Sync";
const STREAM_WAIT_EVENT: &str = "Stream Wait Event";
const STREAM_SYNC: &str = "Stream Sync";
const CONTEXT_SYNC: &str = "Context Sync";

const SYNCHRONIZATIONS: Known = &[
    ("CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN", "Unknown Sync"),
    ("CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE", EVENT_SYNC),
    ("CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT", STREAM_WAIT_EVENT),
    ("CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE", STREAM_SYNC),
    ("CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE", CONTEXT_SYNC),
];

/// Labels of the numbers of a column.
struct Labels {
    known: Known,
    /// Those that the export gives.
    own: HashMap<i64, String>,
}

impl Labels {
    fn read(
        tables: &Tables<'_>,
        table: &str,
        known: Known,
        warnings: &mut Vec<Warning>,
    ) -> Result<Labels, Broken> {
        let mut own = HashMap::new();
        let refused = tables.rows(table, &["id"], &["id", "name", "label"], |row| {
            let number = row.required(0)?;
            let name = short_text(row, 1).unwrap_or_default();
            let ours = known.iter().find(|(known, _)| *known == name).map(|&(_, label)| label.to_string());
            own.extend(ours.or_else(|| short_text(row, 2)).map(|label| (number, label)));
            Ok(())
        })?;
        warnings.extend(refused);
        Ok(Labels { known, own })
    }

    fn get(&self, number: i64) -> Option<&str> {
        let known = || usize::try_from(number).ok().and_then(|number| self.known.get(number));
        self.own.get(&number).map(String::as_str).or_else(|| known().map(|&(_, label)| label))
    }
}

/// The enumerations that columns refer to.
pub(super) struct Enumerations {
    copies: Labels,
    memory: Labels,
    overheads: Labels,
    synchronizations: Labels,
    /// Known numbers of the types of NVTX rows by the export's; `None` of what is no NVTX.
    nvtx: HashMap<i64, Option<i64>>,
}

impl Enumerations {
    pub(super) fn read(tables: &Tables<'_>, warnings: &mut Vec<Warning>) -> Result<Enumerations, Broken> {
        let mut nvtx = HashMap::new();
        let refused = tables.rows(NVTX_TYPES, &["id"], &["id", "name"], |row| {
            let number = row.required(0)?;
            let name = short_text(row, 1).unwrap_or_default();
            let known = nvtx::NAMES.iter().find(|(known, _)| *known == name).map(|&(_, number)| number);
            // Types that only unfinished recordings have keep their numbers, which no range has.
            let is_other = nvtx::NAMES.iter().any(|&(_, known)| known == number);
            nvtx.insert(number, known.or((!is_other).then_some(number)));
            Ok(())
        })?;
        warnings.extend(refused);
        let mut labels = |table, known| Labels::read(tables, table, known, warnings);
        Ok(Enumerations {
            copies: labels(COPY_KINDS, COPIES)?,
            memory: labels(MEMORY_KINDS, MEMORY)?,
            overheads: labels(OVERHEAD_TYPES, OVERHEADS)?,
            synchronizations: labels(SYNC_TYPES, SYNCHRONIZATIONS)?,
            nvtx,
        })
    }

    /// From where to where a copy goes, as PyTorch's names of copies have it.
    pub(super) fn copy_kind(&self, kind: i64) -> Option<&str> {
        self.copies.get(kind)
    }

    pub(super) fn memory_kind(&self, kind: Option<i64>) -> &str {
        kind.and_then(|kind| self.memory.get(kind)).unwrap_or("Unknown")
    }

    /// What time of the driver or of the recorder was spent on.
    pub(super) fn overhead_type(&self, kind: Option<i64>) -> &str {
        kind.and_then(|kind| self.overheads.get(kind)).unwrap_or("Unknown")
    }

    /// What a synchronization waits for, under the names that PyTorch's profiler gives it.
    pub(super) fn sync_type(&self, kind: Option<i64>) -> &str {
        kind.and_then(|kind| self.synchronizations.get(kind)).unwrap_or("Unknown Sync")
    }

    /// The number that a type of NVTX rows has in the known schema.
    pub(super) fn nvtx_type(&self, number: i64) -> Option<i64> {
        self.nvtx.get(&number).copied().unwrap_or(Some(number))
    }
}

/// The beginning of a text.
pub(super) fn short_text(row: &Record<'_>, column: usize) -> Option<String> {
    const LONGEST: usize = 256;
    let text = String::from_utf8_lossy(row.text(column)?);
    Some(text.chars().filter(|letter| !letter.is_control()).take(LONGEST).collect())
}

/// What a call waits for. The name is surer than the column: schema 3.24 has waits for streams as waits of streams.
pub(super) fn awaited(call: &str) -> Option<&'static str> {
    const CALLS: [(&str, &str); 6] = [
        ("EventSynchronize", EVENT_SYNC),
        ("StreamWaitEvent", STREAM_WAIT_EVENT),
        ("StreamSynchronize", STREAM_SYNC),
        ("DeviceSynchronize", CONTEXT_SYNC),
        ("CtxSynchronize", CONTEXT_SYNC),
        ("ThreadSynchronize", CONTEXT_SYNC),
    ];
    CALLS.iter().find(|(name, _)| call.contains(name)).map(|&(_, kind)| kind)
}

/// A call without the version of CUDA in which its signature appeared: `_v` and four or more digits. Shorter numbers are
/// the function's own.
pub(super) fn call_name(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((call, version)) if version.len() >= 4 && version.bytes().all(|byte| byte.is_ascii_digit()) => {
            call
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_signatures_are_no_part_of_a_call() {
        for (recorded, call) in [
            ("cudaLaunchKernel_v7000", "cudaLaunchKernel"),
            ("cudaLaunchKernelExC_v11060", "cudaLaunchKernelExC"),
            ("cudaMemcpyAsync_ptsz_v7000", "cudaMemcpyAsync_ptsz"),
            ("cuMemAlloc_v2", "cuMemAlloc_v2"),
            ("cuLaunchKernel", "cuLaunchKernel"),
            ("_v1234", ""),
        ] {
            assert_eq!(call_name(recorded), call);
        }
    }

    #[test]
    fn the_export_says_what_numbers_mean_before_the_schema_does() {
        let own = HashMap::from([(1, "DtoH".to_string()), (20, "Sideways".to_string())]);
        let labels = Labels { known: COPIES, own };
        assert_eq!(
            (labels.get(1), labels.get(20), labels.get(13)),
            (Some("DtoH"), Some("Sideways"), Some("UVM DtoD"))
        );
        assert_eq!((labels.get(14), labels.get(-1), labels.get(i64::MAX)), (None, None, None));
    }

    #[test]
    fn calls_say_what_they_wait_for() {
        assert_eq!(awaited("cudaStreamSynchronize"), Some("Stream Sync"));
        assert_eq!(awaited("cudaMemcpyAsync"), None);
    }
}
