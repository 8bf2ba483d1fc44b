//! Recorded arguments as typed values.
//!
//! The profiler records four lists per call: shapes, types, strides and, as texts, values of numbers and lists of them.
//! Of other arguments (texts, devices, generators) it records that there is one, and so it does of `None`.

use std::collections::HashMap;

use perf_models::{OpCall, list_element_type};

use crate::element_type::{ELEMENT_TYPES, ElementType, NumberKind, element_type};

/// An argument of a recorded call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Argument {
    /// `None`, or a value of a kind that is not recorded.
    Absent,
    Tensor(Tensor),
    Tensors(Vec<Option<Tensor>>),
    Scalar(Scalar),
    Scalars(Vec<Scalar>),
    /// A number whose value was not recorded.
    UnknownScalar,
    /// A list whose items were not recorded.
    UnknownList,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scalar {
    Bool(bool),
    Int(i64),
    Float(f64),
}

/// A tensor: how its elements lie in memory, not what they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tensor {
    pub(crate) shape: Vec<u64>,
    /// In elements.
    pub(crate) strides: Vec<u64>,
    pub(crate) element_type: &'static ElementType,
}

impl Tensor {
    /// Bytes from the first to the last element.
    pub(crate) fn bytes(&self) -> u64 {
        let last = self.shape.iter().zip(&self.strides).try_fold(0_u64, |last, (&extent, &stride)| {
            Some(last.saturating_add(extent.checked_sub(1)?.saturating_mul(stride)))
        });
        // Without elements where an extent is 0.
        last.map_or(0, |last| last.saturating_add(1).saturating_mul(self.element_type.size))
    }
}

/// The arguments of a call, with what had to be assumed of them.
pub(crate) struct Arguments {
    pub(crate) all: Vec<Argument>,
    pub(crate) assumed: Vec<String>,
}

/// Types of tensors that were seen in a recording, by their shapes: who makes or takes the tensors of a list, whose type is
/// not recorded, often has them as arguments of their own.
#[derive(Debug, Default)]
pub struct SeenTensors {
    by_shape: HashMap<Vec<u64>, Vec<(&'static str, u64)>>,
    all: Vec<(&'static str, u64)>,
}

impl SeenTensors {
    /// Counts the tensors among the arguments of a call.
    pub fn observe(&mut self, call: &OpCall<'_>) {
        for index in 0..call.types.map_or(0, <[_]>::len) {
            let known = call.type_of(index).ok().and_then(element_type);
            let Some((known, shape)) = known.zip(call.dimensions(index).ok()) else { continue };
            count(&mut self.all, known.recorded);
            count(self.by_shape.entry(shape).or_default(), known.recorded);
        }
    }

    /// The type that most tensors of this shape have, of those of this size.
    fn type_by_shape(&self, shape: &[u64], size: Option<u64>) -> Option<&'static ElementType> {
        most(self.by_shape.get(shape)?, |of| size.is_none_or(|size| of.size == size))
    }

    /// The type of real numbers of this size that most tensors have, else a usual one.
    fn type_by_size(&self, size: u64) -> Option<&'static ElementType> {
        let has_size = |of: &ElementType| of.size == size && of.kind == NumberKind::Real;
        most(&self.all, has_size).or_else(|| ELEMENT_TYPES.iter().find(|of| has_size(of)))
    }
}

