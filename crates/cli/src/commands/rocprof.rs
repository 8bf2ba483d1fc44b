//! `tracelens rocprof`.

use std::path::{Path, PathBuf};

use report_writers::Workbook;
use rocprof_perf::{
    HipGrouping, KernelBaseline, KernelGrouping, PftraceOptions, RocprofAnalysis, RocprofOptions,
};
use trace_ingest::ReadOptions;
use trace_ingest::rocprof::{KernelNames, Profile, read_profile};

use crate::arguments::rocprof as asked;
use crate::arguments::rocprof::{PftraceArguments, RocprofAnalysisArguments, RocprofArguments};
use crate::console;
use crate::error::Failure;
use crate::notes::Notes;
use crate::progress::ReadingProgress;
use crate::report_files::{end_with, show, write_tables};
use crate::report_request::check_destination;
use crate::rocprof_summary;
use crate::tables;
use crate::timings::{Stage, Timings};

pub(crate) fn run(arguments: &RocprofArguments, timings: &mut Timings) -> Result<(), Failure> {
    let path = arguments.path();
    let output = &arguments.output;
    let mut outputs = output.destinations();
    if outputs.is_empty() && !output.json {
        outputs.push((&Workbook, default_workbook(&path)));
    }
    for (writer, destination) in &outputs {
        check_destination(writer.name(), destination, &path)?;
    }
    timings.begin(Stage::Read);
    let profile = read(&path, output.quiet)?;
    timings.count_events(records(&profile));
    timings.begin(Stage::Analysis);
    let analysis = RocprofAnalysis::new(profile, options(arguments));
    timings.begin(Stage::Sheets);
    let report = tables::rocprof_report(&analysis, &title(&path))?;
    let mut notes = Notes::of_warnings(rocprof_summary::warnings(&analysis));
    notes.warnings.extend(without_effect(&arguments.analysis));
    timings.begin(Stage::Write);
    // What can be written is written and shown even if something else cannot.
    let pending = write_tables(&report, &outputs, &mut notes);
    timings.begin(Stage::Terminal);
    show(output, &report, &notes, || rocprof_summary::text(&analysis, &report, &notes, console::style()))?;
    timings.end();
    end_with(pending)
}

/// Everything that happened, of whatever kind.
fn records(profile: &Profile) -> usize {
    let Profile { dispatches, copies, calls, allocations, scratch, counter_values, samples, .. } = profile;
    let of_memory = copies.len() + allocations.len() + scratch.len();
    dispatches.len() + calls.len() + of_memory + counter_values.len() + samples.len()
}

fn read(path: &Path, quiet: bool) -> Result<Profile, Failure> {
    let progress = ReadingProgress::new(quiet);
    let update = |state| progress.update(state);
    let options = ReadOptions { threads: None, progress: Some(&update), ..ReadOptions::default() };
    Ok(read_profile(path, &options)?)
}

fn options(arguments: &RocprofArguments) -> RocprofOptions {
    let analysis = &arguments.analysis;
    let names = analysis.kernel_names.map(|names| match names {
        asked::KernelNames::Truncated => KernelNames::Truncated,
        asked::KernelNames::Formatted => KernelNames::Formatted,
        asked::KernelNames::Demangled => KernelNames::Demangled,
        asked::KernelNames::Mangled => KernelNames::Mangled,
    });
    let pftrace = &arguments.pftrace;
    RocprofOptions {
        disable_kernel_summary: analysis.disable_kernel_summary,
        kernel_details: analysis.kernel_details,
        short_kernel_study: analysis.short_kernel_study,
        short_kernel_threshold_us: analysis.short_kernel_threshold_us,
        short_kernel_histogram_bins: analysis.short_kernel_histogram_bins,
        topk_kernels: analysis.topk_kernels,
        kernel_names: names.unwrap_or_default(),
        parity: analysis.parity,
        pftrace: pftrace.pftrace_tables.then(|| pftrace_options(pftrace, names)),
    }
}

