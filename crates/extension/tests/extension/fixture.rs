//! Small traces for tests of scripts.

use extension::Extension;
use sheets::Cell;
use trace_ingest::{ArgumentValue, Category, EventArguments, EventId, Trace, TraceBuilder};
use trace2tree::{TraceTree, TreeOptions};
use tree_perf::{Analysis, AnalysisOptions, pytorch_sheets};

/// A trace of operators with launches below them, on threads of process 1; times in µs.
#[derive(Default)]
pub(super) struct Fixture {
    builder: TraceBuilder,
    kernels: i64,
}

impl Fixture {
    fn event(
        &mut self,
        category: Category,
        name: &str,
        tid: i64,
        at: (i64, i64),
        arguments: EventArguments,
    ) -> EventId {
        let track = self.builder.track(1, tid);
        self.builder.event(category, name, track, at.0 * 1000, at.1 * 1000, arguments)
    }

    pub(super) fn op(
        &mut self,
        name: &str,
        tid: i64,
        at: (i64, i64),
        sequence_number: Option<i64>,
        lists: [Option<ArgumentValue>; 4],
    ) -> EventId {
        let signature = Some(self.builder.signature(lists));
        let arguments = EventArguments { signature, sequence_number, ..EventArguments::default() };
        self.event(Category::CPU_OP, name, tid, at, arguments)
    }

    pub(super) fn python(&mut self, name: &str, tid: i64, at: (i64, i64)) {
        self.event(Category::PYTHON_FUNCTION, name, tid, at, EventArguments::default());
    }

    /// A launch at a time with its kernel, which has the device to itself.
    pub(super) fn kernel(&mut self, name: &str, tid: i64, at: i64, duration: i64) -> EventId {
        self.kernels += 1;
        let arguments = EventArguments { correlation: Some(self.kernels), ..EventArguments::default() };
        self.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", tid, (at, 2), arguments);
        let arguments = EventArguments { device: Some(0), stream: Some(7), ..arguments };
        self.event(Category::KERNEL, name, 70, (100_000 + 1000 * self.kernels, duration), arguments)
    }

    pub(super) fn finish(self) -> Trace {
        self.builder.finish()
    }

    pub(super) fn tree(self) -> TraceTree {
        TraceTree::build(self.finish(), &TreeOptions::default())
    }
}

fn list(items: impl IntoIterator<Item = ArgumentValue>) -> ArgumentValue {
    ArgumentValue::List(items.into_iter().collect())
}

pub(super) fn shapes(shapes: &[&[i64]]) -> Option<ArgumentValue> {
    Some(list(shapes.iter().map(|shape| list(shape.iter().map(|&size| ArgumentValue::Int(size))))))
}

pub(super) fn words(words: &[&str]) -> Option<ArgumentValue> {
    Some(list(words.iter().map(|word| ArgumentValue::Text((*word).into()))))
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