fn count(counts: &mut Vec<(&'static str, u64)>, name: &'static str) {
    match counts.iter_mut().find(|(counted, _)| *counted == name) {
        Some((_, count)) => *count += 1,
        None => counts.push((name, 1)),
    }
}

fn most(
    counts: &[(&'static str, u64)],
    is_possible: impl Fn(&ElementType) -> bool,
) -> Option<&'static ElementType> {
    let known = counts.iter().filter_map(|&(name, count)| Some((element_type(name)?, count)));
    // The first of equals, so that the order of threads or hashes decides nothing.
    known.filter(|(of, _)| is_possible(of)).rev().max_by_key(|&(_, count)| count).map(|(of, _)| of)
}

impl Arguments {
    /// Reads the arguments of a call. The reason where one of them cannot be made again.
    pub(crate) fn read(call: &OpCall<'_>, seen: &SeenTensors) -> Result<Self, String> {
        let types = call.types.ok_or("its arguments were not recorded; record with record_shapes=True")?;
        let mut reader = Reader { call, seen, list_type: None, assumed: Vec::new() };
        let all = (0..types.len()).map(|index| reader.argument(index)).collect::<Result<_, _>>()?;
        Ok(Arguments { all, assumed: reader.assumed })
    }
}

struct Reader<'c> {
    call: &'c OpCall<'c>,
    seen: &'c SeenTensors,
    /// Element type of the lists of the call, once it was looked for.
    list_type: Option<&'static ElementType>,
    assumed: Vec<String>,
}

impl Reader<'_> {
    fn argument(&mut self, index: usize) -> Result<Argument, String> {
        let recorded = self.call.type_of(index).map_err(|undefined| undefined.reason)?;
        match recorded {
            "" => Ok(Argument::Absent),
            "Scalar" => match self.value(index)? {
                Some(text) => Ok(Argument::Scalar(scalar(text, index)?)),
                None => Ok(Argument::UnknownScalar),
            },
            "ScalarList" => match self.value(index)? {
                Some(text) => Ok(Argument::Scalars(scalars(text, index)?)),
                None => Ok(Argument::UnknownList),
            },
            "TensorList" | "OptionalTensorList" | "GenericList[]" => self.tensors(index),
            // Recorders before PyTorch 1.13, which record no values.
            "Int" | "Bool" | "Double" => Ok(Argument::UnknownScalar),
            "GenericList" => Ok(Argument::UnknownList),
            name => {
                let of = element_type(name)
                    .ok_or_else(|| format!("argument {index} has elements of the unknown type {name:?}"))?;
                let shape = self.call.dimensions(index).map_err(|undefined| undefined.reason)?;
                let strides = self.call.strides_if_recorded(index).map_err(|undefined| undefined.reason)?;
                self.tensor(index, shape, strides, of).map(Argument::Tensor)
            }
        }
    }

    /// The text of a value; `None` where values were not recorded.
    fn value(&self, index: usize) -> Result<Option<&str>, String> {
        match self.call.concrete {
            None => Ok(None),
            Some(_) => {
                let text = self.call.concrete_text(index).map_err(|undefined| undefined.reason)?;
                Ok(Some(text.trim()).filter(|text| !text.is_empty()))
            }
        }
    }

    fn tensor(
        &mut self,
        index: usize,
        shape: Vec<u64>,
        strides: Option<Vec<i64>>,
        element_type: &'static ElementType,
    ) -> Result<Tensor, String> {
        let strides = match strides {
            Some(strides) if strides.len() == shape.len() => strides
                .into_iter()
                .map(|stride| {
                    u64::try_from(stride).map_err(|_| format!("argument {index} has a negative stride"))
                })
                .collect::<Result<_, _>>()?,
            Some(strides) => {
                let (found, expected) = (strides.len(), shape.len());
                return Err(format!("argument {index} has {found} strides for {expected} dimensions"));
            }
            None => {
                self.assume("tensors are contiguous, as no strides were recorded".to_owned());
                contiguous(&shape)
            }
        };
        Ok(Tensor { shape, strides, element_type })
    }

    fn tensors(&mut self, index: usize) -> Result<Argument, String> {
        let shapes = list_of_numbers(self.call.dims, index, "shapes")?;
        let strides = match self.call.strides {
            Some(strides) => Some(list_of_numbers(Some(strides), index, "strides")?),
            None => None,
        };
        if strides.as_ref().is_some_and(|strides| strides.len() != shapes.len()) {
            return Err(format!("argument {index} is a list whose stride and shape counts differ"));
        }
        let is_optional = self.call.type_of(index) != Ok("TensorList");
        let mut tensors = Vec::with_capacity(shapes.len());
        for (position, shape) in shapes.into_iter().enumerate() {
            // An absent tensor of a list has no dimensions.
            if is_optional && shape.is_empty() {
                tensors.push(None);
                continue;
            }
            let shape = shape.into_iter().map(u64::try_from).collect::<Result<Vec<_>, _>>();
            let shape = shape.map_err(|_| format!("argument {index} has a negative dimension"))?;
            let of = self.list_type.unwrap_or_else(|| self.find_list_type(&shape));
            self.list_type = Some(of);
            let strides = strides.as_ref().and_then(|strides| strides.get(position).cloned());
            tensors.push(Some(self.tensor(index, shape, strides, of)?));
        }
        Ok(Argument::Tensors(tensors))
    }

    /// The element type of the lists of the call by its kernels, else by other tensors that look like the first.
    fn find_list_type(&mut self, first: &[u64]) -> &'static ElementType {
        let by_kernel = list_element_type(self.call.kernels);
        let by_kernel = by_kernel.as_deref();
        let (found, why) = match by_kernel.and_then(element_type) {
            Some(of) => (Some(of), "from the kernel name"),
            None => {
                let size = by_kernel.and_then(|name| perf_models::element_size(name).ok());
                let size = size.map(|size| size as u64);
                match self.seen.type_by_shape(first, size) {
                    Some(of) => (Some(of), "like other tensors of that shape"),
                    None => (
                        size.and_then(|size| self.seen.type_by_size(size)),
                        "from the size in the kernel name",
                    ),
                }
            }
        };
        const FLOAT: &ElementType =
            &ElementType { recorded: "float", torch: "float32", size: 4, kind: NumberKind::Real };
        let of = found.unwrap_or(FLOAT);
        let why = if found.is_some() { why } else { "assumed" };
        self.assume(format!("elements of tensor lists are {}, {why}", of.recorded));
        of
    }

    fn assume(&mut self, what: String) {
        if !self.assumed.contains(&what) {
            self.assumed.push(what);
        }
    }
}

