//! All tables of a trace, and its first page.

use std::path::Path;
use std::sync::LazyLock;

use advise::{ADVICE, Advice, Limits};
use critical_path::{GraphReplays, graph_replays_sheet};
use inference_phase::sheets::{PhaseAnalysis, phase_sheets};
use nsys_perf::{NsysAnalysis, NsysFinding, NsysOptions, nsys_findings, nsys_sheets, nsys_stats_sheets};
use reference_tools::{Hta, hta_sheets};
use sheets::names::{GRAPH_REPLAYS, UNIFIED_PERF_SUMMARY};
use sheets::{Layout, Scope, Table};
use trace_doctor::{Diagnosis, SHEET_NAME, recording_sheet};
use trace_ingest::{IngestError, RecordingKind};
use trace2tree::TraceTree;
use tree_perf::{Analysis, ReportLayout, inference_sheets, pytorch_sheets};

use crate::diff::sheets_in_report;
use crate::error::Error;
use crate::parts::{Parts, Place, SheetNames};
use crate::report::{Run, tables, titled};
use crate::steps::stands_out;
use crate::summary::Summary;
use crate::{advice, trust};

/// What is known of a trace.
pub(crate) struct Examined<'a> {
    pub(crate) path: &'a Path,
    pub(crate) analysis: &'a Analysis,
    pub(crate) phases: Option<&'a PhaseAnalysis<'a>>,
    pub(crate) diagnosis: Option<&'a Diagnosis>,
    /// Sheets of this trace and another one.
    pub(crate) comparison_tables: Vec<Table>,
    pub(crate) nsys: &'a NsysOptions,
    pub(crate) hta: Option<&'a Hta<'a>>,
    pub(crate) names: SheetNames,
}

