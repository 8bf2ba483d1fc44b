//! The first page of a report.

use advise::Finding;
use gpu_timeline::Breakdown;
use operator_sheets::{BestRates, RooflineShares, Rooflines};
use perf_models::Architecture;
use serde_json::{Value, json};
use tree_perf::{KernelTotal, SanityCheck};

/// The first page of a report; the tables with an [`excerpt`](sheets::Table::excerpt) belong to it too.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// What was recorded: the name, the devices, how much of what.
    pub head: Vec<String>,
    /// What is known of the recorder, such as versions, by item.
    pub recorder: Vec<(&'static str, String)>,
    /// What bounds the work, and what else there is to know, a sentence each.
    pub statements: Vec<String>,
    /// How many of these stand at the head of a page: the window, and what bounds the work.
    pub headlines: usize,
    /// How busy the devices were.
    pub timelines: Vec<Timeline>,
    /// How many devices have their timeline in the tables only, and in which.
    pub more_timelines: Option<(usize, &'static str)>,
    /// What the program did, a sentence each.
    pub program: Vec<String>,
    /// The tables of operators held against the device's work, where that was checked.
    pub check: Option<SanityCheck>,
    /// The kernels with the most time, where no table has them.
    pub kernels: Vec<KernelTotal>,
    /// How much of the device time the models know, and what of it is lost.
    pub coverage: Option<RooflineShares>,
    /// What the work is held against, and what its peaks are, where the device is known: `H100-SXM (nominal peaks)`.
    pub architecture: Option<String>,
    /// What to change first: the first findings of the advice.
    pub findings: Vec<Finding>,
    /// Sheets that are missing for what is wrong with the recording, and why.
    pub left_out: Vec<LeftOut>,
    /// The highest rates of the recording, which stand in for peaks where the device is not known.
    pub best_rates: Option<BestRates>,
}

impl Summary {
    /// Puts the analyzed window first, if there is one.
    pub(crate) fn begin_with(&mut self, window: Option<String>) {
        self.headlines += usize::from(window.is_some());
        self.statements.splice(0..0, window);
    }

    /// Says right behind the headlines why figures are in doubt, where they are.
    pub(crate) fn doubt(&mut self, doubts: Option<String>) {
        let at = self.headlines.min(self.statements.len());
        self.statements.splice(at..at, doubts);
    }

    /// The first page as figures.
    pub(crate) fn to_json(&self) -> Value {
        let devices = self.timelines.iter().map(Timeline::to_json);
        let coverage = self.coverage.as_ref().map(|coverage| {
            json!({
                "modelled_pct": coverage.modelled_percent,
                "rest_pct": named(coverage.rest.iter().map(|(name, percent)| (*name, *percent))),
                "near_roofline_pct": coverage.near_percent,
                "lost_us": named(coverage.losses.iter().map(|(name, us)| (name.as_str(), *us))),
            })
        });
        json!({
            "head": self.head,
            "recorder": self.recorder.iter().map(|(item, value)| json!({"item": item, "value": value})).collect::<Vec<_>>(),
            "statements": self.statements,
            "devices": devices.collect::<Vec<_>>(),
            "program": self.program,
            "architecture": self.architecture,
            "coverage": coverage,
        })
    }

    /// Whether a line about rooflines says something of the program: calls with FLOPs and bytes take at least a fifth of the
    /// device time, and a twentieth of the devices' windows.
    #[must_use]
    pub fn tells_rooflines(&self) -> bool {
        const LEAST_OF_DEVICE_TIME: f64 = 20.0;
        const LEAST_OF_WINDOW: f64 = 5.0;
        let covered = self.coverage.as_ref().map_or(0.0, |coverage| coverage.modelled_percent);
        let sum = |of: fn(&Timeline) -> f64| self.timelines.iter().map(of).sum::<f64>();
        let (busy, total) = (sum(|timeline| timeline.busy_us), sum(|timeline| timeline.total_us));
        let window_share = if total > 0.0 { covered * busy / total } else { covered };
        covered >= LEAST_OF_DEVICE_TIME && window_share >= LEAST_OF_WINDOW
    }

    /// Timelines that a first page has room for.
    pub(crate) const MOST_TIMELINES: usize = 4;

    pub(crate) fn more_timelines(devices: usize, sheet: &'static str) -> Option<(usize, &'static str)> {
        devices.checked_sub(Self::MOST_TIMELINES).filter(|&more| more > 0).map(|more| (more, sheet))
    }

    /// An architecture with what its peaks are.
    pub(crate) fn architecture(architecture: &Architecture) -> String {
        format!("{} ({})", architecture.name, architecture.peaks_in_words())
    }

    pub(crate) fn best_rates(
        analysis: &impl Rooflines,
        architecture: Option<&Architecture>,
    ) -> Option<BestRates> {
        if architecture.is_some() { None } else { BestRates::new(analysis) }
    }
}

/// Sheets that a report would have of a better recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Their names.
    pub sheets: Vec<&'static str>,
    /// The rule of `doctor` that found it.
    pub rule: &'static str,
    /// What the recording lacks.
    pub lacks: String,
    /// What to do about it.
    pub remedy: &'static str,
}