/// Entry `index` of a list of arguments that is itself a list of shapes or strides.
fn list_of_numbers(
    lists: Option<&[perf_models::Value]>,
    index: usize,
    what: &str,
) -> Result<Vec<Vec<i64>>, String> {
    let items = lists.and_then(|lists| lists.get(index)?.items());
    let numbers = |item: &perf_models::Value| item.items()?.iter().map(perf_models::Value::as_int).collect();
    let lists = items.and_then(|items| items.iter().map(numbers).collect::<Option<_>>());
    lists.ok_or_else(|| format!("argument {index} is a list of tensors without recorded {what}"))
}

/// Strides of a tensor whose elements lie without gaps, the last dimension innermost.
fn contiguous(shape: &[u64]) -> Vec<u64> {
    let mut strides = vec![1_u64; shape.len()];
    for dimension in (1..shape.len()).rev() {
        strides[dimension - 1] = strides[dimension].saturating_mul(shape[dimension].max(1));
    }
    strides
}

fn scalar(text: &str, index: usize) -> Result<Scalar, String> {
    let parsed = match text {
        "True" | "true" => Some(Scalar::Bool(true)),
        "False" | "false" => Some(Scalar::Bool(false)),
        _ => text.parse().map(Scalar::Int).or_else(|_| text.parse().map(Scalar::Float)).ok(),
    };
    parsed.ok_or_else(|| format!("argument {index} has the value {text:?}, which is not a number"))
}

fn scalars(text: &str, index: usize) -> Result<Vec<Scalar>, String> {
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let inner =
        inner.ok_or_else(|| format!("argument {index} has the value {text:?}, which is not a list"))?;
    if inner.trim().is_empty() {
        return Ok(Vec::new());
    }
    inner.split(',').map(|item| scalar(item.trim(), index)).collect()
}

#[cfg(test)]
mod tests {
    use perf_models::Value;

    use super::*;

    fn texts(texts: &[&str]) -> Vec<Value> {
        texts.iter().map(|&text| text.into()).collect()
    }

    fn read(
        types: &[&str],
        dims: &[Value],
        strides: &[Value],
        concrete: &[&str],
    ) -> Result<Arguments, String> {
        let (types, concrete) = (texts(types), texts(concrete));
        let call = OpCall {
            types: Some(&types),
            dims: Some(dims),
            strides: Some(strides),
            concrete: Some(&concrete),
            ..OpCall::default()
        };
        Arguments::read(&call, &SeenTensors::default())
    }

    #[test]
    fn values_keep_their_kind() {
        let nothing = [const { Value::Tuple(Vec::new()) }; 8];
        let arguments = read(
            &["Scalar", "Scalar", "Scalar", "Scalar", "ScalarList", "ScalarList", "ScalarList", ""],
            &nothing,
            &nothing,
            &["1", "0.", "True", "-inf", "[1, -2]", "[]", "[True, 0.5]", ""],
        );
        use Scalar::{Bool, Float, Int};
        assert_eq!(
            arguments.unwrap().all,
            [
                Argument::Scalar(Int(1)),
                Argument::Scalar(Float(0.0)),
                Argument::Scalar(Bool(true)),
                Argument::Scalar(Float(f64::NEG_INFINITY)),
                Argument::Scalars(vec![Int(1), Int(-2)]),
                Argument::Scalars(vec![]),
                Argument::Scalars(vec![Bool(true), Float(0.5)]),
                Argument::Absent,
            ]
        );
    }

