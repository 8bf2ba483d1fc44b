//! Which subcommand reads which format.

use std::path::Path;

use trace_ingest::IngestError;

use crate::error::Failure;

/// The subcommand for traces of a format of [`trace_ingest::formats`].
pub(crate) fn reader_of(format: &str) -> &'static str {
    if format.contains("XPlane") {
        "`tracelens jax` reads it"
    } else if format.contains("rocprofv3") {
        "`tracelens rocprof` reads it"
    } else {
        "`tracelens report` reads it"
    }
}

/// The failure to read a trace. Profiles of rocprofv3 that are databases or directories only its own report reads.
pub(crate) fn unread(error: IngestError) -> Failure {
    let may_be_rocprof = match &error {
        IngestError::UnknownFormat { found, .. } => found.contains("SQLite"),
        IngestError::Directory { path } => holds_kernel_trace(path),
        _ => false,
    };
    match may_be_rocprof {
        true => {
            Failure::OtherReader { error, advice: "of rocprofv3's profiles `tracelens rocprof` reads these" }
        }
        false => error.into(),
    }
}

fn holds_kernel_trace(directory: &Path) -> bool {
    let is_trace = |name: &str| name.ends_with("_kernel_trace.csv") || name == "kernel_trace.csv";
    let files = std::fs::read_dir(directory).into_iter().flatten().flatten();
    files.map(|file| file.file_name()).any(|name| is_trace(&name.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_subcommand_that_reads_it() {
        let readers: Vec<&str> =
            trace_ingest::formats().iter().map(|format| reader_of(format.name())).collect();
        for subcommand in ["report", "jax", "rocprof"] {
            let reads = format!("`tracelens {subcommand}`");
            assert!(readers.iter().any(|reader| reader.contains(&reads)), "{readers:?}");
        }
    }
}
