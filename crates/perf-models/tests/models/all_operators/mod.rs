//! Every operator that has a model: figures, compute spec, parameters, and how the work grows.
//!
//! A group is a call that several operators record alike, so that each of them has the same answers. The
//! expected figures were worked out from the operators' formulas apart from this crate; extents differ from
//! each other, so that one read from a wrong place gives a wrong figure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use perf_models::{Family, Gap, OpCall, PerfModel, Value, model, ops_of_family};
use proptest::prelude::*;

use crate::call::{Call, attribute, figures, spec, type_name};

/// There is no formula.
const NONE: f64 = -1.0;

/// Operators that record the same call: two lines of `operators.txt`, the names and the fields of the call and its answers,
/// which are named but for the first.
struct Group {
    /// Separated by commas.
    names: &'static str,
    /// Separated by blanks, dimensions by commas, the tensors of a list by semicolons; `-` is a scalar or an absent
    /// tensor.
    shapes: &'static str,
    /// The last one is that of all further inputs.
    types: &'static str,
    /// By the index of the input.
    scalars: Vec<(usize, &'static str)>,
    /// `kernel`, `step`, `forward`, and arguments by name.
    around: Vec<(&'static str, &'static str)>,
    /// FLOPs and bytes, then those of the backward pass.
    figures: [f64; 4],
    spec: &'static str,
    /// Names in their order; `@` names a list that several groups share.
    parameters: String,
    /// The axes that grow with the batch, as `input.axis`; with `+` they count one more than they hold.
    growing: &'static str,
}

impl Group {
    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.split(", ")
    }

    /// Where a field is left out there are no scalars, everything is in BF16, and the batch is the first axis of the first
    /// input.
    fn read(names: &'static str, fields: &'static str, shared: &BTreeMap<&str, &str>) -> Self {
        let mut fields = fields.trim().split(" | ");
        let mut group = Group {
            names,
            shapes: fields.next().unwrap(),
            types: "bf16",
            scalars: Vec::new(),
            around: Vec::new(),
            figures: [NONE; 4],
            spec: "vector_bf16",
            parameters: String::new(),
            growing: "0.0",
        };
        for field in fields {
            let (field, text) = field.split_once(' ').unwrap_or((field, ""));
            let pairs = || text.split("; ").map(|pair| pair.split_once('=').unwrap());
            match field {
                "types" => group.types = text,
                "scalars" => group.scalars = pairs().map(|(at, text)| (at.parse().unwrap(), text)).collect(),
                "around" => group.around = pairs().collect(),
                "figures" => {
                    for (to, figure) in group.figures.iter_mut().zip(text.split(' ')) {
                        *to = if figure == "-" { NONE } else { figure.parse().unwrap() };
                    }
                }
                "spec" => group.spec = text,
                "parameters" => {
                    let lists = text.split(' ').map(|name| *shared.get(name).unwrap_or(&name));
                    group.parameters = lists.collect::<Vec<_>>().join(" ");
                }
                "growing" => group.growing = text,
                _ => panic!("{names}: a field {field}"),
            }
        }
        group
    }
}

fn groups() -> impl Iterator<Item = &'static Group> {
    static GROUPS: LazyLock<Vec<Group>> = LazyLock::new(|| {
        let lines = include_str!("operators.txt").lines();
        let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let (mut groups, mut shared) = (Vec::new(), BTreeMap::new());
        while let Some(line) = lines.next() {
            match line.split_once(": ").filter(|_| line.starts_with('@')) {
                Some((name, list)) => _ = shared.insert(name, list),
                None => groups.push(Group::read(line, lines.next().unwrap(), &shared)),
            }
        }
        groups
    });
    GROUPS.iter()
}

/// The call of a group under one of its names, `times` its batch.
fn call(group: &Group, name: &'static str, times: i64) -> Call {
    let mut call = Call::new(name, group.shapes, group.types);
    for axis in group.growing.split_whitespace() {
        let (axis, more) = axis.strip_suffix('+').map_or((axis, 0), |axis| (axis, 1));
        let (input, axis) = axis.split_once('.').unwrap();
        for sides in tensors(&mut call.dims[input.parse::<usize>().unwrap()]) {
            let Value::Int(extent) = &mut sides[axis.parse::<usize>().unwrap()] else { unreachable!() };
            *extent = (*extent - more) * times + more;
        }
    }
    let last_scalar = group.scalars.iter().map(|(index, _)| index + 1).max().unwrap_or(0);
    let inputs = last_scalar.max(call.dims.len());
    let mut call = call.with(&group.scalars);
    call.concrete.truncate(inputs);
    let types: Vec<&str> = group.types.split_whitespace().map(type_name).collect();
    let type_of = |index: usize| types.get(index).or(types.last()).copied().unwrap();
    call.types = (0..inputs).map(|index| type_of(index).into()).collect();
    for &(what, text) in &group.around {
        match what {
            "step" => call.step = Some(step(times)),
            "kernel" => call.kernels.push(text),
            "forward" => call.forward_is_itself = true,
            name => call.attributes.push((name, attribute(text))),
        }
    }
    call
}

