//! One page on one thing of a recording: an operator, a kernel, a module, an event.

use advise::Finding;
use gpu_timeline::SortFew;
use gpu_timeline::Summary as Statistics;
use hashbrown::{HashMap, HashSet};
use iterations::{Division, Part as StepPart};
use operator_sheets::{Iterated, Roof, RooflinePoint};
use report_writers::terminal::truncate_middle;
use serde::Serialize;
use sheets::{Role, Table, TableColumn, TableError};
use thiserror::Error as ThisError;
use trace_ingest::EventId;
use trace2tree::{busy_time, module_class, module_name};
use tree_perf::Analysis;

use crate::numbers::{counted, duration};
use crate::report::{Analysed, Report};
use crate::rows::{LONGEST_NAME, did_you_mean, nearest_names};

/// What there is to say of one thing of a recording.
#[derive(Clone, Debug, Serialize)]
pub struct Why {
    /// Its name.
    pub target: String,
    /// What it is.
    pub kind: TargetKind,
    /// What it cost; `None` of recordings without a call tree.
    pub cost: Option<Cost>,
    /// The operators or calls that launched it, the most time first; of a kernel.
    pub launchers: Vec<Part>,
    /// The device events that it launched, by name, the most time first; of everything else.
    pub kernels: Vec<Part>,
    /// The modules around it, the most time first.
    pub modules: Vec<Part>,
    /// The lines of the program that called it, the most time first.
    pub call_sites: Vec<Part>,
    /// Why devices had nothing to run before it, the most time first.
    pub waits: Vec<Part>,
    /// How near the operator, or those that launched the kernel, come to the roofline, a set of arguments each, the most time
    /// first.
    pub roofline: Vec<RooflineShare>,
    /// The findings that name it.
    pub findings: Vec<NamedIn>,
    /// Rows of the report with its name, a table each.
    #[serde(skip)]
    pub rows: Vec<Table>,
    /// What cannot be said, and why.
    pub unknown: Vec<String>,
}

/// What a thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetKind {
    /// An operator, or another call of the host.
    Operator,
    /// A kernel, a copy or another event of a device.
    Kernel,
    /// A module of the program.
    Module,
    /// A range of the program that findings name.
    Range,
    /// A row of a report.
    Row,
}

/// What a thing cost. Times are in µs.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// How often it ran; of nested calls of one name the outermost.
    pub calls: usize,
    /// Time in which devices ran at least one of its events.
    pub busy_us: f64,
    /// Sum of the durations of its device events.
    pub sum_us: f64,
    /// [`Cost::sum_us`] in percent of that of all device events.
    pub percent: Option<f64>,
    /// Device time of a call: the smallest, the median and the largest.
    pub call_us: Option<[f64; 3]>,
    /// Device time in a step that was recorded whole: the smallest, the median and the largest; `None` without steps.
    pub step_us: Option<[f64; 3]>,
    /// Whole steps, which these are of.
    pub steps: usize,
}

/// A part of the time of a thing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// What it is.
    pub name: String,
    /// How often.
    pub count: usize,
    /// Device time in µs; of a wait its own.
    pub time_us: f64,
}

/// Calls with the same arguments, held against what the device can do at most.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RooflineShare {
    /// Operator.
    pub name: String,
    /// Shapes of its inputs, where they are recorded.
    pub dims: Option<String>,
    /// Calls.
    pub calls: usize,
    /// Kernel time in µs.
    pub time_us: f64,
    /// Achieved 10¹² operations a second.
    pub tflops: f64,
    /// Achieved 10¹² bytes a second.
    pub tb_per_s: f64,
    /// Achieved rate in percent of what the device can do at this arithmetic intensity.
    pub percent: f64,
    /// `compute`, where the peak of the arithmetic limits it, or `memory`.
    pub bound: &'static str,
}

/// A finding that names a thing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NamedIn {
    /// Its rank.
    pub rank: usize,
    /// Its rule.
    pub rule: String,
    /// What it would give back in µs, as far as that is known.
    pub mid_us: Option<f64>,
}

