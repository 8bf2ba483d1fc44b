//! The steps of a program on the first page, and the window that it is of.

use std::fmt::Write as _;

use gpu_timeline::Breakdown;
use iterations::{Evidence, Figures, Iteration, Level, Mark, Measured, MeasuredIterations, Selected, Window};
use operator_sheets::Iterated;

use crate::numbers::{agreeing, decimal, duration, grouped};

/// How many steps the program took; `None` if unknown.
pub(crate) fn step_count(analysis: &impl Iterated) -> Option<u64> {
    analysis.iterations()?.steps().map(|(level, _)| level.iterations.len() as u64)
}

/// The steps of the program and their figures, if they surely are steps.
pub(crate) fn sure_steps(analysis: &impl Iterated) -> Option<(&Level, &Measured)> {
    analysis.iterations()?.steps().filter(|(level, _)| level.is_sure())
}

/// How many steps the program took, how long, how evenly, and which are odd.
pub(crate) fn steps_in_words(analysis: &impl Iterated) -> Option<String> {
    /// Odd steps that are named.
    const NAMED: usize = 3;
    let (level, measured) = sure_steps(analysis)?;
    let time = |time: f64| duration(analysis.ms(time) * 1e3);
    let took = |index: usize| level.iterations.get(index).map(|of| measured.iterations[index].duration(of));
    let steady = steady_durations(level, measured);
    let count = level.iterations.len();
    let noun = if count == 1 { level.kind.as_str() } else { level.kind.plural() };
    let mut threads: Vec<_> = level.iterations.iter().map(|iteration| iteration.track).collect();
    threads.sort_unstable();
    threads.dedup();
    // Each process has one thread with steps.
    let processes = match threads.len() {
        0 | 1 => String::new(),
        processes => format!(" of {} processes", grouped(processes as u128)),
    };
    let mut sentence = format!("{} {noun}{processes} (by {}", grouped(count as u128), level.evidence);
    if level.evidence != Evidence::RecordedSteps {
        write!(sentence, ", confidence {:.2}", level.confidence).ok()?;
    }
    sentence.push(')');
    if let Some(all) = gpu_timeline::Summary::from_values(&steady) {
        match steady.as_slice() {
            [only] => match level.iterations.as_slice() {
                [step] => {
                    write!(sentence, ": {}", single_step(step, *only, &measured.iterations[0], time))
                }
                _ => write!(sentence, ": {}", time(*only as f64)),
            },
            several => write!(
                sentence,
                ": {} each (median of {}; {} to {})",
                time(all.median),
                grouped(several.len() as u128),
                time(all.min as f64),
                time(all.max as f64)
            ),
        }
        .ok()?;
    }
    if count == 1
        && let Some((parts, figures)) = inner_passes(analysis.iterations()?)
    {
        let took = parts.iterations.iter().zip(&figures.iterations).map(|(of, figures)| figures.duration(of));
        let all = gpu_timeline::Summary::from_values(&took.collect::<Vec<_>>())?;
        let (passes, each) = (grouped(all.count as u128), time(all.median));
        write!(
            sentence,
            "; containing {passes} {} of {each} (median; by {})",
            parts.kind.plural(),
            parts.evidence
        )
        .ok()?;
    }
    let is_bare = |figures: &&Figures| figures.mark == Some(Mark::NoDeviceWork);
    let lacking = || measured.iterations.iter().filter(|figures| figures.lacks_work());
    let bare = (lacking().filter(is_bare).count(), ["has", "have"], "no recorded device work");
    let some = lacking().filter(|figures| !is_bare(figures)).count();
    let incomplete = (some, ["is", "are"], "missing device work");
    for (number, [one, several], what) in [bare, incomplete].into_iter().filter(|of| of.0 > 0) {
        let verb = agreeing(number as u64, one, several);
        write!(sentence, "; {} of {} {noun} {verb} {what}", grouped(number as u128), grouped(count as u128))
            .ok()?;
    }
    let odd = measured.iterations.iter().enumerate().filter(|(_, figures)| !figures.lacks_work());
    let marked: Vec<(usize, Mark)> =
        odd.filter_map(|(index, figures)| Some((index, figures.mark?))).collect();
    for &(index, mark) in marked.iter().take(NAMED) {
        let took = took(index).map_or_else(String::new, |took| format!(" ({})", time(took as f64)));
        write!(sentence, "; {} {} is {}{took}", level.kind, level.first + index, mark.as_str()).ok()?;
    }
    if marked.len() > NAMED {
        let more = marked.len() - NAMED;
        let are = agreeing(more as u64, "is", "are");
        write!(sentence, "; {} more {are} not steady", grouped(more as u128)).ok()?;
    }
    Some(sentence)
}

