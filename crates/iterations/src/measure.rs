//! What each iteration took, and which are alike.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;
use std::ops::Range;

use gpu_timeline::{Activity, Breakdown, DeviceEvent, Interval, IntervalSet, SortFew, Summary, median};
use hashbrown::HashMap;
use trace_ingest::{Category, EventId, RowId, StringId, TrackId};
use trace2tree::{EventSet, TraceTree};

use crate::detect::Iterations;
use crate::division::{Division, LaunchedWork, Part};
use crate::level::{Evidence, Iteration, Level};

/// The iterations of a level, measured.
///
/// Every moment of the device belongs to one part of the recording, so that the breakdowns of the parts add up to that
/// of the recording, field by field ([`Breakdown::by_part`]). Where several processes iterate, such as the ranks of a job in one
/// file, this holds for the device work of each.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What each iteration took, in their order.
    pub iterations: Vec<Figures>,
    /// What the device did outside of iterations, by time; only parts with device work.
    pub outside: Vec<(Part, Figures)>,
    /// Iterations that are alike by what they do, the group with the most time first.
    pub groups: Vec<Group>,
}

/// The iterations of a recording, with what those of every level took.
#[derive(Clone, Debug)]
pub struct MeasuredIterations {
    detected: Iterations,
    /// By level.
    measured: Vec<Measured>,
}

impl MeasuredIterations {
    /// Measures all levels by these device events and what the device does during each. Waits in `unrecorded` are no idle
    /// time.
    #[must_use]
    pub fn new(
        tree: &TraceTree,
        detected: Iterations,
        device_events: &[(EventId, Activity)],
        unrecorded: &IntervalSet,
    ) -> Self {
        let work = LaunchedWork::new(tree);
        let device_events = counted_events(tree, &work, device_events.iter().copied());
        let measure = |level: &Level| {
            let division = Division::of(&work, tree.trace(), &level.iterations);
            Measured::of(tree, &level.iterations, &division, &device_events, unrecorded)
        };
        let measured: Vec<Measured> = detected.levels().iter().map(measure).collect();
        let mut detected = detected;
        for (level, measured) in detected.levels.iter_mut().zip(&measured) {
            if level.evidence != Evidence::RecordedSteps && measured.are_unlike(&level.iterations) {
                level.confidence = level.confidence.min(Level::UNSURE);
            }
        }
        MeasuredIterations { detected, measured }
    }

    /// Measures every level over all device events, without a breakdown by activity.
    #[must_use]
    pub fn from_all_events(tree: &TraceTree, detected: Iterations) -> Self {
        let work = LaunchedWork::new(tree);
        let device_events = work.working(tree.trace()).map(|event| (event, Activity::Computation));
        Self::new(tree, detected, &device_events.collect::<Vec<_>>(), &tree.unrecorded().time)
    }

    /// The steps of a window as the whole recording measured them: on the device they run beside their neighbours, of which the
    /// window knows nothing, and a step takes as long wherever it is looked at.
    #[must_use]
    pub fn with_steps_of(mut self, whole: &MeasuredIterations) -> Self {
        let (Some(place), Some((level, known))) = (self.detected.steps, whole.steps()) else { return self };
        let (own, measured) = (&self.detected.levels[place], &mut self.measured[place]);
        for (index, figures) in (own.first..).zip(&mut measured.iterations) {
            let known = index.checked_sub(level.first).and_then(|index| known.iterations.get(index));
            if let Some(known) = known {
                *figures = Figures { group: figures.group, ..known.clone() };
            }
        }
        measured.groups = Vec::new();
        measured.sum_up_groups(&own.iterations);
        self
    }

    /// The iterations.
    #[must_use]
    pub fn detected(&self) -> &Iterations {
        &self.detected
    }

    /// The levels with their figures, that of the steps first, then the others as they are nested.
    pub fn levels(&self) -> impl Iterator<Item = (&Level, &Measured)> {
        let is_steps = |level: &Level| self.detected.steps().is_some_and(|steps| std::ptr::eq(level, steps));
        let all = || self.detected.levels().iter().zip(&self.measured);
        all()
            .filter(move |(level, _)| is_steps(level))
            .chain(all().filter(move |(level, _)| !is_steps(level)))
    }

    /// The number of steps where they are several, all of them whole: what sums over a window of them are divided by for
    /// the mean of one.
    #[must_use]
    pub fn several_whole_steps(&self) -> Option<usize> {
        let (level, measured) = self.steps()?;
        let whole = level.iterations.iter().all(|step| step.whole);
        let has_work =
            measured.iterations.iter().all(|figures| figures.device_events > 0 && figures.lost_launches == 0);
        Some(level.iterations.len())
            .filter(|&count| count > 1 && whole && (has_work || !measured.has_device_work()))
    }

    /// The steps with their figures, where there are some.
    #[must_use]
    pub fn steps(&self) -> Option<(&Level, &Measured)> {
        self.detected.steps().and_then(|_| self.levels().next())
    }
}

/// What a part of a recording took. Times are in the trace's unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// From the start of its first to the end of its last device event; `None` without any.
    pub device_span: Option<Interval>,
    /// What the device did in the time that is the part's own: also idle, waiting for the part's events.
    pub breakdown: Breakdown,
    /// Of that time what is nobody's: between two cycles of the recorder, or before its start on the host, where the
    /// recording lacks the work of others or iterations between have no device work.
    pub unowned: i64,
    /// From its start on the host to the first device event of the timeline: the wait of the first iteration, which the
    /// timeline does not have. `None` of any other, and where that event was queued behind work that is not in the recording.
    pub lead: Option<i64>,
    /// Device events: kernels, copies and fills.
    pub device_events: usize,
    /// Kernels among them; on a TPU its operations.
    pub kernels: usize,
    /// Calls that launched them; a graph is one launch. On a TPU runs of programs, one per device.
    pub launches: usize,
    /// Calls in it whose device work the recording lacks.
    pub lost_launches: usize,
    /// Index of its group; `None` outside of iterations.
    pub group: Option<usize>,
    /// What sets it apart from the others.
    pub mark: Option<Mark>,
}

