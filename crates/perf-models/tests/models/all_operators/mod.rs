//! Every operator that has a model: figures, compute spec, parameters, and how the work grows.
//!
//! A group is a call that several operators record alike, so that each of them has the same answers. The
//! expected figures were worked out from the operators' formulas apart from this crate; extents differ from
//! each other, so that one read from a wrong place gives a wrong figure.

mod matrices;
mod serving;
mod tensors;
mod traffic;

use std::collections::BTreeSet;

use perf_models::{Family, Figure, Gap, OpCall, PerfModel, Undefined, Value, model, ops_of_family};
use proptest::prelude::*;

/// There is no formula.
const NONE: f64 = -1.0;

/// Operators that record the same call.
struct Group {
    names: &'static [&'static str],
    /// Separated by blanks, dimensions by commas, the tensors of a list by semicolons; `-` is a scalar or an absent
    /// tensor.
    shapes: &'static str,
    /// The last one is that of all further inputs.
    types: &'static str,
    scalars: &'static [(usize, &'static str)],
    /// `kernel`, `step`, `forward`, and arguments by name.
    surroundings: &'static [(&'static str, &'static str)],
    /// FLOPs and bytes, then those of the backward pass.
    figures: [f64; 4],
    spec: &'static str,
    /// Names in their order.
    parameters: &'static str,
    /// The axes that grow with the batch, as `input.axis`; with `+` they count one more than they hold.
    growing: &'static str,
}

fn groups() -> impl Iterator<Item = &'static Group> {
    [matrices::GROUPS, tensors::GROUPS, serving::GROUPS, traffic::GROUPS].into_iter().flatten()
}

/// Arguments of a call, owned.
#[derive(Clone, Debug)]
struct Arguments {
    dims: Vec<Value>,
    types: Vec<Value>,
    strides: Vec<Value>,
    concrete: Vec<Value>,
    attributes: Vec<(&'static str, Value)>,
    step: Option<String>,
    kernels: Vec<&'static str>,
    forward_is_itself: bool,
}

impl Arguments {
    /// Those of a group's call, `times` its batch.
    fn of(group: &Group, times: i64) -> Self {
        let shapes_of = |text: &str| -> Vec<Vec<i64>> { text.split(';').map(shape).collect() };
        let mut shapes: Vec<Vec<Vec<i64>>> = group.shapes.split_whitespace().map(shapes_of).collect();
        for axis in group.growing.split_whitespace() {
            let (axis, more) = axis.strip_suffix('+').map_or((axis, 0), |axis| (axis, 1));
            let (input, axis) = axis.split_once('.').unwrap();
            for shape in &mut shapes[input.parse::<usize>().unwrap()] {
                let extent = &mut shape[axis.parse::<usize>().unwrap()];
                *extent = (*extent - more) * times + more;
            }
        }
        let types: Vec<&str> = group.types.split_whitespace().map(type_name).collect();
        let type_of = |index: usize| types.get(index).or(types.last()).copied().unwrap();
        let last_scalar = group.scalars.iter().map(|(index, _)| index + 1).max().unwrap_or(0);
        let mut concrete = vec![Value::from(""); last_scalar.max(shapes.len())];
        for (index, text) in group.scalars {
            concrete[*index] = Value::from(*text);
        }
        let mut arguments = Self {
            types: (0..concrete.len()).map(|index| type_of(index).into()).collect(),
            strides: shapes.iter().map(|shapes| input(shapes, |_| 1)).collect(),
            dims: shapes.iter().map(|shapes| input(shapes, |extent| extent)).collect(),
            concrete,
            attributes: Vec::new(),
            step: None,
            kernels: Vec::new(),
            forward_is_itself: false,
        };
        for &(what, text) in group.surroundings {
            match what {
                "step" => arguments.step = Some(step(times)),
                "kernel" => arguments.kernels.push(text),
                "forward" => arguments.forward_is_itself = true,
                name => arguments.attributes.push((name, attribute(text))),
            }
        }
        arguments
    }

