//! What the names of kernels say: the vocabulary that reports share, and each report's rules in a table.
//!
//! The rules differ because reports differ: TraceLens's figures can only be compared under TraceLens's own rules,
//! wrong ones included ([`tracelens_rocprof_category`], [`PftraceKernel`], [`XlaKernel`], [`tracelens_engine_kernel`]);
//! [`kernel_class`] is ours. What names say beside the kind of work stands here, too, because they are the same names: who
//! wrote a kernel ([`KernelWords`]), the loop of the program ([`LoopWords`]), the phases of inference ([`PhaseWords`]), and what
//! pictures tell apart ([`WorkKind`]).

mod class;
mod communication;
mod fp32;
mod library;
mod loops;
mod phase;
mod rocprof;
mod tracelens_engine;
mod work_kind;
mod xla;

pub use class::{KernelClass, kernel_class};
pub use communication::{CommunicationPatterns, MemoryKernel, rocm_memory_kernel};
pub use fp32::fp32_matrix_spec;
pub use library::KernelWords;
pub use loops::{LoopWords, ParameterUpdate};
pub use phase::{AttentionLayout, PhaseOperator, PhaseWords};
pub use rocprof::{PftraceKernel, tracelens_rocprof_category};
pub use tracelens_engine::tracelens_engine_kernel;
pub use work_kind::WorkKind;
pub use xla::{XlaKernel, convolution_category, custom_call_category};

use std::borrow::Cow;

use crate::Category;

/// Libraries of collectives.
const COLLECTIVE_LIBRARIES: [&str; 2] = ["rccl", "nccl"];

/// The all-reduce that inference engines have of their own.
const CUSTOM_ALL_REDUCE: &str = "cross_device_reduce";

