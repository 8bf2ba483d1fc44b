//! Flags about devices and their kernels that several reports share.

use std::path::{Path, PathBuf};

use answers::model::chosen_architecture;
use clap::Args;
use flags::one_of;
use perf_models::{Architecture, CommunicationPatterns, PeakBasis};

use super::Reference;
use crate::error::Failure;

#[derive(Args)]
pub(crate) struct DeviceArguments {
    /// Use the GPU architecture in this JSON file for rooflines
    #[arg(long = "gpu_arch_json_path", value_name = "FILE", conflicts_with = "gpu_arch_platform")]
    gpu_arch_json_path: Option<PathBuf>,

    /// Use this bundled architecture for rooflines; `tracelens archs` lists them [default: the recorded device]
    #[arg(long = "gpu_arch_platform", value_name = "NAME")]
    gpu_arch_platform: Option<String>,

    /// Use the peaks of the vendor's data sheet (nominal) or published measurements, where available (achievable)
    /// [default: nominal; achievable with --parity]
    #[arg(long = "peak", value_name = "BASIS", value_parser = one_of(PEAK_BASES))]
    peak: Option<PeakBasis>,

    /// Also count as communication all kernels whose names contain this text. Repeatable
    #[arg(long = "communication-pattern", value_name = "TEXT")]
    communication_pattern: Vec<String>,
}

/// What `--peak` takes.
pub(super) const PEAK_BASES: &[(&str, PeakBasis)] =
    &[("nominal", PeakBasis::Nominal), ("achievable", PeakBasis::Achievable)];

/// Warning about unknown keys in a file.
pub(crate) fn unknown_keys(architecture: &Architecture, file: Option<&Path>) -> Option<String> {
    let keys = &architecture.unknown_keys;
    let file = file.filter(|_| !keys.is_empty())?;
    let noun = if keys.len() == 1 { "key" } else { "keys" };
    Some(format!(
        "{}: unknown {noun} {}; known keys: {}",
        file.display(),
        keys.join(", "),
        Architecture::KEYS.join(", ")
    ))
}

impl DeviceArguments {
    /// The peaks that the user chose, if any.
    pub(crate) fn peak_basis(&self) -> Option<PeakBasis> {
        self.peak
    }

    /// Warning about the architecture, if any.
    pub(crate) fn warning(&self, architecture: Option<&Architecture>) -> Option<String> {
        unknown_keys(architecture?, self.gpu_arch_json_path.as_deref())
    }

    pub(crate) fn architecture(&self) -> Result<Option<Architecture>, Failure> {
        let (file, name) = (self.gpu_arch_json_path.as_deref(), self.gpu_arch_platform.as_deref());
        Ok(chosen_architecture(file, name)?)
    }

    /// The usual names of communication kernels, and those that were given.
    pub(crate) fn communication(&self, parity: Option<Reference>) -> CommunicationPatterns {
        let usual = match parity {
            Some(Reference::TraceLens) => CommunicationPatterns::tracelens(),
            Some(Reference::Hta) | None => CommunicationPatterns::default(),
        };
        self.communication_pattern.iter().fold(usual, |patterns, pattern| patterns.with_pattern(pattern))
    }
}