/// The dimensions of a tensor, or of each tensor of a list.
fn tensors(shape: &mut Value) -> impl Iterator<Item = &mut Vec<Value>> {
    let tensors = match shape {
        Value::List(tensors) => tensors.as_mut_slice(),
        tensor => std::slice::from_mut(tensor),
    };
    tensors.iter_mut().map(|tensor| match tensor {
        Value::Tuple(sides) => sides,
        _ => unreachable!(),
    })
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
    let listed: Vec<&str> = groups().flat_map(Group::names).chain(WITHOUT_FORMULA).collect();
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
        for name in group.names() {
            let model = match call(group, name, 1).read() {
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
            let parameters: Vec<&str> = model.parameters().into_iter().map(|(name, _)| name).collect();
            for (found, expected) in [(spec(&*model), group.spec), (parameters.join(" "), &group.parameters)]
            {
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
        let name = group.names().next().unwrap();
        let of = |times| figures(&*call(group, name, times).model());
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

fn change_all(arguments: &mut Call, changes: Vec<(usize, prop::sample::Index, Option<Value>)>) {
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

/// All operators, and kernels that a compiler generated.
fn recorded_names() -> Vec<&'static str> {
    let generated =
        ["triton_poi_fused_add_mul_0", "triton_red_fused_sum_1", "triton_per_fused_x_y_2", "triton_poi_"];
    names().into_iter().chain(generated).collect()
}

fn assert_figures_are_sound(model: &dyn PerfModel, name: &str) {
    for figure in figures(model) {
        match figure {
            Ok(figure) => assert!(figure.is_finite() && figure >= 0.0, "{name}: {figure}"),
            Err(undefined) => assert!(!undefined.reason.is_empty(), "{name}"),
        }
    }
    let _ = model.compute_spec();
    for (parameter, value) in model.parameters() {
        assert!(!parameter.is_empty() && !value.to_string().contains("NaN"), "{name}");
    }
    assert!(model.assumption().is_none_or(|note| !note.is_empty()), "{name}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_arguments_give_sound_figures_or_a_reason(
        position in any::<prop::sample::Index>(),
        dims in proptest::option::of(proptest::collection::vec(odd(), 0..12)),
        types in proptest::option::of(proptest::collection::vec(odd(), 0..12)),
        strides in proptest::option::of(proptest::collection::vec(odd(), 0..12)),
        concrete in proptest::option::of(proptest::collection::vec(odd(), 0..26)),
        attributes in proptest::array::uniform4(odd()),
        counts in proptest::array::uniform8(prop_oneof![0..9_u64, any::<u64>()]),
    ) {
        let names = recorded_names();
        let name = *position.get(&names);
        let [c_sq, c_sk, c_sqsq, c_sqsk, g_sq, g_sk, g_sqsq, g_sqsk] = counts;
        let step = format!(
            "execute_1_context_1(sq{c_sq}sk{c_sk}sqsq{c_sqsq}sqsk{c_sqsk})_generation_1(sq{g_sq}sk{g_sk}sqsq{g_sqsq}sqsk{g_sqsk})"
        );
        let keys = ["MoE topk", "MoE GEMM gated", "v4_tp", "v4_window"];
        let attributes: Vec<_> = keys.into_iter().zip(attributes).collect();
        let read = model(&OpCall {
            name,
            dims: dims.as_deref(),
            types: types.as_deref(),
            strides: strides.as_deref(),
            concrete: concrete.as_deref(),
            attributes: &attributes,
            annotation: Some(&step),
            ..OpCall::default()
        });
        match read {
            Ok(model) => assert_figures_are_sound(&*model, name),
            Err(undefined) => prop_assert!(!undefined.reason.is_empty()),
        }
    }

    #[test]
    fn any_shapes_in_the_right_places_give_sound_figures(
        position in any::<prop::sample::Index>(),
        ranks in proptest::array::uniform12(0..6_usize),
        sides in proptest::array::uniform6(prop_oneof![0..9_i64, any::<i64>()]),
        number in prop_oneof![(-2..99_i64).prop_map(|number| number.to_string()), Just("True".to_owned())],
    ) {
        let names = recorded_names();
        let name = *position.get(&names);
        let dims: Vec<Value> = ranks.iter().map(|&rank| Value::tuple(sides[..rank].iter().copied())).collect();
        let types = vec![Value::from("c10::Half"); 12];
        let concrete: Vec<Value> = (0..26).map(|_| Value::from(number.as_str())).collect();
        let read = model(&OpCall {
            name,
            dims: Some(&dims),
            types: Some(&types),
            concrete: Some(&concrete),
            annotation: Some(&step(1)),
            ..OpCall::default()
        });
        if let Ok(model) = read {
            assert_figures_are_sound(&*model, name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

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
        let names: Vec<&str> = group.names().collect();
        let name = names[name.index(names.len())];
        let mut arguments = call(group, name, 1);
        change_all(&mut arguments, changes);
        if step.is_some() {
            arguments.step = step;
        }
        match arguments.read() {
            Err(undefined) => prop_assert!(!undefined.reason.is_empty()),
            Ok(model) => assert_figures_are_sound(&*model, name),
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
        let mut call = call(group, group.names().next().unwrap(), 1);
        let mut extents = extents.into_iter().cycle();
        for sides in call.dims.iter_mut().flat_map(tensors) {
            sides.fill_with(|| extents.next().unwrap().into());
        }
        if let Ok(model) = call.read() {
            assert_figures_are_sound(&*model, call.name);
        }
    }
}
