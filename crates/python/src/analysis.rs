//! The analysis of a trace as `pytracelens.compat` asks for it: event by event.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use answers::model::chosen_architecture;
use answers::{Analysed, Report};
use gpu_timeline::{Activity, Breakdown, DeviceEvent};
use operator_sheets::Figures;
use perf_models::{Architecture, Category, Tables, Value};
use pyo3::IntoPyObjectExt;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use reference_tools::tracelens;
use serde::Deserialize;
use sheets::Layout;
use trace_diff::{DiffOptions, TreeDiff, device_rows_sheet, tree_diff_sheets};
use trace_ingest::{
    ArgumentValue, EventId, LaunchGeometry, Phase, ReadOptions, RowId, StringId, Trace, read_path,
};
use trace2tree::{CallStackOptions, OperatorField, PrintOptions, TraceTree, busy_time};
use tree_perf::{Analysis, AnalysisOptions, Conventions};

use crate::boundary::{failed, guarded, refused, refused_with, unknown, without_lock};
use crate::table::Table;
use crate::timeline::{self, AskedWindow};

/// What an analysis or a report is asked to do: the options of a report by their names, and the device.
#[derive(Deserialize)]
struct Asked {
    arch: Option<String>,
    arch_file: Option<PathBuf>,
    arch_json: Option<String>,
    #[serde(default)]
    parity: bool,
    #[serde(flatten)]
    options: AnalysisOptions,
}

/// The options in a JSON document.
pub(crate) fn options(asked: &str) -> PyResult<AnalysisOptions> {
    let Asked { arch, arch_file, arch_json, parity, options } =
        serde_json::from_str(asked).map_err(refused)?;
    let given = arch_json.as_deref().map(Architecture::from_json).transpose().map_err(refused)?;
    let architecture = match given {
        Some(given) => Some(given),
        None => {
            chosen_architecture(arch_file.as_deref(), arch.as_deref()).map_err(|error| failed(&error, &[]))?
        }
    };
    let conventions = if parity { tracelens().traces } else { Conventions::default() };
    Ok(AnalysisOptions { architecture, conventions, ..options })
}

/// Reads a trace and finds its launchers.
#[pyfunction]
pub(crate) fn analyse(
    py: Python<'_>,
    path: PathBuf,
    asked: &str,
    python_frames: bool,
) -> PyResult<NativeAnalysis> {
    let options = options(asked)?;
    let paths = [path];
    let [path] = &paths;
    let analysis = without_lock(py, None, None, &paths, |reading| {
        let mut tree_options = options.tree_options();
        tree_options.python_frames |= python_frames;
        tree_options.threads = reading.thread_count();
        let skip_python_frames = !tree_options.python_frames;
        let trace = read_path(path, &ReadOptions { skip_python_frames, ..reading })?;
        Ok(Analysis::from_tree(TraceTree::build(trace, &tree_options), options))
    })?;
    Ok(NativeAnalysis::new(Held::Alone(Box::new(analysis))))
}

/// A trace with its tree and its launchers. Events are known by their UIDs, times are in µs.
#[pyclass(frozen, module = "pytracelens._native")]
pub(crate) struct NativeAnalysis(Held, OnceLock<Vec<Option<u32>>>);

/// Who holds the analysis.
enum Held {
    Alone(Box<Analysis>),
    /// A report of a trace, which goes on as long as somebody looks at its tree.
    Report(Arc<Report>),
}

impl Deref for Held {
    type Target = Analysis;

    fn deref(&self) -> &Analysis {
        match self {
            Held::Alone(analysis) => analysis,
            Held::Report(report) => match &report.analysis {
                Analysed::Trace(analysis, _) => analysis,
                _ => unreachable!("reports of anything else are not held"),
            },
        }
    }
}

impl NativeAnalysis {
    /// The analysis of a report; `None` where it is not of a trace.
    pub(crate) fn from_report(report: &Arc<Report>) -> Option<Self> {
        let is_trace = matches!(report.analysis, Analysed::Trace(..));
        is_trace.then(|| NativeAnalysis::new(Held::Report(Arc::clone(report))))
    }

