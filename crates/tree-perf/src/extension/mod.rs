//! Scripts of the user that add models, categories and tree rules: `--extension_file`.
//!
//! A script is [Starlark](https://github.com/bazelbuild/starlark/blob/master/spec.md), which has a part of
//! Python's syntax, no imports and no access to files, network, clock or chance. It may define:
//!
//! | Member | Effect |
//! |---|---|
//! | `perf_model_extension` | dict from operator name to a function of the event that returns a model |
//! | `op_category_extension` | dict from operator name to category |
//! | `tree_postprocess_extension` | function of the tree, called after it is built |
//!
//! A model's function gets an event with `name`, `dims`, `types`, `strides`, `concrete` (tuples), `args` (dict),
//! `kernels`, `annotation` and `forward` (the forward event or `None`), and returns one of
//!
//! - `model(family, …)` with the family's parameters by name, and `category=`, `backward=False` on request:
//!   the families are `gemm`, `grouped_gemm`, `attention`, `convolution`, `normalization`,
//!   `normalization_backward` and `cross_entropy`;
//! - `work(flops=…, bytes=…, category=…, spec="matrix_bf16", backward_flops=…, backward_bytes=…, params={…})`
//!   with figures of its own;
//! - `None` for a call that it has no figures for.
//!
//! `prod(shape)` and `element_size(dtype)` help with shapes, `fail("reason")` gives the reason why there are no
//! figures. The tree's methods are `events_by_name`, `names`, `roots`, `children`, `descendants`, `ancestors`,
//! `parent`, `gpu_events`, `launch`, `operator`, `forward_event`, `backward_events`,
//! `backward_events_of_subtree`, `insert_above`, `isolate`, `wrap_children` and `set_arg`. Insertions that follow
//! each other without a query between them are carried out together.
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

mod builtins;
mod error;
mod families;
mod host;
mod limits;
mod python;
#[cfg(test)]
mod tests;
mod tree;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Mutex, PoisonError};

use perf_models::{OpCall, Undefined, Value};
use starlark::environment::{FrozenModule, GlobalsBuilder, LibraryExtension, Module};
use starlark::eval::Evaluator;
use starlark::syntax::{AstModule, Dialect, DialectTypes};
use starlark::values::dict::{AllocDict, DictRef};
use starlark::values::structs::AllocStruct;
use starlark::values::tuple::AllocTuple;
use starlark::values::{Heap, OwnedFrozenValue, Value as ScriptValue};
use trace_ingest::EventId;
use trace2tree::TraceTree;

pub use error::{ExtensionError, Place};
pub use host::ScriptModel;
pub use limits::Limits;

use builtins::builtins;
use error::{Fault, FaultKind};
use host::Host;
use limits::{COMPILER_STACK, CurrentLine, LONGEST_SCRIPT};
use values::{all_to_script, to_script};

const MODELS: &str = "perf_model_extension";
const CATEGORIES: &str = "op_category_extension";
const POSTPROCESS: &str = "tree_postprocess_extension";
/// Members that scripts for the tool's predecessor may define, and what becomes of them.
const WITHOUT_EFFECT: [(&str, &str); 2] = [
    ("dict_cat2names_extension", "it is deprecated; give categories with op_category_extension or category="),
    ("get_additional_dataframes_extension", "scripts cannot add tables"),
];

/// An extension script, loaded.
///
/// What it defined is frozen: a function's answer depends on its arguments alone, so that the figures of a report
/// do not depend on the order in which calls are looked at. Models can be asked for from several threads.
pub struct Extension {
    path: String,
    text: String,
    limits: Limits,
    models: Option<OwnedFrozenValue>,
    names: BTreeSet<String>,
    categories: BTreeMap<String, String>,
    postprocess: Option<OwnedFrozenValue>,
    notices: Vec<ExtensionNotice>,
    /// What models printed, sorted: they are asked in any order.
    printed: Mutex<BTreeSet<String>>,
}