impl Figures {
    /// Whether the recording lacks device work of it, so that its duration says nothing.
    #[must_use]
    pub fn lacks_work(&self) -> bool {
        self.lost_launches > 0 || self.mark == Some(Mark::NoDeviceWork)
    }

    /// How much longer it waited than the idle time of its breakdown is: its [lead](Self::lead), less what is
    /// [nobody's](Self::unowned) and not unrecorded anyway.
    #[must_use]
    pub fn wait_beyond_idle(&self) -> i64 {
        self.lead.unwrap_or(0) - (self.unowned - self.breakdown.unrecorded).max(0)
    }

    /// How long it took: from the end of the device work before it, of the first from its start on the host, to the end of
    /// its own, without what is [nobody's](Self::unowned); the time of the host where it has no device work.
    #[must_use]
    pub fn duration(&self, iteration: &Iteration) -> i64 {
        if self.device_events > 0 {
            self.breakdown.total - self.unowned + self.lead.unwrap_or(0)
        } else {
            iteration.end.saturating_sub(iteration.start)
        }
    }
}

/// What sets an iteration apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// Not all of it was recorded: the recording cuts it, lacks device work of it, or it is the first and lacks a wait that the
    /// others have.
    Partial,
    /// Among the first, and slower than those after them.
    WarmUp,
    /// It does something that no other iteration does.
    Different,
    /// It does what others do, and takes longer.
    Slow,
    /// It does what others do, and takes less time.
    Fast,
    /// The recording has no device event of it, and has some of others.
    NoDeviceWork,
}

impl Mark {
    /// Name in sheets.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Mark::Partial => "partial",
            Mark::WarmUp => "warm-up",
            Mark::Different => "different",
            Mark::Slow => "slow",
            Mark::Fast => "fast",
            Mark::NoDeviceWork => "no device work",
        }
    }
}

/// Iterations that do the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Indices of the iterations.
    pub iterations: Vec<usize>,
    /// How long those took that are not partial and no warm-up, or all where there are no others.
    pub durations: Summary,
    /// The iteration of median duration.
    pub representative: usize,
}

/// A device event that the figures of iterations count, with what launched it.
struct CountedEvent {
    event: EventId,
    activity: Activity,
    launch: Option<EventId>,
}

/// These device events by start.
fn counted_events(
    tree: &TraceTree,
    work: &LaunchedWork,
    device_events: impl IntoIterator<Item = (EventId, Activity)>,
) -> Vec<CountedEvent> {
    let events = tree.trace().events();
    let counted = |(event, activity)| CountedEvent {
        event,
        activity,
        launch: work.launch(tree, event).map(|launch| launch.event),
    };
    let mut counted: Vec<CountedEvent> = device_events.into_iter().map(counted).collect();
    counted.sort_by_key(|counted| events.start(counted.event));
    counted
}

impl Measured {
    /// Measures iterations by these device events and what the device does during each. Without any device event,
    /// iterations are told apart by the operators of their thread.
    #[must_use]
    pub fn new(
        tree: &TraceTree,
        iterations: &[Iteration],
        device_events: impl IntoIterator<Item = (EventId, Activity)>,
    ) -> Measured {
        let work = LaunchedWork::new(tree);
        let division = Division::of(&work, tree.trace(), iterations);
        let counted = counted_events(tree, &work, device_events);
        Self::of(tree, iterations, &division, &counted, &IntervalSet::EMPTY)
    }

