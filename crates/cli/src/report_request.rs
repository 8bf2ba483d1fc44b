//! The arguments of a report, validated: code after this never looks at raw arguments again.

use std::path::{Path, PathBuf};

use inference_phase::sheets::PhaseOptions;
use report_writers::Workbook;
use script_extension::Extension;
use trace2tree::LinkBy;
use tree_perf::{AnalysisOptions, ReportLayout};

use crate::architecture_choice::chosen;
use crate::arguments::reading;
use crate::arguments::report::{AnalysisArguments, OutputArguments, ReportArguments, SheetNames};
use crate::arguments::report_output::Output;
use crate::error::Failure;
use crate::phases;

/// What to read, compute and write.
pub(crate) struct ReportRequest {
    pub(crate) trace: PathBuf,
    pub(crate) analysis: AnalysisOptions,
    /// How the phases of inference are told apart, if they are.
    pub(crate) phases: Option<PhaseOptions>,
    /// Models, categories and tree rules of the user.
    pub(crate) extension: Option<Extension>,
    pub(crate) sheet_names: SheetNames,
    /// Whether the tree has Python frames whatever the analysis needs.
    pub(crate) python_frames: bool,
    /// Writers with their destinations.
    pub(crate) outputs: Vec<Output>,
    /// Where the picture of the rooflines goes.
    pub(crate) roofline_svg: Option<PathBuf>,
    /// Where the picture of the steps goes.
    pub(crate) step_svg: Option<PathBuf>,
    pub(crate) print: Print,
    pub(crate) threads: Option<usize>,
    /// What was written before the report.
    pub(crate) written: Vec<PathBuf>,
    /// What the user asked for that cannot have an effect.
    pub(crate) notices: Vec<String>,
}

/// What goes to standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Print {
    Summary,
    Json,
    Nothing,
}

impl ReportRequest {
    /// Refuses destinations that cannot be written before any time is spent on the trace.
    pub(crate) fn new(arguments: &ReportArguments) -> Result<Self, Failure> {
        let trace = arguments.trace();
        let outputs = outputs(&trace, &arguments.output);
        for (writer, destination) in &outputs {
            check_destination(writer.name(), destination, &trace)?;
        }
        let roofline_svg = arguments.output.roofline_svg.clone();
        let step_svg = arguments.output.step_svg.clone();
        for destination in roofline_svg.iter().chain(&step_svg) {
            check_destination("svg", destination, &trace)?;
        }
        let phases = phases::options(&arguments.phases)?;
        let finds_steps = phases.is_some_and(|phases| phases.finds_steps());
        if step_svg.is_some() && !finds_steps {
            return Err(Failure::StepsNotLookedFor { option: "--step_svg" });
        }
        let print = match (arguments.output.tables.json, arguments.output.tables.quiet) {
            (true, _) => Print::Json,
            (false, true) => Print::Nothing,
            (false, false) => Print::Summary,
        };
        Ok(ReportRequest {
            trace,
            analysis: analysis_options(arguments)?,
            phases,
            extension: arguments.analysis.extension_file.as_deref().map(load_extension).transpose()?,
            sheet_names: arguments.output.sheet_names,
            python_frames: false,
            outputs,
            roofline_svg,
            step_svg,
            print,
            threads: arguments.reading.threads.map(Into::into),
            written: Vec::new(),
            notices: [without_effect(&arguments.analysis), phases::without_effect(&arguments.phases)]
                .concat(),
        })
    }
}

impl ReportRequest {
    /// Whether anything looks at Python frames: options that show or follow them, phases, which are told by frames of
    /// engines, and scripts, which may look at everything.
    pub(crate) fn needs_python_frames(&self) -> bool {
        self.python_frames
            || self.phases.is_some()
            || self.extension.is_some()
            || self.analysis.layout == ReportLayout::Inference
            || self.analysis.tree_options().python_frames
    }
}

fn load_extension(path: &Path) -> Result<Extension, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::Input { path: path.to_path_buf(), detail: error.to_string() })?;
    Ok(Extension::load(&path.to_string_lossy(), &text)?)
}

/// Options that do nothing for want of others.
fn without_effect(asked: &AnalysisArguments) -> Vec<String> {
    let mut notices = Vec::new();
    let defaults = AnalysisOptions::default();
    let of_short_kernels = [
        ("--topk_short_kernels", asked.topk_short_kernels.is_some()),
        (
            "--short_kernel_threshold_us",
            asked.short_kernel_threshold_us != defaults.short_kernel_threshold_us,
        ),
        (
            "--short_kernel_histogram_bins",
            asked.short_kernel_histogram_bins != defaults.short_kernel_histogram_bins,
        ),
    ];
    for (option, given) in of_short_kernels {
        if given && !asked.short_kernel_study {
            notices.push(format!("{option} has no effect without --short_kernel_study"));
        }
    }
    notices
}

