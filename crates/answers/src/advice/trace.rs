//! The facts about a trace.

use std::cell::LazyCell;
use std::collections::BTreeSet;

use advise::{
    Advice, Call, DataChange, Doubt, EvidenceSheets, Facts, Hold, Input, LeastTime, Limits, Message,
    Operator, Product, Program, RecordingGap, Rule, Step, Tile, Work,
};
use gpu_timeline::{Interval, LINKED_ENOUGH, Wait, WaitCause};
use hashbrown::{HashMap, HashSet};
use operator_sheets::RooflineShares;
use perf_models::{Category as Kind, OpCall, Value, number_size, tile_of_gemm};
use sheets::columns;
use sheets::names;
use sheets::{Figure, Sheet};
use trace_doctor::{Diagnosis, Severity};
use trace_ingest::{
    Category, EventId, RecordingKind, RowId, Sequence, SignatureId, StringId, Trace, TrackId,
};
use trace2tree::{TraceTree, busy_time, is_graph_launch, is_module_frame};
use tree_perf::{Analysis, ChargedWork, all_sheets};

use super::facts::{Names, copied, least_time, machine, steps};
use super::trace_rules::{Examined, TraceRules};
use super::{regression, serving, take_turns};
use crate::report::lost_events;

/// Frames above an operator that are searched for its module.
const MODULE_DEPTH: usize = 64;

/// The rules that look at more than [`Facts`], in the order in which they claim time: before those of `advise`.
pub(super) const TRACE_RULES: &[TraceRules] = &[regression::RULES, serving::RULES, take_turns::RULES];

/// Where reports of traces show what findings rest on.
const SHEETS: EvidenceSheets = EvidenceSheets {
    timeline: Some((names::GPU_TIMELINE, "type")),
    operators: Some((names::UNIFIED_PERF_SUMMARY, "name")),
    idle_causes: Some((names::IDLE_CAUSES, "cause")),
    waited_for: Some((names::IDLE_CAUSES, columns::WAITED_FOR.name)),
    iterations: Some(("iterations", "iteration")),
};

/// The same of reports of rocprofv3 profiles, whose timeline has other kinds of time and whose operators are kernels.
const ROCPROF_SHEETS: EvidenceSheets = EvidenceSheets {
    timeline: None,
    operators: Some((names::KERNEL_SUMMARY, "name")),
    idle_causes: None,
    waited_for: None,
    iterations: Some(("iterations", "iteration")),
};

/// What to change in the program of a trace, held against an earlier recording of it where there is one.
pub(crate) fn trace_advice(
    analysis: &Analysis,
    diagnosis: Option<&Diagnosis>,
    baseline: Option<&Analysis>,
    limits: &Limits,
) -> Advice {
    let facts = Builder::new(analysis).facts();
    let recording = TraceRecording { tree: analysis.tree() };
    let examined = Examined { run: analysis, baseline };
    let own: Vec<Box<dyn Rule>> = TRACE_RULES.iter().flat_map(|rules| (rules.make)(&examined)).collect();
    let own: Vec<&dyn Rule> = own.iter().map(|rule| &**rule).collect();
    let mut advice = Advice::with_rules(&facts, limits, &recording, &own);
    if let Some(diagnosis) = diagnosis {
        doubt(&mut advice, diagnosis, is_rocprof(analysis.trace()));
    }
    keep_named_rows(&mut advice, analysis);
    advice
}

/// Leaves out rows of operators that the report names together with a kernel only.
fn keep_named_rows(advice: &mut Advice, analysis: &Analysis) {
    let Some((sheet, _)) = SHEETS.operators else { return };
    let own = analysis.charged_work().filter(|work| !work.is_leftover);
    let named: HashSet<&str> = own.map(|work| analysis.trace().name(work.operator)).collect();
    for finding in &mut advice.findings {
        finding.rows.retain(|row| row.table != sheet || named.contains(row.key.1.as_str()));
    }
}

