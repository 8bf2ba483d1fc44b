//! Matrix multiplication in groups of different sizes.

use super::{OpGroup, op};
use crate::recorded::{Read, Recorded};
use crate::tensor::count_value;
use crate::{
    Category, ComputeSpec, Family, Figure, OpCall, Parameter, PerfModel, Undefined, Value, element_size,
};

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(
        Family::GroupedGemm,
        Category::GroupedGemmForward,
        &[
            op("primus_turbo::grouped_gemm", fixed_k),
            op("primus_turbo::grouped_gemm_impl", fixed_k),
            op("primus_turbo::grouped_gemm_variable_k", variable_k),
            op("primus_turbo::grouped_gemm_variable_k_impl", variable_k),
            op("primus_turbo_cpp_extension::grouped_gemm", fixed_k),
            op("primus_turbo_cpp_extension::grouped_gemm_variable_k", variable_k),
            op("primus_turbo_cpp_extension::ck_grouped_gemm", fixed_k),
            op("primus_turbo_cpp_extension::ck_grouped_gemm_variable_k", variable_k),
        ],
    ),
    OpGroup::ours(
        Family::GroupedGemm,
        Category::GroupedGemmForward,
        &[
            op("aten::_grouped_mm", |call| torch(call, 2, None)),
            // PyTorch gives the result in no other type.
            op("aten::_scaled_grouped_mm", |call| torch(call, 4, Some("c10::BFloat16"))),
        ],
    ),
];

/// Multiplications that share `k` and `n`: `m` rows in all, divided among `groups` weights.
///
/// ```
/// use perf_models::{GroupedGemm, PerfModel};
///
/// let experts = GroupedGemm {
///     m: 16384,
///     k: 2048,
///     n: 4096,
///     groups: 8,
///     input_type: "c10::BFloat16".into(),
///     output_type: "c10::BFloat16".into(),
/// };
/// assert_eq!(experts.flops()?, 274_877_906_944.0);
/// assert_eq!(experts.bytes()?, 335_544_320.0);
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupedGemm {
    /// Rows of all groups together.
    pub m: u64,
    /// The dimension that is summed over.
    pub k: u64,
    /// Columns of each weight.
    pub n: u64,
    /// Weights, one a group.
    pub groups: u64,
    /// Element type of the operands as PyTorch names it.
    pub input_type: String,
    /// Element type of the result.
    pub output_type: String,
}

impl PerfModel for GroupedGemm {
    /// `2·m·k·n`: each row is multiplied with one weight, however the rows are divided.
    fn flops(&self) -> Figure {
        Ok(2.0 * self.m as f64 * self.k as f64 * self.n as f64)
    }

    /// Rows and all weights read, the result written.
    fn bytes(&self) -> Figure {
        let [m, k, n, groups] = [self.m, self.k, self.n, self.groups].map(|count| count as f64);
        let (input, output) = (element_size(&self.input_type)?, element_size(&self.output_type)?);
        Ok((m * k + groups * k * n) * input + m * n * output)
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::matrix(&self.input_type)
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            ("M", count_value(self.m)),
            ("K", count_value(self.k)),
            ("N", count_value(self.n)),
            ("G", count_value(self.groups)),
            ("bpe_in", size_value(&self.input_type)),
            ("bpe_out", size_value(&self.output_type)),
        ]
    }
}

/// Multiplications that differ in the dimension that is summed over, as for the gradients of the weights
/// of [`GroupedGemm`].
///
/// ```
/// use perf_models::{GroupShape, PerfModel, VariableKGroupedGemm};
///
/// // The weights of two experts, which got 300 and 212 of 512 tokens.
/// let gradients = VariableKGroupedGemm {
///     groups: [300, 212].map(|k| GroupShape { m: 2048, k, n: 4096 }).to_vec(),
///     input_type: "c10::BFloat16".into(),
///     output_type: "float".into(),
/// };
/// assert_eq!(gradients.flops()?, 2.0 * 2048.0 * 512.0 * 4096.0);
/// assert_eq!(gradients.bytes()?, 2.0 * 512.0 * (2048.0 + 4096.0) + 4.0 * 2.0 * 2048.0 * 4096.0);
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VariableKGroupedGemm {
    /// The multiplications.
    pub groups: Vec<GroupShape>,
    /// Element type of the operands as PyTorch names it.
    pub input_type: String,
    /// Element type of the results.
    pub output_type: String,
}

