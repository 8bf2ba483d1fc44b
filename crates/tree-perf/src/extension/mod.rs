//! Scripts of the user that add models, categories and tree rules: `--extension_file`.
//!
//! A script is [Starlark](https://github.com/bazelbuild/starlark/blob/master/spec.md), which has a part of
//! Python's syntax, no imports and no access to files, network, clock or chance. It may define:
//!
//! | Member | Effect |
//! |---|---|
//! | `perf_model_extension` | dict from operator name to a function of the event that returns a model |
//! | `op_category_extension` | dict from operator name to category, whatever a model says |
//! | `dict_cat2names_extension` | dict from roofline sheet to the names of the modelled operators in it |
//! | `tree_postprocess_extension` | function of the tree, called after it is built |
//!
//! Categories are free text. Modelled operators of a category that is none of the built-in ones stand in a roofline
//! sheet of that name, others in the sheet of their family; `dict_cat2names_extension` decides before both. Sheets
//! are named without `_fwd` and `_bwd`.
//!
//! A model's function gets an event with `name`, `dims`, `types`, `strides`, `concrete` (tuples), `args` (dict),
//! `kernels`, `annotation` and `forward` (the forward event without its `args`, or `None`). `args` holds what
//! `tree.set_arg` and insertions gave the event, of collectives `Group size`, `In msg nelems` and their like as
//! recorded, and of generated kernels `kernel_file`, `kernel_hash` and `kernel_kwargs`. The function returns one of
//!
//! - `model(family, …)` with the family's parameters by name, and `category=`, `backward=False`, `backward_flops=`
//!   and `backward_bytes=` on request:
//!   the families are `gemm`, `grouped_gemm`, `attention`, `convolution`, `normalization`,
//!   `normalization_backward` and `cross_entropy`;
//! - `work(flops=…, bytes=…, category=…, spec="matrix_bf16", backward_flops=…, backward_bytes=…, params={…})`
//!   with figures of its own;
//! - `None` for a call that it has no figures for.
//!
//! `prod(shape)` and `element_size(dtype)` help with shapes, `fail("reason")` gives the reason why there are no
//! figures. The tree's methods are `events_by_name`, `names`, `roots`, `children`, `descendants`, `ancestors`,
//! `parent`, `gpu_events`, `launch`, `operator`, `forward_event`, `backward_events` and
//! `backward_events_of_subtree`, and to change it `insert_above`, `isolate`, `wrap_children`,
//! `charge_with_subtree`, `rename`, `link_backward` and `set_arg`. The three insertions take event and name and,
//! on request, `donor`, `sequence_number`, `dims`, `types`, `strides`, `concrete` and `args`. Changes that follow
//! each other without a query between them are carried out together. This rule makes one row of a block of
//! operators; the model of `my_block::whole` finds the shapes of the call and `event.args["kernels"]`:
//!
//! ```python
//! def tree_postprocess_extension(tree):
//!     for call in tree.events_by_name("my_block::forward"):
//!         kernels = len(tree.gpu_events(call))
//!         whole = tree.wrap_children(call, "my_block::whole")
//!         tree.charge_with_subtree(whole)
//!         tree.set_arg(whole, "kernels", kernels)
//! ```
//!
//! An event of the tree has `id`, `name`, `category`, `is_gpu`, `start_us`, `duration_us`, `dims`, `types`, `strides`,
//! `concrete`, `sequence_number`, `external_id`, `correlation` and `args`. A function or rule that fails, and a model's
//! function that does not end, leave the rest of the report as it is; [`Limits`] says what "does not end" means.
//! Methods that can make much of little have to be called where they stand: `",".join(names)`, not `f = ",".join`.
//!
//! ```
//! use perf_models::{OpCall, Value};
//! use tree_perf::extension::Extension;
//!
//! let script = r#"
//! def swiglu(event):
//!     elements = prod(event.dims[0])
//!     return work(flops = 4 * elements, bytes = 3 * elements * element_size(event.types[0]), category = "elementwise")
//!
//! perf_model_extension = {"my::swiglu": swiglu}
//! "#;
//! let extension = Extension::load("swiglu.star", script)?;
//! let call = OpCall {
//!     name: "my::swiglu",
//!     dims: Some(&[Value::tuple([4, 1024])]),
//!     types: Some(&["c10::BFloat16".into()]),
//!     ..OpCall::default()
//! };
//! let model = extension.model(&call).ok_or("no model")??.model;
//! assert_eq!((model.flops(), model.bytes()), (Ok(16384.0), Ok(24576.0)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod analysis;
mod builtins;
mod error;
mod families;
mod host;
mod interpreter;
mod limits;
mod members;
mod memory;
mod notice;
mod python;
#[cfg(test)]
mod tests;
mod tree;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use perf_models::{OpCall, Undefined, Value};
use starlark::environment::Module;
use starlark::values::dict::DictRef;
use trace_ingest::EventId;
use trace2tree::TraceTree;

