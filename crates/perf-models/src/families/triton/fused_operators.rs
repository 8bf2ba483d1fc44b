//! Which operators TorchInductor fused into a kernel, read out of the kernel's name.

use std::collections::HashSet;
use std::fmt;
use std::sync::LazyLock;

/// Names of operators of PyTorch 2.11 that appear in names of kernels, without `aten.`, one a line.
static OPERATORS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| include_str!("operators.txt").lines().collect());

/// Words of the longest name.
static MOST_WORDS: LazyLock<usize> =
    LazyLock::new(|| OPERATORS.iter().map(|name| name.split('_').count()).max().unwrap_or(0));

/// An operator of a fused kernel. Displays as reports print it: known operators as `aten.add`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FusedOperator {
    /// An operator of PyTorch, without `aten.`.
    Known(&'static str),
    /// Words of the kernel's name that no operator of PyTorch is called by, such as a custom operator.
    Unknown(String),
}

impl fmt::Display for FusedOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FusedOperator::Known(name) => write!(f, "aten.{name}"),
            FusedOperator::Unknown(words) => f.write_str(words),
        }
    }
}

/// The operators in the name of a kernel, `triton_<kind>_fused_<operators>_<number>`; none if the name has
/// another form.
///
/// The operators stand there joined by the underscore that many of their names hold as well, so that a
/// name can be cut in several ways. The cut that leaves the fewest words unknown is taken, and among those
/// the one with the longest operators, from the end on.
pub(super) fn fused_operators(kernel: &str) -> Vec<FusedOperator> {
    operators_part(kernel).map_or_else(Vec::new, cut)
}

fn operators_part(kernel: &str) -> Option<&str> {
    let rest = kernel.strip_prefix("triton_")?;
    let (_kind, rest) = rest.split_once("_fused_")?;
    let (operators, number) = rest.rsplit_once('_')?;
    let numbered = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (numbered && !operators.is_empty()).then_some(operators)
}

fn cut(text: &str) -> Vec<FusedOperator> {
    // Word i spans starts[i]..starts[i + 1] - 1; a leading underscore makes an empty word.
    let mut starts = vec![0];
    starts.extend(text.match_indices('_').map(|(position, _)| position + 1));
    starts.push(text.len() + 1);
    let words = starts.len() - 1;
    let known = |from: usize, to: usize| OPERATORS.get(&text[starts[from]..starts[to] - 1]).copied();
    let shortest_start = |end: usize| end.saturating_sub(*MOST_WORDS);

    // unknown[i]: the fewest unknown words among the first i.
    let mut unknown = vec![0_usize];
    for end in 1..=words {
        let as_unknown = unknown[end - 1] + 1;
        let as_known = (shortest_start(end)..end)
            .filter(|&start| unknown[start] < as_unknown && known(start, end).is_some())
            .map(|start| unknown[start])
            .min();
        unknown.push(as_known.unwrap_or(as_unknown));
    }

    let mut operators = Vec::new();
    let mut end = words;
    let mut unknown_until = None;
    while end > 0 {
        let longest = (shortest_start(end)..end)
            .filter(|&start| unknown[start] == unknown[end])
            .find_map(|start| known(start, end).map(|name| (start, name)));
        if let Some((start, name)) = longest {
            push_unknown(&mut operators, text, starts[end], unknown_until.take());
            operators.push(FusedOperator::Known(name));
            end = start;
        } else {
            unknown_until.get_or_insert(starts[end] - 1);
            end -= 1;
        }
    }
    push_unknown(&mut operators, text, 0, unknown_until);
    operators.reverse();
    operators
}

fn push_unknown(operators: &mut Vec<FusedOperator>, text: &str, from: usize, until: Option<usize>) {
    if let Some(until) = until {
        operators.push(FusedOperator::Unknown(text[from..until].to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn printed(kernel: &str) -> String {
        fused_operators(kernel).iter().map(FusedOperator::to_string).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn names_of_kernels_are_cut_into_operators() {
        for (kernel, expected) in [
            ("triton_poi_fused_add_0", "aten.add"),
            ("triton_poi_fused__unsafe_view_mul_silu_2", "aten._unsafe_view, aten.mul, aten.silu"),
            ("triton_poi_fused_add__to_copy_3", "aten.add, aten._to_copy"),
            ("triton_per_fused_native_layer_norm_1", "aten.native_layer_norm"),
            // Not an operator as a whole, but its parts are.
            ("triton_poi_fused_sum_to_size_7", "aten.sum, aten.to, aten.size"),
            // An unknown operator leaves the others as they are.
            ("triton_poi_fused_add_fmha_v3_fwd_mul_13", "aten.add, fmha_v3_fwd, aten.mul"),
            ("triton_poi_fused_unheard_of_4", "unheard_of"),
            ("triton_poi_fused_add_unheard_4", "aten.add, unheard"),
            ("triton_poi_fused_unheard_add_4", "unheard, aten.add"),
            ("triton_poi_fused_0", ""),
            ("triton_poi_fused__0", ""),
            ("triton_poi_fused_add", ""),
            ("triton_poi_fused_add_x0", ""),
            ("triton_poi_0", ""),
        ] {
            assert_eq!(printed(kernel), expected, "{kernel}");
        }
    }

    #[test]
    fn the_list_of_operators_is_sorted_and_complete() {
        let names: Vec<&str> = include_str!("operators.txt").lines().collect();
        assert_eq!(names.len(), 960);
        assert!(names.is_sorted());
    }

    proptest! {
        #[test]
        fn no_word_of_a_name_is_lost(words in "[a-z_é]{0,40}|(add|_to_copy|mul|x|_|layer|norm){1,12}") {
            let kernel = format!("triton_poi_fused_{words}_0");
            let joined = fused_operators(&kernel)
                .iter()
                .map(|operator| operator.to_string().replace("aten.", ""))
                .collect::<Vec<_>>()
                .join("_");
            prop_assert_eq!(joined, words);
        }
    }
}
