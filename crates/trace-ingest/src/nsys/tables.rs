//! The tables of an export.

use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};

use hashbrown::{HashMap, HashSet};

use crate::source::{NsysReading, Progress, ReadOptions};
use crate::sqlite::{
    Broken, Database, Entries, EntryKind, Failure, Fault, PagedTable, Pages, Record, Refused, Texts,
    columns_of, has_rows, scan,
};
use crate::warning::Warning;

pub(super) const STRINGS: &str = "StringIds";
pub(super) const KERNEL: &str = "CUPTI_ACTIVITY_KIND_KERNEL";
pub(super) const GRAPH: &str = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
pub(super) const MEMCPY: &str = "CUPTI_ACTIVITY_KIND_MEMCPY";
pub(super) const MEMSET: &str = "CUPTI_ACTIVITY_KIND_MEMSET";
pub(super) const SYNCHRONIZATION: &str = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
pub(super) const RUNTIME: &str = "CUPTI_ACTIVITY_KIND_RUNTIME";
pub(super) const OVERHEAD: &str = "CUPTI_ACTIVITY_KIND_OVERHEAD";
pub(super) const PROFILER_OVERHEAD: &str = "PROFILER_OVERHEAD";
pub(super) const NVTX: &str = "NVTX_EVENTS";
pub(super) const THREAD_NAMES: &str = "ThreadNames";
pub(super) const PROCESSES: &str = "PROCESSES";
pub(super) const GPU: &str = "TARGET_INFO_GPU";
pub(super) const CUDA_DEVICE: &str = "TARGET_INFO_CUDA_DEVICE";
pub(super) const SESSION_START: &str = "TARGET_INFO_SESSION_START_TIME";
pub(super) const SYSTEM: &str = "TARGET_INFO_SYSTEM_ENV";
pub(super) const EXPORT: &str = "META_DATA_EXPORT";
pub(super) const DIAGNOSTICS: &str = "DIAGNOSTIC_EVENT";
pub(super) const OS_CALLS: &str = "OSRT_API";
pub(super) const CAPTURE: &str = "META_DATA_CAPTURE";
pub(super) const PAYLOAD_SCHEMAS: &str = "NVTX_PAYLOAD_SCHEMAS";
pub(super) const PAYLOAD_ENTRIES: &str = "NVTX_PAYLOAD_SCHEMA_ENTRIES";
pub(super) const COPY_KINDS: &str = "ENUM_CUDA_MEMCPY_OPER";
pub(super) const MEMORY_KINDS: &str = "ENUM_CUDA_MEM_KIND";
pub(super) const OVERHEAD_TYPES: &str = "ENUM_CUPTI_OVERHEAD_TYPE";
pub(super) const SYNC_TYPES: &str = "ENUM_CUPTI_SYNC_TYPE";
pub(super) const NVTX_TYPES: &str = "ENUM_NSYS_EVENT_TYPE";

/// The tables that are read.
const READ: [&str; 26] = [
    STRINGS,
    KERNEL,
    GRAPH,
    MEMCPY,
    MEMSET,
    SYNCHRONIZATION,
    RUNTIME,
    OVERHEAD,
    PROFILER_OVERHEAD,
    NVTX,
    THREAD_NAMES,
    PROCESSES,
    GPU,
    CUDA_DEVICE,
    SESSION_START,
    SYSTEM,
    EXPORT,
    DIAGNOSTICS,
    CAPTURE,
    PAYLOAD_SCHEMAS,
    PAYLOAD_ENTRIES,
    COPY_KINDS,
    MEMORY_KINDS,
    OVERHEAD_TYPES,
    SYNC_TYPES,
    NVTX_TYPES,
];

