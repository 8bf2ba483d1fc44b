//! Which files of a directory belong together, and what each of them holds.

use std::io;
use std::path::{Path, PathBuf};

use crate::source::file_name;

/// What a CSV file of the profiler holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Content {
    Agents,
    Kernels,
    Copies,
    Allocations,
    Scratch,
    /// Calls of a library or markers.
    Calls,
    Samples,
    /// Values of hardware counters.
    Counters,
    /// Sums over records that stand in other files.
    Statistics,
}

/// Names of files behind the prefix and before `.csv`.
const SUFFIXES: [(&str, Content); 26] = [
    ("agent_info", Content::Agents),
    ("kernel_trace", Content::Kernels),
    ("memory_copy_trace", Content::Copies),
    ("memory_allocation_trace", Content::Allocations),
    ("scratch_memory_trace", Content::Scratch),
    ("hip_api_trace", Content::Calls),
    ("hip_trace", Content::Calls),
    ("hip_runtime_api_trace", Content::Calls),
    ("hip_compiler_api_trace", Content::Calls),
    ("hsa_api_trace", Content::Calls),
    ("hsa_trace", Content::Calls),
    ("hsa_core_api_trace", Content::Calls),
    ("hsa_amd_ext_api_trace", Content::Calls),
    ("hsa_image_ext_api_trace", Content::Calls),
    ("hsa_finalize_ext_api_trace", Content::Calls),
    ("marker_api_trace", Content::Calls),
    ("marker_trace", Content::Calls),
    ("rccl_api_trace", Content::Calls),
    ("rccl_trace", Content::Calls),
    ("rocdecode_api_trace", Content::Calls),
    ("rocjpeg_api_trace", Content::Calls),
    ("ompt_trace", Content::Calls),
    ("regions_trace", Content::Calls),
    ("pc_sampling_host_trap", Content::Samples),
    ("pc_sampling_stochastic", Content::Samples),
    ("counter_collection", Content::Counters),
];

/// The files of one process.
#[derive(Debug)]
pub(super) struct Group {
    /// What the names of its files begin with.
    pub(super) prefix: String,
    /// Name of its machine, where the profiler made a directory of that name.
    pub(super) host: Option<String>,
    /// Its files, sorted by content and name.
    pub(super) files: Vec<(Content, PathBuf)>,
}

impl Group {
    /// Whether a file of this content is there.
    pub(super) fn has(&self, content: Content) -> bool {
        self.files.iter().any(|(of, _)| *of == content)
    }

    /// Whether there are records of nothing but counters.
    pub(super) fn has_counters_alone(&self) -> bool {
        let is_no_other =
            |content| matches!(content, Content::Agents | Content::Counters | Content::Statistics);
        self.files.iter().all(|&(content, _)| is_no_other(content))
    }

    /// Its files. Counters come behind the kernel trace that they belong to, and first where there is none: they tell of
    /// which run all is.
    pub(super) fn in_reading_order(&self) -> impl Iterator<Item = (Content, &Path)> {
        let is_early = |content: Content| {
            content == Content::Agents || content == Content::Counters && !self.has(Content::Kernels)
        };
        let (early, late): (Vec<_>, Vec<_>) =
            self.files.iter().map(|(content, path)| (*content, &**path)).partition(|file| is_early(file.0));
        early.into_iter().chain(late)
    }

    /// Number of the process, where the profiler named the files by it.
    pub(super) fn pid(&self) -> Option<i64> {
        numeric(&self.prefix)
    }
}

fn numeric(prefix: &str) -> Option<i64> {
    prefix.bytes().all(|byte| byte.is_ascii_digit()).then(|| prefix.parse().ok()).flatten()
}

/// Prefix and content of a file, by its name.
pub(super) fn classify(name: &str) -> Option<(&str, Content)> {
    let stem =
        ["", ".gz", ".zst"].iter().find_map(|packed| name.strip_suffix(packed)?.strip_suffix(".csv"))?;
    let prefix_of = |suffix: &str| {
        let rest = stem.strip_suffix(suffix)?;
        rest.strip_suffix('_').or_else(|| rest.is_empty().then_some(""))
    };
    // The longest suffix counts: `x_hsa_core_api_trace` is not of the process `x_hsa_core`.
    let known = SUFFIXES
        .iter()
        .filter_map(|&(suffix, content)| Some((prefix_of(suffix)?, content)))
        .min_by_key(|(prefix, _)| prefix.len());
    known.or_else(|| {
        let (prefix, content) = match stem.strip_suffix("_stats") {
            Some(rest) => (rest, Content::Statistics),
            None => (stem.strip_suffix("_trace")?, Content::Calls),
        };
        // One word more belongs to the kind of file, as in `12_kfd_trace`.
        Some((prefix.rsplit_once('_').map_or("", |(prefix, _)| prefix), content))
    })
}

