//! Finding the steps of a trace and what each of them does.
//!
//! Layers, surest first; a step is decided by the first that knows:
//!
//! 1. the engine's annotations ([`marks`]),
//! 2. the engine's Python frames ([`marks`]),
//! 3. tokens against rows of logits, or new tokens per request ([`layers`]),
//! 4. names and shapes of attention ([`layers`]),
//! 5. the replay of captured graphs ([`layers`]),
//! 6. names and frequencies as a last resort ([`fallbacks`]).
//!
//! Tokens, sizes and frequencies tell prompts from generation, and not whether requests are extended beside prompts. That
//! takes kernels of attention for both, or the lengths of the sequences that they are given; a step that neither shows
//! is of unknown phase, and known to process prompts.
//!
//! Where neither annotations nor frames mark steps, a thread's calls are cut into passes over the model
//! ([`segments`]). Device events belong to the step that launched them ([`spans`]).

pub(crate) mod calls;
mod draft;
mod evidence;
mod fallbacks;
mod layers;
mod marks;
pub(crate) mod names;
mod options;
mod segments;
mod spans;
mod vocabulary;

use gpu_timeline::SortFew;
use iterations::{Program, Span, ThreadSpans};
use trace_ingest::{Category, EventId, Trace, TrackId};
use trace2tree::TraceTree;

use calls::{Item, ThreadItems};
use draft::Draft;
use evidence::Evidence;
use marks::{EngineFrame, Frame};
use names::Names;
pub use options::DetectOptions;
use spans::{DeviceRanges, Located, locate};

use crate::step::{NONE, Phase, Source, Step, StepLinks, Steps};

impl Steps {
    /// Finds the engine's steps in a trace and what each does.
    ///
    /// In a program that does not generate text, such as training, only annotations of engines make steps: nothing else
    /// is prefill or decode.
    ///
    /// One pass over the events, string predicates once per distinct name. Nothing is an error: what cannot be told is
    /// [`Phase::Unknown`].
    #[must_use]
    pub fn detect(tree: &TraceTree, options: &DetectOptions) -> Steps {
        let mut detector = Detector::new(tree);
        if options.use_annotations {
            detector.add_annotations();
        }
        let program = Program::from_names(tree.trace());
        if matches!(program, Program::LanguageModel | Program::Unknown) {
            if options.use_frames {
                detector.add_frames();
            }
            detector.imply_steps();
        }
        detector.weigh_marked_steps();
        let (step_of, links) = detector.link(options.use_annotations);
        let is_language_model = detector.vocabulary.seen;
        for draft in &mut detector.drafts {
            draft.decide(options, is_language_model);
        }
        fallbacks::decide(&mut detector.drafts, options.decode_threshold);
        detector.drafts.iter_mut().for_each(Draft::look_beside_prompts);
        finish(tree.trace(), detector.drafts, step_of, links)
    }
}

impl Step {
    /// The steps that the engine annotated on host threads, each thread's by start, with what the annotations say and
    /// nothing else: far cheaper than [`Steps::detect`].
    #[must_use]
    pub fn annotated(trace: &Trace) -> Vec<Step> {
        let decided = |(track, step): (TrackId, marks::AnnotatedStep)| {
            let mut draft = Draft::annotated(Some(track), &step);
            draft.decide(&DetectOptions::default(), false);
            draft.step()
        };
        marks::annotated_steps(trace, Category::USER_ANNOTATION).into_iter().map(decided).collect()
    }
}

struct Detector<'t> {
    tree: &'t TraceTree,
    names: Names<'t>,
    threads: Vec<ThreadItems>,
    vocabulary: vocabulary::Vocabulary,
    spans: ThreadSpans,
    drafts: Vec<Draft>,
    /// Host annotations of steps, nested ones too, and their steps.
    annotated: Vec<(EventId, usize)>,
}

impl<'t> Detector<'t> {
    fn new(tree: &'t TraceTree) -> Self {
        let trace = tree.trace();
        let mut names = names::names(trace);
        let threads = calls::gather(tree, &mut names);
        let vocabulary = vocabulary::find(&threads);
        Detector {
            tree,
            names,
            threads,
            vocabulary,
            spans: ThreadSpans::new(trace),
            drafts: Vec::new(),
            annotated: Vec::new(),
        }
    }

    fn add_annotations(&mut self) {
        let steps = marks::annotated_steps(self.tree.trace(), Category::USER_ANNOTATION);
        for (track, step) in steps {
            let index = self.drafts.len();
            if self.spans.insert(track, Span { start: step.start, end: step.end, index }) {
                self.annotated.extend(step.annotations.iter().map(|&annotation| (annotation, index)));
                self.drafts.push(Draft::annotated(Some(track), &step));
            }
        }
    }