/// One multiplication of a group: `m`×`k` by `k`×`n`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupShape {
    /// Rows of the first operand.
    pub m: u64,
    /// The dimension that is summed over.
    pub k: u64,
    /// Columns of the second operand.
    pub n: u64,
}

impl GroupShape {
    fn sides(self) -> [f64; 3] {
        [self.m, self.k, self.n].map(|side| side as f64)
    }
}

impl PerfModel for VariableKGroupedGemm {
    /// The sum of `2·m·k·n`.
    fn flops(&self) -> Figure {
        Ok(self.groups.iter().map(|group| group.sides()).map(|[m, k, n]| 2.0 * m * k * n).sum())
    }

    /// Operands read and results written, each once.
    fn bytes(&self) -> Figure {
        let (input, output) = (element_size(&self.input_type)?, element_size(&self.output_type)?);
        let of = |[m, k, n]: [f64; 3]| (m * k + k * n) * input + m * n * output;
        Ok(self.groups.iter().map(|group| of(group.sides())).sum())
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::matrix(&self.input_type)
    }

    fn parameters(&self) -> Vec<Parameter> {
        let first = self.groups.first().copied().unwrap_or_default();
        let rows = self.groups.iter().fold(0_u64, |rows, group| rows.saturating_add(group.m));
        let pairs = self.groups.iter().map(|group| {
            let pair = |rows, columns| Value::Tuple(vec![count_value(rows), count_value(columns)]);
            Value::Tuple(vec![pair(group.m, group.k), pair(group.k, group.n)])
        });
        vec![
            ("M", count_value(rows)),
            ("K", count_value(first.k)),
            ("N", count_value(first.n)),
            ("G", count_value(self.groups.len() as u64)),
            ("bpe_in", size_value(&self.input_type)),
            ("bpe_out", size_value(&self.output_type)),
            ("group_pairs", Value::List(pairs.collect())),
        ]
    }
}

fn size_value(element_type: &str) -> Value {
    element_size(element_type).map_or(Value::None, |size| Value::Int(size as i64))
}

/// Element types of operands and result: the weight's type stands for the result's.
fn types(call: &OpCall<'_>) -> (String, String) {
    let input = call.type_of(0).unwrap_or("");
    (input.to_owned(), call.type_of(1).unwrap_or(input).to_owned())
}

/// Rows `(m, k)` with weights `(groups, k, n)` or `(groups, n, k)`, or lists of both.
fn fixed_k(call: &OpCall<'_>) -> Read {
    let (input_type, output_type) = types(call);
    let model = |[m, k, n, groups]: [u64; 4]| {
        Ok(Recorded::new(GroupedGemm { m, k, n, groups, input_type, output_type }))
    };
    if let Some(dimensions) = rows_and_weights(call) {
        return model(dimensions);
    }
    let pairs = pairs(call)?;
    let (k, n) = (pairs[0].0[1], pairs[0].1[1]);
    let consistent = pairs.iter().all(|(rows, weight)| rows[1] == k && weight == &[k, n]);
    if !consistent {
        return Err(Undefined::arguments("the groups in Input Dims[0] and [1] differ in K or N"));
    }
    let m = pairs.iter().fold(0_u64, |m, (rows, _)| m.saturating_add(rows[0]));
    model([m, k, n, pairs.len() as u64])
}

