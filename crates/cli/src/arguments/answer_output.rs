//! How answers are written as JSON: flags that all subcommands with `--json` share. They take effect in
//! `crate::context`.

use std::ffi::OsString;
use std::num::NonZeroUsize;

use answers::envelope::InputDetails;
use clap::{ArgGroup, ArgMatches, Args};

/// What asks for the answer as JSON: to be printed, or written to a file where a subcommand can.
pub(crate) const JSON_DOCUMENT: &str = "JsonDocument";

/// The group of these options.
pub(super) fn json_document() -> ArgGroup {
    ArgGroup::new(JSON_DOCUMENT).multiple(true)
}

/// Of answers from no file.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "JSON", group = json_document())]
pub(crate) struct DocumentOutput {
    /// Print the answer as JSON instead of text
    #[arg(long, group = JSON_DOCUMENT)]
    pub(crate) json: bool,

    /// Add a timestamp to the JSON; without it, the same input always gives the same bytes
    #[arg(long, requires = JSON_DOCUMENT)]
    pub(crate) stamp: bool,
}

/// Of answers that name files.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "JSON")]
pub(crate) struct FilesOutput {
    #[command(flatten)]
    pub(crate) document: DocumentOutput,

    /// Leave file hashes out of the JSON; saves reading the files a second time
    #[arg(long = "no-hash", requires = JSON_DOCUMENT)]
    pub(crate) no_hash: bool,

    /// Keep directories in the JSON's file names
    #[arg(long = "full-paths", requires = JSON_DOCUMENT)]
    pub(crate) full_paths: bool,
}

impl FilesOutput {
    /// What answers say of files.
    pub(crate) fn details(&self) -> InputDetails {
        InputDetails { hash: !self.no_hash, full_path: self.full_paths }
    }
}

/// Of answers from recordings, which may be incomplete.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "JSON")]
pub(crate) struct AnswerOutput {
    #[command(flatten)]
    pub(crate) files: FilesOutput,

    /// Exit with code 4 if the answer is incomplete: a file is truncated, or something needed was not recorded
    #[arg(long)]
    pub(crate) strict: bool,
}

/// The part of long lists that is printed.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "JSON")]
pub(crate) struct JsonPage {
    /// Rows of each list in the printed JSON; next says where the following ones start
    #[arg(long = "top", value_name = "N", default_value = "1000", requires = "json")]
    pub(crate) page_rows: NonZeroUsize,

    /// Rows of each list to skip in the printed JSON
    #[arg(long = "skip", value_name = "N", default_value = "0", requires = "json")]
    pub(crate) page_start: usize,
}

impl AnswerOutput {
    /// None of them.
    pub(crate) const NONE: Self = AnswerOutput {
        files: FilesOutput {
            document: DocumentOutput { json: false, stamp: false },
            no_hash: false,
            full_paths: false,
        },
        strict: false,
    };

    /// Whether the answer is printed as JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.files.document.json
    }

    /// The options for an answer without inputs, from arguments that may be invalid.
    pub(crate) fn written_in(arguments: &[OsString]) -> Self {
        let is_written = |option: &str| arguments.iter().any(|argument| argument == option);
        let document = DocumentOutput { json: is_written("--json"), stamp: is_written("--stamp") };
        AnswerOutput { files: FilesOutput { document, ..AnswerOutput::NONE.files }, ..AnswerOutput::NONE }
    }

    /// The options that a subcommand matched, if it has them.
    pub(super) fn given_in(matches: &ArgMatches) -> Self {
        let is_given = |id| matches.try_get_one(id).ok().flatten().copied().unwrap_or_default();
        let document = DocumentOutput { json: is_given("json"), stamp: is_given("stamp") };
        let [no_hash, full_paths] = ["no_hash", "full_paths"].map(is_given);
        AnswerOutput { files: FilesOutput { document, no_hash, full_paths }, strict: is_given("strict") }
    }
}
