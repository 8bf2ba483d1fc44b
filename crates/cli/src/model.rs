//! What `tracelens model` answers, for programs.

use std::ffi::OsString;

use answers::diagnostic::{code, help};
use serde_json::Value as Json;

use crate::arguments::model::ModelArguments;
use crate::arguments::{self, Command, Stop};
use crate::commands::model::{Operation, architecture};
use crate::error::Failure;

/// What an operation costs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModelAnswer {
    /// The `result` of `tracelens model --json`: FLOPs, bytes and FLOPs for each byte, and with an architecture the least
    /// time in µs.
    pub result: Json,
    /// What is odd about the file of the architecture.
    pub warning: Option<String>,
}

/// Why there is no answer.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct NoAnswer {
    /// What it is, as `error.code` of an answer in JSON.
    pub code: String,
    /// What is wrong.
    pub message: String,
    /// What to do, where that is known.
    pub help: Option<String>,
}

/// What an operation costs, by the arguments of `tracelens model`: a kind of operation and its options.
///
/// # Errors
///
/// When the arguments are wrong or sizes do not fit each other, and on an architecture that is unknown or cannot be read.
pub fn model(arguments: impl IntoIterator<Item = OsString>) -> Result<ModelAnswer, NoAnswer> {
    let command = ["tracelens", "model"].map(OsString::from);
    let (command, _) = arguments::parse(command.into_iter().chain(arguments).collect())?;
    let Command::Model(ModelArguments { model: Some(asked), .. }) = command else {
        return Err(Failure::Arguments(
            "pass the kind of operation first (`tracelens model --list` lists them)".into(),
        )
        .into());
    };
    let (architecture, warning) = architecture(&asked)?;
    let result = Operation::new(&asked, architecture.as_ref())?.to_json();
    Ok(ModelAnswer { result, warning })
}

impl From<Stop> for NoAnswer {
    fn from(stop: Stop) -> Self {
        let text = stop.text();
        let message = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
        NoAnswer { code: "arguments".into(), message: message.into(), help: None }
    }
}

impl From<Failure> for NoAnswer {
    fn from(failure: Failure) -> Self {
        NoAnswer { code: code(&failure), message: failure.to_string(), help: help(&failure) }
    }
}
