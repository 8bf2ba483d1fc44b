//! A report as a `report_writers::page`: its first page, pictures of where the time goes, and its tables.

mod device_work;
mod kinds;
mod recorders;
mod runs;

use advise::{Advice, Finding};
use gpu_timeline::Summary as Statistics;
use miette::{Diagnostic, Severity};
use operator_sheets::{Iterated, Roof, Rooflines};
use report_writers::page::{
    Ceilings, Evidence, Page, PageFigure, PageFinding, PagePoint, PageRoofline, PageWarning, PointRates,
    Saving, StackedBar, StackedBars, WarningSeverity,
};

use crate::diagnostic::in_one_line;
use crate::notice::Notice;
use crate::numbers::{decimal, duration, grouped};
use crate::report::{Analysed, Report};
use crate::steps::{steady_durations, sure_steps};
use crate::summary::{Summary, Timeline};

/// The page of a report made with these options. Parts that the recorder did not record are left out.
#[must_use]
pub fn page(report: &Report, options: &[String]) -> Page {
    let summary = &report.summary;
    let mut page = Page {
        title: report.tables.title().to_owned(),
        head: summary.head.clone(),
        statements: summary.statements.iter().chain(&summary.program).cloned().collect(),
        warnings: warnings(report),
        figures: figures(summary),
        findings: report.advice.as_ref().map(|advice| findings(advice, &report.tables)).unwrap_or_default(),
        made_by: made_by(report, options),
        ..Page::default()
    };
    match &report.analysis {
        Analysed::Trace(analysis, _) => {
            recorders::trace(analysis, &mut page);
            page.communication = runs::communication_of_rank(&report.tables);
            page.rooflines = rooflines(&**analysis);
            page.figures.extend(step_figure(&**analysis));
        }
        Analysed::Xla(profiles) => {
            if let [analysis] = profiles.as_slice() {
                recorders::xla(analysis, &mut page);
                page.rooflines = rooflines(analysis);
                page.figures.extend(step_figure(analysis));
            }
        }
        Analysed::Rocprof(analysis, _) => {
            recorders::rocprof(analysis, &mut page);
            page.figures.extend(step_figure(&**analysis));
        }
        Analysed::Tenstorrent(analysis, comparison) => {
            recorders::tenstorrent(analysis, &mut page);
            page.waterfall = comparison.as_ref().and_then(runs::waterfall_of);
        }
        Analysed::Job(_) => {
            page.bars.extend(runs::bars_of_ranks(&report.tables));
            page.communication = runs::communication_of_job(&report.tables);
        }
        Analysed::Comparisons(comparisons) => {
            page.waterfall = comparisons.first().and_then(runs::waterfall_of);
            page.rooflines.extend(comparisons.first().and_then(runs::rates_of));
        }
        Analysed::Trees(diff) => runs::trees(diff, &mut page),
        Analysed::CriticalPath(_) => {}
    }
    if page.bars.is_empty() {
        page.bars.extend(bars_of_timelines(&summary.timelines));
    }
    page.kinds = kinds::kinds(&page, report);
    page
}

/// The notices, and sheets left out.
fn warnings(report: &Report) -> Vec<PageWarning> {
    let prints =
        |notice: &&Notice| matches!(notice, Notice::Analysis(tree_perf::Notice::ExtensionSays { .. }));
    let notice_warning = |notice: &Notice| PageWarning {
        severity: match notice.severity() {
            Some(Severity::Error) => WarningSeverity::Error,
            Some(Severity::Advice) => WarningSeverity::Information,
            Some(Severity::Warning) | None => WarningSeverity::Warning,
        },
        text: in_one_line(notice),
    };
    let notices = report.notices.iter().filter(|notice| !prints(notice)).map(notice_warning);
    let left_out = report.summary.left_out.iter().map(|left_out| PageWarning {
        severity: WarningSeverity::Information,
        text: format!("Not in this report: {}. {}", left_out.sheets.join(", "), left_out.why()),
    });
    notices.chain(left_out).collect()
}

/// How the report was made.
fn made_by(report: &Report, options: &[String]) -> Vec<(String, String)> {
    let mut rows = vec![("made by".to_owned(), concat!("tracelens ", env!("CARGO_PKG_VERSION")).to_owned())];
    let given = if options.is_empty() { "defaults".to_owned() } else { options.join(" ") };
    rows.push(("options".to_owned(), given));
    rows.extend(report.summary.recorder.iter().map(|(item, value)| ((*item).to_owned(), value.clone())));
    rows.extend(
        report
            .summary
            .architecture
            .iter()
            .map(|architecture| ("rooflines for".to_owned(), architecture.clone())),
    );
    rows
}

/// The headline figures, of the first device.
fn figures(summary: &Summary) -> Vec<PageFigure> {
    let figure = |name: &str, value: String, note: &str| PageFigure {
        name: name.to_owned(),
        value,
        note: note.to_owned(),
    };
    let mut figures = Vec::new();
    if let Some(timeline) = summary.timelines.first() {
        let Timeline { breakdown, device, .. } = timeline;
        let percent = |part: i64| format!("{}%", decimal(breakdown.percent_of_total(part), 1));
        let note = format!("{device}, {}", timeline.window_bounds());
        figures.push(figure("window", duration(timeline.total_us), &note));
        figures.push(figure("busy", percent(breakdown.busy), &duration(timeline.busy_us)));
        figures.push(figure("idle", percent(breakdown.idle), &duration(timeline.idle_us)));
        if breakdown.unrecorded > 0 {
            figures.push(figure(
                "not recorded",
                percent(breakdown.unrecorded),
                "the device may have been busy",
            ));
        }
        let exposed = breakdown.exposed_communication + breakdown.exposed_memcpy;
        figures.push(figure(
            "exposed communication and copies",
            percent(exposed),
            "of the time, not hidden by computation",
        ));
    }
    if let Some(coverage) = &summary.coverage
        && let Some(near) = coverage.near_percent.filter(|_| summary.tells_rooflines())
    {
        let note = format!(
            "of the time with a roofline; performance models cover {}% of device time",
            decimal(coverage.modelled_percent, 1)
        );
        figures.push(figure("above half of the roofline", format!("{}%", decimal(near, 1)), &note));
    }
    figures
}

