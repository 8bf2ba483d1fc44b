//! `tracelens map`, `tracelens pack` and `tracelens ranks`.

use std::path::{Path, PathBuf};
use std::slice;

use answers::numbers::{counted, grouped};
use answers::{JobRecordings, MapOptions, Mapped, Picture, RanksReporter, map_ranks};
use multi_rank::{JobFolder, JobOptions, RankPattern};
use serde_json::json;
use trace_ingest::RecordingKind;

use super::report::Request;
use crate::arguments::ranks::{MapArguments, PackArguments, RanksArguments, Recordings, Sources};
use crate::arguments::{conventions, long_name};
use crate::console;
use crate::context::Context;
use crate::error::Failure;
use crate::standard_input;

/// `tracelens map`: every recording is tried; the run fails where one of them has no tables.
pub(crate) fn map(arguments: &MapArguments, context: &Context<'_>) -> Result<(), Failure> {
    let recordings = expanded(&arguments.recordings)?;
    let MapArguments { keep_events, waits, .. } = *arguments;
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
        let of_recording = |(path, mapped): (&PathBuf, &Mapped)| {
            let (file, ranks, events) = (context.name(path), mapped.ranks.to_string(), mapped.events);
            json!({ "file": file, "ranks": ranks, "events": events, "was_there": events.is_none() })
        };
        let each: Vec<_> = recordings.iter().zip(mapped.iter().flatten()).map(of_recording).collect();
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
        None => format!("{ranks}, was there"),
    }
}

/// `tracelens pack`.
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
        console::warning(format_args!("{}: is not packed: {why}", path.display()));
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
        workbook: Some((RecordingKind::Trace, "_ranks_report")),
        default_workbook: found.workbook,
        ..Request::new("ranks", files, &arguments.output.tables, context)
    };
    let of_reading = ["kept", "jobs", "communication_pattern"];
    request.warnings.extend(no_effect_on_tables("ranks", files, &of_reading, context));
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

/// What there is to say of options about reading, where the tables of the ranks are named.
pub(super) fn no_effect_on_tables(
    subcommand: &str,
    files: &[PathBuf],
    options: &[&str],
    context: &Context<'_>,
) -> Vec<String> {
    if !matches!(files, [only] if only.is_dir()) {
        return Vec::new();
    }
    let no_effect = |id: &&str| {
        format!("{} has no effect: the tables of the ranks are there already", long_name(subcommand, id))
    };
    options.iter().filter(|id| context.given.has(id)).map(no_effect).collect()
}

/// The recordings of a job.
pub(super) struct Found {
    pub(super) files: Vec<PathBuf>,
    /// Whether their place is their rank.
    pub(super) rank_by_place: bool,
    /// Where TraceLens writes its workbook.
    workbook: Option<PathBuf>,
}

/// The recordings that the arguments name.
pub(super) fn recordings(arguments: &Recordings) -> Result<Found, Failure> {
    let Sources { recordings, trace_dir, trace_pattern, trace_glob } = &arguments.sources;
    let ranks = arguments.world_size.map(u32::from);
    let beside = |folder: &Path| Some(folder.join("nccl_analysis_report.xlsx"));
    if let (Some(pattern), Some(ranks)) = (trace_pattern, ranks) {
        let [before, after] = pattern.split('*').collect::<Vec<_>>()[..] else {
            let expected = "exactly one * for the rank";
            return Err(Failure::Pattern { pattern: pattern.clone(), expected });
        };
        let files = (0..ranks).map(|rank| PathBuf::from(format!("{before}{rank}{after}")));
        let files = files.map(there).collect::<Result<Vec<_>, _>>()?;
        let workbook = common_parent(&files).as_deref().and_then(beside);
        return Ok(Found { files, rank_by_place: true, workbook });
    }
    if let Some(folder) = trace_dir {
        let workbook = beside(folder);
        let files = match ranks {
            Some(ranks) => {
                let files = (0..ranks).map(|rank| folder.join(format!("rank{rank}_trace.json")));
                files.map(there).collect::<Result<Vec<_>, _>>()?
            }
            None => expanded(&[escaped(folder).join("*.json*")])?,
        };
        return Ok(Found { files, rank_by_place: ranks.is_some(), workbook });
    }
    if let Some(pattern) = trace_glob {
        let mut files = expanded(std::slice::from_ref(pattern))?;
        let workbook = common_parent(&files).as_deref().and_then(beside);
        if let Some(ranks) = ranks {
            files = by_rank(&files, ranks, arguments.rank_regex.as_ref())?;
        }
        return Ok(Found { files, rank_by_place: ranks.is_some(), workbook });
    }
    let is_folder = matches!(recordings.as_slice(), [only] if only.is_dir() && profiles_in(only)?.is_empty());
    let files = if is_folder { recordings.clone() } else { expanded(recordings)? };
    Ok(Found { files, rank_by_place: false, workbook: None })
}

