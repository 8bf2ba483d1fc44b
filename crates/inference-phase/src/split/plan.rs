//! Which files a trace is split into, and what they are called.

use std::ops::Range;
use std::path::{Path, PathBuf};

use trace_ingest::{Trace, is_standard_input};

use super::mix::{MixDistance, StepShape, mix_windows};
use super::steps::{SplitStep, StepWork};
use super::windows::{RegionRule, ServerLoad, WindowLoad, steady_regions, steady_windows};
use crate::step::Phase;

/// What to split a trace into. The default is nothing.
#[derive(Clone, Debug, Default)]
pub struct SplitOptions {
    /// Only these steps, which then are the steady state; `None` for all, of which it is looked for.
    pub range: Option<Range<usize>>,
    /// A file per step.
    pub single_steps: bool,
    /// A file per kind of window of the steady state.
    pub steady_windows: Option<WindowOptions>,
    /// A file per window of those that together have the mix of shapes of all steps.
    pub mix_windows: Option<MixOptions>,
    /// A file per run of steps with, and without, context requests in the steady state; the length of windows
    /// that [`steady_regions`] takes.
    pub divide_phases: Option<usize>,
    /// How the steady state is found.
    pub region_rule: RegionRule,
    /// A file per kind of step, with the one that stands for it, and how many steps are of the kind.
    pub representatives: Vec<(usize, usize)>,
    /// A file of these steps, which are steady by their time.
    pub steady_run: Option<Range<usize>>,
}

/// Windows of the steady state.
#[derive(Clone, Copy, Debug)]
pub struct WindowOptions {
    /// Steps of a window.
    pub length: usize,
    /// The load that the engine was under, if known.
    pub load: Option<ServerLoad>,
}

/// Windows that together have the mix of shapes of all steps.
#[derive(Clone, Copy, Debug)]
pub struct MixOptions {
    /// Steps of a window.
    pub length: usize,
    /// The most windows.
    pub most: usize,
}

/// A file to write.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitOutput {
    /// Number among the files of its kind; of a file with one step the number of the step.
    pub index: usize,
    /// Path below the output directory.
    pub path: PathBuf,
    /// Positions of its steps among all.
    pub steps: Vec<usize>,
    /// What these run.
    pub load: WindowLoad,
    /// How far their mix is from that of all steps, where they stand for it.
    pub mix: Option<MixDistance>,
}

/// What a trace is split into.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SplitPlan {
    /// The files.
    pub outputs: Vec<SplitOutput>,
    /// The steady state, as positions of steps; empty when nothing asked for it.
    pub regions: Vec<Range<usize>>,
    /// Asked-for files that there are no steps for.
    pub missing: Vec<&'static str>,
}

/// Plans the files. `base` is the trace file's name without endings ([`super::base_name`]).
#[must_use]
pub fn plan(trace: &Trace, steps: &[SplitStep], options: &SplitOptions, base: &str) -> SplitPlan {
    let range = options.range.clone().unwrap_or(0..steps.len());
    let range = range.start.min(steps.len())..range.end.min(steps.len());
    let works: Vec<StepWork> = steps.iter().map(|step| step.work).collect();
    let mut planner = Planner { works: &works, base, plan: SplitPlan::default() };

    if options.single_steps {
        for index in range.clone() {
            let step_name = steps[index].annotation.map(|annotation| trace.name(annotation));
            planner.push(index, vec![index], |_| step_file(base, index, step_name).into());
        }
    }
    for (group, &(step, members)) in options.representatives.iter().enumerate() {
        let path = format!("group_{group}_of_{members}_iteration_{step}_");
        planner.push(step, vec![step], |_| shortened(path, base).into());
    }
    if let Some(run) = &options.steady_run {
        let path = format!("steady_iterations_{}_to_{}_", run.start, run.end.saturating_sub(1));
        planner.push(run.start, run.clone().collect(), |_| shortened(path, base).into());
    }
    let regions = |window: usize| match options.range {
        Some(_) => vec![range.clone()],
        None => {
            let requests: Vec<i64> = works.iter().map(StepWork::requests).collect();
            steady_regions(&requests, window, options.region_rule)
        }
    };
    if let Some(window) = options.steady_windows {
        planner.plan.regions = regions(window.length);
        planner.windows(window);
    }
    if let Some(mix) = options.mix_windows {
        planner.mix(range.clone(), mix);
    }
    if let Some(window) = options.divide_phases {
        planner.plan.regions = regions(window);
        planner.phases();
    }
    planner.plan
}

