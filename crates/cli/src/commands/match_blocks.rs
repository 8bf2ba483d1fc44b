//! `tracelens split match`: steps of two traces that do the same work.

use std::fs;
use std::path::{Path, PathBuf};

use answers::Notice;
use inference_phase::matching::{
    MatchNote, MatchOptions, MatchSide, Matches, REPORT, match_blocks, match_outputs, phase_name,
    shown_distance, write_report,
};
use inference_phase::split::{self, Membership, SplitError, SplitOutput, SplitStep, StepWork};
use serde_json::json;
use sheets::escaped;
use trace2tree::TraceTree;

use crate::arguments::match_blocks::MatchArguments;
use crate::console;
use crate::context::Context;
use crate::destinations::{check_directory, refuse_foreign_files};
use crate::error::Failure;
use crate::progress::{read_trace, with_progress};

/// A trace with its steps.
struct Side<'a> {
    path: &'a Path,
    tree: TraceTree,
    steps: Vec<SplitStep>,
}

pub(crate) fn run(arguments: &MatchArguments, context: &Context<'_>) -> Result<(), Failure> {
    let directory = arguments.output_dir.as_path();
    check_directory(directory)?;
    let sides = [read(&arguments.first, arguments)?, read(&arguments.second, arguments)?];
    let mut phases: Vec<_> = Vec::new();
    for &phase in &arguments.phases {
        if !phases.contains(&phase) {
            phases.push(phase);
        }
    }
    let window = usize::try_from(arguments.num_steps).ok().filter(|&window| window > 0);
    let works =
        sides.each_ref().map(|side| side.steps.iter().map(|step| step.work).collect::<Vec<StepWork>>());
    let matches = match_blocks(&works[0], &works[1], &MatchOptions { phases, window });

    let base = sides.each_ref().map(|side| split::base_name(side.path));
    let outputs: [Vec<SplitOutput>; 2] =
        std::array::from_fn(|at| match_outputs(&matches.pairs, at, &sides[at].steps, &base[at]));
    if !arguments.force {
        let traces = outputs.iter().flatten().filter(|_| !arguments.no_extract);
        refuse_foreign_files(
            directory,
            traces.map(|output| output.path.as_path()).chain(REPORT.map(Path::new)),
        )?;
    }
    fs::create_dir_all(directory)
        .map_err(|source| SplitError::Write { path: directory.to_path_buf(), source })?;
    let mut paths = vec![[PathBuf::new(), PathBuf::new()]; matches.pairs.len()];
    for (at, (side, outputs)) in sides.iter().zip(&outputs).enumerate() {
        for (paths, output) in paths.iter_mut().zip(outputs) {
            paths[at] = directory.join(&output.path);
        }
        if !arguments.no_extract && !outputs.is_empty() {
            extract(side, outputs, directory, arguments)?;
        }
    }
    let described = sides.each_ref().map(|side| MatchSide {
        path: side.path,
        trace: side.tree.trace(),
        steps: &side.steps,
    });
    let report = write_report(&matches, described, &paths, directory)?;
    if arguments.answer.is_json() {
        let written: Vec<_> = report.written.iter().map(|path| context.name(path)).collect();
        let result = json!({ "written": written, "matches": report.pairs, "notes": report.notes });
        let files = [arguments.first.clone(), arguments.second.clone()];
        let notices = sides.each_ref().map(|side| Notice::all_of_reading(side.path, side.tree.trace()));
        context.print_result(context.about(&files).with_notices(notices.iter().flatten()), &result)?;
    } else if !arguments.quiet {
        console::print(listing(&matches, &paths, arguments))?;
        matches.notes.iter().for_each(|note| console::warning(note_text(note)));
    }
    Ok(())
}

fn read<'a>(path: &'a Path, arguments: &MatchArguments) -> Result<Side<'a>, Failure> {
    let trace = read_trace(path, arguments.quiet, &arguments.reading)?;
    let steps = split::annotated_steps(&trace);
    if steps.is_empty() {
        return Err(Failure::NoAnnotatedSteps { path: path.to_path_buf() });
    }
    let tree = TraceTree::build(trace, &arguments.reading.tree_options());
    Ok(Side { path, tree, steps })
}

fn extract(
    side: &Side<'_>,
    outputs: &[SplitOutput],
    directory: &Path,
    arguments: &MatchArguments,
) -> Result<(), Failure> {
    let membership = Membership::new(&side.tree, &side.steps);
    with_progress(arguments.quiet, &arguments.reading, |options| {
        split::write_outputs(side.path, &side.tree, &membership, outputs, directory, options)
    })?;
    Ok(())
}

fn listing(matches: &Matches, paths: &[[PathBuf; 2]], arguments: &MatchArguments) -> String {
    let mut lines = Vec::new();
    for (pair, paths) in matches.pairs.iter().zip(paths) {
        let [a, b] = pair.blocks.each_ref().map(|block| match block.steps.len() {
            1 => format!("step {}", block.steps.start),
            _ => format!("steps {} to {}", block.steps.start, block.steps.end - 1),
        });
        let terms = inference_phase::matching::distance_terms(pair.phase);
        let distance = terms.iter().zip(shown_distance(&pair.distance));
        let distance: Vec<String> = distance.map(|(term, value)| format!("{term} {value}")).collect();
        let phase = phase_name(pair.phase);
        lines.push(format!("{phase}: {a} of A and {b} of B; distance: {}", distance.join(", ")));
        if !arguments.no_extract {
            lines.extend(paths.iter().map(|path| format!("  {}", escaped(&path.to_string_lossy()))));
        }
    }
    let reports =
        if matches.pairs.is_empty() { "match_notes.json" } else { "match_report.json, match_report.csv" };
    lines.push(format!("wrote {reports} to {}\n", arguments.output_dir.display()));
    lines.join("\n")
}

fn note_text(note: &MatchNote) -> String {
    format!("no steps match for {}: {}", phase_name(note.phase), note.reason())
}
