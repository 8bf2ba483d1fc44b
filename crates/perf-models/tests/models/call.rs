//! A recorded call, written short.

use perf_models::{Figure, OpCall, PerfModel, Undefined, Value, model};

#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) dims: Vec<Value>,
    pub(crate) types: Vec<Value>,
    pub(crate) strides: Vec<Value>,
    pub(crate) concrete: Vec<Value>,
    pub(crate) attributes: Vec<(&'static str, Value)>,
    pub(crate) step: Option<String>,
    pub(crate) kernels: Vec<&'static str>,
    pub(crate) forward_is_itself: bool,
}

impl Call {
    /// Shapes are separated by blanks, dimensions by commas, the tensors of a list by semicolons; `-` is a scalar or an
    /// absent tensor, `[]` an empty list. The last type is that of all further inputs. Strides are 1 everywhere.
    pub(crate) fn new(name: &'static str, shapes: &str, types: &str) -> Self {
        let tensors = |text: &str| -> Vec<Vec<i64>> {
            if text == "[]" { Vec::new() } else { text.split(';').map(shape).collect() }
        };
        let shapes: Vec<Vec<Vec<i64>>> = shapes.split_whitespace().map(tensors).collect();
        let types: Vec<&str> = types.split_whitespace().map(type_name).collect();
        let type_of = |index: usize| types.get(index).or(types.last()).copied().unwrap_or_default();
        Self {
            name,
            types: (0..shapes.len()).map(|index| type_of(index).into()).collect(),
            strides: shapes.iter().map(|shapes| input(shapes, |_| 1)).collect(),
            dims: shapes.iter().map(|shapes| input(shapes, |extent| extent)).collect(),
            concrete: vec![Value::from(""); shapes.len().max(30)],
            ..Self::default()
        }
    }

    /// Values of scalars by the position of their input.
    pub(crate) fn with(mut self, scalars: &[(usize, &str)]) -> Self {
        for (index, text) in scalars {
            self.concrete[*index] = Value::from(*text);
        }
        self
    }

    /// Values of scalars from input `first` on, separated by blanks; nothing is behind them, and what was given before
    /// stands before them.
    pub(crate) fn scalars(mut self, first: usize, texts: &str) -> Self {
        self.concrete.resize(first, Value::from(""));
        self.concrete.extend(texts.split_whitespace().map(Value::from));
        self
    }

    pub(crate) fn step(self, step: &str) -> Self {
        Self { step: Some(step.to_owned()), ..self }
    }

    pub(crate) fn kernel(mut self, kernel: &'static str) -> Self {
        self.kernels.push(kernel);
        self
    }

    pub(crate) fn attribute(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.attributes.push((name, value.into()));
        self
    }

    pub(crate) fn read(&self) -> Result<Box<dyn PerfModel>, Undefined> {
        let call = OpCall {
            name: self.name,
            dims: Some(&self.dims),
            types: Some(&self.types),
            strides: Some(&self.strides),
            concrete: Some(&self.concrete),
            attributes: &self.attributes,
            annotation: self.step.as_deref(),
            kernels: &self.kernels,
            forward: None,
        };
        model(&OpCall { forward: self.forward_is_itself.then_some(&call), ..call })
    }

    #[track_caller]
    pub(crate) fn model(&self) -> Box<dyn PerfModel> {
        self.read().unwrap_or_else(|undefined| panic!("{}: {undefined}", self.name))
    }

    pub(crate) fn parameter(&self, name: &str) -> String {
        let parameters = self.model().parameters();
        parameters.iter().find(|(parameter, _)| *parameter == name).unwrap().1.to_string()
    }
}

/// A number for each dimension of a tensor, or of the tensors of a list.
fn input(shapes: &[Vec<i64>], number: fn(i64) -> i64) -> Value {
    let one = |shape: &Vec<i64>| Value::tuple(shape.iter().map(|&extent| number(extent)));
    match shapes {
        [shape] => one(shape),
        shapes => Value::List(shapes.iter().map(one).collect()),
    }
}

fn shape(text: &str) -> Vec<i64> {
    if text == "-" { Vec::new() } else { text.split(',').map(|side| side.parse().unwrap()).collect() }
}

pub(crate) fn type_name(short: &str) -> &str {
    match short {
        "bf16" => "c10::BFloat16",
        "half" => "c10::Half",
        "fp8" => "c10::Float8_e4m3fn",
        "e5m2" => "c10::Float8_e5m2",
        "fp4" => "c10::Float4_e2m1fn_x2",
        "e8m0" => "c10::Float8_e8m0fnu",
        "uint8" => "unsigned char",
        "int8" => "signed char",
        "long" => "long int",
        "none" => "",
        other => other,
    }
}

/// The value of an argument that is called by its name.
pub(crate) fn attribute(text: &str) -> Value {
    match text {
        "True" => true.into(),
        "False" => false.into(),
        text => text.parse::<i64>().map_or(text.into(), Value::Int),
    }
}

pub(crate) fn spec(model: &dyn PerfModel) -> String {
    model.compute_spec().map(|spec| spec.to_string()).unwrap_or_default()
}

/// FLOPs and bytes, then those of the backward pass.
pub(crate) fn figures(model: &dyn PerfModel) -> [Figure; 4] {
    [model.flops(), model.bytes(), model.backward_flops(), model.backward_bytes()]
}
