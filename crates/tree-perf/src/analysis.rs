//! A trace made ready for its sheets.

use std::sync::OnceLock;

use gpu_timeline::{Activity, Breakdown, DeviceEvent, IntervalSet, Overlaps, overlaps};
use iterations::{DetectOptions, Iterations, MeasuredIterations};
use operator_sheets::{Iterated, IterationWork};
use perf_models::{Architecture, Device, OpCall, architecture_of_device};
use trace_ingest::{Category as EventCategory, EventId, Trace};
use trace2tree::{EventSet, PassError, TraceTree, insert_pseudo_operators, normalise_names};

use crate::analysis_extension::{AnalysisExtension, TreeChanges};
use crate::conventions::RecomputeRule;
use crate::derived::Derived;
use crate::device::DeviceEvents;
use crate::extended_operators::ExtendedOperators;
use crate::launchers::{LauncherRow, LauncherWork, Launchers};
use crate::models::Models;
use crate::notice::Notice;
use crate::options::AnalysisOptions;
use crate::other_run::{OtherRun, SharedWork};

/// A trace with its tree, its device events and the operators that launched them: what all sheets are
/// made from.
pub struct Analysis {
    tree: TraceTree,
    options: AnalysisOptions,
    pub(crate) device: DeviceEvents,
    pub(crate) launchers: Launchers,
    /// Recomputed work; `None` when nobody asked.
    recomputed: OnceLock<EventSet>,
    overlaps: OnceLock<OverlapIndex>,
    models: Models,
    pub(crate) derived: Derived,
    /// As asked for, else that of the device that the trace names.
    architecture: Option<Architecture>,
    /// Passes for pseudo operators that could not run, and why.
    failed_passes: Vec<(String, PassError)>,
    /// What the extension's rule on the tree had to say.
    rule_notices: Vec<Notice>,
    timeline: OnceLock<Option<Breakdown>>,
    coverage: OnceLock<Coverage>,
    iterations: OnceLock<MeasuredIterations>,
    /// What the program did for its users in each of the steps.
    work: OnceLock<Vec<IterationWork>>,
    /// Who knows that, where nobody told it.
    work_of_steps: Option<WorkOfSteps>,
    /// Whether the trace is a window of a recording.
    is_window: bool,
    /// What another run takes, where the two were compared.
    other_run: Option<OtherRun>,
}

/// Says what the program did for its users in each of the steps of [`Analysis::iterations`], in their order. Called once,
/// by the first sheet that shows it.
pub type WorkOfSteps = fn(&Analysis) -> Vec<IterationWork>;

/// Device time that is part of the figures, and that is not.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Coverage {
    /// Device events whose launch is in the trace.
    pub linked_events: usize,
    /// Device events whose launch is not.
    pub unlinked_events: usize,
    /// Sum in µs of the durations of the linked ones.
    pub linked_time_us: f64,
    /// Sum in µs of the durations of the others.
    pub unlinked_time_us: f64,
}

impl Iterated for Analysis {
    fn iterations(&self) -> Option<&MeasuredIterations> {
        self.options.conventions.is_full().then(|| self.iterations())
    }

    fn ms(&self, time: f64) -> f64 {
        time / (self.trace().time_unit().per_microsecond() * 1000) as f64
    }

    const KNOWS_WORK: bool = true;

    fn iterations_of_window(&self) -> Option<usize> {
        self.is_window.then(|| self.iterations().several_whole_steps())?
    }

    fn work(&self) -> &[IterationWork] {
        self.work.get_or_init(|| self.work_of_steps.map_or_else(Vec::new, |work| work(self)))
    }
}

impl Analysis {
    /// Builds the tree and finds the launchers.
    pub fn new(trace: Trace, options: AnalysisOptions) -> Self {
        Self::with_tree(TraceTree::build(trace, &options.tree_options()), options, None)
    }

    /// The same of a tree that was built before, from [`AnalysisOptions::tree_options`], and perhaps changed.
    pub fn from_tree(tree: TraceTree, options: AnalysisOptions) -> Self {
        Self::with_tree(tree, options, None)
    }

    /// [`Analysis::from_tree`] with an extension, see [`Analysis::with_extension`].
    pub fn from_tree_with_extension(
        tree: TraceTree,
        options: AnalysisOptions,
        extension: Box<dyn AnalysisExtension>,
    ) -> Self {
        Self::with_tree(tree, options, Some(extension))
    }

    /// The same with models, categories, sheets and a rule on the tree beside the built-in ones. The rule runs after
    /// the pseudo operators are inserted and before recomputed work is detected.
    pub fn with_extension(
        trace: Trace,
        options: AnalysisOptions,
        extension: Box<dyn AnalysisExtension>,
    ) -> Self {
        Self::with_tree(TraceTree::build(trace, &options.tree_options()), options, Some(extension))
    }