/// How much of the devices' time is warm-up, and what the devices did in the steady steps, where warm-up is most of it.
pub(crate) fn warm_up_in_words(analysis: &impl Iterated, window: i64) -> Option<String> {
    const MOST: f64 = 0.5;
    let (level, measured) = sure_steps(analysis)?;
    let steps = || level.iterations.iter().zip(&measured.iterations);
    let is_warm_up = |(_, figures): &(&Iteration, &Figures)| figures.mark == Some(Mark::WarmUp);
    // The wait before the first device event is no time of the window.
    let warm_up: i64 = steps()
        .filter(is_warm_up)
        .map(|(step, figures)| figures.duration(step) - figures.lead.unwrap_or(0))
        .sum();
    let share = warm_up as f64 / window.max(1) as f64;
    let mut steady = Breakdown::default();
    measured.steady().for_each(|index| steady += measured.iterations[index].breakdown);
    let count = measured.steady().count();
    if !(MOST..=1.0).contains(&share) || count < 2 {
        return None;
    }
    let parts = [("busy", steady.busy), ("idle", steady.idle), ("not recorded", steady.unrecorded)];
    let parts = parts.into_iter().filter(|&(name, time)| name != "not recorded" || time > 0);
    let parts: Vec<String> =
        parts.map(|(name, time)| format!("{name} {}%", decimal(steady.percent_of_total(time), 1))).collect();
    Some(format!(
        "{}% of the window is warm-up; the {} steady {} alone: {} (--steady reports only these)",
        decimal(100.0 * share, 1),
        grouped(count as u128),
        level.kind.plural(),
        parts.join(", ")
    ))
}

/// How long the only step took; on the host, too, where it goes on long after its device work.
fn single_step(step: &Iteration, took: i64, figures: &Figures, time: impl Fn(f64) -> String) -> String {
    /// From so many times the time of its device work on, the host's says more.
    const FAR_LONGER: i64 = 2;
    let host = step.end.saturating_sub(step.start);
    let duration_text = time(took as f64);
    match (host > took.saturating_mul(FAR_LONGER), figures.lead) {
        (false, _) => duration_text,
        (true, Some(_)) => {
            format!("{} on the host, its device work ends after {duration_text}", time(host as f64))
        }
        (true, None) => format!("{} on the host, {duration_text} on the device", time(host as f64)),
    }
}

/// Whether a step of so many µs takes longer than the usual ones by more than they vary.
pub(crate) fn stands_out(analysis: &impl Iterated, us: f64) -> bool {
    const FROM: f64 = 1.05;
    let steps = sure_steps(analysis).map(|(level, measured)| steady_durations(level, measured));
    let usual = steps.and_then(|mut durations| gpu_timeline::median(&mut durations));
    usual.is_none_or(|usual| us > FROM * analysis.ms(usual) * 1e3)
}

/// How long the steps took that nothing sets apart, in the recording's unit.
pub(crate) fn steady_durations(level: &Level, measured: &Measured) -> Vec<i64> {
    let took = |index: usize| Some(measured.iterations[index].duration(level.iterations.get(index)?));
    measured.steady().filter_map(took).collect()
}

