//! Bytes and peaks of operations on each element and of reductions, against a count of their own: every index of the result
//! is visited, the places of the operands that it is made of are gathered, and types promote by PyTorch's own table.

use std::collections::HashSet;

use perf_models::{ComputeSpec, Family, OpCall, Tables, Value, model};
use proptest::prelude::*;

/// Types in the order of PyTorch's table (`promoteTypesLookup`), with the bytes of an element.
const TYPES: [(&str, f64); 10] = [
    ("unsigned char", 1.0),
    ("signed char", 1.0),
    ("short int", 2.0),
    ("int", 4.0),
    ("long int", 8.0),
    ("c10::Half", 2.0),
    ("float", 4.0),
    ("double", 8.0),
    ("bool", 1.0),
    ("c10::BFloat16", 2.0),
];

const LONG: usize = 4;
const FLOAT: usize = 6;
const DOUBLE: usize = 7;
const BOOL: usize = 8;
const FRACTIONS: [usize; 4] = [5, FLOAT, DOUBLE, 9];

#[rustfmt::skip]
const PROMOTION: [[usize; 10]; 10] = [
    [0, 2, 2, 3, 4, 5, 6, 7, 0, 9],
    [2, 1, 2, 3, 4, 5, 6, 7, 1, 9],
    [2, 2, 2, 3, 4, 5, 6, 7, 2, 9],
    [3, 3, 3, 3, 4, 5, 6, 7, 3, 9],
    [4, 4, 4, 4, 4, 5, 6, 7, 4, 9],
    [5, 5, 5, 5, 5, 5, 6, 7, 5, 6],
    [6, 6, 6, 6, 6, 6, 6, 7, 6, 6],
    [7, 7, 7, 7, 7, 7, 7, 7, 7, 7],
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    [9, 9, 9, 9, 9, 6, 6, 7, 9, 9],
];

