//! The rules, a file each, and the one list of them.

mod dtype;
mod exposed;
mod fuse;
mod gemm_dims;
mod idle_hold;
mod idle_launch;
mod kernel_efficiency;
mod layout;
mod missing;
mod recompute;
mod regression;
mod relative;
mod serving;
mod short_kernels;
mod unexplained;
mod unmodelled;
mod variance;

use perf_models::CopyDirection;

use crate::rule::Rule;

/// All rules. Of rules that claim the same time the first has it: a special explanation comes before a general one.
pub(crate) const RULES: &[&dyn Rule] = &[
    &regression::Regression,
    &serving::DecodeLaunch,
    &idle_hold::IdleSync,
    &idle_hold::IdleData,
    &short_kernels::ShortKernels,
    &serving::PrefillStarved,
    &idle_launch::IdleLaunch,
    &exposed::CommExposed,
    &exposed::CopyExposed { direction: CopyDirection::HostToDevice },
    &exposed::CopyExposed { direction: CopyDirection::DeviceToHost },
    &exposed::CopyExposed { direction: CopyDirection::WithinDevice },
    &recompute::Recompute,
    &variance::Variance,
    &dtype::Precision,
    &fuse::FuseAttention,
    &fuse::FuseEpilogue,
    &layout::Layout,
    &fuse::FuseChain,
    &gemm_dims::GemmDims,
    &relative::RelativeEfficiency,
    &kernel_efficiency::KernelEfficiency,
    &serving::BatchSmall,
    &unexplained::Unexplained,
    &unmodelled::Unmodelled,
    &missing::Missing,
];

/// All rules, in the order in which they claim time.
#[must_use]
pub fn rules() -> &'static [&'static dyn Rule] {
    RULES
}

/// Whether a pattern such as `IDLE-*` means any rule.
#[must_use]
pub fn is_known_rule(pattern: &str) -> bool {
    RULES.iter().any(|rule| match pattern.strip_suffix('*') {
        Some(start) => rule.id().starts_with(start),
        None => rule.id() == pattern,
    })
}

#[cfg(test)]
mod tests;
