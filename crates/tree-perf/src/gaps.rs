//! Where the time of each device went, to the last unit: what it worked on, and what the host did while it had nothing to do.

use std::cmp::Reverse;
use std::fmt;

use gpu_timeline::Interval;
use hashbrown::HashMap;
use sheets::numbers::{decimal, duration};
use trace_ingest::{EventId, RowId, TrackId};

use crate::analysis::Analysis;
use crate::device::interval;
use crate::gap_causes::{DeviceWork, Gap, GapCauses, GapParts, TimeBudget};
use crate::notice::Notice;
use crate::options::{BudgetBounds, IterationName, without_numbers};

/// What the idlest device did nothing for, and its longest gap.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GapFinding {
    /// What the device is called: `GPU 0`.
    pub device: String,
    /// The largest part of its idle time.
    pub cause: &'static str,
    /// The share of that part, 0 to 1.
    pub share: f64,
    /// Idle time between its first start and its last end in µs.
    pub idle_us: f64,
    /// That time in µs.
    pub span_us: f64,
    /// Idle time of its longest gap in µs.
    pub longest_us: f64,
    /// Start of that gap in µs from the beginning of the recording.
    pub longest_at_us: f64,
    /// The call that launched what ends it, and the operator or range around that; `None` where it is not recorded.
    pub call: Option<(String, Option<String>)>,
}

impl fmt::Display for GapFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let meanwhile = match self.cause {
            "sync" => "the launching thread synchronizes",
            "other calls" => "the launching thread is in other CUDA calls",
            "launch" => "launch calls run",
            "host" => "the launching thread runs other code",
            "queued" => "launched work has not started",
            _ => "the next work has no recorded launch",
        };
        write!(
            f,
            "{} is idle for {} of {}, {}% of it while {meanwhile}; the longest gap, {} at {}",
            self.device,
            duration(self.idle_us),
            duration(self.span_us),
            decimal(self.share * 100.0, 1),
            duration(self.longest_us),
            duration(self.longest_at_us),
        )?;
        match &self.call {
            Some((call, Some(around))) => write!(f, ", ends with {call} in {around}"),
            Some((call, None)) => write!(f, ", ends with {call}"),
            None => f.write_str(", ends with work whose launch is not recorded"),
        }
    }
}

/// The iteration that took longest, on the device that was idle most of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LongestIteration {
    /// Name of the iterations.
    pub name: String,
    /// Its number among them.
    pub index: usize,
    /// What the device is called: `GPU 0`.
    pub device: String,
    /// How long it took in µs; a step as the sheet iterations says, a named range as [`TimeBudget::time`] does.
    pub wall_us: f64,
    /// What most of the time went to.
    pub part: &'static str,
    /// The share of that part, 0 to 1.
    pub share: f64,
}

impl fmt::Display for LongestIteration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "iteration {} of '{}' takes longest ({}): {}% of it is {} on {}",
            self.index,
            self.name,
            duration(self.wall_us),
            decimal(self.share * 100.0, 1),
            self.part,
            self.device
        )
    }
}

/// A device in one of equal parts of its time.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Utilization {
    /// The device.
    pub device: i64,
    /// Number of the part, from 0.
    pub part: usize,
    /// When.
    pub time: Interval,
    /// At least one kernel, copy or fill ran.
    pub busy: i64,
    /// Sum over kernels, copies and fills: those that run at the same time count each.
    pub summed: i64,
}

impl Analysis {
    fn gap_causes(&self) -> &GapCauses {
        let causes = || GapCauses::new(self.trace(), self.counted_activities(), self.unrecorded().clone());
        self.derived.gap_causes.get_or_init(causes)
    }

    /// The gaps of each device between its first and its last work, by device and start.
    #[must_use]
    pub fn gaps(&self) -> Vec<Gap> {
        let causes = self.gap_causes();
        let device_gaps = |(&device, work): (&i64, &DeviceWork)| {
            let idle = work.busy.span().map_or_else(Vec::new, |window| work.idle(window));
            idle.into_iter().map(|time| causes.gap(self.tree(), device, work, time)).collect::<Vec<_>>()
        };
        causes.devices.iter().flat_map(device_gaps).collect()
    }