    fn of(
        tree: &TraceTree,
        iterations: &[Iteration],
        division: &Division,
        device_events: &[CountedEvent],
        unrecorded: &IntervalSet,
    ) -> Measured {
        let events = tree.trace().events();
        let mut by_part: Vec<(u32, &CountedEvent)> = Vec::with_capacity(device_events.len());
        let process_of = |track: TrackId| tree.trace().tracks().get(track).pid;
        let mut processes: Vec<RowId> =
            iterations.iter().filter_map(|iteration| Some(process_of(iteration.track?))).collect();
        processes.sort_unstable();
        processes.dedup();
        // Several, such as the ranks of a job, work at the same time: the time of each belongs to its own iterations, that of
        // one without iterations to none.
        let process = |counted: &CountedEvent, part: u32| {
            if processes.len() < 2 {
                return Some(None);
            }
            let call = counted.launch.filter(|&launch| events.category(launch).is_launch_api());
            let track = match (call, Part::at(part)) {
                (Some(call), _) => events.track(call),
                (None, Part::Iteration(index)) => iterations[index].track?,
                (None, _) => return Some(None),
            };
            let process = process_of(track);
            processes.binary_search(&process).is_ok().then_some(Some(process))
        };
        // By process the first device event, whose wait no timeline has.
        let mut first: BTreeMap<Option<RowId>, (u32, &CountedEvent)> = BTreeMap::new();
        let timeline = device_events.iter().filter_map(|counted| {
            let part = division.place_of(counted.event)?;
            let process = process(counted, part)?;
            by_part.push((part, counted));
            first.entry(process).or_insert((part, counted));
            let (start, end) = (events.start(counted.event), events.end(counted.event));
            Some((process, (DeviceEvent::new(start, end, counted.activity), part)))
        });
        let mut timelines: BTreeMap<Option<RowId>, Vec<(DeviceEvent, u32)>> = BTreeMap::new();
        let breakdowns: BTreeMap<u32, Breakdown> = match processes.len() {
            0 | 1 => Breakdown::by_part(timeline.map(|(_, event)| event), None, unrecorded),
            _ => {
                timeline.for_each(|(process, event)| timelines.entry(process).or_default().push(event));
                let mut sums: BTreeMap<u32, Breakdown> = BTreeMap::new();
                for process_events in timelines.into_values() {
                    for (part, breakdown) in Breakdown::by_part(process_events, None, unrecorded) {
                        *sums.entry(part).or_default() += breakdown;
                    }
                }
                sums
            }
        };
        let process_counts =
            by_part.iter().map(|&(part, counted)| (process(counted, part).flatten(), part, counted));
        let unowned = unowned_waits(tree, iterations, unrecorded, process_counts);
        let lost: &[EventId] = if unrecorded.is_empty() { &[] } else { &tree.unrecorded().launches };
        let mut lost_launches = vec![0; iterations.len()];
        for part in Division::call_parts(tree.trace(), iterations, lost) {
            if let Part::Iteration(index) = part {
                lost_launches[index] += 1;
            }
        }
        by_part.sort_by_key(|&(part, _)| part);

        let mut contents = Contents::default();
        let mut seen = EventSet::with_capacity(events.len());
        let mut measured = Measured {
            iterations: vec![Figures::default(); iterations.len()],
            outside: Vec::new(),
            groups: Vec::new(),
        };
        for part_events in by_part.chunk_by(|a, b| a.0 == b.0) {
            let place = part_events[0].0;
            let own = || part_events.iter().map(|&(_, counted)| counted);
            let mut figures = Figures {
                breakdown: breakdowns.get(&place).copied().unwrap_or_default(),
                device_events: part_events.len(),
                ..Figures::default()
            };
            let (mut start, mut end) = (i64::MAX, i64::MIN);
            for &CountedEvent { event, launch, .. } in own() {
                (start, end) = (start.min(events.start(event)), end.max(events.end(event)));
                figures.kernels += usize::from(!is_copy(events.category(event)));
                figures.launches += usize::from(launch.is_some_and(|launch| seen.insert(launch)));
            }
            figures.device_span = Some(Interval::between(start, end));
            figures.unowned = unowned.get(&place).copied().unwrap_or(0);
            match Part::at(place) {
                Part::Iteration(index) => {
                    let opening = first.values().find(|&&(part, _)| part == place);
                    figures.lead = opening.and_then(|(_, first)| lead(tree, &iterations[index], first));
                    let names = own().map(|counted| events.name(counted.event));
                    let operators = own().map(|&CountedEvent { event, .. }| {
                        events.name(tree.operator(event).unwrap_or(event))
                    });
                    let group = contents.group_of(names, operators, figures.breakdown.busy);
                    measured.iterations[index] = Figures { group: Some(group), ..figures };
                }
                outside => measured.outside.push((outside, figures)),
            }
        }
        if by_part.is_empty() {
            measured.group_by_operators(tree, iterations, &mut contents);
        }
        for (figures, lost) in measured.iterations.iter_mut().zip(lost_launches) {
            figures.lost_launches = lost;
        }
        let first = first.into_values().filter_map(|(part, _)| match Part::at(part) {
            Part::Iteration(index) => Some(index),
            Part::Before | Part::After(_) => None,
        });
        measured.mark(iterations, &first.collect::<Vec<_>>());
        measured.sum_up_groups(iterations);
        measured
    }

    fn group_by_operators(&mut self, tree: &TraceTree, iterations: &[Iteration], contents: &mut Contents) {
        let events = tree.trace().events();
        let mut roots: Vec<(TrackId, i64, StringId)> = tree
            .operator_roots()
            .iter()
            .map(|&root| (events.track(root), events.start(root), events.name(root)))
            .collect();
        roots.sort_unstable();
        for (iteration, figures) in iterations.iter().zip(&mut self.iterations) {
            let Some(track) = iteration.track else { continue };
            let from = roots.partition_point(|&(of, start, _)| (of, start) < (track, iteration.start));
            let own = || {
                let rest = roots[from..].iter();
                let own = rest.take_while(|&&(of, start, _)| of == track && start < iteration.end);
                own.map(|&(.., name)| name)
            };
            let duration = iteration.end.saturating_sub(iteration.start);
            figures.group = Some(contents.group_of(own(), own(), duration));
        }
    }

    /// Marks iterations, of which the first ones of their timelines are told.
    fn mark(&mut self, iterations: &[Iteration], first_on_device: &[usize]) {
        let durations: Vec<i64> = self
            .iterations
            .iter()
            .zip(iterations)
            .map(|(figures, iteration)| figures.duration(iteration))
            .collect();
        // The time of the host says nothing of what the device takes.
        let has_device_work = self.has_device_work();
        let lacks_work = |figures: &Figures| has_device_work && figures.device_events == 0;
        let is_whole = |iteration: &Iteration, figures: &Figures| {
            iteration.whole && figures.lost_launches == 0 && !lacks_work(figures)
        };
        let whole: Vec<usize> = (0..iterations.len())
            .filter(|&index| is_whole(&iterations[index], &self.iterations[index]))
            .collect();
        let mut usual: BTreeMap<Option<usize>, Vec<i64>> = BTreeMap::new();
        for &index in &whole {
            usual.entry(self.iterations[index].group).or_default().push(durations[index]);
        }
        let limits: BTreeMap<Option<usize>, (i64, i64)> =
            usual.iter().filter_map(|(&group, durations)| Some((group, usual_range(durations)?))).collect();
        let main = usual.iter().max_by_key(|(group, durations)| (durations.len(), Reverse(**group)));
        let limit_of_main = main.and_then(|(group, _)| limits.get(group)).copied();
        let lacks_wait: Vec<usize> =
            first_on_device.iter().copied().filter(|&index| self.lacks_wait(iterations, index)).collect();
        let mut all: Vec<i64> = whole.iter().map(|&index| durations[index]).collect();
        let longest_of_all = median(&mut all).filter(|_| all.len() >= FEWEST).map(|median| WARM_UP * median);
        let mut is_first = true;
        for (index, iteration) in iterations.iter().enumerate() {
            let (figures, duration) = (&mut self.iterations[index], durations[index]);
            let limit = limits.get(&figures.group).copied();
            let is_slow = |limit: Option<(i64, i64)>| limit.is_some_and(|(_, longest)| duration > longest);
            let is_fast = limit.is_some_and(|(shortest, _)| duration < shortest);
            // What has too few like it to say what is usual is held against all.
            let is_warm_up = is_slow(limit.or(limit_of_main))
                || (limit.is_none() && longest_of_all.is_some_and(|longest| duration as f64 > longest));
            figures.mark = if lacks_work(figures) {
                Some(Mark::NoDeviceWork)
            } else if !is_whole(iteration, figures)
                || lacks_wait.contains(&index)
                || (is_fast && (first_on_device.contains(&index) || figures.unowned > 0))
            {
                Some(Mark::Partial)
            } else if is_first && is_warm_up {
                Some(Mark::WarmUp)
            } else if is_slow(limit) {
                Some(Mark::Slow)
            } else if is_fast {
                Some(Mark::Fast)
            } else if whole.len() > FEWEST && usual.get(&figures.group).is_some_and(|alike| alike.len() == 1)
            {
                Some(Mark::Different)
            } else {
                None
            };
            is_first &= matches!(figures.mark, Some(Mark::Partial | Mark::WarmUp | Mark::NoDeviceWork));
        }
    }