    fn with_tree(
        mut tree: TraceTree,
        mut options: AnalysisOptions,
        extension: Option<Box<dyn AnalysisExtension>>,
    ) -> Self {
        options.adapt_to(tree.trace().facts());
        normalise_names(&mut tree);
        let failed_passes = match options.enable_pseudo_ops {
            true => insert_pseudo_operators(&mut tree),
            false => Vec::new(),
        };
        let mut rule_notices = Vec::new();
        let extended = extension.map(|extension| {
            let changes = extension.change_tree(&mut tree).unwrap_or_else(|error| {
                let failed = Notice::ExtensionRuleFailed { reason: error.to_string() };
                TreeChanges { notices: vec![failed], ..TreeChanges::default() }
            });
            rule_notices = changes.notices;
            ExtendedOperators::new(extension, changes.attributes, tree.trace())
        });
        let device = DeviceEvents::collect(&tree, &options.communication);
        let models = Models::new(tree.trace(), extended, &options.communication, options.conventions.models);
        models.prepare_extension(&tree);
        let launchers = Launchers::find(&tree, &options.communication, &models, &options.conventions);
        let given = options.architecture.as_ref().or_else(|| recognised_architecture(tree.trace()));
        let architecture = given.map(|architecture| architecture.with_basis(options.peak_basis()));
        Analysis {
            tree,
            options,
            device,
            launchers,
            recomputed: OnceLock::new(),
            overlaps: OnceLock::new(),
            models,
            derived: Derived::default(),
            architecture,
            failed_passes,
            rule_notices,
            timeline: OnceLock::new(),
            coverage: OnceLock::new(),
            iterations: OnceLock::new(),
            work: OnceLock::new(),
            work_of_steps: None,
            is_window: false,
            other_run: None,
        }
    }

    /// The tree.
    pub fn tree(&self) -> &TraceTree {
        &self.tree
    }

    /// The trace.
    pub fn trace(&self) -> &Trace {
        self.tree.trace()
    }

    /// What was asked for, adapted to what the recorder of the trace can know.
    pub fn options(&self) -> &AnalysisOptions {
        &self.options
    }

    /// Whether the trace has device events but no operators: only the device's own sheets can be made.
    pub fn is_gpu_only(&self) -> bool {
        let events = self.trace().events();
        !events.ids().any(|event| events.category(event) == EventCategory::CPU_OP)
    }

    /// Number of device events, with a launch or without.
    pub fn device_event_count(&self) -> usize {
        self.device.len()
    }

