//! Rows of an export as events of a trace.

use hashbrown::HashMap;

use super::enumerations::{awaited, call_name, nvtx};
use super::global_id::GlobalId;
use super::nccl::{self, RangeId, Ranges};
use super::nvtx_text::{NvtxText, shapes, types};
use super::payload::Payload;
use super::references::{Correlations, Key, References};
use super::rows::{
    ApiCall, DeviceRow, KernelRow, NvtxPart, NvtxReading, NvtxSpan, NvtxWritten, correlation, is_collected,
    span,
};
use super::strings::Strings;
use super::tables::{
    GRAPH, KERNEL, MEMCPY, MEMSET, NVTX, OS_CALLS, OVERHEAD, PROCESSES, PROFILER_OVERHEAD, RUNTIME,
    SYNCHRONIZATION, THREAD_NAMES, Tables,
};
use crate::argument::SignatureId;
use crate::category::Category;
use crate::event_table::{
    CudaWork, EventId, MemoryTransfer, NvtxRange, Overhead, Phase, Synchronization, process_correlation,
};
use crate::index_set::IndexSet;
use crate::sqlite::{Broken, Fault, Record};
use crate::string_table::StringId;
use crate::trace::{EventArguments, Trace};
use crate::track_table::{RowId, Track, TrackId};
use crate::warning::{EventFault, RecordFault, Tally, Warning};

/// Where the system's `u32::MAX` or `i32::MAX` stands for none.
const NONE: [i64; 2] = [u32::MAX as i64, i32::MAX as i64];
/// Device or stream of what has none.
const NO_ROW: i64 = -1;

/// A call of the API by the id of its name.
#[derive(Clone, Copy)]
struct Call {
    name: StringId,
    waits_for: Option<&'static str>,
    is_unnamed: bool,
}

/// What all rows of device work have.
struct DeviceWork {
    start: i64,
    end: i64,
    device: i64,
    key: Option<Key>,
    /// The number that it shares with the call that launched it.
    correlation: Option<i64>,
    track: TrackId,
}

impl DeviceWork {
    /// The arguments that all device work has.
    #[inline(always)]
    fn arguments(&self, row: &DeviceRow) -> EventArguments {
        EventArguments {
            correlation: self.correlation,
            device: Some(self.device),
            stream: Some(row.stream),
            graph_node: row.graph_node,
            cuda: Some(row.cuda).filter(|&cuda| cuda != CudaWork::default()),
            ..EventArguments::default()
        }
    }
}

/// Makes a trace of the rows.
pub(super) struct Conversion<'t> {
    tables: &'t Tables<'t>,
    references: &'t References,
    strings: Strings,
    trace: Trace,
    /// Processes that have events, in the order of their numbers.
    numbers: IndexSet<GlobalId>,
    /// Names of NVTX domains of a process.
    domains: HashMap<(GlobalId, i64), StringId>,
    /// Ranges of domains whose names were not read before them, with their texts.
    unnamed_domain_ranges: Vec<(NvtxSpan, TrackId, StringId, Payload)>,
    /// Names of threads by NVTX.
    thread_names: Vec<(GlobalId, StringId)>,
    calls: HashMap<i64, Call>,
    /// The process of the first call, and whether others have calls, too.
    caller: Option<GlobalId>,
    has_other_callers: bool,
    /// Numbers of device work and synchronizations.
    correlations: Correlations,
    /// `deviceId` of the work in a context of a process.
    contexts: HashMap<(GlobalId, u32), i64>,
    last_context: Option<(GlobalId, u32)>,
    /// What calls wait for, by the key that they share with a synchronization.
    waits: HashMap<Key, &'static str>,
    /// Ranges of NCCL, and those around the calls of a key.
    nccl: Ranges,
    nccl_launches: HashMap<Key, RangeId>,
    processes: HashMap<GlobalId, RowId>,
    threads: HashMap<GlobalId, TrackId>,
    last_thread: Option<(GlobalId, TrackId)>,
    last_number: Option<(GlobalId, u32)>,
    /// Signatures by what PyTorch wrote of sizes.
    signatures: HashMap<String, Option<SignatureId>>,
    /// Names of kinds of copies and fills.
    transfers: HashMap<(i64, Option<i64>, Option<i64>), StringId>,
    /// Rows of spans without an end.
    unclosed: Vec<usize>,
    first_unclosed: Tally,
    latest: i64,
    uncollected: u64,
    negative: u64,
    unnamed: u64,
    unused_nvtx: u64,
    renumbered: u64,
    without_process: u64,
    has_shapes: bool,
}