struct Planner<'s> {
    works: &'s [StepWork],
    base: &'s str,
    plan: SplitPlan,
}

impl Planner<'_> {
    /// Adds a file of these steps; `path` names it by their load.
    fn push(&mut self, index: usize, steps: Vec<usize>, path: impl FnOnce(&WindowLoad) -> PathBuf) {
        let load = WindowLoad::new(steps.iter().map(|&step| &self.works[step]));
        self.plan.outputs.push(SplitOutput { index, path: path(&load), steps, load, mix: None });
    }

    fn windows(&mut self, options: WindowOptions) {
        let windows = steady_windows(self.works, &self.plan.regions, options.length, options.load);
        let labelled = [
            ("mixed_steady_state", windows.mixed),
            ("decode_only_steady_state", windows.decode_only),
            ("prefilldecode_steady_state", windows.context_bearing),
        ];
        let base = self.base;
        for (index, (label, window)) in labelled.into_iter().enumerate() {
            match window {
                Some(window) if !window.is_empty() => {
                    self.push(index, window.collect(), |load| window_file(label, load, base).into());
                }
                _ => self.plan.missing.push(label),
            }
        }
    }

    /// Steps of which the trace says nothing have a shape of their own.
    fn mix(&mut self, range: Range<usize>, MixOptions { length, most }: MixOptions) {
        let shapes: Vec<Option<StepShape>> = self.works[range.clone()].iter().map(StepShape::new).collect();
        if shapes.iter().all(Option::is_none) {
            self.plan.missing.push("mix_window");
            return;
        }
        let base = self.base;
        for (index, window) in mix_windows(&shapes, length, most).into_iter().enumerate() {
            let steps = range.start + window.steps.start..range.start + window.steps.end;
            let label = format!("mix_window_{index}_steps_{}_to_{}", steps.start, steps.end - 1);
            self.push(index, steps.collect(), |load| window_file(&label, load, base).into());
            if let Some(output) = self.plan.outputs.last_mut() {
                output.mix = Some(window.distance);
            }
        }
    }

    /// A file for each run of steps of a kind; steps that run nothing belong to no kind and end no run.
    fn phases(&mut self) {
        const KINDS: [&str; 2] = ["prefilldecodemix", "decode_only"];
        let mut runs: Vec<(usize, Vec<usize>)> = Vec::new();
        for step in self.plan.regions.iter().cloned().flatten() {
            let kind = match &self.works[step] {
                work if work.bears_context() => 0,
                work if work.phase == Phase::Decode => 1,
                _ => continue,
            };
            match runs.last_mut() {
                Some((last, run)) if *last == kind => run.push(step),
                _ => runs.push((kind, vec![step])),
            }
        }
        let (base, mut counts) = (self.base, [0; 2]);
        for (kind, run) in runs {
            let (index, name, length) = (counts[kind], KINDS[kind], run.len());
            self.push(index, run, |load| {
                let (tokens, requests) = (load.mean_batch_size, load.mean_requests);
                let label = format!("{name}_chunk{index}_steps{length}_bs{tokens}_conc{requests}");
                PathBuf::from(name).join(window_file(&label, load, base))
            });
            counts[kind] += 1;
        }
        self.plan
            .missing
            .extend(KINDS.iter().zip(counts).filter(|(_, count)| *count == 0).map(|(kind, _)| *kind));
    }
}

