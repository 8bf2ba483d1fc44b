//! What bounds the work on the GPUs, and the kernels that take the most time.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use gpu_timeline::{SortFew, Summary};
use operator_sheets::{Bound, OpCategory, TimeShares};
use perf_models::{Category, kernel_class};
use trace_ingest::{Category as EventCategory, EventId, StringId};

use crate::IndexMap;
use crate::analysis::Analysis;

/// What bounds the work on the GPUs, with the figures that say so. Shares are 0 to 1.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TraceFinding {
    /// What it is.
    pub bound: Bound,
    /// Shares of the GPUs' time.
    pub shares: TimeShares,
    /// Kind of work with the most device time, and its share of the device time.
    pub category: (OpCategory, f64),
    /// Median time in µs from the end of a launch to the start of its kernel, 0 where the kernel starts before; `None`
    /// where the trace has no launches.
    pub launch_delay_us: Option<f64>,
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

impl Analysis {
    /// What bounds the work on the GPUs; `None` when nothing ran that the timeline counts.
    pub fn finding(&self) -> Option<TraceFinding> {
        let timeline = self.timeline().filter(|timeline| timeline.busy > 0)?;
        let share = |part: i64, whole: i64| part as f64 / whole as f64;
        let shares = TimeShares {
            idle: share(timeline.idle, timeline.total),
            exposed_communication: share(timeline.exposed_communication, timeline.busy),
            exposed_copies: share(timeline.exposed_memcpy, timeline.busy),
        };
        let mut times: BTreeMap<OpCategory, i64> = BTreeMap::new();
        let mut add = |category: &OpCategory, time: i64| match times.get_mut(category) {
            Some(sum) => *sum += time,
            None => _ = times.insert(category.clone(), time),
        };
        for part in self.launchers.all_parts() {
            add(&part.category, part.direct_time);
        }
        for event in self.counted_device_events().filter(|&event| !self.tree().contains(event)) {
            add(&self.class(event), self.trace().events().duration(event));
        }
        let all: i64 = times.values().sum();
        let (category, time) =
            times.into_iter().max_by_key(|&(_, time)| time).filter(|&(_, time)| time > 0)?;
        let launch_delay_us = self.launch_delay_us();
        Some(TraceFinding {
            bound: Bound::from_shares(&shares, launch_delay_us),
            shares,
            category: (category, share(time, all)),
            launch_delay_us,
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

    /// What a device event without a launch does, as its name says.
    pub fn class(&self, event: EventId) -> OpCategory {
        if self.trace().events().category(event) == EventCategory::GPU_MEMCPY {
            return Category::CopyFill.into();
        }
        let class = kernel_class(self.trace().name(event), &self.options().communication);
        class.map_or(Category::Other, |class| class.category).into()
    }

    fn launch_delay_us(&self) -> Option<f64> {
        let (tree, events) = (self.tree(), self.trace().events());
        let kernels =
            self.counted_device_events().filter(|&event| events.category(event) == EventCategory::KERNEL);
        let delays = kernels
            .filter_map(|kernel| Some((events.start(kernel) - events.end(tree.launch(kernel)?)).max(0)));
        let median = Summary::from_values(&delays.collect::<Vec<_>>())?.median;
        Some(median / self.trace().time_unit().per_microsecond() as f64)
    }
}

impl fmt::Display for TraceFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [idle, communication, copies] =
            [self.shares.idle, self.shares.exposed_communication, self.shares.exposed_copies]
                .map(|share| share * 100.0);
        let (category, share) = (&self.category.0, self.category.1 * 100.0);
        match (self.bound, self.launch_delay_us) {
            (Bound::Launches, Some(delay)) => write!(
                f,
                "bound by the host: the GPU is idle {idle:.1}% of the span and starts kernels {delay:.1} µs after \
                 their launch (median)"
            )?,
            (Bound::Launches | Bound::Idle, _) => {
                write!(f, "bound by what feeds the GPU: idle {idle:.1}% of the span")?;
            }
            (Bound::Communication, _) => {
                write!(
                    f,
                    "bound by communication: {communication:.1}% of busy time has no computation beside it"
                )?;
            }
            (Bound::Copies, _) => {
                write!(f, "bound by copies: {copies:.1}% of busy time has no kernel beside it")?
            }
            (Bound::Kernels, _) => {
                return write!(
                    f,
                    "bound by {category}: {share:.1}% of device time; idle {idle:.1}% of the span"
                );
            }
        }
        write!(f, "; of device time {category} takes {share:.1}%")
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
                "bound by communication: 63.6% of busy time has no computation beside it; \
                 of device time communication takes 66.7%",
            ),
            (
                &gaps,
                None,
                "bound by what feeds the GPU: idle 66.7% of the span; of device time GEMM takes 100.0%",
            ),
            (
                &gaps,
                Some(5),
                "bound by the host: the GPU is idle 66.7% of the span and starts kernels 5.0 µs after their launch \
                 (median); of device time GEMM takes 100.0%",
            ),
            (
                &[("flash_fwd_kernel", 100, 60), ("x", 160, 40)],
                Some(1),
                "bound by SDPA_fwd: 60.0% of device time; idle 0.0% of the span",
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