impl<'t> Conversion<'t> {
    pub(super) fn new(
        tables: &'t Tables<'t>,
        references: &'t References,
        strings: Strings,
        trace: Trace,
    ) -> Self {
        Conversion {
            tables,
            references,
            strings,
            trace,
            numbers: IndexSet::default(),
            domains: HashMap::new(),
            unnamed_domain_ranges: Vec::new(),
            thread_names: Vec::new(),
            calls: HashMap::new(),
            caller: None,
            has_other_callers: false,
            correlations: Correlations::default(),
            contexts: HashMap::new(),
            last_context: None,
            waits: HashMap::new(),
            nccl: Ranges::default(),
            nccl_launches: HashMap::new(),
            processes: HashMap::new(),
            threads: HashMap::new(),
            last_thread: None,
            last_number: None,
            signatures: HashMap::new(),
            transfers: HashMap::new(),
            unclosed: Vec::new(),
            first_unclosed: Tally::default(),
            latest: i64::MIN,
            uncollected: 0,
            negative: 0,
            unnamed: 0,
            unused_nvtx: 0,
            renumbered: 0,
            without_process: 0,
            has_shapes: false,
        }
    }

    /// Reads all events: what the host did first, then what it launched.
    pub(super) fn read_events(&mut self) -> Result<(), Broken> {
        self.read_nvtx()?;
        self.nccl.arrange();
        self.read_calls()?;
        self.read_os_calls()?;
        self.read_kernels()?;
        self.read_copies()?;
        self.read_fills()?;
        self.read_graphs()?;
        self.read_synchronizations()?;
        self.unlink_calls();
        self.read_overheads()?;
        self.name_rows()
    }

    /// The trace with absolute times, and the warnings of all rows.
    pub(super) fn finish(mut self) -> Trace {
        for &row in &self.unclosed {
            let start = self.trace.events.start[row];
            self.trace.events.duration[row] = (self.latest - start).max(0);
        }
        self.trace.facts.record_shapes = Some(self.has_shapes);
        let warnings = &mut self.trace.warnings;
        warnings.extend(self.first_unclosed.warning(EventFault::UnendedSlice));
        for (fault, count) in [
            (RecordFault::NotCollected, self.uncollected),
            (RecordFault::NegativeDuration, self.negative),
            (RecordFault::UnknownName, self.unnamed),
            (RecordFault::RenumberedDevice, self.renumbered),
            (RecordFault::NoProcess, self.without_process),
        ] {
            warnings.extend((count > 0).then_some(Warning::Records { fault, count }));
        }
        warnings.extend(self.strings.faults.warnings());
        if self.unused_nvtx > 0 {
            warnings.push(Warning::UnusedRecords { list: NVTX.to_string(), count: self.unused_nvtx });
        }
        self.trace
    }

