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
mod relative;
mod short_kernels;
mod unexplained;
mod unmodelled;
mod variance;

use perf_models::CopyDirection;

use crate::rule::Rule;

/// All rules. Of rules that claim the same time the first has it: a special explanation comes before a general one.
pub(crate) const RULES: &[&dyn Rule] = &[
    &idle_hold::IdleInitialisation,
    &idle_hold::IdleAllocation,
    &idle_hold::IdleSync,
    &idle_hold::IdleData,
    &idle_hold::IdleHost,
    &short_kernels::ShortKernels,
    &idle_launch::IdleLaunch,
    &exposed::CommSlow,
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
    &unexplained::Unexplained,
    &unmodelled::Unmodelled,
    &missing::Missing,
];

/// The names of all rules, in the order in which they claim time.
pub fn rule_names() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.id())
}

#[cfg(test)]
mod tests;
