//! A script as an extension of an analysis.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use perf_models::{OpCall, Undefined};
use starlark::environment::Module;
use starlark::values::dict::DictRef;
use trace2tree::TraceTree;
use tree_perf::{AnalysisExtension, ExtensionModel, Notice, TreeChanges};

use crate::error::{ExtensionError, Fault, FaultKind, Lines, Place};
use crate::host::Host;
use crate::interpreter::{evaluate, run};
use crate::limits::Limits;
use crate::members::{Members, POSTPROCESS};
use crate::values::{CALL_FIELDS, call_to_script};
use crate::{tree, tree_methods};

/// An extension script, loaded.
///
/// What it defined is frozen: a function's answer depends on its arguments alone, so that the figures of a report
/// do not depend on the order in which calls are evaluated. Several threads may ask for models.
pub struct Extension {
    path: String,
    text: String,
    limits: Limits,
    lines: Lines,
    members: Members,
    printed_by_loading: Vec<String>,
    /// What models printed, sorted because the order of their evaluation is not fixed.
    printed_by_models: Mutex<BTreeSet<String>>,
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
    /// Loads a script. Messages call it `path`; nothing is read from there.
    ///
    /// # Errors
    ///
    /// When the text is not Starlark, when running it fails or exceeds a limit, or when a member has the wrong type.
    pub fn load(path: &str, text: &str) -> Result<Extension, ExtensionError> {
        Self::load_with(path, text, Limits::default())
    }

    /// Loads a script under limits of the caller's choice.
    ///
    /// # Errors
    ///
    /// As [`Extension::load`].
    pub fn load_with(path: &str, text: &str, limits: Limits) -> Result<Extension, ExtensionError> {
        let loaded = run(path, text, limits).map_err(|fault| fault.at(path, text, "loading"))?;
        Ok(Extension {
            path: path.to_owned(),
            text: text.to_owned(),
            limits,
            members: Members::read(path, text, &loaded.module)?,
            lines: loaded.lines,
            printed_by_loading: loaded.printed,
            printed_by_models: Mutex::default(),
        })
    }

    /// The operators that the script models.
    pub fn modelled(&self) -> impl Iterator<Item = &str> {
        self.members.modelled.iter().map(String::as_str)
    }

    /// Runs the script's rule on a tree, if it has one.
    ///
    /// # Errors
    ///
    /// When the rule fails or exceeds a limit. The tree keeps what the rule inserted until then.
    pub fn postprocess(&self, tree: &mut TraceTree) -> Result<TreeChanges, ExtensionError> {
        let Some(rule) = &self.members.postprocess else { return Ok(TreeChanges::default()) };
        let host = Host::with_tree(tree, self.limits);
        let done = Module::with_temp_heap(|module| {
            let heap = module.heap();
            let rule = heap.access_owned_frozen_value(rule);
            evaluate(&module, &host, &self.lines, self.limits, self.limits.tree_steps, |eval| {
                eval.eval_function(rule, &[tree_methods::methods(heap)], &[]).map(|_| ())
            })
        });
        let printed = host.printed.take();
        let finished = host.tree.map(|tree| tree.into_inner().finish()).transpose();
        let finished = finished.map_err(|reason| Fault { line: None, reason, kind: FaultKind::Script });
        let attributes = match done.and(finished) {
            Ok(attributes) => attributes.unwrap_or_default(),
            Err(fault) => {
                // What the rule printed before may tell why.
                self.printed_by_models().extend(printed);
                let fault = fault.naming_fields(|| {
                    let methods = tree_methods::names().join(", ");
                    format!("an event has {}; the tree has {methods}", tree::FIELDS.join(", "))
                });
                return Err(fault.at(&self.path, &self.text, POSTPROCESS));
            }
        };
        let notices = printed.iter().map(|text| self.says(text)).collect();
        Ok(TreeChanges { notices, attributes })
    }

    /// A panic elsewhere leaves the set whole, because only complete texts are inserted.
    fn printed_by_models(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.printed_by_models.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn says(&self, text: &str) -> Notice {
        Notice::ExtensionSays { text: format!("{}: {text}", self.path) }
    }
}

impl AnalysisExtension for Extension {
    fn change_tree(&self, tree: &mut TraceTree) -> Result<TreeChanges, Box<dyn Error + Send + Sync>> {
        Ok(self.postprocess(tree)?)
    }

    fn has_model(&self, operator: &str) -> bool {
        self.members.modelled.contains(operator)
    }

    /// The script's model of a call.
    ///
    /// A function that fails, exceeds a limit or returns something else leaves the call without figures; the reason
    /// names script and line.
    fn model(&self, call: &OpCall<'_>) -> Option<Result<ExtensionModel, Undefined>> {
        let models = self.members.models.as_ref().filter(|_| self.has_model(call.name))?;
        let host = Host::new(self.limits);
        let steps = self.limits.model_steps;
        let answer = Module::with_temp_heap(|module| {
            let heap = module.heap();
            let models = heap.access_owned_frozen_value(models);
            let function = DictRef::from_value(models).and_then(|models| models.get_str(call.name));
            let Some(function) = function else { return Ok(None) };
            evaluate(&module, &host, &self.lines, self.limits, steps, |eval| {
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

    fn category(&self, operator: &str) -> Option<&str> {
        self.members.categories.get(operator).map(String::as_str)
    }

    fn sheets(&self, operator: &str) -> Vec<&str> {
        self.members.sheets.get(operator).into_iter().flatten().map(String::as_str).collect()
    }

    /// Members without effect, then what loading and the models printed so far.
    fn notices(&self) -> Vec<Notice> {
        let by_models = self.printed_by_models();
        let printed = self.printed_by_loading.iter().chain(by_models.iter()).map(|text| self.says(text));
        self.members.without_effect.iter().cloned().chain(printed).collect()
    }
}
