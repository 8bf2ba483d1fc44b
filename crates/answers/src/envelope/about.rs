//! What an answer says of a report.

use report_writers::JsonTable;
use trace_doctor::Diagnosis;
use trace_ingest::{Accelerator, Category, RecorderFacts, RecordingKind, Trace};
use tree_perf::Analysis;

use super::{Answer, AnswerFinding, CannotAnswer, ClockTrust, Input, Losses, Row, Status, Trust};
use crate::report::{Analysed, Report};
use crate::steps::step_count;
use crate::{rocprof, tenstorrent, xla};

impl<'a> Answer<'a> {
    /// What there is to know of a report, without its tables.
    #[must_use]
    pub fn about(self, report: &Report) -> Self {
        let mut answer = self.with_notices(&report.notices);
        if let Some(advice) = &report.advice {
            answer.findings = advice.findings.iter().map(AnswerFinding::from).collect();
            let has = |row: &Row| report.tables.tables().iter().any(|table| table.name() == row.table);
            answer.findings.iter_mut().for_each(|finding| finding.evidence.retain(has));
        }
        let inputs = answer.inputs.iter_mut();
        answer.trust = match &report.analysis {
            Analysed::Trace(analysis, diagnosis) => {
                inputs.take(1).for_each(|input| input.tell(analysis.trace()));
                Some(Trust::from_trace(analysis, diagnosis.as_ref()))
            }
            Analysed::Xla(hosts) => {
                inputs.zip(hosts).for_each(|(input, host)| input.tell(host.trace()));
                Some(xla::trust(hosts))
            }
            Analysed::Rocprof(analysis, diagnosis) => {
                inputs.take(1).for_each(|input| rocprof::tell(input, analysis.profile()));
                Some(rocprof::trust(analysis, diagnosis.as_ref()))
            }
            Analysed::Tenstorrent(analysis, _) => {
                let table = &analysis.table;
                inputs.zip(&table.files).for_each(|(input, file)| tenstorrent::tell(input, table, file));
                Some(tenstorrent::trust(analysis))
            }
            _ => None,
        };
        if let (Some(trust), Some(coverage)) = (&mut answer.trust, &report.summary.coverage) {
            trust.modelled_pct_of_time = Some(coverage.modelled_percent);
        }
        answer.cannot_answer = report.summary.left_out.iter().map(CannotAnswer::from).collect();
        if answer.trust.as_ref().is_some_and(|trust| trust.truncated) || !answer.cannot_answer.is_empty() {
            answer.status = Status::Partial;
        }
        answer
    }

    /// The whole of a report: its first page as the result, and all its tables.
    #[must_use]
    pub fn with_report(self, report: &'a Report) -> Self {
        let mut answer = self.about(report);
        answer.result = report.summary.to_json();
        answer.tables = report.tables.tables().iter().map(JsonTable::whole).collect();
        answer
    }
}

impl Input {
    fn tell(&mut self, trace: &Trace) {
        let (facts, events) = (trace.facts(), trace.events());
        let named = facts.devices.iter().filter_map(|device| device.name.clone());
        self.devices = named.collect();
        self.recorder = facts.recorder_version.clone();
        if let Some(job) = &facts.distributed {
            (self.rank, self.world_size) = (job.rank, job.world_size);
        }
        self.events = Some(u64::from(trace.entries()));
        let first = events.ids().map(|event| events.start(event)).min();
        let last = events.ids().map(|event| events.end(event)).max();
        let per_ns = trace.time_unit().per_microsecond() / 1000;
        self.span_ns = first.zip(last).map(|(first, last)| (last - first) / per_ns.max(1));
    }
}

impl Trust {
    fn from_trace(analysis: &Analysis, diagnosis: Option<&Diagnosis>) -> Self {
        let (trace, coverage) = (analysis.trace(), analysis.coverage());
        let RecorderFacts { launches, all_launches, shapes, python_frames, .. } = trace.facts().recorder;
        let all = coverage.linked_time_us + coverage.unlinked_time_us;
        let linked = (launches && all > 0.0).then(|| 100.0 * coverage.linked_time_us / all);
        let tells_all = all_launches && trace.facts().accelerator.is_none_or(Accelerator::links_all_work);
        let read = Trust::new(analysis.device_event_count(), Losses::of(trace.warnings()));
        let events = trace.events();
        let has_shapes =
            || events.ids().any(|event| trace.argument(event, |signature| signature.dims).is_some());
        let has_frames = || {
            trace.skipped_frames() > 0
                || events.ids().any(|event| events.category(event) == Category::PYTHON_FUNCTION)
        };
        let read = match tells_all {
            true => read.with_all_launches(linked),
            false => Trust { linked_pct_of_time: linked, ..read },
        };
        let has_error = diagnosis.and_then(Diagnosis::worst) == Some(trace_doctor::Severity::Error);
        // The rules about other recorders than PyTorch's are of device work alone, on which all figures rest.
        let is_machine_wide = trace.facts().recorder.kind.is_some_and(RecordingKind::is_machine_wide);
        let is_doubtful = diagnosis.is_some_and(|diagnosis| match is_machine_wide {
            true => diagnosis.doubts().is_some(),
            false => diagnosis.doubts_device_time(),
        });
        let lacks_work = analysis.tree().unrecorded().lacks_work();
        let read = read.with_doubts(has_error || is_doubtful || lacks_work);
        Trust {
            shapes: shapes.then(has_shapes),
            stacks: python_frames.then(has_frames),
            steps: step_count(analysis),
            clock: diagnosis.and_then(ClockTrust::of),
            ..read
        }
    }
}

impl ClockTrust {
    /// What the rules say of the clocks; `None` where none of them could run.
    fn of(diagnosis: &Diagnosis) -> Option<Self> {
        diagnosis.has_examined_clocks().then(|| match diagnosis.worst_about_clocks() {
            Some(trace_doctor::Severity::Error) => ClockTrust::Wrong,
            Some(_) => ClockTrust::Doubtful,
            None => ClockTrust::Sound,
        })
    }
}