/// The part of the recording that the figures cover.
pub(crate) fn window_in_words(selected: &Selected) -> String {
    match (&selected.window, &selected.steps) {
        (Window::Named(range), _) => format!(
            "figures cover only device work that the process launched in occurrence {} (counted from 0) of range {range}",
            range.index
        ),
        (Window::Launches(_), _) => "figures cover only device work launched in the window".to_owned(),
        (_, None) => "figures cover only device work that starts in the window".to_owned(),
        (_, Some(steps)) => {
            let which = match steps.len() {
                1 => format!("iteration {}", steps.start),
                _ => format!("iterations {} to {}", steps.start, steps.end.saturating_sub(1)),
            };
            format!("figures cover only {which} of {}", grouped(selected.of as u128))
        }
    }
}

/// What surely comes several times in a single step, the longest first.
fn inner_passes(found: &MeasuredIterations) -> Option<(&Level, &Measured)> {
    /// Below this, it is better looked up than reported.
    const SURE: f64 = 0.75;
    found.levels().skip(1).find(|(level, _)| level.iterations.len() > 1 && level.confidence >= SURE)
}

#[cfg(test)]
mod tests {
    use trace_ingest::{Category, EventArguments, TraceBuilder};
    use tree_perf::{Analysis, AnalysisOptions};

    use super::*;

    /// A single step that lasts so many µs on the host, and launches a kernel of 10 µs that begins at 20.
    fn single_step_of(host_us: i64) -> String {
        let mut builder = TraceBuilder::new();
        let (host, stream) = (builder.track(1, 1), builder.track(0, 7));
        let ns = |us: i64| 1000 * us;
        let arguments =
            || EventArguments { correlation: Some(1), stream: Some(7), ..EventArguments::default() };
        builder.event(
            Category::USER_ANNOTATION,
            "ProfilerStep#3",
            host,
            0,
            ns(host_us),
            EventArguments::default(),
        );
        builder.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", host, ns(15), ns(4), arguments());
        builder.event(Category::KERNEL, "gemm", stream, ns(20), ns(10), arguments());
        steps_in_words(&Analysis::new(builder.finish(), AnalysisOptions::default())).unwrap()
    }

    #[test]
    fn a_single_step_that_goes_on_on_the_host_has_both_times() {
        assert_eq!(single_step_of(40), "1 step (by recorded steps): 30.00 µs");
        assert_eq!(
            single_step_of(900),
            "1 step (by recorded steps): 900.0 µs on the host, its device work ends after 30.00 µs"
        );
    }

    #[test]
    fn steps_that_lack_the_work_of_lost_launches_are_counted_not_listed() {
        let mut builder = TraceBuilder::new();
        let (host, stream) = (builder.track(1, 1), builder.track(0, 7));
        let call = |correlation| EventArguments {
            correlation: Some(correlation),
            stream: Some(7),
            ..EventArguments::default()
        };
        for step in 0..8_i64 {
            let (start, copy, graph) = (1_000_000 * step, 2 * step + 1, 2 * step + 2);
            let name = format!("ProfilerStep#{step}");
            builder.event(Category::USER_ANNOTATION, &name, host, start, 900_000, EventArguments::default());
            builder.event(Category::CUDA_RUNTIME, "cudaMemcpyAsync", host, start + 10_000, 4_000, call(copy));
            builder.event(Category::GPU_MEMCPY, "Memcpy HtoD", stream, start + 20_000, 2_000, call(copy));
            builder.event(
                Category::CUDA_RUNTIME,
                "cudaGraphLaunch",
                host,
                start + 30_000,
                4_000,
                call(graph),
            );
            if step < 5 {
                builder.event(Category::KERNEL, "gemm", stream, start + 40_000, 700_000, call(graph));
            }
            let wait = EventArguments::default();
            builder.event(
                Category::CUDA_RUNTIME,
                "cudaDeviceSynchronize",
                host,
                start + 50_000,
                700_000,
                wait,
            );
        }
        let analysis = Analysis::new(builder.finish(), AnalysisOptions::default());
        let words = steps_in_words(&analysis).unwrap();
        assert!(words.contains("; 3 of 8 steps are missing device work"), "{words}");
        assert!(!words.contains("step 6 is partial"), "{words}");
    }
}
