//! Small traces for tests of scripts.

use extension::Extension;
use sheets::Cell;
use testdata::trace;
use trace_ingest::{ArgumentValue, Category, EventArguments, EventId, Trace};
use trace2tree::{TraceTree, TreeOptions};
use tree_perf::{Analysis, AnalysisOptions, pytorch_sheets};

/// A trace of operators with launches below them, on threads of process 1; times in µs.
#[derive(Default)]
pub(super) struct Fixture {
    made: trace::Fixture,
}

impl Fixture {
    fn event(
        &mut self,
        category: Category,
        name: &str,
        tid: i64,
        (start, duration): (i64, i64),
        arguments: EventArguments,
    ) -> EventId {
        self.made.event(category, name, (1, tid), (start as f64, duration as f64), arguments)
    }

    pub(super) fn op(
        &mut self,
        name: &str,
        tid: i64,
        at: (i64, i64),
        sequence_number: Option<i64>,
        lists: [Option<ArgumentValue>; 4],
    ) -> EventId {
        let arguments = EventArguments { sequence_number, ..self.made.recorded(lists) };
        self.event(Category::CPU_OP, name, tid, at, arguments)
    }

    pub(super) fn python(&mut self, name: &str, tid: i64, at: (i64, i64)) {
        self.event(Category::PYTHON_FUNCTION, name, tid, at, EventArguments::default());
    }

    /// A launch at a time with its kernel, which has the device to itself.
    pub(super) fn kernel(&mut self, name: &str, tid: i64, at: i64, duration: i64) -> EventId {
        let correlation = self.made.correlation();
        let arguments = trace::correlated(correlation);
        self.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", tid, (at, 2), arguments);
        let arguments = EventArguments { device: Some(0), stream: Some(7), ..arguments };
        self.event(Category::KERNEL, name, 70, (100_000 + 1000 * correlation, duration), arguments)
    }

    pub(super) fn finish(self) -> Trace {
        self.made.finish()
    }

    pub(super) fn tree(self) -> TraceTree {
        TraceTree::build(self.finish(), &TreeOptions::default())
    }
}

pub(super) fn shapes(shapes: &[&[i64]]) -> Option<ArgumentValue> {
    Some(trace::shapes(shapes))
}

pub(super) fn words(words: &[&str]) -> Option<ArgumentValue> {
    Some(trace::texts(words))
}

/// A row of the unified table: name, category, device time in µs, FLOPs and bytes.
pub(super) type Row = (String, String, f64, Option<(f64, f64)>);

/// The report's `unified_perf_summary` with an extension, in the order of names.
pub(super) fn unified_rows(fixture: Fixture, extension: Extension) -> Vec<Row> {
    let analysis =
        Analysis::with_extension(fixture.finish(), AnalysisOptions::default(), Box::new(extension));
    let sheet = pytorch_sheets().into_iter().find(|sheet| sheet.name == "unified_perf_summary").unwrap();
    let table = sheet.table(&analysis).unwrap().unwrap();
    let text = |column, row| table.column(column).unwrap().cell(row).text().into_owned();
    let number = |column, row| match table.column(column).unwrap().cell(row) {
        Cell::Number(number) => Some(number),
        _ => None,
    };
    let mut rows: Vec<Row> = (0..table.height())
        .map(|row| {
            let flops = number("GFLOPS", row).map(|figure| (1e9 * figure).round());
            let bytes = number("Data Moved (MB)", row).map(|figure| (1024.0 * 1024.0 * figure).round());
            let time = number("Kernel Time (µs)_sum", row).unwrap();
            (text("name", row), text("op category", row), time, flops.zip(bytes))
        })
        .collect();
    rows.sort_by(|one, other| one.0.cmp(&other.0));
    rows
}
