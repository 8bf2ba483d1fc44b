//! The CSV files of the profiler: a file for each kind of record of each process, named
//! `<prefix>_<kind>_trace.csv`. Columns are found by name, because releases of the profiler have added some and left
//! out others.

mod agents;
mod counters;
mod files;
mod records;
mod table;

use std::path::Path;

use self::counters::Recorded;
use self::files::{Content, Group};
use self::records::Records;
use self::table::Table;
use super::builder::{Machines, ProfileBuilder};
use super::kernel_names;
use super::profile::{Process, Profile, SourceFormat};
use crate::error::IngestError;
use crate::source::{ReadOptions, TextSource, file_name};
use crate::string_table::StringId;
use crate::warning::Warning;

/// Whether a text begins with the header of one of the profiler's CSV files.
pub(crate) fn is_trace(head: &[u8]) -> bool {
    recognise(head).is_some()
}

/// What a CSV file holds, by its header.
fn recognise(head: &[u8]) -> Option<Content> {
    let is_json = matches!(head.trim_ascii_start().first(), Some(b'{' | b'['));
    let line = (!is_json)
        .then_some(head)?
        .split(|&byte| byte == b'\n')
        .next()
        .filter(|line| line.contains(&b','))?;
    let mut reader = ::csv::ReaderBuilder::new().has_headers(false).from_reader(line);
    let mut header = ::csv::ByteRecord::new();
    reader.read_byte_record(&mut header).ok()?;
    files::recognise(&table::normalised(&header))
}

/// Whether a directory, or one in it, has traces: the profiler makes one for each machine.
pub(crate) fn is_directory_of_traces(path: &Path) -> bool {
    files::groups_below(path).is_ok_and(|groups| !groups.is_empty())
}

/// Reads all traces of a directory, and of the directories in it.
pub(crate) fn read_directory(path: &Path) -> Result<Profile, IngestError> {
    let failed = |source| IngestError::Io { path: path.to_path_buf(), source };
    read_groups(&files::groups_below(path).map_err(failed)?, None)
}

/// Reads a trace, and those that were recorded with it: the files beside it with the same prefix.
pub(crate) fn read_file(
    path: &Path,
    source: TextSource<'_>,
    options: &ReadOptions<'_>,
) -> Result<Profile, IngestError> {
    let name = file_name(path);
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let group = files::classify(&name).filter(|_| source.is_on_disk).and_then(|(prefix, _)| {
        // Where the directory cannot be listed, the file alone is read.
        let groups = files::groups_in(directory).ok()?;
        let mut group = groups.into_iter().find(|group| group.prefix == prefix)?;
        if let Some(beside) = options.beside {
            group.files.retain(|(_, file)| file == path || beside(file));
        }
        Some(group)
    });
    let group = match group {
        Some(group) => group,
        None => {
            let content = recognise(&source.head).unwrap_or(Content::Calls);
            Group { prefix: String::new(), host: None, files: vec![(content, path.to_path_buf())] }
        }
    };
    if group.files.iter().all(|(content, _)| matches!(content, Content::Agents | Content::Statistics)) {
        return Err(IngestError::NotRocprof {
            path: path.to_path_buf(),
            missing: "there is no *_trace.csv or *_counter_collection.csv beside it".to_string(),
            found: "a table without execution records".to_string(),
        });
    }
    read_groups(&[group], Some((path, source)))
}