/// Marks findings that rest on figures which faults of the recording spoil. Where `lacks_timeline_rows`, those without rows
/// are about the timeline.
fn doubt(advice: &mut Advice, diagnosis: &Diagnosis, lacks_timeline_rows: bool) {
    let sheets = LazyCell::new(all_sheets);
    let faults = diagnosis
        .findings
        .iter()
        .filter(|fault| fault.severity >= Severity::Warning && fault.rule.harm.makes_unreliable());
    for fault in faults {
        let spoils = |table: &str| {
            let mut figures = fault.rule.harm.figures().iter();
            figures.any(|&figure| {
                let shows = |sheet: &Sheet<'_, Analysis>| sheet.name == table && sheet.shows(figure);
                figure.is_in_any_sheet() || sheets.iter().any(shows)
            })
        };
        let timeline_figures = [Figure::GpuTimeline, Figure::BusyTime, Figure::IdleTime];
        let spoils_timeline = lacks_timeline_rows
            && fault.rule.harm.figures().iter().any(|figure| timeline_figures.contains(figure));
        for finding in &mut advice.findings {
            let is_spoiled = match finding.rows[..] {
                [] => spoils_timeline,
                [..] => finding.rows.iter().any(|row| spoils(&row.table)),
            };
            if is_spoiled {
                finding.doubts.push(Doubt { rule: fault.rule.id.to_owned(), text: fault.text.clone() });
            }
        }
    }
}

/// A trace as the advice asks about it.
struct TraceRecording<'a> {
    tree: &'a TraceTree,
}

impl advise::Recording for TraceRecording<'_> {
    fn call_site(&self, event: u32) -> Option<String> {
        let event = self.tree.trace().events().find_uid(event)?;
        let site = self.tree.call_site(event)?;
        Some(self.tree.trace().name(site).to_owned())
    }
}

/// Collects the facts about a trace.
struct Builder<'a> {
    analysis: &'a Analysis,
    trace: &'a Trace,
    names: Names,
    /// By the name of a kernel: what it says of its tile.
    tiles: HashMap<StringId, Option<Tile>>,
    /// [`Product::best_fit`] on the units of the device, which many calls share.
    fits: HashMap<Product, f64>,
    /// The devices that the advice is about; `None` of all.
    devices: Option<BTreeSet<i64>>,
}

impl<'a> Builder<'a> {
    fn new(analysis: &'a Analysis) -> Self {
        let devices = analysis.devices_of_slowest_process();
        Builder {
            analysis,
            trace: analysis.trace(),
            names: Names::default(),
            tiles: HashMap::new(),
            fits: HashMap::new(),
            devices,
        }
    }

    fn name(&mut self, string: StringId) -> u32 {
        self.names.of(self.trace, string)
    }

    /// Whether the advice is about a device event.
    fn is_meant(&self, event: EventId) -> bool {
        let is_chosen = |devices: &BTreeSet<i64>| {
            self.trace.events().device(event).is_some_and(|device| devices.contains(&device))
        };
        self.devices.as_ref().is_none_or(is_chosen)
    }

    /// What the devices are called that the advice is about, where these are not all.
    fn device(&self) -> Option<String> {
        let kind = self.trace.facts().kind_of_devices();
        let numbers: Vec<String> = self.devices.as_ref()?.iter().map(i64::to_string).collect();
        Some(match numbers.as_slice() {
            [one] => format!("{kind} {one}"),
            several => format!("{kind}s {}", several.join(", ")),
        })
    }

    /// The steps of the processes that launch on the devices.
    fn steps(&self) -> Vec<Step> {
        let (events, tracks) = (self.trace.events(), self.trace.tracks());
        let launches = self.analysis.device_events().filter(|&event| self.is_meant(event));
        let launches = launches.filter_map(|event| self.analysis.tree().recorded_launch(event));
        let processes: HashSet<RowId> = launches.map(|launch| tracks.get(events.track(launch)).pid).collect();
        let is_in_process =
            |track: Option<TrackId>| track.is_none_or(|track| processes.contains(&tracks.get(track).pid));
        steps(self.analysis, |track| self.devices.is_none() || is_in_process(track))
    }

