//! Where a script leaves its results.

// The derive of `ProvidesStaticType` implements starlark's unsafe trait of types with lifetimes.
#![allow(unsafe_code)]

use std::cell::RefCell;

use starlark::any::ProvidesStaticType;
use starlark::eval::Evaluator;
use starlark::values::structs::AllocStruct;
use starlark::values::{UnpackValue, Value as ScriptValue};
use trace2tree::TraceTree;

use super::tree::TreeHost;
use crate::analysis_extension::ExtensionModel;

/// What scripts and the tool share during an evaluation.
#[derive(Default, ProvidesStaticType)]
pub(super) struct Host<'t> {
    /// Models that the script made; it holds their positions.
    models: RefCell<Vec<ExtensionModel>>,
    /// What the script printed.
    pub(super) printed: RefCell<Vec<String>>,
    /// The tree, while it is postprocessed.
    pub(super) tree: Option<RefCell<TreeHost<'t>>>,
}

/// More printing than this is a script's debugging gone wrong.
const MOST_PRINTED: usize = 1000;

impl starlark::PrintHandler for Host<'_> {
    fn println(&self, text: &str) -> starlark::Result<()> {
        let mut printed = self.printed.borrow_mut();
        if printed.len() < MOST_PRINTED {
            printed.push(text.to_owned());
        }
        Ok(())
    }
}

/// A complaint about what a script gave to a builtin function.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Complaint(String);

pub(super) fn complain(reason: impl Into<String>) -> starlark::Error {
    starlark::Error::new_other(Complaint(reason.into()))
}

/// The field of a returned struct that holds the model's position.
const MODEL: &str = "model";

impl<'t> Host<'t> {
    /// A host that lets the script at a tree.
    pub(super) fn with_tree(tree: &'t mut TraceTree) -> Self {
        Host { tree: Some(RefCell::new(TreeHost::new(tree))), ..Host::default() }
    }

    /// The host of an evaluation.
    pub(super) fn of<'a>(eval: &Evaluator<'_, 'a, 't>) -> starlark::Result<&'a Host<'t>> {
        let host = eval.extra.and_then(|extra| extra.downcast_ref::<Host<'t>>());
        host.ok_or_else(|| complain("this function is there only while the tool calls the script"))
    }

    /// Keeps a model; gives what stands for it in the script.
    pub(super) fn keep<'v>(&self, model: ExtensionModel, eval: &Evaluator<'v, '_, '_>) -> ScriptValue<'v> {
        let mut models = self.models.borrow_mut();
        models.push(model);
        eval.heap().alloc(AllocStruct([(MODEL, models.len() as u64 - 1)]))
    }

    /// The model behind what a script's function returned.
    pub(super) fn model_of<'v>(
        &self,
        returned: ScriptValue<'v>,
        eval: &Evaluator<'v, '_, '_>,
    ) -> Option<ExtensionModel> {
        let position = returned.get_attr(MODEL, eval.heap()).ok()??;
        let position = usize::unpack_value(position).ok()??;
        self.models.borrow().get(position).cloned()
    }
}
