//! The phase rules of the reference tool exactly as they are, faults included, for comparison with its reports.
//!
//! Every entry of its word lists is a plain part of a text here too, also those that were meant as patterns.

mod sequence_length;
mod vote;

use std::fmt;
use std::str::FromStr;

use hashbrown::HashMap;
use trace_ingest::ArgumentValue;

use super::UnknownMethod;
use crate::phase::Phase;
use gpu_timeline::quantile;

/// A method of the reference tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LegacyMethod {
    /// The first of [`KernelNames`](LegacyMethod::KernelNames), [`FrameworkApis`](LegacyMethod::FrameworkApis),
    /// [`AttentionPatterns`](LegacyMethod::AttentionPatterns) and
    /// [`OperationFrequency`](LegacyMethod::OperationFrequency) that decides.
    #[default]
    Hybrid,
    /// Parts of names.
    KernelNames,
    /// Calls per name against quantiles of all names.
    OperationFrequency,
    /// Parts of names of engines' operators.
    FrameworkApis,
    /// Parts of names of attention.
    AttentionPatterns,
    /// First dimension of the first input.
    GemmParams,
    /// Weighted votes of five signals.
    Union,
}

impl LegacyMethod {
    /// All methods.
    pub const ALL: [LegacyMethod; 7] = [
        LegacyMethod::Hybrid,
        LegacyMethod::KernelNames,
        LegacyMethod::OperationFrequency,
        LegacyMethod::FrameworkApis,
        LegacyMethod::AttentionPatterns,
        LegacyMethod::GemmParams,
        LegacyMethod::Union,
    ];

    /// The name on command lines and in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            LegacyMethod::Hybrid => "hybrid",
            LegacyMethod::KernelNames => "kernel_names",
            LegacyMethod::OperationFrequency => "operation_frequency",
            LegacyMethod::FrameworkApis => "framework_apis",
            LegacyMethod::AttentionPatterns => "attention_patterns",
            LegacyMethod::GemmParams => "gemm_params",
            LegacyMethod::Union => "union",
        }
    }

    /// Whether the threshold is a part of the method.
    #[must_use]
    pub fn uses_threshold(self) -> bool {
        matches!(self, LegacyMethod::GemmParams | LegacyMethod::Union)
    }
}

impl fmt::Display for LegacyMethod {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl FromStr for LegacyMethod {
    type Err = UnknownMethod;

    fn from_str(name: &str) -> Result<Self, UnknownMethod> {
        let found = LegacyMethod::ALL.into_iter().find(|method| method.as_str() == name);
        found.ok_or_else(|| UnknownMethod {
            name: name.to_owned(),
            known: LegacyMethod::ALL.map(LegacyMethod::as_str).to_vec(),
        })
    }
}

/// One call as the reference tool sees it.
#[derive(Clone, Debug)]
pub struct LegacyRow<'t> {
    /// Name of the operator or runtime call.
    pub name: &'t str,
    /// Names of what it launched.
    pub kernels: Vec<&'t str>,
    /// `Input Dims`, if recorded.
    pub input_dims: Option<&'t ArgumentValue>,
}

impl LegacyRow<'_> {
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
pub fn legacy_phases(method: LegacyMethod, rows: &[LegacyRow<'_>], decode_threshold: i64) -> Vec<Phase> {
    let counts = Counts::of(rows);
    match method {
        LegacyMethod::Union => vote::phases(rows, &counts, decode_threshold),
        LegacyMethod::Hybrid => {
            let decided = |row| {
                let by_name = [kernel_names, framework_apis, attention_patterns];
                let found = by_name.iter().map(|method| method(row)).find(|&phase| phase != Phase::Mixed);
                found.unwrap_or_else(|| counts.phase(row))
            };
            rows.iter().map(decided).collect()
        }
        LegacyMethod::KernelNames => rows.iter().map(kernel_names).collect(),
        LegacyMethod::OperationFrequency => rows.iter().map(|row| counts.phase(row)).collect(),
        LegacyMethod::FrameworkApis => rows.iter().map(framework_apis).collect(),
        LegacyMethod::AttentionPatterns => rows.iter().map(attention_patterns).collect(),
        LegacyMethod::GemmParams => rows.iter().map(|row| gemm_params(row, decode_threshold)).collect(),
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
    fn of(rows: &[LegacyRow<'t>]) -> Self {
        let mut of: HashMap<&str, usize> = HashMap::new();
        for row in rows {
            *of.entry(row.name).or_default() += 1;
        }
        let mut sorted: Vec<f64> = of.values().map(|&count| count as f64).collect();
        sorted.sort_by(f64::total_cmp);
        Counts { of, sorted }
    }

    fn count(&self, row: &LegacyRow<'_>) -> f64 {
        self.of.get(row.name).map_or(0.0, |&count| count as f64)
    }

    /// Decode unless the name is rare.
    fn phase(&self, row: &LegacyRow<'_>) -> Phase {
        let count = self.count(row);
        let (high, low) = (quantile(&self.sorted, 0.5), quantile(&self.sorted, 0.15));
        if count > high || count >= low { Phase::Decode } else { Phase::Prefill }
    }
}

fn gemm_params(row: &LegacyRow<'_>, threshold: i64) -> Phase {
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
    match (has(&text, &PREFILL), has(&text, &DECODE)) {
        (true, true) => Phase::Mixed,
        (true, false) => Phase::Prefill,
        (false, true) => Phase::Decode,
        (false, false) => match row.m() {
            Some(m) if m > threshold as f64 => Phase::Prefill,
            Some(_) => Phase::Decode,
            None => Phase::Mixed,
        },
    }
}

fn attention_patterns(row: &LegacyRow<'_>) -> Phase {
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

fn framework_apis(row: &LegacyRow<'_>) -> Phase {
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

fn kernel_names(row: &LegacyRow<'_>) -> Phase {
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
    if let Some(phase) = sequence_length::phase(&text) {
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

#[cfg(test)]
mod tests;