impl Examined<'_> {
    /// All sheets that the trace and the options give, the first page that `summary` makes, and what to change.
    pub(crate) fn tables(
        &self,
        title: &str,
        summary: impl Fn() -> Summary + Sync,
        threads: usize,
        run: &Run<'_>,
    ) -> Result<(report_writers::Report, Summary, Option<Advice>), Error> {
        let &Examined { analysis, phases: _, diagnosis, hta, names, .. } = self;
        let layout = names.layout(analysis.options().conventions.layout);
        let tells_all =
            names == SheetNames::Documented && analysis.options().conventions.scope == Scope::Full;
        let summary = LazyLock::new(&summary);
        let advice = LazyLock::new(|| {
            let advised = tells_all && !analysis.is_host_only();
            advised.then(|| advice::trace_advice(analysis, diagnosis, None, &Limits::default()))
        });
        let is_nsys = analysis.trace().facts().recorder.kind == Some(RecordingKind::Nsys);
        let nsys_analysis = is_nsys.then(|| NsysAnalysis::new(analysis.tree(), self.nsys.clone()));
        let names_of_nsys = is_nsys && self.nsys.nsys_names;

        let first_page_only = run.first_page_only;
        let mut parts = match first_page_only {
            true => {
                Parts::for_first_page(diagnosis.map_or_else(Vec::new, trust::sheets_that_may_be_left_out))
            }
            false => Parts::default(),
        };
        if !names_of_nsys {
            self.add_sheets(&mut parts, layout, threads);
            parts.know(hta_sheets().into_iter().map(|sheet| sheet.name.into_owned()));
            if let Some(hta) = hta {
                parts.add_sheets(Place::Reference, hta, hta_sheets(), (SheetNames::Documented, layout));
            }
        }
        parts.add_work(|| _ = LazyLock::force(&summary));
        parts.know((!names_of_nsys).then(|| ADVICE.to_owned()));
        parts.add(Place::Advice, || match &*advice {
            Some(advice) if !names_of_nsys && !first_page_only => Ok(advice::tables_of(advice, layout)?),
            _ => Ok(Vec::new()),
        });
        if let Some(nsys) = &nsys_analysis {
            let (sheets, layout) = match names_of_nsys {
                true => (nsys_stats_sheets(), Layout::Listed),
                false => (nsys_sheets(), layout),
            };
            parts.add_sheets(Place::Recorder, nsys, sheets, (SheetNames::Documented, layout));
        }
        parts.add(Place::Comparison, || Ok(self.comparison_tables.clone()));
        parts.know(sheets_in_report::<&TraceTree>().into_iter().map(|sheet| sheet.name.into_owned()));
        parts.add_sheets(
            Place::Extension,
            analysis,
            analysis.extension_sheets(),
            (SheetNames::Documented, layout),
        );
        parts.know(phase_sheets().into_iter().map(|sheet| sheet.name.into_owned()));
        parts.know([GRAPH_REPLAYS, SHEET_NAME].map(ToOwned::to_owned));

        let reading = run.reading;
        let (mut all, mut known) = parts.make(threads, || match reading.is_stopped() {
            true => Err(IngestError::Stopped { path: self.path.to_path_buf() }.into()),
            false => Ok(()),
        })?;
        let taken = all.iter().map(Table::name).chain(known.iter().map(String::as_str));
        let extension_tables = analysis.extension_tables(taken)?;
        known.extend(extension_tables.iter().map(|table| table.name().to_owned()));
        all.extend(extension_tables);
        let mut left_out = Vec::new();
        if let Some(diagnosis) = diagnosis {
            if !is_nsys {
                let replays = GraphReplays::new(analysis.tree());
                all.extend(tables(&replays, vec![graph_replays_sheet()], layout)?.0);
            }
            trust::mark(&mut all, diagnosis);
            left_out = trust::left_out(&all, diagnosis);
            all.extend(tables(diagnosis, vec![recording_sheet()], layout)?.0);
        }
        let advice = LazyLock::force(&advice).clone();
        let findings = advice::first_of(advice.as_ref());
        let mut summary = Summary { left_out, findings, ..LazyLock::force(&summary).clone() };
        if let Some(nsys) = &nsys_analysis {
            let gap = analysis.gap_finding().map(|finding| finding.to_string());
            let longest =
                analysis.longest_iteration().filter(|longest| stands_out(analysis, longest.wall_us));
            let longest = longest.map(|longest| longest.to_string());
            summary.statements.extend(gap.into_iter().chain(longest));
            // The doctor tells of lost graph replays, too.
            let is_told = |finding: &NsysFinding| {
                matches!(finding, NsysFinding::LostGraphs { .. })
                    && diagnosis.is_some_and(Diagnosis::reports_lost_replays)
            };
            let findings = nsys_findings(nsys).into_iter().filter(|finding| !is_told(finding));
            summary.statements.extend(findings.map(|finding| finding.to_string()));
        }
        Ok((titled(title, (all, known), run)?, summary, advice))
    }

    /// Adds the sheets of every trace, with those of its phases behind the last summary of operators.
    fn add_sheets<'p>(&'p self, parts: &mut Parts<'p>, layout: Layout, threads: usize) {
        let analysis = self.analysis;
        if threads > 1 {
            Analysis::SHARED_WORK.iter().for_each(|work| parts.add_work(move || work(analysis)));
        }
        let mut sheets = match analysis.options().layout {
            ReportLayout::Standard => pytorch_sheets(),
            ReportLayout::Inference => inference_sheets(),
        };
        let summaries = sheets.iter().rposition(|sheet| sheet.name.starts_with(UNIFIED_PERF_SUMMARY));
        let further = sheets.split_off(summaries.map_or(0, |last| last + 1));
        parts.add_sheets(Place::Sheets, analysis, sheets, (self.names, layout));
        if let Some(phases) = self.phases {
            parts.add_sheets(Place::Phases, phases, phase_sheets(), (SheetNames::Documented, layout));
        }
        parts.add_sheets(Place::FurtherSheets, analysis, further, (self.names, layout));
    }
}
