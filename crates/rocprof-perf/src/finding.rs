//! What bounds the work on the GPUs, in a sentence or two.

use std::fmt;

use gpu_timeline::{Breakdown, Summary};
use hashbrown::HashMap;
use operator_sheets::{Bound, TimeShares, Unclassified, Whole};
use perf_models::Category;
use trace_ingest::Nanoseconds;
use trace_ingest::rocprof::Dispatch;

use crate::analysis::RocprofAnalysis;
use crate::sheets::calls::Callers;
use crate::sheets::timeline::agent_timelines;

/// Kernels below this are mostly launch.
const SHORT: Nanoseconds = Nanoseconds(10_000);

/// From which share on short kernels are worth a word: of all kernels, and of the kernel time.
const MANY: f64 = 0.5;
const MUCH: f64 = 0.2;

/// What bounds the work on the GPUs, with the figures that say so. Shares are 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct RocprofFinding {
    /// What it is.
    pub bound: Bound,
    /// Shares of the GPUs' time, of all GPUs together.
    pub shares: TimeShares,
    /// Known category of kernels with the most time, and its share of the kernel time; `None` where no name tells any.
    pub category: Option<(&'static str, f64)>,
    /// The kernels whose kind no name tells.
    pub unclassified: Unclassified,
    /// Kernel with the most time, and its share of the kernel time.
    pub kernel: (String, f64),
    /// Share of kernels shorter than 10 µs, and their share of the kernel time.
    pub short_kernels: (f64, f64),
    /// Median time in nanoseconds from the end of a call to the start of its kernel, 0 where the kernel starts before;
    /// `None` where the profile has no calls of kernels.
    pub queue_delay: Option<f64>,
}

impl RocprofFinding {
    /// A sentence of the unclassified kernels, where the finding is not about them.
    #[must_use]
    pub fn unclassified_beside(&self) -> Option<String> {
        self.unclassified.beside(self.category.map(|(_, share)| share), Whole::KernelTime)
    }
}

/// What bounds the work; `None` when no kernel took time.
#[must_use]
pub fn rocprof_finding(analysis: &RocprofAnalysis) -> Option<RocprofFinding> {
    let groups = analysis.groups();
    let total = groups.total as f64;
    let longest = groups.rows.iter().max_by_key(|group| group.durations.sum)?;
    if longest.durations.sum <= 0 {
        return None;
    }
    let mut categories: HashMap<&str, i64> = HashMap::new();
    let is_known = |category: &str| !category.eq_ignore_ascii_case(Category::Other.as_str());
    let mut unclassified = Vec::new();
    for group in &groups.rows {
        match is_known(group.category) {
            true => *categories.entry(group.category).or_default() += group.durations.sum,
            false => unclassified.push((analysis.names()[group.name as usize].as_str(), group.durations.sum)),
        }
    }
    let largest = categories.into_iter().max_by_key(|&(category, time)| (time, std::cmp::Reverse(category)));
    let agents = agent_timelines(analysis);
    let sum =
        |time: fn(&Breakdown) -> i64| agents.iter().map(|agent| time(&agent.breakdown)).sum::<i64>() as f64;
    let busy = sum(|breakdown| breakdown.busy);
    let shares = TimeShares {
        idle: sum(|breakdown| breakdown.idle) / sum(|breakdown| breakdown.total),
        unrecorded: sum(|breakdown| breakdown.unrecorded) / sum(|breakdown| breakdown.total),
        exposed_communication: sum(|breakdown| breakdown.exposed_communication) / busy,
        exposed_copies: sum(|breakdown| breakdown.exposed_memcpy) / busy,
    };
    let queue_delay = queue_delay(analysis);
    Some(RocprofFinding {
        bound: Bound::from_shares(&shares, queue_delay.map(|nanoseconds| nanoseconds / 1e3)),
        shares,
        category: largest.map(|(category, time)| (category, time as f64 / total)),
        unclassified: Unclassified::new(unclassified, groups.total),
        kernel: (analysis.names()[longest.name as usize].clone(), longest.durations.sum as f64 / total),
        short_kernels: short_kernels(analysis, total),
        queue_delay,
    })
}