/// Median step time, where there are several steps.
fn step_figure(analysis: &impl Iterated) -> Option<PageFigure> {
    let (level, measured) = sure_steps(analysis)?;
    let times = steady_durations(level, measured);
    let statistics = Statistics::from_values(&times).filter(|_| times.len() > 1)?;
    Some(PageFigure {
        name: level.kind.to_string(),
        value: duration(analysis.ms(statistics.median) * 1e3),
        note: format!("median of {} steady iterations", grouped(times.len() as u128)),
    })
}

fn rooflines(analysis: &impl Rooflines) -> Vec<PageRoofline> {
    let point = |point: &operator_sheets::RooflinePoint| PagePoint {
        name: point.name.clone(),
        category: point.category.as_str().to_owned(),
        dims: point.dims.as_ref().map(ToString::to_string).unwrap_or_default(),
        calls: point.calls,
        rates: PointRates {
            bytes: point.bytes,
            tflops: point.tflops,
            tb_per_s: point.tflops / point.intensity,
            time_us: point.kernel_time_us,
        },
        before: None,
    };
    let roof = |roof: &Roof| PageRoofline {
        title: roof.spec.to_string(),
        ceilings: Some(Ceilings {
            peak_tflops: roof.peak_tflops,
            bandwidth_gb_per_s: roof.bandwidth_gb_per_s,
        }),
        points: roof.points.iter().map(point).collect(),
    };
    analysis.roofs().iter().map(roof).collect()
}

/// A bar per device, where only its busy time is known.
fn bars_of_timelines(timelines: &[Timeline]) -> Option<StackedBars> {
    let bar = |timeline: &Timeline| {
        let whole = &timeline.breakdown;
        // The unit of a breakdown is that of its recording; ends are rounded, so that parts add up.
        let per_nanosecond = match timeline.total_us > 0.0 {
            true => (whole.total as f64 / timeline.total_us / 1e3).round() as i64,
            false => 1,
        };
        let parts = [whole.computation, whole.exposed_communication, whole.exposed_memcpy, whole.idle];
        StackedBar::new(timeline.device.clone(), parts.into_iter().enumerate(), per_nanosecond)
    };
    (!timelines.is_empty()).then(|| StackedBars {
        title: if timelines.len() > 1 { "per device" } else { "whole recording" }.to_owned(),
        note: device_work::EXPOSED.to_owned(),
        parts: ["computation", device_work::COMMUNICATION, device_work::COPIES, device_work::IDLE]
            .map(ToOwned::to_owned)
            .to_vec(),
        bars: timelines.iter().map(bar).collect(),
        left_out: 0,
    })
}

/// The findings of an advice as the page has them, with rows of tables that the report has.
fn findings(advice: &Advice, tables: &report_writers::Report) -> Vec<PageFinding> {
    let has = |name: &str| tables.tables().iter().any(|table| table.name() == name);
    let finding = |finding: &Finding| PageFinding {
        rule: finding.rule.clone(),
        rank: finding.rank,
        title: finding.what.clone(),
        location: finding.subject.clone(),
        call_site: finding.call_site.clone().or_else(|| finding.module.clone()).unwrap_or_default(),
        saving: finding.gain.zip(finding.amount_us.zip(finding.amount_percent)).map(
            |(gain, (amount_us, amount_pct))| Saving {
                amount_us,
                amount_pct,
                low_us: gain.low_us,
                mid_us: gain.mid_us,
                high_us: gain.high_us,
            },
        ),
        confidence: finding.confidence.as_str().to_owned(),
        remedy: finding.remedy.clone(),
        reasons: finding.evidence.clone(),
        evidence: finding
            .rows
            .iter()
            .filter(|row| has(&row.table))
            .map(|row| Evidence { table: row.table.clone(), row: row.key.1.clone(), text: String::new() })
            .collect(),
        alternatives: finding
            .alternatives
            .iter()
            .map(|other| format!("{} ({}): {}", other.rule, duration(other.mid_us), other.what))
            .collect(),
        doubts: finding.doubts.iter().map(|doubt| format!("{} ({})", doubt.text, doubt.rule)).collect(),
    };
    advice.findings.iter().map(finding).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::any_recording::AnyReporter;
    use crate::report::{Reporter, Run};

    #[test]
    fn bars_say_what_the_first_page_says() {
        let trace =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/generated/cuda_training_step.json.gz");
        let report = AnyReporter::default().report(&[trace], &mut Run::default()).unwrap();
        let page = page(&report, &[]);
        let breakdown = report.summary.timelines[0].breakdown;
        let whole = &page.bars[0];
        let time = |name: &str| {
            let place = whole.parts.iter().position(|part| part == name);
            let times = &whole.bars[0].times;
            times.iter().find(|(part, _)| Some(*part) == place).map_or(0, |&(_, time)| time)
        };
        assert_eq!(time(device_work::COMMUNICATION), breakdown.exposed_communication);
        assert_eq!(time(device_work::COPIES), breakdown.exposed_memcpy);
        assert_eq!(time(device_work::IDLE), breakdown.idle);
        assert_eq!(whole.bars[0].total_ns, breakdown.total);
        assert!(!page.findings.is_empty());
    }
}