/// Operators by how many operands they have, which types these are of, and what type the result has; `_` behind a name is
/// both, with and without it. The first operand of a choice is a flag.
const OPERATORS: [(usize, &str, &str, &str); 15] = [
    (2, "any", "promoted", "add_ mul_ sub_ subtract_ multiply_ remainder_ fmod_ floor_divide_ bitwise_and_ bitwise_or_
        bitwise_xor_ bitwise_left_shift_ bitwise_right_shift_ gcd_ lcm_ heaviside_ rsub maximum minimum fmax fmin __and__
        __or__ __xor__ __lshift__ __rshift__ pow_ clamp_min_ clamp_max_"),
    (2, "fractions", "promoted", "hypot_ nextafter_ logaddexp logaddexp2 _prelu_kernel sigmoid_backward threshold_backward
        tanh_backward"),
    (2, "any", "fraction", "div_ true_divide_ atan2_ xlogy_ copysign_"),
    (2, "any", "flag", "eq_ ne_ lt_ le_ gt_ ge_ logical_and_ logical_or_ logical_xor_"),
    (3, "any", "promoted", "addcmul_ clamp_ clip_"),
    (3, "fractions", "promoted", "addcdiv_ lerp_"),
    (3, "choice", "chosen", "where _s_where"),
    (2, "mask", "first", "masked_fill_"),
    (1, "any", "first", "abs_ ceil_ floor_ round_ trunc_ frac_ sgn_ sign_ bitwise_not_ conj_physical_ nan_to_num_ relu_ neg_
        flip roll tril_ triu_"),
    (1, "fractions", "first", "hardtanh_ leaky_relu_ hardsigmoid_ hardswish_ threshold_ elu_ mish_ softplus softshrink
        hardshrink gelu_ silu_"),
    (1, "any", "fraction", "exp_ exp2_ expm1_ log_ log2_ log10_ log1p_ sqrt_ sin_ cos_ tan_ sinh_ cosh_ asin_ acos_ atan_ asinh_
        acosh_ atanh_ erf_ erfc_ erfinv_ reciprocal_ lgamma_ digamma_ logit_ i0_ sinc_ rsqrt_ sigmoid_ tanh_"),
    (1, "any", "flag", "logical_not isnan isposinf isneginf signbit"),
    (2, "alike", "first", "gelu_backward silu_backward leaky_relu_backward hardtanh_backward hardswish_backward
        hardsigmoid_backward elu_backward softplus_backward softshrink_backward hardshrink_backward mish_backward
        native_dropout_backward logit_backward"),
    (0, "any", "first", "fill_ zero_ normal_ uniform_ bernoulli_ random_ exponential_ log_normal_ cauchy_ geometric_"),
    (2, "copy", "first", "copy_"),
];

/// Not of an operand's shape, or a sum of the results beside them.
const OTHERS: &str = "glu native_dropout _fused_dropout mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy
    mse_loss_backward smooth_l1_loss_backward huber_loss_backward binary_cross_entropy_backward replication_pad1d
    replication_pad2d replication_pad3d upsample_nearest1d upsample_nearest2d upsample_nearest3d reflection_pad1d
    reflection_pad2d reflection_pad3d cat _cat stack hstack vstack";

/// What of these PyTorch has under one spelling alone.
const ONLY: [(&str, &str); 3] = [("fill", "fill_"), ("zero", "zero_"), ("bernoulli", "bernoulli_")];

/// A tensor of a call.
#[derive(Clone, Debug)]
struct Operand {
    shape: Vec<usize>,
    element_type: usize,
}

/// All index tuples of a shape.
fn indexes(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![Vec::new()], |tuples, &extent| {
        let longer = |tuple: &Vec<usize>| {
            let tuple = tuple.clone();
            (0..extent).map(move |at| [tuple.as_slice(), &[at]].concat())
        };
        tuples.iter().flat_map(longer).collect()
    })
}

/// Elements of the operand that results of this shape are made of.
fn read(operand: &Operand, result: &[usize]) -> f64 {
    let behind = result.len() - operand.shape.len();
    let place = |tuple: Vec<usize>| -> Vec<usize> {
        let own = tuple[behind..].iter().zip(&operand.shape);
        own.map(|(&at, &extent)| if extent == 1 { 0 } else { at }).collect()
    };
    indexes(result).into_iter().map(place).collect::<HashSet<_>>().len() as f64
}

fn kind(element_type: usize) -> usize {
    match element_type {
        BOOL => 0,
        _ if FRACTIONS.contains(&element_type) => 2,
        _ => 1,
    }
}

/// `torch.result_type`; a `double` without dimensions beside tensors that have some is a number of Python.
fn promoted(operands: &[Operand]) -> usize {
    let among = |of: &dyn Fn(&Operand) -> bool| {
        let types = operands.iter().filter(|operand| of(operand)).map(|operand| operand.element_type);
        types.reduce(|one, other| PROMOTION[one][other])
    };
    let dimensional = among(&|operand| !operand.shape.is_empty());
    let scalar = among(&|operand| operand.shape.is_empty());
    match (dimensional, scalar) {
        (Some(tensor), Some(scalar)) if kind(scalar) > kind(tensor) => {
            if scalar == DOUBLE {
                FLOAT
            } else {
                scalar
            }
        }
        (Some(tensor), _) => tensor,
        (None, scalar) => scalar.unwrap(),
    }
}

fn call(name: &str, operands: &[Operand], values: &[String]) -> (f64, Option<ComputeSpec>) {
    let extents = |operand: &Operand| operand.shape.iter().map(|&extent| extent as i64).collect::<Vec<_>>();
    let none = vec![Value::tuple([]); values.len()];
    let dims: Vec<Value> =
        operands.iter().map(|operand| Value::tuple(extents(operand))).chain(none).collect();
    let types = operands.iter().map(|operand| Value::from(TYPES[operand.element_type].0));
    let types: Vec<Value> = types.chain(vec![Value::from("Scalar"); values.len()]).collect();
    let concrete = vec![Value::from(""); operands.len()];
    let concrete: Vec<Value> =
        concrete.into_iter().chain(values.iter().map(|text| Value::from(text.as_str()))).collect();
    let call = OpCall {
        name,
        dims: Some(&dims),
        types: Some(&types),
        strides: Some(&dims),
        concrete: Some(&concrete),
        ..OpCall::default()
    };
    let model = model(&call).unwrap_or_else(|undefined| panic!("{name}: {undefined} {operands:?}"));
    (model.bytes().unwrap(), model.compute_spec())
}

/// Names with and without the underscore of operators that change their first operand.
fn spellings(names: &str) -> impl Iterator<Item = String> {
    names.split_whitespace().flat_map(|name| {
        let dunder = name.ends_with("__");
        let plain = name.strip_suffix('_').filter(|_| !dunder);
        let only = plain.and_then(|plain| ONLY.iter().find(|(both, _)| *both == plain));
        match (plain, only) {
            (_, Some((_, only))) => vec![(*only).to_owned()],
            (Some(plain), None) => vec![plain.to_owned(), name.to_owned()],
            (None, _) => vec![name.to_owned()],
        }
    })
}

#[test]
fn every_operator_on_each_element_is_enumerated() {
    let families = [Family::BinaryElementwise, Family::UnaryElementwise, Family::TensorTraffic];
    let categories = ["elementwise", "copy/fill", "rng"];
    let known: HashSet<String> = OPERATORS
        .iter()
        .flat_map(|(_, _, _, names)| spellings(names))
        .chain(OTHERS.split_whitespace().map(str::to_owned))
        .collect();
    let missing: Vec<&str> = Tables::All
        .operators()
        .filter(|operator| operator.family.is_some_and(|family| families.contains(&family)))
        .filter(|operator| categories.contains(&operator.category.as_str()))
        .filter_map(|operator| operator.name.strip_prefix("aten::"))
        .filter(|name| !known.contains(*name))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn operations_on_each_element_move_what_is_enumerated(
        whole in prop::collection::vec(2_usize..4, 0..4),
        shapes in prop::collection::vec((0_usize..4, prop::collection::vec(any::<bool>(), 3)), 3),
        types in prop::collection::vec(0_usize..10, 3),
    ) {
        // An operand lacks some of the first dimensions, and others are 1.
        let operand = |at: usize| {
            let (dropped, kept) = &shapes[at];
            let own = whole.iter().zip(kept).skip((*dropped).min(whole.len()));
            let shape = own.map(|(&extent, &kept)| if kept { extent } else { 1 }).collect();
            Operand { shape, element_type: types[at] }
        };
        for &(count, allowed, result, names) in &OPERATORS {
            for name in spellings(names) {
                let name = format!("aten::{name}");
                let is_known = Tables::All.operator(&name).is_some_and(|operator| operator.family.is_some());
                if !is_known {
                    continue;
                }
                let mut operands: Vec<Operand> = (0..count.max(1)).map(operand).collect();
                for (at, operand) in operands.iter_mut().enumerate() {
                    match allowed {
                        "fractions" | "alike" => operand.element_type = FRACTIONS[operand.element_type % 4],
                        "choice" if at == 0 => operand.element_type = BOOL,
                        "mask" if at == 1 => operand.element_type = BOOL,
                        _ => {}
                    }
                }
                if allowed == "alike" {
                    operands[1] = operands[0].clone();
                }
                // A number alone is no tensor that is operated on.
                let in_place = name.ends_with('_') && !name.ends_with("__");
                if in_place || matches!(allowed, "copy" | "mask") {
                    operands[0].shape.clone_from(&whole);
                }
                let mut shape = vec![1; operands.iter().map(|operand| operand.shape.len()).max().unwrap()];
                for operand in &operands {
                    let behind = shape.len() - operand.shape.len();
                    for (extent, &own) in shape[behind..].iter_mut().zip(&operand.shape) {
                        *extent = own.max(*extent);
                    }
                }
                let written_type = match result {
                    _ if in_place => operands[0].element_type,
                    "promoted" => promoted(&operands),
                    "fraction" => match promoted(&operands) {
                        name if kind(name) < 2 => FLOAT,
                        name => name,
                    },
                    "flag" => BOOL,
                    "chosen" => promoted(&operands[1..]),
                    _ => operands[0].element_type,
                };
                let bytes_read = |operand: &Operand| read(operand, &shape) * TYPES[operand.element_type].1;
                let is_written_alone = allowed == "copy" || count == 0;
                let of_operands = operands.iter().skip(usize::from(is_written_alone)).map(bytes_read);
                let written = indexes(&shape).len() as f64 * TYPES[written_type].1;
                let (bytes, spec) = call(&name, &operands, &[]);
                prop_assert_eq!(bytes, of_operands.sum::<f64>() + written, "{} {:?}", name, operands);
                if matches!(result, "promoted" | "fraction") && kind(written_type) == 2 && !in_place {
                    let expected = ComputeSpec::vector(TYPES[written_type].0);
                    prop_assert_eq!(spec, expected, "{} {:?}", name, operands);
                }
            }
        }
    }

    #[test]
    fn reductions_move_what_is_enumerated(
        shape in prop::collection::vec(1_usize..4, 1..4),
        reduced in prop::collection::vec(any::<bool>(), 3),
        element_type in 0_usize..10,
        by_number: bool,
        keep: bool,
    ) {
        const REDUCTIONS: [(&str, &str); 6] = [
            ("whole", "sum nansum prod"),
            ("input", "mean std var amin amax norm linalg_norm linalg_vector_norm max min"),
            ("fraction", "logsumexp"),
            ("long", "argmax argmin count_nonzero"),
            ("flag", "all any"),
            ("scan", "cumsum cumprod"),
        ];
        let input = Operand { shape: shape.clone(), element_type };
        for (result, names) in REDUCTIONS {
            for name in names.split(' ') {
                let single = matches!(name, "max" | "min" | "argmax" | "argmin" | "prod" | "all" | "any" | "cumsum" | "cumprod");
                let mut dimensions: Vec<usize> = (0..shape.len()).filter(|&axis| reduced[axis]).collect();
                if single {
                    dimensions.truncate(1);
                }
                if single && dimensions.is_empty() {
                    dimensions.push(shape.len() - 1);
                }
                let signed = |&axis: &usize| match by_number {
                    true => axis as i64 - shape.len() as i64,
                    false => axis as i64,
                };
                let axes: Vec<String> = dimensions.iter().map(|axis| signed(axis).to_string()).collect();
                let axes = if single { axes[0].clone() } else { format!("[{}]", axes.join(", ")) };
                let mut values = vec![axes];
                if name.ends_with("norm") {
                    values.insert(0, "2".to_owned());
                }
                if result != "scan" {
                    values.push(if keep { "True" } else { "False" }.to_owned());
                }
                // No dimension is all of them.
                let all = dimensions.is_empty();
                let place = |tuple: Vec<usize>| -> Vec<usize> {
                    let kept = |axis: &usize| result == "scan" || !(all || dimensions.contains(axis));
                    (0..shape.len()).filter(kept).map(|axis| tuple[axis]).collect()
                };
                let results = indexes(&shape).into_iter().map(place).collect::<HashSet<_>>().len() as f64;
                let written_type = match result {
                    "whole" | "scan" if kind(element_type) < 2 => LONG,
                    "fraction" if kind(element_type) < 2 => FLOAT,
                    "long" => LONG,
                    "flag" => BOOL,
                    _ => element_type,
                };
                let size = TYPES[written_type].1 + if matches!(name, "max" | "min") { 8.0 } else { 0.0 };
                let expected = indexes(&shape).len() as f64 * TYPES[element_type].1 + results * size;
                let (bytes, _) = call(&format!("aten::{name}"), std::slice::from_ref(&input), &values);
                prop_assert_eq!(bytes, expected, "{} {:?} {:?}", name, input, values);
            }
        }
        let names = REDUCTIONS.iter().flat_map(|(_, names)| names.split(' '));
        let known: HashSet<&str> = names.chain(["_logcumsumexp"]).collect();
        for operator in Tables::All.ops_of_family(Family::Reduce) {
            prop_assert!(known.contains(operator.strip_prefix("aten::").unwrap()), "{}", operator);
        }
    }
}
