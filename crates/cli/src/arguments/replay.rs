//! Flags of `tracelens replay`.

use std::path::PathBuf;

use answers::ReplayChoice;
use clap::Args;

use super::answer_output::AnswerOutput;
use super::reading::ReadingArguments;

pub(crate) const EXAMPLES: &str = "\
Examples:
  tracelens replay trace.json.gz                         which of the 10 longest operators can be replayed
  tracelens replay trace.json.gz --top 20 -o replay      the same for 20, written to replay/
  python replay/replay.py                                runs them; needs PyTorch, --help lists its options
  tracelens replay trace.json.gz --op aten::mm -o mm     all shapes of one operator
  tracelens replay report.xlsx --top 20 -o replay        from a report of the trace

From the recording, the files contain only operator and kernel names, shapes, types and numbers.";

#[derive(Args)]
pub(crate) struct ReplayArguments {
    /// The trace (plain, gzip, zstd or zip; - reads standard input), or a report on it: workbook, CSV directory or JSON
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Choose the N operators with the most device time, grouped by name and arguments; without device work, those with
    /// the most host time
    #[arg(long, value_name = "N", default_value_t = 10, conflicts_with_all = ["names", "uids"])]
    pub(crate) top: usize,

    /// Choose all operators with this name, such as aten::mm. Repeatable
    #[arg(long = "op", value_name = "NAME", conflicts_with = "uids")]
    pub(crate) names: Vec<String>,

    /// Choose the operator with this index in the file's event list (column example UID of ops_all); the index of a
    /// kernel chooses the operator that launched it. Repeatable
    #[arg(long = "uid", value_name = "N")]
    pub(crate) uids: Vec<u32>,

    /// Write replay.py and replay.json to this directory, created if missing
    #[arg(long = "output-dir", short = 'o', value_name = "DIR")]
    pub(crate) output_dir: Option<PathBuf>,

    /// Skip operators whose tensors need more bytes than this
    #[arg(long = "max-bytes", value_name = "N")]
    pub(crate) max_bytes: Option<u64>,

    /// Overwrite existing files even if tracelens did not write them
    #[arg(long)]
    pub(crate) force: bool,

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