/// Why there is nothing to say.
#[derive(Debug, ThisError, miette::Diagnostic)]
#[non_exhaustive]
pub enum WhyError {
    /// Nothing has this name.
    #[error("nothing in this recording is named {target:?}")]
    #[diagnostic(code("why/unknown"), help("{}", nearest_names(near)))]
    Unknown {
        /// What was asked for.
        target: String,
        /// The most similar names.
        near: Vec<String>,
    },
    /// No name is it, and several contain it.
    #[error("no exact match for {target:?}, but {} it", counted(candidates.len(), "name contains", "names contain"))]
    #[diagnostic(code("why/several"), help("choose one: {}", self::candidates(candidates)))]
    Several {
        /// What was asked for.
        target: String,
        /// The names, those with most device time first.
        candidates: Vec<Part>,
    },
    /// A part of a table is none.
    #[error(transparent)]
    #[diagnostic(code("why/table"))]
    Table(
        #[from]
        #[diagnostic_source]
        TableError,
    ),
}

impl Report {
    /// Explains an operator, a kernel, a module or a row by its name or, in a trace, by a part that no other name contains;
    /// or an event by its uid. Lists have `top` entries at most.
    ///
    /// # Errors
    /// When nothing has this name, or several names contain it.
    pub fn why(&self, target: &str, top: usize) -> Result<Why, WhyError> {
        if target.is_empty() {
            return Err(WhyError::Unknown { target: String::new(), near: Vec::new() });
        }
        let mut why = match &self.analysis {
            Analysed::Trace(analysis, _) => why_in_trace(analysis, target, top),
            _ => None,
        }
        .unwrap_or_else(|| Why::for_row(target));
        why.rows = rows_named(self.tables.tables(), &why.target)?;
        let findings = self.advice.iter().flat_map(|advice| &advice.findings);
        why.findings = findings.filter(|finding| names(finding, &why.target)).map(NamedIn::from).collect();
        // A range of the program that findings name has neither a row nor device work of its own.
        let is_unknown = why.cost.is_none() && why.rows.is_empty() && why.findings.is_empty();
        if is_unknown && let Analysed::Trace(analysis, _) = &self.analysis {
            let candidates = names_containing(analysis, target);
            return match &candidates[..] {
                [] => Err(WhyError::Unknown { target: target.to_owned(), near: near(analysis, target) }),
                [only] => self.why(&only.name, top),
                _ => Err(WhyError::Several { target: target.to_owned(), candidates }),
            };
        }
        if why.cost.is_none() && why.rows.is_empty() && matches!(self.analysis, Analysed::Trace(..)) {
            why.kind = TargetKind::Range;
            why.unknown = vec!["device time (what the range launches belongs to its operators)".to_owned()];
        }
        if is_unknown {
            let columns = self.tables.tables().iter().flat_map(name_columns);
            let names: Vec<String> =
                columns.flat_map(|column| column.cells().map(|cell| cell.text().into_owned())).collect();
            let near = did_you_mean(target, names.iter().map(String::as_str));
            return Err(WhyError::Unknown { target: target.to_owned(), near });
        }
        if self.advice.is_none() {
            why.unknown.push("findings (no rules ran on this report)".to_owned());
        }
        Ok(why)
    }
}

impl Why {
    fn for_row(target: &str) -> Self {
        Why {
            target: target.to_owned(),
            kind: TargetKind::Row,
            cost: None,
            launchers: Vec::new(),
            kernels: Vec::new(),
            modules: Vec::new(),
            call_sites: Vec::new(),
            waits: Vec::new(),
            roofline: Vec::new(),
            findings: Vec::new(),
            rows: Vec::new(),
            unknown: vec!["launches, modules and waits (this report has no call tree)".to_owned()],
        }
    }
}

impl From<&Finding> for NamedIn {
    fn from(finding: &Finding) -> Self {
        NamedIn {
            rank: finding.rank,
            rule: finding.rule.clone(),
            mid_us: finding.gain.map(|gain| gain.mid_us),
        }
    }
}

