//! A recorded call as an operator that can run again, or the reason why it cannot.

use perf_models::{CollectiveKind, CommunicationPatterns, CopyDirection, HostMemory, MemoryCopy, OpCall};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use crate::contents::{Call, Contents, NUMBERS_BELOW};
use crate::known_schemas::{overloads, schemas_of};
use crate::recorded::{Argument, Arguments, Scalar, SeenTensors, Tensor};
use crate::schema::{BaseType, Parameter, Schema};

/// A recorded call that can run again. Serializes to the arguments of an entry of a replay file.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// Name of the operator, such as `aten::addmm`.
    pub name: String,
    /// Overload whose schema takes the arguments; `None` where the target's PyTorch has to say.
    pub overload: Option<&'static str>,
    /// Bytes of the tensors among the arguments.
    pub bytes: u64,
    /// What the recording does not say and was taken for granted.
    pub assumed: Vec<String>,
    arguments: Vec<OperationArgument>,
}

#[derive(Clone, Debug, PartialEq)]
struct OperationArgument {
    name: &'static str,
    written_type: String,
    keyword_only: bool,
    value: ReplayValue,
}

#[derive(Clone, Debug, PartialEq)]
enum ReplayValue {
    /// `None`, or the parameter's default where it may not be `None`.
    Nothing,
    Scalar(Scalar),
    Scalars(Vec<Scalar>),
    Tensor(ReplayTensor),
    Tensors(Vec<Option<ReplayTensor>>),
}

#[derive(Clone, Debug, PartialEq)]
struct ReplayTensor {
    tensor: Tensor,
    contents: Contents,
    /// Where the tensor is in the host's memory, and how that was allocated.
    host: Option<HostMemory>,
}

/// Why a call cannot run again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(String);

impl Operation {
    /// Reads a recorded call, whose kernels tell the types of tensor lists and where copies begin and end.
    ///
    /// # Errors
    /// When the call cannot run again: collectives, replays of graphs, generated kernels, what is no operator, arguments
    /// that were not recorded, or tensors of more than `max_bytes` together.
    pub fn read(call: &OpCall<'_>, seen: &SeenTensors, max_bytes: Option<u64>) -> Result<Self, Refusal> {
        if let Some(reason) = refused_by_name(call) {
            return Err(Refusal(reason));
        }
        let Arguments { all, mut assumed } = Arguments::read(call, seen).map_err(Refusal)?;
        let known = overloads(call.name);
        let takes_exactly =
            |schema: &&Schema<'_>| schema.parameters.len() == all.len() && takes(schema, &all);
        let schema =
            known.iter().find(takes_exactly).or_else(|| known.iter().find(|schema| takes(schema, &all)));
        if schema.is_none() {
            assumed.push(unknown_schema_note(call.name, known, &all).map_err(Refusal)?);
        }
        let read = Call { schema, arguments: &all };
        let copy = call.kernels.iter().find_map(|kernel| MemoryCopy::parse(kernel));
        let arguments: Vec<OperationArgument> = (0..all.len())
            .map(|index| {
                let parameter = schema.and_then(|schema| schema.parameters.get(index));
                assumed.extend(parameter.and_then(|parameter| assumed_value(parameter, &all[index])));
                OperationArgument::new(read, index, parameter, copy)
            })
            .collect();
        let bytes = arguments.iter().flat_map(|argument| argument.value.tensors());
        let bytes = bytes.fold(0_u64, |all, tensor| all.saturating_add(tensor.tensor.bytes()));
        if let Some(most) = max_bytes.filter(|&most| bytes > most) {
            return Err(Refusal(format!("its tensors take {bytes} bytes, more than the limit of {most}")));
        }
        let overload = schema.map(|schema| schema.overload);
        Ok(Operation { name: call.name.to_owned(), overload, bytes, assumed, arguments })
    }

    /// Shapes and values of the arguments in short, as they would be written in Python.
    #[must_use]
    pub fn arguments_in_short(&self) -> String {
        let shown = self.arguments.iter().map(|argument| match &argument.value {
            ReplayValue::Nothing => "None".to_owned(),
            ReplayValue::Scalar(scalar) => scalar.to_string(),
            ReplayValue::Scalars(scalars) => format!("[{}]", joined(scalars)),
            ReplayValue::Tensor(tensor) => tensor.in_short(),
            ReplayValue::Tensors(tensors) => {
                let first = tensors.iter().flatten().next().map_or_else(String::new, ReplayTensor::in_short);
                format!("{} × {first}", tensors.len())
            }
        });
        let mut shown: Vec<String> = shown.collect();
        // What nobody gave says nothing.
        while shown.last().is_some_and(|last| last == "None") {
            shown.pop();
        }
        shown.join(", ")
    }
}

