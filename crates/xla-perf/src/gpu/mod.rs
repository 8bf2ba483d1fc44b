//! The sheets of what ran on GPUs: instructions with their work, kernels as TraceLens lists them, executions of
//! programs.

pub(crate) mod call_groups;
pub(crate) mod gemms;
pub(crate) mod kernel_rows;
mod kernels;
pub(crate) mod op_sheets;
mod operators;
mod steps;
mod timeline;

use sheets::Sheet;

use crate::analysis::JaxAnalysis;
use crate::library_kernels;
use crate::options::WorkRule;
use crate::rooflines::roofline_sheets;

/// The sheets of GPUs, in order.
pub(crate) fn gpu_sheets<'a>() -> Vec<Sheet<'a, JaxAnalysis>> {
    let mut all = Vec::from(timeline::timeline_sheets());
    all.extend(operators::operator_sheets());
    all.extend([steps::steps_summary_sheet(), steps::steps_sheet()]);
    all.extend(roofline_sheets());
    all.extend(op_sheets::op_sheets().map(|(members, sheet)| {
        sheet.replaced_by(library_kernels::op_sheet(members), |analysis| {
            analysis.options().conventions.work == WorkRule::LibraryKernel
        })
    }));
    all.extend(kernels::kernel_sheets());
    all.extend(gemms::gemm_sheets());
    all
}