    fn model(&self, name: &str) -> Result<Box<dyn PerfModel>, Undefined> {
        let call = OpCall {
            name,
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

fn type_name(short: &str) -> &str {
    match short {
        "bf16" => "c10::BFloat16",
        "half" => "c10::Half",
        "fp8" => "c10::Float8_e4m3fn",
        "fp4" => "c10::Float4_e2m1fn_x2",
        "e8m0" => "c10::Float8_e8m0fnu",
        "uint8" => "unsigned char",
        "int8" => "signed char",
        "long" => "long int",
        "none" => "",
        other => other,
    }
}

fn attribute(text: &str) -> Value {
    match text {
        "True" => true.into(),
        "False" => false.into(),
        text => text.parse::<i64>().map_or(text.into(), Value::Int),
    }
}

/// A step with requests of both kinds, `times` as many of each.
fn step(times: i64) -> String {
    let [sq, sk, sqsq, sqsk] = [40, 90, 700, 1500].map(|count| count * times);
    let [generated, context] = [6, 300].map(|count| count * times);
    format!(
        "execute_64_context_2(sq{sq}sk{sk}sqsq{sqsq}sqsk{sqsk})\
         _generation_6(sq{generated}sk{context}sqsq{generated}sqsk{context})"
    )
}

fn figures(model: &dyn PerfModel) -> [Figure; 4] {
    [model.flops(), model.bytes(), model.backward_flops(), model.backward_bytes()]
}

/// The operators without any formula.
const WITHOUT_FORMULA: [&str; 7] = [
    "aten::index",
    "aten::masked_select",
    "aten::nonzero",
    "aten::cudnn_instance_norm_backward",
    "aten::instance_norm_backward",
    "aten::miopen_instance_norm_backward",
    "aten::native_instance_norm_backward",
];

fn names() -> BTreeSet<&'static str> {
    Family::all().flat_map(ops_of_family).collect()
}

#[test]
fn every_operator_is_in_a_group() {
    let listed: Vec<&str> = groups().flat_map(|group| group.names).copied().chain(WITHOUT_FORMULA).collect();
    assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), names());
    assert_eq!(listed.len(), names().len(), "one is listed twice");
    for name in WITHOUT_FORMULA {
        let undefined = model(&OpCall { name, ..OpCall::default() }).unwrap_err();
        assert_eq!(undefined.gap, Gap::NoFormula, "{name}");
    }
}

#[test]
fn operators_that_record_the_same_have_the_same_figures() {
    let mut wrong = Vec::new();
    for group in groups() {
        for name in group.names {
            let model = match Arguments::of(group, 1).model(name) {
                Ok(model) => model,
                Err(undefined) => {
                    wrong.push(format!("{name}: {undefined}"));
                    continue;
                }
            };
            for (what, (found, expected)) in ["FLOPs", "bytes", "backward FLOPs", "backward bytes"]
                .into_iter()
                .zip(figures(&*model).into_iter().zip(group.figures))
            {
                let agree = match &found {
                    Ok(found) => (found - expected).abs() <= 1e-12 * expected.abs(),
                    Err(undefined) => expected == NONE && undefined.gap == Gap::NoFormula,
                };
                if !agree {
                    wrong.push(format!("{name}: {what} {found:?}, not {expected}"));
                }
            }
            let spec = model.compute_spec().map(|spec| spec.to_string()).unwrap_or_default();
            let parameters: Vec<&str> = model.parameters().into_iter().map(|(name, _)| name).collect();
            for (found, expected) in [(spec, group.spec), (parameters.join(" "), group.parameters)] {
                if found != expected {
                    wrong.push(format!("{name}: {found}, not {expected}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// With the batch the operations grow by the same amount each time, and bytes no faster than the batch:
/// what a call does once for all, such as reading weights, is not repeated.
#[test]
fn work_grows_with_the_batch() {
    for group in groups() {
        let name = group.names[0];
        let of = |times| figures(&*Arguments::of(group, times).model(name).unwrap());
        let (one, two, three) = (of(1), of(2), of(3));
        for (what, figure) in [(0, "FLOPs"), (1, "bytes"), (2, "backward FLOPs"), (3, "backward bytes")] {
            let (Ok(one), Ok(two), Ok(three)) = (&one[what], &two[what], &three[what]) else {
                assert!(one[what].is_err() && two[what].is_err(), "{name}: {figure}");
                continue;
            };
            let free = *one == 0.0;
            assert!(free == (*two == 0.0) && (free || one < two), "{name}: {figure} {one}, {two}");
            assert!(*two <= 2.0 * one * (1.0 + 1e-12), "{name}: {figure} {one}, {two}");
            // A whole number of operations may be left over in each.
            let even = ((three - two) - (two - one)).abs() <= 2.0 + 1e-12 * three;
            assert!(even || figure.ends_with("bytes"), "{name}: {figure} {one}, {two}, {three}");
        }
    }
}

/// Anything that can stand in the place of an argument.
fn odd() -> impl Strategy<Value = Value> {
    let side = prop_oneof![
        Just(0_i64),
        Just(1),
        Just(-1),
        Just(1 << 40),
        Just(i64::MAX),
        Just(i64::MIN),
        0..100_i64,
    ];
    prop_oneof![
        1 => Just(Value::None),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => any::<f64>().prop_map(Value::Float),
        1 => side.clone().prop_map(Value::Int),
        2 => "(True|False|None|-1|0|1e400|\\[\\]|\\[0\\]|\\[-1\\]|\\[1, 2, 3\\]|Scalar|ScalarList|c10::Half|.{0,4})"
            .prop_map(Value::from),
        4 => proptest::collection::vec(side.clone(), 0..8).prop_map(Value::tuple),
        1 => proptest::collection::vec(side.clone(), 40).prop_map(Value::tuple),
        1 => proptest::collection::vec(proptest::collection::vec(side, 0..4).prop_map(Value::tuple), 0..4)
            .prop_map(Value::List),
    ]
}

/// Which list of a call is changed, at which place, and to what; nothing cuts the list off there.
fn change() -> impl Strategy<Value = (usize, prop::sample::Index, Option<Value>)> {
    (0..5_usize, any::<prop::sample::Index>(), proptest::option::weighted(0.9, odd()))
}

fn change_all(arguments: &mut Arguments, changes: Vec<(usize, prop::sample::Index, Option<Value>)>) {
    for (list, position, value) in changes {
        let list = match list {
            0 | 1 => &mut arguments.dims,
            2 => &mut arguments.types,
            3 => &mut arguments.strides,
            _ => &mut arguments.concrete,
        };
        if list.is_empty() {
            continue;
        }
        let position = position.index(list.len());
        match value {
            Some(value) => list[position] = value,
            None => list.truncate(position),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    /// Calls of which a part is odd get further than those of which everything is.
    #[test]
    fn an_odd_argument_gives_sound_figures_or_a_reason(
        group in any::<prop::sample::Index>(),
        name in any::<prop::sample::Index>(),
        changes in proptest::collection::vec(change(), 1..4),
        step in proptest::option::of("(execute_1_context_1\\(sq1sk0sqsq9sqsk1\\)_generation_1\\(sq9sk1sqsq0sqsk0\\)|.{0,9})"),
    ) {
        let groups: Vec<&Group> = groups().collect();
        let group = groups[group.index(groups.len())];
        let name = group.names[name.index(group.names.len())];
        let mut arguments = Arguments::of(group, 1);
        change_all(&mut arguments, changes);
        if step.is_some() {
            arguments.step = step;
        }
        match arguments.model(name) {
            Err(undefined) => prop_assert!(!undefined.reason.is_empty()),
            Ok(model) => {
                for figure in figures(&*model) {
                    match figure {
                        Ok(figure) => prop_assert!(figure.is_finite() && figure >= 0.0, "{}: {:?}", name, model),
                        Err(undefined) => prop_assert!(!undefined.reason.is_empty()),
                    }
                }
                for (_, value) in model.parameters() {
                    prop_assert!(!value.to_string().contains("NaN"), "{}: {:?}", name, model);
                }
                let _ = (model.compute_spec(), model.assumption());
            }
        }
    }

    /// Every dimension of 2⁴⁰, or none.
    #[test]
    fn extents_of_every_size_give_sound_figures_or_a_reason(
        group in any::<prop::sample::Index>(),
        extents in proptest::collection::vec(prop_oneof![Just(0_i64), Just(1 << 40), Just(i64::MAX), 1..9_i64], 60),
    ) {
        let groups: Vec<&Group> = groups().collect();
        let group = groups[group.index(groups.len())];
        let mut arguments = Arguments::of(group, 1);
        let mut extents = extents.into_iter().cycle();
        for shape in &mut arguments.dims {
            let tensors = match shape {
                Value::List(tensors) => tensors.as_mut_slice(),
                tensor => std::slice::from_mut(tensor),
            };
            for tensor in tensors {
                let Value::Tuple(sides) = tensor else { unreachable!() };
                sides.fill_with(|| extents.next().unwrap().into());
            }
        }
        if let Ok(model) = arguments.model(group.names[0]) {
            for figure in figures(&*model).into_iter().flatten() {
                prop_assert!(figure.is_finite() && figure >= 0.0, "{:?}", model);
            }
        }
    }
}