impl LeftOut {
    /// What the recording lacks, by which rule, and what to do about it.
    pub(crate) fn why(&self) -> String {
        format!("{} ({}). {}", self.lacks, self.rule, self.remedy)
    }
}

/// What the window of a timeline is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimelineWindow {
    /// From the device's first event to the end of its last.
    Device,
    /// From the first to the last event of several devices of one process.
    Process,
    /// The operations and the gaps between them, added up.
    Operations,
}

impl TimelineWindow {
    /// The window of a device, which it may share with the others of its process.
    #[must_use]
    pub fn for_device(shares_window: bool) -> Self {
        if shares_window { Self::Process } else { Self::Device }
    }
}

/// What a device did in its window.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// The device, as its recorder names it.
    pub device: String,
    /// The window in µs.
    pub total_us: f64,
    /// What the window is.
    pub window: TimelineWindow,
    /// Time with at least one event in µs.
    pub busy_us: f64,
    /// Time without any event in which it did nothing, in µs.
    pub idle_us: f64,
    /// The whole in parts that add up to it.
    pub breakdown: Breakdown,
}

fn named<'n>(figures: impl Iterator<Item = (&'n str, f64)>) -> Vec<Value> {
    figures.map(|(name, value)| json!({"name": name, "value": value})).collect()
}

impl Timeline {
    /// From when to when its window is.
    #[must_use]
    pub fn window_bounds(&self) -> &'static str {
        match self.window {
            TimelineWindow::Device => "first start to last end",
            TimelineWindow::Process => "first start to last end on any device of its process",
            TimelineWindow::Operations => "operations and the gaps between them",
        }
    }

    /// Times in µs that add up to the whole.
    fn to_json(&self) -> Value {
        let Timeline { device, total_us, busy_us, idle_us, breakdown, .. } = self;
        // The breakdown is in the recording's unit.
        let us = |time: i64| {
            if breakdown.total == 0 { 0.0 } else { total_us * time as f64 / breakdown.total as f64 }
        };
        let mut timeline = json!({
            "device": device,
            "total_us": total_us,
            "busy_us": busy_us,
            "idle_us": idle_us,
            "computation_us": us(breakdown.computation),
            "exposed_communication_us": us(breakdown.exposed_communication),
            "exposed_memcpy_us": us(breakdown.exposed_memcpy),
        });
        if breakdown.unrecorded > 0 {
            timeline["unrecorded_us"] = us(breakdown.unrecorded).into();
        }
        timeline
    }

    pub(crate) fn new(device: impl Into<String>, breakdown: Breakdown, us: impl Fn(i64) -> f64) -> Self {
        Timeline {
            device: device.into(),
            total_us: us(breakdown.total),
            window: TimelineWindow::Device,
            busy_us: us(breakdown.busy),
            idle_us: us(breakdown.idle),
            breakdown,
        }
    }
}