    fn facts(mut self) -> Facts {
        let breakdown = match &self.devices {
            None => self.analysis.timeline(),
            Some(_) => self.analysis.breakdown_of(|event| self.is_meant(event)),
        };
        let Some(mut breakdown) = breakdown else { return Facts::default() };
        let between_cycles = self.analysis.between_cycles().min(breakdown.unrecorded);
        breakdown.total -= between_cycles;
        breakdown.unrecorded -= between_cycles;
        let (calls, operators, call_of) = self.calls();
        let (works, messages) = self.works(&call_of);
        let (idle, holds) = self.idle(&works);
        let program = program(self.trace);
        let events = self.trace.events();
        let held = self.analysis.device_events().filter(|&event| self.is_meant(event));
        let held = self.analysis.tree().held_by_full_queue(held);
        let full_queue =
            held.into_iter().map(|launch| Interval::between(events.start(launch), events.end(launch)));
        Facts {
            units_per_us: self.trace.time_unit().per_microsecond(),
            device: self.device(),
            program,
            sheets: if is_rocprof(self.trace) { ROCPROF_SHEETS } else { SHEETS },
            works,
            messages,
            gaps: self.gaps(&operators, program),
            replays_graphs: replays_graphs(self.trace),
            full_queue: full_queue.collect(),
            calls,
            operators,
            idle,
            unrecorded: self.analysis.unrecorded().as_slice().to_vec(),
            holds,
            breakdown,
            machine: self.analysis.architecture().map(|known| machine(known, self.multiprocessors())),
            steps: self.steps(),
            names: self.names.texts,
        }
    }

    /// Operators' calls, and the call of each device event.
    fn calls(&mut self) -> (Vec<Call>, Vec<Operator>, HashMap<EventId, u32>) {
        let events = self.trace.events();
        let mut calls: Vec<Call> = Vec::new();
        let mut operators: Vec<Operator> = Vec::new();
        let mut known: HashMap<(StringId, Option<SignatureId>, &str), u32> = HashMap::new();
        let mut call_of = HashMap::new();
        let units = self.multiprocessors();
        // Of an operator around others that have models, what is left comes kernel by kernel: one call all the same.
        let mut in_parts: HashMap<(EventId, u32), (u32, Vec<EventId>)> = HashMap::new();
        for work in self.analysis.charged_work() {
            if !work.device_events.iter().any(|&event| self.is_meant(event)) {
                continue;
            }
            let (name, signature) = (events.name(work.operator), events.signature(work.operator));
            let operator = *known.entry((name, signature, work.category)).or_insert_with(|| {
                let name = self.name(name);
                operators.push(self.operator(&work, name));
                operators.len() as u32 - 1
            });
            let next = calls.len() as u32;
            let position = match work.is_leftover && events.category(work.operator) == Category::CPU_OP {
                true => {
                    let (first, parts) =
                        in_parts.entry((work.operator, operator)).or_insert_with(|| (next, Vec::new()));
                    parts.extend(work.device_events);
                    *first
                }
                false => next,
            };
            call_of.extend(work.device_events.iter().map(|&event| (event, position)));
            if position < next {
                continue;
            }
            let module = self.module(work.operator);
            let tile = self.tile(&work);
            calls.push(Call {
                operator,
                time: work.time,
                bytes: work.bytes(),
                least: self.least(&work, units),
                tile,
                uid: events.uid(work.operator),
                module: module.map(|module| self.name(module)),
                recomputed: self.analysis.is_recomputed(work.operator),
            });
        }
        for (position, parts) in in_parts.into_values() {
            calls[position as usize].time = busy_time(events, parts);
        }
        (calls, operators, call_of)
    }

