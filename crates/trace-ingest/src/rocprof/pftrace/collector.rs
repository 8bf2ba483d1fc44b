//! Slices, wherever they come from, as records of a profile.

mod agents;
mod finish;
mod records;

use hashbrown::HashMap;

use super::arguments::Key;
use super::class::{Class, is_descriptor};
use super::slice::{LATEST, Slice, times};
use crate::rocprof::builder::ProfileBuilder;
use crate::rocprof::fault::ProfileWarning;
use crate::rocprof::profile::Domain;
use crate::string_table::StringId;

/// Stands for a thread or stream that the slice does not tell, until its row tells it.
const THREAD_OF_LANE: i64 = i64::MIN;
const STREAM_OF_LANE: u64 = u64::MAX;

/// How many foreign categories an error names.
const NAMED_CATEGORIES: usize = 4;

/// What became of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// A record whose end is known, or nothing that a profile keeps.
    Done,
    /// A record whose end is still to come.
    Open(RecordId),
}

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordId {
    Dispatch(u32),
    Copy(u32),
    Allocation(u32),
    Scratch(u32),
    Call(u32),
}

/// A kernel as slices tell it: its row stands for its process.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct SeenKernel {
    lane: u32,
    id: Option<u64>,
    name: StringId,
    symbol: Option<StringId>,
}

/// Makes records of slices.
#[derive(Default)]
pub(super) struct Collector {
    builder: ProfileBuilder,
    classes: HashMap<StringId, Class>,
    descriptors: HashMap<StringId, bool>,
    kernels: HashMap<SeenKernel, u32>,
    seen_kernels: Vec<SeenKernel>,
    /// Agents by number, so that `2`, `Agent 2` and `Agent-2` are one.
    numbered_agents: HashMap<i64, u32>,
    /// Slices of categories that the profiler has.
    recognised: u64,
    foreign: Vec<StringId>,
    without_time: u64,
    unclosed: u64,
}

impl Collector {
    /// The id of a text.
    pub(super) fn intern(&mut self, text: &str) -> StringId {
        self.builder.profile.strings.intern(text)
    }

    /// The id of a text that may not be UTF-8.
    pub(super) fn intern_bytes(&mut self, text: &[u8]) -> StringId {
        let text = String::from_utf8_lossy(text);
        if matches!(text, std::borrow::Cow::Owned(_)) {
            self.builder.invalid_utf8 += 1;
        }
        self.builder.profile.strings.intern(&text)
    }

    /// The text of an id.
    pub(super) fn text(&self, id: StringId) -> &str {
        self.builder.profile.strings.get(id)
    }

    /// Counts a text that was not UTF-8.
    pub(super) fn count_invalid_utf8(&mut self) {
        self.builder.invalid_utf8 += 1;
    }

    /// Counts a record whose end never comes.
    pub(super) fn count_unclosed(&mut self) {
        self.unclosed += 1;
    }

    /// Adds a warning, if it counts anything.
    pub(super) fn warn(&mut self, count: u64, warning: ProfileWarning) {
        if count > 0 {
            self.builder.profile.warnings.push(warning);
        }
    }

    /// Takes a slice.
    pub(super) fn slice(&mut self, slice: &Slice<'_>) -> Outcome {
        let Some(class) = self.class(slice) else { return Outcome::Done };
        let Some((start, end)) = times(slice) else {
            self.without_time += 1;
            return Outcome::Done;
        };
        let (start, known_end) = self.builder.span(start, end.unwrap_or(start));
        let record = match class {
            Class::Copy => self.copy(slice, start, known_end),
            Class::Allocation => self.allocation(slice, start, known_end),
            Class::Scratch => self.scratch(slice, start, known_end),
            Class::Call(domain) => self.call(slice, domain, start, known_end),
            Class::Dispatch | Class::Foreign => self.dispatch(slice, start, known_end),
        };
        if end.is_some() { Outcome::Done } else { Outcome::Open(record) }
    }

    /// Sets the end of a record.
    pub(super) fn close(&mut self, record: RecordId, end: i64) {
        let profile = &mut self.builder.profile;
        let (start, place) = match record {
            RecordId::Dispatch(at) => {
                let dispatch = &mut profile.dispatches[at as usize];
                (dispatch.start, &mut dispatch.end)
            }
            RecordId::Copy(at) => {
                let copy = &mut profile.copies[at as usize];
                (copy.start, &mut copy.end)
            }
            RecordId::Allocation(at) => {
                let allocation = &mut profile.allocations[at as usize];
                (allocation.start, &mut allocation.end)
            }
            RecordId::Scratch(at) => {
                let scratch = &mut profile.scratch[at as usize];
                (scratch.start, &mut scratch.end)
            }
            RecordId::Call(at) => {
                let call = &mut profile.calls[at as usize];
                (call.start, &mut call.end)
            }
        };
        *place = end.clamp(start, LATEST);
    }

    /// What a slice is; `None` for what is no record of the profiler.
    fn class(&mut self, slice: &Slice<'_>) -> Option<Class> {
        let strings = &self.builder.profile.strings;
        let class = *self
            .classes
            .entry(slice.category)
            .or_insert_with(|| Class::of_category(strings.get(slice.category)));
        // A kernel is known by its agent or its name in whatever category it is.
        let kernel = || slice.arguments.text(Key::Agent).is_some();
        let class = match class {
            Class::Call(_) | Class::Foreign if kernel() => Class::Dispatch,
            Class::Call(Domain::Marker) => class,
            Class::Call(_) | Class::Foreign => {
                let descriptor = self
                    .descriptors
                    .entry(slice.name)
                    .or_insert_with(|| is_descriptor(strings.get(slice.name)));
                if *descriptor { Class::Dispatch } else { class }
            }
            class => class,
        };
        if class != Class::Foreign {
            self.recognised += 1;
            return Some(class);
        }
        if self.foreign.len() < NAMED_CATEGORIES && !self.foreign.contains(&slice.category) {
            self.foreign.push(slice.category);
        }
        // Programs may put slices of their own into the profiler's trace.
        (slice.category != StringId::EMPTY).then_some(Class::Call(Domain::Other))
    }
}
