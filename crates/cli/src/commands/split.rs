//! `tracelens split`: traces of steps, of windows of the steady state, of phases.

use std::fmt::{self, Write as _};
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::slice;

use answers::Notice;
use answers::envelope::Answer;
use answers::numbers::{counted, decimal, grouped};
use inference_phase::split::{
    self, Alike, ExecutionDetails, FoundSteps, Membership, MixDistance, MixOptions, RegionRule, ServerLoad,
    ShownBy, SplitError, SplitOptions, SplitPlan, SplitStep, WindowLoad, WindowOptions,
};
use inference_phase::{DetectOptions, Phase};
use report_writers::terminal::{Style, TextColumn, table};
use serde_json::{Value, json};
use sheets::escaped;
use trace_ingest::{Category, Trace, is_standard_input};
use trace2tree::{TraceTree, TreeOptions};

use crate::arguments::split::{Iterations, SplitArguments};
use crate::console;
use crate::context::Context;
use crate::destinations::{check_directory, copyable, refuse_foreign_files};
use crate::error::Failure;
use crate::progress::{read_trace, with_progress};

/// Files that are listed one by one; the table has all of them.
const LISTED: usize = 20;

pub(crate) fn run(arguments: &SplitArguments, context: &Context<'_>) -> Result<(), Failure> {
    if arguments.has_action() {
        copyable(&arguments.file, "use tracelens report with --iterations, --steady or --window")?;
    }
    let directory = prepared_directory(arguments)?;
    let trace = read_trace(&arguments.file, arguments.quiet, &arguments.reading)?;
    // Loops are looked for where nothing is annotated, and are in Python mostly.
    let tree_options = TreeOptions {
        python_frames: split::annotated_steps(&trace).is_empty(),
        ..arguments.reading.tree_options()
    };
    let tree = TraceTree::build(trace, &tree_options);
    let detect = DetectOptions { max_num_seqs: arguments.max_num_seqs, ..DetectOptions::default() };
    let FoundSteps { steps, shown_by } = split::steps(&tree, &detect);
    if steps.is_empty() {
        return Err(no_steps(&arguments.file, tree.trace()));
    }
    if arguments.max_num_seqs.is_some() && shown_by != ShownBy::EngineWork && !arguments.quiet {
        console::warning("--max_num_seqs has no effect: the phases of the steps are annotated or unknown");
    }
    let range = chosen(arguments, steps.len())?;
    let alike = (arguments.representatives || arguments.steady).then(|| Alike::new(&tree, &steps));
    let mut options = options(arguments, range);
    if let Some(alike) = alike {
        let is_chosen =
            |(step, _): &(usize, usize)| options.range.as_ref().is_none_or(|range| range.contains(step));
        let representatives = alike.representatives.into_iter().filter(is_chosen);
        options.representatives = representatives.filter(|_| arguments.representatives).collect();
        options.steady_run = alike.steady.filter(|_| arguments.steady);
    }
    let base = split::base_name(&arguments.file);
    let plan = split::plan(tree.trace(), &steps, &options, &base);
    if !arguments.quiet {
        if !arguments.answer.is_json() {
            console::print(overview(&arguments.file, &steps, shown_by, &plan))?;
        }
        without_effect(arguments, &steps, &plan).iter().for_each(console::warning);
    }
    if !arguments.has_action() && arguments.output_dir.is_none() {
        let chosen: Vec<usize> = options.range.unwrap_or(0..steps.len()).collect();
        if arguments.answer.is_json() {
            let result = json!({ "steps": list_json(&tree, &steps, &chosen) });
            context.print_result(answer_of(arguments, tree.trace(), context), &result)?;
        } else if !arguments.quiet {
            console::print(list(&tree, &steps, &chosen, context.style()))?;
        }
        return Ok(());
    }
    let Some(directory) = directory else {
        let missing = if arguments.has_action() {
            "choose an output directory with -o"
        } else {
            "choose what to write: --store-single-iteration, --representatives, --steady, --find-steady-state, \
             --mix-windows or --divide-phases"
        };
        return Err(Failure::NothingToSplit { path: arguments.file.clone(), detail: missing.to_string() });
    };
    if plan.outputs.is_empty() {
        let detail = match plan.missing[..] {
            [] => "no step is steady or representative".to_owned(),
            ["mix_window"] => "tokens per step are unknown, so there is no mix to represent".to_owned(),
            _ => format!("no step qualifies for {}", plan.missing.join(" or ")),
        };
        return Err(Failure::NothingToSplit { path: arguments.file.clone(), detail });
    }

    if !arguments.force {
        let traces = plan.outputs.iter().map(|output| output.path.as_path());
        refuse_foreign_files(directory, traces.chain(split::DETAILS.map(Path::new)))?;
    }
    let membership = Membership::new(&tree, &steps);
    let written = with_progress(arguments.quiet, &arguments.reading, |options| {
        split::write_outputs(&arguments.file, &tree, &membership, &plan.outputs, directory, options)
    })?;
    let details = split::execution_details(tree.trace(), &steps, &membership, plan.outputs, &written);
    split::write_details(&details, directory)?;
    if arguments.quiet {
        return Ok(());
    }
    if arguments.answer.is_json() {
        let written: Vec<Value> =
            details.iter().map(|details| named(split::details_json(details), context)).collect();
        let result = json!({ "written": written });
        context.print_result(answer_of(arguments, tree.trace(), context), &result)?;
    } else {
        console::print(Listing { details: &details, directory })?;
    }
    let unusable: u64 = written.iter().map(|file| file.unusable).sum();
    if unusable > 0 {
        console::warning(format_args!("non-JSON entries skipped: {unusable}"));
    }
    let unassigned = membership.unassigned_device_events;
    if unassigned > 0 {
        let unassigned = grouped(unassigned as u128);
        console::warning(format_args!(
            "GPU events not launched by any step's thread, omitted from all files: {unassigned}"
        ));
    }
    Ok(())
}

