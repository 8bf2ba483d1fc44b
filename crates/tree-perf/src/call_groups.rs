//! Calls put together by operator, place and arguments: what a row of the tables of operators stands for, and the
//! columns that say so.

use std::borrow::Cow;

use operator_sheets::{KernelList, OpCategory, nested_argument};
use sheets::columns;
use sheets::{Cell, Column, Field, Figure, Statistics};
use trace_ingest::{ArgumentId, EventId, Sequence, Signature, SignatureId, StringId, TrackId};

use crate::analysis::Analysis;
use crate::call_overlap::{CallOverlap, NameLists, OverlapFigures, call_overlap};
use crate::call_stack::{call_stack, entry_point, parent_module};
use crate::{IndexMap, IndexSet};

/// A call that a table of operators counts.
pub(crate) trait CountedCall: 'static {
    /// Whether the table can tell calls apart by the module around them.
    const BY_MODULE: bool;

    fn operator(&self) -> EventId;
    fn name(&self, analysis: &Analysis) -> CallName;
    fn category(&self) -> &OpCategory;
    fn device_events<'a>(&'a self, analysis: &'a Analysis) -> &'a [EventId];
}

/// Name of a call in a table, by the ids of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CallName {
    pub(crate) operator: StringId,
    /// Where the row is of a device event that no row of its own operator accounts for.
    pub(crate) device_event: Option<StringId>,
}

impl CallName {
    pub(crate) fn text(self, analysis: &Analysis) -> Cow<'_, str> {
        let trace = analysis.trace();
        let operator = trace.text(self.operator);
        match self.device_event {
            Some(name) => Cow::Owned(format!("{operator}->{} (Synthetic Op)", trace.text(name))),
            None => Cow::Borrowed(operator),
        }
    }
}

/// What the calls of a row have in common. All but the category are ids, so that grouping compares integers.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct GroupKey {
    pub(crate) name: CallName,
    pub(crate) category: OpCategory,
    place: u32,
    signature: Option<SignatureId>,
    /// Id of the module around the call, if that was asked for.
    module: Option<u32>,
    /// Number of kernels, if that was asked for.
    kernels: Option<usize>,
    is_recompute: bool,
    /// Id of the list of kernels that ran beside the call.
    overlapping: Option<u32>,
}

impl GroupKey {
    /// The key of calls whatever ran beside them.
    pub(crate) fn without_overlap(&self) -> Self {
        GroupKey { overlapping: None, ..self.clone() }
    }
}

/// Calls of one row, in their order; never empty.
pub(crate) struct CallGroup<'a, Call> {
    pub(crate) key: GroupKey,
    pub(crate) calls: Vec<&'a Call>,
    overlaps: Vec<CallOverlap>,
}

impl<'a, Call: CountedCall> CallGroup<'a, Call> {
    pub(crate) fn first(&self) -> EventId {
        self.calls[0].operator()
    }

    /// The device events of the calls, position by position.
    pub(crate) fn kernels(&self, analysis: &Analysis) -> KernelList {
        KernelList::from_events(analysis.trace(), self.calls.iter().map(|call| call.device_events(analysis)))
    }

    pub(crate) fn overlaps(&self) -> impl Iterator<Item = &CallOverlap> + Clone {
        self.overlaps.iter()
    }
}

/// What the rows of a table of calls share.
pub(crate) struct CallTable<'a> {
    pub(crate) analysis: &'a Analysis,
    pub(crate) places: Places<'a>,
    /// Lists of kernels that ran beside calls; `None` where the table does not tell calls apart by them.
    pub(crate) name_lists: Option<NameLists>,
    /// Kernel time of all rows, those that the table cuts off included.
    pub(crate) kernel_time: i64,
    /// Names of the columns of parameters, in sheets that have such columns.
    pub(crate) parameters: IndexSet<&'static str>,
}

impl<'a> CallTable<'a> {
    pub(crate) fn new(analysis: &'a Analysis, with_overlap: bool) -> Self {
        CallTable {
            analysis,
            places: Places::new(analysis),
            name_lists: with_overlap.then(NameLists::default),
            kernel_time: 0,
            parameters: IndexSet::default(),
        }
    }

