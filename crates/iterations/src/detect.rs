//! The detector: what each kind of evidence shows, put together to levels.

mod cut;
mod found;
mod frames;
mod generation;
mod host;
mod marks;
mod names;
mod programs;
mod repeats;
mod sequence;
mod training;

use gpu_timeline::{SortFew, upper_median};
use trace_ingest::{RecordingKind, RowId, TrackId};
use trace2tree::TraceTree;

use crate::level::{Evidence, Iteration, Level, LevelKind};
use crate::program::{self, Program};
use crate::reason::Reason;
use cut::Block;
use found::Found;
pub(crate) use host::last_dimension;
use host::{Item, Process};
use marks::{Mark, MarkGroup, MarkKind};
use names::Names;
use sequence::Outermost;
use training::{Stretch, Training};

/// What the detector may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DetectOptions {
    /// Marks that say step: `ProfilerStep#12`, annotations of engines, runs of XLA programs, and ranges of a marker
    /// library that tile, where other ranges may be used too.
    pub use_recorded_steps: bool,
    /// Other ranges that the program named.
    pub use_annotations: bool,
    /// Python frames, where the tree has them.
    pub use_frames: bool,
}

impl Default for DetectOptions {
    fn default() -> Self {
        DetectOptions { use_recorded_steps: true, use_annotations: true, use_frames: true }
    }
}

/// The iterations of a program on all levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Iterations {
    pub(crate) levels: Vec<Level>,
    pub(crate) steps: Option<usize>,
    pub(crate) reason: Reason,
    pub(crate) program: Program,
}

impl Iterations {
    /// Finds the iterations of a trace. Where nothing repeats there are no levels, and [`Iterations::reason`] says why.
    ///
    /// Takes time in proportion to the number of events.
    #[must_use]
    pub fn detect(tree: &TraceTree, options: &DetectOptions) -> Iterations {
        let trace = tree.trace();
        let mut groups = marks::groups(trace);
        let names_kind = |kind: MarkKind| groups.iter().any(|group| group.kind == kind);
        let engine_steps = options.use_recorded_steps && names_kind(MarkKind::EngineStep);
        let images = options.use_recorded_steps && names_kind(MarkKind::Image);
        let program = program::classify(trace, engine_steps, images);
        groups.retain(|group| match group.kind {
            MarkKind::ProfilerStep | MarkKind::EngineStep | MarkKind::Image => options.use_recorded_steps,
            MarkKind::NextBatch | MarkKind::OptimizerStep | MarkKind::Named(_) => options.use_annotations,
        });

        let marked: Vec<&MarkGroup> =
            groups.iter().filter(|group| group.kind == MarkKind::ProfilerStep).collect();
        let program_iterations =
            if options.use_recorded_steps { programs::find(tree, &marked) } else { None };
        if let Some(found) = program_iterations {
            return Iterations::new(found, program);
        }
        let mut found = Found::default();
        let mut names = Names::new(trace.strings());
        let processes = host::processes(tree, &mut names);
        let lender = marks_without_work(&groups, &processes);
        for (place, process) in processes.iter().enumerate() {
            // The marks of a process that launches nothing are those of the one that works for it.
            let is_in_process = |group: &&MarkGroup| match lender == Some(group.pid) {
                true => place == 0,
                false => group.pid == process.pid,
            };
            let process_groups: Vec<&MarkGroup> = groups.iter().filter(is_in_process).collect();
            let finder = Finder { tree, options, program, process, groups: process_groups };
            found.merge(finder.find());
        }
        // Marks may stand alone, without anything that ran in them.
        for pid in pids_without(&groups, &processes).into_iter().filter(|&pid| lender != Some(pid)) {
            found.merge(bare_marks(groups.iter().filter(|group| group.pid == pid)));
        }
        Iterations::new(found, program)
    }

