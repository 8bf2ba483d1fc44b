//! What rows of the large tables say, taken from their columns before they become events. Threads do that ahead.

use super::enumerations::{Enumerations, nvtx};
use super::global_id::GlobalId;
use super::nvtx_text::NvtxText;
use super::payload::{Payload, Schemas};
use super::strings::TextFaults;
use crate::category::Category;
use crate::event_table::{CudaWork, LaunchGeometry};
use crate::source::NsysKernelNames;
use crate::sqlite::{Fault, Record};

/// Times beyond, in nanoseconds, are none of a recording: differences of two stay within 64 bits.
pub(super) const LATEST: i64 = 1 << 62;

/// A time in nanoseconds.
#[inline(always)]
pub(super) fn time(row: &Record<'_>, column: usize) -> Result<Option<i64>, Fault> {
    match row.integer(column)? {
        Some(time) if time <= -LATEST || time >= LATEST => Err(row.fault(column, &time.to_string())),
        time => Ok(time),
    }
}

/// Start and end of a row, in the first columns; spans that were not closed have no end.
#[inline]
pub(super) fn span(row: &Record<'_>) -> Result<(i64, Option<i64>), Fault> {
    let start = time(row, 0)?.ok_or_else(|| row.fault(0, "NULL"))?;
    Ok((start, time(row, 1)?))
}

/// A call of the runtime or of the driver, which stand in one table.
pub(super) struct ApiCall {
    pub(super) span: (i64, Option<i64>),
    pub(super) thread: Option<GlobalId>,
    /// Id of its name.
    pub(super) name: i64,
    pub(super) correlation: Option<i64>,
    pub(super) category: Category,
}

impl ApiCall {
    pub(super) const COLUMNS: [&'static str; 6] =
        ["start", "end", "globalTid", "nameId", "correlationId", "eventClass"];

    pub(super) fn read(row: &Record<'_>) -> Result<ApiCall, Fault> {
        const DRIVER: i64 = 1;
        Ok(ApiCall {
            span: span(row)?,
            thread: GlobalId::from_column(row.integer(2)?),
            name: row.required(3)?,
            correlation: correlation(row.integer(4)?),
            category: match row.integer(5)? {
                Some(DRIVER) => Category::CUDA_DRIVER,
                _ => Category::CUDA_RUNTIME,
            },
        })
    }
}

/// What all rows of device work have.
pub(super) struct DeviceRow {
    pub(super) start: Option<i64>,
    pub(super) end: Option<i64>,
    /// Number of the device as it is recorded.
    pub(super) device: i64,
    pub(super) stream: i64,
    pub(super) correlation: Option<i64>,
    pub(super) process: Option<GlobalId>,
    pub(super) graph_node: Option<i64>,
    pub(super) cuda: CudaWork,
}

impl DeviceRow {
    /// Columns of all device work, first in every query; [`kernel_name`] expects those of a kernel's name behind them.
    pub(super) const FIRST: [&'static str; 4] = ["start", "end", "deviceId", "streamId"];
    /// Columns of all device work, last in every query.
    const LINKS: [&'static str; 5] =
        ["correlationId", "globalPid", "graphNodeId", "contextId", "greenContextId"];

    /// The columns of a table of device work: those of all, its own, those of all.
    pub(super) fn columns<'c>(own: &[&'c str]) -> Vec<&'c str> {
        DeviceRow::FIRST.iter().chain(own).chain(&DeviceRow::LINKS).copied().collect()
    }

    /// Reads a row of a table that has so many columns of its own.
    pub(super) fn read(row: &Record<'_>, own: usize) -> Result<DeviceRow, Fault> {
        let link = |column: usize| row.integer(DeviceRow::FIRST.len() + own + column);
        let (start, end) = (time(row, 0)?, time(row, 1)?);
        let device = row.required(2)?;
        if device < 0 {
            return Err(row.fault(2, &device.to_string()));
        }
        // 0 is the green context of work in none.
        let context = |column: usize| Ok(link(column)?.and_then(|id| u32::try_from(id).ok()));
        Ok(DeviceRow {
            start,
            end,
            device,
            stream: row.integer(3)?.unwrap_or(0),
            correlation: correlation(link(0)?),
            process: GlobalId::from_column(link(1)?),
            graph_node: link(2)?.filter(|&node| node != 0),
            cuda: CudaWork {
                context: context(3)?,
                green_context: context(4)?.filter(|&id| id != 0),
                static_shared_memory: None,
            },
        })
    }
}

/// Whether CUPTI collected the times of device work. After long runs of graphs it may not have.
pub(super) fn is_collected(start: i64, end: i64) -> bool {
    start <= end && (start, end) != (0, 0)
}

pub(super) struct KernelRow {
    pub(super) work: DeviceRow,
    /// Id of its name.
    pub(super) name: i64,
    pub(super) geometry: Option<LaunchGeometry>,
}