    /// Reads a table with a method of this, and keeps the warning of its malformed rows.
    fn rows(
        &mut self,
        table: &str,
        needed: &[&str],
        columns: &[&str],
        mut read: impl FnMut(&mut Self, &Record<'_>) -> Result<(), Fault>,
    ) -> Result<(), Broken> {
        let tables = self.tables;
        let refused = tables.rows(table, needed, columns, |row| read(self, row))?;
        self.trace.warnings.extend(refused);
        self.strings.check()
    }

    /// Reads a large table: other threads `read` its rows, and a method of this takes what they made.
    fn rows_ahead<T: Default + Send>(
        &mut self,
        table: &str,
        needed: &[&str],
        columns: &[&str],
        read: impl Fn(&Record<'_>, &mut T) -> Result<(), Fault> + Sync,
        mut take: impl FnMut(&mut Self, &mut T),
    ) -> Result<(), Broken> {
        let tables = self.tables;
        let refused = tables.rows_ahead(table, needed, columns, read, |part| take(self, part))?;
        self.trace.warnings.extend(refused);
        self.strings.check()
    }

    fn read_nvtx(&mut self) -> Result<(), Broken> {
        let References { enumerations, payloads, .. } = self.references;
        let whole_texts = self.tables.reading().whole_texts;
        let reading = NvtxReading { enumerations, payloads, whole_texts };
        let read = |row: &Record<'_>, part: &mut NvtxPart| reading.read(row, part);
        self.rows_ahead(NVTX, &["start", "eventType"], reading.columns(), read, |this, part| {
            for row in &part.rows {
                match part.written(row) {
                    NvtxWritten::Inline(text, whole) => {
                        this.nvtx_row(row.range, text, whole, part.payload(row))
                    }
                    NvtxWritten::Registered(id) => {
                        let text = id.and_then(|id| this.registered(id));
                        let text = text.map(|text| this.trace.text(text).to_string()).unwrap_or_default();
                        let whole = whole_texts.then_some(&text[..]);
                        this.nvtx_row(row.range, row.range.parsed(&text), whole, part.payload(row));
                    }
                }
            }
            this.unused_nvtx += part.unused;
            this.strings.faults.add(part.faults);
            part.clear();
        })?;
        for (range, track, text, payload) in std::mem::take(&mut self.unnamed_domain_ranges) {
            let text = self.trace.text(text).to_string();
            self.domain_range(range, track, &text, payload);
        }
        Ok(())
    }

    /// A mark, a range, or the name of a domain or thread.
    fn nvtx_row(&mut self, range: NvtxSpan, text: NvtxText<'_>, whole: Option<&str>, payload: Payload) {
        if matches!(range.kind, nvtx::DOMAIN_CREATED | nvtx::THREAD_NAME) {
            self.nvtx_name(range, text.name);
        } else if !self.is_other_process(range.thread) {
            let track = self.thread(range.thread);
            self.nvtx(range, track, text, whole, payload);
        }
    }

    /// The name of a domain or thread; without a thread or a text it names nothing.
    fn nvtx_name(&mut self, range: NvtxSpan, name: &str) {
        let Some(thread) = range.thread.filter(|_| !name.is_empty()) else { return };
        let name = self.trace.intern(name);
        if range.kind == nvtx::DOMAIN_CREATED {
            self.domains.insert((thread.process(), range.domain), name);
        } else {
            self.thread_names.push((thread, name));
        }
    }

    /// A text of the table of strings.
    fn registered(&mut self, id: i64) -> Option<StringId> {
        self.strings.get(self.tables, &mut self.trace, id)
    }

    fn nvtx(
        &mut self,
        range: NvtxSpan,
        track: TrackId,
        text: NvtxText<'_>,
        whole: Option<&str>,
        payload: Payload,
    ) {
        let NvtxSpan { kind, start, end, thread, domain, crosses_threads } = range;
        if domain != 0 {
            if self.domain_name(range).is_some() {
                self.domain_range(range, track, text.name, payload);
            } else {
                // The row that names the domain may come later.
                let text = self.trace.intern(text.name);
                self.unnamed_domain_ranges.push((range, track, text, payload));
            }
            return;
        }
        let name = self.trace.intern(text.name);
        let whole = whole.map(|whole| self.trace.intern(whole));
        if !text.is_operator {
            let special = NvtxRange { crosses_threads, text: whole, ..NvtxRange::default() };
            return self.nvtx_event(kind, name, (start, end), track, special);
        }
        // Each process counts its calls for itself.
        let number = thread.map_or(0, |thread| self.number(thread.process()));
        let scoped_id = |id: i64| process_correlation(number, id as u64);
        let arguments = EventArguments {
            external_id: text.operator.map(scoped_id),
            sequence_number: text.sequence.map(scoped_id),
            signature: text.sizes.and_then(|sizes| self.signature(sizes)),
            nvtx: whole.map(|text| NvtxRange { text: Some(text), ..NvtxRange::default() }),
            ..EventArguments::default()
        };
        let event = self.host_span(Category::CPU_OP, name, track, (start, end));
        self.describe(event, &arguments);
    }

    fn domain_name(&self, NvtxSpan { thread, domain, .. }: NvtxSpan) -> Option<StringId> {
        self.domains.get(&(thread?.process(), domain)).copied()
    }

    /// A range of a library's or program's own domain.
    fn domain_range(&mut self, range: NvtxSpan, track: TrackId, text: &str, payload: Payload) {
        let NvtxSpan { kind, start, end, thread, domain, crosses_threads } = range;
        let domain_name = self.domain_name(range).map(|name| self.trace.text(name));
        // Domains of NCCL without a name are known by its functions.
        if let (Some(end), true) = (end, text.starts_with(nccl::PREFIX))
            && domain_name.is_none_or(|name| name == nccl::DOMAIN)
        {
            self.nccl.add((thread.map(GlobalId::process), track), (start, end), text, payload);
        }
        let name = match domain_name {
            Some(domain) => format!("{domain}:{text}"),
            None => format!("domain {domain}:{text}"),
        };
        let name = self.trace.intern(&name);
        let special = NvtxRange { has_domain: true, crosses_threads, ..NvtxRange::default() };
        self.nvtx_event(kind, name, (start, end), track, special);
    }

    fn nvtx_event(
        &mut self,
        kind: i64,
        name: StringId,
        span: (i64, Option<i64>),
        track: TrackId,
        special: NvtxRange,
    ) {
        if kind == nvtx::MARK {
            self.push(Phase::Instant, Category::CPU_INSTANT_EVENT, name, track, (span.0, span.0));
        } else {
            let is_start_end = matches!(kind, nvtx::START_END | nvtx::NVTXT_START_END);
            let special = NvtxRange { is_start_end, ..special };
            let nvtx = Some(special).filter(|&special| special != NvtxRange::default());
            let arguments = EventArguments { nvtx, ..EventArguments::default() };
            let event = self.host_span(Category::USER_ANNOTATION, name, track, span);
            self.describe(event, &arguments);
        }
    }

    fn signature(&mut self, sizes: &str) -> Option<SignatureId> {
        self.has_shapes = true;
        if let Some(known) = self.signatures.get(sizes) {
            return *known;
        }
        let signature = shapes(sizes).map(|dims| {
            let types = self.tables.reading().element_type.map(|element| types(&dims, element));
            self.trace.intern_signature([Some(dims), types, None, None])
        });
        self.signatures.insert(sizes.to_string(), signature);
        signature
    }

    fn read_calls(&mut self) -> Result<(), Broken> {
        let read =
            |row: &Record<'_>, calls: &mut Vec<ApiCall>| ApiCall::read(row).map(|call| calls.push(call));
        self.rows_ahead(RUNTIME, &["start", "end"], &ApiCall::COLUMNS, read, |this, calls| {
            for call in calls.drain(..) {
                this.api_call(&call);
            }
        })
    }

    fn api_call(&mut self, row: &ApiCall) {
        let &ApiCall { span: (start, end), thread, name, correlation, category } = row;
        if let Some(process) = thread.map(GlobalId::process) {
            self.has_other_callers |= *self.caller.get_or_insert(process) != process;
        }
        if self.is_other_process(thread) {
            return;
        }
        let call = self.call(name);
        let key = thread.map(GlobalId::process).zip(correlation);
        if let (Some(key), Some(waits_for)) = (key, call.waits_for) {
            self.waits.entry(key).or_insert(waits_for);
        }
        let track = self.thread(thread);
        if let (Some(key), Some(end)) = (key, end)
            && let Some(range) = self.nccl.around(track, start, end)
        {
            self.nccl_launches.entry(key).or_insert(range);
        }
        let arguments = EventArguments { correlation: self.linked(key), ..EventArguments::default() };
        let event = self.host_span(category, call.name, track, (start, end));
        self.describe(event, &arguments);
    }

    /// Takes their number from calls that launched nothing: only with device work or a synchronization it links them.
    fn unlink_calls(&mut self) {
        let (events, correlations) = (&mut self.trace.events, &self.correlations);
        let categories = &events.category;
        events.arguments.correlation.retain(|row, number| {
            !matches!(categories[row], Category::CUDA_RUNTIME | Category::CUDA_DRIVER)
                || correlations.contains(number)
        });
    }

    /// Calls of the operating system, where they were asked for.
    fn read_os_calls(&mut self) -> Result<(), Broken> {
        let category = self.trace.intern_category("os_runtime");
        self.rows(OS_CALLS, &["start", "end"], &["start", "end", "globalTid", "nameId"], |this, row| {
            let span = span(row)?;
            let thread = GlobalId::from_column(row.integer(2)?);
            if this.is_other_process(thread) {
                return Ok(());
            }
            let name = this.string("call", row.required(3)?);
            let track = this.thread(thread);
            this.host_span(category, name, track, span);
            Ok(())
        })
    }

    fn call(&mut self, id: i64) -> Call {
        if let Some(call) = self.calls.get(&id) {
            self.unnamed += u64::from(call.is_unnamed);
            return *call;
        }
        let unnamed_before = self.unnamed;
        let recorded = self.string("call", id);
        let text = call_name(self.trace.text(recorded)).to_string();
        let is_unnamed = self.unnamed > unnamed_before;
        let call = Call { name: self.trace.intern(&text), waits_for: awaited(&text), is_unnamed };
        self.calls.insert(id, call);
        call
    }

    fn read_kernels(&mut self) -> Result<(), Broken> {
        let columns = DeviceRow::columns(&KernelRow::COLUMNS);
        let names = self.tables.reading().kernel_names;
        let read = |row: &Record<'_>, kernels: &mut Vec<KernelRow>| {
            KernelRow::read(row, names).map(|kernel| kernels.push(kernel))
        };
        self.rows_ahead(KERNEL, &DeviceRow::FIRST[..3], &columns, read, |this, kernels| {
            for kernel in kernels.drain(..) {
                this.kernel(&kernel);
            }
        })
    }

    fn kernel(&mut self, row: &KernelRow) {
        let Some(work) = self.device_work(&row.work) else { return };
        let name = self.string("kernel", row.name);
        let range = match self.trace.text(name).starts_with(nccl::PREFIX) {
            true => work.key.and_then(|key| self.nccl_launches.get(&key).copied()),
            false => None,
        };
        let collective = range.and_then(|range| self.nccl.collective(range, &mut self.trace));
        let event = self.device_event(Category::KERNEL, name, &work);
        let arguments = work.arguments(&row.work);
        self.describe(event, &EventArguments { geometry: row.geometry, collective, ..arguments });
    }

    /// Replays of graphs whose nodes were not recorded. They come behind all other device work.
    fn read_graphs(&mut self) -> Result<(), Broken> {
        let columns = DeviceRow::columns(&["graphId"]);
        let mut replays = false;
        let node_correlations = std::mem::take(&mut self.correlations);
        self.rows(GRAPH, &DeviceRow::FIRST[..3], &columns, |this, row| {
            let graph = row.integer(4)?;
            let row = DeviceRow::read(row, 1)?;
            let Some(work) = this.device_work(&row) else { return Ok(()) };
            if work.correlation.is_some_and(|number| node_correlations.contains(number)) {
                return Ok(());
            }
            replays = true;
            let name = match graph.filter(|&graph| graph != 0) {
                Some(graph) => this.trace.intern(&format!("CUDA graph {graph}")),
                None => this.trace.intern("CUDA graph"),
            };
            let event = this.device_event(Category::KERNEL, name, &work);
            this.describe(event, &work.arguments(&row));
            Ok(())
        })?;
        self.correlations.extend(node_correlations);
        if replays {
            self.trace.warnings.push(Warning::NotRecorded {
                what: "the kernels inside CUDA graphs: each replay is one span",
                advice: "record with --cuda-graph-trace=node",
            });
        }
        Ok(())
    }

    fn read_copies(&mut self) -> Result<(), Broken> {
        let columns = DeviceRow::columns(&["copyKind", "srcKind", "dstKind", "bytes"]);
        self.rows(MEMCPY, &["start", "end", "deviceId", "copyKind"], &columns, |this, row| {
            let (kind, source, destination) = (row.required(4)?, row.integer(5)?, row.integer(6)?);
            let bytes = bytes(row, 7)?;
            let row = DeviceRow::read(row, 4)?;
            let Some(work) = this.device_work(&row) else { return Ok(()) };
            let name = match this.transfers.get(&(kind, source, destination)) {
                Some(&name) => name,
                None => {
                    let labels = &this.references.enumerations;
                    let direction = labels.copy_kind(kind).map_or_else(|| kind.to_string(), str::to_string);
                    let [source_memory, destination_memory] =
                        [source, destination].map(|kind| labels.memory_kind(kind));
                    let name = this
                        .trace
                        .intern(&format!("Memcpy {direction} ({source_memory} -> {destination_memory})"));
                    this.transfers.insert((kind, source, destination), name);
                    name
                }
            };
            let event = this.device_event(Category::GPU_MEMCPY, name, &work);
            let transfer = transfer(bytes, work.end - work.start);
            this.describe(event, &EventArguments { transfer, ..work.arguments(&row) });
            Ok(())
        })
    }

    fn read_fills(&mut self) -> Result<(), Broken> {
        let columns = DeviceRow::columns(&["memKind", "bytes"]);
        self.rows(MEMSET, &DeviceRow::FIRST[..3], &columns, |this, row| {
            let memory = this.references.enumerations.memory_kind(row.integer(4)?);
            let bytes = bytes(row, 5)?;
            let row = DeviceRow::read(row, 2)?;
            let Some(work) = this.device_work(&row) else { return Ok(()) };
            let name = this.trace.intern(&format!("Memset ({memory})"));
            let event = this.device_event(Category::GPU_MEMSET, name, &work);
            let transfer = transfer(bytes, work.end - work.start);
            this.describe(event, &EventArguments { transfer, ..work.arguments(&row) });
            Ok(())
        })
    }

    /// What the columns of all device work say; `None` for work whose times CUPTI did not collect.
    fn device_work(&mut self, row: &DeviceRow) -> Option<DeviceWork> {
        let process = row.process.or_else(|| self.sole_caller());
        if self.is_other_process(process) {
            return None;
        }
        let key = process.zip(row.correlation);
        let correlation = self.linked(key);
        if let Some(number) = correlation {
            self.correlations.insert(number);
        }
        let context = process.zip(row.cuda.context);
        if let Some(id) = context.filter(|_| context != self.last_context) {
            self.contexts.entry(id).or_insert(row.device);
            self.last_context = context;
        }
        let times = row.start.zip(row.end).filter(|&(start, end)| is_collected(start, end));
        let Some((start, end)) = times else {
            self.uncollected += 1;
            return None;
        };
        let device = self.device(process, row.device);
        let track = Track { pid: RowId::Number(device), tid: RowId::Number(row.stream) };
        let track = self.trace.intern_track(track);
        Some(DeviceWork { start, end, device, key, correlation, track })
    }

    /// The process of device work that names none: the only one that has calls.
    fn sole_caller(&self) -> Option<GlobalId> {
        self.caller.filter(|_| !self.has_other_callers)
    }

    /// Whether a row is of another process than the one that is read.
    fn is_other_process(&mut self, process: Option<GlobalId>) -> bool {
        let Some(wanted) = self.tables.reading().process else { return false };
        self.without_process += u64::from(process.is_none());
        process.is_none_or(|process| process.process().packed() != wanted)
    }

    /// Number of a GPU among those of the machine.
    fn device(&mut self, process: Option<GlobalId>, recorded: i64) -> i64 {
        let device = self.references.gpus.number(process, recorded);
        self.renumbered += u64::from(device != recorded);
        device
    }

    fn device_event(&mut self, category: Category, name: StringId, work: &DeviceWork) -> Option<EventId> {
        let event = self.push(Phase::Complete, category, name, work.track, (work.start, work.end));
        let process = RowId::Number(work.device);
        if self.trace.tracks.process(process).labels.is_none() {
            let label = self.trace.intern(&format!("GPU {}", work.device));
            self.trace.tracks.process_mut(process).labels = Some(label);
        }
        event
    }

    fn read_synchronizations(&mut self) -> Result<(), Broken> {
        const COLUMNS: [&str; 8] =
            ["start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "syncType"];
        let category = self.trace.intern_category("cuda_sync");
        self.rows(SYNCHRONIZATION, &["start", "end"], &COLUMNS, |this, row| {
            let span = span(row)?;
            let known = |id: Option<i64>| id.filter(|id| !NONE.contains(id) && *id >= 0);
            let (device, context, stream) = (known(row.integer(2)?), row.integer(3)?, known(row.integer(4)?));
            let correlation = correlation(row.integer(5)?);
            let process = GlobalId::from_column(row.integer(6)?).or_else(|| this.sole_caller());
            if this.is_other_process(process) {
                return Ok(());
            }
            let recorded = this.references.enumerations.sync_type(row.integer(7)?);
            let key = process.zip(correlation);
            let kind = key.and_then(|key| this.waits.get(&key).copied()).unwrap_or(recorded);
            // The column of the device is 0 for all rows of some recorders; that of the work in the context is right.
            let context = context.and_then(|id| u32::try_from(id).ok());
            let context_device = process.zip(context).and_then(|id| this.contexts.get(&id).copied());
            let device = context_device.or(device).map(|device| this.references.gpus.number(process, device));
            let name = this.trace.intern(kind);
            let correlation = this.linked(key);
            if let Some(number) = correlation {
                this.correlations.insert(number);
            }
            let arguments = EventArguments {
                correlation,
                device,
                stream,
                synchronization: Some(Synchronization { kind: Some(name), ..Synchronization::default() }),
                ..EventArguments::default()
            };
            let row = |number: Option<i64>| RowId::Number(number.unwrap_or(NO_ROW));
            let track = this.trace.intern_track(Track { pid: row(device), tid: row(stream) });
            let event = this.host_span(category, name, track, span);
            this.describe(event, &arguments);
            Ok(())
        })
    }

    /// Work of the driver inside calls, and the recorder's own.
    fn read_overheads(&mut self) -> Result<(), Broken> {
        const COLUMNS: [&str; 6] = ["start", "end", "globalTid", "nameId", "correlationId", "overheadType"];
        for table in [OVERHEAD, PROFILER_OVERHEAD] {
            self.rows(table, &["start", "end"], &COLUMNS, |this, row| {
                let span = span(row)?;
                let thread = GlobalId::from_column(row.integer(2)?);
                if this.is_other_process(thread) {
                    return Ok(());
                }
                let name = row.integer(3)?;
                let key = thread.map(GlobalId::process).zip(correlation(row.integer(4)?));
                let linked = this.linked(key).filter(|&number| this.correlations.contains(number));
                let kind = this.references.enumerations.overhead_type(row.integer(5)?);
                let kind = this.trace.intern(kind);
                let name = name.map_or(kind, |id| this.string("overhead", id));
                let track = this.thread(thread);
                let overhead = Some(Overhead { kind, is_recorder_work: table == PROFILER_OVERHEAD });
                let arguments = EventArguments { correlation: linked, overhead, ..EventArguments::default() };
                let event = this.host_span(Category::OVERHEAD, name, track, span);
                this.describe(event, &arguments);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Names and labels of processes and threads that have events.
    fn name_rows(&mut self) -> Result<(), Broken> {
        let label = self.trace.intern("CPU");
        for &process in self.processes.values() {
            self.trace.tracks.process_mut(process).labels = Some(label);
        }
        self.rows(PROCESSES, &[], &["globalPid", "name"], |this, row| {
            let Some(process) = GlobalId::from_column(row.integer(0)?) else { return Ok(()) };
            if let (Some(&id), Some(name)) = (this.processes.get(&process), row.text(1)) {
                let path = this.strings.faults.clipped(name);
                let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
                let name = this.trace.intern(name);
                this.trace.tracks.process_mut(id).name = Some(name);
            }
            Ok(())
        })?;
        // The table names every thread of the machine; NVTX's own names come last.
        self.rows(THREAD_NAMES, &[], &["globalTid", "nameId"], |this, row| {
            let thread = GlobalId::from_column(row.integer(0)?).filter(|id| this.threads.contains_key(id));
            if let (Some(thread), Some(name)) = (thread, row.integer(1)?)
                && let Some(name) = this.registered(name)
            {
                this.name_thread(thread, name);
            }
            Ok(())
        })?;
        for (thread, name) in std::mem::take(&mut self.thread_names) {
            self.name_thread(thread, name);
        }
        Ok(())
    }

    fn name_thread(&mut self, thread: GlobalId, name: StringId) {
        if let Some(&track) = self.threads.get(&thread) {
            let track = self.trace.tracks.get(track);
            self.trace.tracks.thread_mut(track).name = Some(name);
        }
    }

    #[inline]
    fn host_span(
        &mut self,
        category: Category,
        name: StringId,
        track: TrackId,
        (start, end): (i64, Option<i64>),
    ) -> Option<EventId> {
        let uid = self.trace.entries;
        let until = end.unwrap_or(start);
        self.negative += u64::from(until < start);
        let event = self.push(Phase::Complete, category, name, track, (start, until.max(start)))?;
        if end.is_none() {
            self.first_unclosed.add(uid);
            self.unclosed.push(event.index());
            self.trace.events.arguments.unfinished.push(event.index(), ());
        }
        Some(event)
    }

    /// Adds the arguments of the last event.
    #[inline(always)]
    fn describe(&mut self, event: Option<EventId>, arguments: &EventArguments) {
        if let Some(event) = event {
            arguments.push_into(&mut self.trace.events, event);
        }
    }

    #[inline]
    fn push(
        &mut self,
        phase: Phase,
        category: Category,
        name: StringId,
        track: TrackId,
        (start, end): (i64, i64),
    ) -> Option<EventId> {
        // The reader refuses what has so many.
        if self.trace.entries == u32::MAX {
            return None;
        }
        self.latest = self.latest.max(end);
        Some(self.trace.append_plain(phase, category, name, track, (start, end - start)))
    }

    /// The number that a call and its device work share among all processes.
    fn linked(&mut self, key: Option<Key>) -> Option<i64> {
        key.map(|(process, id)| process_correlation(self.number(process), id as u64))
    }

    /// Number of a process among those that have events.
    fn number(&mut self, process: GlobalId) -> u32 {
        if let Some((last, number)) = self.last_number
            && last == process
        {
            return number;
        }
        let number = self.numbers.insert(process).0 as u32;
        self.last_number = Some((process, number));
        number
    }

    /// Text of a string, or what it names and the string's number.
    fn string(&mut self, what: &str, id: i64) -> StringId {
        match self.strings.get(self.tables, &mut self.trace, id) {
            Some(text) => text,
            None => {
                self.unnamed += 1;
                self.trace.intern(&format!("{what} {id}"))
            }
        }
    }

    fn thread(&mut self, thread: Option<GlobalId>) -> TrackId {
        let Some(id) = thread else {
            return self.trace.intern_track(Track { pid: RowId::Missing, tid: RowId::Missing });
        };
        // Rows of one thread mostly follow each other.
        if let Some((last, track)) = self.last_thread
            && last == id
        {
            return track;
        }
        let track = match self.threads.get(&id) {
            Some(&track) => track,
            None => {
                let pid = self.process(id.process());
                let track = self.trace.intern_track(Track { pid, tid: RowId::Number(id.tid()) });
                self.threads.insert(id, track);
                track
            }
        };
        self.last_thread = Some((id, track));
        track
    }

    /// A process by its number; by number and machine where another machine has a process of the same number.
    fn process(&mut self, process: GlobalId) -> RowId {
        if let Some(&row) = self.processes.get(&process) {
            return row;
        }
        let number = RowId::Number(process.pid());
        let row = match self.processes.values().any(|&other| other == number) {
            true => {
                let text = format!("{} on machine {}", process.pid(), process.machine());
                RowId::Text(self.trace.intern(&text))
            }
            false => number,
        };
        self.processes.insert(process, row);
        row
    }
}

/// A size in bytes.
fn bytes(row: &Record<'_>, column: usize) -> Result<Option<u64>, Fault> {
    let negative = |bytes: i64| row.fault(column, &bytes.to_string());
    row.integer(column)?.map(|bytes| u64::try_from(bytes).map_err(|_| negative(bytes))).transpose()
}

fn transfer(bytes: Option<u64>, duration: i64) -> Option<MemoryTransfer> {
    let bytes = bytes?;
    // Bytes per nanosecond are 1e9 bytes per second.
    let bandwidth_gb_per_s = (duration > 0).then(|| bytes as f64 / duration as f64);
    Some(MemoryTransfer { bytes: Some(bytes), bandwidth_gb_per_s, direction: None })
}