    /// Whether the first iteration on the device is shorter than the only other one that does the same, for want of a
    /// wait: its own, or one such as the other has before its start on the host.
    fn lacks_wait(&self, iterations: &[Iteration], first: usize) -> bool {
        let figures = &self.iterations[first];
        let is_alike = |&other: &usize| other != first && self.iterations[other].group == figures.group;
        let alike: Vec<usize> = (0..iterations.len()).filter(is_alike).collect();
        let [other] = alike[..] else { return false };
        // The wait of one behind others whose work is not recorded is not its own.
        let mut between = self.iterations.get(first..other).into_iter().flatten();
        if between.any(|figures| figures.device_events == 0) {
            return false;
        }
        let duration = |index: usize| self.iterations[index].duration(&iterations[index]);
        let missing = duration(other) - duration(first);
        let done = self.iterations[..other].iter().filter_map(|before| Some(before.device_span?.end)).max();
        let before_start = done.map_or(0, |done| iterations[other].start - done);
        10 * missing > duration(other) && (figures.lead.is_none() || 2 * before_start >= missing)
    }

    fn sum_up_groups(&mut self, iterations: &[Iteration]) {
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, figures) in self.iterations.iter().enumerate() {
            // What did nothing is alike.
            groups.entry(figures.group.unwrap_or(usize::MAX)).or_default().push(index);
        }
        let duration = |index: usize| self.iterations[index].duration(&iterations[index]);
        let mut summed: Vec<Group> = groups
            .into_values()
            .filter_map(|alike| {
                let is_usual = |index: &usize| {
                    !matches!(self.iterations[*index].mark, Some(Mark::Partial | Mark::WarmUp))
                };
                let usual: Vec<usize> = alike.iter().copied().filter(is_usual).collect();
                let mut counted = if usual.is_empty() { alike.clone() } else { usual };
                let durations: Vec<i64> = counted.iter().map(|&index| duration(index)).collect();
                counted.sort_by_key(|&index| (duration(index), index));
                let representative = counted[(counted.len() - 1) / 2];
                Some(Group {
                    iterations: alike,
                    durations: Summary::from_values(&durations)?,
                    representative,
                })
            })
            .collect();
        let total = |group: &Group| group.iterations.iter().map(|&index| duration(index)).sum::<i64>();
        summed.sort_few_by_key(|group| (Reverse(total(group)), group.representative));
        for (place, group) in summed.iter().enumerate() {
            group.iterations.iter().for_each(|&index| self.iterations[index].group = Some(place));
        }
        self.groups = summed;
    }

    /// Measures iterations by all device events of a trace. Their time is not told apart by what the device does.
    #[must_use]
    pub fn from_all_events(tree: &TraceTree, iterations: &[Iteration]) -> Measured {
        let work = LaunchedWork::new(tree);
        let division = Division::of(&work, tree.trace(), iterations);
        let device_events = work.working(tree.trace()).map(|event| (event, Activity::Computation));
        let counted = counted_events(tree, &work, device_events);
        Self::of(tree, iterations, &division, &counted, &tree.unrecorded().time)
    }

    /// Whether these are hardly iterations: usual ones take next to nothing of the mean of all, or no group of like ones has a
    /// good part of them.
    fn are_unlike(&self, iterations: &[Iteration]) -> bool {
        /// One of so many is alike by chance.
        const GOOD_PART: usize = 3;
        /// The mean of all over what is next to nothing.
        const NEXT_TO_NOTHING: f64 = 100.0;
        let largest = self.groups.iter().map(|group| group.iterations.len()).max().unwrap_or(0);
        if iterations.len() > GOOD_PART && GOOD_PART * largest <= iterations.len() {
            return true;
        }
        let durations: Vec<i64> =
            self.iterations.iter().zip(iterations).map(|(figures, of)| figures.duration(of)).collect();
        let mean =
            durations.iter().map(|&duration| duration as f64).sum::<f64>() / durations.len().max(1) as f64;
        let mut steady: Vec<i64> = self.steady().map(|index| durations[index]).collect();
        median(&mut steady).is_some_and(|usual| usual * NEXT_TO_NOTHING < mean)
    }

    /// Whether the recording has device work. Where it has none, the breakdowns of [`Figures`] are zero because nothing is
    /// known of the device.
    #[must_use]
    pub fn has_device_work(&self) -> bool {
        !self.outside.is_empty() || self.iterations.iter().any(|figures| figures.device_events > 0)
    }

    /// The first of the longest runs of neighbours that are [`steady`](Self::steady).
    #[must_use]
    pub fn longest_steady_run(&self) -> Option<Range<usize>> {
        let steady: Vec<usize> = self.steady().collect();
        let runs = steady.chunk_by(|a, b| a + 1 == *b);
        let longest = runs.reduce(|best, run| if run.len() > best.len() { run } else { best })?;
        Some(*longest.first()?..longest.last()? + 1)
    }

    /// The iterations without a mark: whole, warmed up and like others.
    pub fn steady(&self) -> impl Iterator<Item = usize> + '_ {
        self.iterations
            .iter()
            .enumerate()
            .filter(|(_, figures)| figures.mark.is_none())
            .map(|(index, _)| index)
    }
}