    fn new(held: Held) -> Self {
        NativeAnalysis(held, OnceLock::new())
    }

    fn tree(&self) -> &TraceTree {
        self.0.tree()
    }

    /// Its place among the events of its stream, by start.
    fn stream_index(&self, event: EventId) -> Option<u32> {
        let indices = self.1.get_or_init(|| {
            let events = self.trace().events();
            let mut streams: BTreeMap<(Option<i64>, i64), Vec<EventId>> = BTreeMap::new();
            for event in events.ids() {
                if let Some(stream) = events.stream(event) {
                    streams.entry((events.device(event), stream)).or_default().push(event);
                }
            }
            let mut indices = vec![None; events.ids().len()];
            for mut stream in streams.into_values() {
                stream.sort_by_key(|&event| events.start(event));
                for (index, event) in (0..).zip(stream) {
                    indices[event.index()] = Some(index);
                }
            }
            indices
        });
        indices[event.index()]
    }

    /// What costs little to say of an event.
    fn fields<'py>(&self, py: Python<'py>, event: EventId) -> PyResult<Bound<'py, PyDict>> {
        let (trace, events) = (self.trace(), self.trace().events());
        let fields = PyDict::new(py);
        let is_span = events.phase(event) == Phase::Complete;
        fields.set_item(intern!(py, "UID"), self.uid(event))?;
        fields.set_item(intern!(py, "ph"), if is_span { intern!(py, "X") } else { intern!(py, "i") })?;
        fields.set_item(intern!(py, "cat"), trace.category_name(events.category(event)))?;
        fields.set_item(intern!(py, "name"), trace.name(event))?;
        let track = trace.tracks().get(events.track(event));
        for (key, id) in [(intern!(py, "pid"), track.pid), (intern!(py, "tid"), track.tid)] {
            if let Some(id) = self.row(py, id)? {
                fields.set_item(key, id)?;
            }
        }
        fields.set_item(intern!(py, "ts"), self.us(trace.origin() + events.start(event)))?;
        if is_span {
            fields.set_item(intern!(py, "dur"), self.us(events.duration(event)))?;
            fields.set_item(intern!(py, "t_end"), self.us(trace.origin() + events.end(event)))?;
        }
        Ok(fields)
    }

    fn trace(&self) -> &Trace {
        self.0.trace()
    }

    fn find(&self, uid: u32) -> PyResult<EventId> {
        let found = self.trace().events().find_uid(uid);
        found.ok_or_else(|| unknown(format_args!("the recording has no event {uid}"), None))
    }

    /// An event that is a node of the tree.
    fn node_event(&self, uid: u32) -> PyResult<EventId> {
        let node = self.find(uid).ok().filter(|&event| self.tree().contains(event));
        node.ok_or_else(|| unknown(format_args!("the tree has no event {uid}"), None))
    }

    fn uid(&self, event: EventId) -> u32 {
        self.trace().events().uid(event)
    }

    fn uids_of(&self, events: &[EventId]) -> Vec<u32> {
        events.iter().map(|&event| self.uid(event)).collect()
    }

    fn us(&self, time: i64) -> f64 {
        self.trace().to_microseconds(time)
    }

    fn row<'py>(&self, py: Python<'py>, id: RowId) -> PyResult<Option<Bound<'py, PyAny>>> {
        match id {
            RowId::Missing => Ok(None),
            RowId::Number(number) => number.into_bound_py_any(py).map(Some),
            RowId::Text(text) => self.trace().text(text).into_bound_py_any(py).map(Some),
        }
    }
}

#[pymethods]
impl NativeAnalysis {
    /// UIDs of all events, in file order.
    fn uids(&self) -> Vec<u32> {
        let events = self.trace().events();
        events.ids().map(|event| events.uid(event)).collect()
    }

    /// Whether the tree has the frames of Python.
    #[getter]
    fn python_frames(&self) -> bool {
        self.tree().options().python_frames
    }

