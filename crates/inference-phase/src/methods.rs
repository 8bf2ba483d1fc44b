//! Methods of phase detection: the detector of steps, and single rules over operators. Those of TraceLens are in
//! [`tracelens`](crate::tracelens).

use std::fmt;
use std::str::FromStr;

use hashbrown::HashMap;
use perf_models::{PhaseWords, is_library_gemm};
use trace_ingest::{Category, EventId, PerString, StringId, Trace};

use crate::detect::calls::{AttentionCall, Call, CallReader};
use crate::detect::names::{Names, names};
use crate::step::Phase;

/// How the phases of inference are detected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DetectionMethod {
    /// Steps of the engine by their annotations, frames, tokens, attention and graphs, in this order; words and
    /// frequencies as a last resort ([`Steps::detect`](crate::Steps::detect)). Every step has one phase.
    #[default]
    Hybrid,
    /// Words of the phases in the names of an operator and of its kernels.
    KernelNames,
    /// Operators that are called more often than the median of all names generate, those far less often process
    /// prompts.
    OperationFrequency,
    /// Words of the phases in the names of operators of inference engines.
    FrameworkApis,
    /// Names and sequence lengths of attention.
    AttentionPatterns,
    /// Rows of the activations of matrix products, against the threshold.
    GemmParams,
}

impl DetectionMethod {
    /// All methods.
    pub const ALL: [DetectionMethod; 6] = [
        DetectionMethod::Hybrid,
        DetectionMethod::KernelNames,
        DetectionMethod::OperationFrequency,
        DetectionMethod::FrameworkApis,
        DetectionMethod::AttentionPatterns,
        DetectionMethod::GemmParams,
    ];

    /// The name on command lines and in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            DetectionMethod::Hybrid => "hybrid",
            DetectionMethod::KernelNames => "kernel_names",
            DetectionMethod::OperationFrequency => "operation_frequency",
            DetectionMethod::FrameworkApis => "framework_apis",
            DetectionMethod::AttentionPatterns => "attention_patterns",
            DetectionMethod::GemmParams => "gemm_params",
        }
    }

    /// Whether the number of tokens up to which a call generates is a part of the method.
    #[must_use]
    pub fn uses_threshold(self) -> bool {
        matches!(
            self,
            DetectionMethod::Hybrid | DetectionMethod::AttentionPatterns | DetectionMethod::GemmParams
        )
    }
}

impl fmt::Display for DetectionMethod {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl FromStr for DetectionMethod {
    type Err = UnknownMethod;

    fn from_str(name: &str) -> Result<Self, UnknownMethod> {
        let found = DetectionMethod::ALL.into_iter().find(|method| method.as_str() == name);
        found.ok_or_else(|| UnknownMethod {
            name: name.to_owned(),
            known: DetectionMethod::ALL.map(DetectionMethod::as_str).to_vec(),
        })
    }
}

/// There is no method of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error("unknown method {name:?}")]
#[diagnostic(code("phase-method/unknown-method"), help("choose one of {}", known.join(", ")))]
pub struct UnknownMethod {
    /// The name.
    pub name: String,
    /// The names that there are.
    pub known: Vec<&'static str>,
}

/// An operator that launched device work, or a runtime call where no operator did.
#[derive(Clone, Copy, Debug)]
pub struct LaunchingCall<'t> {
    /// The operator or call.
    pub event: EventId,
    /// What it launched itself, by start.
    pub kernels: &'t [EventId],
}

/// A phase for each of these calls, each by itself, by one rule; all [`Phase::Unknown`] for [`DetectionMethod::Hybrid`], which
/// looks at steps instead. `decode_threshold` is the number of tokens up to which a call generates.
#[must_use]
pub fn phases_of_calls(
    method: DetectionMethod,
    trace: &Trace,
    calls: &[LaunchingCall<'_>],
    decode_threshold: i64,
) -> Vec<Phase> {
    let mut rules = Rules {
        trace,
        names: names(trace),
        lengths: PerString::new(trace.strings(), sequence_length),
        reader: CallReader::new(trace),
        threshold: decode_threshold,
    };
    match method {
        DetectionMethod::Hybrid => vec![Phase::Unknown; calls.len()],
        DetectionMethod::OperationFrequency => by_frequency(trace, calls),
        DetectionMethod::KernelNames => calls.iter().map(|call| rules.by_names(call)).collect(),
        DetectionMethod::FrameworkApis => calls.iter().map(|call| rules.by_framework(call)).collect(),
        DetectionMethod::AttentionPatterns => calls.iter().map(|call| rules.by_attention(call)).collect(),
        DetectionMethod::GemmParams => calls.iter().map(|call| rules.by_rows(call)).collect(),
    }
}

/// What a name or shape says of the phase is read the same way as for steps: words as wholes, nothing out of names of
/// matrix kernels, writes to the cache neutral.
struct Rules<'t> {
    trace: &'t Trace,
    names: Names<'t>,
    /// What lengths in a name say, by name.
    lengths: PerString<'t, Option<Phase>>,
    reader: CallReader<'t>,
    threshold: i64,
}

