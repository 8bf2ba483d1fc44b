//! What a user can add to an analysis: models, categories, sheets and a rule on the tree.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use ::sheets::Table;
use perf_models::{Family, OpCall, PerfModel, Undefined, Value};
use trace_ingest::EventId;
use trace2tree::TraceTree;

use crate::notice::Notice;

/// Models, categories, sheets and a rule on the tree beside the built-in ones; see [`Analysis::with_extension`].
///
/// Every answer must depend on the arguments alone: calls are asked for in any order and from any thread, and an
/// answer may be kept for calls that look the same.
///
/// [`Analysis::with_extension`]: crate::Analysis::with_extension
pub trait AnalysisExtension: Send + Sync {
    /// Changes the tree before anything is computed from it.
    ///
    /// # Errors
    ///
    /// When the rule fails: the analysis goes on with the tree as it is then, and with a [`Notice`].
    fn change_tree(&self, _tree: &mut TraceTree) -> Result<TreeChanges, Box<dyn Error + Send + Sync>> {
        Ok(TreeChanges::default())
    }

    /// Whether the extension, and no built-in model, models operators of this name.
    fn has_model(&self, _operator: &str) -> bool {
        false
    }

    /// Names the calls that are about to be asked for, each distinct one once, so that an extension that takes long for
    /// a single one can answer them together.
    fn prepare(&self, _calls: &[OpCall<'_>]) {}

    /// The model of a call of an operator that the extension models.
    ///
    /// # Errors
    ///
    /// When the call has no figures: the reason, which reports show. A reason of [`Gap::Arguments`] becomes a
    /// [`Notice`], too.
    ///
    /// [`Gap::Arguments`]: perf_models::Gap::Arguments
    fn model(&self, call: &OpCall<'_>) -> Option<Result<ExtensionModel, Undefined>> {
        let _ = call;
        None
    }

    /// The category of operators of this name, before that of any model.
    fn category(&self, _operator: &str) -> Option<&str> {
        None
    }

    /// The roofline sheets (`GEMM`, `SDPA`, …, or new ones; without `_fwd` and `_bwd`) in which modelled operators
    /// of this name stand; where the list is empty, model and category decide.
    fn sheets(&self, _operator: &str) -> Vec<&str> {
        Vec::new()
    }

    /// Tables of its own, made from the tree after all changes; asked for once.
    fn tables(&self, _tree: &TraceTree) -> Vec<Table> {
        Vec::new()
    }

    /// What the user should know of loading the extension, and of what it said so far.
    fn notices(&self) -> Vec<Notice> {
        Vec::new()
    }
}

/// What an extension says of a call.
#[derive(Clone, Debug)]
pub struct ExtensionModel {
    /// The figures.
    pub model: Arc<dyn PerfModel>,
    /// The family whose parameters they have, which decides the table in reports; `None` for free figures.
    pub family: Option<Family>,
    /// The category, a built-in one or a new one. A new one has roofline sheets of its own.
    pub category: String,
}

/// What an extension's rule did to a tree besides inserting operators.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TreeChanges {
    /// What the user should know.
    pub notices: Vec<Notice>,
    /// Further arguments of events, for the attributes of their calls.
    pub attributes: BTreeMap<EventId, Vec<(String, Value)>>,
}