/// Reads the files of all processes. A file that cannot be read ends the run when it is the one that was `named`,
/// when it has the kernels, or when no other could be read.
fn read_groups(groups: &[Group], named: Option<(&Path, TextSource<'_>)>) -> Result<Profile, IngestError> {
    let (named, mut source) = named.unzip();
    let mut builder = ProfileBuilder::default();
    builder.profile.source = SourceFormat::Csv;
    let mut machines = Machines::default();
    let mut read = 0;
    let mut first_error = None;
    let mut recorded = Recorded::default();
    // Counters without a kernel trace of their own may be a pass over what others traced.
    let (traced, others): (Vec<_>, Vec<_>) = groups.iter().partition(|group| group.has(Content::Kernels));
    for group in traced.into_iter().chain(others) {
        let process = builder.profile.processes.len() as u32;
        builder.profile.processes.push(Process {
            pid: group.pid(),
            hostname: group.host.clone(),
            ..Process::default()
        });
        let mut records = Records::new(&mut builder, &mut machines, group.host.clone(), process);
        let mut is_pass = false;
        for (content, path) in group.in_reading_order() {
            // What the host did in a pass is on no timeline either.
            if content == Content::Statistics || is_pass && content != Content::Counters {
                continue;
            }
            let is_named = named.is_some_and(|named| named.file_name() == path.file_name());
            let table = match source.take_if(|_| is_named) {
                Some(source) => Table::new(path, source),
                None => Table::open(path),
            };
            match table.and_then(|table| read_one(&mut records, content, table, &recorded)) {
                Ok(_) if content == Content::Agents => {}
                Ok(is_other_run) => {
                    read += 1;
                    is_pass = is_other_run && !group.has(Content::Kernels);
                    if matches!(content, Content::Kernels | Content::Counters) && !is_other_run {
                        let is_trace = content == Content::Kernels;
                        let profile = &records.builder.profile;
                        recorded.add(profile, process, file_name(path), is_trace);
                    }
                }
                // A kind of which nothing was recorded may leave an empty file.
                Err(IngestError::Empty { .. }) if !is_named => {}
                Err(error) if is_named || content == Content::Kernels => return Err(error),
                Err(error) => {
                    let warning = Warning::UnreadFile { name: file_name(path), detail: reason(&error) };
                    records.builder.profile.warnings.push(warning);
                    first_error.get_or_insert(error);
                }
            }
        }
        let has_dispatches = builder.profile.dispatches.last().is_some_and(|last| last.process == process);
        if !has_dispatches && !recorded.is_empty() && (is_pass || group.has_counters_alone()) {
            builder.profile.processes.pop();
        }
    }
    match first_error {
        Some(error) if read == 0 => Err(error),
        _ => {
            put_truncated_names(&mut builder.profile);
            Ok(builder.finish())
        }
    }
}

/// Reads a file; returns whether it has counters of another run than all that was recorded before it.
fn read_one(
    records: &mut Records<'_>,
    content: Content,
    mut table: Table<'_>,
    recorded: &Recorded,
) -> Result<bool, IngestError> {
    let outcome = match content {
        Content::Counters => records.counters(&mut table, recorded),
        Content::Agents => records.describe_agents(&mut table).map(|()| false),
        Content::Kernels => records.dispatches(&mut table).map(|()| false),
        Content::Copies => records.copies(&mut table).map(|()| false),
        Content::Allocations => records.allocations(&mut table).map(|()| false),
        Content::Scratch => records.scratch(&mut table).map(|()| false),
        Content::Calls => records.calls(&mut table).map(|()| false),
        Content::Samples => records.samples(&mut table).map(|()| false),
        Content::Statistics => Ok(false),
    };
    records.builder.profile.warnings.append(&mut table.warnings);
    outcome
}

/// What an error says of a file that the warning already names.
fn reason(error: &IngestError) -> String {
    match error {
        IngestError::NotRocprof { missing, found, .. } => format!("{missing}; found {found}"),
        IngestError::Io { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

/// Files have one name of a kernel: the formatted one, or the truncated one when that was asked for at capture.
/// Nothing says which, but formatted names of C++ kernels have parameter lists.
fn put_truncated_names(profile: &mut Profile) {
    let Profile { kernels, strings, .. } = profile;
    let is_formatted =
        |name: Option<StringId>| name.is_some_and(|name| kernel_names::has_parameter_list(strings.get(name)));
    let formatted = kernels.iter().any(|kernel| is_formatted(kernel.formatted));
    for kernel in kernels {
        let Some(name) = kernel.formatted.filter(|&name| name != StringId::EMPTY) else { continue };
        kernel.truncated = Some(if formatted {
            let short = kernel_names::truncated_from_formatted(strings.get(name)).into_owned();
            strings.intern(&short)
        } else {
            name
        });
    }
}