    fn add_frames(&mut self) {
        let frames = marks::engine_frames(self.tree.trace());
        for track in self.tree.trace().tracks().ids() {
            let track_frames: Vec<_> = frames.iter().filter(|frame| frame.track == track).copied().collect();
            if track_frames.is_empty() {
                continue;
            }
            self.add_step_frames(track, &track_frames);
            for frame in &track_frames {
                let cue = match frame.frame {
                    Frame::Cue(cue) | Frame::Step(Some(cue)) => cue,
                    _ => continue,
                };
                if let Some(span) = self.spans.find(track, frame.start) {
                    self.drafts[span.index].cue(cue);
                }
                // A frame around steps is about all of them.
                let spans = self.spans.of(track);
                let first = spans.partition_point(|span| span.start < frame.start);
                let inside = spans[first..].iter().take_while(|span| span.start < frame.end);
                for step in inside.map(|span| span.index).collect::<Vec<_>>() {
                    self.drafts[step].cue(cue);
                }
            }
        }
    }

    fn add_step_frames(&mut self, track: TrackId, frames: &[EngineFrame]) {
        let frame_spans = |is_kind: fn(Frame) -> bool| -> Vec<(i64, i64)> {
            frames.iter().filter(|frame| is_kind(frame.frame)).map(|frame| (frame.start, frame.end)).collect()
        };
        for (start, end, _) in marks::outermost(&frame_spans(|frame| matches!(frame, Frame::Step(_)))) {
            let spans = self.spans.of(track);
            let first = spans.partition_point(|span| span.start < start);
            match spans[first..].iter().take_while(|span| span.start < end).count() {
                0 => self.imply(track, start, end, true),
                // The engine's own frame around its annotation has the choice of tokens in it too.
                1 if spans[first].end <= end => self.widen(track, first, start, end),
                _ => {}
            }
        }
        for (start, end, _) in marks::outermost(&frame_spans(|frame| frame == Frame::Tail)) {
            if let Some(before) = self.spans.last_before(track, start) {
                self.widen(track, before, i64::MAX, end);
            }
        }
        if self.spans.of(track).is_empty() {
            // A loop of generation chooses tokens between its calls of the model.
            let models = marks::outermost(&frame_spans(|frame| frame == Frame::Model));
            let ends = models.iter().skip(1).map(|&(start, ..)| start).chain([i64::MAX]);
            for (&(start, ..), end) in models.iter().zip(ends.collect::<Vec<_>>()) {
                self.imply(track, start, end, true);
            }
        }
    }

    fn widen(&mut self, track: TrackId, at: usize, start: i64, end: i64) {
        if let Some(span) = self.spans.widen(track, at, start, end) {
            let draft = &mut self.drafts[span.index];
            (draft.start, draft.end) = (span.start, span.end);
        }
    }

    fn imply(&mut self, track: TrackId, start: i64, end: i64, marked: bool) {
        let step = self.drafts.len();
        if start < end && self.spans.insert(track, Span { start, end, index: step }) {
            self.drafts.push(Draft { marked, ..Draft::implied(Some(track), start, end) });
        }
    }

    /// Cuts what no annotation or frame marks into passes over the model.
    fn imply_steps(&mut self) {
        let trace = self.tree.trace();
        let process = |track: TrackId| trace.tracks().get(track).pid;
        let marked = trace.tracks().ids().filter(|&track| !self.spans.of(track).is_empty());
        let marked: Vec<_> = marked.map(process).collect();
        let running = self.threads.iter().filter(|thread| thread.runs_model());
        let running: Vec<_> = running.map(|thread| process(thread.track)).collect();
        for thread in std::mem::take(&mut self.threads) {
            let pid = process(thread.track);
            let has_marks = !self.spans.of(thread.track).is_empty();
            // Threads beside the one that runs the model copy for it; their launches are linked by time.
            let is_helper = !thread.runs_model() && running.contains(&pid);
            if has_marks || (!marked.contains(&pid) && !is_helper) {
                self.imply_on(&thread, has_marks);
            }
            self.threads.push(thread);
        }
    }

    fn imply_on(&mut self, thread: &ThreadItems, has_marks: bool) {
        let spans: Vec<Span> = self.spans.of(thread.track).to_vec();
        // Between two marked steps, and before and after all of them.
        let gap_of = |item: &Item| spans.partition_point(|span| span.start <= item.start);
        let is_free = |item: &&Item| self.spans.find(thread.track, item.start).is_none();
        let free: Vec<Item> = thread.items.iter().filter(is_free).copied().collect();
        for gap in free.chunk_by(|a, b| gap_of(a) == gap_of(b)) {
            let limit = spans.get(gap_of(&gap[0])).map_or(i64::MAX, |span| span.start);
            let boundaries = segments::boundaries(gap, &self.vocabulary);
            let pass_of = |item: &Item| boundaries.partition_point(|&boundary| boundary <= item.start);
            for pass in gap.chunk_by(|a, b| pass_of(a) == pass_of(b)) {
                let mut evidence = Evidence::default();
                for item in pass {
                    evidence.add(item, &self.vocabulary);
                    add_words(&mut self.names, &mut evidence, item);
                }
                // What a thread of marked steps does between them is no step, unless the model ran for it.
                let is_pass = evidence.logit_rows().is_some()
                    && (evidence.tokens().is_some() || evidence.graph_launches > 0);
                if has_marks && !is_pass {
                    continue;
                }
                let start = pass[0].start;
                let end = pass.iter().map(|item| item.end).max().unwrap_or(start).saturating_add(1);
                // Passes are one after the other, whatever an operator at the seam ends with.
                let next = boundaries.get(pass_of(&pass[0])).copied().unwrap_or(i64::MAX);
                self.imply(thread.track, start, end.min(next).min(limit), false);
                if let Some(span) = self.spans.find(thread.track, start) {
                    self.drafts[span.index].evidence = evidence;
                }
            }
        }
    }

