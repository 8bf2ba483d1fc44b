//! `tracelens ranks collect`, `tracelens ranks pack` and `tracelens ranks`.

use std::path::{Path, PathBuf};
use std::slice;

use answers::numbers::{counted, grouped};
use answers::{JobRecordings, MapOptions, Mapped, Picture, RanksReporter, map_ranks};
use multi_rank::{JobFolder, JobOptions};
use serde_json::json;

use crate::arguments::conventions;
use crate::arguments::ranks::{CollectArguments, PackArguments, RanksArguments};
use crate::console;
use crate::context::Context;
use crate::error::Failure;
use crate::job_recordings::{expanded, no_effect_on_tables, recordings};
use crate::request::Request;
use crate::standard_input;

/// `tracelens ranks collect`: every recording is tried; the run fails where one of them has no tables.
pub(crate) fn collect(arguments: &CollectArguments, context: &Context<'_>) -> Result<(), Failure> {
    let recordings = expanded(&arguments.recordings)?;
    let CollectArguments { keep_events, waits, .. } = *arguments;
    let options = MapOptions { keep_events, waits, ..arguments.mapping.options() };
    let tell = |path: &Path, mapped: &Result<Mapped, answers::Error>| match mapped {
        Ok(mapped) if !arguments.quiet && !arguments.answer.is_json() => {
            console::note(format!("{}: {}", path.display(), outcome(mapped)));
            mapped.notices.iter().for_each(console::diagnostic);
        }
        Ok(_) => {}
        Err(error) => console::diagnostic(error),
    };
    let mapped = map_ranks(&recordings, &arguments.out, &options, &standard_input::reading(), tell)?;
    let failed = mapped.iter().filter(|mapped| mapped.is_err()).count();
    let ranks: usize = mapped.iter().flatten().map(|mapped| mapped.ranks.len().max(1)).sum();
    if failed > 0 {
        return Err(Failure::NotMapped { failed, of: mapped.len() });
    }
    if arguments.answer.is_json() {
        let listed_recording = |(path, mapped): (&PathBuf, &Mapped)| {
            let (file, ranks, events) = (context.name(path), mapped.ranks.to_string(), mapped.events);
            json!({ "file": file, "ranks": ranks, "events": events, "was_there": events.is_none() })
        };
        let each: Vec<_> = recordings.iter().zip(mapped.iter().flatten()).map(listed_recording).collect();
        let result = json!({ "ranks": ranks, "recordings": each });
        let notices = mapped.iter().flatten().flat_map(|mapped| &mapped.notices);
        return context.print_result(context.about(&recordings).with_notices(notices), &result);
    }
    if !arguments.quiet {
        let count = counted(ranks, "rank", "ranks");
        console::print(format!("{count} in {}\n", arguments.out.display()))?;
    }
    Ok(())
}

fn outcome(Mapped { ranks, events, .. }: &Mapped) -> String {
    let ranks = match ranks {
        ranks if ranks.is_empty() => "rank not known".to_owned(),
        ranks if ranks.len() == 1 => format!("rank {ranks}"),
        ranks => format!("ranks {ranks}"),
    };
    match events {
        Some(events) => format!("{ranks}, {} events", grouped(*events as u128)),
        None => format!("{ranks}, already there"),
    }
}

/// `tracelens ranks pack`.
pub(crate) fn pack(arguments: &PackArguments, context: &Context<'_>) -> Result<(), Failure> {
    let path = &arguments.folder;
    let job = |error: multi_rank::Error| Failure::from(answers::Error::from(error));
    let mut folder = match path.is_dir() {
        true => JobFolder::open(path).and_then(JobFolder::with_ranks).map_err(job)?,
        // Opening it would make it.
        false => return Err(job(multi_rank::Error::NoRanks { path: path.clone(), unused: None })),
    };
    let packing = folder.pack().map_err(job)?;
    if arguments.quiet {
        return Ok(());
    }
    for (path, why) in &folder.stale {
        console::warning(format_args!("{}: not packed: {why}", path.display()));
    }
    if arguments.answer.document.json {
        let result = json!({ "ranks": packing.ranks, "packs": packing.packs, "written": packing.written });
        return context.print_result(context.about(slice::from_ref(path)), &result);
    }
    let written = match packing.written {
        0 => "nothing to do".to_owned(),
        written => format!("{written} written"),
    };
    console::print(format_args!(
        "{} in {} in {}, {written}\n",
        counted(packing.ranks, "rank", "ranks"),
        counted(packing.packs, "pack", "packs"),
        path.display()
    ))?;
    Ok(())
}

/// `tracelens ranks`.
pub(crate) fn run(arguments: &RanksArguments, context: &Context<'_>) -> Result<(), Failure> {
    let asked = &arguments.analysis;
    let found = recordings(&arguments.recordings)?;
    let files = &found.files;
    let picture = arguments.output.step_svg.as_deref();
    let mut request = Request {
        pictures: picture.map(|path| (Picture::Steps, path)).into_iter().collect(),
        default_workbook: found.workbook.filter(|_| context.given.as_reference_tool),
        ..Request::new("ranks", files, &arguments.output.tables, context)
    };
    let mapping_options = ["kept", "jobs", "communication_pattern"];
    request.warnings.extend(no_effect_on_tables("ranks", files, &mapping_options, context));
    let reporter = RanksReporter {
        analysis: JobOptions { conventions: conventions(asked.parity).ranks, ..asked.options.clone() },
        recordings: JobRecordings {
            map: arguments.mapping.options(),
            tables: arguments.output.kept.clone(),
            rank_pattern: arguments.recordings.rank_regex.clone(),
            rank_by_place: found.rank_by_place,
        },
        count_devices: asked.parity.is_some(),
        sheet_names: arguments.output.naming.sheet_names,
    };
    request.answer(reporter, &())
}
