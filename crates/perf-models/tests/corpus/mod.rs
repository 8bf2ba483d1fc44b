//! Where the corpus of recorded traces and reference figures lies.

use std::path::{Path, PathBuf};

/// The corpus, which is not part of the repository: `TRACE_CORPUS` names it, or it lies beside the
/// workspace.
///
/// Without it the caller skips its comparison, except under `CI=true`, where that is a failure.
pub(crate) fn corpus() -> Option<PathBuf> {
    let beside_workspace = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let corpus = std::env::var_os("TRACE_CORPUS").map_or_else(beside_workspace, PathBuf::from);
    if corpus.is_dir() {
        return Some(corpus);
    }
    let required = std::env::var("CI").is_ok_and(|ci| ci == "true");
    assert!(!required, "no corpus at {}; set TRACE_CORPUS", corpus.display());
    eprintln!("SKIPPED: no corpus at {}; set TRACE_CORPUS", corpus.display());
    None
}