impl KernelRow {
    /// A kernel's own columns.
    pub(super) const COLUMNS: [&'static str; 12] = [
        "demangledName",
        "shortName",
        "mangledName",
        "gridX",
        "gridY",
        "gridZ",
        "blockX",
        "blockY",
        "blockZ",
        "registersPerThread",
        "staticSharedMemory",
        "dynamicSharedMemory",
    ];
    /// Where its columns of the launch begin, and that of the static part of its shared memory.
    const GRID: usize = DeviceRow::FIRST.len() + 3;
    const STATIC_SHARED_MEMORY: usize = KernelRow::GRID + 7;

    pub(super) fn read(row: &Record<'_>, names: NsysKernelNames) -> Result<KernelRow, Fault> {
        let name = kernel_name(row, names)?.ok_or_else(|| row.fault(DeviceRow::FIRST.len(), "NULL"))?;
        let geometry = KernelRow::geometry(row)?;
        let mut work = DeviceRow::read(row, KernelRow::COLUMNS.len())?;
        let shared = row.integer(KernelRow::STATIC_SHARED_MEMORY)?;
        work.cuda.static_shared_memory = shared.and_then(|size| u32::try_from(size).ok());
        Ok(KernelRow { work, name, geometry })
    }

    /// How a kernel was launched, where the table says.
    fn geometry(row: &Record<'_>) -> Result<Option<LaunchGeometry>, Fault> {
        const GRID: usize = KernelRow::GRID;
        const SHARED: usize = KernelRow::STATIC_SHARED_MEMORY;
        if row.integer(GRID)?.is_none() || row.integer(GRID + 3)?.is_none() {
            return Ok(None);
        }
        let size = |column: usize| row.size(GRID + column, 1);
        let shared = match [row.integer(SHARED)?, row.integer(SHARED + 1)?] {
            [None, None] => None,
            [fixed, dynamic] => {
                let total = fixed.unwrap_or(0).saturating_add(dynamic.unwrap_or(0));
                Some(u32::try_from(total).map_err(|_| row.fault(SHARED + 1, &total.to_string()))?)
            }
        };
        let registers = row.size(GRID + 6, 0)?;
        Ok(Some(LaunchGeometry {
            grid: [size(0)?, size(1)?, size(2)?],
            block: [size(3)?, size(4)?, size(5)?],
            registers_per_thread: Some(registers).filter(|&registers| registers > 0),
            shared_memory: shared,
        }))
    }
}

/// A row of NVTX: a mark, a range, or the name of a domain or thread.
pub(super) struct NvtxRow {
    pub(super) range: NvtxSpan,
    text: RowText,
    /// Place among the payloads of the part.
    payload: Option<usize>,
}

/// A mark or range of NVTX.
#[derive(Clone, Copy)]
pub(super) struct NvtxSpan {
    pub(super) kind: i64,
    pub(super) start: i64,
    pub(super) end: Option<i64>,
    pub(super) thread: Option<GlobalId>,
    pub(super) domain: i64,
    pub(super) crosses_threads: bool,
}

impl NvtxSpan {
    /// What its text says: only the program's own ranges are calls of operators.
    pub(super) fn parsed<'t>(&self, text: &'t str) -> NvtxText<'t> {
        match (self.domain, self.kind) {
            (0, nvtx::PUSH_POP) => NvtxText::parse(text),
            _ => NvtxText { name: text, ..NvtxText::default() },
        }
    }
}

#[derive(Clone, Copy)]
enum RowText {
    /// In the row. What is used of it is among the texts of the part: from `start` on its name, its sizes and the whole text,
    /// each with so many bytes.
    Inline {
        start: usize,
        name: u32,
        sizes: Option<u32>,
        whole: Option<u32>,
        numbers: [Option<i64>; 2],
        is_operator: bool,
    },
    /// In the table of strings, by its id.
    Registered(Option<i64>),
}

/// Rows of NVTX that follow each other.
#[derive(Default)]
pub(super) struct NvtxPart {
    pub(super) rows: Vec<NvtxRow>,
    texts: String,
    payloads: Vec<Payload>,
    pub(super) faults: TextFaults,
    /// Rows of kinds that are not used.
    pub(super) unused: u64,
}

/// What is written in a row of NVTX.
pub(super) enum NvtxWritten<'p> {
    /// The parts of a text, and all of it where that is asked for.
    Inline(NvtxText<'p>, Option<&'p str>),
    /// Id of a registered string, if any.
    Registered(Option<i64>),
}

/// What rows of NVTX are read with.
#[derive(Clone, Copy)]
pub(super) struct NvtxReading<'r> {
    pub(super) enumerations: &'r Enumerations,
    pub(super) payloads: &'r Schemas,
    pub(super) whole_texts: bool,
}

/// Columns of NVTX, and where the text, its id and the payload are among them.
const NVTX_COLUMNS: [&str; 9] =
    ["start", "end", "globalTid", "eventType", "text", "textId", "domainId", "endGlobalTid", "binaryData"];