fn names(finding: &Finding, target: &str) -> bool {
    finding.rows.iter().any(|row| row.key.1 == target)
        || finding.kernels.iter().any(|kernel| kernel.name == target)
        || finding.module.as_deref() == Some(target)
        || finding.subject.split([' ', ',']).any(|word| word == target)
}

/// The columns that say what the rows of a table are.
fn name_columns(table: &Table) -> impl Iterator<Item = &TableColumn> {
    table.columns().iter().filter(|column| column.role() == Role::Name)
}

/// The rows with a name, a table each.
fn rows_named(tables: &[Table], name: &str) -> Result<Vec<Table>, TableError> {
    let part = |table: &Table| {
        let is_named = |&row: &usize| name_columns(table).any(|column| column.cell(row).text() == name);
        let rows: Vec<usize> = (0..table.height()).filter(is_named).collect();
        let columns: Vec<usize> = (0..table.columns().len()).collect();
        (!rows.is_empty()).then(|| table.part(&columns, &rows))
    };
    tables.iter().filter_map(part).collect()
}

/// Of a trace; `None` where nothing in it has the name.
fn why_in_trace(analysis: &Analysis, target: &str, top: usize) -> Option<Why> {
    let (tree, trace) = (analysis.tree(), analysis.trace());
    let events = trace.events();
    let named = events_named(analysis, target);
    let &first = named.first()?;
    let is_device_event = events.category(first).is_device();
    let (kind, name) = match () {
        () if is_device_event => (TargetKind::Kernel, trace.name(first)),
        () if tree.is_module(first) => (TargetKind::Module, bare_module(trace.name(first))),
        () => (TargetKind::Operator, trace.name(first)),
    };
    let calls = if is_device_event { named } else { outermost(analysis, named) };
    let works: Vec<Vec<EventId>> = match is_device_event {
        true => calls.iter().map(|&call| vec![call]).collect(),
        false => calls.iter().map(|&call| tree.device_events(call).to_vec()).collect(),
    };
    let work: Vec<EventId> = works.concat();
    let mut why = Why { kind, unknown: Vec::new(), ..Why::for_row(name) };
    why.cost = Some(cost(analysis, &works));

    let time = |of: &[EventId]| of.iter().map(|&event| events.duration(event)).sum::<i64>();
    let mut launchers = Parts::default();
    let mut modules = Parts::default();
    let mut call_sites = Parts::default();
    for (&call, work) in calls.iter().zip(&works) {
        let time = time(work);
        let head =
            if is_device_event { tree.operator(call).or_else(|| tree.launch(call)) } else { Some(call) };
        let Some(head) = head else { continue };
        if is_device_event {
            launchers.add(trace.name(head), time);
        }
        if let Some(module) = tree.parent_module(head) {
            modules.add(bare_module(trace.name(module)), time);
        }
        if let Some(site) = tree.call_site(head) {
            call_sites.add(trace.name(site), time);
        }
    }
    let mut kernels = Parts::default();
    if !is_device_event {
        work.iter().for_each(|&event| kernels.add(trace.name(event), events.duration(event)));
    }
    let target_events: HashSet<EventId> = work.iter().copied().collect();
    let mut waits = Parts::default();
    for stretch in
        analysis.idle_stretches(|_| true).0.iter().filter(|stretch| target_events.contains(&stretch.event))
    {
        let cause = stretch.cause;
        let name = match cause.reason() {
            Some(reason) => format!("{} ({reason})", cause.name()),
            None => cause.name().to_owned(),
        };
        waits.add(&name, stretch.span.length());
    }
    let us = |time: i64| trace.time_unit().to_microseconds(time);
    let largest = |parts: Parts| parts.largest(top, us);
    [why.launchers, why.kernels, why.modules, why.call_sites, why.waits] =
        [launchers, kernels, modules, call_sites, waits].map(largest);
    let operators: Vec<&str> = match kind {
        TargetKind::Kernel => why.launchers.iter().map(|part| part.name.as_str()).collect(),
        _ => vec![name],
    };
    why.roofline = roofline(analysis, &operators, top);
    if work.is_empty() {
        why.unknown.push("device time (nothing it launched was recorded)".to_owned());
    } else if why.call_sites.is_empty() && kind != TargetKind::Module {
        why.unknown.push(
            "modules and source lines (no Python frames were recorded here; set with_stack=True)".to_owned(),
        );
    }
    Some(why)
}

