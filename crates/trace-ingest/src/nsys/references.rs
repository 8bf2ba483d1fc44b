//! What rows of an export refer to, found before they are read as events: calls are events of a launch only where device
//! work has their correlation id.

use hashbrown::HashMap;

use super::enumerations::Enumerations;
use super::global_id::GlobalId;
use super::gpus::Gpus;
use super::payload::Schemas;
use super::tables::{GRAPH, KERNEL, MEMCPY, MEMSET, RUNTIME, SYNCHRONIZATION, Tables};
use crate::source::NsysKernelNames;
use crate::sqlite::{Broken, Fault, Record};
use crate::warning::Warning;

/// Process and correlation id: what a call shares with the device work that it launched.
pub(super) type Key = (GlobalId, i64);

/// Keys, 64 to an entry: processes count their calls, so that most numbers between the first and the last are there.
#[derive(Default)]
pub(super) struct Keys(HashMap<Key, u64>);

impl Keys {
    fn place((process, id): Key) -> (Key, u64) {
        ((process, id >> 6), 1 << (id & 63))
    }

    fn insert(&mut self, key: Key) {
        let (entry, bit) = Keys::place(key);
        *self.0.entry(entry).or_default() |= bit;
    }

    pub(super) fn contains(&self, key: Key) -> bool {
        let (entry, bit) = Keys::place(key);
        self.0.get(&entry).is_some_and(|bits| bits & bit != 0)
    }
}

/// What rows refer to.
pub(super) struct References {
    /// What numbers stand for.
    pub(super) enumerations: Enumerations,
    /// What payloads of NVTX ranges say.
    pub(super) payloads: Schemas,
    /// The process of device work that names none: the only one that has calls.
    pub(super) sole_process: Option<GlobalId>,
    /// Keys of device work and synchronizations.
    pub(super) keys: Keys,
    /// Keys of kernels, copies and fills.
    pub(super) work: Keys,
    /// `deviceId` of the work in a context of a process.
    pub(super) contexts: HashMap<(GlobalId, i64), i64>,
    /// GPUs of the machine by the numbers that processes give them.
    pub(super) gpus: Gpus,
}

impl References {
    /// Goes over the tables of device work. Their malformed rows are told when they are read as events.
    pub(super) fn read(tables: &Tables<'_>, warnings: &mut Vec<Warning>) -> Result<References, Broken> {
        let mut references = References {
            enumerations: Enumerations::read(tables, warnings)?,
            payloads: Schemas::read(tables, warnings)?,
            sole_process: None,
            keys: Keys::default(),
            work: Keys::default(),
            contexts: HashMap::new(),
            gpus: Gpus::read(tables, warnings)?,
        };
        if references.read_device_work(tables)? {
            references.sole_process = sole_process(tables)?;
            references.read_device_work(tables)?;
        }
        Ok(references)
    }

    /// Says whether a row names no process.
    fn read_device_work(&mut self, tables: &Tables<'_>) -> Result<bool, Broken> {
        const COLUMNS: [&str; 4] = ["globalPid", "correlationId", "contextId", "deviceId"];
        let mut has_nameless = false;
        // Consecutive rows mostly are of one context.
        let mut last = None;
        for table in [KERNEL, MEMCPY, MEMSET, GRAPH, SYNCHRONIZATION] {
            let is_work = table != SYNCHRONIZATION;
            tables.rows(table, &[], &COLUMNS, |row| {
                let Some(process) = GlobalId::from_column(row.integer(0)?).or(self.sole_process) else {
                    has_nameless = true;
                    return Ok(());
                };
                if let Some(correlation) = correlation(row.integer(1)?) {
                    self.keys.insert((process, correlation));
                    if is_work && table != GRAPH {
                        self.work.insert((process, correlation));
                    }
                }
                if let (true, Some(context), Some(device)) = (is_work, row.integer(2)?, row.integer(3)?)
                    && last != Some((process, context))
                {
                    self.contexts.entry((process, context)).or_insert(device);
                    last = Some((process, context));
                }
                Ok(())
            })?;
        }
        Ok(has_nameless)
    }
}

/// The only process that has calls, if there is one.
fn sole_process(tables: &Tables<'_>) -> Result<Option<GlobalId>, Broken> {
    let (mut sole, mut has_others) = (None, false);
    tables.rows(RUNTIME, &[], &["globalTid"], |row| {
        if let Some(process) = GlobalId::from_column(row.integer(0)?).map(GlobalId::process) {
            has_others |= *sole.get_or_insert(process) != process;
        }
        Ok(())
    })?;
    Ok(sole.filter(|_| !has_others))
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