impl Rules<'_> {
    fn words(&mut self, event: EventId) -> PhaseWords {
        self.names.get(self.trace.events().name(event)).words
    }

    /// The operator's own name, else the names of what it launched, weighed by time.
    fn by_names(&mut self, call: &LaunchingCall<'_>) -> Phase {
        self.weak_words(call.event).unwrap_or_else(|| {
            self.weigh(call, |rules, kernel| rules.weak_words(kernel).or_else(|| rules.length(kernel)))
        })
    }

    /// What the kernels of a call say, by their time.
    fn weigh(
        &mut self,
        call: &LaunchingCall<'_>,
        says: impl Fn(&mut Self, EventId) -> Option<Phase>,
    ) -> Phase {
        let [mut context, mut generation] = [0i64; 2];
        for &kernel in call.kernels {
            let time = self.trace.events().duration(kernel);
            let phase = says(self, kernel);
            // A kernel that names both counts for each.
            if phase.is_some_and(Phase::bears_context) {
                context = context.saturating_add(time);
            }
            if matches!(phase, Some(Phase::Decode | Phase::Mixed)) {
                generation = generation.saturating_add(time);
            }
        }
        Phase::from_weights([context, generation]).unwrap_or(Phase::Unknown)
    }

    /// What the words of the phases anywhere in a name say.
    fn weak_words(&mut self, event: EventId) -> Option<Phase> {
        let words = self.words(event);
        Phase::from_kinds(words.weak_context, words.weak_generation)
    }

    /// What the name of attention says.
    fn attention_words(&mut self, event: EventId) -> Option<Phase> {
        let words = self.words(event);
        Phase::from_kinds(words.context, words.generation)
    }

    fn length(&mut self, kernel: EventId) -> Option<Phase> {
        *self.lengths.get(self.trace.events().name(kernel))
    }

    /// The operator's own name alone, if an engine has it.
    fn by_framework(&mut self, call: &LaunchingCall<'_>) -> Phase {
        let is_engine_call = self.words(call.event).engine;
        is_engine_call.then(|| self.weak_words(call.event)).flatten().unwrap_or(Phase::Unknown)
    }

    /// The name of attention, else its lengths, else the names of its kernels.
    fn by_attention(&mut self, call: &LaunchingCall<'_>) -> Phase {
        if let Some(phase) = self.attention_words(call.event) {
            return phase;
        }
        let shapes = match self.reader.read(call.event, &mut self.names) {
            Some(Call::Attention(shapes)) => by_lengths(shapes, self.threshold),
            _ => None,
        };
        shapes.unwrap_or_else(|| self.weigh(call, Self::attention_words))
    }

    /// Names that say it outright, else the rows of a matrix product's activations.
    fn by_rows(&mut self, call: &LaunchingCall<'_>) -> Phase {
        let named = self.weak_words(call.event).unwrap_or_else(|| self.weigh(call, Self::weak_words));
        if named != Phase::Unknown {
            return named;
        }
        match self.reader.read(call.event, &mut self.names) {
            Some(Call::Projection { rows, .. }) if rows > self.threshold => Phase::Prefill,
            Some(Call::Projection { rows, .. }) if rows > 0 => Phase::Decode,
            _ => Phase::Unknown,
        }
    }
}

/// New tokens per request: as many as keys are a whole prompt, however short.
fn by_lengths(call: AttentionCall, threshold: i64) -> Option<Phase> {
    let (tokens, keys) = match (call.queries, call.rows, call.requests) {
        (Some(queries), ..) => (queries, call.keys),
        (None, Some(rows), Some(requests)) if requests > 0 => (rows.div_euclid(requests), None),
        _ => return None,
    };
    let is_whole_prompt = tokens > 1 && keys == Some(tokens);
    Some(if tokens > threshold || is_whole_prompt { Phase::Prefill } else { Phase::Decode })
}

/// What the lengths in a name say: one token is generation, more than ten are a prompt. Only whole words count
/// (`seqlen_128`, `sl128`), and matrix kernels' names have none: theirs are about tiles.
fn sequence_length(name: &str) -> Option<Phase> {
    let lower = name.to_ascii_lowercase();
    if is_library_gemm(&lower) {
        return None;
    }
    let mut words =
        lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).peekable();
    let mut lengths = Vec::new();
    while let Some(word) = words.next() {
        let digits = ["seqlen", "seq", "sl"].iter().find_map(|start| word.strip_prefix(start));
        let number: Option<f64> = match digits {
            Some("") if word == "seqlen" => words.peek().and_then(|next| next.parse().ok()),
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok(),
            _ => None,
        };
        lengths.extend(number.filter(|&length| length > 0.0));
    }
    by_mean_length(&lengths)
}

/// The phase by the mean of all lengths in a name; `None` where there are none or the mean lies between.
pub(crate) fn by_mean_length(lengths: &[f64]) -> Option<Phase> {
    let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
    if mean == 1.0 { Some(Phase::Decode) } else { (mean > 10.0).then_some(Phase::Prefill) }
}

/// Names that are called more often than half of all names generate; those rarer than 85% of them process prompts.
/// Nothing is said of what lies between, nor where all are called equally often.
fn by_frequency(trace: &Trace, calls: &[LaunchingCall<'_>]) -> Vec<Phase> {
    let mut counts: HashMap<(Category, StringId), i64> = HashMap::new();
    let key = |call: &LaunchingCall<'_>| {
        let events = trace.events();
        (events.category(call.event), events.name(call.event))
    };
    for call in calls {
        *counts.entry(key(call)).or_default() += 1;
    }
    let mut sorted: Vec<i64> = counts.values().copied().collect();
    sorted.sort_unstable();
    let at = |share: f64| sorted.get((sorted.len().saturating_sub(1) as f64 * share).round() as usize);
    let (Some(&rare), Some(&usual)) = (at(0.15), at(0.5)) else { return Vec::new() };
    let phase = |call| match counts[&key(call)] {
        count if count > usual => Phase::Decode,
        count if count < rare => Phase::Prefill,
        _ => Phase::Unknown,
    };
    calls.iter().map(phase).collect()
}

#[cfg(test)]
mod tests;
