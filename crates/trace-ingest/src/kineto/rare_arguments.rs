//! Arguments that few events have: a row of the table says what an argument is called and where its value goes.

use crate::event_table::{
    Collective, GRAPH_NODE_BITS, LaunchGeometry, MemoryTransfer, Synchronization, TritonCall,
};
use crate::json::number::{float, integer};
use crate::string_table::StringId;
use crate::trace::EventArguments;

/// The rare arguments of one event.
#[derive(Default)]
pub(crate) struct RareArguments {
    pub(crate) geometry: LaunchGeometry,
    pub(crate) transfer: MemoryTransfer,
    pub(crate) collective: Collective,
    pub(crate) triton: TritonCall,
    pub(crate) synchronization: Synchronization,
    pub(crate) graph: Option<i64>,
    pub(crate) graph_node: Option<i64>,
    pub(crate) launched_kernel: Option<StringId>,
    pub(crate) call_stack: Option<StringId>,
    pub(crate) task_type: Option<StringId>,
    /// Whether XLA calls the instruction a convolution, and what the framework does by it.
    pub(crate) is_convolution: bool,
    pub(crate) framework_op: Option<StringId>,
}

impl RareArguments {
    /// What tells the kind of work where neither category nor name do: the type of a task of Ascend, and of a convolution of
    /// XLA, which may be a matrix product, what the framework does by it.
    pub(crate) fn kind_of_work(&self) -> Option<StringId> {
        self.task_type.or(self.framework_op.filter(|_| self.is_convolution))
    }

    /// As arguments of an event: those that say something. Of the geometry grid and block are not among them.
    pub(crate) fn into_arguments(self) -> EventArguments {
        fn said<T: Default + PartialEq>(value: T) -> Option<T> {
            (value != T::default()).then_some(value)
        }
        EventArguments {
            geometry: said(self.geometry),
            transfer: said(self.transfer),
            collective: said(self.collective),
            triton: said(self.triton),
            synchronization: said(self.synchronization),
            graph_node: self.graph_node.map(|node| whole_node(self.graph, node)),
            launched_kernel: self.launched_kernel,
            call_stack: self.call_stack,
            ..EventArguments::default()
        }
    }
}

/// The number of a node among those of all graphs: the graph's number stands in the upper half. Some recorders give the
/// lower half alone, beside the graph's.
fn whole_node(graph: Option<i64>, node: i64) -> i64 {
    let upper = graph.filter(|graph| (1..1 << 31).contains(graph) && (0..1 << 32).contains(&node));
    upper.unwrap_or(0) << GRAPH_NODE_BITS | node
}

/// Value of a rare argument.
pub(crate) struct RareText<'t> {
    pub(crate) id: StringId,
    /// Without white space around it.
    pub(crate) text: &'t [u8],
}

impl RareText<'_> {
    fn integer(&self) -> Option<i64> {
        integer(self.text)
    }

    fn unsigned_long(&self) -> Option<u64> {
        self.integer().and_then(|value| u64::try_from(value).ok())
    }

    fn unsigned(&self) -> Option<u32> {
        self.integer().and_then(|value| u32::try_from(value).ok())
    }
}

/// A rare argument: its position in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RareField(u8);

