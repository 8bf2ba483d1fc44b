//! Makes profiles record by record, and reads the columns of tables.

use polars::prelude::DataFrame;
use trace_ingest::StringId;
use trace_ingest::rocprof::{Agent, Call, CopyDirection, Dispatch, Domain, Launch, MemoryCopy};

use crate::rocprof::fixture::{Recorded, built};
use crate::rocprof::{PftraceOptions, RocprofAnalysis, RocprofOptions};

/// A profile of one process, 7, in the making.
pub(super) struct Fixture {
    pub(super) recorded: Recorded,
}

impl Fixture {
    pub(super) fn new() -> Self {
        let mut recorded = Recorded::new(None);
        recorded.profile.processes[0].pid = Some(7);
        Fixture { recorded }
    }

    /// The agent that records call `label`.
    pub(super) fn agent(&mut self, label: &str) -> u32 {
        let agents = &mut self.recorded.profile.agents;
        let known = agents.iter().position(|agent| agent.label == label);
        known.unwrap_or_else(|| {
            agents.push(Agent { label: label.to_owned(), ..Agent::default() });
            agents.len() - 1
        }) as u32
    }

    pub(super) fn launch(&mut self, launch: Launch) -> u32 {
        self.recorded.profile.launches.push(launch);
        self.recorded.profile.launches.len() as u32 - 1
    }

    /// A kernel of thread 1 on an agent, with its start and length.
    pub(super) fn kernel(&mut self, name: &str, agent: &str, start: i64, length: i64) -> &mut Dispatch {
        let agent = self.agent(agent);
        let dispatch = self.recorded.run(name, Some(agent), start, start + length);
        dispatch.thread = 1;
        dispatch
    }

    /// A HIP call of thread 1.
    pub(super) fn call(&mut self, name: &str, start: i64, length: i64) -> &mut Call {
        let profile = &mut self.recorded.profile;
        let name = profile.strings.intern(name);
        profile.calls.push(Call {
            start,
            end: start + length,
            correlation: None,
            thread: 1,
            stream: 0,
            operation: 0,
            process: 0,
            domain: Domain::Hip,
            kind: StringId::EMPTY,
            name,
        });
        profile.calls.last_mut().unwrap()
    }

    /// A copy `MEMORY_COPY` without agents.
    pub(super) fn copy(
        &mut self,
        direction: CopyDirection,
        bytes: Option<u64>,
        start: i64,
        length: i64,
    ) -> &mut MemoryCopy {
        let copy = self.recorded.copy(direction, [None; 2], start, start + length);
        copy.bytes = bytes;
        copy
    }

    pub(super) fn analysis(&self, pftrace: PftraceOptions) -> RocprofAnalysis {
        let options = RocprofOptions { pftrace: Some(pftrace), ..RocprofOptions::default() };
        RocprofAnalysis::new(self.recorded.profile.clone(), options)
    }

    pub(super) fn reference(&self, pftrace: PftraceOptions) -> RocprofAnalysis {
        let options = RocprofOptions { pftrace: Some(pftrace), parity: true, ..RocprofOptions::default() };
        RocprofAnalysis::new(self.recorded.profile.clone(), options)
    }
}

/// A table that was asked for.
pub(super) fn table(analysis: &RocprofAnalysis, name: &str) -> DataFrame {
    built(analysis, name).unwrap_or_else(|| panic!("{name} was left out"))
}

pub(super) fn texts(frame: &DataFrame, column: &str) -> Vec<String> {
    frame.column(column).unwrap().str().unwrap().iter().map(|cell| cell.unwrap().to_owned()).collect()
}

pub(super) fn floats(frame: &DataFrame, column: &str) -> Vec<f64> {
    frame.column(column).unwrap().f64().unwrap().iter().map(Option::unwrap).collect()
}

pub(super) fn integers(frame: &DataFrame, column: &str) -> Vec<i64> {
    frame.column(column).unwrap().i64().unwrap().iter().map(Option::unwrap).collect()
}