use crate::analysis_extension::ExtensionModel;

pub use error::{ExtensionError, Place};
pub use limits::Limits;
pub use notice::ExtensionNotice;

use error::{Fault, FaultKind};
use host::Host;
use interpreter::{evaluate, run};
use members::{Members, POSTPROCESS};
use values::{CALL_FIELDS, call_to_script};

/// An extension script, loaded.
///
/// What it defined is frozen: a function's answer depends on its arguments alone, so that the figures of a report
/// do not depend on the order in which calls are looked at. Models can be asked for from several threads.
pub struct Extension {
    path: String,
    text: String,
    limits: Limits,
    members: Members,
    /// What loading printed.
    printed_by_loading: Vec<String>,
    /// What models printed, sorted: they are asked in any order.
    printed_by_models: Mutex<BTreeSet<String>>,
}

/// What a script did to a tree besides inserting operators.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Postprocessed {
    /// What the user should know.
    pub notices: Vec<ExtensionNotice>,
    /// Arguments that the script gave to events (`tree.set_arg`), for the attributes of their calls.
    pub attributes: BTreeMap<EventId, Vec<(String, Value)>>,
}

impl fmt::Debug for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extension")
            .field("path", &self.path)
            .field("models", &self.members.modelled)
            .field("categories", &self.members.categories)
            .finish_non_exhaustive()
    }
}

impl Extension {
    /// Loads a script. `path` is what messages call it; nothing is read from there.
    ///
    /// # Errors
    ///
    /// When the text is not Starlark, when running it fails or does not end, or when a member is not what it must be.
    pub fn load(path: &str, text: &str) -> Result<Extension, ExtensionError> {
        Self::load_with(path, text, Limits::default())
    }

    /// Loads a script that may use so much and no more.
    ///
    /// # Errors
    ///
    /// As [`Extension::load`].
    pub fn load_with(path: &str, text: &str, limits: Limits) -> Result<Extension, ExtensionError> {
        let (module, printed_by_loading) =
            run(path, text, limits).map_err(|fault| fault.at(path, text, "loading"))?;
        Ok(Extension {
            path: path.to_owned(),
            text: text.to_owned(),
            limits,
            members: Members::read(path, text, &module)?,
            printed_by_loading,
            printed_by_models: Mutex::default(),
        })
    }

    /// The operators that the script has a model for.
    pub fn modelled(&self) -> impl Iterator<Item = &str> {
        self.members.modelled.iter().map(String::as_str)
    }

    /// Whether the script has a model for operators of this name.
    #[must_use]
    pub fn has_model(&self, name: &str) -> bool {
        self.members.modelled.contains(name)
    }

