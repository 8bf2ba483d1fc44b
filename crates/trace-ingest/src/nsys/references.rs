//! What rows of an export refer to, found before they are read as events.

use std::borrow::Cow;

use hashbrown::{HashMap, HashSet};

use super::enumerations::{Enumerations, nvtx};
use super::global_id::GlobalId;
use super::gpus::Gpus;
use super::payload::Schemas;
use super::tables::{
    GRAPH, KERNEL, MEMCPY, MEMSET, NVTX, OS_CALLS, OVERHEAD, PROFILER_OVERHEAD, RUNTIME, STRINGS,
    SYNCHRONIZATION, THREAD_NAMES, Tables,
};
use crate::source::NsysKernelNames;
use crate::sqlite::{Broken, Fault, Record};
use crate::string_table::{IndexSet, StringId};
use crate::trace::Trace;
use crate::warning::{RecordFault, Warning};

/// Bytes of a text that are kept.
pub(super) const LONGEST_TEXT: usize = 1 << 20;

/// Process and correlation id: what a call shares with the device work that it launched.
pub(super) type Key = (GlobalId, i64);

/// A text of NVTX: in its row, or by the id of a registered string.
#[derive(Clone, Debug)]
enum NvtxName {
    Inline(String),
    Registered(i64),
}

/// Names that rows of NVTX give.
#[derive(Default)]
struct NvtxNames {
    domains: Vec<((GlobalId, i64), NvtxName)>,
    threads: Vec<(GlobalId, NvtxName)>,
}

/// What rows refer to.
pub(super) struct References {
    /// What numbers stand for.
    pub(super) enumerations: Enumerations,
    /// What payloads of NVTX ranges say.
    pub(super) payloads: Schemas,
    /// Texts of the strings that events refer to.
    pub(super) texts: HashMap<i64, StringId>,
    /// Processes that have events, in the order of their numbers.
    pub(super) processes: IndexSet<GlobalId>,
    /// The process of device work that names none: the only one that has calls.
    pub(super) sole_process: Option<GlobalId>,
    /// Keys of device work and synchronizations, and whether a kernel, copy or fill has it.
    pub(super) keys: HashMap<Key, bool>,
    /// `deviceId` of the work in a context of a process.
    pub(super) contexts: HashMap<(GlobalId, i64), i64>,
    /// Names of NVTX domains of a process.
    pub(super) domains: HashMap<(GlobalId, i64), StringId>,
    /// Names of threads that have events; NVTX's own come last.
    pub(super) thread_names: Vec<(GlobalId, StringId)>,
    /// GPUs of the machine by the numbers that processes give them.
    pub(super) gpus: Gpus,
    wanted: HashSet<i64>,
    threads: HashSet<GlobalId>,
}

impl References {
    /// Goes over all tables. Their malformed rows are told when they are read as events.
    pub(super) fn read(tables: &Tables<'_>, trace: &mut Trace) -> Result<References, Broken> {
        let mut references = References {
            enumerations: Enumerations::read(tables, &mut trace.warnings)?,
            payloads: Schemas::read(tables, &mut trace.warnings)?,
            texts: HashMap::new(),
            processes: IndexSet::default(),
            sole_process: None,
            keys: HashMap::new(),
            contexts: HashMap::new(),
            domains: HashMap::new(),
            thread_names: Vec::new(),
            gpus: Gpus::read(tables, &mut trace.warnings)?,
            wanted: HashSet::new(),
            threads: HashSet::new(),
        };
        references.read_calls(tables)?;
        references.read_device_work(tables)?;
        let NvtxNames { domains, threads: nvtx_threads } = references.read_nvtx(tables)?;
        let threads = references.read_thread_names(tables)?;
        references.read_strings(tables, trace)?;

        let mut text = |name: NvtxName| match name {
            NvtxName::Inline(text) => Some(trace.intern(&text)),
            NvtxName::Registered(id) => references.texts.get(&id).copied(),
        };
        let registered = threads.into_iter().map(|(thread, id)| (thread, NvtxName::Registered(id)));
        let named = registered.chain(nvtx_threads);
        references.thread_names = named.filter_map(|(thread, name)| Some((thread, text(name)?))).collect();
        references.domains = domains.into_iter().filter_map(|(key, name)| Some((key, text(name)?))).collect();
        Ok(references)
    }

