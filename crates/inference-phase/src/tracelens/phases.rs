//! The phase rules of TraceLens exactly as they are, faults included, for comparison with its reports.
//!
//! Every entry of its word lists is a plain part of a text here too, also those that were meant as patterns.

use std::fmt;
use std::str::FromStr;

use gpu_timeline::{SortFew, quantile};
use hashbrown::HashMap;
use trace_ingest::ArgumentValue;

use crate::methods::{DetectionMethod, UnknownMethod, by_mean_length};
use crate::step::Phase;

/// A method of TraceLens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Its method of this name. [`DetectionMethod::Hybrid`] is the first of
    /// [`KernelNames`](DetectionMethod::KernelNames), [`FrameworkApis`](DetectionMethod::FrameworkApis),
    /// [`AttentionPatterns`](DetectionMethod::AttentionPatterns) and
    /// [`OperationFrequency`](DetectionMethod::OperationFrequency) that decides;
    /// [`GemmParams`](DetectionMethod::GemmParams) looks at the first dimension of the first input.
    Named(DetectionMethod),
    /// Weighted votes of five signals.
    Union,
}

impl Method {
    /// All methods.
    #[must_use]
    pub fn all() -> Vec<Method> {
        DetectionMethod::ALL.into_iter().map(Method::Named).chain([Method::Union]).collect()
    }

    /// The name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Named(method) => method.as_str(),
            Method::Union => "union",
        }
    }

    /// Whether the threshold is a part of the method.
    #[must_use]
    pub fn uses_threshold(self) -> bool {
        matches!(self, Method::Named(DetectionMethod::GemmParams) | Method::Union)
    }
}

impl Default for Method {
    fn default() -> Self {
        Method::Named(DetectionMethod::Hybrid)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(name: &str) -> Result<Self, UnknownMethod> {
        match name {
            "union" => Ok(Method::Union),
            name => name.parse().map(Method::Named).map_err(|mut unknown: UnknownMethod| {
                unknown.known.push(Method::Union.as_str());
                unknown
            }),
        }
    }
}

/// One call as TraceLens sees it.
#[derive(Clone, Debug)]
pub struct Call<'t> {
    /// Name of the operator or runtime call.
    pub name: &'t str,
    /// Names of what it launched.
    pub kernels: Vec<&'t str>,
    /// `Input Dims`, if recorded.
    pub input_dims: Option<&'t ArgumentValue>,
}

impl Call<'_> {
    /// All names in lower case, one blank between them.
    fn text(&self) -> String {
        let mut text = self.name.to_lowercase();
        for kernel in &self.kernels {
            text.push(' ');
            text.push_str(&kernel.to_lowercase());
        }
        text
    }

    /// The first dimension of the first of two inputs or more, whatever the operator.
    fn m(&self) -> Option<f64> {
        let dims = self.input_dims?.as_list().filter(|dims| dims.len() >= 2)?;
        let first = dims.first()?.as_list()?.first()?;
        let value = match first {
            ArgumentValue::Int(value) => *value as f64,
            ArgumentValue::Float(value) => value.trunc(),
            _ => return None,
        };
        (value > 0.0).then_some(value)
    }
}

/// The label of every row. [`Phase::Mixed`] is what the tool calls so: undecided as well as both.
#[must_use]
pub fn phases(method: Method, rows: &[Call<'_>], decode_threshold: i64) -> Vec<Phase> {
    let counts = Counts::of(rows);
    match method {
        Method::Union => by_vote(rows, &counts, decode_threshold),
        Method::Named(DetectionMethod::Hybrid) => {
            let decided = |row| {
                let by_name = [kernel_names, framework_apis, attention_patterns];
                let found = by_name.iter().map(|method| method(row)).find(|&phase| phase != Phase::Mixed);
                found.unwrap_or_else(|| counts.phase(row))
            };
            rows.iter().map(decided).collect()
        }
        Method::Named(DetectionMethod::KernelNames) => rows.iter().map(kernel_names).collect(),
        Method::Named(DetectionMethod::OperationFrequency) => {
            rows.iter().map(|row| counts.phase(row)).collect()
        }
        Method::Named(DetectionMethod::FrameworkApis) => rows.iter().map(framework_apis).collect(),
        Method::Named(DetectionMethod::AttentionPatterns) => rows.iter().map(attention_patterns).collect(),
        Method::Named(DetectionMethod::GemmParams) => {
            rows.iter().map(|row| gemm_params(row, decode_threshold)).collect()
        }
    }
}

/// Whether any of these parts is in the text.
fn has(text: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| text.contains(part))
}

