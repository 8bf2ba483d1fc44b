//! The element type of tensor lists, which PyTorch's profiler does not record, by the names of the kernels: their
//! templates are made for one type (`multi_tensor_apply_kernel<…, AdamFunctor<float, 4>>`) or one size
//! (`OpaqueType<2u>`).

use crate::recorded::Assumptions;
use crate::{OpCall, element_size};

/// Names that C++ gives types that PyTorch records under other ones.
const SPELLINGS: [(&str, &str); 5] = [
    ("long", "long int"),
    ("short", "short int"),
    ("__half", "c10::Half"),
    ("__hip_bfloat16", "c10::BFloat16"),
    ("__nv_bfloat16", "c10::BFloat16"),
];

/// What stands before the element type in the names of kernels over lists of tensors.
const BEFORE: [&str; 3] = ["Functor<", "CatArrayBatchedCopy", "Copy<"];

/// The element type of the tensor lists of a call by the names of its kernels, as PyTorch records types;
/// `OpaqueType<2>` where they tell the size of elements alone. PyTorch's profiler does not record it.
#[must_use]
pub fn list_element_type(kernels: &[&str]) -> Option<String> {
    kernels.iter().find_map(|kernel| BEFORE.iter().find_map(|before| type_behind(kernel, before)))
}

/// The element type of the lists of a call, assumed where its kernels do not tell it.
pub(super) fn assumed_list_element_type(call: &OpCall<'_>, assumptions: &mut Assumptions) -> String {
    match list_element_type(call.kernels) {
        Some(name) => {
            assumptions.0.push(match name.strip_prefix("OpaqueType<") {
                Some(size) => {
                    format!("elements of {} bytes, from the kernel name", size.trim_end_matches('>'))
                }
                None => format!("elements are {name}, from the kernel name"),
            });
            name
        }
        None => assumptions.recorded_or(None, "list element type", "float".to_owned()),
    }
}

/// The first template argument behind some text, as PyTorch records the type; `OpaqueType<2>` for elements of two
/// bytes.
fn type_behind(kernel: &str, before: &str) -> Option<String> {
    let (_, rest) = kernel.split_once(before)?;
    let rest = match before.ends_with('<') {
        true => rest,
        false => rest.split_once('<')?.1,
    };
    let name = match rest.split_once("OpaqueType<") {
        Some((scope, size)) if !scope.contains([',', '>']) => {
            format!("OpaqueType<{}>", size.split(['u', '>']).next()?)
        }
        _ => {
            let argument = rest.split([',', '>']).next()?.trim();
            let spelled = SPELLINGS.iter().find(|(spelling, _)| *spelling == argument);
            spelled.map_or(argument, |&(_, name)| name).to_owned()
        }
    };
    element_size(&name).is_ok().then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_say_what_lists_hold() {
        for (kernel, expected) in [
            (
                "void at::native::(anonymous namespace)::CatArrayBatchedCopy_contig<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 3, 128, 1>(…)",
                "OpaqueType<2>",
            ),
            (
                "void at::native::(anonymous namespace)::CatArrayBatchedCopy<int, unsigned int, 1, 128, 1>(int*)",
                "int",
            ),
            (
                "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<2>, at::native::(anonymous namespace)::CopyFunctor<long, int, 2, 1, 1>>",
                "long int",
            ),
            (
                "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, FusedAdamMathFunctor<c10::BFloat16, float, 4>>",
                "c10::BFloat16",
            ),
            (
                "void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<16>, unsigned int>",
                "OpaqueType<16>",
            ),
        ] {
            let mut assumptions = Assumptions::default();
            let call = OpCall { kernels: &[kernel], ..OpCall::default() };
            assert_eq!(assumed_list_element_type(&call, &mut assumptions), expected, "{kernel}");
            assert!(assumptions.0[0].ends_with("from the kernel name"), "{assumptions:?}");
        }
        let mut assumptions = Assumptions::default();
        assert_eq!(assumed_list_element_type(&OpCall::default(), &mut assumptions), "float");
        assert_eq!(assumptions.0, ["assumed list element type float"]);
    }
}