    fn operator(&self, work: &ChargedWork<'_>, name: u32) -> Operator {
        let inputs = self.analysis.with_recorded_call(work.operator, |call| inputs(&call));
        let arguments = self.trace.events().signature(work.operator).and_then(|signature| {
            let signatures = self.trace.signatures();
            let dims = signatures.get(signature).dims?;
            Some(signatures.argument(dims).display(Sequence::Tuple).to_string())
        });
        Operator {
            name,
            category: work.category.to_owned(),
            kind: Kind::all().find(|kind| kind.as_str() == work.category),
            arguments: arguments.unwrap_or_default(),
            product: self.product(work),
            change: data_change(self.trace.name(work.operator), &inputs),
            inputs,
            unknown: match work.gap {
                Some(RooflineShares::COPIES | RooflineShares::COMMUNICATION) => None,
                Some(_) if is_graph_launch(self.trace.name(work.operator)) => {
                    Some("a graph replay; expand it with its captures (tracelens inference --capture_folder)")
                }
                gap => gap,
            },
        }
    }

    /// The work of a call at the peaks of the device.
    fn least(&mut self, work: &ChargedWork<'_>, units: Option<u64>) -> Option<LeastTime> {
        let figures = work.figures.as_ref()?;
        // Figures of backward work are of all of it, of which these device events may be a part.
        let time_us = self.trace.to_microseconds(work.time);
        let part = if figures.time_us > 0.0 { (time_us / figures.time_us).min(1.0) } else { 1.0 };
        let product = units.and_then(|units| Some((self.product(work)?, units)));
        let fit = |(product, units)| *self.fits.entry(product).or_insert_with(|| product.best_fit(units));
        let quantisation = product.map(fit);
        least_time(figures, part, work.category, work.parameters, quantisation, self.analysis.architecture())
    }

    /// The matrix product that a call is, by the parameters of its model.
    fn product(&self, work: &ChargedWork<'_>) -> Option<Product> {
        let parameter = |name| match work.parameters.iter().find(|parameter| parameter.0 == name)?.1 {
            Value::Int(value) => u64::try_from(value).ok(),
            _ => None,
        };
        let batch = parameter("B").unwrap_or(1);
        Some(Product { m: parameter("M")?, n: parameter("N")?, k: parameter("K")?, batch })
    }

    /// The tile of a product whose inner extent is not cut, as the name of its kernel tells it.
    fn tile(&mut self, work: &ChargedWork<'_>) -> Option<Tile> {
        self.product(work)?;
        let trace = self.trace;
        let named_tile = |name: StringId| {
            let name = trace.text(name);
            let is_cut =
                ["splitK", "SplitK", "_SK3_", "_SK1_", "StreamK"].iter().any(|text| name.contains(text));
            // BLAS's m is the second extent of PyTorch's result.
            tile_of_gemm(name).filter(|_| !is_cut).map(|(m, n)| (n, m))
        };
        let names = work.device_events.iter().map(|&event| trace.events().name(event));
        names.into_iter().find_map(|name| *self.tiles.entry(name).or_insert_with(|| named_tile(name)))
    }

    fn multiprocessors(&self) -> Option<u64> {
        let mut devices = self.trace.facts().devices.iter();
        devices.find_map(|device| u64::try_from(device.multiprocessors?).ok()).filter(|&count| count > 0)
    }

    /// The nearest module around an operator, where frames were read.
    fn module(&self, operator: EventId) -> Option<StringId> {
        let (tree, events) = (self.analysis.tree(), self.trace.events());
        if !tree.options().python_frames {
            return None;
        }
        let mut above = tree.ancestors(operator).take(MODULE_DEPTH);
        let module = above.find(|&frame| {
            events.category(frame) == Category::PYTHON_FUNCTION && is_module_frame(self.trace.name(frame))
        })?;
        Some(events.name(module))
    }