/// What tables begin with that hold events, which no analysis uses.
const UNREAD: [&str; 33] = [
    "COMPOSITE_EVENTS",
    "CUBLAS_EVENTS",
    "CUDA_GPU_MEMORY_",
    "CUDA_GRAPH_",
    "CUDA_UM_",
    "CUDNN_EVENTS",
    "CUPTI_ACTIVITY_KIND_",
    "D3D11_",
    "D3D12_",
    "DYNAMIC_NVTXPAYLOAD_",
    "DXGI_",
    "ETW_",
    "FTRACE",
    "GENERIC_EVENTS",
    "GPU_CONTEXT_SWITCH_EVENTS",
    "GPU_METRICS",
    "IB_",
    "MPI_",
    "NET_",
    "NIC_",
    "NVTX_EVENTS",
    "NVVIDEO_",
    "OPENACC_",
    "OPENGL_",
    "OPENMP_",
    "OPENXR_",
    "OSRT_API",
    "OSRT_CALLCHAINS",
    "SAMPLING_CALLCHAINS",
    "SCHED_EVENTS",
    "SYSCALL",
    "UCX_",
    "VULKAN_",
];

/// Tables whose names begin like one that is read and that hold something else.
const OTHER_EVENTS: [&str; 1] = ["NVTX_EVENTS_PAYLOAD_"];

pub(super) struct Tables<'d> {
    database: &'d Database,
    entries: Entries,
    /// The tables of this file that are read under a name with a version, such as `NVTX_EVENTS_V2`.
    versioned: HashMap<&'static str, String>,
    /// The file itself, for tables that need no query.
    file: Option<OpenFile>,
    options: ReadOptions<'d>,
}

/// Where the rows of a table are read from.
enum Source<'d> {
    /// The pages of the file.
    Pages(PagedTable<'d>),
    /// A query over these columns of the table.
    Query(Vec<String>),
}

/// The file of a database.
struct OpenFile {
    path: PathBuf,
    pages: Pages,
    length: u64,
    /// Bytes of it that were read.
    read: Cell<u64>,
}

impl<'d> Tables<'d> {
    pub(super) fn new(
        database: &'d Database,
        entries: Entries,
        options: &ReadOptions<'d>,
    ) -> Result<Self, Broken> {
        let versioned = versioned_tables(database, &entries)?;
        Ok(Tables { database, entries, versioned, file: None, options: *options })
    }

    /// What this file calls a table that is read.
    fn name<'n>(&'n self, table: &'n str) -> &'n str {
        self.versioned.get(table).map_or(table, String::as_str)
    }

