//! What a script can call besides Starlark's own functions.

// Parameters of a script's function are arguments of a Rust function.
#![allow(clippy::too_many_arguments)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use perf_models::{ComputeSpec, Figure, Parameter, PerfModel, Undefined, Value};
use starlark::collections::SmallMap;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value as ScriptValue;
use starlark::values::float::UnpackFloat;
use starlark::values::none::NoneOr;
use tree_perf::ExtensionModel;

use crate::bounded::times;
use crate::error::complain;
use crate::families::ModelFamily;
use crate::host::Host;
use crate::values::from_script;

/// Figures that a script computed itself.
#[derive(Debug)]
struct Work {
    flops: Option<f64>,
    bytes: Option<f64>,
    backward_flops: Option<f64>,
    backward_bytes: Option<f64>,
    spec: Option<ComputeSpec>,
    parameters: Vec<Parameter>,
}

fn given(figure: Option<f64>, what: &'static str) -> Figure {
    figure.ok_or_else(|| Undefined::no_formula(format!("the extension script gives no {what}")))
}

impl PerfModel for Work {
    fn flops(&self) -> Figure {
        given(self.flops, "FLOPs")
    }

    fn bytes(&self) -> Figure {
        given(self.bytes, "bytes")
    }

    fn backward_flops(&self) -> Figure {
        given(self.backward_flops, "FLOPs of the backward pass")
    }

    fn backward_bytes(&self) -> Figure {
        given(self.backward_bytes, "bytes of the backward pass")
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        self.spec
    }

    fn parameters(&self) -> Vec<Parameter> {
        self.parameters.clone()
    }
}

/// A model with figures of the backward pass that the script computed itself, or with none because the backward
/// consists of calls of their own.
#[derive(Debug)]
struct OwnBackward {
    forward: Arc<dyn PerfModel>,
    flops: Option<f64>,
    bytes: Option<f64>,
}

impl PerfModel for OwnBackward {
    fn flops(&self) -> Figure {
        self.forward.flops()
    }

    fn bytes(&self) -> Figure {
        self.forward.bytes()
    }

    fn backward_flops(&self) -> Figure {
        given(self.flops, "FLOPs of the backward pass")
    }

    fn backward_bytes(&self) -> Figure {
        given(self.bytes, "bytes of the backward pass")
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        self.forward.compute_spec()
    }

    fn parameters(&self) -> Vec<Parameter> {
        self.forward.parameters()
    }

    fn assumption(&self) -> Option<String> {
        self.forward.assumption()
    }
}

/// Names of parameters live as long as the program: reports hold them as such. There are only so many.
const MOST_NAMES: usize = 1024;

fn parameter_name(name: &str) -> Result<&'static str, String> {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return Ok(known);
    }
    if names.len() >= MOST_NAMES {
        return Err(format!(
            "work names more than {MOST_NAMES} different parameters: names must not be made of values"
        ));
    }
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(name);
    Ok(name)
}

fn values(given: SmallMap<String, ScriptValue<'_>>) -> Result<Vec<(String, Value)>, String> {
    given
        .into_iter()
        .map(|(name, value)| match from_script(value) {
            Ok(value) => Ok((name, value)),
            Err(found) => {
                Err(format!("{name} must be a number, text, flag, None or a list of them, found {found}"))
            }
        })
        .collect()
}

fn figure(function: &str, name: &str, value: NoneOr<UnpackFloat>) -> Result<Option<f64>, String> {
    match value.into_option() {
        None => Ok(None),
        Some(UnpackFloat(figure)) if figure.is_finite() && figure >= 0.0 => Ok(Some(figure)),
        Some(UnpackFloat(figure)) => {
            Err(format!("{function} needs a number of at least 0 as {name}, found {figure}"))
        }
    }
}

/// The functions of every script.
#[starlark_module]
pub(crate) fn builtins(builder: &mut GlobalsBuilder) {
    /// A model of one of the tool's families.
    fn model<'v>(
        #[starlark(require = pos)] family: &str,
        #[starlark(require = named, default = NoneOr::None)] category: NoneOr<&str>,
        #[starlark(require = named, default = true)] backward: bool,
        #[starlark(require = named, default = NoneOr::None)] backward_flops: NoneOr<UnpackFloat>,
        #[starlark(require = named, default = NoneOr::None)] backward_bytes: NoneOr<UnpackFloat>,
        #[starlark(kwargs)] parameters: SmallMap<String, ScriptValue<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        let family = ModelFamily::named(family).map_err(complain)?;
        let parameters: BTreeMap<String, Value> = values(parameters).map_err(complain)?.into_iter().collect();
        let model = family.build(parameters).map_err(complain)?;
        let flops = figure("model", "backward_flops", backward_flops).map_err(complain)?;
        let bytes = figure("model", "backward_bytes", backward_bytes).map_err(complain)?;
        let model = match backward && flops.is_none() && bytes.is_none() {
            true => model,
            false => Arc::new(OwnBackward { forward: model, flops, bytes }),
        };
        let category = category.into_option().unwrap_or(family.category.as_str()).to_owned();
        let model = ExtensionModel { model, family: Some(family.family), category };
        Ok(Host::from_evaluator(eval)?.keep(model, eval))
    }

    /// Figures of the script's own.
    fn work<'v>(
        #[starlark(require = named, default = NoneOr::None)] flops: NoneOr<UnpackFloat>,
        #[starlark(require = named, default = NoneOr::None)] bytes: NoneOr<UnpackFloat>,
        #[starlark(require = named)] category: &str,
        #[starlark(require = named, default = NoneOr::None)] spec: NoneOr<&str>,
        #[starlark(require = named, default = NoneOr::None)] backward_flops: NoneOr<UnpackFloat>,
        #[starlark(require = named, default = NoneOr::None)] backward_bytes: NoneOr<UnpackFloat>,
        #[starlark(require = named, default = SmallMap::new())] params: SmallMap<String, ScriptValue<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        let spec: Option<ComputeSpec> = match spec.into_option() {
            None => None,
            Some(spec) => Some(spec.parse().map_err(|_| {
                complain(format!("spec must be like \"matrix_bf16\" or \"vector_fp32\", found {spec:?}"))
            })?),
        };
        let mut parameters = Vec::new();
        for (name, value) in values(params).map_err(complain)? {
            parameters.push((parameter_name(&name).map_err(complain)?, value));
        }
        let work = Work {
            flops: figure("work", "flops", flops).map_err(complain)?,
            bytes: figure("work", "bytes", bytes).map_err(complain)?,
            backward_flops: figure("work", "backward_flops", backward_flops).map_err(complain)?,
            backward_bytes: figure("work", "backward_bytes", backward_bytes).map_err(complain)?,
            spec,
            parameters,
        };
        let model = ExtensionModel { model: Arc::new(work), family: None, category: category.to_owned() };
        Ok(Host::from_evaluator(eval)?.keep(model, eval))
    }

    /// The product of numbers; 1 of none.
    fn prod<'v>(
        #[starlark(require = pos)] numbers: ScriptValue<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        let mut product = eval.heap().alloc(1);
        for number in numbers.iterate(eval.heap())? {
            product = times(product, number, eval)?;
        }
        Ok(product)
    }

    /// Bytes of an element of a type as PyTorch names it; a half for four bits.
    fn element_size<'v>(
        #[starlark(require = pos)] dtype: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        let size = perf_models::element_size(dtype).map_err(|undefined| complain(undefined.reason))?;
        Ok(match size.fract() == 0.0 {
            true => eval.heap().alloc(size as u64),
            false => eval.heap().alloc(size),
        })
    }
}