const TEXT: usize = 4;
const TEXT_ID: usize = 5;
const PAYLOAD: usize = 8;

impl NvtxReading<'_> {
    /// The columns that are read: payloads only where it is known what they say.
    pub(super) fn columns(self) -> &'static [&'static str] {
        if self.payloads.is_empty() { &NVTX_COLUMNS[..PAYLOAD] } else { &NVTX_COLUMNS }
    }

    /// Adds a row to a part.
    pub(super) fn read(self, row: &Record<'_>, part: &mut NvtxPart) -> Result<(), Fault> {
        let Some(kind) = self.enumerations.nvtx_type(row.required(3)?) else { return Ok(()) };
        let is_span = match kind {
            nvtx::MARK | nvtx::PUSH_POP | nvtx::START_END | nvtx::NVTXT_PUSH_POP | nvtx::NVTXT_START_END => {
                true
            }
            nvtx::DOMAIN_CREATED | nvtx::THREAD_NAME => false,
            nvtx::CATEGORY | nvtx::DOMAIN_DESTROYED => return Ok(()),
            _ if nvtx::CUDA_NAMES.contains(&kind) => return Ok(()),
            _ => {
                part.unused += 1;
                return Ok(());
            }
        };
        let (start, end) = if is_span { span(row)? } else { (0, None) };
        let thread = GlobalId::from_column(row.integer(2)?);
        let ended_by = if is_span { GlobalId::from_column(row.integer(7)?) } else { None };
        let domain = row.integer(6)?.unwrap_or(0);
        let crosses_threads = kind != nvtx::PUSH_POP && ended_by.is_some_and(|other| Some(other) != thread);
        let range = NvtxSpan { kind, start, end, thread, domain, crosses_threads };
        let text = match nvtx_text(row, TEXT, TEXT_ID)? {
            (Some(bytes), _) => {
                let text = part.faults.clipped(bytes);
                let NvtxText { name, sequence, operator, sizes, is_operator } = range.parsed(&text);
                RowText::Inline {
                    start: part.texts.len(),
                    name: part.keep(name),
                    sizes: sizes.map(|sizes| part.keep(sizes)),
                    whole: self.whole_texts.then(|| part.keep(&text)),
                    numbers: [sequence, operator],
                    is_operator,
                }
            }
            (None, registered) => RowText::Registered(registered),
        };
        let bytes = if domain != 0 && !self.payloads.is_empty() { row.bytes(PAYLOAD) } else { None };
        let payload = bytes.and_then(|bytes| self.payloads.decode(bytes)).map(|payload| {
            part.payloads.push(payload);
            part.payloads.len() - 1
        });
        part.rows.push(NvtxRow { range, text, payload });
        Ok(())
    }
}

impl NvtxPart {
    /// Adds a text, which has at most [`LONGEST_TEXT`](super::strings::LONGEST_TEXT) bytes or the few more of replaced ones.
    fn keep(&mut self, text: &str) -> u32 {
        self.texts.push_str(text);
        text.len() as u32
    }

    pub(super) fn written(&self, row: &NvtxRow) -> NvtxWritten<'_> {
        match row.text {
            RowText::Inline { start, name, sizes, whole, numbers: [sequence, operator], is_operator } => {
                let mut rest = &self.texts[start..];
                let mut next = |length: u32| {
                    let (text, behind) = rest.split_at(length as usize);
                    rest = behind;
                    text
                };
                let (name, sizes, whole) = (next(name), sizes.map(&mut next), whole.map(next));
                NvtxWritten::Inline(NvtxText { name, sequence, operator, sizes, is_operator }, whole)
            }
            RowText::Registered(id) => NvtxWritten::Registered(id),
        }
    }

    /// What the payload of a row says; nothing where it has none.
    pub(super) fn payload(&self, row: &NvtxRow) -> Payload {
        row.payload.map(|place| self.payloads[place]).unwrap_or_default()
    }

    pub(super) fn clear(&mut self) {
        let NvtxPart { rows, texts, payloads, faults, unused } = self;
        rows.clear();
        texts.clear();
        payloads.clear();
        (*faults, *unused) = (TextFaults::default(), 0);
    }
}

/// The text of an NVTX row, or else the id of a registered string. Recorders before 2022 write empty texts and zeros in
/// place of NULL.
fn nvtx_text<'r>(row: &Record<'r>, text: usize, id: usize) -> Result<(Option<&'r [u8]>, Option<i64>), Fault> {
    let inline = row.text(text);
    if inline.is_some_and(|text| !text.is_empty()) {
        return Ok((inline, None));
    }
    Ok((None, row.integer(id)?.filter(|&id| id != 0)))
}

/// Id of the name of a kernel: the one that is asked for, or else the fullest that it has.
fn kernel_name(row: &Record<'_>, names: NsysKernelNames) -> Result<Option<i64>, Fault> {
    const DEMANGLED: usize = DeviceRow::FIRST.len();
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
