//! Flags of `tracelens tree`.

use std::path::PathBuf;

use clap::Args;
use flags::microseconds;

use super::answer_output::{AnswerOutput, JsonPage};
use super::reading::ReadingArguments;

#[derive(Args)]
#[command(mut_arg("json", |arg| arg.help("Print the answer as JSON instead of text: one row per event, with its depth")))]
pub(crate) struct TreeArguments {
    /// The trace: plain, gzip, zstd or zip; - reads standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Start at the event with this index in the file's event list (column example UID of ops_all)
    #[arg(long, value_name = "N", group = "start")]
    pub(crate) uid: Option<u32>,

    /// Start at every event with this name
    #[arg(long, value_name = "TEXT", group = "start")]
    pub(crate) name: Option<String>,

    /// Start at the event with this External id
    #[arg(long = "external-id", value_name = "N", group = "start", requires_all = ["pid", "tid"])]
    pub(crate) external_id: Option<i64>,

    /// Process in which to look for the External id
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) pid: Option<i64>,

    /// Thread in which to look for the External id
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) tid: Option<i64>,

    /// Print callers instead of callees
    #[arg(long, requires = "start")]
    pub(crate) parents: bool,

    /// Print this many levels below the start
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<usize>,

    /// Hide nodes with less device time than this: the sum over all device events launched by the node and everything
    /// below it; percentages are of the trace's total
    #[arg(long = "min-time", value_name = "US", value_parser = microseconds(), conflicts_with = "parents")]
    pub(crate) min_time: Option<f64>,

    /// Also print events without device work
    #[arg(long)]
    pub(crate) all: bool,

    /// Show Python frames; needs a trace with stacks
    #[arg(long = "python-frames")]
    pub(crate) python_frames: bool,

    /// Continue into backward operators (with --parents: into the forward operator)
    #[arg(long, conflicts_with = "json")]
    pub(crate) backward: bool,

    /// Show this operator argument, such as "Input Dims". Repeatable
    #[arg(long = "field", value_name = "ARGUMENT", conflicts_with = "json")]
    pub(crate) fields: Vec<String>,

    #[command(flatten)]
    pub(crate) answer: AnswerOutput,

    #[command(flatten)]
    pub(crate) page: JsonPage,

    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
}