/// What a file holds, by the names of its columns.
pub(super) fn recognise(columns: &[String]) -> Option<Content> {
    let has = |name: &str| columns.iter().any(|column| column == name);
    let timed = (has("start_timestamp") || has("start_time") || has("start"))
        && (has("end_timestamp") || has("end_time") || has("end"));
    if has("counter_name") && (has("counter_value") || has("value")) {
        Some(Content::Counters)
    } else if timed && (has("kernel_name") || has("kernel")) {
        Some(Content::Kernels)
    } else if timed && has("direction") {
        Some(Content::Copies)
    } else if timed && has("function") {
        Some(Content::Calls)
    } else if timed && has("allocation_size") && has("operation") {
        Some(Content::Allocations)
    } else if timed && has("alloc_flags") {
        Some(Content::Scratch)
    } else if has("sample_timestamp") {
        Some(Content::Samples)
    } else if has("node_id") && has("agent_type") {
        Some(Content::Agents)
    } else if has("calls") && has("totaldurationns") {
        Some(Content::Statistics)
    } else {
        None
    }
}

/// Files of a directory and of those in it, one group for each process, sorted by place and prefix. The profiler
/// writes `<host>/<pid>_kernel_trace.csv` by default.
pub(super) fn groups_below(directory: &Path) -> io::Result<Vec<Group>> {
    let mut groups = groups_in(directory)?;
    for inner in entries(directory)?.into_iter().filter(|path| path.is_dir()) {
        // A directory that may not be read is none of the profiler's.
        let Ok(mut found) = groups_in(&inner) else { continue };
        for group in found.iter_mut().filter(|group| group.pid().is_some()) {
            group.host = inner.file_name().map(|name| name.to_string_lossy().into_owned());
        }
        groups.append(&mut found);
    }
    Ok(groups)
}

/// Files of a directory, one group for each process, sorted by prefix.
pub(super) fn groups_in(directory: &Path) -> io::Result<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    for path in entries(directory)?.into_iter().filter(|path| path.is_file()) {
        let name = file_name(&path);
        let Some((prefix, content)) = classify(&name) else { continue };
        match groups.iter_mut().find(|group| group.prefix == prefix) {
            Some(group) => group.files.push((content, path)),
            None => {
                groups.push(Group { prefix: prefix.to_string(), host: None, files: vec![(content, path)] })
            }
        }
    }
    groups.sort_by(|a, b| (numeric(&a.prefix), &a.prefix).cmp(&(numeric(&b.prefix), &b.prefix)));
    groups.iter_mut().for_each(|group| group.files.sort());
    // A lone description of agents or sums without records are no process.
    let holds_records = |group: &Group| {
        group.files.iter().any(|(content, _)| !matches!(content, Content::Agents | Content::Statistics))
    };
    groups.retain(holds_records);
    Ok(groups)
}

fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths =
        std::fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_process_and_content() {
        for (name, expected) in [
            ("12_kernel_trace.csv", Some(("12", Content::Kernels))),
            ("my_run_kernel_trace.csv", Some(("my_run", Content::Kernels))),
            ("kernel_trace.csv", Some(("", Content::Kernels))),
            ("kernel_kernel_trace.csv", Some(("kernel", Content::Kernels))),
            ("12_kernel_trace.csv.gz", Some(("12", Content::Kernels))),
            ("12_hsa_core_api_trace.csv", Some(("12", Content::Calls))),
            ("12_memory_copy_trace.csv", Some(("12", Content::Copies))),
            ("12_counter_collection.csv", Some(("12", Content::Counters))),
            ("12_agent_info.csv", Some(("12", Content::Agents))),
            ("12_kfd_trace.csv", Some(("12", Content::Calls))),
            ("12_kernel_stats.csv", Some(("12", Content::Statistics))),
            ("12_kernel_trace.txt", None),
            ("notes.csv", None),
            ("mykernel_trace.csv", Some(("", Content::Calls))),
        ] {
            assert_eq!(classify(name), expected, "{name}");
        }
    }
}