/// Devices of one name with their number: `8 × NVIDIA H200`.
pub(crate) fn devices(count: usize, name: &str) -> String {
    if count > 1 { format!("{count} × {name}") } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use gpu_timeline::{Activity, DeviceEvent};
    use report_writers::JsonTable;

    use super::*;
    use crate::any_recording::AnyReporter;
    use crate::envelope::{Answer, Asked, Tool};
    use crate::report::{Analysed, Report, Reporter, Run};

    fn report(recording: &str) -> Report {
        report_in(recording, &mut Run::default())
    }

    fn report_in(recording: &str, run: &mut Run<'_>) -> Report {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(recording);
        let reporter = AnyReporter { kernel_summary: true, ..AnyReporter::default() };
        reporter.report(&[path], run).unwrap()
    }

    #[test]
    fn a_first_page_without_tables_behind_it_is_the_same() {
        for recording in [
            "generated/cuda_training_step.json.gz",
            "recorded/h200/cuda_graph_replay.json.gz",
            "generated/nsys/run.sqlite",
            "recorded/h200/transformer_step.json.gz",
        ] {
            let whole = report(recording);
            let page = report_in(recording, &mut Run { first_page_only: true, ..Run::default() });
            assert_eq!(format!("{:?}", page.summary), format!("{:?}", whole.summary), "{recording}");
            let shown = |report: &Report| {
                let tables = report.tables.tables().iter().filter(|table| table.excerpt().is_some());
                tables.map(|table| format!("{table:?}")).collect::<Vec<_>>()
            };
            assert_eq!(shown(&page), shown(&whole), "{recording}");
            assert!(page.tables.tables().len() < whole.tables.tables().len(), "{recording}");
        }
    }

    fn device_events(report: &Report) -> f64 {
        let answer = Answer::new(Tool::with_features(&[]), Asked::default(), Vec::new()).about(report);
        answer.trust.and_then(|trust| trust.device_events).unwrap() as f64
    }

    /// A column of a table as answers have it, and its cells.
    fn column(report: &Report, table: &str, name: &str) -> (Value, Vec<f64>) {
        let table = report.tables.tables().iter().find(|known| known.name() == table).expect(table);
        let table = serde_json::to_value(JsonTable::whole(table)).unwrap();
        let columns = table["columns"].as_array().unwrap();
        let at = columns.iter().position(|column| column["name"] == name).expect(name);
        let rows = table["rows"].as_array().unwrap().iter();
        (columns[at].clone(), rows.map(|row| row[at].as_f64().unwrap_or_default()).collect())
    }

    /// The sum of a column that may be summed.
    fn sum(report: &Report, table: &str, name: &str) -> f64 {
        let (column, cells) = column(report, table, name);
        assert_eq!(column["aggregate"], "sum", "{table} {name}");
        cells.iter().sum()
    }

    #[track_caller]
    fn assert_equal(a: f64, b: f64, what: &str) {
        assert!((a - b).abs() <= 1e-9 * b.abs(), "{what}: {a} {b}");
        assert!(b > 0.0, "{what}");
    }

    #[test]
    fn rooflines_are_told_of_a_fifth_of_the_device_time_that_is_a_twentieth_of_the_window() {
        // The last but one is 99% idle.
        for (covered, busy, expected) in
            [(90.0, 100, true), (15.0, 100, false), (90.0, 6, true), (90.0, 1, false), (0.0, 100, false)]
        {
            let events = [(0, busy), (100, 100)];
            let events = events.map(|(start, end)| DeviceEvent::new(start, end, Activity::Computation));
            let breakdown = Breakdown::from_events(events, None).unwrap();
            let coverage = RooflineShares {
                modelled_percent: covered,
                rest: Vec::new(),
                near_percent: Some(50.0),
                losses: Vec::new(),
                unknown: Vec::new(),
            };
            let summary = Summary {
                timelines: vec![Timeline::new("GPU", breakdown, |time| time as f64)],
                coverage: Some(coverage),
                ..Summary::default()
            };
            assert_eq!(summary.tells_rooflines(), expected, "{covered} {busy}");
        }
    }

    #[test]
    fn kernel_times_of_operators_add_up_to_that_of_the_device_work_they_launched() {
        for recording in [
            "generated/cuda_training_step.json.gz",
            "generated/rocm_training_step.json.gz",
            "generated/nsys/run.sqlite",
            "recorded/h200/transformer_fp8.json.gz",
        ] {
            let report = report(recording);
            let Analysed::Trace(analysis, _) = &report.analysis else { panic!("{recording}") };
            let check = analysis.sanity_check().unwrap();
            // The check is without communication.
            let has_collectives = report.tables.tables().iter().any(|table| table.name() == "coll_analysis");
            let communication = if has_collectives { sum(&report, "coll_analysis", "dur_sum") } else { 0.0 };
            let launchers = check.launchers.kernel_time_us + communication;
            let unified = check.unified.kernel_time_us + communication;
            for (table, name, size, whole) in [
                ("ops_summary", "total_direct_kernel_time_ms", 1e3, launchers),
                ("ops_summary_by_category", "total_direct_kernel_time_ms", 1e3, launchers),
                ("ops_all", "total_direct_kernel_time_sum", 1.0, launchers),
                ("unified_perf_summary", "Kernel Time (µs)_sum", 1.0, unified),
                ("coverage", "Kernel Time (µs)_sum", 1.0, unified),
            ] {
                assert_equal(size * sum(&report, table, name), whole, &format!("{recording} {table}"));
            }
        }
    }

    #[test]
    fn counts_of_device_work_add_up_to_all_of_it() {
        let exported = report("generated/nsys/run.sqlite");
        assert_equal(sum(&exported, "launch_coverage", "Count"), device_events(&exported), "launch_coverage");
        let profile = report("generated/rocprof/run_results.db");
        let copies = sum(&profile, "memory_copy_bandwidth", "Count");
        for table in ["kernel_summary", "kernel_summary_by_category"] {
            assert_equal(sum(&profile, table, "Count") + copies, device_events(&profile), table);
        }
        let xplane = report("recorded/h200/jax_step.xplane.pb");
        for (table, name) in [
            ("ops_summary", "Count"),
            ("ops_summary_by_category", "Count"),
            ("ops_all", "operation_count"),
            ("kernel_launchers", "direct_kernel_count"),
            ("kernel_launchers_summary", "Count"),
        ] {
            assert_equal(sum(&xplane, table, name), device_events(&xplane), table);
        }
    }

    #[test]
    fn what_rows_share_has_no_sum() {
        for (recording, table, name) in [
            ("recorded/h200/jax_step.xplane.pb", "name_scopes", "total_time_ms"),
            ("generated/nsys/run.sqlite", "nvtx_kernels", "Count"),
        ] {
            let (column, _) = column(&report(recording), table, name);
            assert_eq!(column["aggregate"], "none", "{table} {name}");
        }
    }
}
