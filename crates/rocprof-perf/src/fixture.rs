//! Profiles by hand, and sheets as text.

use sheets::{Cell, Layout, Table};
use trace_ingest::Nanoseconds;
use trace_ingest::rocprof::{
    Agent, AgentKind, CopyDirection, Dispatch, Kernel, Launch, MemoryCopy, Process, Profile,
};

use crate::{RocprofAnalysis, RocprofOptions, rocprof_sheets};

/// A profile of one process.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) profile: Profile,
}

impl Recorded {
    /// Nothing yet; the profiler was active during these nanoseconds.
    pub(crate) fn new(times: Option<(i64, i64)>) -> Self {
        let mut recorded = Recorded { profile: Profile::default() };
        recorded.process(times);
        let launch = Launch { grid: [1; 3], workgroup: [1; 3], ..Launch::default() };
        recorded.profile.launches.push(launch);
        recorded
    }

    pub(crate) fn process(&mut self, times: Option<(i64, i64)>) -> u32 {
        let (init, fini) = times.map(|(init, fini)| (Nanoseconds(init), Nanoseconds(fini))).unzip();
        self.profile.processes.push(Process { init, fini, ..Process::default() });
        self.profile.processes.len() as u32 - 1
    }

    /// Adds a GPU with an ordinal.
    pub(crate) fn gpu(&mut self, label: &str, ordinal: i64) -> u32 {
        let product_name = Some("AMD Instinct MI300X".to_owned());
        self.profile.agents.push(Agent {
            kind: AgentKind::Gpu,
            label: label.to_owned(),
            product_name,
            ordinal: Some(ordinal),
            ..Agent::default()
        });
        self.profile.agents.len() as u32 - 1
    }

    pub(crate) fn cpu(&mut self, label: &str) -> u32 {
        self.profile.agents.push(Agent { kind: AgentKind::Cpu, label: label.to_owned(), ..Agent::default() });
        self.profile.agents.len() as u32 - 1
    }

    /// Adds a kernel: number; mangled, formatted and truncated name.
    pub(crate) fn kernel(&mut self, id: u64, names: [Option<&str>; 3]) -> u32 {
        let [mangled, formatted, truncated] =
            names.map(|name| name.map(|name| self.profile.strings.intern(name)));
        let kernel = Kernel { id: Some(id), mangled, formatted, truncated, ..Kernel::default() };
        self.profile.kernels.push(kernel);
        self.profile.kernels.len() as u32 - 1
    }

    /// Adds a run of a kernel; dispatches are numbered from 1.
    pub(crate) fn dispatch(
        &mut self,
        kernel: u32,
        agent: Option<u32>,
        start: i64,
        end: i64,
    ) -> &mut Dispatch {
        let dispatch = Dispatch {
            start: Nanoseconds(start),
            end: Nanoseconds(end),
            correlation: None,
            dispatch_id: self.profile.dispatches.len() as u64 + 1,
            thread: 0,
            queue: 0,
            stream: 0,
            process: 0,
            agent,
            kernel,
            launch: 0,
        };
        self.profile.dispatches.push(dispatch);
        self.profile.dispatches.last_mut().unwrap()
    }

    /// Adds a run of the kernel with a truncated name, which is added when it is new.
    pub(crate) fn run(&mut self, name: &str, agent: Option<u32>, start: i64, end: i64) -> &mut Dispatch {
        let known =
            self.profile.strings.find(name).and_then(|name| {
                self.profile.kernels.iter().position(|kernel| kernel.truncated == Some(name))
            });
        let kernel = match known {
            Some(kernel) => kernel as u32,
            None => self.kernel(self.profile.kernels.len() as u64 + 1, [None, None, Some(name)]),
        };
        self.dispatch(kernel, agent, start, end)
    }

    pub(crate) fn copy(
        &mut self,
        direction: CopyDirection,
        ends: [Option<u32>; 2],
        start: i64,
        end: i64,
    ) -> &mut MemoryCopy {
        let name = self.profile.strings.intern("MEMORY_COPY");
        let [source, destination] = ends;
        self.profile.copies.push(MemoryCopy {
            start: Nanoseconds(start),
            end: Nanoseconds(end),
            correlation: None,
            bytes: None,
            thread: 0,
            stream: 0,
            process: 0,
            source,
            destination,
            direction,
            name,
        });
        self.profile.copies.last_mut().unwrap()
    }

    /// The profile made ready.
    pub(crate) fn analyse(self, options: RocprofOptions) -> RocprofAnalysis {
        RocprofAnalysis::new(self.profile, options)
    }
}

/// The table of a sheet in the layout that has all columns; `None` when it is left out.
pub(crate) fn built(analysis: &RocprofAnalysis, name: &str) -> Option<Table> {
    rocprof_sheets()
        .iter()
        .find(|sheet| sheet.name == name)
        .unwrap()
        .table_in(analysis, Layout::Listed)
        .unwrap()
}

/// Names of its columns.
pub(crate) fn headers(table: &Table) -> Vec<&str> {
    table.columns().iter().map(|column| column.name()).collect()
}

/// The rows of a sheet, each as the cells of some columns; both are joined by ` | `. Null is `-`, and numbers that are
/// not whole have a point.
pub(crate) fn rows(analysis: &RocprofAnalysis, sheet: &str, columns: &str) -> Vec<String> {
    let table = built(analysis, sheet).unwrap_or_else(|| panic!("{sheet} was left out"));
    let text = |row: usize, column: &str| match table.column(column).unwrap().cell(row) {
        Cell::Missing => "-".to_owned(),
        Cell::Number(number) => format!("{number:?}"),
        cell => cell.text().into_owned(),
    };
    let line = |row| columns.split(" | ").map(|column| text(row, column)).collect::<Vec<_>>().join(" | ");
    (0..table.height()).map(line).collect()
}
