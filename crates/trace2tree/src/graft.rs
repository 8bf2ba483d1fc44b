//! Calls of one recording below a launch of another.
//!
//! A graph launch is one call on the host, however much it starts on the device. The operators that its kernels
//! belong to ran when the graph was captured, often in another recording. Grafting puts them where the kernels
//! are.

use std::collections::BTreeMap;
use std::ptr;

use trace_ingest::{
    Category, Collective, EventArguments, EventId, NewEvent, Phase, RowId, SignatureId, StringId, Trace,
    Track, TritonCall,
};

use crate::edit::{EditError, EventLabel, TreeEdit};
use crate::event_set::EventSet;
use crate::row::{NONE, some};
use crate::tree::TraceTree;

#[cfg(test)]
mod tests;

/// Host calls copied out of a recording: some launches, and the calls around them.
///
/// It holds nothing else of the recording, which may be dropped. Numbers that only mean something within the
/// recording are left behind: correlation ids, External ids, sequence numbers and the ids of Python frames.
#[derive(Clone, Debug, Default)]
pub struct RecordedCalls {
    /// The calls in pre-order, on a track without a name.
    trace: Trace,
    /// The caller of each.
    parent: Vec<u32>,
    /// The launches, as they were given.
    launches: Vec<EventId>,
}

impl RecordedCalls {
    /// Copies launches, which must be host events of the tree, and the callers around each up to the first one
    /// that `include` refuses. Calls keep the order that they have in the tree.
    ///
    /// # Errors
    /// [`EditError::NotAHostEvent`].
    pub fn copy(
        tree: &TraceTree,
        launches: &[EventId],
        include: impl Fn(EventId) -> bool,
    ) -> Result<RecordedCalls, EditError> {
        let mut seen = EventSet::with_capacity(tree.trace().events().len());
        let mut calls = Vec::new();
        for &launch in launches {
            let callers = tree.ancestors(launch).take_while(|&caller| include(caller));
            for call in std::iter::once(launch).chain(callers).take_while(|&call| seen.insert(call)) {
                let Some(position) = tree.layout().position(call) else {
                    return Err(EditError::NotAHostEvent(EventLabel::new(tree.trace(), call)));
                };
                calls.push((position, call));
            }
        }
        calls.sort_unstable();
        let row_of = |call: EventId| {
            let position = tree.layout().position(call)?;
            calls.binary_search_by_key(&position, |&(position, _)| position).ok()
        };
        let mut copied = RecordedCalls::default();
        let track = copied.trace.intern_track(Track { pid: RowId::Missing, tid: RowId::Missing });
        let mut translation = Translation::default();
        for &(_, call) in &calls {
            let (category, name, arguments) = translation.call(tree.trace(), call, &mut copied.trace);
            let (start, duration) = (tree.trace().events().start(call), tree.trace().events().duration(call));
            let phase = Phase::Complete;
            copied.trace.append(NewEvent { phase, category, name, track, start, duration, arguments });
            let caller = tree.parent(call).and_then(row_of);
            copied.parent.push(caller.map_or(NONE, |row| row as u32));
        }
        copied.launches =
            launches.iter().filter_map(|&launch| Some(EventId(row_of(launch)? as u32))).collect();
        Ok(copied)
    }

    /// Number of calls, launches included.
    pub fn len(&self) -> usize {
        self.parent.len()
    }

    /// Whether there is no call.
    pub fn is_empty(&self) -> bool {
        self.parent.is_empty()
    }

    /// Number of launches.
    pub fn launch_count(&self) -> usize {
        self.launches.len()
    }

    /// Name of the launch at this index, such as `cudaLaunchKernel`.
    pub fn launch_name(&self, index: usize) -> Option<&str> {
        self.launches.get(index).map(|&launch| self.trace.name(launch))
    }

    /// Name of the kernel that the launch at this index was for, where the recorder wrote it.
    pub fn launched_kernel(&self, index: usize) -> Option<&str> {
        let launch = self.launches.get(index)?;
        let kernel = self.trace.events().arguments().launched_kernel.get(launch.index())?;
        Some(self.trace.text(kernel))
    }
}