    /// Whether there are no operators.
    #[getter]
    fn gpu_only(&self) -> bool {
        self.0.is_gpu_only()
    }

    /// Of each of these events what the recorder wrote, without its arguments and its place in the tree.
    fn briefs<'py>(&self, py: Python<'py>, uids: Vec<u32>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        uids.into_iter().map(|uid| self.fields(py, self.find(uid)?)).collect()
    }

    /// An event as the recorder wrote it, with its place in the tree.
    fn event<'py>(&self, py: Python<'py>, uid: u32) -> PyResult<Bound<'py, PyDict>> {
        let event = self.find(uid)?;
        let (tree, fields) = (self.tree(), self.fields(py, event)?);
        let arguments = arguments(py, tree, event)?;
        if let Some(index) = self.stream_index(event) {
            arguments.set_item("stream_index", index)?;
        }
        fields.set_item("args", arguments)?;
        if tree.contains(event) {
            fields.set_item("tree", true)?;
        }
        if let Some(parent) = tree.parent(event) {
            fields.set_item("parent", self.uid(parent))?;
        }
        let lists = [
            ("children", self.uids_of(tree.children(event))),
            ("gpu_events", self.uids_of(&tree.device_events_in_file_order(event))),
            ("bwd_events", self.uids_of(tree.backward_events(event))),
        ];
        for (key, uids) in lists.into_iter().filter(|(_, uids)| !uids.is_empty()) {
            fields.set_item(key, uids)?;
        }
        if let Some(forward) = tree.forward_event(event) {
            fields.set_item("fwd_event", self.uid(forward))?;
        }
        if tree.non_gpu_path(event) {
            fields.set_item("non_gpu_path", true)?;
        }
        if self.0.is_recompute(event) {
            fields.set_item("is_recompute", true)?;
        }
        if tree.options().python_frames && tree.is_host(event) {
            fields.set_item("nn_module_stack", tree.module_stack(event))?;
        }
        Ok(fields)
    }

    /// What frames say of an event: where it ran, and its arguments as tuples.
    fn labels<'py>(&self, py: Python<'py>, uid: u32) -> PyResult<Bound<'py, PyDict>> {
        let event = self.find(uid)?;
        let (trace, events) = (self.trace(), self.trace().events());
        let labels = PyDict::new(py);
        let track = events.track(event);
        let process = trace.process(track);
        let text = |id: Option<StringId>| id.map_or("Unknown", |id| trace.text(id));
        labels.set_item("name", trace.name(event))?;
        labels.set_item("UID", uid)?;
        labels.set_item("pid", self.row(py, trace.tracks().get(track).pid)?)?;
        labels.set_item("tid", self.row(py, trace.tracks().get(track).tid)?)?;
        labels.set_item("External id", events.external_id(event))?;
        labels.set_item("ts", self.us(trace.origin() + events.start(event)))?;
        labels.set_item("process_name", text(process.name))?;
        labels.set_item("process_label", text(process.labels))?;
        labels.set_item("thread_name", trace.thread_name(track).unwrap_or("Unknown"))?;
        for (name, list) in argument_lists(trace, event) {
            labels.set_item(name, list.map(|list| argument(py, list, true)).transpose()?)?;
        }
        labels.set_item("is_recompute", self.0.is_recompute(event))?;
        let module = self.tree().parent_module(event);
        labels.set_item("parent_module", module.map(|module| trace.name(module)))?;
        Ok(labels)
    }

    /// Name, duration and stream of a device event.
    fn kernel(&self, uid: u32) -> PyResult<(&str, f64, Option<i64>)> {
        let (event, events) = (self.find(uid)?, self.trace().events());
        Ok((self.trace().name(event), self.us(events.duration(event)), events.stream(event)))
    }

    /// Names from an event up to its root.
    fn call_stack(&self, uid: u32) -> PyResult<Vec<String>> {
        let stack = self.tree().call_stack(self.find(uid)?, &CallStackOptions::default());
        Ok(stack.into_iter().map(Into::into).collect())
    }

    /// UIDs of the host events without a parent.
    fn roots(&self) -> Vec<u32> {
        self.uids_of(self.tree().roots())
    }

    /// UIDs of the nodes of a name.
    fn named(&self, name: &str) -> Vec<u32> {
        self.uids_of(self.tree().find_by_name(name))
    }

    /// Name, category and duration of a node, and the sum of the durations of the device events that it and all below it
    /// launched.
    fn node(&self, uid: u32) -> PyResult<(&str, &str, f64, f64)> {
        let event = self.node_event(uid)?;
        let (tree, trace, events) = (self.tree(), self.trace(), self.trace().events());
        let duration = self.us(events.duration(event));
        let device = match tree.is_host(event) {
            true => tree.device_events(event).iter().map(|&event| self.us(events.duration(event))).sum(),
            false => duration,
        };
        Ok((trace.name(event), trace.category_name(events.category(event)), duration, device))
    }

    /// The UID of the node that a node ran in.
    fn parent(&self, uid: u32) -> PyResult<Option<u32>> {
        Ok(self.tree().parent(self.node_event(uid)?).map(|parent| self.uid(parent)))
    }

    /// UIDs of the nodes directly below.
    fn children(&self, uid: u32) -> PyResult<Vec<u32>> {
        Ok(self.uids_of(self.tree().children(self.node_event(uid)?)))
    }

    /// UIDs of all nodes below, each before those below it.
    fn below(&self, uid: u32) -> PyResult<Vec<u32>> {
        let below = self.tree().descendants(self.node_event(uid)?);
        Ok(below.map(|event| self.uid(event)).collect())
    }

    /// UIDs of the device events below, in the order of the file.
    fn kernels(&self, uid: u32) -> PyResult<Vec<u32>> {
        Ok(self.uids_of(&self.tree().device_events_in_file_order(self.node_event(uid)?)))
    }

    /// Arguments of a node under the recorder's names.
    fn arguments<'py>(&self, py: Python<'py>, uid: u32) -> PyResult<Bound<'py, PyDict>> {
        arguments(py, self.tree(), self.node_event(uid)?)
    }

    /// All events as columns.
    fn events(&self, columns: Option<Vec<String>>) -> PyResult<Table> {
        guarded(|| timeline::events(&self.0, columns))
    }

    /// Where the time of each device went, in a window or in all.
    fn device_times(&self, window: Option<AskedWindow>) -> PyResult<Table> {
        guarded(|| timeline::breakdown(&self.0, window))
    }

    /// UIDs of the operators that no other operator encloses.
    fn operator_roots(&self) -> Vec<u32> {
        self.uids_of(self.tree().operator_roots())
    }

    /// The topmost event above.
    fn root(&self, uid: u32) -> PyResult<u32> {
        Ok(self.uid(self.tree().root(self.find(uid)?)))
    }

    /// An event and what is below it, as text.
    fn subtree_text(
        &self,
        uid: u32,
        prune_non_gpu: bool,
        fields: Vec<String>,
        backward: bool,
    ) -> PyResult<String> {
        let (event, fields) = (self.find(uid)?, operator_fields(&fields)?);
        let options = PrintOptions {
            prune_non_gpu,
            operator_fields: &fields,
            follow_backward_links: backward,
            ..PrintOptions::default()
        };
        Ok(self.tree().print_subtree(event, &options).to_string())
    }

    /// An event and what is above it, as text.
    fn parents_text(&self, uid: u32, fields: Vec<String>, forward: bool) -> PyResult<String> {
        let (event, fields) = (self.find(uid)?, operator_fields(&fields)?);
        let options = PrintOptions {
            operator_fields: &fields,
            follow_backward_links: forward,
            ..PrintOptions::default()
        };
        Ok(self.tree().print_parents(event, &options).to_string())
    }

    /// The nearest modules below an event.
    fn child_modules(&self, uid: u32) -> PyResult<Vec<u32>> {
        Ok(self.uids_of(&self.tree().child_modules(self.find(uid)?)))
    }

    /// The nearest module above an event.
    fn parent_module(&self, uid: u32) -> PyResult<Option<u32>> {
        Ok(self.tree().parent_module(self.find(uid)?).map(|module| self.uid(module)))
    }

    /// A module and those below it: UID, parent, busy time of the device, the same without that of modules inside.
    #[allow(clippy::type_complexity)] // A row of a table, taken apart in Python.
    fn module_times(&self, uid: u32) -> PyResult<Vec<(u32, Option<u32>, f64, Option<f64>)>> {
        let times = self.tree().module_times(self.find(uid)?);
        let row = |time: trace2tree::ModuleTime| {
            let parent = time.parent.map(|parent| self.uid(parent));
            (self.uid(time.module), parent, self.us(time.gpu_time), time.own_gpu_time.map(|own| self.us(own)))
        };
        Ok(times.into_iter().map(row).collect())
    }

    /// The work of launchers by its kind: UID, kind, whether it is communication, direct and subtree kernel time, UIDs of the
    /// kernels by start.
    #[allow(clippy::type_complexity)] // A row of a table, taken apart in Python.
    fn launchers(&self) -> Vec<(u32, String, bool, f64, f64, Vec<u32>)> {
        let communication = Category::Communication.as_str();
        let rows = self.0.work().map(|work| {
            (
                self.uid(work.event),
                work.category.to_owned(),
                work.category == communication,
                self.us(work.direct_time),
                self.us(work.subtree_time),
                self.uids_of(work.kernels),
            )
        });
        rows.collect()
    }

    /// Time in which at least one of these events ran.
    fn busy_time(&self, uids: Vec<u32>) -> PyResult<f64> {
        let events = uids.into_iter().map(|uid| self.find(uid)).collect::<PyResult<Vec<_>>>()?;
        Ok(self.us(busy_time(self.trace().events(), events)))
    }

    /// What the model of an operator says of a call: figures, or the reason for none; kernels and parameters.
    fn modelled_call<'py>(&self, py: Python<'py>, uid: u32, backward: bool) -> PyResult<Bound<'py, PyDict>> {
        let call = self.0.modelled_call(self.find(uid)?, backward);
        let found = PyDict::new(py);
        found.set_item("time_us", call.time_us)?;
        found.set_item("kernels", self.uids_of(&call.device_events))?;
        found.set_item("reason", call.reason)?;
        found.set_item("figures", call.figures.map(|figures| figures_dict(py, &figures)).transpose()?)?;
        let parameters = PyDict::new(py);
        for (name, given) in call.parameters {
            parameters.set_item(name, value(py, given)?)?;
        }
        found.set_item("parameters", parameters)?;
        Ok(found)
    }

    /// Kinds of the device's time, once for all events, or where recomputed work is told apart once for each: whether it is
    /// recomputed, and the times.
    #[pyo3(signature = (threshold_us, gpu_pid))]
    fn timelines<'py>(
        &self,
        py: Python<'py>,
        threshold_us: Option<f64>,
        gpu_pid: Option<i64>,
    ) -> PyResult<Vec<(Option<bool>, Bound<'py, PyDict>)>> {
        let (trace, events) = (self.trace(), self.trace().events());
        let pid = |event| trace.tracks().get(events.track(event)).pid;
        let counted = |&(event, _): &(EventId, Activity)| {
            gpu_pid.is_none_or(|wanted| pid(event) == RowId::Number(wanted))
        };
        let unit = trace.time_unit().per_microsecond() as f64;
        let of = |recomputed: Option<bool>| {
            let chosen = self.0.counted_activities().filter(counted);
            let chosen = chosen
                .filter(|&(event, _)| recomputed.is_none_or(|wanted| self.0.is_recompute(event) == wanted));
            let spans = chosen
                .map(|(event, activity)| DeviceEvent::new(events.start(event), events.end(event), activity));
            Breakdown::from_events(spans, threshold_us.map(|us| (us * unit).round() as i64))
        };
        let parts: &[Option<bool>] = match self.0.options().detect_recompute {
            true => &[Some(false), Some(true)],
            false => &[None],
        };
        let found = parts.iter().filter_map(|&part| Some((part, of(part)?)));
        found.map(|(part, times)| Ok((part, times_dict(py, &times, |time| self.us(time))?))).collect()
    }
}