/// Something that the user of a script should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtensionNotice {
    /// A member of the script has no effect.
    WithoutEffect {
        /// Where it is assigned.
        at: Place,
        /// Its name.
        member: String,
        /// Why, or what to write instead.
        reason: String,
    },
    /// The script printed a text.
    Printed {
        /// The script.
        path: String,
        /// The text.
        text: String,
    },
}

impl fmt::Display for ExtensionNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExtensionNotice::WithoutEffect { at, member, reason } => {
                write!(f, "{at}: {member} has no effect: {reason}")
            }
            ExtensionNotice::Printed { path, text } => write!(f, "{path}: {text}"),
        }
    }
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
            .field("models", &self.names)
            .field("categories", &self.categories)
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
        let (module, printed) = run(path, text, limits).map_err(|fault| fault.at(path, text, "loading"))?;
        let script = Script { path, text, module: &module };
        let models = script.member(MODELS)?;
        let names = script.names(MODELS, "a dict from operator name to function", |value| {
            (value.get_type() == "function").then(String::new)
        })?;
        let categories = script.names(CATEGORIES, "a dict from operator name to category", |value| {
            value.unpack_str().map(str::to_owned)
        })?;
        let postprocess = script.member(POSTPROCESS)?;
        if let Some(found) =
            postprocess.as_ref().map(|value| value.value().get_type()).filter(|&it| it != "function")
        {
            return Err(script.wrong(POSTPROCESS, "a function of the tree", format!("a {found}")));
        }
        let mut notices: Vec<_> = script.members_without_effect().collect();
        notices
            .extend(printed.into_iter().map(|text| ExtensionNotice::Printed { path: path.to_owned(), text }));
        Ok(Extension {
            path: path.to_owned(),
            text: text.to_owned(),
            limits,
            models,
            names: names.into_keys().collect(),
            categories,
            postprocess,
            notices,
            printed: Mutex::default(),
        })
    }

    /// The operators that the script has a model for.
    pub fn modelled(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Whether the script has a model for operators of this name.
    #[must_use]
    pub fn has_model(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// The script's model of a call; `None` where it has none for operators of this name.
    ///
    /// A function that fails, that runs on or that returns something else leaves the call without figures; the reason
    /// names script and line.
    pub fn model(&self, call: &OpCall<'_>) -> Option<Result<ScriptModel, Undefined>> {
        let models = self.models.as_ref().filter(|_| self.has_model(call.name))?;
        let host = Host::default();
        let steps = self.limits.steps_per_model;
        let answer = Module::with_temp_heap(|module| {
            let heap = module.heap();
            let models = heap.access_owned_frozen_value(models);
            let function = DictRef::from_value(models).and_then(|models| models.get_str(call.name));
            let Some(function) = function else { return Ok(None) };
            evaluate(&module, &host, self.limits, steps, |eval| {
                let returned = eval.eval_function(function, &[event(call, heap)], &[])?;
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
        let printed = host.printed.take();
        if !printed.is_empty() {
            self.printed.lock().unwrap_or_else(PoisonError::into_inner).extend(printed);
        }
        match answer.transpose()? {
            Ok(Ok(Some(model))) => Some(Ok(model)),
            Ok(Ok(None)) => {
                Some(Err(Undefined::no_formula(format!("{} has no figures for this call", self.path))))
            }
            Ok(Err(reason)) => Some(Err(Undefined::arguments(format!("{}: {reason}", self.path)))),
            Err(fault) => {
                let at = Place { path: self.path.clone(), line: fault.line };
                Some(Err(Undefined::arguments(format!("{at}: {}", fault.reason))))
            }
        }
    }

    /// The category that the script gives to operators of this name.
    #[must_use]
    pub fn category(&self, name: &str) -> Option<&str> {
        self.categories.get(name).map(String::as_str)
    }

    /// Lets the script change a tree; nothing if it has no rule for that.
    ///
    /// # Errors
    ///
    /// When the rule fails or does not end. What it inserted until then may be in the tree.
    pub fn postprocess(&self, tree: &mut TraceTree) -> Result<Postprocessed, ExtensionError> {
        let Some(rule) = &self.postprocess else { return Ok(Postprocessed::default()) };
        let host = Host::with_tree(tree);
        let done = Module::with_temp_heap(|module| {
            let heap = module.heap();
            let rule = heap.access_owned_frozen_value(rule);
            evaluate(&module, &host, self.limits, self.limits.steps, |eval| {
                eval.eval_function(rule, &[tree::methods(heap)], &[]).map(|_| ())
            })
        });
        let printed = host.printed.take();
        let finished = host.tree.map(|tree| tree.into_inner().finish()).transpose();
        let attributes = done
            .and_then(|()| finished.map_err(|reason| Fault { line: None, reason, kind: FaultKind::Script }))
            .map_err(|fault| fault.at(&self.path, &self.text, POSTPROCESS))?
            .unwrap_or_default();
        let notices = printed.into_iter().map(|text| self.printed(text)).collect();
        Ok(Postprocessed { notices, attributes })
    }

    /// What the user should know of loading the script, and what its models printed so far.
    pub fn notices(&self) -> Vec<ExtensionNotice> {
        let printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        self.notices.iter().cloned().chain(printed.iter().map(|text| self.printed(text.clone()))).collect()
    }

    fn printed(&self, text: String) -> ExtensionNotice {
        ExtensionNotice::Printed { path: self.path.clone(), text }
    }
}

/// What a script's text says, as far as Starlark has it.
fn dialect() -> Dialect {
    Dialect {
        enable_load: false,
        enable_keyword_only_arguments: true,
        enable_positional_only_arguments: true,
        enable_types: DialectTypes::ParseOnly,
        enable_top_level_stmt: true,
        enable_f_strings: true,
        ..Dialect::Standard
    }
}

/// Runs a script from top to bottom; gives what it defined and what it printed.
fn run(path: &str, text: &str, limits: Limits) -> Result<(FrozenModule, Vec<String>), Fault> {
    if text.len() > LONGEST_SCRIPT {
        return Err(Fault::limit(format!(
            "a script may have {} KiB, not {}",
            LONGEST_SCRIPT >> 10,
            text.len() >> 10
        )));
    }
    let compile = || {
        let ast = AstModule::parse(path, text.to_owned(), &dialect()).map_err(|error| Fault::of(&error))?;
        let globals = GlobalsBuilder::extended_by(&[
            LibraryExtension::StructType,
            LibraryExtension::SetType,
            LibraryExtension::Map,
            LibraryExtension::Filter,
            LibraryExtension::Partial,
            LibraryExtension::Print,
            LibraryExtension::Typing,
        ])
        .with(builtins)
        .build();
        let host = Host::default();
        let module = Module::with_temp_heap(|module| {
            evaluate(&module, &host, limits, limits.steps, |eval| {
                eval.eval_module(ast, &globals).map(|_| ())
            })?;
            module.freeze().map_err(|error| Fault::of(&starlark::Error::from(error)))
        })?;
        Ok((module, host.printed.take()))
    };
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("extension script".to_owned())
            .stack_size(COMPILER_STACK)
            .spawn_scoped(scope, compile)
            .map_err(|error| Fault::limit(format!("no thread could be started for the script: {error}")))?
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Evaluates something of a script under its limits.
fn evaluate<'v, 't, R>(
    module: &Module<'v>,
    host: &Host<'t>,
    limits: Limits,
    steps: u64,
    body: impl FnOnce(&mut Evaluator<'v, '_, 't>) -> starlark::Result<R>,
) -> Result<R, Fault> {
    let mut eval = Evaluator::new(module);
    eval.extra = Some(host);
    eval.set_print_handler(host);
    let until = limits.apply(steps, &mut eval)?;
    let current = CurrentLine::of(&mut eval);
    body(&mut eval).map_err(|error| {
        let fault = Fault::of(&error);
        let line = fault.line.or_else(|| current.get());
        match limits.exceeded(steps, until, &mut eval) {
            Some(reason) => Fault { reason, kind: FaultKind::Limit, line },
            None => Fault { line, ..fault },
        }
    })
}

/// A call as a model's function sees it.
fn event<'v>(call: &OpCall<'_>, heap: Heap<'v>) -> ScriptValue<'v> {
    let list = |items: Option<&[Value]>| all_to_script(items.unwrap_or_default(), heap);
    let args = call.attributes.iter().map(|(name, value)| (*name, to_script(value, heap)));
    heap.alloc(AllocStruct([
        ("name", heap.alloc(call.name)),
        ("dims", list(call.dims)),
        ("types", list(call.types)),
        ("strides", list(call.strides)),
        ("concrete", list(call.concrete)),
        ("args", heap.alloc(AllocDict(args))),
        ("kernels", heap.alloc(AllocTuple(call.kernels.iter().copied()))),
        ("annotation", call.annotation.map_or(ScriptValue::new_none(), |text| heap.alloc(text))),
        ("forward", call.forward.map_or(ScriptValue::new_none(), |forward| event(forward, heap))),
    ]))
}

/// What a script defined, with its text for the lines of messages.
struct Script<'s> {
    path: &'s str,
    text: &'s str,
    module: &'s FrozenModule,
}

impl Script<'_> {
    fn member(&self, name: &'static str) -> Result<Option<OwnedFrozenValue>, ExtensionError> {
        let found = self.module.get_option(name);
        found
            .map(|value| value.filter(|value| !value.value().is_none()))
            .map_err(|error| self.wrong(name, "a public member", error.to_string()))
    }

    /// A dict from names, its values read by `read`.
    fn names(
        &self,
        member: &'static str,
        expected: &'static str,
        read: impl Fn(ScriptValue<'_>) -> Option<String>,
    ) -> Result<BTreeMap<String, String>, ExtensionError> {
        let Some(value) = self.member(member)? else { return Ok(BTreeMap::new()) };
        let value = value.value();
        let Some(dict) = DictRef::from_value(value) else {
            return Err(self.wrong(member, expected, format!("a {}", value.get_type())));
        };
        dict.iter()
            .map(|(name, value)| match (name.unpack_str(), read(value)) {
                (Some(name), Some(value)) => Ok((name.to_owned(), value)),
                (None, _) => Err(self.wrong(member, expected, format!("the key {}", name.to_repr()))),
                (Some(name), None) => {
                    Err(self.wrong(member, expected, format!("a {} for {name}", value.get_type())))
                }
            })
            .collect()
    }

    /// Members that look as if they were meant for the tool.
    fn members_without_effect(&self) -> impl Iterator<Item = ExtensionNotice> + '_ {
        let known = [MODELS, CATEGORIES, POSTPROCESS];
        let members = self.module.names().filter(move |name| !known.contains(&name.as_str()));
        members.filter_map(|member| {
            let member = member.as_str();
            let reason = match WITHOUT_EFFECT.iter().find(|(name, _)| *name == member) {
                Some((_, reason)) => (*reason).to_owned(),
                None if member.ends_with("_extension") || member.ends_with("_extensions") => {
                    format!("a script may define {}", [MODELS, CATEGORIES, POSTPROCESS].join(", "))
                }
                None => return None,
            };
            Some(ExtensionNotice::WithoutEffect { at: self.place(member), member: member.to_owned(), reason })
        })
    }

    fn wrong(&self, member: &'static str, expected: &'static str, found: String) -> ExtensionError {
        ExtensionError::Member { at: self.place(member), member, expected, found }
    }

    /// The last line that assigns or defines a member.
    fn place(&self, member: &str) -> Place {
        let defines = |line: &str| {
            let line = line.strip_prefix("def ").unwrap_or(line);
            line.strip_prefix(member).is_some_and(|rest| rest.trim_start().starts_with(['=', '(']))
        };
        let line = self.text.lines().enumerate().filter(|(_, line)| defines(line)).last();
        Place { path: self.path.to_owned(), line: line.map(|(position, _)| position + 1) }
    }
}