    /// Groups calls by what they have in common, in the order of their first calls.
    pub(crate) fn group<Call: CountedCall>(
        &mut self,
        calls: impl Iterator<Item = &'a Call>,
    ) -> Vec<CallGroup<'a, Call>> {
        let analysis = self.analysis;
        let mut groups: IndexMap<GroupKey, (Vec<&'a Call>, Vec<CallOverlap>)> = IndexMap::default();
        for call in calls {
            let device_events = call.device_events(analysis);
            let (overlapping, overlap) = match &mut self.name_lists {
                Some(name_lists) => call_overlap(analysis, device_events, name_lists),
                None => (None, CallOverlap::default()),
            };
            let key = GroupKey { overlapping, ..self.key(call, device_events.len()) };
            let (calls, overlaps) = groups.entry(key).or_default();
            calls.push(call);
            overlaps.push(overlap);
        }
        groups.into_iter().map(|(key, (calls, overlaps))| CallGroup { key, calls, overlaps }).collect()
    }

    fn key<Call: CountedCall>(&mut self, call: &Call, kernels: usize) -> GroupKey {
        let (analysis, operator) = (self.analysis, call.operator());
        let (trace, options) = (analysis.trace(), analysis.options());
        let events = trace.events();
        // Arguments none of which was recorded are no arguments.
        let is_empty = |signature| trace.signatures().get(signature) == Signature::default();
        let by_module = Call::BY_MODULE && options.group_by_parent_module;
        GroupKey {
            name: call.name(analysis),
            category: call.category().clone(),
            place: self.places.id(events.track(operator)),
            signature: events.signature(operator).filter(|&signature| !is_empty(signature)),
            module: by_module.then(|| self.places.module(parent_module(analysis.tree(), operator))),
            kernels: options.group_by_num_kernels.then_some(kernels),
            is_recompute: analysis.is_recompute(operator),
            overlapping: None,
        }
    }

    pub(crate) fn with_overlap(&self) -> bool {
        self.name_lists.is_some()
    }

    pub(crate) fn with_architecture(&self) -> bool {
        self.analysis.architecture().is_some()
    }

    pub(crate) fn by_num_kernels(&self) -> bool {
        self.analysis.options().group_by_num_kernels
    }

    pub(crate) fn by_module(&self) -> bool {
        self.analysis.options().group_by_parent_module
    }

    pub(crate) fn detects_recompute(&self) -> bool {
        self.analysis.options().detect_recompute
    }

    pub(crate) fn with_call_stack(&self) -> bool {
        self.analysis.options().include_call_stack
    }

    /// The cell of a list of names of kernels.
    pub(crate) fn names(&self, list: Option<u32>) -> Cell<'_> {
        let names = |list| Some(self.name_lists.as_ref()?.names(self.analysis, list));
        list.and_then(names).into()
    }
}

/// A row that stands for a group of calls.
pub(crate) trait GroupRow {
    type Call: CountedCall;

    fn group(&self) -> &CallGroup<'_, Self::Call>;
    fn kernels(&self) -> &KernelList;
}

/// The columns of what the calls of a row have in common.
pub(crate) fn key_fields<'a, R: GroupRow>(name: Column, num_kernels: Column) -> Vec<Field<CallTable<'a>, R>> {
    let argument = |column: Column, part: fn(Signature) -> Option<ArgumentId>| {
        column.distinguishing().field_in(move |table: &CallTable<'_>, row: &R| {
            let signatures = table.analysis.trace().signatures();
            let argument = row.group().key.signature.and_then(|signature| part(signatures.get(signature)));
            argument.map(|id| nested_argument(signatures.argument(id), Sequence::Tuple)).into()
        })
    };
    let mut fields = vec![
        name.field_in(move |table: &CallTable<'_>, row: &R| row.group().key.name.text(table.analysis).into()),
        columns::OP_CATEGORY.field(move |row: &R| row.group().key.category.as_str().into()),
    ];
    if R::Call::BY_MODULE {
        let module = columns::PARENT_MODULE.field_in(move |table: &CallTable<'_>, row: &R| {
            row.group().key.module.map(|module| table.places.module_name(module)).into()
        });
        fields.push(module.when(CallTable::by_module));
    }
    let places = [columns::PROCESS_NAME, columns::PROCESS_LABEL, columns::THREAD_NAME];
    fields.extend(place_fields(places, |row: &R| row.group().key.place));
    fields.extend([
        argument(columns::INPUT_DIMS, |signature| signature.dims),
        argument(columns::INPUT_TYPE, |signature| signature.types),
        argument(columns::INPUT_STRIDES, |signature| signature.strides),
        argument(columns::CONCRETE_INPUTS, |signature| signature.concrete),
        num_kernels
            .distinguishing()
            .field(move |row: &R| row.group().key.kernels.into())
            .when(CallTable::by_num_kernels),
        columns::IS_RECOMPUTE
            .distinguishing()
            .field(move |row: &R| row.group().key.is_recompute.into())
            .when(CallTable::detects_recompute),
    ]);
    fields
}