/// Longest file name that every common file system takes, in bytes.
const LONGEST: usize = 255;

const ENDING: &str = ".json.gz";

/// A trace file's name without what tells its format.
#[must_use]
pub fn base_name(trace: &Path) -> String {
    if is_standard_input(trace) {
        return "stdin".to_string();
    }
    let mut name = trace.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for ending in [".zip", ".gz", ".zst", ".json", ".pt.trace"] {
        if let Some(base) = name.strip_suffix(ending).filter(|base| !base.is_empty()) {
            name.truncate(base.len());
        }
    }
    name
}

fn step_file(base: &str, index: usize, name: Option<&str>) -> String {
    let stem = format!("{base}_annotation_iteration_{index}");
    match name {
        Some(name) => shortened(format!("{stem}_{}", plain(name)), ""),
        None => shortened(stem, ""),
    }
}

/// The file of several steps.
pub(crate) fn window_file(label: &str, load: &WindowLoad, base: &str) -> String {
    let stem = format!(
        "{label}_prefill_{}_prefilldecode_{}_decode_{}_bs{}_conc{}_",
        load.prefill, load.mixed, load.decode, load.mean_batch_size, load.mean_requests
    );
    shortened(stem, base)
}

/// The parts and the ending, what is too much cut off at the end of the parts.
fn shortened(stem: String, rest: &str) -> String {
    let mut name = stem + rest;
    while name.len() > LONGEST - ENDING.len() {
        name.pop();
    }
    name + ENDING
}

/// A name without what a path cannot have.
fn plain(name: &str) -> String {
    let is_kept = |&c: &char| !matches!(c, ')' | ':');
    let replaced = |c: char| match c {
        '/' | '\\' | '(' | ' ' => '_',
        c if c.is_control() => '_',
        c => c,
    };
    name.chars().filter(is_kept).map(replaced).collect()
}

#[cfg(test)]
mod plan_tests {
    use trace_ingest::{Category, EventArguments, TraceBuilder};

    use super::*;
    use crate::split::annotated_steps;

    fn planned(names: &[&str], options: &SplitOptions) -> SplitPlan {
        let mut builder = TraceBuilder::new();
        let track = builder.track(1, 1);
        for (name, start) in names.iter().zip((0..).step_by(100)) {
            builder.event(Category::USER_ANNOTATION, name, track, start, 90, EventArguments::default());
        }
        let trace = builder.finish();
        plan(&trace, &annotated_steps(&trace), options, "t")
    }

    fn paths(plan: &SplitPlan) -> Vec<(&str, &[usize])> {
        plan.outputs.iter().map(|output| (output.path.to_str().unwrap(), &output.steps[..])).collect()
    }

    const PREFILL: &str = "execute_context_2(100)_generation_0(0)";
    const MIXED: &str = "execute_context_1(50)_generation_3(3)";
    const DECODE: &str = "execute_context_0(0)_generation_4(4)";

    #[test]
    fn a_file_per_step_is_named_after_it() {
        let options = SplitOptions { single_steps: true, range: Some(1..9), ..SplitOptions::default() };
        let plan = planned(&[PREFILL, DECODE, "step[DECODE bs=4]"], &options);
        assert_eq!(
            paths(&plan),
            [
                ("t_annotation_iteration_1_execute_context_0_0_generation_4_4.json.gz", &[1][..]),
                ("t_annotation_iteration_2_step[DECODE_bs=4].json.gz", &[2]),
            ]
        );
        assert_eq!(plan.outputs[0].index, 1);
        assert!(plan.regions.is_empty());
    }