    pub(super) fn reading(&self) -> &NsysReading<'d> {
        &self.options.nsys
    }

    /// Reads plain tables from the pages of the file.
    pub(super) fn with_pages(self, path: &Path) -> io::Result<Self> {
        let open = |pages| -> io::Result<OpenFile> {
            let length = std::fs::metadata(path)?.len();
            Ok(OpenFile { path: path.to_path_buf(), pages, length, read: Cell::new(0) })
        };
        let file = Pages::open(path, self.database.longest_row())?.map(open).transpose()?;
        Ok(Tables { file, ..self })
    }

    /// The tables that are read.
    fn read(&self) -> impl Iterator<Item = &'static str> {
        READ.into_iter().chain(self.reading().os_calls.then_some(OS_CALLS))
    }

    /// Refuses databases in which a name that is read stands for no table.
    pub(super) fn check_kinds(&self) -> Result<(), Broken> {
        for table in self.read().map(|table| self.name(table)) {
            let what = match self.entries.kind(table) {
                Some(EntryKind::View) => "a view",
                Some(EntryKind::Virtual) => "a virtual table",
                Some(EntryKind::Table) | None => continue,
            };
            let reason = format!("is {what}, expected a table");
            return Err(Broken { table: table.to_string(), failure: Failure::Refused(reason) });
        }
        Ok(())
    }

    pub(super) fn has(&self, table: &str) -> bool {
        self.entries.kind(self.name(table)) == Some(EntryKind::Table)
    }

    /// Reads `columns` of every row of a table, of which the table has to have those in `needed`. Nothing where the table
    /// is not there: exports have only tables with rows. The warning is of the rows that `read` refuses.
    pub(super) fn rows(
        &self,
        table: &str,
        needed: &[&str],
        columns: &[&str],
        mut read: impl FnMut(&Record<'_>) -> Result<(), Fault>,
    ) -> Result<Option<Warning>, Broken> {
        match self.is_read(table) {
            true => self.scan(self.name(table), needed, columns, &mut read),
            false => Ok(None),
        }
    }

    /// As [`Tables::rows`] for large tables: on other threads `read` makes something of the rows, part by part, and `take`
    /// empties the parts in the order of the rows.
    pub(super) fn rows_ahead<T: Default + Send>(
        &self,
        table: &str,
        needed: &[&str],
        columns: &[&str],
        read: impl Fn(&Record<'_>, &mut T) -> Result<(), Fault> + Sync,
        mut take: impl FnMut(&mut T),
    ) -> Result<Option<Warning>, Broken> {
        if !self.is_read(table) {
            return Ok(None);
        }
        let threads = self.options.thread_count();
        let table = self.name(table);
        self.read_source(table, needed, |source, refused| match source {
            Source::Pages(paged) => paged.scan_ahead(columns, threads, refused, read, take),
            Source::Query(present) => {
                let mut part = T::default();
                scan(self.database, table, &present, None, columns, refused, &mut |row| {
                    let outcome = read(row, &mut part);
                    take(&mut part);
                    outcome
                })
            }
        })
    }

    fn is_read(&self, table: &str) -> bool {
        self.has(table) && (table != OS_CALLS || self.reading().os_calls)
    }

    fn scan(
        &self,
        table: &str,
        needed: &[&str],
        columns: &[&str],
        read: &mut dyn FnMut(&Record<'_>) -> Result<(), Fault>,
    ) -> Result<Option<Warning>, Broken> {
        self.read_source(table, needed, |source, refused| match source {
            Source::Pages(paged) => paged.scan(columns, refused, read),
            Source::Query(present) => scan(self.database, table, &present, None, columns, refused, read),
        })
    }

    /// Reads from where the rows of a table are; the warning is of those that were refused.
    fn read_source(
        &self,
        table: &str,
        needed: &[&str],
        read: impl FnOnce(Source<'_>, &mut Refused) -> Result<(), Failure>,
    ) -> Result<Option<Warning>, Broken> {
        let mut refused = Refused::default();
        let scanned = || {
            let check = |present: &[String]| match needed.iter().find(|needed| !has_column(present, needed)) {
                Some(missing) => Err(Failure::Refused(format!("has no column {missing}"))),
                None => Ok(()),
            };
            let plain = self.entries.plain_table(self.database, table)?;
            if let (Some(file), Some(table)) = (&self.file, plain) {
                check(&table.columns)?;
                let proceed = |bytes| self.proceed(file, bytes);
                let (database, pages) = (self.database, &file.pages);
                let paged = PagedTable { database, pages, table, proceed: &proceed };
                return read(Source::Pages(paged), &mut refused);
            }
            let present = columns_of(self.database, table)?;
            check(&present)?;
            read(Source::Query(present), &mut refused)
        };
        scanned().map_err(|failure| Broken { table: table.to_string(), failure })?;
        Ok(refused.warning(table))
    }

    /// Tells how far reading is, and ends it where nobody wants the answer any more.
    fn proceed(&self, file: &OpenFile, bytes: u64) -> Result<(), Failure> {
        // Some tables are not read; those of a damaged file may share pages.
        let read = (file.read.get() + bytes).min(file.length);
        file.read.set(read);
        if let Some(progress) = self.options.progress {
            progress(Progress { bytes: read, total: file.length });
        }
        match self.options.is_stopped() {
            true => Err(Failure::Refused("reading was stopped".to_string())),
            false => Ok(()),
        }
    }

    /// Looks up texts of a column of a table by a key; `None` where only going over the table finds them.
    pub(super) fn texts(&self, table: &str, key: &str, column: &str) -> Result<Option<Texts>, Broken> {
        let table = self.name(table);
        let look = || {
            let Some(file) = &self.file else { return Ok(None) };
            let Some(plain) = self.entries.plain_table(self.database, table)? else { return Ok(None) };
            let pages = Pages::open(&file.path, self.database.longest_row());
            let pages = pages.map_err(|error| Failure::Refused(error.to_string()))?;
            Ok(pages.and_then(|pages| plain.texts(pages, key, column)))
        };
        look().map_err(|failure| Broken { table: table.to_string(), failure })
    }

    /// The text of a row that was found by its key.
    pub(super) fn text<'t>(&self, texts: &'t mut Texts, key: i64) -> Result<Option<&'t [u8]>, Failure> {
        texts.find(self.database, key)
    }

    /// Warnings of tables of events that are not read, with how many rows each has.
    pub(super) fn unread(&self) -> Result<Vec<Warning>, Broken> {
        let names: HashSet<&str> = self.read().map(|table| self.name(table)).collect();
        let (mut unneeded, mut versions) = (Vec::new(), Vec::new());
        for table in self.entries.tables().filter(|table| !names.contains(table)) {
            let found = match (self.is_version(table), UNREAD.iter().any(|prefix| table.starts_with(prefix)))
            {
                (true, _) => &mut versions,
                (false, true) => &mut unneeded,
                (false, false) => continue,
            };
            let mut rows = 0;
            let mut count = |_: &Record<'_>| {
                rows += 1;
                Ok(())
            };
            self.scan(table, &[], &[], &mut count)?;
            if rows > 0 {
                found.push((table.to_string(), rows));
            }
        }
        let warnings = [
            (!versions.is_empty()).then_some(Warning::UnreadVersions { tables: versions }),
            (!unneeded.is_empty()).then_some(Warning::UnreadTables { tables: unneeded }),
        ];
        Ok(warnings.into_iter().flatten().collect())
    }

    /// Whether a table seems to hold what one that is read holds, in another version.
    fn is_version(&self, table: &str) -> bool {
        let is_events = |read: &str| UNREAD.iter().any(|prefix| read.starts_with(prefix));
        let is_like = |read: &str| read == family(table).0 || is_events(read) && table.starts_with(read);
        self.read().any(is_like) && !OTHER_EVENTS.iter().any(|prefix| table.starts_with(prefix))
    }
}