/// The tables of what differs between two trees, the baseline's first, with the columns that TraceLens has where it has
/// them; which event of one is which of the other; and both as one tree, as text.
#[pyfunction]
pub(crate) fn tree_diff(
    py: Python<'_>,
    baseline: &NativeAnalysis,
    candidate: &NativeAnalysis,
) -> PyResult<(Vec<Table>, String)> {
    guarded(|| {
        let (tables, text) = py.detach(|| {
            let diff = TreeDiff::new(baseline.tree(), candidate.tree(), DiffOptions::default());
            let sheets = tree_diff_sheets().into_iter().chain([device_rows_sheet()]);
            let tables = sheets.filter_map(|sheet| sheet.table_in(&diff, Layout::Listed).transpose());
            let mut text = Vec::new();
            let written = diff.write_merged_tree(&mut text);
            (tables.collect::<Result<Vec<_>, _>>(), written.map(|()| text))
        });
        let tables = tables.map_err(refused)?.iter().map(Table::from_sheet).collect::<PyResult<_>>()?;
        Ok((tables, String::from_utf8_lossy(&text.map_err(refused)?).into_owned()))
    })
}

/// Names of the operators that have a model, by their family.
#[pyfunction]
pub(crate) fn modelled_operators() -> Vec<(&'static str, &'static str)> {
    let operators = Tables::All.operators();
    operators.filter_map(|operator| Some((operator.name, operator.family?.as_str()))).collect()
}

