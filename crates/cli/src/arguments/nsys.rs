//! Flags of `tracelens nsys` beside those of a report.

use clap::{ArgAction, Args};
use flags::one_of;
use iterations::{NamedRange, WindowOptions};
use nsys_perf::NsysOptions;
use trace_ingest::NsysKernelNames;

use super::pytorch::TraceArguments;

pub(crate) const EXAMPLES: &str = "\
Examples:
  tracelens nsys run.sqlite                                   summary here, workbook beside the database
  tracelens nsys run.sqlite --nsys_names --output_csvs_dir t  the tables of nsys stats
  tracelens nsys run.sqlite --os_calls --waits                with operating-system calls and causes of waits
  tracelens nsys run.sqlite --iterations 100..120             only these iterations
  tracelens nsys run.sqlite --iteration 'step #'              where the time in each range of this name went
  tracelens nsys run.sqlite --nvtx forward/3                  what the fourth range with this text launched

Record with `nsys profile --trace=cuda,nvtx -o run PROGRAM`, then write the database with
`nsys export --type sqlite --include-blobs true -o run.sqlite run.nsys-rep`.
`--window` selects device work by the time of its launch. For several databases of one job, use `tracelens ranks`.
Options accept _ or -. `tracelens info columns` explains the sheets.";

#[derive(Args)]
pub(crate) struct NsysArguments {
    #[command(flatten)]
    pub(crate) trace: TraceArguments,
    #[command(flatten)]
    pub(crate) recorder: NsysOnlyArguments,
}

#[derive(Args)]
#[command(next_help_heading = "Nsight Systems")]
pub(crate) struct NsysOnlyArguments {
    #[command(flatten)]
    pub(crate) sheets: NsysOptions,

    /// Kernel names in the sheets: with template arguments and parameters (demangled), function name only (short), or
    /// symbol (mangled)
    #[arg(long = "kernel_names", value_parser = one_of(KERNEL_NAMES), value_name = "NAMES", default_value = "demangled")]
    pub(crate) kernel_names: NsysKernelNames,

    /// Assume this type for all tensors, as none is recorded; gives operators FLOPs, bytes and rooflines
    #[arg(long = "assume_dtype", value_parser = one_of(ELEMENT_TYPES), value_name = "TYPE")]
    pub(crate) assume_dtype: Option<(&'static str, &'static str)>,

    /// Range texts in the sheets nvtx_*: without PyTorch's call numbers (normalised), or as recorded, one row per call
    /// (raw)
    #[arg(
        long = "nvtx_text",
        alias = "nvtx-text",
        action = ArgAction::Set,
        value_parser = one_of(NVTX_TEXTS),
        value_name = "TEXTS",
        default_value = "normalised"
    )]
    pub(crate) nvtx_text: bool,

    /// Report only what a process launched inside its first range with this text, or the one with this index (from 0);
    /// append @DOMAIN if the range is not in the default domain. Example: forward/3
    #[arg(
        long = "nvtx",
        value_name = "TEXT[@DOMAIN][/INDEX]",
        value_parser = named_range,
        conflicts_with_all = WindowOptions::NAMES
    )]
    pub(crate) nvtx: Option<NamedRange>,

    /// Write one report per process that used a GPU; file names get .pid and the process number
    #[arg(long = "per_process", alias = "per-process", conflicts_with = "json")]
    pub(crate) per_process: bool,

    /// Read operating-system calls and add os_runtime_summary; the calls may outnumber all other events
    #[arg(long = "os_calls")]
    pub(crate) os_calls: bool,
}

/// With PyTorch's spelling.
const ELEMENT_TYPES: &[(&str, (&str, &str))] = &[
    ("bf16", ("bf16", "c10::BFloat16")),
    ("fp16", ("fp16", "c10::Half")),
    ("fp32", ("fp32", "float")),
    ("fp64", ("fp64", "double")),
    ("fp8", ("fp8", "c10::Float8_e4m3fn")),
];

/// Whether texts are kept as recorded.
const NVTX_TEXTS: &[(&str, bool)] = &[("normalised", false), ("raw", true)];

const KERNEL_NAMES: &[(&str, NsysKernelNames)] = &[
    ("demangled", NsysKernelNames::Demangled),
    ("short", NsysKernelNames::Short),
    ("mangled", NsysKernelNames::Mangled),
];

fn named_range(text: &str) -> Result<NamedRange, String> {
    let numbered = text.rsplit_once('/').and_then(|(name, index)| Some((name, index.parse().ok()?)));
    let (name, index) = numbered.unwrap_or((text, 0));
    let (text, domain) = match name.rsplit_once('@') {
        Some((text, domain)) => (text, Some(domain.to_owned()).filter(|domain| !domain.is_empty())),
        None => (name, None),
    };
    match text.is_empty() {
        true => Err("expected the text of a range, such as forward or forward@DOMAIN/2".to_owned()),
        false => Ok(NamedRange { text: text.to_owned(), domain, index }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_named_as_nsys_stats_names_them() {
        for (text, expected) in [
            ("forward", ("forward", None, 0)),
            ("forward/3", ("forward", None, 3)),
            ("ncclAllReduce@NCCL", ("ncclAllReduce", Some("NCCL"), 0)),
            ("ncclAllReduce@NCCL/12", ("ncclAllReduce", Some("NCCL"), 12)),
            ("a/b", ("a/b", None, 0)),
            // An empty domain is the default one, so that texts may have the letter.
            ("a@b@/1", ("a@b", None, 1)),
        ] {
            let (name, domain, index) = expected;
            let expected = NamedRange { text: name.to_owned(), domain: domain.map(str::to_owned), index };
            assert_eq!(named_range(text), Ok(expected), "{text}");
        }
        for text in ["", "@NCCL", "/2"] {
            assert!(named_range(text).is_err(), "{text}");
        }
    }
}