/// By part the time of its waits that is nobody's, of these device events by start with their processes and parts; see
/// [`Figures::unowned`].
fn unowned_waits<'e>(
    tree: &TraceTree,
    iterations: &[Iteration],
    unrecorded: &IntervalSet,
    device_events: impl Iterator<Item = (Option<RowId>, u32, &'e CountedEvent)> + Clone,
) -> HashMap<u32, i64> {
    let events = tree.trace().events();
    let between_cycles: IntervalSet = match unrecorded.is_empty() {
        true => IntervalSet::EMPTY,
        false => tree.unrecorded().between_cycles.iter().map(|&(gap, _)| gap).collect(),
    };
    let mut has_work = vec![false; iterations.len()];
    for (_, part, _) in device_events.clone() {
        if let Part::Iteration(index) = Part::at(part) {
            has_work[index] = true;
        }
    }
    let process_of =
        |iteration: &Iteration| iteration.track.map(|track| tree.trace().tracks().get(track).pid);
    // Whether an iteration without device work is between the last part that worked before a wait and the one after.
    let is_behind_others = |last: u32, index: usize| {
        let from = match Part::at(last) {
            Part::Before => 0,
            Part::Iteration(before) | Part::After(before) => before + 1,
        };
        let mut between = (from..index).rev().take_while(|&at| !has_work[at]);
        between.any(|at| process_of(&iterations[at]) == process_of(&iterations[index]))
    };
    // By process the end of all so far, and the latest part of them.
    let mut so_far: HashMap<Option<RowId>, (i64, u32)> = HashMap::new();
    let mut unowned: HashMap<u32, i64> = HashMap::new();
    for (process, part, counted) in device_events {
        let (start, end) = (events.start(counted.event), events.end(counted.event));
        let (done, last) = so_far.entry(process).or_insert((start, part));
        if start > *done {
            let own_start = match Part::at(part) {
                Part::Iteration(index) => iterations[index].start.clamp(*done, start),
                Part::Before | Part::After(_) => *done,
            };
            let before = Interval::between(*done, own_start);
            let is_behind_others =
                matches!(Part::at(part), Part::Iteration(index) if is_behind_others(*last, index));
            let missed_time = if is_behind_others { before.length() } else { unrecorded.shared_time(before) };
            *unowned.entry(part).or_default() +=
                missed_time + between_cycles.shared_time(Interval::between(own_start, start));
        }
        (*done, *last) = (end.max(*done), part.max(*last));
    }
    unowned
}

/// From the start of an iteration on the host to its first device event, the first of the timeline. `None` without a call
/// that launched it, and where it was queued most of that time: the device had other work.
fn lead(tree: &TraceTree, iteration: &Iteration, first: &CountedEvent) -> Option<i64> {
    let events = tree.trace().events();
    iteration.track?;
    let (start, call) = (events.start(first.event), tree.launch(first.event)?);
    let (lead, queued) = (start - iteration.start, start - events.end(call));
    (lead >= 0 && 2 * queued <= lead).then_some(lead)
}

fn is_copy(category: Category) -> bool {
    matches!(category, Category::GPU_MEMCPY | Category::GPU_MEMSET)
}

/// The fewest iterations of which one can be unlike the others.
const FEWEST: usize = 3;

/// How much longer than the median of all an iteration is, at the beginning, that does not do what others do.
const WARM_UP: f64 = 2.0;

/// The shortest and the longest duration that is usual among these: four standard deviations from the median, as the
/// median of the deviations estimates them, but no less than a tenth of the median. `None` of fewer than [`FEWEST`].
fn usual_range(durations: &[i64]) -> Option<(i64, i64)> {
    /// A standard deviation over the median deviation, where values are normally distributed.
    const STANDARD_PER_MEDIAN_DEVIATION: f64 = 1.4826;
    if durations.len() < FEWEST {
        return None;
    }
    let middle = median(&mut durations.to_vec())?;
    let mut deviations: Vec<i64> =
        durations.iter().map(|&duration| (duration as f64 - middle).abs() as i64).collect();
    let deviation = (4.0 * STANDARD_PER_MEDIAN_DEVIATION * median(&mut deviations)?).max(middle / 10.0);
    Some(((middle - deviation).floor() as i64, (middle + deviation).ceil() as i64))
}

/// How often each name occurs.
type Names = Vec<(StringId, u32)>;

/// What an iteration does.
struct Content {
    /// Names of its device events.
    kernels: Names,
    /// Names of the operators that launched them.
    operators: Names,
    /// How long it was busy.
    busy: i64,
}

impl Content {
    /// The share of kernels that alike iterations have in common at least.
    const SAME_KERNELS: f64 = 0.85;
    /// The share of operators of which alike iterations may run other kernels, as libraries choose them,
    const SAME_OPERATORS: f64 = 0.97;
    /// in times that are no further apart than this.
    const SAME_TIME: f64 = 1.5;