/// Share of kernels that are short, and their share of the kernel time.
fn short_kernels(analysis: &RocprofAnalysis, total: f64) -> (f64, f64) {
    let (mut all, mut short, mut time) = (0_u64, 0_u64, Nanoseconds(0));
    for dispatch in analysis.dispatches() {
        all += 1;
        if dispatch.duration() < SHORT {
            short += 1;
            time += dispatch.duration();
        }
    }
    (short as f64 / all as f64, time.0 as f64 / total)
}

fn queue_delay(analysis: &RocprofAnalysis) -> Option<f64> {
    let profile = analysis.profile();
    let delay = |(dispatch, call): (&Dispatch, Option<u32>)| {
        Some(dispatch.start.without(profile.calls[call? as usize].end).0)
    };
    let delays = profile.dispatches.iter().zip(Callers::new(profile).dispatches).filter_map(delay);
    Summary::from_values(&delays.collect::<Vec<_>>()).map(|summary| summary.median)
}

impl fmt::Display for RocprofFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| share * 100.0;
        let delay = self.queue_delay.unwrap_or_default() / 1e3;
        let (idle, communication) = (percent(self.shares.idle), percent(self.shares.exposed_communication));
        let unclassified = self.unclassified.headline(self.category, Whole::KernelTime);
        match self.bound {
            Bound::Launches => write!(
                f,
                "work is bound by launches: GPUs are idle {idle:.1} % of the time and begin kernels {delay:.1} µs \
                 after the call (median), so they wait for the host"
            )?,
            Bound::NotRecorded => write!(
                f,
                "what the GPUs did is not recorded for {:.1} % of the time between their first and last work",
                percent(self.shares.unrecorded)
            )?,
            Bound::Idle => write!(
                f,
                "work is bound by what feeds the GPUs: idle {idle:.1} % of the time between their first and last work"
            )?,
            Bound::Communication => {
                write!(f, "work is bound by communication: exposed {communication:.1} % of busy time")?;
            }
            Bound::Copies => write!(
                f,
                "work is bound by memory copies: exposed {:.1} % of busy time",
                percent(self.shares.exposed_copies)
            )?,
            Bound::Kernels if unclassified.is_none() => f.write_str("work is bound by kernels: ")?,
            Bound::Kernels => {}
        }
        // Idle GPUs have a reason beside what they do when they are not.
        if matches!(self.bound, Bound::Launches | Bound::Idle) && self.shares.exposed_communication > 0.5 {
            write!(f, "; communication is exposed {communication:.1} % of busy time")?;
        }
        let (kernel, of_kernel) = (&self.kernel.0, percent(self.kernel.1));
        let of_kernels = match (unclassified, self.category) {
            (Some(unclassified), _) => unclassified,
            (None, Some((category, share))) if self.bound == Bound::Kernels => {
                format!("{category} {:.1} % of kernel time, {kernel} {of_kernel:.1} %", percent(share))
            }
            (None, Some((category, share))) => {
                format!("of kernel time {category} {:.1} %, {kernel} {of_kernel:.1} %", percent(share))
            }
            (None, None) => String::new(),
        };
        if self.bound != Bound::Kernels && !of_kernels.is_empty() {
            f.write_str("; ")?;
        }
        f.write_str(&of_kernels)?;
        if self.bound == Bound::Kernels || self.bound == Bound::Copies {
            write!(f, "; idle {idle:.1} % of the time")?;
        }
        let (count, time) = self.short_kernels;
        if count >= MANY && time >= MUCH {
            write!(
                f,
                "; many short kernels: {:.1} % take less than 10 µs, {:.1} % of kernel time",
                percent(count),
                percent(time)
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use trace_ingest::rocprof::{Call, CopyDirection, Domain};

    use super::*;
    use crate::RocprofOptions;
    use crate::fixture::Recorded;

    fn finding(recorded: Recorded) -> Option<RocprofFinding> {
        rocprof_finding(&RocprofAnalysis::new(recorded.profile, RocprofOptions::default()))
    }

    /// Kernels by name and span in µs, on one GPU, each with a call that ends so many µs before.
    fn recorded(kernels: &[(&str, i64, i64)], call_before: Option<i64>) -> Recorded {
        let mut recorded = Recorded::new(None);
        let gpu = recorded.gpu("1", 0);
        for (at, &(name, start, end)) in (1..).zip(kernels) {
            recorded.run(name, Some(gpu), start * 1_000, end * 1_000).correlation = Some(at);
            let Some(before) = call_before else { continue };
            let name = recorded.profile.strings.intern("hipLaunchKernel");
            let end = (start - before) * 1_000;
            recorded.profile.calls.push(Call {
                start: Nanoseconds(end - 3_000),
                end: Nanoseconds(end),
                correlation: Some(at),
                thread: 1,
                stream: 0,
                operation: 0,
                process: 0,
                domain: Domain::Hip,
                kind: name,
                name,
            });
        }
        recorded
    }

    #[test]
    fn the_bound_follows_from_where_the_time_goes() {
        let communication = [("gemm", 0, 40), ("ncclDevKernel", 30, 110)];
        let gaps = [("gemm", 0, 20), ("gemm", 100, 120)];
        for (kernels, call_before, bound, text) in [
            (
                &communication[..],
                None,
                Bound::Communication,
                "bound by communication: exposed 63.6 % of busy time",
            ),
            (&gaps, None, Bound::Idle, "what feeds the GPUs: idle 66.7 % of the time"),
            (
                &gaps,
                Some(5),
                Bound::Launches,
                "bound by launches: GPUs are idle 66.7 % of the time and begin kernels 5.0 µs after",
            ),
            (&gaps, Some(21), Bound::Idle, "what feeds the GPUs"),
            (
                &[("gemm", 0, 60), ("add", 60, 100)],
                None,
                Bound::Kernels,
                "bound by kernels: GEMM 60.0 % of kernel time, gemm 60.0 %; idle 0.0 %",
            ),
            (
                &[("gemm", 0, 30), ("mine", 30, 100)],
                None,
                Bound::Kernels,
                "70.0% of kernel time is in kernels of no known class (mine 70.0%); largest known class: GEMM 30.0%; idle \
                 0.0 %",
            ),
            (
                &[("mine", 0, 20), ("mine", 100, 120)],
                None,
                Bound::Idle,
                "last work; 100.0% of kernel time is in kernels of no known class (mine 100.0%)",
            ),
        ] {
            let found = finding(recorded(kernels, call_before)).unwrap();
            assert_eq!(found.bound, bound, "{found:?}");
            assert!(found.to_string().contains(text), "{found}");
            assert!(!found.to_string().contains("short kernels"), "{found}");
        }
    }

    #[test]
    fn copies_beside_which_nothing_runs_bound() {
        let mut recorded = recorded(&[("gemm", 0, 20)], None);
        recorded.copy(CopyDirection::HostToDevice, [None, Some(0)], 20_000, 90_000);
        let found = finding(recorded).unwrap();
        assert_eq!(found.bound, Bound::Copies);
        assert!(found.to_string().contains("memory copies: exposed 77.8 % of busy time"), "{found}");
    }

    #[test]
    fn many_short_kernels_are_said() {
        let kernels: Vec<(&str, i64, i64)> = (0..20).map(|at| ("add", at * 9, at * 9 + 9)).collect();
        let found = finding(recorded(&kernels, None)).unwrap();
        assert_eq!(found.short_kernels, (1.0, 1.0));
        let text = "many short kernels: 100.0 % take less than 10 µs, 100.0 % of kernel time";
        assert!(found.to_string().contains(text), "{found}");
    }

    #[test]
    fn without_kernel_time_there_is_nothing_to_find() {
        assert_eq!(finding(Recorded::new(None)), None);
        assert_eq!(finding(recorded(&[("gemm", 5, 5)], None)), None);
    }
}