/// Reads a call of PyTorch's product in groups: `(self, mat2, ...)` with the ends of the groups in input `ends`, and the
/// result in `output_type`, else in the type of the operands. An operand of rank 2 has all groups one after the other:
/// the rows, the columns, or of both operands what is summed over. What lies behind the last group counts, as ends are
/// not recorded.
fn torch(call: &OpCall<'_>, ends: usize, output_type: Option<&str>) -> Read {
    let input_type = call.type_of(0)?.to_owned();
    let output_type = output_type.unwrap_or(&input_type).to_owned();
    let (left, right) = (call.dimensions(0)?, call.dimensions(1)?);
    let grouped_gemm = |m, k, n, groups| {
        let (input_type, output_type) = (input_type.clone(), output_type.clone());
        Ok(Recorded::new(GroupedGemm { m, k, n, groups, input_type, output_type }))
    };
    match (left.as_slice(), right.as_slice()) {
        (&[m, k], &[groups, inner, n]) if k == inner => grouped_gemm(m, k, n, groups),
        // The transposed product: columns take the place of rows.
        (&[groups, m, k], &[inner, n]) if k == inner => grouped_gemm(n, k, m, groups),
        (&[groups, m, k], &[same, inner, n]) if k == inner && groups == same => {
            grouped_gemm(groups.saturating_mul(m), k, n, groups)
        }
        (&[m, k], &[inner, n]) if k == inner => {
            let groups = call.dimension(ends, 0)?.max(1);
            Ok(divided_sum(GroupShape { m, k, n }, groups, input_type, output_type))
        }
        _ => Err(Undefined::arguments("Input Dims[0] and [1] are not operands of a grouped GEMM")),
    }
}

/// Products whose groups divide what is summed over, in a way that is not recorded: FLOPs and bytes are the same as where
/// the first group has all of it.
fn divided_sum(whole: GroupShape, groups: u64, input_type: String, output_type: String) -> Recorded {
    let GroupShape { m, k, n } = whole;
    let other_results = GroupShape { m: m.saturating_mul(groups - 1), k: 0, n };
    let model = VariableKGroupedGemm {
        groups: vec![whole, other_results],
        input_type: input_type.clone(),
        output_type: output_type.clone(),
    };
    let shown = GroupedGemm { m, k, n, groups, input_type, output_type };
    Recorded::new(model).with_parameters(shown.parameters())
}

fn rows_and_weights(call: &OpCall<'_>) -> Option<[u64; 4]> {
    let rows = call.dimensions(0).ok()?;
    let &[m, k, ..] = rows.as_slice() else { return None };
    let [groups, second, third] = call.dimensions_of(1).ok()?;
    if [m, k, groups, second, third].contains(&0) {
        return None;
    }
    let n = if second == k {
        third
    } else if third == k {
        second
    } else {
        return None;
    };
    Some([m, k, n, groups])
}

/// Operands `(m, k)` and `(k, n)`, or lists of them.
fn variable_k(call: &OpCall<'_>) -> Read {
    let (input_type, output_type) = types(call);
    let matrix = |index| call.dimensions_of::<2>(index).ok().filter(|sides| !sides.contains(&0));
    let groups = if let (Some([m, k]), Some([_, n])) = (matrix(0), matrix(1)) {
        vec![GroupShape { m, k, n }]
    } else {
        let pairs = pairs(call)?;
        if pairs.iter().any(|(left, right)| left[1] != right[0]) {
            return Err(Undefined::arguments("Input Dims[0] and [1] cannot be multiplied"));
        }
        pairs.iter().map(|&([m, k], [_, n])| GroupShape { m, k, n }).collect()
    };
    Ok(Recorded::new(VariableKGroupedGemm { groups, input_type, output_type }))
}

type Sides = [u64; 2];