    /// Of the device with the most idle time the largest part of it, and the longest gap; `None` without gaps. Time in which
    /// the device may have worked without a record is not idle.
    #[must_use]
    pub fn gap_finding(&self) -> Option<GapFinding> {
        let mut gaps = self.gaps();
        for gap in &mut gaps {
            gap.parts.unknown -= self.unrecorded().shared_time(gap.time);
        }
        gaps.retain(|gap| gap.parts.total() > 0);
        let idle = |gaps: &&[Gap]| gaps.iter().map(|gap| gap.parts.total()).sum::<i64>();
        let gaps_by_device = gaps.chunk_by(|a, b| a.device == b.device);
        // Of equals the first.
        let idlest = gaps_by_device.max_by_key(|gaps| (idle(gaps), Reverse(gaps[0].device)))?;
        let longest = idlest.iter().max_by_key(|gap| (gap.parts.total(), Reverse(gap.time.start)))?;
        let parts: GapParts = idlest.iter().map(|gap| gap.parts).sum();
        let cause = parts.cause();
        let part = parts.named().iter().find(|(name, _)| *name == cause).map_or(0, |(_, time)| *time);
        let device = longest.device;
        let span = self.gap_causes().devices.get(&device)?.busy.span()?;
        let call = longest.call.map(|call| {
            let name = |event: EventId| self.trace().name(event).to_owned();
            (name(call), self.tree().parent(call).map(name))
        });
        Some(GapFinding {
            device: self.trace().facts().name_of_device(device),
            cause,
            share: part as f64 / parts.total() as f64,
            idle_us: self.us(parts.total()),
            span_us: self.us(span.length()),
            longest_us: self.us(longest.parts.total()),
            longest_at_us: self.us(longest.time.start),
            call,
        })
    }

    /// The budget of a device for a stretch of time; `None` where the device has no work at all.
    #[must_use]
    pub fn time_budget(&self, device: i64, time: Interval) -> Option<TimeBudget> {
        let causes = self.gap_causes();
        Some(causes.budget(self.tree(), device, causes.devices.get(&device)?, time))
    }

    /// The budget of each device for the whole window, and for each iteration that it works in: those of the ranges that
    /// [`AnalysisOptions::iteration`](crate::AnalysisOptions::iteration) names, else the steps where they are sure.
    #[must_use]
    pub fn time_budgets(&self) -> Vec<TimeBudget> {
        let causes = self.gap_causes();
        let mut budgets = Vec::new();
        for (&device, work) in &causes.devices {
            budgets.extend(work.busy.span().map(|window| causes.budget(self.tree(), device, work, window)));
        }
        let launches = Launches::new(self);
        for stretch in self.stretches(causes, &launches) {
            if let Some(time) = self.bounds(&stretch, &launches) {
                let is_host_time = self.projected_track(&stretch).is_none();
                let is_step = self.step(&stretch).is_some();
                let stretch_budgets = self.budgets_of(&stretch, time);
                budgets.extend(stretch_budgets.map(|budget| TimeBudget { is_host_time, is_step, ..budget }));
            }
        }
        budgets
    }

    /// The iteration that took longest of at least two.
    #[must_use]
    pub fn longest_iteration(&self) -> Option<LongestIteration> {
        let launches = Launches::new(self);
        let stretches = self.stretches(self.gap_causes(), &launches);
        if stretches.len() < 2 {
            return None;
        }
        let bounded = stretches.iter().filter_map(|stretch| {
            let time = self.step_time(stretch.index).or_else(|| self.bounds(stretch, &launches))?;
            Some((stretch, time))
        });
        // Of equals the first.
        let (longest, time) =
            bounded.max_by_key(|(stretch, time)| (time.length(), Reverse(stretch.index)))?;
        let budgets = self.budgets_of(longest, time);
        let budget = budgets.max_by_key(|budget| (budget.idle.total(), Reverse(budget.device)))?;
        let busy = [
            ("computation", budget.computation),
            ("exposed communication", budget.exposed_communication),
            ("exposed copies", budget.exposed_copies),
            ("idle", budget.idle.total()),
        ];
        let (part, most) = busy.into_iter().rev().max_by_key(|&(_, time)| time)?;
        Some(LongestIteration {
            name: longest.name.clone(),
            index: longest.index,
            device: self.trace().facts().name_of_device(budget.device),
            wall_us: self.us(time.length()),
            part,
            share: most as f64 / time.length().max(1) as f64,
        })
    }