/// What can be seen of a destination before it is written.
pub(crate) fn check_destination(writer: &str, destination: &Path, trace: &Path) -> Result<(), Failure> {
    let path = || destination.to_path_buf();
    let resolved = |path: &Path| std::fs::canonicalize(path).ok();
    if resolved(destination).is_some_and(|destination| Some(destination) == resolved(trace)) {
        return Err(Failure::OverwritesTrace { path: path() });
    }
    if writer == "csv" {
        let detail = "a file has this name; name a directory";
        let is_taken = destination.exists() && !destination.is_dir();
        return if is_taken { Err(Failure::Destination { path: path(), detail }) } else { Ok(()) };
    }
    if destination.is_dir() {
        return Err(Failure::Destination { path: path(), detail: "it is a directory; name a file in it" });
    }
    let parent = destination.parent().filter(|parent| !parent.as_os_str().is_empty());
    if parent.is_some_and(|parent| !parent.is_dir()) {
        let detail = "its directory does not exist; make it or choose another place";
        return Err(Failure::Destination { path: path(), detail });
    }
    Ok(())
}

pub(crate) fn link_rule(rule: reading::LinkBy) -> LinkBy {
    match rule {
        reading::LinkBy::Correlation => LinkBy::Correlation,
        reading::LinkBy::Flow => LinkBy::Flow,
    }
}

fn analysis_options(arguments: &ReportArguments) -> Result<AnalysisOptions, Failure> {
    let asked = &arguments.analysis;
    let defaults = AnalysisOptions::default();
    let communication = asked
        .communication_pattern
        .iter()
        .fold(defaults.communication, |patterns, pattern| patterns.with_pattern(pattern));
    Ok(AnalysisOptions {
        link_by: link_rule(arguments.reading.link_by),
        layout: ReportLayout::Standard,
        include_unlinked_kernels: asked.include_unlinked_kernels,
        micro_idle_threshold_us: asked.micro_idle_thresh_us,
        detect_recompute: asked.detect_recompute,
        include_call_stack: asked.include_call_stack,
        enable_pseudo_ops: asked.enable_pseudo_ops,
        include_overlap_info: asked.include_overlap_info,
        include_first_occurrence_time: asked.include_first_occurrence_time,
        group_by_num_kernels: asked.group_by_num_kernels,
        group_by_parent_module: false,
        kernel_summary: asked.enable_kernel_summary,
        short_kernel_study: asked.short_kernel_study,
        short_kernel_threshold_us: asked.short_kernel_threshold_us,
        short_kernel_histogram_bins: asked.short_kernel_histogram_bins,
        topk_short_kernels: asked.topk_short_kernels,
        topk_ops: asked.topk_ops,
        collective_analysis: !asked.disable_coll_analysis,
        topk_roofline_ops: asked.topk_roofline_ops,
        architecture: chosen(asked.gpu_arch_json_path.as_deref(), asked.gpu_arch_platform.as_deref())?,
        communication,
    })
}

/// The workbook goes beside the trace when nothing else is asked for.
fn outputs(trace: &Path, asked: &OutputArguments) -> Vec<Output> {
    let mut outputs = asked.tables.destinations();
    let has_picture = asked.roofline_svg.is_some() || asked.step_svg.is_some();
    if outputs.is_empty() && !has_picture && !asked.tables.json {
        outputs.push((&Workbook, default_workbook(trace)));
    }
    outputs
}

/// The trace's path up to its last `.json` or `.xplane.pb` (or without its compression's suffix) and `_perf_report.xlsx`.
pub(crate) fn default_workbook(trace: &Path) -> PathBuf {
    workbook_beside(trace, "_perf_report")
}

/// The same with another ending than `_perf_report`.
pub(crate) fn workbook_beside(trace: &Path, ending: &str) -> PathBuf {
    let name = trace.file_name().unwrap_or_default().to_string_lossy();
    let stem = match name.rfind(".json").or_else(|| name.rfind(".xplane.pb")) {
        Some(at) => &name[..at],
        None => [".gz", ".zst", ".zip"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(&name),
    };
    trace.with_file_name(format!("{stem}{ending}.xlsx"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workbook_is_named_after_the_trace() {
        for (trace, workbook) in [
            ("a.json", "a_perf_report.xlsx"),
            ("dir/a.pt.trace.json.gz", "dir/a.pt.trace_perf_report.xlsx"),
            ("a.json.json.gz", "a.json_perf_report.xlsx"),
            ("host.name.xplane.pb", "host.name_perf_report.xlsx"),
            ("host.xplane.pb.gz", "host_perf_report.xlsx"),
            ("trace.zip", "trace_perf_report.xlsx"),
            ("trace.zst", "trace_perf_report.xlsx"),
            ("trace", "trace_perf_report.xlsx"),
        ] {
            assert_eq!(default_workbook(Path::new(trace)), Path::new(workbook));
        }
    }
}