    /// The share of kernels that two iterations have in common, if they are alike.
    fn likeness(&self, other: &Content) -> Option<f64> {
        let kernels = in_common(&self.kernels, &other.kernels);
        if kernels >= Self::SAME_KERNELS {
            return Some(kernels);
        }
        let [less, more] = [self.busy.min(other.busy), self.busy.max(other.busy)].map(|time| time as f64);
        let operators = in_common(&self.operators, &other.operators);
        (operators >= Self::SAME_OPERATORS && more <= less * Self::SAME_TIME).then_some(kernels)
    }
}

/// The groups met so far.
#[derive(Default)]
struct Contents {
    /// Group by names of device events, exactly.
    exact: HashMap<Names, usize>,
    /// The iteration that founded each group.
    founders: Vec<Content>,
    /// How often each name came in what is being counted.
    counts: Vec<u32>,
}

impl Contents {
    /// Groups that an iteration is compared with; of more, only the same kernels make two alike.
    const MOST_COMPARED: usize = 64;

    /// The group of an iteration by its device events, the operators that launched these (or the device events that none
    /// did), and how long it was busy.
    fn group_of(
        &mut self,
        kernels: impl Iterator<Item = StringId>,
        operators: impl Iterator<Item = StringId>,
        busy: i64,
    ) -> usize {
        let kernels = self.count(kernels);
        if let Some(&group) = self.exact.get(&kernels) {
            return group;
        }
        let content = Content { operators: self.count(operators), kernels, busy };
        let compared = self.founders.iter().take(Self::MOST_COMPARED).enumerate();
        let alike = compared.filter_map(|(group, founder)| Some((group, founder.likeness(&content)?)));
        let nearest = alike.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        let group = nearest.map_or(self.founders.len(), |(group, _)| group);
        self.exact.insert(content.kernels.clone(), group);
        if group == self.founders.len() {
            self.founders.push(content);
        }
        group
    }

    fn count(&mut self, names: impl Iterator<Item = StringId>) -> Names {
        let mut counted: Names = Vec::new();
        for name in names {
            if self.counts.len() <= name.index() {
                self.counts.resize(name.index() + 1, 0);
            }
            let count = &mut self.counts[name.index()];
            if *count == 0 {
                counted.push((name, 0));
            }
            *count += 1;
        }
        for (name, count) in &mut counted {
            *count = std::mem::take(&mut self.counts[name.index()]);
        }
        counted.sort_unstable();
        counted
    }
}