fn joined(scalars: &[Scalar]) -> String {
    scalars.iter().map(Scalar::to_string).collect::<Vec<_>>().join(", ")
}

/// The reason why calls of this name cannot run again, if there is one.
fn refused_by_name(call: &OpCall<'_>) -> Option<String> {
    let name = call.name;
    let Some((namespace, operator)) = name.split_once("::") else {
        return Some(
            match () {
                () if name.ends_with("GraphLaunch") => {
                    "replays a captured graph, whose operators were not recorded"
                }
                () if name.contains("Launch")
                    && ["cuda", "hip", "cu"].iter().any(|of| name.starts_with(of)) =>
                {
                    "is a runtime launch without a recorded operator around it"
                }
                () if name.starts_with("triton_") => {
                    "is a Triton kernel generated by Inductor; its source was not recorded"
                }
                () if name == "record_param_comms" || name.starts_with("nccl:") => COLLECTIVE,
                () => "is not an operator of PyTorch's dispatcher; replay the operators it calls",
            }
            .to_owned(),
        );
    };
    let communicates = || {
        let patterns = CommunicationPatterns::default();
        !call.kernels.is_empty() && call.kernels.iter().all(|kernel| patterns.is_communication(kernel))
    };
    let is_collective = matches!(namespace, "c10d" | "_c10d_functional" | "c10d_functional" | "symm_mem")
        || (namespace != "aten" && CollectiveKind::from_name(operator) != CollectiveKind::Other)
        || communicates();
    match namespace {
        _ if is_collective => Some(COLLECTIVE.to_owned()),
        _ if name.starts_with("autograd::") || name.starts_with("torch::autograd::") => {
            Some("is an autograd node; replay the operators it calls".to_owned())
        }
        "profiler" | "prim" => Some("is an annotation or a builtin that does no work".to_owned()),
        _ => None,
    }
}

const COLLECTIVE: &str = "is a collective, which needs the other ranks";

/// Whether arguments can be those of an overload, in its order. Parameters that a later PyTorch added behind them have
/// defaults.
fn takes(schema: &Schema<'_>, arguments: &[Argument]) -> bool {
    let parameters = &schema.parameters;
    parameters.len() >= arguments.len()
        && parameters.iter().zip(arguments).all(|(parameter, argument)| fits(parameter, argument))
        && parameters[arguments.len()..].iter().all(|parameter| parameter.default.is_some())
}

fn fits(parameter: &Parameter<'_>, argument: &Argument) -> bool {
    let of = parameter.parameter_type;
    let takes_scalar = |scalar: &Scalar| match of.base {
        BaseType::Int | BaseType::Enumeration => matches!(scalar, Scalar::Int(_)),
        BaseType::Float => matches!(scalar, Scalar::Int(_) | Scalar::Float(_)),
        BaseType::Bool => matches!(scalar, Scalar::Bool(_)),
        BaseType::Number | BaseType::Complex => true,
        _ => false,
    };
    let is_number = matches!(
        of.base,
        BaseType::Int | BaseType::Enumeration | BaseType::Float | BaseType::Bool | BaseType::Number
    );
    match argument {
        // Texts and devices are recorded as nothing. A device is the one that the operator runs on.
        Argument::Absent => {
            of.is_optional || matches!(of.base, BaseType::Text | BaseType::Device | BaseType::Generator)
        }
        Argument::Tensor(_) => of.base == BaseType::Tensor && !of.is_list,
        Argument::Tensors(tensors) => {
            of.base == BaseType::Tensor
                && of.is_list
                && (of.has_optional_items || tensors.iter().all(Option::is_some))
        }
        Argument::Scalar(scalar) => !of.is_list && takes_scalar(scalar),
        Argument::Scalars(scalars) => of.is_list && scalars.iter().all(takes_scalar),
        Argument::UnknownScalar => {
            is_number && !of.is_list && (parameter.default.is_some() || of.is_optional)
        }
        Argument::UnknownList => of.is_list && (parameter.default.is_some() || of.is_optional),
    }
}