/// Kinds of time in µs of device events: start and duration in µs, category and name. `None` where there are none.
#[pyfunction]
#[pyo3(signature = (events, threshold_us))]
pub(crate) fn breakdown<'py>(
    py: Python<'py>,
    events: Vec<(f64, f64, String, String)>,
    threshold_us: Option<f64>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let mut builder = trace_ingest::TraceBuilder::new();
    let origin = events.iter().map(|(start, ..)| *start).fold(f64::INFINITY, f64::min);
    // Recorders write whole nanoseconds.
    let ns = |us: f64| (us * 1e3).round() as i64;
    let track = builder.track(0, 0);
    for (start, duration, category, name) in &events {
        let category = builder.category(category);
        let (start, duration) = (ns(start - origin), ns(*duration));
        builder.event(category, name, track, start, duration, Default::default());
    }
    let options = AnalysisOptions { include_unlinked_kernels: true, ..AnalysisOptions::default() };
    let analysis = NativeAnalysis::new(Held::Alone(Box::new(Analysis::new(builder.finish(), options))));
    Ok(analysis.timelines(py, threshold_us, None)?.pop().map(|(_, times)| times))
}

fn times_dict<'py>(
    py: Python<'py>,
    times: &Breakdown,
    us: impl Fn(i64) -> f64,
) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("computation_time", us(times.computation))?;
    found.set_item("exposed_comm_time", us(times.exposed_communication))?;
    found.set_item("exposed_memcpy_time", us(times.exposed_memcpy))?;
    found.set_item("busy_time", us(times.busy))?;
    match times.idle_split {
        Some(split) => {
            found.set_item("micro_idle_time", us(split.micro_idle))?;
            found.set_item("macro_idle_time", us(split.macro_idle))?;
        }
        None => found.set_item("idle_time", us(times.idle))?,
    }
    found.set_item("total_time", us(times.total))?;
    found.set_item("total_comm_time", us(times.total_communication))?;
    found.set_item("total_memcpy_time", us(times.total_memcpy))?;
    Ok(found)
}