fn pftrace_options(asked: &PftraceArguments, names: Option<KernelNames>) -> PftraceOptions {
    let defaults = PftraceOptions::default();
    PftraceOptions {
        kernel_names: names.or(defaults.kernel_names),
        merge_kernels: asked.merge_kernels,
        min_tid: asked.min_tid.unwrap_or(defaults.min_tid),
        max_tid: asked.max_tid.unwrap_or(defaults.max_tid),
        min_event_ns: asked.min_event_ns.unwrap_or(defaults.min_event_ns),
        no_kernel_summary: asked.no_kernel_summary,
        kernel_summary_include_rccl: asked.kernel_summary_include_rccl,
        kernel_summary_baseline: match asked.kernel_summary_baseline {
            Some(asked::KernelSummaryBaseline::Total) => KernelBaseline::Total,
            Some(asked::KernelSummaryBaseline::Compute) => KernelBaseline::Compute,
            None => defaults.kernel_summary_baseline,
        },
        kernel_summary_group: match asked.kernel_summary_group {
            Some(asked::KernelSummaryGroup::Config) => KernelGrouping::Config,
            Some(asked::KernelSummaryGroup::Name) => KernelGrouping::Name,
            None => defaults.kernel_summary_group,
        },
        no_hip_summary: asked.no_hip_summary,
        hip_summary_group: match asked.hip_summary_group {
            Some(asked::HipSummaryGroup::Name) => HipGrouping::Name,
            Some(asked::HipSummaryGroup::NameStream) => HipGrouping::NameStream,
            Some(asked::HipSummaryGroup::NameOp) => HipGrouping::NameOp,
            Some(asked::HipSummaryGroup::NameStreamOp) => HipGrouping::NameStreamOp,
            None => defaults.hip_summary_group,
        },
        top_xla: asked.top_xla.unwrap_or(defaults.top_xla),
        exclude_kernel_pattern: match &asked.exclude_kernel_regex {
            Some(excluded) => excluded.0.clone(),
            None => defaults.exclude_kernel_pattern,
        },
        allow_multi_kernel_per_api: asked.allow_multi_kernel_per_api,
        include_nonlaunch_apis: asked.include_nonlaunch_apis,
    }
}

/// Options that do nothing for want of others.
fn without_effect(asked: &RocprofAnalysisArguments) -> Vec<String> {
    let defaults = RocprofOptions::default();
    let (threshold, bins) = (asked.short_kernel_threshold_us, asked.short_kernel_histogram_bins);
    let without = |needed: &'static str, has: bool, options: &[(&'static str, bool)]| {
        let given = options.iter().filter(|(_, given)| *given && !has);
        given.map(|(option, _)| format!("{option} has no effect without {needed}")).collect::<Vec<_>>()
    };
    let of_details = [("--topk_kernels", asked.topk_kernels.is_some())];
    let of_short_kernels = [
        ("--short_kernel_threshold_us", threshold != defaults.short_kernel_threshold_us),
        ("--short_kernel_histogram_bins", bins != defaults.short_kernel_histogram_bins),
    ];
    [
        without("--kernel_details", asked.kernel_details, &of_details),
        without("--short_kernel_study", asked.short_kernel_study, &of_short_kernels),
    ]
    .concat()
}

/// Where the workbook goes when nothing else is asked for. Of JSON the rule is the reference tool's: a name that ends
/// in `_results.json` loses that, any other what begins at its last `.json`. Of a directory it goes into it.
fn default_workbook(profile: &Path) -> PathBuf {
    const ENDING: &str = "_perf_report.xlsx";
    if profile.is_dir() {
        return profile.join(ENDING.trim_start_matches('_'));
    }
    let name = profile.file_name().unwrap_or_default().to_string_lossy();
    if name.ends_with("_results.json") {
        return profile.with_file_name(name.replace("_results.json", ENDING));
    }
    if let Some(at) = name.rfind(".json") {
        return profile.with_file_name(format!("{}{ENDING}", &name[..at]));
    }
    let plain = [".gz", ".zst", ".zip"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(&name);
    let stem =
        [".db", ".pftrace", ".csv"].iter().find_map(|suffix| plain.strip_suffix(suffix)).unwrap_or(plain);
    let stem =
        ["_results", "_kernel_trace"].iter().find_map(|ending| stem.strip_suffix(ending)).unwrap_or(stem);
    profile.with_file_name(format!("{stem}{ENDING}"))
}

/// What the report is called: the name of the file or directory.
fn title(profile: &Path) -> String {
    match profile.file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        // `.` and the like.
        None => std::fs::canonicalize(profile)
            .ok()
            .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
            .unwrap_or_else(|| profile.display().to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workbook_is_named_after_the_profile() {
        for (profile, workbook) in [
            ("908_results.json", "908_perf_report.xlsx"),
            ("908_results.json.gz", "908_results_perf_report.xlsx"),
            ("dir/a_results.json_results.json", "dir/a_perf_report.xlsx_perf_report.xlsx"),
            ("a_results.json.d/run.json", "a_results.json.d/run_perf_report.xlsx"),
            ("run.json.zst", "run_perf_report.xlsx"),
            ("908_results.db", "908_perf_report.xlsx"),
            ("908_results.pftrace", "908_perf_report.xlsx"),
            ("dir/908_results.pftrace.gz", "dir/908_perf_report.xlsx"),
            ("908_kernel_trace.csv", "908_perf_report.xlsx"),
            ("profile", "profile_perf_report.xlsx"),
        ] {
            assert_eq!(default_workbook(Path::new(profile)), Path::new(workbook), "{profile}");
        }
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(default_workbook(directory.path()), directory.path().join("perf_report.xlsx"));
    }
}