    fn works(&mut self, call_of: &HashMap<EventId, u32>) -> (Vec<Work>, Vec<Message>) {
        let events = self.trace.events();
        let mut messages = Vec::new();
        let counted = self.analysis.counted_activities().filter(|&(event, _)| self.is_meant(event));
        let mut counted: Vec<_> = counted.collect();
        counted.sort_by_key(|&(event, _)| (events.start(event), event));
        let works = counted.into_iter().map(|(event, activity)| Work {
            event: self.analysis.device_event(event, activity),
            name: self.name(events.name(event)),
            launched: self.analysis.tree().recorded_launch(event).map(|launch| events.end(launch)),
            call: call_of.get(&event).copied(),
            exposed: 0,
            uid: events.uid(event),
            copy: copied(self.trace, event),
            message: self.message(event, &mut messages),
        });
        let works = Work::charged(works.collect());
        (works, messages)
    }

    /// The place of what a collective exchanges, where its size and link are known.
    fn message(&self, event: EventId, messages: &mut Vec<Message>) -> Option<u32> {
        let found = self.analysis.message(event)?;
        let is_equal = |known: &Message| {
            known.name == found.name && known.bytes == found.bytes && known.devices == found.devices
        };
        let known = messages.iter().position(is_equal);
        let position = known.or_else(|| {
            let link = self.analysis.architecture()?.group_link(found.devices)?;
            messages.push(Message {
                name: found.name.to_owned(),
                bytes: found.bytes,
                bus_bytes: found.bytes * found.bus_factor,
                devices: found.devices,
                link,
            });
            Some(messages.len() - 1)
        });
        position.map(|position| position as u32)
    }

    fn idle(&mut self, works: &[Work]) -> (Vec<Wait<u32>>, Vec<Hold>) {
        let events = self.trace.events();
        let (stretches, holding) = self.analysis.idle_stretches(|event| self.is_meant(event));
        let work_of: HashMap<u32, u32> = works.iter().zip(0..).map(|(work, at)| (work.uid, at)).collect();
        let hold_of: HashMap<EventId, u32> =
            holding.iter().zip(0..).map(|(hold, at)| (hold.event, at)).collect();
        // Nobody knows whether the device was idle where nothing is recorded.
        let known = stretches.into_iter().filter(|wait| wait.cause != WaitCause::NotRecorded);
        let idle = known.filter_map(|Wait { span, event, cause, waited_for }| {
            let waited_for = waited_for.and_then(|held_by| hold_of.get(&held_by).copied());
            Some(Wait { span, event: *work_of.get(&events.uid(event))?, cause, waited_for })
        });
        let idle = idle.collect();
        let holds = holding.into_iter().map(|hold| Hold {
            kind: hold.activity,
            time: Interval::between(events.start(hold.event), events.end(hold.event)),
            name: self.name(events.name(hold.event)),
            uid: events.uid(hold.event),
        });
        (idle, holds.collect())
    }

    fn gaps(&self, operators: &[Operator], program: Program) -> Vec<RecordingGap> {
        let (trace, coverage) = (self.trace, self.analysis.coverage());
        let unlinked = coverage.unlinked_time_us / (coverage.linked_time_us + coverage.unlinked_time_us);
        let has_frames = || {
            let events = trace.events();
            let is_frame = |event: EventId| events.category(event) == Category::PYTHON_FUNCTION;
            trace.skipped_frames() > 0
                || !events.arguments().call_stack.is_empty()
                || events.ids().any(is_frame)
        };
        let recorder = &trace.facts().recorder;
        // Profiles of the runtime alone have no operators by their nature.
        let is_pytorch =
            program == Program::PyTorch && (recorder.operators || recorder.kind == Some(RecordingKind::Nsys));
        let lacks_shapes = || {
            trace.facts().record_shapes == Some(false)
                || operators.iter().all(|operator| operator.arguments.is_empty())
        };
        let gpu_only = self.analysis.is_gpu_only();
        let lacks_launches = !gpu_only && 100.0 * unlinked >= 100.0 - LINKED_ENOUGH;
        let began_before = || self.analysis.unlinked_events().iter().all(|unlinked| unlinked.is_from_before);
        let lacks = [
            (RecordingGap::CutOff, lost_events(trace)),
            (RecordingGap::Operators, gpu_only && is_pytorch),
            (RecordingGap::Launches, lacks_launches && !began_before()),
            (RecordingGap::EarlierLaunches, lacks_launches && began_before()),
            (RecordingGap::Shapes, !gpu_only && recorder.shapes && lacks_shapes()),
            (RecordingGap::Device, !gpu_only && self.analysis.architecture().is_none()),
            (RecordingGap::Stacks, !gpu_only && recorder.python_frames && !has_frames()),
        ];
        lacks.into_iter().filter(|(_, lacks)| *lacks).map(|(gap, _)| gap).collect()
    }
}