/// Figures of a call, under the names of the reports.
fn figures_dict<'py>(py: Python<'py>, figures: &Figures) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("GFLOPS", figures.gflops())?;
    found.set_item("Kernel Time (µs)", figures.time_us)?;
    found.set_item("TFLOPS/s", figures.tflops_per_s())?;
    found.set_item("Data Moved (MB)", figures.mebibytes())?;
    found.set_item("FLOPS/Byte", figures.intensity())?;
    found.set_item("TB/s", figures.tb_per_s())?;
    found.set_item("Compute Spec", figures.spec.map(|spec| spec.to_string()))?;
    if let Some(roofline) = figures.roofline {
        found.set_item("Roofline Time (µs)", roofline.time_us())?;
        found.set_item("Roofline Bound", roofline.bound().to_string())?;
        found.set_item("Pct Roofline", figures.percent_of_roofline())?;
    }
    Ok(found)
}

fn operator_fields(labels: &[String]) -> PyResult<Vec<OperatorField>> {
    let known = |label: &String| OperatorField::ALL.into_iter().find(|field| field.label() == label);
    let field = |label| {
        let all: Vec<&str> = OperatorField::ALL.iter().map(|field| field.label()).collect();
        known(label).ok_or_else(|| {
            refused_with(
                format_args!("{label:?} cannot be printed"),
                &format!("choose one of: {}", all.join(", ")),
            )
        })
    };
    labels.iter().map(field).collect()
}

