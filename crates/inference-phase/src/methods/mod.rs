//! Methods of phase detection: the detector of steps, and single rules over operators. Those of TraceLens are in
//! [`tracelens`](crate::tracelens).

pub(crate) mod single;

use std::fmt;
use std::str::FromStr;

use trace_ingest::{EventId, Trace};

use crate::step::Phase;

/// How phases are told apart.
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

/// A phase for each of these calls, each by itself; all [`Phase::Unknown`] for [`DetectionMethod::Hybrid`], which
/// looks at steps instead. `decode_threshold` is the number of tokens up to which a call generates.
#[must_use]
pub fn phases_of_calls(
    method: DetectionMethod,
    trace: &Trace,
    calls: &[LaunchingCall<'_>],
    decode_threshold: i64,
) -> Vec<Phase> {
    single::phases(method, trace, calls, decode_threshold)
}
