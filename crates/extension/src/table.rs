//! The table form: operators, their models as a built-in one or as expressions, categories and sheets, in TOML.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use perf_models::{ComputeSpec, Family, OpCall, PerfModel, Undefined, Value};
use serde::Deserialize;
use toml::Spanned;
use tree_perf::{AnalysisExtension, ExtensionModel};

use crate::error::{ExtensionError, Place};
use crate::expression::Expression;
use crate::families::ModelFamily;
use crate::loaded::{Loaded, sheet_members};
use crate::work::{OwnBackward, ParameterNames, Work, figure, spec};

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    operator: BTreeMap<String, Spanned<WrittenOperator>>,
    #[serde(default)]
    categories: BTreeMap<String, String>,
    #[serde(default)]
    sheets: BTreeMap<String, Vec<String>>,
}

/// A number, flag or list, or a text that holds an expression.
type WrittenValue = Spanned<toml::Value>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenOperator {
    like: Option<Spanned<String>>,
    inputs: Option<Vec<i64>>,
    #[serde(default)]
    types: BTreeMap<String, WrittenValue>,
    #[serde(default)]
    concrete: BTreeMap<String, WrittenValue>,
    family: Option<Spanned<String>>,
    #[serde(default)]
    parameters: BTreeMap<String, WrittenValue>,
    flops: Option<WrittenValue>,
    bytes: Option<WrittenValue>,
    spec: Option<Spanned<String>>,
    category: Option<String>,
    sheet: Option<String>,
    backward: Option<bool>,
    backward_flops: Option<WrittenValue>,
    backward_bytes: Option<WrittenValue>,
}

/// A table, loaded.
pub(crate) struct Table {
    path: String,
    operators: BTreeMap<String, Operator>,
    categories: BTreeMap<String, String>,
    sheets: BTreeMap<String, Vec<String>>,
    names: ParameterNames,
}

/// An expression with its place in the file.
struct Placed {
    line: usize,
    expression: Expression,
}

struct Operator {
    line: usize,
    model: Model,
    category: Option<String>,
    backward: Backward,
}

enum Model {
    /// That of a built-in operator, over other inputs.
    Like {
        operator: String,
        inputs: Option<Vec<i64>>,
        types: Vec<(usize, Placed)>,
        concrete: Vec<(usize, Placed)>,
    },
    /// A built-in family with its parameters.
    Family { family: &'static ModelFamily, parameters: Vec<(String, Placed)> },
    /// Figures, and parameters to show.
    Work {
        flops: Option<Placed>,
        bytes: Option<Placed>,
        spec: Option<ComputeSpec>,
        parameters: Vec<(String, Placed)>,
    },
}

struct Backward {
    is_modelled: bool,
    flops: Option<Placed>,
    bytes: Option<Placed>,
}

/// What is wrong, and where in the text.
struct Fault {
    at: Range<usize>,
    reason: String,
}

impl Table {
    pub(crate) fn load(path: &str, text: &str) -> Result<Table, ExtensionError> {
        let read = || {
            let written: Written = toml::from_str(text).map_err(|error| Fault {
                at: error.span().unwrap_or_default(),
                reason: error.message().lines().collect::<Vec<_>>().join(" "),
            })?;
            let line_of = |at: &Range<usize>| line_at(text, at.start);
            let names = ParameterNames::default();
            let mut sheets: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for (sheet, operators) in written.sheets {
                for operator in operators {
                    sheets.entry(operator).or_default().push(sheet.clone());
                }
            }
            let mut operators = BTreeMap::new();
            for (name, written) in written.operator {
                if let Some(sheet) = &written.get_ref().sheet {
                    sheets.entry(name.clone()).or_default().push(sheet.clone());
                }
                let operator = Operator::new(written, &line_of)?;
                operators.insert(name, operator);
            }
            let path = path.to_owned();
            Ok(Table { path, operators, categories: written.categories, sheets, names })
        };
        read().map_err(|fault: Fault| ExtensionError::Syntax {
            at: Place { path: path.to_owned(), line: Some(line_at(text, fault.at.start)) },
            activity: "loading",
            reason: fault.reason,
        })
    }