/// The four lists of arguments under the recorder's names.
fn argument_lists(trace: &Trace, event: EventId) -> [(&'static str, Option<&ArgumentValue>); 4] {
    [
        ("Input Dims", trace.argument(event, |signature| signature.dims)),
        ("Input type", trace.argument(event, |signature| signature.types)),
        ("Input Strides", trace.argument(event, |signature| signature.strides)),
        ("Concrete Inputs", trace.argument(event, |signature| signature.concrete)),
    ]
}

fn sequence<'py>(
    py: Python<'py>,
    items: Vec<Bound<'py, PyAny>>,
    as_tuple: bool,
) -> PyResult<Bound<'py, PyAny>> {
    match as_tuple {
        true => PyTuple::new(py, items)?.into_bound_py_any(py),
        false => PyList::new(py, items)?.into_bound_py_any(py),
    }
}

fn argument<'py>(py: Python<'py>, given: &ArgumentValue, as_tuples: bool) -> PyResult<Bound<'py, PyAny>> {
    match given {
        ArgumentValue::Null => py.None().into_bound_py_any(py),
        ArgumentValue::Bool(flag) => flag.into_bound_py_any(py),
        ArgumentValue::Int(number) => number.into_bound_py_any(py),
        ArgumentValue::Float(number) => number.into_bound_py_any(py),
        ArgumentValue::Text(text) => text.into_bound_py_any(py),
        ArgumentValue::List(items) => {
            let items = items.iter().map(|item| argument(py, item, as_tuples)).collect::<PyResult<_>>()?;
            sequence(py, items, as_tuples)
        }
    }
}

fn value<'py>(py: Python<'py>, given: &Value) -> PyResult<Bound<'py, PyAny>> {
    match given {
        Value::None => py.None().into_bound_py_any(py),
        Value::Bool(flag) => flag.into_bound_py_any(py),
        Value::Int(number) => number.into_bound_py_any(py),
        Value::Float(number) => number.into_bound_py_any(py),
        Value::Text(text) => text.into_bound_py_any(py),
        Value::List(items) | Value::Tuple(items) => {
            let values = items.iter().map(|item| value(py, item)).collect::<PyResult<_>>()?;
            sequence(py, values, matches!(given, Value::Tuple(_)))
        }
    }
}

/// Arguments of an event under the recorder's names; only those that it has.
struct Arguments<'py, 't> {
    trace: &'t Trace,
    found: Bound<'py, PyDict>,
}

impl<'py> Arguments<'py, '_> {
    fn put<V: IntoPyObject<'py>>(&self, name: &str, value: Option<V>) -> PyResult<()> {
        value.map_or(Ok(()), |value| self.found.set_item(name, value))
    }

    fn put_text(&self, name: &str, text: Option<StringId>) -> PyResult<()> {
        self.put(name, text.map(|text| self.trace.text(text)))
    }
}