/// A kind of kernel, its spelling in reports, and the texts of which any in a name decides.
type Rule<K> = (K, &'static str, &'static [&'static str]);

/// The first rule with a text in the name.
fn first_rule<K: Copy>(rules: &[Rule<K>], name: &str) -> Option<K> {
    rules.iter().find(|(.., texts)| has(name, texts)).map(|&(kind, ..)| kind)
}

/// The spelling of a kind that a rule gives.
fn label<K: PartialEq>(rules: &[Rule<K>], kind: K) -> Option<&'static str> {
    rules.iter().find(|rule| rule.0 == kind).map(|rule| rule.1)
}

/// The category of work that PyTorch's own kernels do: their names say by which of its templates they were made.
pub(crate) fn pytorch_kernel(name: &str) -> Option<Category> {
    const TEMPLATES: [Rule<Category>; 3] = [
        (Category::Elementwise, "", &["elementwise"]),
        (Category::Reduce, "", &["reduce"]),
        (Category::MultiTensorApply, "", &["multi_tensor_apply"]),
    ];
    first_rule(&TEMPLATES, name.strip_prefix("void at::native")?)
}

/// The name of a kernel without what people do not tell kernels by: the return type, the list of parameters and unnamed
/// namespaces. Template arguments stay.
///
/// ```
/// let name = "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float>(float*, int)";
/// assert_eq!(perf_models::bare_kernel_name(name), "at::native::cunn_SoftMaxForward<8, float>");
/// ```
#[must_use]
pub fn bare_kernel_name(name: &str) -> String {
    let name = name.strip_prefix("void ").unwrap_or(name);
    let mut depth = 0_usize;
    let opening = name.char_indices().rev().find(|&(_, character)| {
        match character {
            ')' => depth += 1,
            '(' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    let without_parameters = match opening {
        // A remark such as that of `Memcpy HtoD (Pageable -> Device)` is no list of parameters.
        Some((at, '(')) if at > 0 && !name[..at].ends_with(' ') => &name[..at],
        _ => name,
    };
    without_parameters.replace("(anonymous namespace)::", "")
}

/// Whether a name in lower case is that of a library's matrix multiplication. These names carry their tuning (`USL1`,
/// `SL128`, `MT256x32x64`).
#[must_use]
pub fn is_library_gemm(lower: &str) -> bool {
    has(lower, &["cijk_", "gemm", "nvjet", "cutlass_80_", "matmul"])
}

/// Whether a name has any of these texts.
fn has(name: &str, texts: &[&str]) -> bool {
    texts.iter().any(|text| name.contains(text))
}

/// A name without what stands in angle brackets or parentheses.
fn without_arguments(name: &str) -> String {
    let mut depth = 0_usize;
    let outside = |&character: &char| match character {
        '<' | '(' => {
            depth += 1;
            false
        }
        '>' | ')' => {
            depth = depth.saturating_sub(1);
            false
        }
        _ => depth == 0,
    };
    name.chars().filter(outside).collect()
}

/// The words of a name in lower case, each between blanks: parts of the rules with blanks around them are whole words.
/// `ncclDevKernel_AllReduce_Sum` is ` nccl dev kernel all reduce sum `.
fn words(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 16);
    words.push(' ');
    let mut before = ' ';
    for c in name.chars() {
        let starts_word = c.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit());
        if (starts_word || !c.is_ascii_alphanumeric()) && !words.ends_with(' ') {
            words.push(' ');
        }
        if c.is_ascii_alphanumeric() {
            words.push(c.to_ascii_lowercase());
        }
        before = c;
    }
    if !words.ends_with(' ') {
        words.push(' ');
    }
    words
}

/// The name as it stands in a program, of a name that the compiler mangled: its namespaces and the function, and in angle
/// brackets what follows them. Other names are as they are. Lengths that reach beyond the name end it.
fn readable(name: &str) -> Cow<'_, str> {
    let Some(mut rest) = name.strip_prefix("_Z") else { return Cow::Borrowed(name) };
    rest = rest.strip_prefix('N').unwrap_or(rest).trim_start_matches(['K', 'V']);
    let mut readable = String::with_capacity(name.len());
    loop {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let Ok(length) = rest[..digits].parse::<usize>() else { break };
        let part = rest.get(digits..digits.saturating_add(length)).unwrap_or(&rest[digits..]);
        rest = &rest[digits + part.len()..];
        if !readable.is_empty() {
            readable.push_str("::");
        }
        readable.push_str(if part.starts_with("_GLOBAL__N_") { "(anonymous namespace)" } else { part });
    }
    if readable.is_empty() {
        return Cow::Borrowed(name);
    }
    readable.push('<');
    readable.push_str(rest);
    readable.push('>');
    Cow::Owned(readable)
}

#[cfg(test)]
mod tests {
    use super::{bare_kernel_name, readable, words};

    #[test]
    fn names_lose_their_parameters_and_nothing_else() {
        for (name, bare) in [
            ("ncclDevKernel_AllReduce(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_AllReduce"),
            ("void cutlass::Kernel2<a<(b)1>>(a::Params)", "cutlass::Kernel2<a<(b)1>>"),
            ("void f<int>::operator()(int) const", "f<int>::operator()(int) const"),
            ("Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pageable -> Device)"),
            ("Cijk_Ailk", "Cijk_Ailk"),
            ("(x)", "(x)"),
            ("x)", "x)"),
            ("", ""),
        ] {
            assert_eq!(bare_kernel_name(name), bare);
        }
    }
    #[test]
    fn mangled_names_are_readable() {
        for (name, text) in [
            (
                "_ZN7deep_ep9intranode7combineI13__nv_bfloat16EEvPT_",
                "deep_ep::intranode::combine<I13__nv_bfloat16EEvPT_>",
            ),
            ("_Z21kuserbuffers_pushsendPi", "kuserbuffers_pushsend<Pi>"),
            (
                "_ZN12_GLOBAL__N_114dispatchKernelILj10EEEvPi",
                "(anonymous namespace)::dispatchKernel<ILj10EEEvPi>",
            ),
            ("_ZN5aiter99mla_a8w8E", "aiter::mla_a8w8E<>"),
            ("_ZN99999999999999999999999x", "_ZN99999999999999999999999x"),
            ("_ZN3é", "é<>"),
            ("_Zebra", "_Zebra"),
            ("void f<int>(int)", "void f<int>(int)"),
        ] {
            assert_eq!(readable(name), text);
        }
    }

    #[test]
    fn words_are_cut_at_signs_and_capitals() {
        assert_eq!(words("ncclDevKernel_AllReduce_Sum"), " nccl dev kernel all reduce sum ");
        assert_eq!(words("void f<int, 4>(x)"), " void f int 4 x ");
        assert_eq!(words(""), " ");
    }
}