    fn evaluate(&self, operator: &Operator, call: &OpCall<'_>) -> Result<ExtensionModel, Undefined> {
        let wrong = |line: usize| {
            move |reason: String| Undefined::arguments(format!("{}:{line}: {reason}", self.path))
        };
        let value = |placed: &Placed| placed.expression.evaluate(call).map_err(wrong(placed.line));
        let number = |name: &str, placed: &Option<Placed>| match placed {
            None => Ok(None),
            Some(placed) => figure(name, &value(placed)?).map_err(wrong(placed.line)),
        };
        let values = |placed: &[(String, Placed)]| {
            placed
                .iter()
                .map(|(name, placed)| Ok((name.clone(), value(placed)?)))
                .collect::<Result<Vec<_>, _>>()
        };
        let backward = (
            number("backward_flops", &operator.backward.flops)?,
            number("backward_bytes", &operator.backward.bytes)?,
        );
        let (model, family, category): (Arc<dyn PerfModel>, Option<Family>, String) = match &operator.model {
            Model::Like { operator: like, inputs, types, concrete } => {
                let mut lists = [call.dims, call.types, call.strides, call.concrete].map(|list| {
                    list.map(|list| inputs.as_ref().map_or(list.to_vec(), |inputs| chosen(list, inputs)))
                });
                for (list, overrides) in [(1, types), (3, concrete)] {
                    for (position, placed) in overrides {
                        let list = lists[list].get_or_insert_default();
                        if list.len() <= *position {
                            list.resize(position + 1, "".into());
                        }
                        list[*position] = value(placed)?;
                    }
                }
                let [dims, types, strides, concrete] = &lists;
                let call = OpCall {
                    name: like,
                    dims: dims.as_deref(),
                    types: types.as_deref(),
                    strides: strides.as_deref(),
                    concrete: concrete.as_deref(),
                    ..*call
                };
                let model = perf_models::model(&call)
                    .map_err(|undefined| wrong(operator.line)(format!("as {like}: {undefined}")))?;
                let known = perf_models::operator(like);
                let category = known.map_or_else(String::new, |known| known.category.as_str().to_owned());
                (Arc::from(model), known.and_then(|known| known.family), category)
            }
            Model::Family { family, parameters } => {
                let parameters = values(parameters)?.into_iter().collect();
                let model = family.build(parameters).map_err(wrong(operator.line))?;
                (model, Some(family.family), family.category.as_str().to_owned())
            }
            Model::Work { flops, bytes, spec, parameters } => {
                let mut named = Vec::new();
                for (name, value) in values(parameters)? {
                    named.push((self.names.get(&name).map_err(wrong(operator.line))?, tuples(value)));
                }
                let work = Work {
                    flops: number("flops", flops)?,
                    bytes: number("bytes", bytes)?,
                    backward_flops: backward.0,
                    backward_bytes: backward.1,
                    spec: *spec,
                    parameters: named,
                };
                (Arc::new(work), None, "other".to_owned())
            }
        };
        let own_backward = !operator.backward.is_modelled || backward != (None, None);
        let model = match own_backward && !matches!(operator.model, Model::Work { .. }) {
            true => Arc::new(OwnBackward { forward: model, flops: backward.0, bytes: backward.1 }),
            false => model,
        };
        Ok(ExtensionModel { model, family, category: operator.category.clone().unwrap_or(category) })
    }
}

/// The inputs of a call in another order; a negative position stands for none.
fn chosen(list: &[Value], inputs: &[i64]) -> Vec<Value> {
    let none = match list.first() {
        Some(Value::Text(_)) => Value::from(""),
        _ => Value::List(Vec::new()),
    };
    let input = |&position: &i64| usize::try_from(position).ok().and_then(|position| list.get(position));
    inputs.iter().map(|position| input(position).unwrap_or(&none).clone()).collect()
}

/// Lists as tuples, which is how reports show shapes.
fn tuples(value: Value) -> Value {
    match value {
        Value::List(items) => Value::Tuple(items.into_iter().map(tuples).collect()),
        other => other,
    }
}

fn line_at(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

impl Operator {
    fn new(
        written: Spanned<WrittenOperator>,
        line_of: &impl Fn(&Range<usize>) -> usize,
    ) -> Result<Self, Fault> {
        let at = written.span();
        let written = written.into_inner();
        let placed = |value: WrittenValue| {
            let at = value.span();
            let expression =
                expression(value.into_inner()).map_err(|reason| Fault { at: at.clone(), reason })?;
            Ok::<_, Fault>(Placed { line: line_of(&at), expression })
        };
        let named = |values: BTreeMap<String, WrittenValue>| {
            values
                .into_iter()
                .map(|(name, value)| Ok((name, placed(value)?)))
                .collect::<Result<Vec<_>, Fault>>()
        };
        let by_position = |values: BTreeMap<String, WrittenValue>| {
            let position = |name: String, value: WrittenValue| match name.parse() {
                Ok(position) if position < MOST_INPUTS => Ok((position, placed(value)?)),
                _ => Err(Fault { at: value.span(), reason: format!("{name:?} is not an input position") }),
            };
            values.into_iter().map(|(name, value)| position(name, value)).collect::<Result<Vec<_>, Fault>>()
        };
        let fault = |reason: &str| Err(Fault { at: at.clone(), reason: reason.to_owned() });
        let has_figures = written.flops.is_some() || written.bytes.is_some();
        let others = written.inputs.is_some() || !written.types.is_empty() || !written.concrete.is_empty();
        let model = match (written.like, written.family, has_figures) {
            (Some(like), None, false) => {
                if perf_models::operator(like.get_ref()).is_none_or(|operator| operator.family.is_none()) {
                    let reason = format!("no built-in model for operators named {:?}", like.get_ref());
                    return Err(Fault { at: like.span(), reason });
                }
                Model::Like {
                    operator: like.into_inner(),
                    inputs: written.inputs,
                    types: by_position(written.types)?,
                    concrete: by_position(written.concrete)?,
                }
            }
            _ if others => return fault("`inputs`, `types` and `concrete` require `like`"),
            (None, Some(family), false) => {
                let known = ModelFamily::named(family.get_ref());
                let known = known.map_err(|reason| Fault { at: family.span(), reason })?;
                Model::Family { family: known, parameters: named(written.parameters)? }
            }
            (None, None, true) => {
                if written.category.is_none() {
                    return fault("an operator with `flops` or `bytes` needs a `category`");
                }
                let known = written
                    .spec
                    .map(|text| spec(text.get_ref()).map_err(|reason| Fault { at: text.span(), reason }));
                Model::Work {
                    flops: written.flops.map(placed).transpose()?,
                    bytes: written.bytes.map(placed).transpose()?,
                    spec: known.transpose()?,
                    parameters: named(written.parameters)?,
                }
            }
            _ => return fault("an operator needs `like`, `family`, `flops` or `bytes`"),
        };
        let backward = Backward {
            is_modelled: written.backward.unwrap_or(true),
            flops: written.backward_flops.map(placed).transpose()?,
            bytes: written.backward_bytes.map(placed).transpose()?,
        };
        Ok(Operator { line: line_of(&at), model, category: written.category, backward })
    }
}

/// Operators have a few dozen inputs at most.
const MOST_INPUTS: usize = 1024;

fn expression(value: toml::Value) -> Result<Expression, String> {
    Ok(match value {
        toml::Value::String(text) => return Expression::parse(&text),
        toml::Value::Integer(number) => Expression::Constant(Value::Int(number)),
        toml::Value::Float(number) => Expression::Constant(Value::Float(number)),
        toml::Value::Boolean(flag) => Expression::Constant(Value::Bool(flag)),
        toml::Value::Array(items) => {
            Expression::List(items.into_iter().map(expression).collect::<Result<_, _>>()?)
        }
        other => return Err(format!("a {} cannot be used in an expression", other.type_str())),
    })
}

impl AnalysisExtension for Table {
    fn has_model(&self, operator: &str) -> bool {
        self.operators.contains_key(operator)
    }

    fn model(&self, call: &OpCall<'_>) -> Option<Result<ExtensionModel, Undefined>> {
        Some(self.evaluate(self.operators.get(call.name)?, call))
    }

    fn category(&self, operator: &str) -> Option<&str> {
        let model_category = || self.operators.get(operator)?.category.as_ref();
        self.categories.get(operator).or_else(model_category).map(String::as_str)
    }

    fn sheets(&self, operator: &str) -> Vec<&str> {
        self.sheets.get(operator).into_iter().flatten().map(String::as_str).collect()
    }
}

impl Loaded for Table {
    fn modelled(&self) -> Vec<&str> {
        self.operators.keys().map(String::as_str).collect()
    }

    fn categories(&self) -> Vec<(&str, &str)> {
        self.categories.iter().map(|(operator, category)| (operator.as_str(), category.as_str())).collect()
    }

    fn sheet_members(&self) -> Vec<(&str, &str)> {
        sheet_members(&self.sheets)
    }
}
