//! What bounds the work on the GPUs, and the kernels that take the most time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use gpu_timeline::{Breakdown, SortFew, WaitCause};
use operator_sheets::{Bound, Headline, IdleFor, OpCategory, TimeShares, Unclassified, Whole};
use perf_models::Category;
use sheets::numbers::duration;
use trace_ingest::{Category as EventCategory, EventId, StringId};

use crate::IndexMap;
use crate::analysis::Analysis;

/// What bounds the work on the GPUs, with the figures that say so. Shares are 0 to 1.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TraceFinding {
    /// What it is.
    pub bound: Bound,
    /// What the devices are called.
    pub device: String,
    /// Shares of the GPUs' time, all GPUs together.
    pub shares: TimeShares,
    /// Share of its window in which each GPU is idle, where there are several.
    pub idle_of_devices: Vec<f64>,
    /// Whether the GPUs run one after the other and hardly at the same time.
    pub take_turns: bool,
    /// Time in µs between cycles of the recorder, which the shares leave out.
    pub between_cycles_us: f64,
    /// Known kind of work with the most device time, and its share of the device time; `None` where no name tells any.
    pub category: Option<(OpCategory, f64)>,
    /// The kernels whose kind no name tells.
    pub unclassified: Unclassified,
}

/// All kernels of one name.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct KernelTotal {
    /// Name, as the profiler gives it.
    pub name: String,
    /// How often it ran.
    pub calls: u64,
    /// Sum of its durations in µs, overlaps counted twice.
    pub time_us: f64,
    /// That sum in percent of the same of all device events.
    pub percent: f64,
}

/// GPUs run one at a time if together they are busy no longer than so many times the time in which any of them is.
const CONCURRENCY_LIMIT: f64 = 1.1;
/// Least share of the busy time of all that each GPU has which takes turns.
const LEAST_TURN: f64 = 0.05;
impl Analysis {
    /// What bounds the work on the GPUs; `None` when nothing ran that the timeline counts.
    pub fn finding(&self) -> Option<TraceFinding> {
        let timeline = self.timeline().filter(|timeline| timeline.busy > 0)?;
        let share = |part: i64, whole: i64| part as f64 / whole as f64;
        // One timeline of several devices would hide that some of them are idle.
        let devices = match self.timelines_of_devices() {
            several if several.len() > 1 => several.iter().map(|of| of.breakdown).collect(),
            _ => vec![timeline],
        };
        let sum = |part: fn(&Breakdown) -> i64| devices.iter().map(part).sum::<i64>();
        // What lies between two cycles of the recorder says nothing of the program.
        let between_cycles = self.between_cycles().min(timeline.unrecorded);
        let all_between = between_cycles * devices.len() as i64;
        let (busy, total) = (sum(|of| of.busy), sum(|of| of.total) - all_between);
        let shares = TimeShares {
            idle: share(sum(|of| of.idle), total),
            unrecorded: share(sum(|of| of.unrecorded) - all_between, total),
            exposed_communication: share(sum(|of| of.exposed_communication), busy),
            exposed_copies: share(sum(|of| of.exposed_memcpy), busy),
        };
        let several = devices.len() > 1;
        let take_turns = several
            && timeline.idle <= timeline.busy
            && busy as f64 <= CONCURRENCY_LIMIT * timeline.busy as f64
            && devices.iter().all(|of| share(of.busy, busy) >= LEAST_TURN);
        let mut times: BTreeMap<OpCategory, i64> = BTreeMap::new();
        let mut add = |category: &OpCategory, time: i64| match times.get_mut(category) {
            Some(sum) => *sum += time,
            None => _ = times.insert(category.clone(), time),
        };
        for part in self.launchers.all_parts() {
            add(&part.category, part.direct_time);
        }
        let events = self.trace().events();
        let is_other = |category: &OpCategory| *category == OpCategory::BuiltIn(Category::Other);
        let parts = self.launchers.all_parts().filter(|part| is_other(&part.category));
        let mut others: Vec<EventId> =
            parts.flat_map(|part| self.launchers.kernels_of_part(part)).copied().collect();
        if self.options().include_unlinked_kernels {
            for unlinked in self.unlinked_events() {
                let category = unlinked.class.into();
                add(&category, events.duration(unlinked.event));
                others.extend(is_other(&category).then_some(unlinked.event));
            }
        }
        let all: i64 = times.values().sum();
        let known = times.into_iter().filter(|(category, time)| !is_other(category) && *time > 0);
        let category =
            known.max_by_key(|&(_, time)| time).map(|(category, time)| (category, share(time, all)));
        let others = others.into_iter().map(|event| (self.trace().name(event), events.duration(event)));
        let unclassified = Unclassified::new(others, all);
        if category.is_none() && unclassified.share == 0.0 {
            return None;
        }
        Some(TraceFinding {
            bound: Bound::from_shares(&shares, || self.idle_for()),
            device: self.trace().facts().kind_of_devices(),
            shares,
            idle_of_devices: if several {
                devices.iter().map(|of| share(of.idle, of.total - between_cycles)).collect()
            } else {
                Vec::new()
            },
            take_turns,
            between_cycles_us: self.us(between_cycles),
            category,
            unclassified,
        })
    }