/// A recording that has to be there.
fn there(path: PathBuf) -> Result<PathBuf, Failure> {
    if path.is_file() {
        return Ok(path);
    }
    let detail = "there is no such file, and --world_size asks for a recording of every rank".to_owned();
    Err(Failure::Input { path, detail })
}

/// The first recording of each rank.
fn by_rank(files: &[PathBuf], ranks: u32, pattern: Option<&RankPattern>) -> Result<Vec<PathBuf>, Failure> {
    let usual =
        || RankPattern::USUAL.parse::<RankPattern>().map_err(|error| Failure::Arguments(error.to_string()));
    let pattern = pattern.cloned().map_or_else(usual, Ok)?;
    let of_rank = |rank: u32| {
        let mut of_it = files.iter().filter(|path| pattern.rank(path) == Some(rank));
        of_it.next().cloned().ok_or(rank)
    };
    let (found, missing): (Vec<_>, Vec<_>) = (0..ranks).map(of_rank).partition(Result::is_ok);
    let missing: Vec<String> =
        missing.into_iter().filter_map(Result::err).map(|rank| rank.to_string()).collect();
    match missing.is_empty() {
        true => Ok(found.into_iter().flatten().collect()),
        false => Err(Failure::RanksNotFound { files: files.len(), missing: missing.join(", ") }),
    }
}

/// The folder that all files are in, themselves or below.
fn common_parent(files: &[PathBuf]) -> Option<PathBuf> {
    let mut parent = files.first()?.parent()?.to_owned();
    while !files.iter().all(|file| file.starts_with(&parent)) {
        parent = parent.parent()?.to_owned();
    }
    Some(parent)
}

/// A path whose characters stand for themselves in a pattern.
fn escaped(path: &Path) -> PathBuf {
    path.to_str().map_or_else(|| path.to_owned(), |path| glob::Pattern::escape(path).into())
}

/// The XPlane profiles in a folder, by name.
fn profiles_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let detail =
        |error: std::io::Error| Failure::Input { path: folder.to_owned(), detail: error.to_string() };
    let mut profiles = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(detail)? {
        let path = entry.map_err(detail)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.contains(".xplane.pb") && path.is_file() {
            profiles.push(path);
        }
    }
    profiles.sort();
    Ok(profiles)
}

/// Files as they are, folders as the profiles in them, and patterns as the files that they stand for, in order.
fn expanded(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let mut profiles = profiles_in(path)?;
            if !profiles.is_empty() {
                files.append(&mut profiles);
                continue;
            }
        }
        let pattern = path.to_str().filter(|text| text.contains(['*', '?', '[']) && !path.exists());
        let Some(pattern) = pattern else {
            files.push(path.clone());
            continue;
        };
        let wrong =
            |error: glob::PatternError| Failure::Pattern { pattern: pattern.to_owned(), expected: error.msg };
        let mut found: Vec<PathBuf> =
            glob::glob(pattern).map_err(wrong)?.flatten().filter(|path| path.is_file()).collect();
        if found.is_empty() {
            let detail = "no file has a name like this pattern".to_owned();
            return Err(Failure::Input { path: path.clone(), detail });
        }
        found.sort();
        files.append(&mut found);
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_expanded_and_files_stay_what_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let job = folder.path().join("job[1] a");
        std::fs::create_dir_all(job.join("node0")).unwrap();
        let files = ["rank0_trace.json", "rank1_trace.json", "node0/rank2.json"].map(|name| job.join(name));
        files.iter().for_each(|file| std::fs::write(file, "{}").unwrap());
        assert_eq!(
            expanded(&[files[1].clone(), files[0].clone()]).unwrap(),
            [files[1].clone(), files[0].clone()]
        );
        let below = escaped(&job).join("**/*.json");
        assert_eq!(expanded(&[below]).unwrap(), [files[2].clone(), files[0].clone(), files[1].clone()]);
        assert!(matches!(expanded(&[escaped(&job).join("*.gz")]), Err(Failure::Input { .. })));
        assert_eq!(common_parent(&files), Some(job.clone()));
        let found = by_rank(&files, 3, None).unwrap();
        assert_eq!(found, files);
        assert!(
            matches!(by_rank(&files, 5, None), Err(Failure::RanksNotFound { missing, .. }) if missing == "3, 4")
        );
    }
}
