//! What keeps a trace from being split.

use std::fs;
use std::path::{Path, PathBuf};

use inference_phase::DetectOptions;
use inference_phase::split::{Membership, SplitError, Written, plan, steps, write_outputs};
use trace_ingest::{ReadOptions, read_path};
use trace2tree::{TraceTree, TreeOptions};

use crate::split::splitting::SINGLE_STEPS;

/// Two steps.
const TRACE: &str = r#"[
    {"ph":"X","cat":"user_annotation","name":"step[DECODE bs=1]","pid":1,"tid":1,"ts":1,"dur":2},
    {"ph":"X","cat":"user_annotation","name":"step[DECODE bs=2]","pid":1,"tid":1,"ts":5,"dur":2}
]"#;

/// Splits [`TRACE`] into `out`, after `change` was done to the directory of both.
fn split(directory: &Path, change: impl FnOnce(&Path)) -> Result<Vec<Written>, SplitError> {
    let path = directory.join("t.json");
    fs::write(&path, TRACE).unwrap();
    let tree = TraceTree::build(read_path(&path, &ReadOptions::default()).unwrap(), &TreeOptions::default());
    let steps = steps(&tree, &DetectOptions::default()).steps;
    let plan = plan(tree.trace(), &steps, &SINGLE_STEPS, "t");
    change(directory);
    let membership = Membership::new(&tree, &steps);
    write_outputs(&path, &tree, &membership, &plan.outputs, &directory.join("out"), &ReadOptions::default())
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory.join("out")).unwrap();
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect()
}

#[test]
fn when_a_file_cannot_be_written_the_others_stay_as_they_were() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(split(directory.path(), |_| ()).unwrap().len(), 2);
    let taken = "t_annotation_iteration_1_step[DECODE_bs=2].json.gz";
    let outcome = split(directory.path(), |directory| {
        fs::remove_file(directory.join("out").join(taken)).unwrap();
        fs::create_dir(directory.join("out").join(taken)).unwrap();
        let [other] = &files(directory)[..] else { panic!("one file is left") };
        fs::write(other, "kept").unwrap();
    });
    assert!(matches!(&outcome, Err(SplitError::Write { path, .. }) if path.ends_with(taken)), "{outcome:?}");
    assert!(outcome.unwrap_err().to_string().starts_with("cannot write "));
    let [other] = &files(directory.path())[..] else { panic!("one file is left, and no temporary one") };
    assert_eq!(fs::read_to_string(other).unwrap(), "kept");
}

#[test]
fn a_trace_that_changed_meanwhile_is_not_split() {
    for changed in [TRACE.replacen("},", "},{\"ph\":\"M\"},", 1), "[]".to_string()] {
        let directory = tempfile::tempdir().unwrap();
        let outcome =
            split(directory.path(), |directory| fs::write(directory.join("t.json"), changed).unwrap());
        assert!(matches!(outcome, Err(SplitError::Changed { .. })), "{outcome:?}");
        assert!(files(directory.path()).is_empty());
    }
    let directory = tempfile::tempdir().unwrap();
    let outcome = split(directory.path(), |directory| fs::remove_file(directory.join("t.json")).unwrap());
    assert!(matches!(outcome, Err(SplitError::Ingest(_))), "{outcome:?}");
    assert!(files(directory.path()).is_empty());
}