/// How near calls of these operators come to the roofline, the most time first.
fn roofline(analysis: &Analysis, operators: &[&str], top: usize) -> Vec<RooflineShare> {
    let share = |roof: &Roof, point: &RooflinePoint| RooflineShare {
        name: point.name.clone(),
        dims: point.dims.as_ref().map(ToString::to_string),
        calls: point.calls,
        time_us: point.kernel_time_us,
        tflops: point.tflops,
        tb_per_s: point.tflops / point.intensity,
        percent: 100.0 * point.tflops / roof.attainable_tflops(point.intensity),
        bound: if point.intensity < roof.ridge { "memory" } else { "compute" },
    };
    let mut shares: Vec<RooflineShare> = Vec::new();
    for roof in analysis.roofs() {
        let points = roof.points.iter().filter(|point| operators.contains(&point.name.as_str()));
        shares.extend(points.map(|point| share(roof, point)));
    }
    shares.sort_few_by(|a, b| b.time_us.total_cmp(&a.time_us));
    shares.truncate(top);
    shares
}

/// The events that a name, or the number of one, means; one that is in the tree before those of the device alone.
fn events_named(analysis: &Analysis, target: &str) -> Vec<EventId> {
    let (tree, trace) = (analysis.tree(), analysis.trace());
    let by_name = |name: &str| tree.find_by_name(name).to_vec();
    let event_numbered = || trace.events().find_uid(target.parse().ok()?);
    let found = by_name(target);
    if !found.is_empty() {
        return found;
    }
    let modules = tree.node_names().filter(|&name| bare_module(trace.text(name)) == target);
    let modules: Vec<EventId> = modules.flat_map(|name| tree.find_by_name_id(name).to_vec()).collect();
    if !modules.is_empty() {
        return modules;
    }
    let unlinked: Vec<EventId> =
        analysis.device_events().filter(|&event| trace.name(event) == target).collect();
    if unlinked.is_empty() { event_numbered().into_iter().collect() } else { unlinked }
}

/// The operators, kernels and modules whose names contain a text, those with most device time first.
fn names_containing(analysis: &Analysis, text: &str) -> Vec<Part> {
    let (tree, trace) = (analysis.tree(), analysis.trace());
    let mut parts = Parts::default();
    for (name, time) in tree.names_containing(text) {
        let &[first, ..] = tree.find_by_name_id(name) else { continue };
        let name = trace.text(name);
        parts.add(if tree.is_module(first) { bare_module(name) } else { name }, time.ticks());
    }
    let text = text.to_lowercase();
    let events = trace.events();
    let unlinked = analysis.device_events().filter(|&event| !tree.contains(event));
    for event in unlinked.filter(|&event| trace.name(event).to_lowercase().contains(&text)) {
        parts.add(trace.name(event), events.duration(event));
    }
    parts.largest(usize::MAX, |time| trace.time_unit().to_microseconds(time))
}

/// The names most like a text.
fn near(analysis: &Analysis, text: &str) -> Vec<String> {
    let trace = analysis.trace();
    let node_names = analysis.tree().node_names().map(|name| trace.text(name));
    did_you_mean(text, node_names.chain(analysis.device_events().map(|event| trace.name(event))))
}