/// The tensors that an operator was given.
fn inputs(call: &OpCall<'_>) -> Vec<Input> {
    let tensors = (0..call.input_count()).filter(|&index| call.has_dimensions(index));
    let inputs = tensors.filter_map(|index| {
        let tensor = call.tensor(index).ok()?;
        Some(Input { shape: tensor.shape, element_bytes: number_size(&tensor.element_type)? })
    });
    inputs.collect()
}

/// What an operator of PyTorch changes besides values.
fn data_change(name: &str, inputs: &[Input]) -> Option<DataChange> {
    match (name, inputs) {
        ("aten::copy_", [to, from, ..]) if to.element_bytes != from.element_bytes => Some(DataChange::Type),
        ("aten::copy_" | "aten::clone" | "aten::contiguous", _) => Some(DataChange::Copy),
        ("aten::_to_copy" | "aten::to", _) => Some(DataChange::Type),
        _ => None,
    }
}

fn is_rocprof(trace: &Trace) -> bool {
    trace.facts().recorder.kind == Some(RecordingKind::Rocprof)
}

/// Whether a call replays a graph. Names of calls are short.
fn replays_graphs(trace: &Trace) -> bool {
    const LONGEST: usize = 40;
    trace.strings().iter().any(|(_, text)| text.len() <= LONGEST && is_graph_launch(text))
}

/// What the program is written with, as far as the recording tells: Nsight Systems records programs of any kind.
fn program(trace: &Trace) -> Program {
    let has_pytorch_kernels = || trace.strings().iter().any(|(_, text)| text.contains("at::native::"));
    match trace.facts().recorder.kind {
        Some(RecordingKind::Rocprof) => Program::Native,
        Some(RecordingKind::Nsys) if !has_pytorch_kernels() => Program::Native,
        Some(RecordingKind::XPlane) => Program::Xla,
        _ => Program::PyTorch,
    }
}

#[cfg(test)]
mod tests {
    use trace_ingest::{ArgumentValue, EventArguments, RecorderFacts, TraceBuilder, TraceFacts};
    use tree_perf::AnalysisOptions;

    use super::*;

    #[test]
    fn nsight_systems_records_pytorch_only_where_its_kernels_are() {
        for (kernel, expected) in [
            ("void at::native::vectorized_elementwise_kernel<4>", Program::PyTorch),
            ("void mul_mat_q<(ggml_type)2>", Program::Native),
        ] {
            let mut builder = TraceBuilder::new();
            let stream = builder.track(0, 7);
            builder.event(Category::KERNEL, kernel, stream, 0, 1_000, EventArguments::default());
            builder.facts(TraceFacts {
                recorder: RecorderFacts { kind: Some(RecordingKind::Nsys), ..RecorderFacts::default() },
                ..TraceFacts::default()
            });
            assert_eq!(program(&builder.finish()), expected, "{kernel}");
        }
    }