fn answer_of(arguments: &SplitArguments, trace: &Trace, context: &Context<'_>) -> Answer<'static> {
    let notices = Notice::all_of_reading(&arguments.file, trace);
    context.about(slice::from_ref(&arguments.file)).with_notices(&notices)
}

/// A line per step: what it runs, when, and what devices did for it.
fn list(tree: &TraceTree, steps: &[SplitStep], chosen: &[usize], style: Style) -> String {
    let trace = tree.trace();
    let membership = Membership::new(tree, steps);
    let milliseconds = |time: i64| decimal(trace.to_microseconds(time) / 1000.0, 3);
    let step = |&index: &usize| &steps[index];
    let name = |&index: &usize| steps[index].annotation.map_or("", |event| trace.name(event));
    let columns = [
        TextColumn::right("step", |index: &usize| index.to_string()),
        TextColumn::left("phase", |index: &usize| step(index).work.phase.to_string()).kept(),
        TextColumn::right("tokens", |index: &usize| match step(index).work.batch_size {
            // Nothing says it.
            ..=0 => String::new(),
            tokens => grouped(tokens.unsigned_abs().into()),
        }),
        TextColumn::right("start ms", |index: &usize| milliseconds(step(index).start)),
        TextColumn::right("on host ms", |index: &usize| milliseconds(step(index).end - step(index).start)),
        TextColumn::right("GPU events", |&index: &usize| {
            grouped(membership.device_work(index).events as u128)
        }),
        TextColumn::right("GPU ms", |&index: &usize| milliseconds(membership.device_work(index).busy)),
        TextColumn::left("annotation", name),
    ];
    format!("\n{}", table(&columns, chosen, style))
}

/// The same as JSON. Times are in ms.
fn list_json(tree: &TraceTree, steps: &[SplitStep], chosen: &[usize]) -> Vec<Value> {
    let trace = tree.trace();
    let membership = Membership::new(tree, steps);
    let ms = |time: i64| trace.to_microseconds(time) / 1000.0;
    let row = |&index: &usize| {
        let (step, work) = (&steps[index], membership.device_work(index));
        json!({
            "step": index,
            "phase": step.work.phase.to_string(),
            "tokens": Some(step.work.batch_size).filter(|&tokens| tokens > 0),
            "start_ms": ms(step.start),
            "host_ms": ms(step.end - step.start),
            "device_events": work.events,
            "device_ms": ms(work.busy),
            "annotation": step.annotation.map(|event| trace.name(event)),
        })
    };
    chosen.iter().map(row).collect()
}

/// Details of a file, which is named without its folder.
fn named(mut details: Value, context: &Context<'_>) -> Value {
    if let Some(path) = details.get_mut("output_path")
        && let Some(name) = path.as_str().map(|path| context.name(Path::new(path)))
    {
        *path = name.into();
    }
    details
}

/// The output directory, once it is sure that files can be made in it; `None` when nothing can be written.
fn prepared_directory(arguments: &SplitArguments) -> Result<Option<&Path>, Failure> {
    let Some(directory) = arguments.output_dir.as_deref().filter(|_| arguments.has_action()) else {
        return Ok(None);
    };
    check_directory(directory)?;
    let failed = |source| SplitError::Write { path: directory.to_path_buf(), source };
    fs::create_dir_all(directory).map_err(failed)?;
    Ok(Some(directory))
}

/// The steps that were asked for, if not all.
fn chosen(arguments: &SplitArguments, count: usize) -> Result<Option<Range<usize>>, Failure> {
    let Iterations::Only(range) = &arguments.iterations else { return Ok(None) };
    if range.start >= count {
        return Err(Failure::NoSuchStep { path: arguments.file.clone(), step: range.start, count });
    }
    if range.end > count && !arguments.quiet {
        console::warning(format_args!("the trace has only steps 0 to {}", count - 1));
    }
    Ok(Some(range.start..range.end.min(count)))
}

fn options(arguments: &SplitArguments, range: Option<Range<usize>>) -> SplitOptions {
    let length = arguments.num_steps.get();
    let load = match (arguments.conc, arguments.osl, arguments.ratio) {
        (Some(concurrency), Some(output_tokens), Some(range_ratio)) => {
            Some(ServerLoad { concurrency: concurrency.get().into(), output_tokens, range_ratio })
        }
        _ => None,
    };
    SplitOptions {
        range,
        single_steps: arguments.store_single_iteration,
        steady_windows: (arguments.find_steady_state && !arguments.divide_phases)
            .then_some(WindowOptions { length, load }),
        mix_windows: arguments.mix_windows.map(|most| MixOptions { length, most: most.get() }),
        divide_phases: arguments.divide_phases.then_some(length),
        region_rule: if arguments.parity { RegionRule::Counted } else { RegionRule::Consecutive },
        ..SplitOptions::default()
    }
}

/// What was asked for in vain.
fn without_effect(arguments: &SplitArguments, steps: &[SplitStep], plan: &SplitPlan) -> Vec<String> {
    let mut warnings = Vec::new();
    if arguments.divide_phases && arguments.find_steady_state {
        warnings.push("--find-steady-state has no effect with --divide-phases".to_string());
    }
    if arguments.parity && plan.regions.is_empty() {
        warnings.push("--parity has no effect without --find-steady-state or --divide-phases".to_string());
    } else if arguments.parity && arguments.iterations != Iterations::All {
        warnings
            .push("--parity has no effect with --iterations, which determines the steps itself".to_string());
    }
    if !plan.outputs.is_empty() {
        warnings
            .extend(plan.missing.iter().map(|label| format!("no step qualifies for {label}: not written")));
    }
    let in_regions = plan.regions.iter().flat_map(|region| &steps[region.clone()]);
    let unknown = in_regions.filter(|step| step.work.phase == Phase::Unknown).count();
    if arguments.divide_phases && unknown > 0 {
        warnings
            .push(format!("steps without requests or of unknown phase, omitted from all files: {unknown}"));
    }
    warnings
}

fn no_steps(path: &Path, trace: &Trace) -> Failure {
    let events = trace.events();
    let has_stacks = events.ids().any(|event| events.category(event) == Category::PYTHON_FUNCTION);
    let advice = match has_stacks {
        true => "record it with engine annotations",
        false => "record it with Python stacks (with_stack=True) or engine annotations",
    };
    Failure::NoSteps { path: path.to_path_buf(), advice }
}

fn overview(path: &Path, steps: &[SplitStep], shown_by: ShownBy, plan: &SplitPlan) -> String {
    let load = WindowLoad::new(steps.iter().map(|step| &step.work));
    let name = match is_standard_input(path) {
        true => "standard input".into(),
        false => path.file_name().unwrap_or_default().to_string_lossy(),
    };
    let mut text = format!("{}: {}", escaped(&name), counted(steps.len(), "step", "steps"));
    if let ShownBy::Iterations(kind, evidence) = shown_by {
        // Writing to a string cannot fail.
        let _ = writeln!(text, " ({kind}, by {evidence})");
        return text;
    }
    let phases = [(load.prefill, "prefill"), (load.mixed, "mixed"), (load.decode, "decode")];
    let unknown = steps.len() - load.prefill - load.mixed - load.decode;
    let known = phases.into_iter().chain([(unknown, "of unknown phase")]).filter(|(count, _)| *count > 0);
    let listed: Vec<String> =
        known.map(|(count, phase)| format!("{} {phase}", grouped(count as u128))).collect();
    let source = match shown_by {
        ShownBy::EngineAnnotations => "annotated by the engine",
        ShownBy::EngineWork | ShownBy::Iterations(..) => "found without annotations",
    };
    let _ = writeln!(text, " ({}), {source}", listed.join(", "));
    if !plan.regions.is_empty() {
        let region = |region: &Range<usize>| match region.len() {
            1 => region.start.to_string(),
            _ => format!("{} to {}", region.start, region.end - 1),
        };
        let regions: Vec<String> = plan.regions.iter().map(region).collect();
        let _ = writeln!(text, "steady state: steps {}", regions.join(", "));
    }
    text
}

/// What was written.
struct Listing<'d> {
    details: &'d [ExecutionDetails],
    directory: &'d Path,
}