    /// Number of a process that has events.
    pub(super) fn process_number(&self, process: GlobalId) -> u32 {
        self.processes.get_index_of(&process).unwrap_or(0) as u32
    }

    fn read_calls(&mut self, tables: &Tables<'_>) -> Result<(), Broken> {
        for table in [RUNTIME, OVERHEAD, PROFILER_OVERHEAD, OS_CALLS] {
            let columns = ["globalTid", "nameId"];
            tables.rows(table, &[], &columns, |row| {
                self.add_thread(GlobalId::from_column(row.integer(0)?));
                self.wanted.extend(row.integer(1)?);
                Ok(())
            })?;
            if table == RUNTIME && self.processes.len() == 1 {
                self.sole_process = self.processes.first().copied();
            }
        }
        Ok(())
    }

    fn add_thread(&mut self, thread: Option<GlobalId>) {
        if let Some(thread) = thread
            && self.threads.insert(thread)
        {
            self.processes.insert(thread.process());
        }
    }

    fn read_device_work(&mut self, tables: &Tables<'_>) -> Result<(), Broken> {
        const COLUMNS: [&str; 7] = [
            "globalPid",
            "correlationId",
            "contextId",
            "deviceId",
            "demangledName",
            "shortName",
            "mangledName",
        ];
        for table in [KERNEL, MEMCPY, MEMSET, GRAPH, SYNCHRONIZATION] {
            let is_work = table != SYNCHRONIZATION;
            tables.rows(table, &[], &COLUMNS, |row| {
                if table == KERNEL {
                    self.wanted.extend(kernel_name(row, tables.reading().kernel_names)?);
                }
                let Some(process) = GlobalId::from_column(row.integer(0)?).or(self.sole_process) else {
                    return Ok(());
                };
                self.processes.insert(process);
                if let Some(correlation) = correlation(row.integer(1)?) {
                    *self.keys.entry((process, correlation)).or_default() |= is_work && table != GRAPH;
                }
                if let (true, Some(context), Some(device)) = (is_work, row.integer(2)?, row.integer(3)?) {
                    self.contexts.entry((process, context)).or_insert(device);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Names of domains and of threads.
    fn read_nvtx(&mut self, tables: &Tables<'_>) -> Result<NvtxNames, Broken> {
        let mut names = NvtxNames::default();
        tables.rows(NVTX, &[], &["globalTid", "eventType", "textId", "domainId", "text"], |row| {
            let thread = GlobalId::from_column(row.integer(0)?);
            let kind = row.integer(1)?.and_then(|kind| self.enumerations.nvtx_type(kind));
            let names_domain = kind == Some(nvtx::DOMAIN_CREATED);
            if !names_domain {
                self.add_thread(thread);
            }
            let (inline, registered) = nvtx_text(row, 4, 2)?;
            self.wanted.extend(registered);
            if !names_domain && kind != Some(nvtx::THREAD_NAME) {
                return Ok(());
            }
            let inline = inline.map(|text| NvtxName::Inline(clipped(text).0.into_owned()));
            let name = inline.or(registered.map(NvtxName::Registered));
            let (Some(thread), Some(name)) = (thread, name) else { return Ok(()) };
            if names_domain {
                names.domains.push(((thread.process(), row.integer(3)?.unwrap_or(0)), name));
            } else {
                names.threads.push((thread, name));
            }
            Ok(())
        })?;
        Ok(names)
    }

    /// Ids of the names of threads. The table names every thread of the machine.
    fn read_thread_names(&mut self, tables: &Tables<'_>) -> Result<Vec<(GlobalId, i64)>, Broken> {
        let mut names = Vec::new();
        tables.rows(THREAD_NAMES, &[], &["globalTid", "nameId"], |row| {
            let thread =
                GlobalId::from_column(row.integer(0)?).filter(|thread| self.threads.contains(thread));
            if let (Some(thread), Some(name)) = (thread, row.integer(1)?) {
                self.wanted.insert(name);
                names.push((thread, name));
            }
            Ok(())
        })?;
        Ok(names)
    }

    /// Texts of the strings that are wanted, and of no others.
    fn read_strings(&mut self, tables: &Tables<'_>, trace: &mut Trace) -> Result<(), Broken> {
        let (mut cut, mut invalid) = (0, 0);
        let refused = tables.rows(STRINGS, &["id", "value"], &["id", "value"], |row| {
            let id = row.required(0)?;
            if let (true, Some(bytes)) = (self.wanted.contains(&id), row.text(1)) {
                let (text, faults) = clipped(bytes);
                cut += u64::from(faults.is_cut);
                invalid += u64::from(faults.is_invalid);
                self.texts.insert(id, trace.intern(&text));
            }
            Ok(())
        })?;
        trace.warnings.extend(refused);
        trace.warnings.extend(text_warnings(cut, invalid));
        Ok(())
    }
}

/// The text of an NVTX row, or else the id of a registered string. Recorders before 2022 write empty texts and zeros in
/// place of NULL.
pub(super) fn nvtx_text<'r>(
    row: &Record<'r>,
    text: usize,
    id: usize,
) -> Result<(Option<&'r [u8]>, Option<i64>), Fault> {
    let inline = row.text(text);
    if inline.is_some_and(|text| !text.is_empty()) {
        return Ok((inline, None));
    }
    Ok((None, row.integer(id)?.filter(|&id| id != 0)))
}

/// Id of the name of a kernel: the one that is asked for, or else the fullest that it has.
pub(super) fn kernel_name(row: &Record<'_>, names: NsysKernelNames) -> Result<Option<i64>, Fault> {
    const DEMANGLED: usize = 4;
    let wanted = match names {
        NsysKernelNames::Demangled => DEMANGLED,
        NsysKernelNames::Short => DEMANGLED + 1,
        NsysKernelNames::Mangled => DEMANGLED + 2,
    };
    for column in std::iter::once(wanted).chain(DEMANGLED..DEMANGLED + 3) {
        if let Some(id) = row.integer(column)? {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// A correlation id; 0 is none.
pub(super) fn correlation(id: Option<i64>) -> Option<i64> {
    id.filter(|&id| id != 0)
}

/// What is wrong with a text.
#[derive(Clone, Copy, Default)]
pub(super) struct TextFaults {
    pub(super) is_cut: bool,
    pub(super) is_invalid: bool,
}

/// A text of at most [`LONGEST_TEXT`].
pub(super) fn clipped(bytes: &[u8]) -> (Cow<'_, str>, TextFaults) {
    let is_cut = bytes.len() > LONGEST_TEXT;
    let kept = &bytes[..bytes.len().min(LONGEST_TEXT)];
    // A letter that the cut goes through is not at fault.
    let kept = match std::str::from_utf8(kept) {
        Err(error) if is_cut && error.error_len().is_none() => &kept[..error.valid_up_to()],
        _ => kept,
    };
    let text = String::from_utf8_lossy(kept);
    let is_invalid = matches!(text, Cow::Owned(_));
    (text, TextFaults { is_cut, is_invalid })
}

/// The warnings of so many texts with faults.
pub(super) fn text_warnings(cut: u64, invalid: u64) -> impl Iterator<Item = Warning> {
    let cut = (cut > 0).then_some(Warning::Records { fault: RecordFault::LongText, count: cut });
    let invalid = (invalid > 0).then_some(Warning::InvalidUtf8 { count: invalid });
    cut.into_iter().chain(invalid)
}