/// The columns of process, its label, and thread.
pub(crate) fn place_fields<'a, R>(
    columns: [Column; 3],
    place: impl Fn(&R) -> u32 + Copy + Send + Sync + 'static,
) -> impl Iterator<Item = Field<CallTable<'a>, R>> {
    columns.into_iter().enumerate().map(move |(part, column)| {
        column.field_in(move |table: &CallTable<'_>, row: &R| table.places.texts(place(row))[part].into())
    })
}

/// The column of the names of what ran beside the calls of a row, which stands behind their own name.
pub(crate) fn overlapping_names<'a, R: GroupRow>() -> Field<CallTable<'a>, R> {
    columns::overlap::NAMES
        .distinguishing()
        .field_in(|table: &CallTable<'_>, row: &R| table.names(row.group().key.overlapping))
        .when(CallTable::with_overlap)
}

/// The columns of the list of kernels of a row.
pub(crate) fn kernel_fields<'a, R>(
    details: Column,
    details_short: Column,
    kernels: impl Fn(&R) -> &KernelList + Copy + Send + Sync + 'static,
) -> [Field<CallTable<'a>, R>; 2] {
    [
        details.field_in(move |table: &CallTable<'_>, row: &R| {
            kernels(row).details(table.analysis.trace()).into()
        }),
        details_short.field_in(move |table: &CallTable<'_>, row: &R| {
            kernels(row).shortened(table.analysis.trace()).into()
        }),
    ]
}

/// The columns of what ran beside the calls of a row, in tables that distinguish calls by it.
pub(crate) fn overlap_fields<'a, R>(
    details: Column,
    share: Statistics,
    overlaps: impl Fn(&R) -> &OverlapFigures + Copy + Send + Sync + 'static,
) -> impl Iterator<Item = Field<CallTable<'a>, R>> {
    let kernels =
        kernel_fields(details, columns::overlap::DETAILS_SHORT, move |row: &R| &overlaps(row).kernels);
    let fields = kernels.into_iter().chain(share.fields(move |row: &R| &overlaps(row).share));
    fields.map(|field| field.when(CallTable::with_overlap))
}

/// The columns of call stacks.
pub(crate) fn call_stack_fields<'a, R: GroupRow>() -> [Field<CallTable<'a>, R>; 2] {
    let kernels = |table: &CallTable<'_>, row: &R| {
        row.kernels().in_order(row.group().calls[0].device_events(table.analysis))
    };
    [
        Column::text(
            "entry_point",
            "Python function from which the program called the operator; present if call stacks are requested.",
        )
        .field_in(move |table: &CallTable<'_>, row: &R| {
            entry_point(table.analysis.tree(), row.group().first(), &kernels(table, row)).into()
        }),
        Column::nested(
            "call_stack_full",
            "Call stack of the first of these calls, from the outermost frame to the operator; present if call stacks are requested.",
        ).showing(&[Figure::CallStacks])
        .field_in(move |table: &CallTable<'_>, row: &R| {
            call_stack(table.analysis.tree(), row.group().first(), &kernels(table, row)).into()
        }),
    ]
    .map(|field| field.when(CallTable::with_call_stack))
}

/// Names of process, thread and module of calls, by their ids. Different tracks may have the same names.
pub(crate) struct Places<'a> {
    analysis: &'a Analysis,
    by_track: Vec<Option<u32>>,
    /// Distinct names of process, its label, and thread.
    texts: IndexSet<[&'a str; 3]>,
    modules: IndexSet<&'a str>,
}

impl<'a> Places<'a> {
    fn new(analysis: &'a Analysis) -> Self {
        let by_track = vec![None; analysis.trace().tracks().len()];
        Places { analysis, by_track, texts: IndexSet::default(), modules: IndexSet::default() }
    }

    pub(crate) fn id(&mut self, track: TrackId) -> u32 {
        let Places { analysis, by_track, texts, .. } = self;
        *by_track[track.index()].get_or_insert_with(|| {
            let trace = analysis.trace();
            let process = trace.process(track);
            let text = |name: Option<StringId>| name.map_or("Unknown", |name| trace.text(name));
            let thread = trace.thread_name(track).unwrap_or("Unknown");
            texts.insert_full([text(process.name), text(process.labels), thread]).0 as u32
        })
    }

    /// Process, its label, and thread.
    pub(crate) fn texts(&self, id: u32) -> [&'a str; 3] {
        self.texts[id as usize]
    }

    fn module(&mut self, name: &'a str) -> u32 {
        self.modules.insert_full(name).0 as u32
    }

    fn module_name(&self, module: u32) -> &'a str {
        self.modules[module as usize]
    }
}