/// The kind of a table and its version: 3 of `CUPTI_ACTIVITY_KIND_KERNEL_V3`, 0 of names without one.
fn family(table: &str) -> (&str, u32) {
    let version = |(name, number): (&'_ str, &str)| {
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        Some((name.len(), number.parse().ok().filter(|_| is_number)?))
    };
    let (length, version) = table.rsplit_once("_V").and_then(version).unwrap_or((table.len(), 0));
    (&table[..length], version)
}

/// The tables that are read of kinds with versions in the name: of each kind the highest version with rows.
fn versioned_tables(database: &Database, entries: &Entries) -> Result<HashMap<&'static str, String>, Broken> {
    let mut versions: HashMap<&'static str, Vec<(u32, &str)>> = HashMap::new();
    for table in entries.tables() {
        let (name, version) = family(table);
        if let Some(read) = READ.into_iter().chain([OS_CALLS]).find(|&read| read == name) {
            versions.entry(read).or_default().push((version, table));
        }
    }
    let mut chosen = HashMap::new();
    for (read, mut versions) in versions {
        versions.sort_unstable_by(|a, b| b.cmp(a));
        let Some(&(_, mut table)) = versions.first() else { continue };
        for &(_, candidate) in versions.iter().filter(|_| versions.len() > 1) {
            if has_rows(database, candidate)
                .map_err(|failure| Broken { table: candidate.to_string(), failure })?
            {
                table = candidate;
                break;
            }
        }
        if table != read {
            chosen.insert(read, table.to_string());
        }
    }
    Ok(chosen)
}

fn has_column(present: &[String], column: &str) -> bool {
    present.iter().any(|name| name == column)
}