type Set = fn(&mut RareArguments, RareText<'_>);

const FIELDS: [(&[u8], Set); 37] = [
    (b"registers per thread", |to, value| to.geometry.registers_per_thread = value.unsigned()),
    (b"shared memory", |to, value| to.geometry.shared_memory = value.unsigned()),
    (b"bytes", |to, value| to.transfer.bytes = value.unsigned_long()),
    (b"size", |to, value| to.transfer.bytes = value.unsigned_long()),
    (b"direction", |to, value| to.transfer.direction = Some(value.id)),
    (b"memory bandwidth (GB/s)", |to, value| to.transfer.bandwidth_gb_per_s = float(value.text)),
    (b"graph id", |to, value| to.graph = value.integer()),
    (b"graph node id", |to, value| to.graph_node = value.integer()),
    (b"Task Type", |to, value| to.task_type = Some(value.id)),
    (b"hlo_category", |to, value| to.is_convolution = value.text.starts_with(b"convolution")),
    (b"tf_op", |to, value| to.framework_op = Some(value.id)),
    (b"kernel", |to, value| to.launched_kernel = Some(value.id)),
    (b"Call stack", |to, value| to.call_stack = Some(value.id).filter(|_| !value.text.is_empty())),
    (b"Collective name", |to, value| to.collective.name = Some(value.id)),
    (b"Process Group Name", |to, value| to.collective.group_name = Some(value.id)),
    (b"Process Group Description", |to, value| to.collective.group_description = Some(value.id)),
    (b"Process Group Ranks", |to, value| to.collective.group_ranks = Some(value.id)),
    (b"Group size", |to, value| to.collective.group_size = value.integer()),
    (b"dtype", |to, value| to.collective.dtype = Some(value.id)),
    (b"In msg nelems", |to, value| to.collective.in_elements = value.integer()),
    (b"Out msg nelems", |to, value| to.collective.out_elements = value.integer()),
    (b"In split size", |to, value| to.collective.in_split_size = Some(value.id)),
    (b"Out split size", |to, value| to.collective.out_split_size = Some(value.id)),
    (b"Rank", |to, value| to.collective.rank = value.integer()),
    (b"Global rank start", |to, value| to.collective.global_rank_start = value.integer()),
    (b"Global rank stride", |to, value| to.collective.global_rank_stride = value.integer()),
    (b"Seq", |to, value| to.collective.sequence = value.integer()),
    (b"Src Rank", |to, value| to.collective.source_rank = value.integer()),
    (b"Dst Rank", |to, value| to.collective.destination_rank = value.integer()),
    (b"cuda_sync_kind", |to, value| to.synchronization.kind = Some(value.id)),
    (b"wait_on_stream", |to, value| to.synchronization.stream = value.integer()),
    (b"wait_on_cuda_event_record_corr_id", |to, value| to.synchronization.record = value.integer()),
    (b"kernel_file", |to, value| to.triton.file = Some(value.id)),
    (b"kernel_hash", |to, value| to.triton.hash = Some(value.id)),
    (b"kernel_kwargs", |to, value| to.triton.keyword_arguments = Some(value.id)),
    (b"num_warps", |to, value| to.triton.warps = value.unsigned()),
    (b"num_stages", |to, value| to.triton.stages = value.unsigned()),
];

/// Arguments whose text reports show: JSON lists among them become tuples.
const SHOWN: [&[u8]; 3] = [b"Process Group Ranks", b"In split size", b"Out split size"];

/// By the length of names, the first argument of that length. Most arguments of most events are none of the table, which
/// their length says without a comparison.
const FIRST_OF_LENGTH: [Option<RareField>; LONGEST + 1] = length_chains().0;
/// By argument, the next whose name is as long.
const NEXT_OF_LENGTH: [Option<RareField>; FIELDS.len()] = length_chains().1;
const LONGEST: usize = 33;

const fn length_chains() -> ([Option<RareField>; LONGEST + 1], [Option<RareField>; FIELDS.len()]) {
    let (mut first, mut next) = ([None; LONGEST + 1], [None; FIELDS.len()]);
    let mut at = FIELDS.len();
    while at > 0 {
        at -= 1;
        let length = FIELDS[at].0.len();
        next[at] = first[length];
        first[length] = Some(RareField(at as u8));
    }
    (first, next)
}

impl RareField {
    /// The argument of this name.
    pub(crate) fn from_key(key: &[u8]) -> Option<RareField> {
        let mut candidate = *FIRST_OF_LENGTH.get(key.len())?;
        while let Some(RareField(at)) = candidate {
            if FIELDS[usize::from(at)].0 == key {
                break;
            }
            candidate = NEXT_OF_LENGTH[usize::from(at)];
        }
        candidate
    }

    /// Whether it says which collective the event is of.
    pub(crate) fn is_collective_name(self) -> bool {
        FIELDS[usize::from(self.0)].0 == b"Collective name"
    }

    pub(crate) fn is_shown(self) -> bool {
        SHOWN.contains(&FIELDS[usize::from(self.0)].0)
    }

    pub(crate) fn set(self, arguments: &mut RareArguments, value: RareText<'_>) {
        FIELDS[usize::from(self.0)].1(arguments, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_graphs_have_the_number_of_their_graph_in_the_upper_half() {
        for (graph, node, whole) in [
            (None, 11, 11),
            (Some(3), 11, 12_884_901_899),
            (Some(3), 12_884_901_899, 12_884_901_899),
            (Some(0), 11, 11),
            (Some(-1), 11, 11),
            (Some(3), -1, -1),
        ] {
            assert_eq!(whole_node(graph, node), whole, "{graph:?} {node}");
        }
    }

    #[test]
    fn every_argument_is_found_by_its_name_and_by_no_other() {
        for (position, (name, _)) in FIELDS.iter().enumerate() {
            assert_eq!(RareField::from_key(name), Some(RareField(position as u8)));
            assert_eq!(RareField::from_key(&name.to_ascii_uppercase()), None);
        }
        for name in [&b""[..], b"context", b"est. achieved occupancy %", &[b'x'; LONGEST + 1]] {
            assert_eq!(RareField::from_key(name), None);
        }
    }
}
