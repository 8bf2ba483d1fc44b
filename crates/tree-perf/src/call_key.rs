//! What calls of one row of a table have in common: operator, place and arguments.

use std::borrow::Cow;

use trace_ingest::{EventId, Signature, SignatureId};

use crate::analysis::Analysis;
use crate::call_overlap::NameLists;
use crate::frame::FrameBuilder;
use crate::parent_module::parent_module;
use crate::places::Places;
use operator_sheets::OpCategory;

/// The key of a row. All but the name are ids, so that grouping compares integers.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct CallKey<Name> {
    pub(crate) name: Name,
    pub(crate) category: OpCategory,
    place: u32,
    signature: Option<SignatureId>,
    /// Id of the module around the call.
    module: Option<u32>,
    kernels: Option<usize>,
    is_recompute: bool,
    /// Index into the distinct lists of overlapping names.
    overlapping: Option<u32>,
}

impl<Name> CallKey<Name> {
    /// The key of a call that no option tells apart further.
    pub(crate) fn of(
        analysis: &Analysis,
        call: EventId,
        name: Name,
        category: OpCategory,
        places: &mut Places<'_>,
    ) -> Self {
        let events = analysis.trace().events();
        // Arguments none of which was recorded are no arguments.
        let is_empty = |signature| analysis.trace().signatures().get(signature) == Signature::default();
        CallKey {
            name,
            category,
            place: places.of(events.track(call)),
            signature: events.signature(call).filter(|&signature| !is_empty(signature)),
            module: None,
            kernels: None,
            is_recompute: analysis.is_recompute(call),
            overlapping: None,
        }
    }

    /// Told apart by the module around the call too, if that was asked for.
    pub(crate) fn with_module<'a>(
        self,
        analysis: &'a Analysis,
        call: EventId,
        places: &mut Places<'a>,
    ) -> Self {
        let module = || places.module(parent_module(analysis.tree(), call));
        CallKey { module: analysis.options().group_by_parent_module.then(module), ..self }
    }

    /// Told apart by the number of kernels too, if that was asked for.
    pub(crate) fn with_kernels(self, analysis: &Analysis, count: usize) -> Self {
        CallKey { kernels: analysis.options().group_by_num_kernels.then_some(count), ..self }
    }

    /// Told apart by the kernels that ran beside it too.
    pub(crate) fn with_overlapping(self, overlapping: Option<u32>) -> Self {
        CallKey { overlapping, ..self }
    }
}

/// Appends the columns that keys of calls are made of; the overlapping kernels where there are lists of
/// them.
pub(crate) fn append_key_columns<'k, Name>(
    frame: &mut FrameBuilder,
    analysis: &'k Analysis,
    keys: &[&'k CallKey<Name>],
    name: impl Fn(&'k Name) -> Cow<'k, str>,
    places: &Places<'_>,
    name_lists: Option<&NameLists>,
) {
    frame.text("name", keys.iter().map(|key| Some(name(&key.name))));
    if let Some(name_lists) = name_lists {
        let list = |id: u32| name_lists.literal(analysis, id);
        frame.text("overlapping_kernel_names", keys.iter().map(|key| key.overlapping.map(list)));
    }
    frame.text("op category", keys.iter().map(|key| Some(key.category.as_str())));
    if keys.iter().any(|key| key.module.is_some()) {
        frame.text(
            "parent_module",
            keys.iter().map(|key| key.module.map(|module| places.module_text(module))),
        );
    }
    for (position, column) in ["process_name", "process_label", "thread_name"].into_iter().enumerate() {
        frame.text(column, keys.iter().map(|key| Some(places.texts(key.place)[position])));
    }
    let signatures = analysis.trace().signatures();
    for (position, column) in
        ["Input Dims", "Input type", "Input Strides", "Concrete Inputs"].into_iter().enumerate()
    {
        let text = |key: &&CallKey<Name>| {
            let Signature { dims, types, strides, concrete } = signatures.get(key.signature?);
            [dims, types, strides, concrete][position].map(|id| signatures.argument_text(id))
        };
        frame.text(column, keys.iter().map(text));
    }
    if analysis.options().group_by_num_kernels {
        frame.integer("num_kernels", keys.iter().map(|key| key.kernels.map(|count| count as i64)));
    }
    if analysis.options().detect_recompute {
        frame.flag("is_recompute", keys.iter().map(|key| key.is_recompute));
    }
}