/// What is assumed of arguments that no known schema takes; the reason where no schema can take them.
fn unknown_schema_note(name: &str, known: &[Schema<'_>], arguments: &[Argument]) -> Result<String, String> {
    let count = arguments.len();
    let unknown = |argument: &Argument| matches!(argument, Argument::UnknownScalar | Argument::UnknownList);
    let nearest = known.iter().filter(|schema| schema.parameters.len() == count).max_by_key(|schema| {
        let pairs = schema.parameters.iter().zip(arguments);
        pairs.filter(|(parameter, argument)| fits(parameter, argument)).count()
    });
    if let Some(schema) = nearest {
        let mut pairs = schema.parameters.iter().zip(arguments);
        if let Some((parameter, argument)) = pairs.find(|(parameter, argument)| !fits(parameter, argument)) {
            let Parameter { name, written_type, .. } = parameter;
            return Err(match argument {
                Argument::Absent | Argument::UnknownScalar | Argument::UnknownList => {
                    format!("the value of {name} ({written_type}) was not recorded")
                }
                _ => format!("{name} is recorded as {}, but {schema} takes {written_type}", argument.kind()),
            });
        }
    }
    if arguments.iter().any(unknown) {
        return Err(
            "scalar values were not recorded; use a PyTorch version that writes Concrete Inputs".to_owned()
        );
    }
    Ok(match (name.split_once("::"), known.is_empty()) {
        (Some(("aten", _)), true) => {
            format!("the target's PyTorch has {name}, which {} does not list", schemas_of())
        }
        (Some(("aten", _)), false) => {
            format!(
                "the target's PyTorch has an overload with {count} arguments, which {} does not list",
                schemas_of()
            )
        }
        _ => "the library that registers the operator is imported (--import)".to_owned(),
    })
}

/// What is taken for the value of an argument that was not recorded.
fn assumed_value(parameter: &Parameter<'_>, argument: &Argument) -> Option<String> {
    let default = parameter.default.unwrap_or("None");
    let is_unknown = match argument {
        Argument::Absent => parameter.parameter_type.base == BaseType::Text,
        Argument::UnknownScalar | Argument::UnknownList => true,
        _ => false,
    };
    is_unknown.then(|| format!("{} = {default}", parameter.name))
}

impl Argument {
    fn kind(&self) -> &'static str {
        match self {
            Argument::Absent => "nothing",
            Argument::Tensor(_) => "a tensor",
            Argument::Tensors(_) => "a list of tensors",
            Argument::Scalar(_) | Argument::UnknownScalar => "a number",
            Argument::Scalars(_) | Argument::UnknownList => "a list",
        }
    }
}

/// Operators of two operands in which PyTorch turns a number into a tensor without dimensions, which stays on the host.
const BINARY_OPERATORS: &[&str] = &[
    "add",
    "sub",
    "mul",
    "div",
    "true_divide",
    "floor_divide",
    "remainder",
    "fmod",
    "pow",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "maximum",
    "minimum",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
];

impl OperationArgument {
    fn new(
        call: Call<'_>,
        index: usize,
        parameter: Option<&Parameter<'static>>,
        copy: Option<MemoryCopy>,
    ) -> Self {
        let tensor = |position: usize, tensor: &Tensor| ReplayTensor {
            tensor: tensor.clone(),
            contents: call.contents(index, position, tensor),
            host: on_host(call, index, tensor, copy),
        };
        let argument = &call.arguments[index];
        let value = match argument {
            Argument::Absent | Argument::UnknownScalar | Argument::UnknownList => ReplayValue::Nothing,
            Argument::Scalar(Scalar::Int(number))
                if parameter.is_some_and(|parameter| parameter.parameter_type.base == BaseType::Float) =>
            {
                ReplayValue::Scalar(Scalar::Float(*number as f64))
            }
            Argument::Scalar(scalar) => ReplayValue::Scalar(*scalar),
            Argument::Scalars(scalars) => ReplayValue::Scalars(scalars.clone()),
            Argument::Tensor(of) => ReplayValue::Tensor(tensor(0, of)),
            Argument::Tensors(all) => {
                let all = all.iter().enumerate();
                ReplayValue::Tensors(
                    all.map(|(position, of)| of.as_ref().map(|of| tensor(position, of))).collect(),
                )
            }
        };
        OperationArgument {
            name: parameter.map_or("", |parameter| parameter.name),
            written_type: match parameter {
                Some(parameter) => parameter.written_type.clone(),
                None => argument.written_type().to_owned(),
            },
            keyword_only: parameter.is_some_and(|parameter| parameter.keyword_only),
            value,
        }
    }
}