/// The events that two contents have in common over those of either, 0 to 1 (weighted Jaccard index).
fn in_common(one: &[(StringId, u32)], other: &[(StringId, u32)]) -> f64 {
    let (mut common, mut all) = (0_u64, 0_u64);
    let (mut left, mut right) = (one.iter().peekable(), other.iter().peekable());
    loop {
        let order = match (left.peek(), right.peek()) {
            (Some(a), Some(b)) => a.0.cmp(&b.0),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => break,
        };
        let from_left = if order.is_le() { left.next().map_or(0, |&(_, count)| count) } else { 0 };
        let from_right = if order.is_ge() { right.next().map_or(0, |&(_, count)| count) } else { 0 };
        common += u64::from(from_left.min(from_right));
        all += u64::from(from_left.max(from_right));
    }
    if all == 0 { 1.0 } else { common as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use trace_ingest::{EventArguments, TraceBuilder};
    use trace2tree::TreeOptions;

    use super::*;

    fn iteration(host: TrackId, time: Range<i64>) -> Iteration {
        Iteration { number: None, track: Some(host), start: time.start, end: time.end, whole: true }
    }

    /// Iterations one after the other, each with kernels of these names and lengths that follow each other at once,
    /// and 10 without anything before the next.
    fn measured(of_iterations: &[&[(&str, i64)]], partial: &[usize]) -> Measured {
        let mut builder = TraceBuilder::new();
        let (host, stream) = (builder.track(1, 1), builder.track(0, 7));
        let (mut iterations, mut kernels, mut time) = (Vec::new(), Vec::new(), 0);
        for (index, of_iteration) in of_iterations.iter().enumerate() {
            let start = time;
            for &(name, length) in *of_iteration {
                let arguments = || EventArguments {
                    correlation: Some(kernels.len() as i64 + 1),
                    stream: Some(7),
                    ..EventArguments::default()
                };
                builder.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", host, start, 1, arguments());
                let id = builder.event(Category::KERNEL, name, stream, time, length, arguments());
                kernels.push((id, Activity::Computation));
                time += length;
            }
            time += 10;
            let whole = !partial.contains(&index);
            iterations.push(Iteration { whole, ..iteration(host, start..time) });
        }
        let tree = TraceTree::build(builder.finish(), &TreeOptions::default());
        Measured::new(&tree, &iterations, kernels)
    }

    fn marks(measured: &Measured) -> Vec<&'static str> {
        let name = |figures: &Figures| figures.mark.map_or("", Mark::as_str);
        measured.iterations.iter().map(name).collect()
    }

    const USUAL: &[(&str, i64)] = &[("gemm", 600), ("norm", 100), ("gemm", 300)];

    #[test]
    fn each_iteration_has_its_own_time() {
        let measured = measured(&[USUAL, USUAL], &[]);
        let times =
            measured.iterations.iter().map(|figures| (figures.breakdown.busy, figures.breakdown.idle));
        assert_eq!(times.collect::<Vec<_>>(), [(1000, 0), (1000, 10)]);
        let counts = measured.iterations.iter().map(|figures| (figures.kernels, figures.launches));
        assert_eq!(counts.collect::<Vec<_>>(), [(3, 3), (3, 3)]);
        assert_eq!(measured.groups.len(), 1);
        assert_eq!(measured.groups[0].durations.count, 2);
    }

    #[test]
    fn what_is_cut_warming_up_slow_or_different_is_marked() {
        let slow: &[_] = &[("gemm", 900), ("norm", 100), ("gemm", 300)];
        let other: &[_] = &[("gemm", 400), ("save", 700)];
        let measured =
            measured(&[USUAL, slow, USUAL, USUAL, slow, other, USUAL, USUAL, &[("gemm", 600)]], &[0, 8]);
        let expected = ["partial", "warm-up", "", "", "slow", "different", "", "", "partial"];
        assert_eq!(marks(&measured), expected);
        assert_eq!(measured.steady().collect::<Vec<_>>(), [2, 3, 6, 7]);
        let sizes = measured.groups.iter().map(|group| (group.iterations.len(), group.durations.count));
        assert_eq!(sizes.collect::<Vec<_>>(), [(7, 5), (1, 1), (1, 1)]);
        assert_eq!(measured.groups[0].durations.median, 1010.0);
    }

    #[test]
    fn a_few_more_kernels_are_no_other_group_and_half_as_many_are() {
        let many = |count: usize| vec![("k", 1); count];
        let (twenty, more, half) = (many(20), many(22), many(10));
        let measured = measured(&[&twenty, &more, &half, &half], &[]);
        let groups = measured.iterations.iter().map(|figures| figures.group);
        assert_eq!(groups.collect::<Vec<_>>(), [Some(0), Some(0), Some(1), Some(1)]);
    }

    #[test]
    fn other_kernels_of_the_same_operators_are_alike_where_they_take_as_long() {
        let mut builder = TraceBuilder::new();
        let (host, stream) = (builder.track(1, 1), builder.track(0, 7));
        let (mut iterations, mut kernels) = (Vec::new(), Vec::new());
        for (at, (kernel, length)) in
            [("nvjet", 100), ("cutlass", 120), ("splitk", 10)].into_iter().enumerate()
        {
            let start = 1000 * at as i64;
            let arguments = || EventArguments {
                correlation: Some(at as i64 + 1),
                external_id: Some(at as i64 + 1),
                ..EventArguments::default()
            };
            builder.event(Category::CPU_OP, "aten::mm", host, start, 10, arguments());
            builder.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", host, start + 1, 1, arguments());
            let id = builder.event(Category::KERNEL, kernel, stream, start + 5, length, arguments());
            kernels.push((id, Activity::Computation));
            iterations.push(iteration(host, start..start + 1000));
        }
        let tree = TraceTree::build(builder.finish(), &TreeOptions::default());
        let measured = Measured::new(&tree, &iterations, kernels);
        let mut members: Vec<_> = measured.groups.iter().map(|group| group.iterations.clone()).collect();
        members.sort();
        assert_eq!(members, [vec![0, 1], vec![2]]);
    }

    #[test]
    fn the_first_is_warming_up_though_it_does_not_quite_the_same() {
        let first: &[_] = &[("load", 5_000), ("gemm", 600), ("gemm", 300)];
        assert_eq!(marks(&measured(&[first, USUAL, USUAL], &[])), ["warm-up", "", ""]);
        assert_eq!(marks(&measured(&[first, USUAL], &[])), ["", ""]);
        // A program that changes is no warm-up.
        let other: &[_] = &[("other", 5_000)];
        let changing = measured(&[other, other, other, USUAL, USUAL, USUAL, USUAL, USUAL], &[]);
        assert_eq!(marks(&changing), [""; 8]);
    }

    /// Iterations of 1,000, each with a kernel of 100 that begins so long after the iteration, and so long after its launch.
    /// Their durations and marks.
    fn waiting(of_iterations: &[(i64, i64)]) -> (Vec<i64>, Vec<&'static str>) {
        let mut builder = TraceBuilder::new();
        let (host, stream) = (builder.track(1, 1), builder.track(0, 7));
        let (mut iterations, mut kernels) = (Vec::new(), Vec::new());
        // The origin of times.
        builder.event(Category::CPU_OP, "start", host, 0, 1, EventArguments::default());
        for (&(wait, queued), at) in of_iterations.iter().zip(0..) {
            let (start, correlation) = (1_000 * at, Some(at + 1));
            let kernel = start + wait;
            let arguments = || EventArguments { correlation, ..EventArguments::default() };
            builder.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", host, kernel - queued, 1, arguments());
            let id = builder.event(Category::KERNEL, "gemm", stream, kernel, 100, arguments());
            kernels.push((id, Activity::Computation));
            iterations.push(iteration(host, start..start + 1_000));
        }
        let tree = TraceTree::build(builder.finish(), &TreeOptions::default());
        let measured = Measured::new(&tree, &iterations, kernels);
        let durations = measured.iterations.iter().zip(&iterations).map(|(figures, of)| figures.duration(of));
        (durations.collect(), marks(&measured))
    }

    #[test]
    fn the_first_waits_as_the_others_do_from_its_start_on_the_host() {
        assert_eq!(waiting(&[(810, 10); 5]), (vec![910, 1000, 1000, 1000, 1000], vec![""; 5]));
        assert_eq!(waiting(&[(900, 10); 2]), (vec![1000, 1000], vec![""; 2]));
        assert_eq!(waiting(&[(810, 10)]).0, [910]);
        // Queued behind work that is not in the recording: for how long the device did nothing is not known.
        assert_eq!(waiting(&[(810, 800); 3]), (vec![100, 1000, 1000], vec!["partial", "", ""]));
        assert_eq!(waiting(&[(810, 800); 2]), (vec![100, 1000], vec!["partial", ""]));
        // The second waits before its start on the host, as the first may have done.
        assert_eq!(waiting(&[(10, 2); 2]), (vec![110, 1000], vec!["partial", ""]));
    }

    #[test]
    fn the_wait_behind_iterations_without_device_work_begins_with_its_own_start() {
        let mut builder = TraceBuilder::new();
        let (host, stream) = (builder.track(1, 1), builder.track(0, 7));
        let (mut iterations, mut kernels) = (Vec::new(), Vec::new());
        for at in 0..6 {
            let start = 1_000 * at;
            builder.event(Category::CPU_OP, "op", host, start, 900, EventArguments::default());
            iterations.push(iteration(host, start..start + 900));
            if ![2, 3].contains(&at) {
                let arguments = || EventArguments { correlation: Some(at + 1), ..EventArguments::default() };
                builder.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", host, start + 50, 1, arguments());
                let id = builder.event(Category::KERNEL, "gemm", stream, start + 100, 800, arguments());
                kernels.push((id, Activity::Computation));
            }
        }
        let tree = TraceTree::build(builder.finish(), &TreeOptions::default());
        let measured = Measured::new(&tree, &iterations, kernels);
        let durations = measured.iterations.iter().zip(&iterations).map(|(figures, of)| figures.duration(of));
        // The last of them waits no longer than the second: 100 before its start on the host, of a wait of 200.
        assert_eq!(durations.collect::<Vec<_>>(), [900, 1_000, 900, 900, 900, 1_000]);
        assert_eq!(marks(&measured), ["", "", "no device work", "no device work", "", ""]);
        // The breakdowns add up to the timeline all the same.
        let total: i64 = measured.iterations.iter().map(|figures| figures.breakdown.total).sum();
        assert_eq!(total, 5_900 - 100);
    }

    /// Steps of 2,000, each with a copy and the replay of a graph for which the host waits. The recording has the graph's
    /// kernel in these only.
    fn replays(steps: i64, recorded: &[i64]) -> Measured {
        let mut builder = TraceBuilder::new();
        let (host, stream) = (builder.track(1, 1), builder.track(0, 7));
        let (mut iterations, mut kernels) = (Vec::new(), Vec::new());
        for step in 0..steps {
            let start = 2_000 * step;
            let arguments = |call: i64| EventArguments {
                correlation: Some(10 * step + call),
                stream: Some(7),
                ..EventArguments::default()
            };
            let mut call = |name, at, length, id| {
                builder.event(Category::CUDA_RUNTIME, name, host, start + at, length, arguments(id));
            };
            call("cudaMemcpyAsync", 2, 5, 1);
            call("cudaGraphLaunch", 10, 30, 2);
            call("cudaStreamSynchronize", 200, 1_600, 3);
            let name = "Memcpy HtoD (Pinned -> Device)";
            let copy = builder.event(Category::GPU_MEMCPY, name, stream, start + 8, 2, arguments(1));
            kernels.push((copy, Activity::Memcpy));
            if recorded.contains(&step) {
                let kernel =
                    builder.event(Category::KERNEL, "gemm", stream, start + 100, 1_500, arguments(2));
                kernels.push((kernel, Activity::Computation));
            }
            iterations.push(iteration(host, start..start + 1_900));
        }
        let tree = TraceTree::build(builder.finish(), &TreeOptions::default());
        let work = LaunchedWork::new(&tree);
        let division = Division::of(&work, tree.trace(), &iterations);
        let counted = counted_events(&tree, &work, kernels);
        Measured::of(&tree, &iterations, &division, &counted, &tree.unrecorded().time)
    }

    #[test]
    fn an_iteration_that_lacks_device_work_is_partial_and_its_time_is_not_that_of_the_next() {
        let measured = replays(12, &[0, 4, 5, 10]);
        let durations: Vec<i64> = [4, 5, 10]
            .map(|step| measured.iterations[step].breakdown.total - measured.iterations[step].unowned)
            .to_vec();
        // What the device did while the host waited for the step before is not recorded.
        assert_eq!(durations, [1_800; 3]);
        let partial: Vec<usize> = (0..12).filter(|&step| marks(&measured)[step] == "partial").collect();
        assert!([1, 2, 3, 6, 7, 8, 9, 11].iter().all(|step| partial.contains(step)), "{partial:?}");
        assert!([4, 5, 10].iter().all(|step| !partial.contains(step)), "{partial:?}");
    }

    #[test]
    fn iterations_of_which_hardly_two_are_alike_or_that_take_next_to_no_time_are_not_sure() {
        let unlike = |of_iterations: &[&[(&str, i64)]]| {
            let measured = measured(of_iterations, &[]);
            let iteration = Iteration { number: None, track: None, start: 0, end: 0, whole: true };
            measured.are_unlike(&vec![iteration; of_iterations.len()])
        };
        assert!(!unlike(&[USUAL; 6]));
        assert!(unlike(&[USUAL, &[("a", 9)], &[("b", 9)], &[("c", 9)], &[("d", 9)]]));
        assert!(!unlike(&[&[("load", 9)], USUAL, &[("save", 9)]]));
        let short: &[_] = &[("gemm", 1)];
        assert!(unlike(&[&[("all", 9_000_000)], short, short, short]));
    }

    #[test]
    fn nothing_is_unusual_among_two() {
        let measured = measured(&[&[("k", 100)], &[("k", 10_000)]], &[]);
        assert_eq!(marks(&measured), ["", ""]);
    }

    #[test]
    fn contents_have_in_common_what_both_hold() {
        let content = |counts: &[(u32, u32)]| -> Vec<(StringId, u32)> {
            let mut builder = TraceBuilder::new();
            let ids: Vec<StringId> = (0..4).map(|name| builder.intern(&format!("n{name}"))).collect();
            counts.iter().map(|&(name, count)| (ids[name as usize], count)).collect()
        };
        let share = |one: &[(u32, u32)], other: &[(u32, u32)]| in_common(&content(one), &content(other));
        assert_eq!(share(&[(0, 2), (1, 2)], &[(0, 2), (1, 2)]), 1.0);
        assert_eq!(share(&[(0, 2), (1, 2)], &[(1, 2), (2, 4)]), 0.25);
        assert_eq!(share(&[(0, 1)], &[]), 0.0);
        assert_eq!(share(&[], &[]), 1.0);
    }
}