/// Calls per name.
struct Counts<'t> {
    of: HashMap<&'t str, usize>,
    sorted: Vec<f64>,
}

impl<'t> Counts<'t> {
    fn of(rows: &[Call<'t>]) -> Self {
        let mut of: HashMap<&str, usize> = HashMap::new();
        for row in rows {
            *of.entry(row.name).or_default() += 1;
        }
        let mut sorted: Vec<f64> = of.values().map(|&count| count as f64).collect();
        sorted.sort_few_by(f64::total_cmp);
        Counts { of, sorted }
    }

    fn count(&self, row: &Call<'_>) -> f64 {
        self.of.get(row.name).map_or(0.0, |&count| count as f64)
    }

    /// Decode unless the name is rare.
    fn phase(&self, row: &Call<'_>) -> Phase {
        let count = self.count(row);
        let (high, low) = (quantile(&self.sorted, 0.5), quantile(&self.sorted, 0.15));
        if count > high || count >= low { Phase::Decode } else { Phase::Prefill }
    }
}

fn gemm_params(row: &Call<'_>, threshold: i64) -> Phase {
    const PREFILL: [&str; 4] = ["prefill", "chunked_prefill", "batch_prefill", "prefill_attention"];
    const DECODE: [&str; 6] = [
        "decode",
        "batch_decode",
        "continuous_batch",
        "decode_attention",
        "paged_attention.*decode",
        "decode_kernel",
    ];
    let text = row.text();
    Phase::from_kinds(has(&text, &PREFILL), has(&text, &DECODE)).unwrap_or_else(|| match row.m() {
        Some(m) if m > threshold as f64 => Phase::Prefill,
        Some(_) => Phase::Decode,
        None => Phase::Mixed,
    })
}

fn attention_patterns(row: &Call<'_>) -> Phase {
    let name = row.name.to_lowercase();
    if !has(&name, &["attention", "attn", "sdpa"]) {
        return Phase::Mixed;
    }
    if has(&name, &["paged_attention", "kv_cache", "reshape_and_cache", "batch_decode", "decode_attention"]) {
        return Phase::Decode;
    }
    if has(&name, &["prefill_attention", "chunked_prefill", "batch_prefill"]) {
        return Phase::Prefill;
    }
    // Taken for a length, but a shape wherever the profiler recorded one.
    let dims = row.input_dims.and_then(ArgumentValue::as_list).unwrap_or_default();
    let entry = match dims.len() {
        0..3 => None,
        3 => dims.get(1),
        _ => dims.get(2),
    };
    match entry.and_then(ArgumentValue::as_int) {
        Some(length) if length > 10 => Phase::Prefill,
        Some(_) => Phase::Decode,
        None => Phase::Mixed,
    }
}

fn framework_apis(row: &Call<'_>) -> Phase {
    struct Framework {
        /// Part of the name as it is.
        namespace: Option<&'static str>,
        /// Parts of the name in lower case.
        guards: &'static [&'static str],
        decode: &'static [&'static str],
        prefill: &'static [&'static str],
    }
    const FRAMEWORKS: [Framework; 4] = [
        Framework {
            namespace: Some("vllm::"),
            guards: &["paged_attention", "reshape_and_cache", "batch_decode"],
            decode: &["decode", "cache"],
            prefill: &["prefill"],
        },
        Framework {
            namespace: Some("sglang::"),
            guards: &["radix_attention", "prefix_cache", "tree_attention"],
            decode: &["decode", "cache"],
            prefill: &["prefill"],
        },
        Framework {
            namespace: Some("tgi::"),
            guards: &["continuous_batch", "decode_kernel", "token_generation"],
            decode: &["decode", "generation"],
            prefill: &["prefill", "encode"],
        },
        Framework {
            namespace: None,
            guards: &["context_phase", "generation_phase", "mha_", "mlp_"],
            decode: &["generation", "decode"],
            prefill: &["context", "prefill"],
        },
    ];
    let lower = row.name.to_lowercase();
    let is_of = |framework: &&Framework| {
        framework.namespace.is_some_and(|namespace| row.name.contains(namespace))
            || has(&lower, framework.guards)
    };
    match FRAMEWORKS.iter().find(is_of) {
        Some(framework) if has(&lower, framework.decode) => Phase::Decode,
        Some(framework) if has(&lower, framework.prefill) => Phase::Prefill,
        _ => Phase::Mixed,
    }
}

