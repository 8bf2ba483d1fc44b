//! What the fuzz target for extension scripts and its smoke test do with a script.

#![allow(unreachable_pub)] // the fuzz target includes this file too

use std::time::Duration;

use perf_models::OpCall;
use script_extension::{Extension, Limits};
use trace_ingest::{ArgumentValue, Category, EventArguments, TraceBuilder};
use trace2tree::{TraceTree, TreeOptions};
use tree_perf::AnalysisExtension;

/// Small enough that a script that runs on is stopped long before anybody calls it a hang.
const LIMITS: Limits = Limits {
    loading_steps: 10_000,
    tree_steps: 10_000,
    model_steps: 10_000,
    memory_bytes: 64 << 20,
    call_depth: 50,
    time: Duration::from_secs(1),
};

/// Loads a script, asks its models, and runs its rule on a tree. Returns whether it could be loaded.
///
/// # Panics
/// When an error does not say in which script it is.
pub fn run(text: &str) -> bool {
    let says_where = |error: String| assert!(error.contains("script.star"), "{error}");
    let extension = match Extension::load_with("script.star", text, LIMITS) {
        Ok(extension) => extension,
        Err(error) => {
            says_where(error.to_string());
            return false;
        }
    };
    let names: Vec<String> = extension.modelled().map(str::to_owned).collect();
    for name in &names {
        let call = OpCall { name, kernels: &["kernel"], ..OpCall::default() };
        let _ = extension.model(&call).map(|model| model.map_err(|reason| reason.to_string()));
        let _ = (extension.category(name), extension.sheets(name).len());
    }
    if let Err(error) = extension.postprocess(&mut tree()) {
        says_where(error.to_string());
    }
    for notice in extension.notices() {
        let _ = notice.to_string();
    }
    true
}

/// Two operators, one in the other, and a kernel.
fn tree() -> TraceTree {
    let mut builder = TraceBuilder::default();
    let (host, stream) = (builder.track(1, 1), builder.track(0, 7));
    let dims =
        ArgumentValue::List(vec![ArgumentValue::List(vec![ArgumentValue::Int(8), ArgumentValue::Int(4)])]);
    let signature = Some(builder.signature([Some(dims), None, None, None]));
    let operator = EventArguments { signature, sequence_number: Some(1), ..EventArguments::default() };
    builder.event(Category::CPU_OP, "aten::linear", host, 0, 100, operator);
    builder.event(Category::CPU_OP, "aten::mm", host, 10, 80, operator);
    let launch = EventArguments { correlation: Some(1), ..EventArguments::default() };
    builder.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", host, 20, 10, launch);
    let kernel = EventArguments { device: Some(0), stream: Some(7), ..launch };
    builder.event(Category::KERNEL, "gemm", stream, 200, 50, kernel);
    TraceTree::build(builder.finish(), &TreeOptions::default())
}