    /// The kernels of the timeline by name, most time first.
    pub fn kernel_totals(&self) -> Vec<KernelTotal> {
        let events = self.trace().events();
        let mut totals: IndexMap<StringId, (u64, i64)> = IndexMap::default();
        let mut all = 0;
        for event in self.counted_device_events() {
            all += events.duration(event);
            if events.category(event) == EventCategory::KERNEL {
                let (calls, time) = totals.entry(events.name(event)).or_default();
                *calls += 1;
                *time += events.duration(event);
            }
        }
        let mut totals: Vec<(StringId, (u64, i64))> = totals.into_iter().collect();
        totals.sort_few_by_key(|&(_, (_, time))| Reverse(time));
        let total = |(name, (calls, time))| KernelTotal {
            name: self.trace().text(name).to_owned(),
            calls,
            time_us: self.us(time),
            percent: if all > 0 { time as f64 / all as f64 * 100.0 } else { 0.0 },
        };
        totals.into_iter().map(total).collect()
    }

    fn counted_device_events(&self) -> impl Iterator<Item = EventId> {
        self.counted().map(|position| self.device.ids[position])
    }

    /// What the devices wait for in most of their idle time.
    fn idle_for(&self) -> IdleFor {
        let events = self.trace().events();
        let devices: BTreeSet<Option<i64>> =
            self.counted_device_events().map(|event| events.device(event)).collect();
        let device_stretches = |device| self.idle_stretches(move |event| events.device(event) == device).0;
        let waits = devices.into_iter().flat_map(device_stretches);
        let known = waits.filter(|wait| wait.cause != WaitCause::NotRecorded);
        IdleFor::of(known.map(|wait| (wait.cause, wait.span.length())))
    }
}

impl fmt::Display for TraceFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headline = Headline {
            bound: self.bound,
            shares: &self.shares,
            device: &self.device,
            idle_of_devices: &self.idle_of_devices,
            largest: self.largest(),
            unclassified: &self.unclassified,
            whole: Whole::DeviceTime,
        };
        match self.take_turns && matches!(self.bound, Bound::Idle(_)) {
            true => write!(f, "the {}s run one at a time: {}", self.device, headline.idle())?,
            false => write!(f, "{headline}")?,
        }
        let unrecorded = self.shares.unrecorded * 100.0;
        if self.bound != Bound::NotRecorded && unrecorded >= 0.05 {
            write!(f, "; {unrecorded:.1}% not recorded")?;
        }
        if self.between_cycles_us > 0.0 {
            let left_out = duration(self.between_cycles_us);
            write!(f, " (excluding the {left_out} between two profiler cycles)")?;
        }
        Ok(())
    }
}

