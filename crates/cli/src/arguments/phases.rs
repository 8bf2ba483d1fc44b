//! Flags about the phases of inference.

use clap::Args;
use clap::builder::PossibleValuesParser;
use inference_phase::tracelens::Method;

#[derive(Args)]
#[command(next_help_heading = "Phases of inference")]
pub(crate) struct PhaseArguments {
    /// Tell prefill from decode: adds phase_summary, step_summary and a sheet ops_summary_<phase> for each phase,
    /// with --enable_kernel_summary kernel_summary_<phase> too
    #[arg(long = "inference_phase_analysis")]
    pub(crate) inference_phase_analysis: bool,

    /// The most new tokens per request (where requests are not known: rows of a matrix product) that decode may
    /// have [default: 10]
    #[arg(long = "decode_threshold", value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    pub(crate) decode_threshold: Option<i64>,

    /// The most requests that the engine ran at a time (max_num_seqs of vLLM, max_running_requests of SGLang): steps
    /// of more tokens than these requests can have in decode process prompts. A hint to hybrid for steps without
    /// annotations
    #[arg(long = "max_num_seqs", value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    pub(crate) max_num_seqs: Option<i64>,

    /// How phases are told: hybrid looks at whole steps of the engine (annotations, stacks, tokens, attention,
    /// graphs); the others look at operators one by one; union needs --phase_legacy [default: hybrid]
    #[arg(
        long = "phase_detection_method",
        value_name = "METHOD",
        value_parser = PossibleValuesParser::new(Method::all().into_iter().map(Method::as_str))
    )]
    pub(crate) phase_detection_method: Option<String>,

    /// Label operators exactly as the reference tool's method of this name does, to compare with its reports
    #[arg(long = "phase_legacy")]
    pub(crate) phase_legacy: bool,
}