    /// Three decompositions of a matrix, each a copy, then 40 kernels in turn of two kinds.
    fn decompositions() -> Analysis {
        let mut builder = TraceBuilder::new();
        let (host, stream) = (builder.track(1, 1), builder.track(0, 7));
        let list = |items: Vec<ArgumentValue>| Some(ArgumentValue::List(items));
        let matrix = || ArgumentValue::List(vec![ArgumentValue::Int(256), ArgumentValue::Int(256)]);
        let float = || ArgumentValue::Text("float".to_owned());
        let signature = builder.signature([list(vec![matrix()]), list(vec![float()]), None, None]);
        let of_copy = [list(vec![matrix(), matrix()]), list(vec![float(), float()]), None, None];
        let of_copy = builder.signature(of_copy);
        let mut correlation = 0;
        for call in 0..3 {
            let at = call * 10_000_000;
            let with = |signature| EventArguments { signature: Some(signature), ..EventArguments::default() };
            builder.event(Category::CPU_OP, "aten::_linalg_svd", host, at, 2_000_000, with(signature));
            builder.event(Category::CPU_OP, "aten::copy_", host, at + 1_000, 10_000, with(of_copy));
            for kernel in 0..41 {
                correlation += 1;
                let arguments =
                    EventArguments { correlation: Some(correlation), ..EventArguments::default() };
                let launched = at + if kernel == 0 { 2_000 } else { 20_000 + kernel * 10_000 };
                builder.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", host, launched, 1_000, arguments);
                let (name, length) = match kernel {
                    0 => ("copy", 2_000),
                    kernel if kernel % 2 == 0 => ("rotate", 150_000),
                    _ => ("small", 5_000),
                };
                let arguments = EventArguments { device: Some(0), stream: Some(7), ..arguments };
                let start = at + 100_000 + kernel * 160_000;
                builder.event(Category::KERNEL, name, stream, start, length, arguments);
            }
        }
        Analysis::new(builder.finish(), AnalysisOptions::default())
    }

    #[test]
    fn kernels_of_one_call_are_not_held_against_each_other() {
        let analysis = decompositions();
        let (calls, ..) = Builder::new(&analysis).calls();
        // A copy and the rest each, of 20 long and 20 short kernels.
        let times: Vec<i64> = calls.iter().map(|call| call.time).collect();
        assert_eq!(times, [2_000, 2_000, 2_000, 3_100_000, 3_100_000, 3_100_000]);
        let advice = trace_advice(&analysis, None, None, &Limits::default());
        let finding = |rule: &str| advice.findings.iter().find(|finding| finding.rule == rule);
        assert!(finding("KERNEL-EFF-REL").is_none(), "{:#?}", advice.findings);
        let unmodelled = &finding("UNMODELLED").unwrap().evidence;
        assert!(unmodelled.iter().any(|text| text.starts_with("3 calls, ")), "{unmodelled:?}");
    }

    #[test]
    fn of_several_processes_the_slowest_is_advised_by_its_own_devices() {
        let mut builder = TraceBuilder::new();
        let mut correlation = 0;
        // While one device works without a break, the other waits for each launch.
        for (device, length, period) in [(0, 170_000, 170_000), (1, 250_000, 300_000)] {
            let (host, stream) = (builder.track(10 + device, 1), builder.track(device, 7));
            for kernel in 0..20 {
                correlation += 1;
                let launch = EventArguments { correlation: Some(correlation), ..EventArguments::default() };
                let start = 100_000 + kernel * period;
                builder.event(
                    Category::CUDA_RUNTIME,
                    "cudaLaunchKernel",
                    host,
                    start - 20_000,
                    5_000,
                    launch,
                );
                let arguments = EventArguments { device: Some(device), stream: Some(7), ..launch };
                builder.event(Category::KERNEL, "kernel", stream, start, length, arguments);
            }
        }
        let analysis = Analysis::new(builder.finish(), AnalysisOptions::default());
        assert!(analysis.timeline().unwrap().idle < 20 * 50_000 / 2);
        let advice = trace_advice(&analysis, None, None, &Limits::default());
        assert_eq!(advice.device.as_deref(), Some("GPU 1"));
        assert_eq!(advice.window_us, 5_950.0);
        let finding = advice.findings.iter().find(|finding| finding.rule == "IDLE-LAUNCH").unwrap();
        let amount = finding.amount_us.unwrap();
        assert!((900.0..=950.0).contains(&amount), "{amount}");
        assert!(finding.subject.ends_with(", on GPU 1"), "{}", finding.subject);
    }
}
