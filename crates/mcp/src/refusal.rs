//! Why a call has no answer.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use answers::Error as AnswerError;
use answers::diagnostic::{self, help};
use miette::Diagnostic;
use thiserror::Error as ThisError;
use trace_ingest::IngestError;

/// Why a call has no answer: something that its caller can mend.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[error("{text}")]
pub(crate) struct Refusal {
    pub(crate) code: &'static str,
    pub(crate) text: String,
    pub(crate) help: Option<String>,
    /// The file that is at fault.
    pub(crate) input: Option<PathBuf>,
}

impl Diagnostic for Refusal {
    fn code(&self) -> Option<Box<dyn Display + '_>> {
        Some(Box::new(self.code))
    }

    fn help(&self) -> Option<Box<dyn Display + '_>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn Display>)
    }
}

impl Refusal {
    pub(crate) fn new(code: &'static str, text: impl Into<String>) -> Self {
        Refusal { code, text: text.into(), help: None, input: None }
    }

    /// What ends a call that takes longer than it may.
    pub(crate) fn timeout() -> Self {
        Refusal::new("timeout", "the call took longer than the server lets it")
            .with_help("ask for a smaller part, or start the server with a larger --timeout")
    }

    /// What the caller can do.
    pub(crate) fn with_help(self, help: impl Into<String>) -> Self {
        Refusal { help: Some(help.into()), ..self }
    }

    /// What a library refuses, by a code of the server.
    pub(crate) fn of(code: &'static str, said: &dyn Diagnostic) -> Self {
        Refusal { help: help(said), ..Refusal::new(code, said.to_string()) }
    }

    /// Why a recording could not be read. The text names neither file nor folder.
    pub(crate) fn from_answer(error: &AnswerError) -> Self {
        let code = match error {
            AnswerError::Ingest(IngestError::Stopped { .. }) => "timeout",
            AnswerError::Ingest(_) => "not-a-trace",
            _ => "bad-value",
        };
        let (text, input) = (error.to_string(), error.input());
        // Errors begin with the path of the file.
        let path = input.map(|path| format!("{}: ", path.display()));
        let text = path.and_then(|path| text.strip_prefix(&path)).unwrap_or(&text);
        let text = format!("{text} ({})", diagnostic::code(error));
        Refusal { input: input.map(Path::to_path_buf), text, ..Refusal::of(code, error) }
    }
}
