//! `tracelens fuse`: the traces of a job's ranks as one.

use answers::numbers::{counted, grouped};
use answers::{JobRecordings, fuse_ranks};
use iterations::Indices;
use multi_rank::{FuseOptions, FuseOutput};
use serde_json::{Value, json};

use crate::arguments::ranks::FuseArguments;
use crate::console;
use crate::context::Context;
use crate::destinations::{check_destinations, refuse_foreign};
use crate::error::Failure;
use crate::job_recordings::{no_effect_on_tables, recordings};
use crate::standard_input;

pub(crate) fn run(arguments: &FuseArguments, context: &Context<'_>) -> Result<(), Failure> {
    let output = FuseOutput::new(&arguments.output).map_err(answers::Error::from)?;
    let found = recordings(&arguments.recordings)?;
    let destination = ("trace", output.path());
    check_destinations(&found.files, [destination])?;
    if !arguments.force {
        refuse_foreign([destination])?;
    }
    let map = arguments.mapping.options();
    let options = FuseOptions {
        clock: arguments.clock,
        ranks: arguments.ranks.clone(),
        steps: arguments.steps.as_ref().map(Indices::numbers),
        events: arguments.filter,
        python_frames: arguments.python_frames,
        communication: map.communication.clone(),
        below: Vec::new(),
    };
    let recordings = JobRecordings {
        map,
        tables: arguments.kept.clone(),
        rank_pattern: arguments.recordings.rank_regex.clone(),
        rank_by_place: found.rank_by_place,
    };
    let (fused, notices) =
        fuse_ranks(&recordings, &found.files, &options, &output, &standard_input::reading())?;
    if arguments.quiet {
        return Ok(());
    }
    no_effect_on_tables("fuse", &found.files, &["kept", "jobs"], context).iter().for_each(console::warning);
    notices.iter().for_each(console::diagnostic);
    for recording in fused.recordings.iter().filter(|recording| recording.unusable > 0) {
        let (path, count) = (recording.path.display(), grouped(recording.unusable.into()));
        console::warning(format_args!("{path}: non-JSON entries skipped: {count}"));
    }
    if arguments.answer.is_json() {
        let recordings = fused.recordings.iter().map(|recording| {
            json!({
                "file": context.name(&recording.path),
                "rank": recording.rank,
                "events": recording.events,
                "unusable": recording.unusable,
                "shift_ns": recording.shift_ns,
            })
        });
        let recordings: Vec<Value> = recordings.collect();
        let result = json!({ "written": [context.name(output.path())], "recordings": recordings });
        return context.print_result(context.about(&found.files).with_notices(&notices), &result);
    }
    let events: u64 = fused.recordings.iter().map(|recording| recording.events).sum();
    console::print(format_args!(
        "wrote {} of {} to {}\n",
        counted(usize::try_from(events).unwrap_or(usize::MAX), "event", "events"),
        counted(fused.recordings.len(), "recording", "recordings"),
        output.path().display()
    ))?;
    Ok(())
}
