//! Splits a trace and reads what came of it.

use std::fs;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use inference_phase::DetectOptions;
use inference_phase::split::{
    ExecutionDetails, Membership, SplitOptions, SplitPlan, SplitStep, base_name, execution_details, plan,
    steps, write_details, write_outputs,
};
use serde_json::Value;
use trace_ingest::{ReadOptions, Trace, read_path};
use trace2tree::{TraceTree, TreeOptions};

/// What came of a trace.
pub(crate) struct Split {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) tree: TraceTree,
    pub(crate) steps: Vec<SplitStep>,
    pub(crate) membership: Membership,
    pub(crate) plan: SplitPlan,
    pub(crate) details: Vec<ExecutionDetails>,
}

pub(crate) const SINGLE_STEPS: SplitOptions = SplitOptions {
    range: None,
    single_steps: true,
    steady_windows: None,
    mix_windows: None,
    divide_phases: None,
    region_rule: inference_phase::split::RegionRule::Consecutive,
    representatives: Vec::new(),
    steady_run: None,
};

pub(crate) fn split_file(path: &Path, options: &SplitOptions) -> Split {
    let directory = tempfile::tempdir().unwrap();
    let tree_options = TreeOptions { python_frames: true, ..TreeOptions::default() };
    let tree = TraceTree::build(read_path(path, &ReadOptions::default()).unwrap(), &tree_options);
    let steps = steps(&tree, &DetectOptions::default()).steps;
    let plan = plan(tree.trace(), &steps, options, &base_name(path));
    let membership = Membership::new(&tree, &steps);
    let read = ReadOptions::default();
    let written = write_outputs(path, &tree, &membership, &plan.outputs, directory.path(), &read).unwrap();
    let details = execution_details(tree.trace(), &steps, &membership, plan.outputs.clone(), &written);
    write_details(&details, directory.path()).unwrap();
    Split { directory, tree, steps, membership, plan, details }
}

/// Splits a text that lies in a file `NAME.json`.
pub(crate) fn split_text(name: &str, text: &[u8], options: &SplitOptions) -> Split {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(format!("{name}.json"));
    fs::write(&path, text).unwrap();
    split_file(&path, options)
}

impl Split {
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.details.iter().map(|details| details.path.clone()).collect()
    }

    pub(crate) fn read(&self, output: usize) -> Trace {
        read_path(&self.details[output].path, &ReadOptions::default()).unwrap()
    }

    pub(crate) fn text(&self, output: usize) -> String {
        text(&self.details[output].path)
    }

    /// The file as a strict parser reads it.
    pub(crate) fn json(&self, output: usize) -> Value {
        serde_json::from_str(&self.text(output)).unwrap()
    }

    /// Names in a file's event list.
    pub(crate) fn names(&self, output: usize) -> Vec<String> {
        let json = self.json(output);
        let name = |event: &Value| event["name"].as_str().unwrap_or_default().to_string();
        json["traceEvents"].as_array().unwrap().iter().map(name).collect()
    }
}

pub(crate) fn text(path: &Path) -> String {
    std::io::read_to_string(MultiGzDecoder::new(fs::File::open(path).unwrap())).unwrap()
}
