//! What scripts and the tool share during an evaluation: models, printed lines, the tree, and the memory account.

// The derive of `ProvidesStaticType` implements starlark's unsafe trait of types with lifetimes.
#![allow(unsafe_code)]

use std::cell::RefCell;

use starlark::any::ProvidesStaticType;
use starlark::eval::Evaluator;
use starlark::values::structs::AllocStruct;
use starlark::values::{UnpackValue, Value as ScriptValue};
use trace2tree::TraceTree;
use tree_perf::ExtensionModel;

use crate::error::complain;
use crate::limits::Limits;
use crate::memory::Memory;
use crate::tree::TreeHost;

/// What a script and the tool share during an evaluation.
#[derive(ProvidesStaticType)]
pub(crate) struct Host<'t> {
    /// What the script holds.
    pub(crate) memory: Memory,
    /// Models that the script made; it holds their positions.
    models: RefCell<Vec<ExtensionModel>>,
    /// What the script printed.
    pub(crate) printed: RefCell<Vec<String>>,
    /// The tree, while it is postprocessed.
    pub(crate) tree: Option<RefCell<TreeHost<'t>>>,
}

/// More printing than this is a script's debugging gone wrong: lines, and bytes in all of them.
const MOST_PRINTED: usize = 1000;
const MOST_PRINTED_BYTES: usize = 1 << 20;

impl starlark::PrintHandler for Host<'_> {
    fn println(&self, text: &str) -> starlark::Result<()> {
        let mut printed = self.printed.borrow_mut();
        let bytes: usize = printed.iter().map(String::len).sum();
        if printed.len() < MOST_PRINTED && bytes + text.len() <= MOST_PRINTED_BYTES {
            printed.push(text.to_owned());
        }
        Ok(())
    }
}

/// The field of a returned struct that holds the model's position.
const MODEL: &str = "model";

impl<'t> Host<'t> {
    /// A host without a tree, for a script under these limits.
    pub(crate) fn new(limits: Limits) -> Self {
        Host {
            memory: Memory::new(limits.memory_bytes),
            models: RefCell::default(),
            printed: RefCell::default(),
            tree: None,
        }
    }

    /// A host whose script may query and edit a tree.
    pub(crate) fn with_tree(tree: &'t mut TraceTree, limits: Limits) -> Self {
        Host { tree: Some(RefCell::new(TreeHost::new(tree))), ..Host::new(limits) }
    }

    /// The host of an evaluation.
    pub(crate) fn from_evaluator<'a>(eval: &Evaluator<'_, 'a, 't>) -> starlark::Result<&'a Host<'t>> {
        let host = eval.extra.and_then(|extra| extra.downcast_ref::<Host<'t>>());
        host.ok_or_else(|| complain("this function is there only while the tool calls the script"))
    }

    /// Keeps a model; gives what stands for it in the script.
    pub(crate) fn keep<'v>(&self, model: ExtensionModel, eval: &Evaluator<'v, '_, '_>) -> ScriptValue<'v> {
        let mut models = self.models.borrow_mut();
        models.push(model);
        eval.heap().alloc(AllocStruct([(MODEL, models.len() as u64 - 1)]))
    }

    /// The model behind what a script's function returned.
    pub(crate) fn model_of<'v>(
        &self,
        returned: ScriptValue<'v>,
        eval: &Evaluator<'v, '_, '_>,
    ) -> Option<ExtensionModel> {
        let position = returned.get_attr(MODEL, eval.heap()).ok()??;
        let position = usize::unpack_value(position).ok()??;
        self.models.borrow().get(position).cloned()
    }
}
