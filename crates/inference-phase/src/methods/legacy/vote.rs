//! Weighted votes of five signals, and what becomes of rows without a majority.

use super::{Counts, LegacyRow, has, sequence_length};
use crate::phase::Phase;
use gpu_timeline::quantile;

/// Fewer votes than this leave a row undecided.
const QUORUM: u32 = 2;

/// The label of every row. The tool's refinement by order in time never happens: its table has no times.
pub(super) fn phases(rows: &[LegacyRow<'_>], counts: &Counts<'_>, threshold: i64) -> Vec<Phase> {
    let (high, low) = (quantile(&counts.sorted, 0.7), quantile(&counts.sorted, 0.3));
    let phase = |row: &LegacyRow<'_>| match by_votes(row, threshold) {
        Some(phase) => phase,
        None if counts.count(row) > high => Phase::Decode,
        None if counts.count(row) < low => Phase::Prefill,
        None => Phase::Mixed,
    };
    rows.iter().map(phase).collect()
}

fn by_votes(row: &LegacyRow<'_>, threshold: i64) -> Option<Phase> {
    let text = row.text();
    let lower = row.name.to_lowercase();
    let [mut prefill, mut decode] = [0u32; 2];
    let mut vote = |phase: Option<Phase>, weight: u32| match phase {
        Some(Phase::Prefill) => prefill += weight,
        Some(Phase::Decode) => decode += weight,
        _ => {}
    };
    let by_m = |m: f64| if m > threshold as f64 { Phase::Prefill } else { Phase::Decode };
    vote(row.m().map(by_m), 3);
    vote(explicit_names(&text), 4);
    vote(attention(&text), 2);
    vote(framework(&lower), 2);
    vote(batch(&lower), 1);
    match prefill + decode {
        votes if votes < QUORUM || prefill == decode => None,
        _ if prefill > decode => Some(Phase::Prefill),
        _ => Some(Phase::Decode),
    }
}

fn explicit_names(text: &str) -> Option<Phase> {
    const PREFILL: [&str; 10] = [
        "prefill",
        "chunked_prefill",
        "batch_prefill",
        "prefill_attention",
        "context_attention",
        "prompt_attention",
        "context_phase",
        "first_token",
        "initialization",
        "prompt_processing",
    ];
    const DECODE: [&str; 11] = [
        "decode",
        "generation",
        "batch_decode",
        "continuous_batch",
        "paged_attention",
        "decode_attention",
        "generation_phase",
        "autoregressive",
        "incremental",
        "single_token",
        "next_token",
    ];
    sequence_length::phase(text).or_else(|| match (has(text, &PREFILL), has(text, &DECODE)) {
        (true, false) => Some(Phase::Prefill),
        (false, true) => Some(Phase::Decode),
        _ => None,
    })
}

/// Parts that follow one another in a text.
type Sequence = &'static [&'static str];

fn attention(text: &str) -> Option<Phase> {
    const DECODE: [Sequence; 9] = [
        &["paged_attention", "decode"],
        &["paged_attn_v2"],
        &["kv_cache"],
        &["reshape_and_cache"],
        &["block_sparse_attention"],
        &["page_attention"],
        &["flash_attn", "decode"],
        &["flash_decode"],
        &["varlen", "decode"],
    ];
    const PREFILL: [Sequence; 6] = [
        &["paged_attention", "prefill"],
        &["chunked_prefill"],
        &["block_prefill"],
        &["flash_attn", "prefill"],
        &["flash_prefill"],
        &["varlen", "prefill"],
    ];
    let has_any = |sequences: &[Sequence]| sequences.iter().any(|parts| follow(text, parts));
    if has_any(&DECODE) { Some(Phase::Decode) } else { has_any(&PREFILL).then_some(Phase::Prefill) }
}

/// Whether the parts follow one another on one line.
fn follow(text: &str, parts: Sequence) -> bool {
    text.split('\n').any(|line| {
        parts.iter().try_fold(line, |rest, part| rest.split_once(part).map(|(_, rest)| rest)).is_some()
    })
}

fn framework(lower: &str) -> Option<Phase> {
    const FRAMEWORKS: [(&str, &[&str], &[&str]); 3] = [
        ("vllm::", &["decode", "cache", "paged"], &["prefill"]),
        ("sglang::", &["decode", "cache", "radix"], &["prefill"]),
        ("tgi::", &["decode", "generation", "continuous"], &["prefill", "encode"]),
    ];
    let &(_, decode, prefill) = FRAMEWORKS.iter().find(|(namespace, ..)| lower.contains(namespace))?;
    either(lower, decode, prefill)
}

fn batch(lower: &str) -> Option<Phase> {
    const DECODE: [&str; 5] =
        ["continuous_batch", "dynamic_batch", "batch_decode", "multi_request", "request_batch"];
    const PREFILL: [&str; 3] = ["single_request", "request_init", "batch_prefill"];
    either(lower, &DECODE, &PREFILL)
}

/// Decode by any of its parts, else prefill by any of its own.
fn either(text: &str, decode: &[&str], prefill: &[&str]) -> Option<Phase> {
    if has(text, decode) { Some(Phase::Decode) } else { has(text, prefill).then_some(Phase::Prefill) }
}