impl fmt::Display for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for details in self.details.iter().take(LISTED) {
            writeln!(f, "  {}", escaped(&details.output.path.to_string_lossy()))?;
            writeln!(
                f,
                "    {}, {}, {} on GPUs: busy {} of {} ms",
                counted(details.steps.len(), "step", "steps"),
                counted(usize::try_from(details.entries).unwrap_or(usize::MAX), "event", "events"),
                grouped(details.device_events as u128),
                decimal(details.device_busy / 1000.0, 3),
                decimal(details.device_span / 1000.0, 3),
            )?;
            if let Some(MixDistance { alone, together }) = details.output.mix {
                let [alone, together] = [alone, together].map(|distance| decimal(100.0 * distance, 1));
                write!(f, "    differs from the overall mix in {alone}% of its steps")?;
                match details.output.index {
                    0 => writeln!(f)?,
                    _ => writeln!(f, "; together with the traces above, in {together}%")?,
                }
            }
        }
        if self.details.len() > LISTED {
            writeln!(f, "  and {} more", self.details.len() - LISTED)?;
        }
        let directory = self.directory.display();
        writeln!(
            f,
            "wrote {}, execution_details.json and execution_details.csv to {directory}",
            counted(self.details.len(), "trace", "traces")
        )
    }
}
