//! Flags about the phases of inference.

use clap::Args;
use clap::builder::PossibleValuesParser;
use inference_phase::tracelens::Method;

#[derive(Args)]
#[command(next_help_heading = "Inference phases")]
pub(crate) struct PhaseArguments {
    /// Separate prefill and decode: adds phase_summary, step_summary and ops_summary_<phase>; with
    /// --enable_kernel_summary, also kernel_summary_<phase>
    #[arg(long = "inference_phase_analysis")]
    pub(crate) inference_phase_analysis: bool,

    /// Count work as prefill if it has more new tokens per request than this, or more matmul rows if requests are
    /// unknown [default: 10]
    #[arg(long = "decode_threshold", value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    pub(crate) decode_threshold: Option<i64>,

    /// Maximum concurrent requests of the engine (vLLM max_num_seqs, SGLang max_running_requests): with the method
    /// hybrid, an unannotated step counts as prefill if it has more tokens than this number of requests can decode
    #[arg(long = "max_num_seqs", value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    pub(crate) max_num_seqs: Option<i64>,

    /// How to detect phases: hybrid examines whole engine steps (annotations, stacks, tokens, attention, graphs), the
    /// other methods examine individual operators; union needs --phase_legacy [default: hybrid]
    #[arg(
        long = "phase_detection_method",
        value_name = "METHOD",
        value_parser = PossibleValuesParser::new(Method::all().into_iter().map(Method::as_str))
    )]
    pub(crate) phase_detection_method: Option<String>,

    /// Label operators exactly as TraceLens does with the same --phase_detection_method, to compare reports
    #[arg(long = "phase_legacy")]
    pub(crate) phase_legacy: bool,
}