    /// From when to when a step ran on the device, as long as its duration; `None` where ranges of a name stand for the steps,
    /// and of a step without device work.
    fn step_time(&self, index: usize) -> Option<Interval> {
        let (level, measured) = self.iterations().steps().filter(|_| self.options().iteration.is_none())?;
        let at = index.checked_sub(level.first)?;
        let (step, figures) = (level.iterations.get(at)?, measured.iterations.get(at)?);
        let end = figures.device_span?.end;
        Some(Interval::between(end - figures.duration(step), end))
    }

    /// When a step ran on the device, where budgets are of steps.
    fn step(&self, stretch: &Stretch) -> Option<Interval> {
        (self.options().budget == BudgetBounds::Step).then(|| self.step_time(stretch.index))?
    }

    /// From when to when a stretch is: as a step, on the host, or from the first start to the last end of what it launches, if anything.
    fn bounds(&self, stretch: &Stretch, launches: &Launches) -> Option<Interval> {
        if let Some(step) = self.step(stretch) {
            return Some(step);
        }
        match self.projected_track(stretch) {
            Some(track) => {
                let times = launches.of(track, stretch.host).map(|event| interval(self.trace(), event));
                times.reduce(Interval::hull)
            }
            None => Some(stretch.host),
        }
    }

    /// The thread whose device work bounds a stretch; `None` where the host does.
    fn projected_track(&self, stretch: &Stretch) -> Option<TrackId> {
        stretch.track.filter(|_| self.options().budget == BudgetBounds::Projected)
    }

    /// The budgets of the devices of a stretch.
    fn budgets_of(&self, stretch: &Stretch, time: Interval) -> impl Iterator<Item = TimeBudget> {
        let causes = self.gap_causes();
        stretch.devices.iter().filter_map(move |&device| {
            let budget = causes.budget(self.tree(), device, causes.devices.get(&device)?, time);
            Some(TimeBudget { range: Some(stretch.name.clone()), index: Some(stretch.index), ..budget })
        })
    }

    /// The iterations with the devices that each is about.
    fn stretches(&self, causes: &GapCauses, launches: &Launches) -> Vec<Stretch> {
        if let Some(name) = &self.options().iteration {
            return self.named_ranges(name, launches);
        }
        let Some((level, _)) = self.iterations().steps().filter(|(level, _)| level.is_sure()) else {
            return Vec::new();
        };
        let stretch = |(iteration, index): (&iterations::Iteration, usize)| {
            let host = Interval::between(iteration.start, iteration.end);
            let works =
                |(&device, work): (&i64, &DeviceWork)| (work.busy.shared_time(host) > 0).then_some(device);
            let devices = causes.devices.iter().filter_map(works).collect();
            Stretch { name: level.name.clone(), index, track: iteration.track, host, devices }
        };
        level.iterations.iter().zip(level.first..).map(stretch).collect()
    }

    /// The ranges and operators of the host with a name, by start, with the devices that their processes work on.
    fn named_ranges(&self, name: &IterationName, launches: &Launches) -> Vec<Stretch> {
        let (trace, events) = (self.trace(), self.trace().events());
        let ranges = iterations::host_ranges(trace, |text| name.matches(text));
        let stretch = |(index, event): (usize, EventId)| {
            let track = events.track(event);
            let devices = launches.devices.get(&trace.tracks().get(track).pid).cloned().unwrap_or_default();
            let host = interval(trace, event);
            let name = without_numbers(trace.name(event));
            Stretch { name, index, track: Some(track), host, devices }
        };
        ranges.into_iter().enumerate().map(stretch).collect()
    }

