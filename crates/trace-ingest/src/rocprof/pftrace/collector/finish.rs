//! The profile, when every slice was taken.

use std::path::Path;

use hashbrown::HashMap;

use super::{Collector, STREAM_OF_LANE, THREAD_OF_LANE};
use crate::error::IngestError;
use crate::rocprof::fault::ProfileWarning;
use crate::rocprof::pftrace::kernel::kernel_of_name;
use crate::rocprof::pftrace::lanes::Lane;
use crate::rocprof::profile::{Kernel, Process, Profile, SourceFormat};

impl Collector {
    /// The profile, once every slice was taken. `lanes` are the rows that slices referred to.
    ///
    /// # Errors
    /// When there are slices and none is the profiler's.
    pub(in crate::rocprof::pftrace) fn finish(
        mut self,
        path: &Path,
        source: SourceFormat,
        lanes: &[Lane],
    ) -> Result<Profile, IngestError> {
        if self.recognised == 0 && !self.foreign.is_empty() {
            let categories: Vec<String> =
                self.foreign.iter().map(|&category| format!("{:?}", self.text(category))).collect();
            return Err(IngestError::NotRocprof {
                path: path.to_path_buf(),
                missing: "no slice of kernel_dispatch, memory_copy, hip_api or another of its categories"
                    .to_string(),
                found: format!("a trace of another program, with slices of {}", categories.join(", ")),
            });
        }
        let detail = "no usable time".to_string();
        self.warn(
            self.without_time,
            ProfileWarning::MalformedRecords { list: "slices".to_string(), count: self.without_time, detail },
        );
        self.warn(self.unclosed, ProfileWarning::UnclosedSlices { count: self.unclosed });

        let processes = self.place_processes(lanes);
        self.name_kernels(&processes);
        let lane = |lane: u32| lanes.get(lane as usize).copied().unwrap_or_default();
        let process = |lane: u32| processes.get(lane as usize).copied().unwrap_or(0);
        let thread = |thread: i64, own: u32| match thread {
            THREAD_OF_LANE => lane(own).tid.unwrap_or(0),
            thread => thread,
        };
        let stream = |stream: u64, own: u32| match stream {
            STREAM_OF_LANE => lane(own).stream.unwrap_or(0),
            stream => stream,
        };
        let profile = &mut self.builder.profile;
        profile.source = source;
        for dispatch in &mut profile.dispatches {
            dispatch.thread = thread(dispatch.thread, dispatch.process);
            dispatch.stream = stream(dispatch.stream, dispatch.process);
            dispatch.process = process(dispatch.process);
        }
        for copy in &mut profile.copies {
            copy.thread = thread(copy.thread, copy.process);
            copy.stream = stream(copy.stream, copy.process);
            copy.process = process(copy.process);
        }
        for call in &mut profile.calls {
            call.thread = thread(call.thread, call.process);
            call.process = process(call.process);
        }
        for allocation in &mut profile.allocations {
            allocation.process = process(allocation.process);
        }
        for scratch in &mut profile.scratch {
            scratch.process = process(scratch.process);
        }
        Ok(self.builder.finish())
    }

    /// Adds the processes of the rows that records lie on; the position of each row's process.
    fn place_processes(&mut self, lanes: &[Lane]) -> Vec<u32> {
        let profile = &mut self.builder.profile;
        let mut used = vec![false; lanes.len()];
        let of_records = (profile.dispatches.iter().map(|record| record.process))
            .chain(profile.copies.iter().map(|record| record.process))
            .chain(profile.calls.iter().map(|record| record.process))
            .chain(profile.allocations.iter().map(|record| record.process))
            .chain(profile.scratch.iter().map(|record| record.process));
        for lane in of_records {
            if let Some(used) = used.get_mut(lane as usize) {
                *used = true;
            }
        }
        let mut positions = HashMap::new();
        let mut processes = Vec::with_capacity(lanes.len());
        for (lane, used) in lanes.iter().zip(used) {
            processes.push(if used {
                *positions.entry(lane.pid).or_insert_with(|| {
                    profile.processes.push(Process { pid: lane.pid, ..Process::default() });
                    profile.processes.len() as u32 - 1
                })
            } else {
                0
            });
        }
        if profile.processes.is_empty() {
            profile.processes.push(Process::default());
        }
        processes
    }

    /// Adds the kernels of the dispatches.
    fn name_kernels(&mut self, processes: &[u32]) {
        let positions: Vec<u32> = std::mem::take(&mut self.seen_kernels)
            .into_iter()
            .map(|seen| {
                let process = processes.get(seen.lane as usize).copied().unwrap_or(0);
                let names = kernel_of_name(&mut self.builder, seen.name, seen.symbol);
                self.builder.named_kernel(Kernel { process, id: seen.id, ..names })
            })
            .collect();
        for dispatch in &mut self.builder.profile.dispatches {
            dispatch.kernel = positions[dispatch.kernel as usize];
        }
    }
}