impl Argument {
    /// The type that a parameter has that takes it, as far as one can say.
    fn written_type(&self) -> &'static str {
        match self {
            Argument::Absent | Argument::UnknownScalar | Argument::UnknownList => "",
            Argument::Tensor(_) => "Tensor",
            Argument::Tensors(_) => "Tensor[]",
            Argument::Scalar(_) => "Scalar",
            Argument::Scalars(_) => "Scalar[]",
        }
    }
}

/// The host's memory that a tensor lies in, if it does: copies say so by the names of their device events, and numbers
/// that PyTorch made tensors of are known by their types.
fn on_host(call: Call<'_>, index: usize, tensor: &Tensor, copy: Option<MemoryCopy>) -> Option<HostMemory> {
    let name = call.schema?.name.strip_prefix("aten::")?;
    if let ("copy_", Some(copy)) = (name, copy) {
        let is_host = match copy.direction {
            CopyDirection::HostToDevice => index == 1,
            CopyDirection::DeviceToHost => index == 0,
            _ => false,
        };
        return is_host.then(|| copy.host_memory.unwrap_or(HostMemory::Pageable));
    }
    let is_number = index == 1
        && tensor.shape.is_empty()
        && matches!(tensor.element_type.torch, "float64" | "int64")
        && BINARY_OPERATORS.contains(&name.strip_suffix('_').unwrap_or(name));
    is_number.then_some(HostMemory::Pageable)
}

impl ReplayValue {
    fn tensors(&self) -> impl Iterator<Item = &ReplayTensor> {
        let (one, several) = match self {
            ReplayValue::Tensor(tensor) => (Some(tensor), [].as_slice()),
            ReplayValue::Tensors(tensors) => (None, tensors.as_slice()),
            _ => (None, [].as_slice()),
        };
        one.into_iter().chain(several.iter().flatten())
    }
}

impl ReplayTensor {
    /// `bfloat16[788, 768]`
    fn in_short(&self) -> String {
        let shape: Vec<String> = self.tensor.shape.iter().map(u64::to_string).collect();
        format!("{}[{}]", self.tensor.element_type.torch, shape.join(", "))
    }
}

impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Scalar::Bool(true) => f.write_str("True"),
            Scalar::Bool(false) => f.write_str("False"),
            Scalar::Int(number) => write!(f, "{number}"),
            Scalar::Float(number) => python_literal::write_float(f, *number),
        }
    }
}

impl Serialize for Operation {
    /// As TraceLens writes `replay_ir`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let of = |keyword_only| -> Vec<&OperationArgument> {
            self.arguments.iter().filter(|argument| argument.keyword_only == keyword_only).collect()
        };
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("list_pos_args", &of(false))?;
        map.serialize_entry("list_kwargs", &of(true))?;
        map.end()
    }
}

impl Serialize for OperationArgument {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("arg_name", self.name)?;
        map.serialize_entry("arg_type", &self.written_type)?;
        map.serialize_entry("value", &self.value)?;
        map.end()
    }
}

impl Serialize for ReplayValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ReplayValue::Nothing => serializer.serialize_none(),
            ReplayValue::Scalar(scalar) => scalar.serialize(serializer),
            ReplayValue::Scalars(scalars) => scalars.serialize(serializer),
            ReplayValue::Tensor(tensor) => tensor.serialize(serializer),
            ReplayValue::Tensors(tensors) => {
                let mut list = serializer.serialize_seq(Some(tensors.len()))?;
                for tensor in tensors {
                    list.serialize_element(tensor)?;
                }
                list.end()
            }
        }
    }
}

impl Serialize for Scalar {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Scalar::Bool(value) => serializer.serialize_bool(*value),
            Scalar::Int(number) => serializer.serialize_i64(*number),
            // JSON has no such numbers; Python's float() reads these texts.
            Scalar::Float(number) if !number.is_finite() => serializer.collect_str(self),
            Scalar::Float(number) => serializer.serialize_f64(*number),
        }
    }
}

