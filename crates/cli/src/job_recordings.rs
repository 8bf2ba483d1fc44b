//! The recordings of a job, as the arguments of the commands for jobs name them.

use std::path::{Path, PathBuf};

use multi_rank::RankPattern;

use crate::arguments::long_name;
use crate::arguments::ranks::{Recordings, Sources};
use crate::context::Context;
use crate::error::Failure;

/// What there is to say of options about reading, where the tables of the ranks are named.
pub(crate) fn no_effect_on_tables(
    subcommand: &str,
    files: &[PathBuf],
    options: &[&str],
    context: &Context<'_>,
) -> Vec<String> {
    if !matches!(files, [only] if only.is_dir()) {
        return Vec::new();
    }
    let no_effect =
        |id: &&str| format!("{} has no effect: the ranks' tables already exist", long_name(subcommand, id));
    options.iter().filter(|id| context.given.has(id)).map(no_effect).collect()
}

/// The recordings of a job.
pub(crate) struct Found {
    pub(crate) files: Vec<PathBuf>,
    /// Whether their place is their rank.
    pub(crate) rank_by_place: bool,
    /// Where TraceLens writes its workbook.
    pub(crate) workbook: Option<PathBuf>,
}

/// The recordings that the arguments name.
pub(crate) fn recordings(arguments: &Recordings) -> Result<Found, Failure> {
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
    let detail = "there is no such file, and --world_size needs a recording of every rank".to_owned();
    Err(Failure::Input { path, detail })
}

/// The first recording of each rank.
fn by_rank(files: &[PathBuf], ranks: u32, pattern: Option<&RankPattern>) -> Result<Vec<PathBuf>, Failure> {
    let usual =
        || RankPattern::USUAL.parse::<RankPattern>().map_err(|error| Failure::Arguments(error.to_string()));
    let pattern = pattern.cloned().map_or_else(usual, Ok)?;
    let rank_file = |rank: u32| {
        let mut rank_files = files.iter().filter(|path| pattern.rank(path) == Some(rank));
        rank_files.next().cloned().ok_or(rank)
    };
    let (found, missing): (Vec<_>, Vec<_>) = (0..ranks).map(rank_file).partition(Result::is_ok);
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
pub(crate) fn expanded(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
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
            let detail = "no file matches this pattern".to_owned();
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