impl TraceFinding {
    fn largest(&self) -> Option<(&str, f64)> {
        self.category.as_ref().map(|(category, share)| (category.as_str(), *share))
    }

    /// A sentence of the unclassified kernels, where the finding is not about them.
    #[must_use]
    pub fn unclassified_beside(&self) -> Option<String> {
        self.unclassified.beside(self.largest().map(|(_, share)| share), Whole::DeviceTime)
    }
}

#[cfg(test)]
mod tests {
    use trace_ingest::{EventArguments, TraceBuilder};

    use super::*;
    use crate::AnalysisOptions;

    /// Kernels by name, start and duration in µs, each with a launch that ends so many µs before.
    fn analysis(kernels: &[(&str, i64, i64)], launch_before: Option<i64>) -> Analysis {
        let mut builder = TraceBuilder::new();
        let (host, stream) = (builder.track(1, 1), builder.track(0, 7));
        for (correlation, &(name, start, duration)) in (1..).zip(kernels) {
            let arguments = || EventArguments { correlation: Some(correlation), ..EventArguments::default() };
            if let Some(before) = launch_before {
                let end = (start - before) * 1_000;
                let call = EventCategory::CUDA_RUNTIME;
                builder.event(call, "cudaLaunchKernel", host, end - 1_000, 1_000, arguments());
            }
            builder.event(EventCategory::KERNEL, name, stream, start * 1_000, duration * 1_000, arguments());
        }
        Analysis::new(
            builder.finish(),
            AnalysisOptions { include_unlinked_kernels: true, ..AnalysisOptions::default() },
        )
    }

    #[test]
    fn the_bound_follows_from_where_the_time_goes() {
        let gaps = [("sm90_xmma_gemm", 100, 20), ("sm90_xmma_gemm", 200, 20)];
        for (kernels, launch_before, text) in [
            (
                &[("sm90_xmma_gemm", 100, 40), ("ncclDevKernel_AllReduce", 130, 80)][..],
                None,
                "communication-bound: exposed communication is 63.6% of busy time; largest: communication, 66.7% of device time",
            ),
            (
                &gaps,
                None,
                "GPU idle 66.7% of the window, for reasons not recorded; largest: GEMM, 100.0% of device time",
            ),
            (
                &gaps,
                Some(5),
                "GPU starved: idle 66.7% of the window, waiting for the host; largest: GEMM, 100.0% of device time",
            ),
            (
                &[("flash_fwd_kernel", 100, 60), ("x", 160, 40)],
                Some(1),
                "largest: SDPA_fwd, 60.0% of device time; idle 0.0% of the window",
            ),
            (
                &[("flash_fwd_kernel", 100, 40), ("x", 140, 50), ("y", 190, 10)],
                Some(1),
                "60.0% of device time is in unclassified kernels (x 50.0%, y 10.0%); largest known class: \
                 SDPA_fwd 40.0%; idle 0.0% of the window",
            ),
            (
                &[("x", 100, 10), ("x", 190, 10)],
                None,
                "GPU idle 80.0% of the window, for reasons not recorded; 100.0% of device time is in unclassified \
                 kernels (x 100.0%)",
            ),
        ] {
            assert_eq!(analysis(kernels, launch_before).finding().unwrap().to_string(), text);
        }
        assert_eq!(analysis(&[], None).finding(), None);
        assert_eq!(analysis(&[("instant", 1, 0)], None).finding(), None);
    }

    #[test]
    fn kernels_of_one_name_add_up() {
        let totals = analysis(&[("a", 0, 1), ("b", 2, 5), ("a", 8, 3), ("c", 12, 1)], None).kernel_totals();
        let rows: Vec<_> = totals
            .iter()
            .map(|total| (total.name.as_str(), total.calls, total.time_us, total.percent))
            .collect();
        assert_eq!(rows, [("b", 1, 5.0, 50.0), ("a", 2, 4.0, 40.0), ("c", 1, 1.0, 10.0)]);
    }
}