    #[test]
    fn windows_are_labelled_and_missing_ones_are_told() {
        let window = WindowOptions { length: 3, load: None };
        let options = SplitOptions { steady_windows: Some(window), ..SplitOptions::default() };
        let plan = planned(&[DECODE; 9], &options);
        assert_eq!(plan.regions, [Range { start: 0, end: 9 }]);
        let name = |label| format!("{label}_prefill_0_prefilldecode_0_decode_3_bs4_conc4_t.json.gz");
        let (mixed, decode) = (name("mixed_steady_state"), name("decode_only_steady_state"));
        assert_eq!(paths(&plan), [(&mixed[..], &[0, 1, 2][..]), (&decode, &[0, 1, 2])]);
        assert_eq!(plan.missing, ["prefilldecode_steady_state"]);
    }

    #[test]
    fn windows_of_the_mix_are_named_by_their_steps_and_say_how_far_they_are() {
        let names = [PREFILL, DECODE, DECODE, DECODE, MIXED, DECODE, DECODE, MIXED];
        let mix_windows = Some(MixOptions { length: 2, most: 2 });
        let plan =
            planned(&names, &SplitOptions { mix_windows, range: Some(1..8), ..SplitOptions::default() });
        // Two of the seven steps are mixed: a half is nearer than none, a quarter is nearer still.
        let distances: Vec<MixDistance> = plan.outputs.iter().filter_map(|output| output.mix).collect();
        let [first, second] = distances[..] else { panic!("{plan:?}") };
        assert!((first.alone - 3.0 / 14.0).abs() < 1e-12 && first.alone == first.together, "{first:?}");
        assert!((second.together - 1.0 / 28.0).abs() < 1e-12, "{second:?}");
        assert_eq!(
            paths(&plan)[0],
            (
                "mix_window_0_steps_3_to_4_prefill_0_prefilldecode_1_decode_1_bs28_conc4_t.json.gz",
                &[3, 4][..]
            )
        );
        let plan = planned(&["ProfilerStep#1"], &SplitOptions { mix_windows, ..SplitOptions::default() });
        assert_eq!((plan.outputs.len(), plan.missing), (0, vec!["mix_window"]));
    }

    #[test]
    fn phases_are_runs_that_idle_steps_do_not_break() {
        let names = [DECODE, DECODE, "execute_diffusion_1_8x8", DECODE, PREFILL, MIXED, DECODE];
        let range = Some(0..names.len());
        let options = SplitOptions { divide_phases: Some(32), range, ..SplitOptions::default() };
        let plan = planned(&names, &options);
        let steps: Vec<_> = plan.outputs.iter().map(|output| output.steps.len()).collect();
        assert_eq!(steps, [3, 2, 1]);
        assert_eq!(
            plan.outputs[1].path.to_str().unwrap(),
            "prefilldecodemix/prefilldecodemix_chunk0_steps2_bs76_conc3_prefill_1_prefilldecode_1_decode_0_bs76_conc3_t.json.gz"
        );
        assert!(plan.outputs[2].path.starts_with("decode_only"), "{plan:?}");
        assert_eq!((plan.outputs[2].index, plan.missing.len()), (1, 0));
    }
}

#[cfg(test)]
mod names_tests {
    use super::*;

    #[test]
    fn endings_of_traces_are_taken_off() {
        for (path, base) in [
            ("dir/rank0.123.pt.trace.json.gz", "rank0.123"),
            ("rank0.pt.trace.json", "rank0"),
            ("a.json.zip", "a"),
            ("a.json.zst", "a"),
            ("a.trace", "a.trace"),
            (".json", ".json"),
        ] {
            assert_eq!(base_name(Path::new(path)), base);
        }
    }

    #[test]
    fn names_of_steps_are_made_fit_for_paths() {
        let name = step_file("t", 3, Some("execute_context_0(0)_x/y: z\n\\"));
        assert_eq!(name, "t_annotation_iteration_3_execute_context_0_0_x_y_z__.json.gz");
        assert_eq!(step_file("t", 3, None), "t_annotation_iteration_3.json.gz");
        let long = step_file("t", 3, Some(&"é".repeat(300)));
        assert!(long.len() <= 255 && long.ends_with("é.json.gz"), "{long}");
    }
}
