//! One recorded call with the reference's figures, and ours.

use std::fmt;

use perf_models::{Figure, OpCall, Tables, Value};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value as Json};

/// One line of the file.
#[derive(Debug)]
pub(crate) struct Case {
    /// The line itself, which exceptions are discriminated by.
    pub(crate) line: String,
    pub(crate) call: Recorded,
    /// What the reference says of it, in the order of the file: figures, spec, then parameters.
    pub(crate) expected: Vec<(String, Outcome)>,
}

impl Case {
    /// The reference's figure in this field; rules for exceptions start from it.
    pub(crate) fn reference(&self, field: &str) -> f64 {
        match self.expected.iter().find(|(name, _)| name == field) {
            Some((_, Outcome::Figure(figure))) => *figure,
            other => panic!("{}: {field} is {other:?}", self.call.name),
        }
    }

    /// Shape of input `index`.
    pub(crate) fn shape(&self, index: usize) -> Vec<f64> {
        self.call.with_call(|call| call.shape(index).unwrap().into_iter().map(|side| side as f64).collect())
    }
}

/// A figure, a text, or neither.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// FLOPs or bytes.
    Figure(f64),
    /// A compute spec or a parameter as it prints.
    Text(String),
    /// There is none.
    Absent,
}

impl Outcome {
    /// Whether both say the same, figures to 1e-9.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Figure(a), Self::Figure(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()),
            _ => self == other,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Figure(figure) => write!(f, "{figure}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Absent => f.write_str("nothing"),
        }
    }
}

/// An operator call that owns what [`OpCall`] borrows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) name: String,
    dims: Option<Vec<Value>>,
    types: Option<Vec<Value>>,
    strides: Option<Vec<Value>>,
    concrete: Option<Vec<Value>>,
    attributes: Vec<(String, Value)>,
    annotation: Option<String>,
    kernels: Vec<String>,
    forward: Option<Box<Recorded>>,
}

