//! Flags of `tracelens replay`.

use std::path::PathBuf;

use answers::ReplayChoice;
use clap::Args;

use super::answer_output::AnswerOutput;
use super::reading::ReadingArguments;

pub(crate) const EXAMPLES: &str = "\
Examples:
  tracelens replay trace.json.gz                         which of the 10 longest operators can run again
  tracelens replay trace.json.gz --top 20 -o replay      the same of 20, written to replay/
  python replay/replay.py                                runs them where PyTorch is; --help explains its options
  tracelens replay trace.json.gz --op aten::mm -o mm     all shapes of one operator
  tracelens replay report.xlsx --top 20 -o replay        from a report of the trace

The files hold names of operators and kernels, shapes, types and numbers, and nothing else of the recording.";

#[derive(Args)]
pub(crate) struct ReplayArguments {
    /// The trace (plain, gzip, zstd or zip; - reads standard input), or a report of it: a workbook, a directory of CSV files,
    /// JSON
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// The N operators with most device time, by name and arguments; without device work, those that took the host longest
    #[arg(long, value_name = "N", default_value_t = 10, conflicts_with_all = ["names", "uids"])]
    pub(crate) top: usize,

    /// All operators with this name, such as aten::mm (may be given several times)
    #[arg(long = "op", value_name = "NAME", conflicts_with = "uids")]
    pub(crate) names: Vec<String>,

    /// The operator with this index in the trace's event list (ex_UID of ops_all), or that launched the kernel with it (may
    /// be given several times)
    #[arg(long = "uid", value_name = "N")]
    pub(crate) uids: Vec<u32>,

    /// Write replay.py and replay.json into this directory, which is made if need be
    #[arg(long = "output-dir", short = 'o', value_name = "DIR")]
    pub(crate) output_dir: Option<PathBuf>,

    /// Leave out operators whose tensors need more bytes
    #[arg(long = "max-bytes", value_name = "N")]
    pub(crate) max_bytes: Option<u64>,

    #[command(flatten)]
    pub(crate) answer: AnswerOutput,

    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
}

impl ReplayArguments {
    /// Which operators were asked for.
    pub(crate) fn choice(&self) -> ReplayChoice {
        match (self.names.is_empty(), self.uids.is_empty()) {
            (false, _) => ReplayChoice::Names(self.names.clone()),
            (true, false) => ReplayChoice::Uids(self.uids.clone()),
            (true, true) => ReplayChoice::Top(self.top),
        }
    }
}