/// Recorded calls to put below one launch of a tree.
#[derive(Clone, Debug)]
pub struct Graft<'c> {
    /// The call that launched the device events.
    pub launch: EventId,
    /// The calls.
    pub calls: &'c RecordedCalls,
    /// Which of the calls' launches, by index, each device event belongs below. Calls around launches that no
    /// device event belongs below are left out.
    pub device_events: Vec<(usize, EventId)>,
}

impl TreeEdit<'_> {
    /// Puts recorded calls between launches and device events of theirs, in the order given.
    ///
    /// Every call becomes an event of its own with the thread and the span of the launch it is put below: when
    /// it ran says nothing here, and how long even less ([`TraceTree::is_captured`] tells it from calls that
    /// ran). The same recorded calls may be grafted any number of times; their names and arguments are stored
    /// once. In a tree without Python frames, those among the calls are left out.
    ///
    /// # Errors
    /// [`EditError::LaunchedElsewhere`] when a device event does not hang right below the launch it is given
    /// for, and [`EditError::NoSuchLaunch`] for an index beyond the recorded launches. The tree is then as it was.
    pub fn graft(&mut self, grafts: &[Graft<'_>]) -> Result<(), EditError> {
        self.check(grafts)?;
        let mut imports: BTreeMap<*const RecordedCalls, Vec<ImportedCall>> = BTreeMap::new();
        for graft in grafts {
            let imported = imports.entry(ptr::from_ref(graft.calls)).or_insert_with(|| {
                let mut translation = Translation::default();
                let calls = graft.calls.trace.events().ids();
                calls.map(|call| translation.call(&graft.calls.trace, call, &mut self.tree.trace)).collect()
            });
            self.place(graft, imported);
        }
        Ok(())
    }

    fn check(&self, grafts: &[Graft<'_>]) -> Result<(), EditError> {
        let mut seen = EventSet::with_capacity(self.tree.trace.events().len());
        for graft in grafts {
            for &(index, device_event) in &graft.device_events {
                let launches = graft.calls.launch_count();
                if index >= launches {
                    return Err(EditError::NoSuchLaunch { index, launches });
                }
                let is_device = self.tree.trace.events().category(device_event).is_device();
                let is_below = self.tree.parent(device_event) == Some(graft.launch);
                if !is_device || !is_below || !seen.insert(device_event) {
                    let (device_event, launch) = (self.label(device_event), self.label(graft.launch));
                    return Err(EditError::LaunchedElsewhere { device_event, launch });
                }
            }
        }
        Ok(())
    }

    /// Appends the calls of one graft and moves the device events below their launches.
    fn place(&mut self, graft: &Graft<'_>, imported: &[ImportedCall]) {
        let RecordedCalls { parent, launches, .. } = graft.calls;
        let mut needed = vec![false; parent.len()];
        for &(index, _) in &graft.device_events {
            let mut call = Some(launches[index]);
            while let Some(row) = call.map(EventId::index).filter(|&row| !needed[row]) {
                needed[row] = true;
                call = some(parent[row]);
            }
        }
        let tree = &mut *self.tree;
        let (track, start, duration) = {
            let events = tree.trace.events();
            (events.track(graft.launch), events.start(graft.launch), events.duration(graft.launch))
        };
        // Callers come before callees, so a caller's event is known when it is asked for.
        let mut placed = vec![graft.launch; parent.len()];
        for (row, &(category, name, arguments)) in imported.iter().enumerate() {
            let above = some(parent[row]).map_or(graft.launch, |caller| placed[caller.index()]);
            let is_node = category != Category::PYTHON_FUNCTION || tree.options.python_frames;
            if !needed[row] || !is_node {
                placed[row] = above;
                continue;
            }
            let phase = Phase::Complete;
            let event =
                tree.trace.append(NewEvent { phase, category, name, track, start, duration, arguments });
            tree.parent.push(above.0);
            tree.captured.insert(event);
            placed[row] = event;
        }
        for &(index, device_event) in &graft.device_events {
            tree.parent[device_event.index()] = placed[launches[index].index()].0;
        }
        self.changed = true;
    }
}

impl TraceTree {
    /// Whether the host event was put here from another recording ([`TreeEdit::graft`]), or inserted around one
    /// that was. Its span is that of the launch it stands below: the host did not run it.
    pub fn is_captured(&self, event: EventId) -> bool {
        self.captured.contains(event)
    }

    /// The call of this recording that a device event was launched by: [`TraceTree::launch`], or the launch of the
    /// graph above it where that was put here from another recording.
    pub fn recorded_launch(&self, device_event: EventId) -> Option<EventId> {
        let launch = self.launch(device_event)?;
        match self.is_captured(launch) {
            true => self.ancestors(launch).find(|&above| !self.is_captured(above)),
            false => Some(launch),
        }
    }

    /// Whether any event was put here from another recording.
    pub fn has_captured(&self) -> bool {
        !self.captured.is_empty()
    }
}

/// Category, name and arguments of a call, in the ids of the trace it was brought to.
type ImportedCall = (Category, StringId, EventArguments);

/// Ids of one trace in another, found when they are first asked for.
#[derive(Default)]
struct Translation {
    strings: Vec<Option<StringId>>,
    signatures: Vec<Option<SignatureId>>,
}

impl Translation {
    fn call(&mut self, from: &Trace, call: EventId, to: &mut Trace) -> ImportedCall {
        let (events, row) = (from.events(), call.index());
        let columns = events.arguments();
        let arguments = EventArguments {
            signature: columns.signature.get(row).map(|id| self.signature(from, id, to)),
            geometry: columns.geometry.get(row),
            transfer: columns.transfer.get(row),
            collective: columns.collective.get(row).map(|collective| self.collective(from, collective, to)),
            triton: columns.triton.get(row).map(|triton| self.triton(from, triton, to)),
            launched_kernel: columns.launched_kernel.get(row).map(|kernel| self.string(from, kernel, to)),
            ..EventArguments::default()
        };
        // Calls are of the four categories of host nodes, which have the same id in every trace.
        (events.category(call), self.string(from, events.name(call), to), arguments)
    }

    fn string(&mut self, from: &Trace, id: StringId, to: &mut Trace) -> StringId {
        *slot(&mut self.strings, id.index()).get_or_insert_with(|| to.intern(from.text(id)))
    }

    fn signature(&mut self, from: &Trace, id: SignatureId, to: &mut Trace) -> SignatureId {
        *slot(&mut self.signatures, id.index()).get_or_insert_with(|| {
            let signature = from.signatures().get(id);
            let lists = [signature.dims, signature.types, signature.strides, signature.concrete];
            to.intern_signature(lists.map(|list| list.map(|id| from.signatures().argument(id).clone())))
        })
    }

    fn collective(&mut self, from: &Trace, collective: Collective, to: &mut Trace) -> Collective {
        let mut text = |id: Option<StringId>| id.map(|id| self.string(from, id, to));
        Collective {
            name: text(collective.name),
            group_name: text(collective.group_name),
            group_description: text(collective.group_description),
            group_ranks: text(collective.group_ranks),
            dtype: text(collective.dtype),
            in_split_size: text(collective.in_split_size),
            out_split_size: text(collective.out_split_size),
            ..collective
        }
    }

    fn triton(&mut self, from: &Trace, triton: TritonCall, to: &mut Trace) -> TritonCall {
        let mut text = |id: Option<StringId>| id.map(|id| self.string(from, id, to));
        TritonCall {
            file: text(triton.file),
            hash: text(triton.hash),
            keyword_arguments: text(triton.keyword_arguments),
            ..triton
        }
    }
}

fn slot<T>(known: &mut Vec<Option<T>>, index: usize) -> &mut Option<T> {
    if known.len() <= index {
        known.resize_with(index + 1, || None);
    }
    &mut known[index]
}
