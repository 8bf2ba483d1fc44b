//! The sheets of the reports, and what they leave out.

use operator_sheets::{roofline_points_sheet, roofline_sheet};
use sheets::Sheet;

use crate::analysis::Analysis;
use crate::extended_operators::ExtendedOperators;
use crate::notice::Notice;
use crate::options::ReportLayout;
use crate::sheets::{
    coll_analysis, coverage, gpu_timeline, kernel_summary, ops_all, ops_summary, rooflines, short_kernels,
    unified_perf_summary,
};
use crate::unified::peaks_missing;

/// The sheets of the PyTorch report, in order.
pub fn pytorch_sheets<'a>() -> Vec<Sheet<'a, Analysis>> {
    sheets_of(ReportLayout::Standard)
}

/// The sheets of the report of an inference engine's trace, in order: those of the PyTorch report, but
/// normalizations have another name.
pub fn inference_sheets<'a>() -> Vec<Sheet<'a, Analysis>> {
    sheets_of(ReportLayout::Inference)
}

/// The sheets of all reports, each once, those with the same columns together.
pub fn all_sheets<'a>() -> Vec<Sheet<'a, Analysis>> {
    let mut all = pytorch_sheets();
    for (position, sheet) in inference_sheets().into_iter().enumerate() {
        if !all.iter().any(|known| known.name == sheet.name) {
            all.insert(position, sheet);
        }
    }
    all
}

fn sheets_of<'a>(layout: ReportLayout) -> Vec<Sheet<'a, Analysis>> {
    let before = [
        gpu_timeline::sheet(),
        gpu_timeline::sheet_per_device(),
        ops_summary::sheet_by_category(),
        ops_summary::sheet(),
        ops_all::sheet(),
        ops_all::sheet_with_overlap(),
        unified_perf_summary::sheet(),
        unified_perf_summary::sheet_with_overlap(),
        coverage::sheet(),
        roofline_sheet(),
        roofline_points_sheet(
            "The rows of unified_perf_summary that can stand under a roofline: those with FLOPs, bytes, time and a peak of the architecture to be held against. By peak, the one with the most kernel time first; below a peak most kernel time first. Left out without an architecture.",
        ),
    ];
    let after = [
        kernel_summary::sheet(),
        short_kernels::histogram_sheet(),
        short_kernels::details_sheet(),
        coll_analysis::sheet(),
    ];
    before.into_iter().chain(rooflines::sheets(layout)).chain(after).collect()
}

impl Analysis {
    /// The roofline sheets that the extension's categories and lists make beside the built-in ones.
    pub fn extension_sheets<'a>(&self) -> Vec<Sheet<'a, Analysis>> {
        let names = |sheet: Sheet<'_, Analysis>| {
            let reference_name = sheet.reference_name.map(str::to_owned);
            [Some(sheet.name.into_owned()), reference_name].into_iter().flatten()
        };
        rooflines::extension_sheets(self, pytorch_sheets().into_iter().flat_map(names))
    }

    /// Computes what several sheets share, which the first of them computes else. Where sheets are made on several
    /// threads, one that does this first keeps the others from waiting for each other.
    pub fn prepare_sheets(&self) {
        self.unified_rows();
        self.roofs();
    }

    /// What the sheets leave out, so that nothing goes missing silently.
    pub fn notices(&self) -> Vec<Notice> {
        let of_sheets = [
            ops_all::calls_outside_kernel_lists(self),
            short_kernels::short_kernels_without_arguments(self),
            peaks_missing(self),
        ];
        let of_models = self.models().failures(self.tree());
        let of_extension = self.models().extended().map(ExtendedOperators::notices).unwrap_or_default();
        let of_passes = self.pass_notices();
        of_sheets.into_iter().flatten().chain(of_passes).chain(of_models).chain(of_extension).collect()
    }
}
