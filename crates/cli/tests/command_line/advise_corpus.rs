//! What `tracelens advise` finds in the recordings of the corpus.

use serde_json::Value;
use testdata::corpus;

use crate::program::Workplace;

/// The findings of a recording of the corpus, and its window in µs; `None` where there is no corpus.
fn advice(recording: &str) -> Option<(Vec<Value>, f64)> {
    let file = corpus(recording)?;
    let place = Workplace::with("");
    let outcome = place.run(&["advise", file.to_str().unwrap(), "--json"]).exits_with(0);
    let answer: Value = serde_json::from_str(&outcome.out).unwrap();
    let document = &answer["result"];
    let of_file = &document["files"][0];
    Some((of_file["findings"].as_array().unwrap().clone(), of_file["window_us"].as_f64().unwrap()))
}

fn mid(finding: &Value) -> f64 {
    finding["gain"]["mid_us"].as_f64().unwrap_or(0.0)
}

/// Recordings with the rule and the subject that come first, each looked up by hand.
const FIRST: [(&str, &str, &str); 12] = [
    ("pytorch/mi300-bert-small/trace.json.gz", "IDLE-LAUNCH", "aten::addmm"),
    ("pytorch/h100-falconsai-vit/trace.json.gz", "IDLE-LAUNCH", "aten::addmm"),
    ("pytorch/h100-owlv2-large/trace.json.gz", "IDLE-DATA", "enumerate(DataLoader)"),
    ("pytorch/mi300-timesformer/trace.json.gz", "FUSE-ATTN", "aten::_softmax"),
    ("pytorch/torch-compile-triton/trace.json.gz", "KERNEL-EFF", "SDPA_fwd"),
    ("pytorch/normalization-layers/trace.json.gz", "IDLE-INIT", "hipLaunchKernel"),
    ("inference/xdit-sd-3.5/profile_trace_rank_0.json.gz", "IDLE-LAUNCH", "aten::mm"),
    ("kineto/pytorch-1.9-resnet50/trace.json.gz", "IDLE-DATA", "DataLoader"),
    ("jax/mi300-conv3d-jax06/trace.xplane.pb", "IDLE-HOST", "cause not recorded"),
    ("rocprof/mi300-allreduce/908_results.json.gz", "COMM-EXPOSED", "ncclDevKernel_Generic"),
    ("metal/bh_64_clip_encoder_1/ops.csv", "METAL-GAPS", "MinimalMatmulOp"),
    ("kineto/mtia-inference/trace.json.gz", "IDLE-SYNC", "synchronizeStream"),
];

#[test]
fn the_first_findings_of_the_corpus_are_those_that_were_looked_up() {
    for (recording, rule, subject) in FIRST {
        let Some((found, _)) = advice(recording) else { return };
        assert_eq!(found[0]["rule"], rule, "{recording}: {:#?}", found[0]);
        assert!(
            found[0]["subject"].as_str().unwrap().contains(subject),
            "{recording}: {}",
            found[0]["subject"]
        );
    }
}

#[test]
fn gains_in_the_corpus_are_no_more_than_their_amounts_and_together_than_the_window() {
    for (recording, ..) in FIRST {
        let Some((found, window)) = advice(recording) else { return };
        let most = |finding: &Value| finding["gain"]["high_us"].as_f64().unwrap_or(0.0);
        let gains: f64 = found.iter().map(most).sum();
        assert!(gains <= window * 1.000_001, "{recording}: {gains} of {window}");
        for finding in &found {
            let amount = finding["amount_us"].as_f64().unwrap_or(0.0);
            assert!(most(finding) <= amount * 1.000_001 && amount <= window * 1.000_001, "{finding:#}");
            let has_evidence = finding["evidence"].as_array().is_some_and(|list| !list.is_empty());
            assert!(has_evidence, "{recording}: {finding:#}");
        }
    }
}

/// A finding on one part of a layer leaves the products beside it their own: products that share a kernel with a fused module
/// were left out by the reference (AQ4), and candidates inside each other were counted twice (AQ3).
#[test]
fn fusion_in_the_corpus_claims_only_what_it_saves() {
    let Some((found, _)) = advice("pytorch/mi300-qwen1.5-0.5b/trace.json.gz") else { return };
    let attention = found.iter().find(|finding| finding["rule"] == "KERNEL-EFF").expect("a slow kernel");
    assert!(attention["subject"].as_str().unwrap().contains("flash_attention"));
    // 4.016 ms of attention at 8.68% of the nominal roofline.
    assert!((2000.0..4016.0).contains(&mid(attention)), "{attention:#}");
    // 49 RMSNorms take 3.961 ms in all; what one kernel for each would save is less.
    let norms = found.iter().filter(|finding| {
        finding["subject"].as_str().is_some_and(|subject| subject.starts_with("aten::pow → aten::mean"))
    });
    let norms: f64 = norms.map(mid).sum();
    assert!(norms > 0.0 && norms < 3961.0, "{norms}");
}
