//! A slice as the record that it is.

use super::{Collector, RecordId, STREAM_OF_LANE, SeenKernel, THREAD_OF_LANE};
use crate::rocprof::pftrace::arguments::Key;
use crate::rocprof::pftrace::slice::Slice;
use crate::rocprof::profile::{
    AgentKind, Allocation, Call, CopyDirection, Dispatch, Domain, Launch, MemoryCopy, ScratchEvent,
};

impl Collector {
    pub(super) fn dispatch(&mut self, slice: &Slice<'_>, start: i64, end: i64) -> RecordId {
        let arguments = slice.arguments;
        let agent = self.agent(arguments, Key::Agent, AgentKind::Gpu);
        let symbol = arguments.text(Key::Symbol).map(|symbol| self.builder.profile.strings.intern(&symbol));
        let seen =
            SeenKernel { lane: slice.lane, id: arguments.integer(Key::KernelId), name: slice.name, symbol };
        let kernel = *self.kernels.entry(seen).or_insert_with(|| {
            self.seen_kernels.push(seen);
            self.seen_kernels.len() as u32 - 1
        });
        let launch = self.builder.launch(Launch {
            grid: [arguments.size(Key::GridSize), 1, 1],
            workgroup: [arguments.size(Key::WorkgroupSize), 1, 1],
            products_only: true,
            private_segment: arguments.size(Key::PrivateSegment),
            group_segment: arguments.size(Key::GroupSegment),
            vgprs: arguments.size(Key::Vgprs),
            accum_vgprs: arguments.size(Key::AccumVgprs),
            sgprs: arguments.size(Key::Sgprs),
        });
        let dispatches = &mut self.builder.profile.dispatches;
        dispatches.push(Dispatch {
            start,
            end,
            correlation: arguments.integer(Key::Correlation),
            dispatch_id: arguments.integer(Key::DispatchId).unwrap_or(0),
            thread: arguments.integer(Key::Thread).unwrap_or(THREAD_OF_LANE),
            queue: arguments.integer(Key::Queue).unwrap_or(0),
            stream: arguments.integer(Key::Stream).unwrap_or(STREAM_OF_LANE),
            process: slice.lane,
            agent,
            kernel,
            launch,
        });
        RecordId::Dispatch(dispatches.len() as u32 - 1)
    }

    pub(super) fn copy(&mut self, slice: &Slice<'_>, start: i64, end: i64) -> RecordId {
        let arguments = slice.arguments;
        let direction = CopyDirection::of_name(self.text(slice.name));
        let (from, to) = match direction {
            CopyDirection::HostToHost => (AgentKind::Cpu, AgentKind::Cpu),
            CopyDirection::HostToDevice => (AgentKind::Cpu, AgentKind::Gpu),
            CopyDirection::DeviceToHost => (AgentKind::Gpu, AgentKind::Cpu),
            CopyDirection::DeviceToDevice => (AgentKind::Gpu, AgentKind::Gpu),
            CopyDirection::Other => (AgentKind::Unknown, AgentKind::Unknown),
        };
        let source = self.agent(arguments, Key::SourceAgent, from);
        let destination = self.agent(arguments, Key::DestinationAgent, to);
        let copies = &mut self.builder.profile.copies;
        copies.push(MemoryCopy {
            start,
            end,
            correlation: arguments.integer(Key::Correlation),
            bytes: arguments.integer(Key::CopyBytes),
            thread: arguments.integer(Key::Thread).unwrap_or(THREAD_OF_LANE),
            stream: arguments.integer(Key::Stream).unwrap_or(STREAM_OF_LANE),
            process: slice.lane,
            source,
            destination,
            direction,
            name: slice.name,
        });
        RecordId::Copy(copies.len() as u32 - 1)
    }

    pub(super) fn allocation(&mut self, slice: &Slice<'_>, start: i64, end: i64) -> RecordId {
        let arguments = slice.arguments;
        let agent = self.agent(arguments, Key::Agent, AgentKind::Unknown);
        let allocations = &mut self.builder.profile.allocations;
        allocations.push(Allocation {
            start,
            end,
            correlation: arguments.integer(Key::Correlation),
            address: arguments.integer(Key::Address).unwrap_or(0),
            bytes: arguments.integer(Key::AllocationSize).unwrap_or(0),
            process: slice.lane,
            agent,
            name: slice.name,
        });
        RecordId::Allocation(allocations.len() as u32 - 1)
    }

    pub(super) fn scratch(&mut self, slice: &Slice<'_>, start: i64, end: i64) -> RecordId {
        let arguments = slice.arguments;
        let agent = self.agent(arguments, Key::Agent, AgentKind::Gpu);
        let scratch = &mut self.builder.profile.scratch;
        scratch.push(ScratchEvent {
            start,
            end,
            bytes: arguments.integer(Key::AllocationSize),
            queue: arguments.integer(Key::Queue).unwrap_or(0),
            process: slice.lane,
            agent,
            name: slice.name,
        });
        RecordId::Scratch(scratch.len() as u32 - 1)
    }

    pub(super) fn call(&mut self, slice: &Slice<'_>, domain: Domain, start: i64, end: i64) -> RecordId {
        let arguments = slice.arguments;
        let calls = &mut self.builder.profile.calls;
        calls.push(Call {
            start,
            end,
            correlation: arguments.integer(Key::Correlation),
            thread: arguments.integer(Key::Thread).unwrap_or(THREAD_OF_LANE),
            stream: arguments.integer(Key::Stream).unwrap_or(0),
            operation: arguments.integer(Key::Operation).unwrap_or(0),
            process: slice.lane,
            domain,
            kind: slice.category,
            name: slice.name,
        });
        RecordId::Call(calls.len() as u32 - 1)
    }
}