/// Candidates with their times, as many as a person reads.
#[must_use]
pub fn candidates(candidates: &[Part]) -> String {
    const MOST: usize = 8;
    let shown = candidates.iter().take(MOST);
    let mut texts: Vec<String> = shown
        .map(|part| {
            format!("{:?} ({})", truncate_middle(&part.name, LONGEST_NAME, true), duration(part.time_us))
        })
        .collect();
    if candidates.len() > MOST {
        texts.push(format!("{} more", candidates.len() - MOST));
    }
    texts.join(", ")
}

/// The name of a module without what every module has in front of it and the number behind it.
pub(crate) fn bare_module(name: &str) -> &str {
    module_name(module_class(name))
}

/// Those that stand in no other of them.
pub(crate) fn outermost(analysis: &Analysis, calls: Vec<EventId>) -> Vec<EventId> {
    let all: HashSet<EventId> = calls.iter().copied().collect();
    let is_inner = |&call: &EventId| analysis.tree().ancestors(call).any(|above| all.contains(&above));
    calls.into_iter().filter(|call| !is_inner(call)).collect()
}

/// What calls cost, by their device events.
fn cost(analysis: &Analysis, works: &[Vec<EventId>]) -> Cost {
    let (tree, trace) = (analysis.tree(), analysis.trace());
    let events = trace.events();
    let us = |time: i64| trace.time_unit().to_microseconds(time);
    let sum = |work: &[EventId]| work.iter().map(|&event| events.duration(event)).sum::<i64>();
    let spread = |times: &[i64]| {
        let statistics = Statistics::from_values(times)?;
        let median = statistics.median / trace.time_unit().per_microsecond() as f64;
        Some([us(statistics.min), median, us(statistics.max)])
    };
    let by_call: Vec<i64> = works.iter().map(|work| sum(work)).collect();
    let steps = Iterated::iterations(analysis).and_then(|iterations| iterations.steps());
    let by_step = steps.map(|(level, _)| {
        let division = Division::new(tree, &level.iterations);
        let mut times = vec![0_i64; level.iterations.len()];
        for &event in works.iter().flatten() {
            if let Some(StepPart::Iteration(step)) = division.part_of(event) {
                times[step] += events.duration(event);
            }
        }
        let whole = level.iterations.iter().zip(times).filter(|(iteration, _)| iteration.whole);
        whole.map(|(_, time)| time).collect()
    });
    let by_step: Vec<i64> = by_step.unwrap_or_default();
    let all: i64 = analysis.device_events().map(|event| events.duration(event)).sum();
    let total: i64 = by_call.iter().sum();
    Cost {
        calls: works.len(),
        busy_us: us(busy_time(events, works.iter().flatten().copied())),
        sum_us: us(total),
        percent: (all > 0).then(|| 100.0 * total as f64 / all as f64),
        call_us: spread(&by_call),
        step_us: spread(&by_step),
        steps: by_step.len(),
    }
}

/// Parts of a time, by name.
#[derive(Default)]
struct Parts(HashMap<String, (usize, i64)>);

impl Parts {
    fn add(&mut self, name: &str, time: i64) {
        let part = self.0.entry_ref(name).or_default();
        part.0 += 1;
        part.1 += time;
    }