    #[test]
    fn storage_reaches_from_the_first_to_the_last_element() {
        for (shape, strides, bytes) in [
            (vec![4, 8], vec![8, 1], 64),
            (vec![4, 8], vec![1, 4], 64),
            (vec![4, 8], vec![0, 1], 16),
            (vec![4, 8], vec![100, 1], 2 * 308),
            (vec![], vec![], 2),
            (vec![0, u64::MAX], vec![u64::MAX, 1], 0),
            (vec![u64::MAX, 2], vec![u64::MAX, 1], u64::MAX),
        ] {
            let element_type = element_type("c10::Half").unwrap();
            assert_eq!(Tensor { shape, strides, element_type }.bytes(), bytes);
        }
    }

    #[test]
    fn types_of_lists_come_from_kernels_else_from_tensors_of_the_shape() {
        let list = Value::Tuple(vec![Value::tuple([3, 4]), Value::tuple([5, 4])]);
        let types = texts(&["TensorList"]);
        let call = |kernels| OpCall {
            types: Some(&types),
            dims: Some(std::slice::from_ref(&list)),
            kernels,
            ..OpCall::default()
        };
        let other_types = texts(&["c10::BFloat16", "long int", "c10::BFloat16"]);
        let other_dims = [Value::tuple([3, 4]), Value::tuple([3, 4]), Value::tuple([3, 4])];
        let mut seen = SeenTensors::default();
        seen.observe(&OpCall { types: Some(&other_types), dims: Some(&other_dims), ..OpCall::default() });
        let found = |kernels, seen| {
            let arguments = Arguments::read(&call(kernels), seen).unwrap();
            let Argument::Tensors(tensors) = &arguments.all[0] else { panic!("no list") };
            (tensors[1].as_ref().unwrap().element_type.torch, arguments.assumed[0].clone())
        };
        for (kernels, torch, why) in [
            (&["CatArrayBatchedCopy<double, 1>"][..], "float64", "double, from the kernel name"),
            (
                &["CatArrayBatchedCopy<OpaqueType<8u>, 1>"],
                "int64",
                "long int, like other tensors of that shape",
            ),
            (
                &["CatArrayBatchedCopy<OpaqueType<4u>, 1>"],
                "float32",
                "float, from the size in the kernel name",
            ),
            (&[], "bfloat16", "c10::BFloat16, like other tensors of that shape"),
        ] {
            assert_eq!(found(kernels, &seen), (torch, format!("elements of tensor lists are {why}")));
        }
        let nothing = SeenTensors::default();
        assert_eq!(found(&[], &nothing).1, "elements of tensor lists are float, assumed");
    }

    #[test]
    fn what_cannot_be_made_again_says_why() {
        let shape = [Value::tuple([4])];
        let reason = |types: &str, dims: &[Value], strides: &[Value], concrete: &str| {
            read(&[types], dims, strides, &[concrete]).err().unwrap()
        };
        let negative = [Value::tuple([-1])];
        for (found, expected) in [
            (
                reason("c10::qint8", &shape, &shape, ""),
                "argument 0 has elements of the unknown type \"c10::qint8\"",
            ),
            (reason("float", &shape, &negative, ""), "argument 0 has a negative stride"),
            (reason("float", &negative, &shape, ""), "Input Dims[0] has the negative dimension -1"),
            (reason("float", &shape, &[Value::tuple([])], ""), "argument 0 has 0 strides for 1 dimensions"),
            (reason("Scalar", &shape, &shape, "x"), "argument 0 has the value \"x\", which is not a number"),
            (
                reason("ScalarList", &shape, &shape, "1"),
                "argument 0 has the value \"1\", which is not a list",
            ),
            (
                reason("TensorList", &shape, &shape, ""),
                "argument 0 is a list of tensors without recorded shapes",
            ),
        ] {
            assert_eq!(found, expected);
        }
        let unrecorded = Arguments::read(&OpCall::default(), &SeenTensors::default()).err().unwrap();
        assert_eq!(unrecorded, "its arguments were not recorded; record with record_shapes=True");
    }
}