    /// The operators that launched device work, by start: what the operator sheets count. Empty for a trace of the
    /// device alone.
    pub fn launchers(&self) -> impl ExactSizeIterator<Item = LauncherRow<'_>> + Clone {
        self.launchers.iter().map(|launcher| LauncherRow {
            event: launcher.event,
            direct_time: launcher.direct_time,
            kernels: self.launchers.kernels(launcher),
        })
    }

    /// The work of the [launchers](Self::launchers) by its kind, those of each launcher by their first device event.
    pub fn work(&self) -> impl Iterator<Item = LauncherWork<'_>> {
        self.launchers.iter().flat_map(|launcher| {
            self.launchers.parts(launcher).iter().enumerate().map(|(at, part)| LauncherWork {
                event: part.event,
                category: part.category.as_str(),
                is_first: at == 0,
                direct_time: part.direct_time,
                subtree_time: part.subtree_time,
                kernels: self.launchers.kernels_of_part(part),
            })
        })
    }

    /// All device events, in file order.
    pub fn device_events(&self) -> impl ExactSizeIterator<Item = EventId> + '_ {
        self.device.ids.iter().copied()
    }

    /// All device events with what the device does in them, in file order.
    pub fn activities(&self) -> impl ExactSizeIterator<Item = (EventId, Activity)> + '_ {
        self.device.ids.iter().copied().zip(self.device.activity.iter().copied())
    }

    /// What the pseudo operators and the extension's rule on the tree had to say.
    pub(crate) fn pass_notices(&self) -> impl Iterator<Item = Notice> {
        let failed = self
            .failed_passes
            .iter()
            .map(|(pass, error)| Notice::PassFailed { pass: pass.clone(), reason: error.to_string() });
        failed.chain(self.rule_notices.iter().cloned())
    }

    /// What the device can do at most: as asked for, else by the device that the trace names.
    pub fn architecture(&self) -> Option<&Architecture> {
        self.architecture.as_ref()
    }

    /// Hands the call of an operator, as it was recorded, to `ask`.
    pub fn with_recorded_call<T>(&self, event: EventId, ask: impl FnOnce(OpCall<'_>) -> T) -> T {
        let trace = self.trace();
        ask(self.models.recorded(trace, trace.events().signature(event)).call(trace.name(event)))
    }

    /// The performance models of the operators.
    pub(crate) fn models(&self) -> &Models {
        &self.models
    }

    /// A time in µs.
    pub(crate) fn us(&self, time: i64) -> f64 {
        self.trace().to_microseconds(time)
    }

    pub(crate) fn ms(&self, time: i64) -> f64 {
        Iterated::ms(self, time as f64)
    }

    /// Whether an event is recomputed work that the sheets are to tell apart.
    pub fn is_recompute(&self, event: EventId) -> bool {
        self.options.detect_recompute && self.is_recomputed(event)
    }

    /// Whether an event is work that activation checkpointing repeats, asked for in the sheets or not.
    pub fn is_recomputed(&self, event: EventId) -> bool {
        let recomputed = self.recomputed.get_or_init(|| {
            let mut roots = self.tree.recompute_roots();
            if self.options.conventions.recompute == RecomputeRule::FramesAndCalls {
                roots.extend(self.tree.forward_events_in_backward());
            }
            self.tree.events_below(&roots)
        });
        recomputed.contains(event)
    }

    /// The device events that the timeline counts, with what the device does in them, in file order.
    pub fn counted_activities(&self) -> impl Iterator<Item = (EventId, Activity)> + '_ {
        self.counted().map(|position| (self.device.ids[position], self.device.activity[position]))
    }

    /// A device event as functions of time take it, with its launch where the recording has it.
    pub fn device_event(&self, event: EventId, activity: Activity) -> DeviceEvent {
        let events = self.trace().events();
        let launch = self.tree.recorded_launch(event).map(|launch| events.start(launch));
        DeviceEvent::new(events.start(event), events.end(event), activity)
            .on(events.device(event), events.stream(event))
            .launched(launch)
    }

    /// Positions of the device events that the timeline counts.
    pub(crate) fn counted(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        let all = self.options.include_unlinked_kernels;
        (0..self.device.len()).filter(move |&position| all || self.device.linked[position])
    }

    /// Breakdown of those of the device events that the timeline counts which are meant; `None` without any.
    pub fn breakdown_of(&self, is_meant: impl Fn(EventId) -> bool) -> Option<Breakdown> {
        let meant: Vec<usize> = self.counted().filter(|&at| is_meant(self.device.ids[at])).collect();
        self.breakdown(meant.into_iter())
    }

    /// Breakdown of the device events at the given positions.
    pub(crate) fn breakdown(&self, positions: impl Iterator<Item = usize>) -> Option<Breakdown> {
        let threshold = self
            .options
            .micro_idle_thresh_us
            .map(|us| (us * self.trace().time_unit().per_microsecond() as f64).round() as i64);
        let events = positions.map(|at| self.device.timeline_event(self.trace(), at));
        Breakdown::from_partial_events(events, threshold, self.unrecorded())
    }

    /// Time in which devices may have worked without a record, which is no idle time.
    pub fn unrecorded(&self) -> &IntervalSet {
        unrecorded_time(&self.tree, &self.options)
    }

    /// Time between cycles of the recorder, which says nothing of the program.
    pub fn between_cycles(&self) -> i64 {
        let gaps = &self.tree.unrecorded().between_cycles;
        gaps.iter().map(|(gap, _)| self.unrecorded().shared_time(*gap)).sum()
    }

    /// Breakdown of everything that the timeline counts; `None` without device events. Computed once.
    pub fn timeline(&self) -> Option<Breakdown> {
        *self.timeline.get_or_init(|| self.breakdown(self.counted()))
    }

    /// The iterations of the program, measured by the device events that the timeline counts. Detected once.
    pub fn iterations(&self) -> &MeasuredIterations {
        self.iterations
            .get_or_init(|| self.measured(Iterations::detect(&self.tree, &DetectOptions::default())))
    }

    /// The iterations of a recording as an analysis with these options would measure them; for that of a window of it.
    #[must_use]
    pub fn iterations_of(tree: &TraceTree, options: &AnalysisOptions) -> MeasuredIterations {
        let mut options = options.clone();
        options.adapt_to(tree.trace().facts());
        let device = DeviceEvents::collect(tree, &options.communication);
        let counted = (0..device.len()).filter(|&at| options.include_unlinked_kernels || device.linked[at]);
        let counted: Vec<_> = counted.map(|at| (device.ids[at], device.activity[at])).collect();
        let found = Iterations::detect(tree, &DetectOptions::default());
        MeasuredIterations::new(tree, found, &counted, unrecorded_time(tree, &options))
    }

    /// Says that the trace is a window of a recording, with these iterations in it. The steps of `whole` are those of the
    /// recording, where the window is made of steps.
    pub fn look_at(&mut self, detected: Iterations, whole: Option<&MeasuredIterations>) {
        self.is_window = true;
        let measured = self.measured(detected);
        self.iterations = OnceLock::from(match whole {
            Some(whole) => measured.with_steps_of(whole),
            None => measured,
        });
    }

    /// Sets who knows the work of the steps.
    pub fn know_work_of_steps(&mut self, work: WorkOfSteps) {
        self.work_of_steps = Some(work);
    }

    /// Says the work of the steps itself, which is then not asked for. What was said first stands.
    pub fn tell_work(&self, work: Vec<IterationWork>) {
        self.work.get_or_init(|| work);
    }

    /// Attaches the other run's times; `unified_perf_summary` shows them.
    pub fn compare_with(&mut self, work: Vec<SharedWork>) {
        self.other_run = Some(OtherRun::new(self.trace(), work));
    }

    pub(crate) fn other_run(&self) -> Option<&OtherRun> {
        self.other_run.as_ref()
    }

    fn measured(&self, detected: Iterations) -> MeasuredIterations {
        let counted: Vec<_> = self.counted_activities().collect();
        MeasuredIterations::new(&self.tree, detected, &counted, self.unrecorded())
    }

    /// How much device time the figures cover. Computed once.
    pub fn coverage(&self) -> Coverage {
        *self.coverage.get_or_init(|| self.find_coverage())
    }

    fn find_coverage(&self) -> Coverage {
        let sums = |linked: bool| {
            let chosen = self.device.ids.iter().zip(&self.device.linked).filter(|&(_, &is)| is == linked);
            let time = chosen.clone().map(|(&id, _)| self.trace().events().duration(id)).sum();
            (chosen.count(), self.us(time))
        };
        let ((linked_events, linked_time_us), (unlinked_events, unlinked_time_us)) =
            (sums(true), sums(false));
        Coverage { linked_events, unlinked_events, linked_time_us, unlinked_time_us }
    }

    /// The device events that take part in overlap, and which of them ran at the same time. Computed once,
    /// over all of them: a part of the events would freeze a part of the answer.
    pub(crate) fn overlaps(&self) -> &OverlapIndex {
        self.overlaps.get_or_init(|| OverlapIndex::new(self))
    }
}

