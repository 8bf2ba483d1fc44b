//! What the fuzz targets share. Each target is a file in `fuzz_targets/`; the README has the commands.

use std::sync::OnceLock;

#[path = "../../crates/hlo-cost/tests/programs/program_probe/mod.rs"]
pub mod program_probe;
#[path = "../../crates/trace-ingest/tests/readers/reader_probes/mod.rs"]
pub mod reader_probes;

use reader_probes::Probes;

/// The probes of this process, with a directory of its own below the system's directory for temporary files. It
/// stays when the process ends, because libFuzzer ends it from within.
///
/// # Panics
/// When the directory cannot be made: nothing could be fuzzed then.
pub fn probes() -> &'static Probes {
    static PROBES: OnceLock<Probes> = OnceLock::new();
    PROBES.get_or_init(|| {
        let directory = tempfile::Builder::new().prefix("tracelens-fuzz-").tempdir();
        Probes::new(&directory.expect("a directory for temporary files").keep())
    })
}