impl Serialize for ReplayTensor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("shape", &self.tensor.shape)?;
        map.serialize_entry("dtype", self.tensor.element_type.recorded)?;
        map.serialize_entry("strides", &self.tensor.strides)?;
        let mut init = |name: Option<&str>, role: Option<&str>, bounds: Option<(&str, u64, &str, u64)>| {
            map.serialize_entry("init", &name)?;
            if let Some((low, from, high, to)) = bounds {
                map.serialize_entry(low, &from)?;
                map.serialize_entry(high, &to)?;
            }
            role.map_or(Ok(()), |role| map.serialize_entry("role", role))
        };
        match self.contents {
            Contents::Normal => init(Some("normal"), None, None),
            Contents::Uninitialised => init(None, Some("output"), None),
            Contents::Zeros => init(Some("zeros"), None, None),
            Contents::Numbers => init(Some("integers"), None, Some(("low", 1, "high", NUMBERS_BELOW))),
            Contents::Indices { below } => {
                init(Some("integers"), Some("index"), Some(("low", 0, "high", below)))
            }
            Contents::Mask => init(Some("bernoulli"), Some("mask"), None),
            Contents::Offsets { from, to } => {
                init(Some("offsets"), Some("offsets"), Some(("from", from, "to", to)))
            }
            Contents::Probabilities => init(Some("probabilities"), None, None),
            Contents::Positive => init(Some("positive"), None, None),
        }?;
        if let Some(memory) = self.host {
            map.serialize_entry("device", "cpu")?;
            if memory == HostMemory::Pinned {
                map.serialize_entry("pinned", &true)?;
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use perf_models::Value;
    use serde_json::{Value as Json, json};

    use super::*;

    /// A recorded call: per argument its type, shape, strides and value.
    struct Recorded {
        name: &'static str,
        types: Vec<Value>,
        dims: Vec<Value>,
        strides: Vec<Value>,
        concrete: Vec<Value>,
    }

    /// The numbers of a list such as `[8,4]`.
    fn numbers(list: &str) -> Vec<i64> {
        let numbers = list.trim_matches(['[', ']']).split(',').filter(|number| !number.is_empty());
        numbers.map(|number| number.parse().unwrap()).collect()
    }

    impl Recorded {
        /// Arguments with blanks in between: `float[8,4]` is a tensor, which is contiguous unless its strides follow
        /// (`float[8,4]@[1,8]`); `[1,2]` is a list of numbers, `-` is nothing, and any other word is a number or a flag.
        fn new(name: &'static str, arguments: &str) -> Self {
            let (types, dims, strides, concrete) = (vec![], vec![], vec![], vec![]);
            let mut recorded = Recorded { name, types, dims, strides, concrete };
            for word in arguments.split_whitespace() {
                let (of, shape, value) = match word.find('[') {
                    Some(0) => ("ScalarList", "", word.replace(',', ", ")),
                    Some(at) => (&word[..at], &word[at..], String::new()),
                    None if word == "-" => ("", "", String::new()),
                    None => ("Scalar", "", word.to_owned()),
                };
                let (shape, strides) = shape.split_once('@').unwrap_or((shape, ""));
                let (shape, mut strides) = (numbers(shape), numbers(strides));
                if strides.is_empty() {
                    strides = (0..shape.len()).map(|at| shape[at + 1..].iter().product()).collect();
                }
                recorded.types.push(of.into());
                recorded.dims.push(Value::tuple(shape));
                recorded.strides.push(Value::tuple(strides));
                recorded.concrete.push(value.into());
            }
            recorded
        }

        fn with<T>(&self, kernels: &[&str], ask: impl FnOnce(&OpCall<'_>) -> T) -> T {
            ask(&OpCall {
                name: self.name,
                types: Some(&self.types),
                dims: Some(&self.dims),
                strides: Some(&self.strides),
                concrete: Some(&self.concrete),
                kernels,
                ..OpCall::default()
            })
        }

        fn read(&self) -> Result<Operation, Refusal> {
            self.with(&[], |call| Operation::read(call, &SeenTensors::default(), None))
        }

        fn json(&self) -> Json {
            serde_json::to_value(self.read().unwrap()).unwrap()
        }
    }

    /// Name and value of each argument.
    fn values(operation: &Json) -> Vec<(String, Json)> {
        let lists = ["list_pos_args", "list_kwargs"].map(|list| operation[list].as_array().unwrap().clone());
        let name = |argument: &Json| argument["arg_name"].as_str().unwrap().to_owned();
        lists.concat().iter().map(|argument| (name(argument), argument["value"].clone())).collect()
    }

    const BF16: &str = "c10::BFloat16";

    #[test]
    fn matrix_products_have_the_arguments_that_tracelens_writes() {
        let arguments = "c10::BFloat16[768] c10::BFloat16[788,768] c10::BFloat16[768,768]@[1,768] 1 1";
        let recorded = Recorded::new("aten::addmm", arguments);
        let value = |shape: Json, strides: Json| json!({"shape": shape, "dtype": BF16, "strides": strides, "init": "normal"});
        assert_eq!(
            recorded.json(),
            json!({
                "list_pos_args": [
                    {"arg_name": "self", "arg_type": "Tensor", "value": value(json!([768]), json!([1]))},
                    {"arg_name": "mat1", "arg_type": "Tensor", "value": value(json!([788, 768]), json!([768, 1]))},
                    {"arg_name": "mat2", "arg_type": "Tensor", "value": value(json!([768, 768]), json!([1, 768]))},
                ],
                "list_kwargs": [
                    {"arg_name": "beta", "arg_type": "Scalar", "value": 1},
                    {"arg_name": "alpha", "arg_type": "Scalar", "value": 1},
                ],
            })
        );
    }

    #[test]
    fn attention_has_ten_positional_and_five_named_arguments() {
        let operand = "c10::BFloat16[4,197,12,64]@[151296,64,12608,1]";
        // Later versions of PyTorch have more parameters: the last four.
        let arguments = format!("{operand} {operand} {operand} - - 197 197 0. False False 0.125 - - - -");
        let json = Recorded::new("aten::_flash_attention_forward", &arguments).json();
        let lengths = ["list_pos_args", "list_kwargs"].map(|list| json[list].as_array().unwrap().len());
        assert_eq!(lengths, [10, 5]);
        let shown: Vec<_> =
            values(&json).into_iter().skip(3).map(|(name, value)| format!("{name} {value}")).collect();
        let expected = "cum_seq_q null, cum_seq_k null, max_q 197, max_k 197, dropout_p 0.0, is_causal false, \
            return_debug_mask false, scale 0.125";
        assert_eq!(shown[..8].join(", "), expected);
        assert!(shown[8..].iter().all(|shown| shown.ends_with(" null")));
    }

    #[test]
    fn backward_convolutions_keep_lists_of_numbers_and_flags() {
        let arguments = "c10::BFloat16[4,768,14,14]@[150528,1,10752,768] c10::BFloat16[4,3,224,224] \
            c10::BFloat16[768,3,16,16] [0] [16,16] [0,0] [1,1] False [0,0] 1 [True,True,False]";
        let recorded = Recorded::new("aten::convolution_backward", arguments);
        let values = values(&recorded.json());
        assert_eq!(values[3], ("bias_sizes".to_owned(), json!([0])));
        assert_eq!(values[4], ("stride".to_owned(), json!([16, 16])));
        assert_eq!(values[10], ("output_mask".to_owned(), json!([true, true, false])));
    }

    #[test]
    fn overloads_are_told_apart_by_what_was_recorded() {
        for (name, arguments, expected) in [
            ("aten::add", "float[8,4] float[8,4] 1", "Tensor"),
            ("aten::add", "float[8,4] 2 1", "Scalar"),
            ("aten::sum", "float[8,4] -", ""),
            ("aten::sum", "float[8,4] [-1] True -", "dim_IntList"),
            ("aten::sum", "float[8,4] - True -", "dim_IntList"),
            ("aten::fill_", "float[8,4] 0.", "Scalar"),
            ("aten::arange", "0 9 - - - -", "start"),
            ("aten::to", "float[8,4] 6 False False -", "dtype"),
            ("aten::to", "float[8,4] float[8,4] False False -", "other"),
        ] {
            let overload = Recorded::new(name, arguments).read().unwrap().overload;
            assert_eq!(overload, Some(expected), "{name} {arguments}");
        }
    }

    #[test]
    fn what_was_not_recorded_is_assumed_and_said() {
        let gelu = Recorded::new("aten::gelu", "c10::BFloat16[8] -").read().unwrap();
        assert_eq!(gelu.assumed, ["approximate = \"none\""]);
        let without_values = |name, types: &[&str]| {
            let types: Vec<Value> = types.iter().map(|&name| name.into()).collect();
            let dims = vec![Value::tuple([4, 4]); types.len()];
            let call = OpCall { name, types: Some(&types), dims: Some(&dims), ..OpCall::default() };
            Operation::read(&call, &SeenTensors::default(), None)
        };
        assert_eq!(
            without_values("aten::add_", &["float", "float", "Scalar"]).unwrap().assumed,
            ["tensors are contiguous, as no strides were recorded", "alpha = 1"]
        );
        assert_eq!(without_values("aten::add_", &["float", "float", "Int"]).unwrap().assumed[1], "alpha = 1");
        let softmax = without_values("aten::_softmax", &["float", "Scalar", "Scalar"]).unwrap_err();
        assert_eq!(softmax.to_string(), "the value of dim (int) was not recorded");
        let unknown = without_values("own::op", &["float", "Scalar"]).unwrap_err();
        assert!(unknown.to_string().starts_with("scalar values were not recorded"), "{unknown}");
    }

    #[test]
    fn calls_that_cannot_run_again_say_why() {
        let graph = "replays a captured graph, whose operators were not recorded";
        let launch = "is a runtime launch without a recorded operator around it";
        let generated = "is a Triton kernel generated by Inductor; its source was not recorded";
        let function = "is not an operator of PyTorch's dispatcher; replay the operators it calls";
        let autograd = "is an autograd node; replay the operators it calls";
        for (name, arguments, expected) in [
            ("c10d::allreduce_", "float[8,4]", COLLECTIVE),
            ("vllm::all_reduce", "float[8,4]", COLLECTIVE),
            ("record_param_comms", "", COLLECTIVE),
            ("cudaGraphLaunch", "", graph),
            ("hipModuleLaunchKernel", "", launch),
            ("triton_poi_fused_add_0", "float[8,4]", generated),
            ("FlashAttnFunc", "float[8,4]", function),
            ("autograd::engine::evaluate_function: MmBackward0", "", autograd),
            ("torch::autograd::AccumulateGrad", "float[8,4]", autograd),
            ("aten::index", "float[8,4] -", "the value of indices (Tensor?[]) was not recorded"),
            ("aten::mm", "float[8,4] 1", "mat2 is recorded as a number, but aten::mm takes Tensor"),
        ] {
            let refusal = Recorded::new(name, arguments).read().unwrap_err();
            assert_eq!(refusal.to_string(), expected, "{name}");
        }
        let large = Recorded::new("aten::neg", "float[1048576]");
        let refused =
            large.with(&[], |call| Operation::read(call, &SeenTensors::default(), Some((1 << 22) - 1)));
        assert_eq!(
            refused.unwrap_err().to_string(),
            "its tensors take 4194304 bytes, more than the limit of 4194303"
        );
        let communicates = Recorded::new("aten::neg", "float[8,4]");
        let kernels = ["ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"];
        let refused =
            communicates.with(&kernels, |call| Operation::read(call, &SeenTensors::default(), None));
        assert_eq!(refused.unwrap_err().to_string(), COLLECTIVE);
    }

    #[test]
    fn tensors_of_the_host_stay_there() {
        let places = |name, arguments, kernels: &[&str]| {
            let recorded = Recorded::new(name, arguments);
            let read = recorded.with(kernels, |call| Operation::read(call, &SeenTensors::default(), None));
            let json = serde_json::to_value(read.unwrap()).unwrap();
            let tensors = values(&json).into_iter().map(|(_, value)| value);
            tensors
                .filter(Json::is_object)
                .map(|value| (value["device"] == "cpu", value["pinned"] == true))
                .collect::<Vec<_>>()
        };
        let (device, host, pinned) = ((false, false), (true, false), (true, true));
        let copied = "c10::Half[8] c10::Half[8] False";
        for (name, arguments, kernels, expected) in [
            ("aten::mul", "c10::Half[8] double[]", &[][..], [device, host]),
            ("aten::mul", "c10::Half[8] c10::Half[8]", &[], [device, device]),
            ("aten::copy_", copied, &["Memcpy HtoD (Pinned -> Device)"], [device, pinned]),
            ("aten::copy_", copied, &["Memcpy DtoH (Device -> Pageable)"], [host, device]),
            ("aten::copy_", copied, &["Memcpy DtoD (Device -> Device)"], [device, device]),
        ] {
            assert_eq!(places(name, arguments, kernels), expected, "{name} {kernels:?}");
        }
    }
}