    /// The script's model of a call; `None` where it has none for operators of this name.
    ///
    /// A function that fails, that runs on or that returns something else leaves the call without figures; the reason
    /// names script and line.
    pub fn model(&self, call: &OpCall<'_>) -> Option<Result<ExtensionModel, Undefined>> {
        let models = self.members.models.as_ref().filter(|_| self.has_model(call.name))?;
        let host = Host::new(self.limits);
        let steps = self.limits.model_steps;
        let answer = Module::with_temp_heap(|module| {
            let heap = module.heap();
            let models = heap.access_owned_frozen_value(models);
            let function = DictRef::from_value(models).and_then(|models| models.get_str(call.name));
            let Some(function) = function else { return Ok(None) };
            evaluate(&module, &host, self.limits, steps, |eval| {
                let returned = eval.eval_function(function, &[call_to_script(call, heap)], &[])?;
                if returned.is_none() {
                    return Ok(Ok(None));
                }
                let model = host.model_of(returned, eval);
                Ok(model.map(Some).ok_or_else(|| {
                    format!(
                        "the function for {} must return model(…), work(…) or None, found a {}",
                        call.name,
                        returned.get_type()
                    )
                }))
            })
            .map(Some)
        });
        self.printed_by_models().extend(host.printed.take());
        match answer.transpose()? {
            Ok(Ok(Some(model))) => Some(Ok(model)),
            Ok(Ok(None)) => {
                Some(Err(Undefined::no_formula(format!("{} has no figures for this call", self.path))))
            }
            Ok(Err(reason)) => Some(Err(Undefined::arguments(format!("{}: {reason}", self.path)))),
            Err(fault) => {
                let fault = fault.naming_fields(|| format!("a call has {}", CALL_FIELDS.join(", ")));
                let at = Place { path: self.path.clone(), line: fault.line };
                Some(Err(Undefined::arguments(format!("{at}: {}", fault.reason))))
            }
        }
    }

    /// The category that the script gives to operators of this name.
    #[must_use]
    pub fn category(&self, name: &str) -> Option<&str> {
        self.members.categories.get(name).map(String::as_str)
    }

    /// The sheets in which the script lists operators of this name.
    pub fn sheets(&self, name: &str) -> impl Iterator<Item = &str> {
        self.members.sheets.get(name).into_iter().flatten().map(String::as_str)
    }

    /// Lets the script change a tree; nothing if it has no rule for that.
    ///
    /// # Errors
    ///
    /// When the rule fails or does not end. What it inserted until then may be in the tree.
    pub fn postprocess(&self, tree: &mut TraceTree) -> Result<Postprocessed, ExtensionError> {
        let Some(rule) = &self.members.postprocess else { return Ok(Postprocessed::default()) };
        let host = Host::with_tree(tree, self.limits);
        let done = Module::with_temp_heap(|module| {
            let heap = module.heap();
            let rule = heap.access_owned_frozen_value(rule);
            evaluate(&module, &host, self.limits, self.limits.tree_steps, |eval| {
                eval.eval_function(rule, &[tree::methods(heap)], &[]).map(|_| ())
            })
        });
        let printed = host.printed.take();
        let finished = host.tree.map(|tree| tree.into_inner().finish()).transpose();
        let finished = finished.map_err(|reason| Fault { line: None, reason, kind: FaultKind::Script });
        let attributes = match done.and(finished) {
            Ok(attributes) => attributes.unwrap_or_default(),
            Err(fault) => {
                // What was printed before may tell why.
                self.printed_by_models().extend(printed);
                let fault = fault.naming_fields(tree::fields);
                return Err(fault.at(&self.path, &self.text, POSTPROCESS));
            }
        };
        let notices = printed.into_iter().map(|text| self.printed(text)).collect();
        Ok(Postprocessed { notices, attributes })
    }

    /// What the user should know of loading the script, and what its models printed so far.
    #[must_use]
    pub fn notices(&self) -> Vec<ExtensionNotice> {
        let by_models = self.printed_by_models();
        let printed = self.printed_by_loading.iter().chain(by_models.iter());
        let printed = printed.map(|text| self.printed(text.clone()));
        self.members.without_effect.iter().cloned().chain(printed).collect()
    }

    /// A panic elsewhere leaves the set whole: texts are put in complete.
    fn printed_by_models(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.printed_by_models.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn printed(&self, text: String) -> ExtensionNotice {
        ExtensionNotice::Printed { path: self.path.clone(), text }
    }
}