/// The matrices of two lists, side by side; never empty.
fn pairs(call: &OpCall<'_>) -> Result<Vec<(Sides, Sides)>, Undefined> {
    let list = |index| {
        let mut found = Vec::new();
        collect_matrices(call.dims_entry(index)?, &mut found);
        Ok(found)
    };
    let (left, right) = (list(0)?, list(1)?);
    if left.is_empty() || left.len() != right.len() {
        let (left, right) = (left.len(), right.len());
        let reason = format!(
            "Input Dims[0] and [1] list {left} and {right} matrices, which do not pair up into groups"
        );
        return Err(Undefined::arguments(reason));
    }
    Ok(left.into_iter().zip(right).collect())
}

/// Every list of two positive numbers within `value`.
fn collect_matrices(value: &Value, found: &mut Vec<Sides>) {
    let Some(items) = value.items() else { return };
    let positive =
        |item: &Value| item.as_int().and_then(|side| u64::try_from(side).ok()).filter(|&side| side > 0);
    if let [rows, columns] = items
        && let (Some(rows), Some(columns)) = (positive(rows), positive(columns))
    {
        found.push([rows, columns]);
        return;
    }
    for item in items {
        collect_matrices(item, found);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn groups_share_k_and_n_whichever_way_the_weight_lies() {
        let fixed = GroupedGemm {
            m: 16384,
            k: 2048,
            n: 4096,
            groups: 8,
            input_type: "c10::BFloat16".into(),
            output_type: "c10::BFloat16".into(),
        };
        assert_eq!(fixed.flops(), Ok(274_877_906_944.0));
        assert_eq!(fixed.bytes(), Ok(335_544_320.0));
        for weights in [[8, 2048, 4096], [8, 4096, 2048]] {
            let dims = [Value::tuple([16384, 2048]), Value::tuple(weights)];
            let types = [Value::from("c10::BFloat16"), Value::from("c10::BFloat16")];
            let call = OpCall { dims: Some(&dims), types: Some(&types), ..OpCall::default() };
            let read = fixed_k(&call).unwrap();
            assert_eq!(format!("{read:?}"), format!("{fixed:?}"), "{weights:?}");
        }
    }

    #[test]
    fn groups_that_do_not_fit_are_undefined() {
        let pair = |a: [i64; 2]| Value::tuple(a);
        let list = |items: &[Value]| Value::List(items.to_vec());
        let cases = [
            [pair([4, 2]), Value::tuple([3, 5, 7])],
            [list(&[pair([4, 2]), pair([4, 3])]), list(&[pair([2, 8]), pair([3, 8])])],
            [list(&[pair([4, 2])]), list(&[pair([2, 8]), pair([2, 8])])],
            [list(&[]), list(&[])],
            [pair([4, -2]), Value::tuple([3, 2, 7])],
            [Value::None, Value::from("x")],
        ];
        for dims in &cases {
            let call = OpCall { dims: Some(dims), ..OpCall::default() };
            let undefined = fixed_k(&call).unwrap_err();
            assert_eq!(undefined.gap, crate::Gap::Arguments, "{dims:?}");
        }
        let dims = [list(&[pair([4, 2])]), list(&[pair([3, 8])])];
        let call = OpCall { dims: Some(&dims), ..OpCall::default() };
        assert_eq!(variable_k(&call).unwrap_err().gap, crate::Gap::Arguments);
    }

    proptest! {
        #[test]
        fn one_group_with_any_k_is_a_group_with_a_fixed_k(m in 1_u64.., k in 1_u64.., n in 1_u64..) {
            let (input_type, output_type) = ("float".to_owned(), "c10::Half".to_owned());
            let fixed = GroupedGemm {
                m, k, n, groups: 1, input_type: input_type.clone(), output_type: output_type.clone(),
            };
            let variable = VariableKGroupedGemm { groups: vec![GroupShape { m, k, n }], input_type, output_type };
            prop_assert_eq!(fixed.flops(), variable.flops());
            prop_assert_eq!(fixed.bytes(), variable.bytes());
        }
    }
}