fn unrecorded_time<'t>(tree: &'t TraceTree, options: &AnalysisOptions) -> &'t IntervalSet {
    static NONE: IntervalSet = IntervalSet::EMPTY;
    if options.conventions.is_full() { &tree.unrecorded().time } else { &NONE }
}

/// The bundled architecture of the first device that the trace describes.
fn recognised_architecture(trace: &Trace) -> Option<&'static Architecture> {
    trace.facts().devices.iter().find_map(|device| {
        architecture_of_device(&Device {
            name: device.name.as_deref().unwrap_or_default(),
            memory_bytes: device.total_memory,
            multiprocessors: device.multiprocessors.and_then(|count| u32::try_from(count).ok()),
            compute_capability: device
                .compute_major
                .zip(device.compute_minor)
                .and_then(|(major, minor)| Some((u32::try_from(major).ok()?, u32::try_from(minor).ok()?))),
        })
    })
}

/// Overlaps between the device events that the timeline counts.
pub(crate) struct OverlapIndex {
    /// Device events by their position in `events`.
    pub(crate) ids: Vec<EventId>,
    pub(crate) events: Vec<DeviceEvent>,
    pub(crate) overlaps: Overlaps,
}

impl OverlapIndex {
    fn new(analysis: &Analysis) -> Self {
        let (ids, events): (Vec<EventId>, Vec<DeviceEvent>) = analysis
            .counted_activities()
            .map(|(id, activity)| (id, analysis.device_event(id, activity)))
            .unzip();
        let owners: Vec<Option<u32>> =
            ids.iter().map(|&id| analysis.tree.operator(id).map(|operator| operator.0)).collect();
        let microsecond = analysis.trace().time_unit().per_microsecond();
        let overlaps = overlaps(&events, &owners, microsecond);
        OverlapIndex { ids, events, overlaps }
    }

    pub(crate) fn position(&self, event: EventId) -> Option<u32> {
        self.ids.binary_search(&event).ok().map(|position| position as u32)
    }
}