    /// Gathers what the calls of marked steps say.
    fn weigh_marked_steps(&mut self) {
        for thread in std::mem::take(&mut self.threads) {
            for item in &thread.items {
                let Some(step) = self.spans.find(thread.track, item.start).map(|span| span.index) else {
                    continue;
                };
                let draft = &mut self.drafts[step];
                if draft.marked {
                    draft.evidence.add(item, &self.vocabulary);
                    add_words(&mut self.names, &mut draft.evidence, item);
                }
            }
            self.threads.push(thread);
        }
    }

    /// Links device events to steps, and gathers what kernels say on the way.
    fn link(&mut self, use_annotations: bool) -> (Vec<u32>, StepLinks) {
        let trace = self.tree.trace();
        let events = trace.events();
        let mut step_of = vec![NONE; events.len()];
        let mut links = StepLinks::default();
        let owners = self.spans.owners(trace);
        for (launch, device_events) in calls::launches(self.tree) {
            let found = locate(trace, &self.spans, &owners, events.track(launch), events.start(launch));
            let (step, count) = match found {
                Some(Located::OnThread(step)) => (step, &mut links.on_thread),
                Some(Located::ByTime(step)) => (step, &mut links.by_time),
                None => {
                    links.none += device_events.len() as u64;
                    continue;
                }
            };
            *count += device_events.len() as u64;
            let in_graph = self.names.get(events.name(launch)).graph_launch;
            let evidence = &mut self.drafts[step].evidence;
            for &event in device_events {
                step_of[event.index()] = step as u32;
                evidence.add_kernel(
                    self.names.get(events.name(event)).words,
                    events.duration(event),
                    in_graph,
                );
            }
        }
        let unlinked = self.tree.unlinked_device_events();
        let ranges = match use_annotations && !unlinked.is_empty() {
            true => marks::annotated_steps(trace, Category::GPU_USER_ANNOTATION),
            false => Vec::new(),
        };
        let drafts = &mut self.drafts;
        let ranges = DeviceRanges::new(trace, ranges, &self.annotated, |range| {
            drafts.push(Draft { marked: false, ..Draft::annotated(None, range) });
            drafts.len() - 1
        });
        for &event in unlinked {
            match ranges.find(events.track(event), events.start(event)) {
                Some(step) => {
                    links.by_device_annotation += 1;
                    step_of[event.index()] = step as u32;
                }
                None => links.none += 1,
            }
        }
        (step_of, links)
    }
}

/// Adds what the name of an operator says.
fn add_words(names: &mut Names<'_>, evidence: &mut Evidence, item: &Item) {
    if !matches!(item.what, calls::What::Launch(_)) {
        evidence.add_operator(names.get(item.name).words);
    }
}

/// Puts the steps in order and sums up.
fn finish(trace: &Trace, drafts: Vec<Draft>, mut step_of: Vec<u32>, links: StepLinks) -> Steps {
    let events = trace.events();
    let mut has_device_events = vec![false; drafts.len()];
    for &step in step_of.iter().filter(|&&step| step != NONE) {
        has_device_events[step as usize] = true;
    }
    let mut order: Vec<usize> =
        (0..drafts.len()).filter(|&at| drafts[at].marked || has_device_events[at]).collect();
    order.sort_few_by_key(|&at| (drafts[at].start, drafts[at].end));
    let mut new_place = vec![NONE; drafts.len()];
    for (place, &at) in order.iter().enumerate() {
        new_place[at] = place as u32;
    }
    for step in step_of.iter_mut().filter(|step| **step != NONE) {
        *step = new_place[*step as usize];
    }
    let steps: Vec<Step> = order.iter().map(|&at| drafts[at].step()).collect();
    let mut steps = Steps { steps, step_of, links, ..Steps::default() };
    let mut by_source = std::collections::BTreeMap::new();
    for event in events.ids().filter(|&event| events.category(event).is_device()) {
        let (phase, source) = match steps.step_of(event) {
            Some(step) => (steps.steps[step].phase, steps.steps[step].source),
            None => (Phase::Unknown, Source::Nothing),
        };
        let duration = events.duration(event);
        *by_source.entry(source).or_insert(0) += duration;
        steps.time_by_phase[phase.index()] += duration;
    }
    steps.time_by_source = by_source.into_iter().collect();
    steps
}