    /// The levels that can be trusted, of what was found.
    fn new(found: Found, program: Program) -> Iterations {
        let mut levels = found.others;
        let (name, reason) = match found.steps {
            Some((level, reason)) => {
                let key = (level.kind, level.name.clone(), level.evidence);
                levels.push(level);
                (Some(key), reason)
            }
            None => (None, found.failure.unwrap_or(Reason::NothingRecorded)),
        };
        levels.retain(|level| !level.iterations.is_empty() && level.confidence >= LEAST_CONFIDENCE);
        for level in &mut levels {
            level.iterations.sort_few_by_key(|iteration| (iteration.track, iteration.start, iteration.end));
            // Where evidence of two kinds meets, an iteration ends before the next begins.
            for at in 1..level.iterations.len() {
                let Iteration { track, start, .. } = level.iterations[at];
                let before = &mut level.iterations[at - 1];
                if before.track == track {
                    before.end = before.end.min(start);
                }
            }
            level.iterations.sort_few_by_key(|iteration| (iteration.start, iteration.end, iteration.track));
        }
        let length = |level: &Level| {
            let total: i64 = level.iterations.iter().map(|one| one.end.saturating_sub(one.start)).sum();
            total / level.iterations.len().max(1) as i64
        };
        levels.sort_few_by_key(|level| (std::cmp::Reverse(length(level)), level.evidence, level.kind));
        let steps = levels
            .iter()
            .position(|level| name.as_ref() == Some(&(level.kind, level.name.clone(), level.evidence)));
        let reason = if steps.is_none() && name.is_some() { Reason::NothingRepeats } else { reason };
        Iterations { levels, steps, reason, program }
    }

    /// All levels, outermost first.
    #[must_use]
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The level that a person would call steps.
    #[must_use]
    pub fn steps(&self) -> Option<&Level> {
        self.levels.get(self.steps?)
    }

    /// Why [`Iterations::steps`] is the level that it is, or why there is none.
    #[must_use]
    pub fn reason(&self) -> &Reason {
        &self.reason
    }

    /// What kind of program was recorded.
    #[must_use]
    pub fn program(&self) -> Program {
        self.program
    }
}

/// Processes that have marks and nothing else, in the order of their marks.
fn pids_without(groups: &[MarkGroup], processes: &[Process]) -> Vec<RowId> {
    let mut pids: Vec<RowId> = groups.iter().map(|group| group.pid).collect();
    pids.dedup();
    pids.retain(|pid| processes.iter().all(|process| process.pid != *pid));
    pids
}

/// The process that marked the steps, where it launched no device work and the others, which did, marked none: Ascend's
/// recorder writes the calls of its runtime as a process of its own.
fn marks_without_work(groups: &[MarkGroup], processes: &[Process]) -> Option<RowId> {
    let is_step = |group: &&MarkGroup| {
        matches!(group.kind, MarkKind::ProfilerStep | MarkKind::EngineStep | MarkKind::Image)
    };
    let works = |pid: RowId| processes.iter().any(|process| process.pid == pid && process.work.total() > 0);
    let mut marked = groups.iter().filter(is_step).map(|group| group.pid);
    let has_work = processes.first().is_some_and(|first| first.work.total() > 0);
    let first = marked.next().filter(|&pid| has_work && !works(pid))?;
    marked.all(|pid| !works(pid)).then_some(first)
}

/// The recorded steps of a process of which nothing else was recorded.
fn bare_marks<'g>(groups: impl Iterator<Item = &'g MarkGroup>) -> Found {
    let mut found = Found::default();
    for group in groups.filter(|group| matches!(group.kind, MarkKind::ProfilerStep | MarkKind::EngineStep)) {
        let Some(marks) = group.by_track().max_by_key(|marks| marks.len()) else { continue };
        found.add_steps(marked_level(group, marks, 0.5), Reason::Marked(group.name.clone()));
    }
    found
}

fn marked_level(group: &MarkGroup, marks: &[Mark], confidence: f64) -> Level {
    Level {
        kind: group.kind.level(),
        name: group.name.clone(),
        evidence: match group.kind {
            MarkKind::ProfilerStep | MarkKind::EngineStep | MarkKind::Image => Evidence::RecordedSteps,
            MarkKind::NextBatch | MarkKind::OptimizerStep | MarkKind::Named(_) => Evidence::Annotations,
        },
        confidence,
        first: 0,
        iterations: marks.iter().map(Mark::iteration).collect(),
    }
}