    /// The largest of them.
    fn largest(self, top: usize, us: impl Fn(i64) -> f64) -> Vec<Part> {
        let mut parts: Vec<_> = self.0.into_iter().collect();
        parts.sort_few_by(|(a, sum_a), (b, sum_b)| sum_b.1.cmp(&sum_a.1).then_with(|| a.cmp(b)));
        parts.truncate(top);
        parts.into_iter().map(|(name, (count, time))| Part { name, count, time_us: us(time) }).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::any_recording::AnyReporter;
    use crate::report::{Reporter, Run};
    use crate::trace::TraceReporter;

    fn testdata(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
    }

    fn report() -> Report {
        let path = testdata("generated/cuda_training_step.json.gz");
        let reporter = TraceReporter { modules: true, ..TraceReporter::default() };
        reporter.report(&[path], &mut Run::default()).unwrap()
    }

    #[test]
    fn an_operator_has_the_time_of_the_report() {
        let report = report();
        let why = report.why("aten::mm", 3).unwrap();
        assert_eq!(why.kind, TargetKind::Operator);
        let cost = why.cost.unwrap();
        let table = report.tables.tables().iter().find(|table| table.name() == "ops_summary").unwrap();
        let row = table.column("name").unwrap().cells().position(|cell| cell.text() == "aten::mm").unwrap();
        let sheets::Cell::Number(ms) = table.column("total_direct_kernel_time_ms").unwrap().cell(row) else {
            panic!("no time")
        };
        assert!((cost.sum_us - ms * 1e3).abs() < 1e-6, "{} {ms}", cost.sum_us);
        assert!(why.kernels.len() == 3 && why.kernels[0].time_us >= why.kernels[1].time_us);
        assert!(why.findings.iter().any(|finding| finding.rule == "KERNEL-EFF"), "{:?}", why.findings);
        assert!(why.rows.iter().any(|table| table.name() == "unified_perf_summary"));
        let points = why.roofline;
        assert_eq!(points.len(), 3);
        assert!(points.iter().all(|point| point.name == "aten::mm" && point.percent > 0.0), "{points:?}");
        let [least, middle, most] = cost.step_us.unwrap();
        assert!(least <= middle && middle <= most && most <= cost.sum_us, "{least} {middle} {most}");
    }

    #[test]
    fn a_kernel_names_its_launchers_and_the_waits_before_it() {
        let report = report();
        let kernel = report.why("aten::mm", 1).unwrap().kernels[0].name.clone();
        let why = report.why(&kernel, 5).unwrap();
        assert_eq!(why.kind, TargetKind::Kernel);
        assert!(why.launchers.iter().any(|part| part.name == "aten::mm"), "{:?}", why.launchers);
        let cost = why.cost.unwrap();
        let launched: f64 = why.launchers.iter().map(|part| part.time_us).sum();
        assert!((launched - cost.sum_us).abs() < 1e-6, "{launched} {}", cost.sum_us);
    }

    #[test]
    fn a_module_has_the_time_of_what_is_below_it() {
        let report = report();
        let layer = report.why("TransformerLayer", 5).unwrap();
        assert_eq!(layer.kind, TargetKind::Module);
        let attention = report.why("SelfAttention", 5).unwrap();
        assert!(
            attention.modules.iter().any(|part| part.name == "TransformerLayer"),
            "{:?}",
            attention.modules
        );
        assert!(layer.cost.unwrap().sum_us > attention.cost.unwrap().sum_us);
    }

    #[test]
    fn wrong_names_are_answered_with_the_nearest() {
        let error = crate::diagnostic::in_one_line(&report().why("aten:mm", 5).unwrap_err());
        assert!(error.contains("\"aten::mm\""), "{error}");
    }

    #[test]
    fn a_part_of_a_name_is_enough_where_no_other_name_contains_it() {
        let report = report();
        assert_eq!(report.why("selfatt", 3).unwrap().target, "SelfAttention");
        let Err(WhyError::Several { candidates, .. }) = report.why("gemm", 3) else { panic!("one gemm") };
        let times: Vec<f64> = candidates.iter().map(|part| part.time_us).collect();
        assert!(times.len() > 1 && times[0] > 0.0 && times.is_sorted_by(|a, b| a >= b), "{candidates:?}");
        // GEMM is a category of operators, too, and no candidate: it has no call and no launch.
        assert!(candidates.iter().all(|part| part.name != "GEMM"), "{candidates:?}");
    }

    #[test]
    fn a_report_without_a_call_tree_has_rows_and_says_what_it_lacks() {
        let path = testdata("generated/metal_ops.csv");
        let report = AnyReporter::default().report(&[path], &mut Run::default()).unwrap();
        let why = report.why("SDPAOperation", 5).unwrap();
        assert_eq!(why.kind, TargetKind::Row);
        assert!(!why.rows.is_empty() && !why.unknown.is_empty(), "{why:?}");
    }
}
