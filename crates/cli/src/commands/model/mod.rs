//! `tracelens model`: figures of operations, by hand or of recorded calls.

mod answer;
mod by_hand;
mod recorded;

use std::fmt::Write;

use crate::arguments;
use crate::arguments::model::{ModelArguments, ModelCommand};
use crate::console;
use crate::error::Failure;
use crate::wrapping::wrap;
use by_hand::Sizes;

pub(crate) fn run(arguments: &ModelArguments) -> Result<(), Failure> {
    if let Some(path) = &arguments.jsonl {
        return recorded::run(path);
    }
    match &arguments.model {
        Some(model) => ask(model),
        None => Ok(console::print(list())?),
    }
}

fn ask(command: &ModelCommand) -> Result<(), Failure> {
    let (name, sizes, dtype, asked): (&str, &dyn Sizes, _, _) = match command {
        ModelCommand::Gemm(question) => ("gemm", &question.sizes, question.dtype, &question.answer),
        ModelCommand::GroupedGemm(question) => {
            ("grouped-gemm", &question.sizes, question.dtype, &question.answer)
        }
        ModelCommand::Sdpa(question) => ("sdpa", &question.sizes, question.dtype, &question.answer),
        ModelCommand::Conv(question) => ("conv", &question.sizes, question.dtype, &question.answer),
        ModelCommand::Unary(question) => ("unary", &question.sizes, question.dtype, &question.answer),
        ModelCommand::Binary(question) => ("binary", &question.sizes, question.dtype, &question.answer),
        ModelCommand::Norm(question) => ("norm", &question.sizes, question.dtype, &question.answer),
        ModelCommand::Reduce(question) => ("reduce", &question.sizes, question.dtype, &question.answer),
        ModelCommand::Rope(question) => ("rope", &question.sizes, question.dtype, &question.answer),
        ModelCommand::CrossEntropy(question) => {
            ("cross-entropy", &question.sizes, question.dtype, &question.answer)
        }
        ModelCommand::CausalConv1d(question) => {
            ("causal-conv1d", &question.sizes, question.dtype, &question.answer)
        }
    };
    let model = match asked.backward {
        true => sizes.backward_model(dtype)?,
        false => sizes.model(dtype)?,
    };
    answer::print(name, model.as_ref(), dtype, asked)
}

/// The models as the command line knows them: they cannot be out of step with it.
fn list() -> String {
    let program = arguments::command();
    let width = console::style().width.min(110);
    let mut text = String::new();
    let models = program.find_subcommand("model").into_iter().flat_map(clap::Command::get_subcommands);
    for model in models {
        let about = model.get_about().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(text, "{:<16}{about}", model.get_name());
        for argument in model.get_arguments() {
            if argument.get_help_heading().is_some() {
                continue;
            }
            let value = match argument.get_action().takes_values() {
                true => argument.get_value_names().and_then(<[_]>::first).map(|name| format!(" <{name}>")),
                false => None,
            };
            let option =
                format!("--{}{}", argument.get_long().unwrap_or_default(), value.unwrap_or_default());
            let is_required = if argument.is_required_set() { "; required" } else { "" };
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            let default: Vec<_> =
                argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
            let default = match argument.get_action().takes_values() && !default.is_empty() {
                true => format!(" [default: {}]", default.join(",")),
                false => String::new(),
            };
            let indent = " ".repeat(28);
            wrap(
                &format!("{help}{is_required}{default}"),
                &format!("    {option:<24}"),
                &indent,
                width,
                &mut text,
            );
        }
        text.push('\n');
    }
    text.push_str("All take --arch NAME, --gpu_arch_json_path FILE, --backward and --json.\n");
    text
}