/// Least share of what ran that images are of what repeats, where several were made; steps of a single image leave
/// the text encoder and the decoder of the image aside.
const IMAGES: f64 = 0.9;

/// Least share of the time, of the ranges and of the work that speaks for ranges that tile.
const TILED: f64 = 0.9;

/// Below it, what repeats is more likely chance than iterations.
const LEAST_CONFIDENCE: f64 = 0.4;

/// The search in one process.
struct Finder<'t> {
    tree: &'t TraceTree,
    options: &'t DetectOptions,
    program: Program,
    process: &'t Process,
    groups: Vec<&'t MarkGroup>,
}

impl Finder<'_> {
    fn find(&self) -> Found {
        let mut found = Found::default();
        self.recorded_steps(&mut found);
        let symbols = self.process.symbols();
        let training = (self.program == Program::Training)
            .then(|| {
                let (optimizer, batches) =
                    (self.ranges(&MarkKind::OptimizerStep), self.ranges(&MarkKind::NextBatch));
                training::find(self.process, &symbols, optimizer, batches)
            })
            .flatten();
        let is_training = training.is_some();
        if let Some(training) = training {
            self.training(&mut found, training);
        }
        self.annotations(&mut found);
        // What repeats in a single recorded step is worth knowing, what repeats in each of many is known from them.
        let is_single = found.steps.as_ref().is_some_and(|(level, _)| level.iterations.len() == 1);
        let has_parts = self.program == Program::Diffusion;
        if found.steps.is_none() || is_single || has_parts {
            if self.program == Program::LanguageModel {
                self.generation(&mut found, &symbols);
            }
            if self.options.use_frames && frames::has_frames(self.tree) {
                self.frames(&mut found, &symbols);
            }
            self.sequence(&mut found, &symbols, is_training);
        }
        if found.steps.is_none() && found.failure.is_none() {
            found.failure = Some(match self.process.items.len() {
                0..3 => Reason::NothingRecorded,
                _ => Reason::NothingRepeats,
            });
        }
        found
    }

    /// Marks of the thread whose marks cover most work, and the share of the work that they cover.
    fn owner<'g>(&self, group: &'g MarkGroup) -> Option<(&'g [Mark], f64)> {
        let covered =
            |marks: &[Mark]| self.process.work.share(marks.iter().map(|mark| (mark.start, mark.end)));
        let thread_marks = group.by_track().map(|marks| (marks, covered(marks)));
        thread_marks.max_by(|a, b| a.1.total_cmp(&b.1).then(a.0.len().cmp(&b.0.len())))
    }

    /// Marks of the thread that runs the program's loop: the main thread, or another that launches work of it.
    fn on_loop_thread<'g>(&self, group: &'g MarkGroup) -> Option<&'g [Mark]> {
        let on = |&thread: &TrackId| group.by_track().find(|marks| marks[0].track == thread);
        self.process.launching.iter().find_map(on)
    }

    fn recorded_steps(&self, found: &mut Found) {
        let has_work = self.process.work.total() > 0;
        let kind_level = |kind: MarkKind| {
            let group = self.groups.iter().find(|group| group.kind == kind)?;
            let (marks, share) = self.owner(group)?;
            // Marks around nothing while the work is elsewhere mark no steps.
            let believable = !has_work || share >= 0.5;
            let confidence = match has_work {
                true if share >= 0.9 => 1.0,
                true => share,
                false => 0.5,
            };
            believable.then(|| self.with_clipped_end(marked_level(group, marks, confidence)))
        };
        let profiler = kind_level(MarkKind::ProfilerStep);
        let engine = kind_level(MarkKind::EngineStep);
        let image = kind_level(MarkKind::Image);
        // An engine's own steps are finer than what a recorder's schedule counts.
        let count = |level: &Option<Level>| level.as_ref().map_or(0, |level| level.iterations.len());
        let engine_first = count(&engine) >= count(&profiler);
        let (first, second) = if engine_first { (engine, profiler) } else { (profiler, engine) };
        for level in [first, second, image].into_iter().flatten() {
            let reason = match level.kind {
                LevelKind::EngineStep => Reason::EngineAnnotations,
                _ => Reason::Marked(level.name.clone()),
            };
            found.add_steps(level, reason);
        }
        if found.steps.is_none()
            && let Some(level) = self.tiling_ranges()
        {
            let reason = Reason::Marked(level.name.clone());
            found.add_steps(level, reason);
        }
    }

    /// Ranges of a marker library (NVTX, roctx) that tile the loop: one follows the other on its thread with little
    /// between them, nearly all of them launch work, and together nearly all that was launched. Numbers in their names
    /// only grow; those of parts of a step begin again in each. Where several kinds tile, those whose name says step,
    /// else the outermost.
    fn tiling_ranges(&self) -> Option<Level> {
        let recorder = self.tree.trace().facts().recorder.kind;
        if !recorder.is_some_and(RecordingKind::is_machine_wide) {
            return None;
        }
        let named = self.groups.iter().filter(|group| matches!(group.kind, MarkKind::Named(_)));
        let tiles = named.filter_map(|group| {
            let marks = self.on_loop_thread(group).filter(|marks| self.tile(marks))?;
            let name = group.name.to_ascii_lowercase();
            let says_step = ["step", "iter"].iter().any(|word| name.contains(word));
            Some(((!says_step, marks.len(), marks[0].start), group, marks))
        });
        let (_, group, marks) = tiles.min_by_key(|&(order, ..)| order)?;
        let level = Level { evidence: Evidence::RecordedSteps, ..marked_level(group, marks, 1.0) };
        Some(self.with_clipped_end(level))
    }

    fn tile(&self, marks: &[Mark]) -> bool {
        let [first, .., last] = marks else { return false };
        let work = &self.process.work;
        let covered: i64 = marks.iter().map(|mark| mark.end.saturating_sub(mark.start)).sum();
        let with_work = marks.iter().filter(|mark| work.between(mark.start, mark.end) > 0).count();
        let numbers_grow = marks.windows(2).all(|pair| match (pair[0].number, pair[1].number) {
            (Some(number), Some(next)) => number < next,
            (None, None) => true,
            _ => false,
        });
        numbers_grow
            && covered as f64 >= TILED * last.end.saturating_sub(first.start) as f64
            && with_work as f64 >= TILED * marks.len() as f64
            && work.share(marks.iter().map(|mark| (mark.start, mark.end))) >= TILED
    }

    /// Tells a last step that recording ended in: with it ends what the thread did, and it did much less than the
    /// others. The only other step may do more than usual, so of two the last is also to end otherwise.
    fn with_clipped_end(&self, mut level: Level) -> Level {
        let work = |one: &Iteration| self.process.work.between(one.start, one.end);
        let count = level.iterations.len();
        if level.kind == LevelKind::Step && count >= 2 {
            let before = upper_median(level.iterations[..count - 1].iter().map(work)).unwrap_or(0);
            let last = level.iterations[count - 1];
            // The recorder itself waits for the device at the end.
            let last_work = self.process.items.iter().rfind(|item| !item.waits);
            let goes_on = last_work.is_some_and(|item| item.start > last.end);
            let ends_alike = count == 2 && self.end_alike(&level.iterations[0], &last);
            level.iterations[count - 1].whole = goes_on || ends_alike || 2 * work(&last) >= before;
        }
        level
    }

    /// Whether two iterations end with the same calls.
    fn end_alike(&self, one: &Iteration, other: &Iteration) -> bool {
        /// Calls that are compared.
        const CALLS: usize = 4;
        let calls = |of: &Iteration| {
            let items = self.process.items.iter().rev().skip_while(|item| item.start >= of.end);
            let own = items.take_while(|item| item.start >= of.start).filter(|item| !item.waits);
            own.map(|item| item.symbol).take(CALLS).collect::<Vec<_>>()
        };
        calls(one) == calls(other)
    }

    fn ranges(&self, kind: &MarkKind) -> &[Mark] {
        let group = self.groups.iter().find(|group| group.kind == *kind);
        group.and_then(|group| self.owner(group)).map_or(&[], |(marks, _)| marks)
    }

    fn training(&self, found: &mut Found, training: Training) {
        let Training { steps, micro_batches, groups, has_updates, has_backward } = training;
        // Recorded steps say whether updates that follow one another are several.
        let groups = groups.filter(|_| found.steps.is_none());
        let evidence = match has_updates && has_backward && !self.ranges(&MarkKind::OptimizerStep).is_empty()
        {
            true => Evidence::Annotations,
            false => Evidence::TrainingCycle,
        };
        let certainty = match (has_backward, has_updates, steps.len()) {
            (true, true, 2..) if groups.is_some() => 0.6,
            (true, true, 2..) => 0.9,
            (true, false, 2..) => 0.75,
            (false, _, 2..) => 0.7,
            _ => 0.6,
        };
        let reason = match &groups {
            _ if !has_updates => Reason::ForwardBackward,
            Some(groups) => Reason::UpdatesInGroups(groups.size),
            None => Reason::ParameterUpdates,
        };
        let level = |kind, name: &str, stretches: &[Stretch]| Level {
            kind,
            name: name.to_owned(),
            evidence,
            confidence: certainty,
            first: 0,
            iterations: stretches.iter().map(|stretch| self.iteration(*stretch)).collect(),
        };
        // In recorded steps, what repeats comes at least twice in each.
        let known = found.steps.as_ref().map_or(0, |(known, _)| known.iterations.len());
        if steps.len() >= 2 * known {
            let mut steps = level(LevelKind::Step, "training step", &steps);
            if found.steps.is_some() {
                steps.kind = LevelKind::Pass;
            }
            found.add_steps(steps, reason);
        }
        if let Some(groups) = groups {
            found.others.push(level(LevelKind::Pass, "consecutive updates", &groups.stretches));
        }
        if !micro_batches.is_empty() {
            found.others.push(level(LevelKind::MicroBatch, "forward and backward pass", &micro_batches));
        }
    }

    fn iteration(&self, Stretch { start, end, whole }: Stretch) -> Iteration {
        Iteration { number: None, track: self.process.main, start, end, whole }
    }

    /// Ranges that the program named: those that ask for the next batch, or those that cover its work.
    fn annotations(&self, found: &mut Found) {
        if found.steps.as_ref().is_some_and(|(level, _)| level.iterations.len() > 1) {
            return;
        }
        let batches = self.groups.iter().find(|group| group.kind == MarkKind::NextBatch);
        if let Some(level) = batches.and_then(|group| self.batches(group)) {
            let name = level.name.clone();
            self.add_level(found, level, Reason::Repeats(name));
            return;
        }
        let Some(level) = self.named_ranges() else { return };
        let name = level.name.clone();
        self.add_level(found, level, Reason::Repeats(name));
    }

    /// Adds a level as the steps, or below them.
    fn add_level(&self, found: &mut Found, mut level: Level, reason: Reason) {
        if found.steps.is_some() && level.kind == LevelKind::Step {
            level.kind = LevelKind::Pass;
        }
        found.add_steps(level, reason);
    }

    /// Iterations that begin when the loop asks for its next batch.
    fn batches(&self, group: &MarkGroup) -> Option<Level> {
        let marks = self.on_loop_thread(group)?;
        let end = self.process.items.iter().map(|item| item.end).max()?;
        let ends = marks.iter().skip(1).map(|mark| mark.start).chain([end.max(marks.last()?.end)]);
        let mut iterations: Vec<Iteration> =
            marks.iter().zip(ends).map(|(mark, end)| Iteration { end, ..mark.iteration() }).collect();
        // The loop asks once more than there are batches.
        let work = |one: &Iteration| self.process.work.between(one.start, one.end);
        let last = iterations.last().map(work)?;
        let before = iterations.iter().rev().nth(1).map(work)?;
        if 20 * last < before {
            iterations.pop();
        }
        let share = self.process.work.share(iterations.iter().map(|one| (one.start, one.end)));
        (iterations.len() >= 2 && share >= 0.5).then(|| Level {
            kind: LevelKind::Step,
            name: group.name.clone(),
            evidence: Evidence::Annotations,
            confidence: 0.9 * share,
            first: 0,
            iterations,
        })
    }

    /// Iterations that begin with the first of the ranges that come equally often and cover most of the work together.
    fn named_ranges(&self) -> Option<Level> {
        let mut owned: Vec<(&MarkGroup, &[Mark], f64)> = self
            .groups
            .iter()
            .filter(|group| matches!(group.kind, MarkKind::Named(_)))
            .filter_map(|group| {
                let marks = self.on_loop_thread(group)?;
                let share = self.process.work.share(marks.iter().map(|mark| (mark.start, mark.end)));
                (marks.len() >= 2).then_some((*group, marks, share))
            })
            .collect();
        owned.sort_few_by_key(|(_, marks, _)| (marks.len(), marks[0].start));
        // Fewest first: the outermost loop.
        for ranges in owned.chunk_by(|a, b| a.1.len() == b.1.len()) {
            let share: f64 = ranges.iter().map(|(_, _, share)| share).sum::<f64>().min(1.0);
            let (group, first, own) = ranges[0];
            // Each comes once between two of the first.
            let in_turn = |marks: &[Mark]| {
                first
                    .windows(2)
                    .zip(marks)
                    .all(|(pair, mark)| (pair[0].start..pair[1].start).contains(&mark.start))
            };
            if share < 0.5 || !ranges.iter().all(|(_, marks, _)| in_turn(marks)) {
                continue;
            }
            let last = ranges.iter().filter_map(|(_, marks, _)| marks.last()).map(|mark| mark.end).max()?;
            let ends = first.iter().skip(1).map(|mark| mark.start).chain([last]);
            let tiles = own < 0.9;
            let iterations: Vec<Iteration> = first
                .iter()
                .zip(ends)
                .map(
                    |(mark, end)| {
                        if tiles { Iteration { end, ..mark.iteration() } } else { mark.iteration() }
                    },
                )
                .collect();
            let covered = self.process.work.share(iterations.iter().map(|one| (one.start, one.end)));
            if covered < 0.5 {
                continue;
            }
            return Some(Level {
                kind: LevelKind::Step,
                name: group.name.clone(),
                evidence: Evidence::Annotations,
                confidence: 0.9 * covered,
                first: 0,
                iterations,
            });
        }
        None
    }

    /// Steps that end with the choice of tokens.
    fn generation(&self, found: &mut Found, symbols: &[u32]) {
        let Some(blocks) = generation::find(self.process, symbols) else { return };
        let known = found.steps.as_ref().map_or(0, |(level, _)| level.iterations.len());
        if blocks.len() > known {
            let level = Level {
                kind: LevelKind::EngineStep,
                name: "token sampling".to_owned(),
                evidence: if self.process.has_operators {
                    Evidence::OperatorSequence
                } else {
                    Evidence::KernelSequence
                },
                confidence: 0.75,
                first: 0,
                iterations: self.iterations(&blocks),
            };
            self.add_level(found, level, Reason::TokenChoices);
        }
    }

    /// Calls of models, or passes of a loop over Python frames.
    fn frames(&self, found: &mut Found, symbols: &[u32]) {
        let Some(main) = self.process.main else { return };
        let models = frames::model_calls(self.tree, self.process, main);
        let covered: f64 = models.iter().map(|model| model.share).sum();
        let known = found.steps.as_ref().map_or(1, |(level, _)| level.iterations.len());
        if covered >= 0.5 {
            let mut repeated: Vec<&frames::FrameCalls> =
                models.iter().filter(|model| model.share >= 0.05 && model.calls.len() >= 2).collect();
            repeated.sort_few_by_key(|model| model.calls.len());
            let single = models.iter().any(|model| model.share >= 0.05 && model.calls.len() == 1);
            for model in repeated.iter().filter(|model| model.calls.len() > known) {
                if found.counts().any(|count| count == model.calls.len()) {
                    continue;
                }
                let Some(level) = self.calls_level(symbols, model, covered) else { continue };
                let is_image_part = self.program == Program::Diffusion
                    && (single || found.steps.is_some() || level.iterations.len() > repeated[0].calls.len());
                self.add_passes(found, level, is_image_part, model.name.clone());
            }
            if found.steps.is_none() && repeated.is_empty() {
                found.failure = Some(Reason::SinglePass(None));
            }
            return;
        }
        if let Some((calls, is_in_model)) = frames::loop_passes(self.tree, main)
            && calls.calls.len() > known
            && let Some(mut level) = self.calls_level(symbols, &calls, 0.0)
        {
            match is_in_model {
                true => {
                    level.kind = LevelKind::Layer;
                    found.failure = Some(Reason::SinglePass(Some(LevelKind::Layer)));
                    found.others.push(level);
                }
                false => self.add_passes(found, level, false, calls.name),
            }
        }
    }

    /// Adds passes over a model, those of the outermost loop as the steps.
    fn add_passes(&self, found: &mut Found, mut level: Level, is_image_part: bool, name: String) {
        if is_image_part {
            level.kind = LevelKind::DenoisingStep;
        } else if self.program == Program::Diffusion {
            level.kind = LevelKind::Image;
        }
        let reason = match level.kind {
            LevelKind::DenoisingStep => Reason::OneImage,
            _ => Reason::Repeats(name),
        };
        self.add_level(found, level, reason);
    }

    /// Iterations around calls, one each.
    fn calls_level(&self, symbols: &[u32], calls: &frames::FrameCalls, covered: f64) -> Option<Level> {
        let items = &self.process.items;
        let at = |time: i64| items.partition_point(|item| item.start < time);
        let mut spans: Vec<(usize, usize)> = calls
            .calls
            .iter()
            .map(|&(start, end)| (at(start), at(end)))
            .filter(|(start, end)| start < end)
            .collect();
        spans.dedup_by_key(|span| span.0);
        let (anchors, ends): (Vec<usize>, Vec<usize>) = spans.into_iter().unzip();
        let mut counter = repeats::Counter::new(symbols);
        let repeat = repeats::cut_unlike(symbols, anchors, &mut counter)?;
        let mut blocks = cut::blocks(items, symbols, &repeat, &ends);
        // Each iteration has a call.
        let first = repeat.anchors[0];
        blocks.retain(|block| block.end > first);
        blocks.truncate(repeat.anchors.len());
        let iterations = self.iterations(&blocks);
        let share = self.process.work.share(iterations.iter().map(|one| (one.start, one.end))).max(covered);
        (share >= 0.5).then(|| Level {
            kind: LevelKind::Step,
            name: calls.name.clone(),
            evidence: Evidence::ModuleCalls,
            confidence: 0.85 * share.min(1.0) * (0.5 + 0.5 * repeat.alike),
            first: 0,
            iterations,
        })
    }

    /// What repeats in the calls of the main thread.
    fn sequence(&self, found: &mut Found, symbols: &[u32], is_training: bool) {
        let in_one_module = |first: trace_ingest::EventId, second: trace_ingest::EventId| {
            let outermost = |call| {
                std::iter::successors(self.tree.parent_module(call), |&module| {
                    self.tree.parent_module(module)
                })
                .last()
            };
            self.options.use_frames && outermost(first).is_some() && outermost(first) == outermost(second)
        };
        let Some(mut levels) = sequence::find(self.process, symbols, in_one_module) else { return };
        // Where other threads do more, what repeats on this one is no iteration of the program.
        let own: i64 = self.process.items.iter().chain(&self.process.backward).map(|item| item.work).sum();
        let own_share = (own as f64 / self.process.work.total().max(1) as f64).min(1.0);
        levels.parts.iter_mut().for_each(|part| part.confidence *= 0.5 + own_share / 2.0);
        if own_share < 0.5 {
            return;
        }
        let evidence = match self.process.has_operators {
            true => Evidence::OperatorSequence,
            false => Evidence::KernelSequence,
        };
        let name = match evidence {
            Evidence::OperatorSequence => "repeating operators",
            _ => "repeating kernels",
        };
        // Images with steps in them, most of all that ran.
        let makes_images = self.program == Program::Diffusion
            && levels.outermost == Outermost::Steps
            && levels.parts.len() > 1
            && levels.parts[0].explained >= IMAGES;
        for (index, part) in levels.parts.into_iter().enumerate() {
            let explained = part.explained;
            let level = Level {
                kind: LevelKind::Layer,
                name: name.to_owned(),
                evidence,
                confidence: part.confidence,
                first: 0,
                iterations: self.iterations(&part.blocks),
            };
            let is_step = index == 0 && levels.outermost == Outermost::Steps && !is_training;
            let is_step = is_step || (index == 1 && makes_images);
            self.add_repeat(found, level, is_step, explained, levels.changes);
        }
        if found.steps.is_none() && found.failure.is_none() {
            found.failure = Some(match levels.outermost {
                Outermost::Captures => Reason::Capture,
                _ => Reason::SinglePass(found.others.first().map(|level| level.kind)),
            });
        } else if let (Some(Reason::SinglePass(part)), Some(level)) =
            (&mut found.failure, found.others.first())
        {
            *part = Some(level.kind);
        }
    }

    /// Adds what repeats: as the steps, around calls of a model of which each pass makes several, or below what is
    /// known.
    fn add_repeat(&self, found: &mut Found, mut level: Level, is_step: bool, explained: f64, changes: bool) {
        let count = level.iterations.len();
        let fewest = found.counts().min();
        let is_new = found.counts().all(|known| known != count);
        let is_diffusion = self.program == Program::Diffusion;
        match &mut found.steps {
            None if is_step => {
                // What comes before and after the steps of an image are parts of the image.
                let reason = match is_diffusion && explained < IMAGES {
                    true => Reason::OneImage,
                    false if changes => Reason::Changes,
                    false => Reason::LongestRepeat,
                };
                level.kind = match reason {
                    Reason::OneImage => LevelKind::DenoisingStep,
                    _ if is_diffusion => LevelKind::Image,
                    _ => LevelKind::Step,
                };
                found.steps = Some((level, reason));
            }
            Some((known, reason))
                if is_step
                    && known.evidence == Evidence::ModuleCalls
                    && self.program != Program::LanguageModel
                    && known.iterations.len() >= 2 * count =>
            {
                level.kind = if is_diffusion { LevelKind::Image } else { LevelKind::Step };
                *reason = Reason::LongestRepeat;
                let mut calls = std::mem::replace(known, level);
                calls.kind = if is_diffusion { LevelKind::DenoisingStep } else { LevelKind::Pass };
                found.others.push(calls);
            }
            _ if is_new && fewest.is_none_or(|fewest| count >= 2 * fewest) => {
                level.kind = match is_step {
                    true if is_diffusion => LevelKind::DenoisingStep,
                    true => LevelKind::Pass,
                    false => LevelKind::Layer,
                };
                found.others.push(level);
            }
            _ => {}
        }
    }

    fn iterations(&self, blocks: &[Block]) -> Vec<Iteration> {
        let items = &self.process.items;
        let end_of = |block: &Block| {
            let calls: &[Item] = &items[block.start..block.end];
            let next = items.get(block.end).map_or(i64::MAX, |next| next.start);
            calls.iter().map(|item| item.end).max().unwrap_or(i64::MIN).min(next)
        };
        blocks
            .iter()
            .enumerate()
            .map(|(index, block)| {
                let next = blocks.get(index + 1).filter(|next| next.start == block.end);
                let end = next.map_or_else(|| end_of(block), |next| items[next.start].start);
                let start = items[block.start].start;
                Iteration {
                    number: None,
                    track: self.process.main,
                    start,
                    end: end.max(start),
                    whole: block.whole,
                }
            })
            .collect()
    }
}
