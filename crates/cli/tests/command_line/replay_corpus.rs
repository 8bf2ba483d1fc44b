//! Operators of recorded traces run again with real PyTorch.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use testdata::corpus;
use trace_ingest::{Category, ReadOptions, read_path};

use crate::program::Workplace;
use crate::replay::{calls, json, python_with_pytorch, replay, same_calls};

/// Traces of PyTorch that were recorded with values of numbers.
const TRACES: [&str; 11] = [
    "inference/sglang-qwen3-8b-decode/sglang_Qwen3-8B_decode.json.gz",
    "inference/vllm-prefilldecode-piecewise/graph_execution.json.gz",
    "inference/xdit-sd-3.5/profile_trace_rank_0.json.gz",
    "pytorch/h100-falconsai-vit/trace.json.gz",
    "pytorch/h100-owlv2-large/trace.json.gz",
    "pytorch/h100-qwen1.5-0.5b/trace.json.gz",
    "pytorch/mi300-bert-small/trace.json.gz",
    "pytorch/mi300-qwen1.5-0.5b/trace.json.gz",
    "pytorch/mi300-timesformer/trace.json.gz",
    "pytorch/normalization-layers/trace.json.gz",
    "pytorch/torch-compile-triton/trace.json.gz",
];

/// Operators with larger tensors are left out, so that the test takes minutes on two cores.
const MOST_BYTES: &str = "8000000";

#[test]
fn operators_of_the_corpus_run_again_on_the_cpu() {
    let Some(python) = python_with_pytorch() else { return };
    let mut tried = BTreeSet::new();
    let (mut ran, mut absent, mut large) = (0, 0, 0);
    let mut failed: BTreeMap<(String, String), usize> = BTreeMap::new();
    for case in TRACES {
        let Some(path) = corpus(case) else { return };
        let trace =
            read_path(&path, &ReadOptions { skip_python_frames: true, ..ReadOptions::default() }).unwrap();
        let operators = trace.events().ids().filter(|&id| trace.events().category(id) == Category::CPU_OP);
        let names: BTreeSet<&str> = operators.map(|id| trace.name(id)).collect();
        let place = Workplace::with("");
        let mut arguments = vec!["replay", path.to_str().unwrap(), "-o", "out", "--max-bytes", MOST_BYTES];
        arguments
            .extend(names.iter().filter(|name| name.starts_with("aten::")).flat_map(|name| ["--op", name]));
        arguments.push("--json");
        let said = place.run(&arguments).exits_with(0).out;
        let document: Value = serde_json::from_str(&said).unwrap();
        for refused in document["operators"].as_array().unwrap().iter().filter(|of| of["replay"] == "no") {
            let [name, reason] = ["name", "reason"].map(|key| refused[key].as_str().unwrap().to_owned());
            match reason.contains("bytes, more than") {
                true => large += 1,
                false => *failed.entry((name, reason)).or_default() += 1,
            }
        }
        replay(&python, &place, &["--runs", "0", "--json", "rows.json", "--trace", "again.json"]);
        let mut kept: Vec<Value> = Vec::new();
        for (entry, row) in std::iter::zip(json(&place, "out/replay.json"), json(&place, "rows.json")) {
            if !tried.insert(
                calls(std::slice::from_ref(&entry))[0].1.to_string() + entry["op_name"].as_str().unwrap(),
            ) {
                continue;
            }
            let detail = row["detail"].as_str().unwrap_or_default();
            match row["status"].as_str() {
                Some("ok") => {
                    ran += 1;
                    kept.push(entry);
                }
                _ if detail.contains("'CPU' backend") || detail.contains("has no operator") => absent += 1,
                _ => {
                    let name = row["op_name"].as_str().unwrap().to_owned();
                    *failed.entry((name, detail.to_owned())).or_default() += 1;
                }
            }
        }
        same_calls(&place, &kept);
    }
    let failures: usize = failed.values().sum();
    let share = f64::from(ran) / (f64::from(ran) + failures as f64);
    println!(
        "{ran} ran, {failures} failed, {absent} are not for the CPU, {large} too large: {:.2}%",
        100.0 * share
    );
    failed.iter().for_each(|((name, reason), count)| println!("{count:4} {name}: {reason}"));
    assert!(share >= 0.95, "{share} {failed:#?}");
}