    /// That nothing has the name that iterations were to have.
    pub(crate) fn no_range_of_name(&self) -> Option<Notice> {
        let name = self.options().iteration.as_ref()?;
        let is_empty = self.named_ranges(name, &Launches::default()).is_empty();
        is_empty.then(|| Notice::NoRangeOfName { name: name.to_string() })
    }

    /// Each device in equal parts of the time from its first start to its last end; parts without length are left out.
    #[must_use]
    pub fn utilizations(&self, parts: usize) -> Vec<Utilization> {
        let trace = self.trace();
        let mut rows = Vec::new();
        for (&device, work) in &self.gap_causes().devices {
            let Some(span) = work.busy.span() else { continue };
            // In 128 bits: a product of times may need more than 64.
            let bound = |part: usize| {
                let offset = part as i128 * i128::from(span.length()) / parts as i128;
                span.start + offset as i64
            };
            let first_row = rows.len();
            rows.extend((0..parts).map(|part| {
                let time = Interval::between(bound(part), bound(part + 1));
                Utilization { device, part, time, busy: work.busy.shared_time(time), summed: 0 }
            }));
            let rows = &mut rows[first_row..];
            for &(_, event) in &work.starts {
                let time = interval(trace, event);
                let first = rows.partition_point(|row| row.time.end <= time.start);
                for row in rows[first..].iter_mut().take_while(|row| row.time.start < time.end) {
                    row.summed += row.time.shared_time(time);
                }
            }
        }
        rows.retain(|row| !row.time.is_empty());
        rows
    }
}

/// A stretch of time of the host that has a budget.
struct Stretch {
    name: String,
    index: usize,
    track: Option<TrackId>,
    host: Interval,
    devices: Vec<i64>,
}

/// Calls with the device work that they launched.
#[derive(Default)]
struct Launches {
    /// By thread: start and end of the call, and the work, by start.
    calls_by_thread: HashMap<TrackId, Vec<(i64, i64, EventId)>>,
    /// By process: the devices that it launched work on, ascending.
    devices: HashMap<RowId, Vec<i64>>,
}

impl Launches {
    fn new(analysis: &Analysis) -> Self {
        let (trace, events) = (analysis.trace(), analysis.trace().events());
        let mut calls_by_thread: HashMap<TrackId, Vec<(i64, i64, EventId)>> = HashMap::new();
        let mut devices: HashMap<RowId, Vec<i64>> = HashMap::new();
        for (event, _) in analysis.counted_activities() {
            let Some(call) = analysis.tree().recorded_launch(event) else { continue };
            let (track, device) = (events.track(call), events.device(event).unwrap_or(0));
            calls_by_thread.entry(track).or_default().push((events.start(call), events.end(call), event));
            let process_devices = devices.entry(trace.tracks().get(track).pid).or_default();
            if let Err(at) = process_devices.binary_search(&device) {
                process_devices.insert(at, device);
            }
        }
        for calls in calls_by_thread.values_mut() {
            calls.sort_unstable();
        }
        Launches { calls_by_thread, devices }
    }

    /// The work of the calls of a thread that lie in a stretch of time.
    fn of(&self, track: TrackId, time: Interval) -> impl Iterator<Item = EventId> + '_ {
        let calls = self.calls_by_thread.get(&track).map_or(&[][..], Vec::as_slice);
        let first = calls.partition_point(|call| call.0 < time.start);
        let inside = calls[first..].iter().take_while(move |call| call.0 <= time.end);
        inside.filter(move |call| call.1 <= time.end).map(|call| call.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_equal_but_for_their_numbers() {
        for (name, expected) in [
            ("step 17", "step #"),
            ("aten::is_nonzero", "aten::is_nonzero"),
            ("ProfilerStep#3", "ProfilerStep#"),
            ("ProfilerStep#", "ProfilerStep#"),
            ("[Executor] _forward_step 17: 2 ctx reqs", "[Executor] _forward_step #: # ctx reqs"),
            ("", ""),
        ] {
            assert_eq!(without_numbers(name), expected);
        }
    }
}