fn arguments<'py>(py: Python<'py>, tree: &TraceTree, event: EventId) -> PyResult<Bound<'py, PyDict>> {
    let (trace, columns) = (tree.trace(), tree.trace().events().arguments());
    let all = Arguments { trace, found: PyDict::new(py) };
    let row = event.index();
    all.put("External id", columns.external_id.get(row))?;
    all.put("correlation", columns.correlation.get(row))?;
    all.put("device", columns.device.get(row))?;
    all.put("stream", columns.stream.get(row))?;
    for (name, list) in argument_lists(trace, event) {
        all.put(name, list.map(|list| argument(py, list, false)).transpose()?)?;
    }
    all.put("Sequence number", columns.sequence_number.get(row))?;
    all.put("Fwd thread id", columns.forward_thread.get(row))?;
    if let Some(frame) = columns.python_frame.get(row) {
        all.put("Python id", frame.id)?;
        all.put("Python parent id", frame.parent)?;
        all.put("Python module id", frame.module)?;
    }
    if let Some(LaunchGeometry { grid, block, registers_per_thread, shared_memory }) =
        columns.geometry.get(row)
    {
        all.put("grid", Some(PyList::new(py, grid)?))?;
        all.put("block", Some(PyList::new(py, block)?))?;
        all.put("registers per thread", registers_per_thread)?;
        all.put("shared memory", shared_memory)?;
    }
    if let Some(transfer) = columns.transfer.get(row) {
        all.put("bytes", transfer.bytes)?;
        all.put("memory bandwidth (GB/s)", transfer.bandwidth_gb_per_s)?;
        all.put_text("direction", transfer.direction)?;
    }
    if let Some(collective) = columns.collective.get(row) {
        all.put_text("Collective name", collective.name)?;
        all.put_text("Process Group Name", collective.group_name)?;
        all.put_text("Process Group Description", collective.group_description)?;
        all.put_text("Process Group Ranks", collective.group_ranks)?;
        all.put("Group size", collective.group_size)?;
        all.put_text("dtype", collective.dtype)?;
        all.put("In msg nelems", collective.in_elements)?;
        all.put("Out msg nelems", collective.out_elements)?;
        all.put_text("In split size", collective.in_split_size)?;
        all.put_text("Out split size", collective.out_split_size)?;
        all.put("Rank", collective.rank)?;
        all.put("Global rank start", collective.global_rank_start)?;
        all.put("Global rank stride", collective.global_rank_stride)?;
        all.put("Seq", collective.sequence)?;
        all.put("Src Rank", collective.source_rank)?;
        all.put("Dst Rank", collective.destination_rank)?;
    }
    if let Some(triton) = columns.triton.get(row) {
        all.put_text("kernel_file", triton.file)?;
        all.put_text("kernel_hash", triton.hash)?;
        all.put_text("kernel_kwargs", triton.keyword_arguments)?;
        all.put("num_warps", triton.warps)?;
        all.put("num_stages", triton.stages)?;
    }
    if let Some(synchronization) = columns.synchronization.get(row) {
        all.put_text("cuda_sync_kind", synchronization.kind)?;
        all.put("wait_on_stream", synchronization.stream)?;
        all.put("wait_on_cuda_event_record_corr_id", synchronization.record)?;
    }
    if let Some(memory) = columns.memory.get(row) {
        all.put("Bytes", Some(memory.bytes))?;
        all.put("Addr", memory.address)?;
        all.put("Total Allocated", memory.allocated)?;
        all.put("Total Reserved", memory.reserved)?;
        all.put("Ev Idx", memory.index)?;
    }
    all.put("graph node id", columns.graph_node.get(row))?;
    all.put_text("kernel", columns.launched_kernel.get(row))?;
    all.put_text("Call stack", columns.call_stack.get(row))?;
    for (name, attribute) in tree.pseudo_attributes(event) {
        all.put(name, Some(argument(py, attribute, false)?))?;
    }
    Ok(all.found)
}