impl Recorded {
    /// Lends the call to `read`.
    pub(crate) fn with_call<T>(&self, read: impl FnOnce(&OpCall<'_>) -> T) -> T {
        let attributes: Vec<_> =
            self.attributes.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        let kernels: Vec<_> = self.kernels.iter().map(String::as_str).collect();
        let call = OpCall {
            name: &self.name,
            dims: self.dims.as_deref(),
            types: self.types.as_deref(),
            strides: self.strides.as_deref(),
            concrete: self.concrete.as_deref(),
            attributes: &attributes,
            annotation: self.annotation.as_deref(),
            kernels: &kernels,
            forward: None,
        };
        match &self.forward {
            None => read(&call),
            // The closure is erased so that this function does not instantiate itself without end.
            Some(forward) => {
                let mut read = Some(read);
                let mut answer = None;
                let lend: &mut dyn FnMut(&OpCall<'_>) = &mut |forward| {
                    answer = read.take().map(|read| read(&OpCall { forward: Some(forward), ..call }));
                };
                forward.with_call(lend);
                answer.unwrap()
            }
        }
    }

    fn sequence_number(&self) -> Option<&Value> {
        self.attributes.iter().find(|(name, _)| name == "Sequence number").map(|(_, value)| value)
    }
}

/// A line of the file as JSON.
#[derive(Deserialize)]
struct Line {
    name: String,
    args: Map<String, Json>,
    annotation: Option<String>,
    #[serde(default)]
    kernel_details: Vec<Kernel>,
    expect: Expect,
}

#[derive(Deserialize)]
struct Kernel {
    name: String,
}

#[derive(Deserialize)]
struct Expect {
    #[serde(default)]
    flops: Json,
    #[serde(default)]
    bytes: Json,
    #[serde(default)]
    flops_bwd: Json,
    #[serde(default)]
    bytes_bwd: Json,
    spec: Option<String>,
    params: Option<InOrder>,
}

/// The members of an object in the order of the file.
struct InOrder(Vec<(String, Option<String>)>);

impl<'de> Deserialize<'de> for InOrder {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = InOrder;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of texts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<InOrder, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(InOrder(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// The cases of a file, one a line; backward calls get the forward call with their sequence number.
pub(crate) fn read_cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = text.lines().map(read_case).collect();
    let forwards: Vec<Recorded> = cases.iter().map(|case| case.call.clone()).collect();
    for case in &mut cases {
        let Some(forward_name) = case.call.name.strip_suffix("Backward") else { continue };
        let forward = forwards.iter().find(|forward| {
            forward.name == forward_name && forward.sequence_number() == case.call.sequence_number()
        });
        case.call.forward = forward.cloned().map(Box::new);
    }
    cases
}

fn read_case(line: &str) -> Case {
    let Line { name, args, annotation, kernel_details, expect } =
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let mut call = Recorded {
        name,
        annotation,
        kernels: kernel_details.into_iter().map(|kernel| kernel.name).collect(),
        ..Recorded::default()
    };
    for (key, value) in &args {
        match (key.as_str(), value_of(value)) {
            ("Input Dims", Value::List(items)) => call.dims = Some(items),
            ("Input type", Value::List(items)) => call.types = Some(items),
            ("Input Strides", Value::List(items)) => call.strides = Some(items),
            ("Concrete Inputs", Value::List(items)) => call.concrete = Some(items),
            (key, value) => call.attributes.push((key.to_owned(), value)),
        }
    }
    let mut expected = vec![
        ("flops".to_owned(), figure(&expect.flops)),
        ("bytes".to_owned(), figure(&expect.bytes)),
        ("flops_bwd".to_owned(), figure(&expect.flops_bwd)),
        ("bytes_bwd".to_owned(), figure(&expect.bytes_bwd)),
        ("spec".to_owned(), expect.spec.map_or(Outcome::Absent, Outcome::Text)),
    ];
    let params = expect.params.map_or_else(Vec::new, |InOrder(params)| params);
    push_parameters(&mut expected, params);
    Case { line: line.to_owned(), call, expected }
}

fn push_parameters(outcomes: &mut Vec<(String, Outcome)>, params: Vec<(String, Option<String>)>) {
    let names: Vec<&str> = params.iter().map(|(name, _)| name.as_str()).collect();
    let order = if names.is_empty() { Outcome::Absent } else { Outcome::Text(names.join(", ")) };
    outcomes.push(("params".to_owned(), order));
    let values = params
        .into_iter()
        .map(|(name, text)| (format!("param: {name}"), text.map_or(Outcome::Absent, Outcome::Text)));
    outcomes.extend(values);
}

fn figure(json: &Json) -> Outcome {
    json.as_f64().map_or(Outcome::Absent, Outcome::Figure)
}

fn value_of(json: &Json) -> Value {
    match json {
        Json::Null => Value::None,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::Int(whole),
            None => Value::Float(number.as_f64().unwrap()),
        },
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(items) => Value::List(items.iter().map(value_of).collect()),
        Json::Object(members) => Value::List(
            members
                .iter()
                .map(|(key, value)| Value::Tuple(vec![key.as_str().into(), value_of(value)]))
                .collect(),
        ),
    }
}

/// What our model says of a call, in the form of [`Case::expected`], and why figures are missing.
pub(crate) fn evaluate(call: &Recorded) -> (Vec<(String, Outcome)>, Vec<String>) {
    call.with_call(|call| {
        let (mut outcomes, mut reasons) = (Vec::new(), Vec::new());
        let model = match Tables::Common.model(call) {
            Ok(model) => model,
            Err(undefined) => return (outcomes, vec![format!("no model: {undefined}")]),
        };
        let mut push = |field: &str, figure: Figure| {
            let outcome = match figure {
                Ok(figure) => {
                    assert!(figure >= 0.0, "{}: {field} is {figure}", call.name);
                    Outcome::Figure(figure)
                }
                Err(undefined) => {
                    reasons.push(format!("{field}: {undefined}"));
                    Outcome::Absent
                }
            };
            outcomes.push((field.to_owned(), outcome));
        };
        push("flops", model.flops());
        push("bytes", model.bytes());
        push("flops_bwd", model.backward_flops());
        push("bytes_bwd", model.backward_bytes());
        let spec = model.compute_spec().map_or(Outcome::Absent, |spec| Outcome::Text(spec.to_string()));
        outcomes.push(("spec".to_owned(), spec));
        let params = model.parameters().into_iter().map(|(name, value)| {
            let text = (value != Value::None).then(|| value.to_string());
            (name.to_owned(), text)
        });
        push_parameters(&mut outcomes, params.collect());
        (outcomes, reasons)
    })
}