fn kernel_names(row: &Call<'_>) -> Phase {
    const PREFILL: [&str; 10] = [
        "prefill",
        "context",
        "prompt",
        "chunked_prefill",
        "batch_prefill",
        "context_attention",
        "prompt_attention",
        "context_phase",
        "initialization",
        "first_token",
    ];
    const DECODE: [&str; 13] = [
        "decode",
        "generation",
        "autoregressive",
        "batch_decode",
        "continuous_batch",
        "paged_attention",
        "kv_cache",
        "reshape_and_cache",
        "generation_phase",
        "incremental",
        "single_token",
        "_decode_",
        "decode_kernel",
    ];
    let text = row.text();
    if let Some(phase) = by_mean_length(&lengths(&text)) {
        return phase;
    }
    if has(&text, &PREFILL) {
        Phase::Prefill
    } else if has(&text, &DECODE) {
        Phase::Decode
    } else {
        Phase::Mixed
    }
}

/// Fewer votes than this leave a row undecided.
const QUORUM: u32 = 2;

/// The label of every row. The tool's refinement by order in time never happens: its table has no times.
fn by_vote(rows: &[Call<'_>], counts: &Counts<'_>, threshold: i64) -> Vec<Phase> {
    let (high, low) = (quantile(&counts.sorted, 0.7), quantile(&counts.sorted, 0.3));
    let phase = |row: &Call<'_>| match by_votes(row, threshold) {
        Some(phase) => phase,
        None if counts.count(row) > high => Phase::Decode,
        None if counts.count(row) < low => Phase::Prefill,
        None => Phase::Mixed,
    };
    rows.iter().map(phase).collect()
}

fn by_votes(row: &Call<'_>, threshold: i64) -> Option<Phase> {
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
    by_mean_length(&lengths(text)).or_else(|| match (has(text, &PREFILL), has(text, &DECODE)) {
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

/// Numbers after `sl`, after `seqlen` with or without a separator, and after `seq`, from left to right; 0 is no length.
fn lengths(text: &str) -> Vec<f64> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('s') {
        rest = &rest[at..];
        match length_at(rest) {
            Some((length, end)) => {
                found.extend(Some(length).filter(|&length| length != 0.0));
                rest = &rest[end..];
            }
            None => rest = &rest[1..],
        }
    }
    found
}

/// The length that the text begins with, and where it ends.
fn length_at(text: &str) -> Option<(f64, usize)> {
    let number = |from: usize| {
        let digits = text[from..].bytes().take_while(u8::is_ascii_digit).count();
        Some((text[from..from + digits].parse().ok()?, from + digits))
    };
    let after_separator = |from: usize| {
        let separator = text[from..].chars().next().filter(|&c| c == '_' || c.is_whitespace())?;
        number(from + separator.len_utf8())
    };
    if text.starts_with("sl") {
        return number("sl".len());
    }
    if text.starts_with("seqlen") {
        let from = "seqlen".len();
        return number(from).or_else(|| after_separator(from));
    }
    text.starts_with("seq").then(|| number("seq".len())).flatten()
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod sequence_length_tests {
    use super::*;

    #[test]
    fn lengths_are_read_wherever_they_stand() {
        for (text, expected) in [
            ("cijk_ailk_usl1_uiof", &[1.0][..]),
            ("seqlen_128 seqlen 64 seqlen32", &[128.0, 64.0, 32.0]),
            ("seq7seq9", &[7.0, 9.0]),
            ("seqlen__5 seq_5 slx sl", &[]),
            ("ssl12", &[12.0]),
            ("seqlen_", &[]),
        ] {
            assert_eq!(lengths(text), expected, "{text}");
        }
    }

    #[test]
    fn one_is_decode_and_many_are_prefill() {
        for (text, expected) in [
            ("usl1", Some(Phase::Decode)),
            ("sl11", Some(Phase::Prefill)),
            ("sl10", None),
            ("sl0 sl1", Some(Phase::Decode)),
            ("sl1 sl3", None),
            ("sl0", None),
        ] {
            assert_eq!(by_mean_length(&lengths(text)), expected, "{text}");
        }
    }
}
