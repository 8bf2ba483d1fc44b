//! What an extension says of the operators of one trace, asked once per name.

use ::sheets::Table;
use gpu_timeline::SortFew;
use hashbrown::HashMap;
use perf_models::{OpCall, Undefined, Value};
use std::collections::BTreeMap;
use trace_ingest::{EventId, StringId, Trace};
use trace2tree::TraceTree;

use crate::analysis_extension::{AnalysisExtension, ExtensionModel};
use crate::notice::Notice;
use operator_sheets::OpCategory;

/// What an extension says of operators of one name.
#[derive(Default)]
pub(crate) struct ExtendedOperator {
    /// It has a model for them.
    pub(crate) is_modelled: bool,
    /// Their category, whatever a model says.
    pub(crate) category: Option<OpCategory>,
    /// The roofline sheets that it puts them in.
    pub(crate) sheets: Vec<String>,
}

/// An extension over the names of a trace.
pub(crate) struct ExtendedOperators {
    extension: Box<dyn AnalysisExtension>,
    by_name: HashMap<StringId, ExtendedOperator>,
    /// Further arguments of events.
    attributes: BTreeMap<EventId, Vec<(String, Value)>>,
}

impl ExtendedOperators {
    pub(crate) fn new(
        extension: Box<dyn AnalysisExtension>,
        attributes: BTreeMap<EventId, Vec<(String, Value)>>,
        trace: &Trace,
    ) -> Self {
        let by_name = trace
            .strings()
            .iter()
            .map(|(id, name)| {
                let operator = ExtendedOperator {
                    is_modelled: extension.has_model(name),
                    category: extension.category(name).map(OpCategory::named),
                    sheets: extension.sheets(name).into_iter().map(str::to_owned).collect(),
                };
                (id, operator)
            })
            .filter(|(_, operator)| {
                operator.is_modelled || operator.category.is_some() || !operator.sheets.is_empty()
            })
            .collect();
        ExtendedOperators { extension, by_name, attributes }
    }

    /// The names of the trace that the extension knows, with what it says of them, in the trace's order.
    pub(crate) fn names(&self) -> Vec<(StringId, &ExtendedOperator)> {
        let mut names: Vec<_> = self.by_name.iter().map(|(&name, operator)| (name, operator)).collect();
        names.sort_few_by_key(|(name, _)| *name);
        names
    }

    pub(crate) fn get(&self, name: StringId) -> Option<&ExtendedOperator> {
        self.by_name.get(&name)
    }

    pub(crate) fn is_modelled(&self, name: StringId) -> bool {
        self.get(name).is_some_and(|operator| operator.is_modelled)
    }

    /// The category of a name that need not stand in the trace.
    pub(crate) fn category_of_text(&self, name: &str) -> Option<OpCategory> {
        self.extension.category(name).map(OpCategory::named)
    }

    pub(crate) fn prepare(&self, calls: &[OpCall<'_>]) {
        self.extension.prepare(calls);
    }

    pub(crate) fn model(&self, call: &OpCall<'_>) -> Option<Result<ExtensionModel, Undefined>> {
        self.extension.model(call)
    }

    pub(crate) fn attributes(&self, event: EventId) -> &[(String, Value)] {
        self.attributes.get(&event).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn tables(&self, tree: &TraceTree) -> Vec<Table> {
        self.extension.tables(tree)
    }

    pub(crate) fn notices(&self) -> Vec<Notice> {
        self.extension.notices()
    }
}
