//! What the names of kernels say: the vocabulary that reports share, and each report's rules in a table.
//!
//! The rules differ because reports differ: TraceLens's figures can only be compared under TraceLens's own rules,
//! wrong ones included ([`tracelens_rocprof_kernel`], [`PftraceKernel`], [`XlaKernel`], [`tracelens_engine_kernel`]);
//! [`RocprofKernel`] and [`engine_kernel`] are ours.

mod communication;
mod engine;
mod rocprof;
mod tracelens_engine;
mod xla;

pub use communication::{CommunicationPatterns, MemoryKernel, rocm_memory_kernel};
pub use engine::engine_kernel;
pub use rocprof::{PftraceKernel, RocprofKernel, tracelens_rocprof_kernel};
pub use tracelens_engine::tracelens_engine_kernel;
pub use xla::XlaKernel;

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

/// The same of one text in a name of any case; the text is not empty.
fn contains_ignoring_case(name: &str, text: &str) -> bool {
    name.as_bytes().windows(text.len()).any(|window| window.eq_ignore_ascii_case(text.as_bytes()))
}
