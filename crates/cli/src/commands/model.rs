//! `tracelens model`: figures of operations, by hand or of recorded calls.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use answers::model::{ModelFigures, RecordedCalls, chosen_architecture};
use answers::numbers::{decimal, plain};
use perf_models::{Architecture, Bound, Figure};
use report_writers::terminal::Style;
use report_writers::write_json_line;
use serde_json::Value as Json;

use crate::arguments;
use crate::arguments::devices::unknown_keys;
use crate::arguments::model::{ModelArguments, ModelCommand, common_name};
use crate::console;
use crate::context::Context;
use crate::error::Failure;
use crate::wrapping::wrap;

pub(crate) fn run(arguments: &ModelArguments, context: &Context<'_>) -> Result<(), Failure> {
    if let Some(path) = &arguments.jsonl {
        return answer_lines(path);
    }
    match &arguments.model {
        Some(model) => answer(model, context),
        None => Ok(console::print(list(context.style().width.min(110)))?),
    }
}

fn answer(command: &ModelCommand, context: &Context<'_>) -> Result<(), Failure> {
    let (architecture, warning) = architecture(command)?;
    if let Some(warning) = warning {
        console::warning(warning);
    }
    let operation = Operation::new(command, architecture.as_ref())?;
    if command.answer_arguments().document.json {
        return context.print_result(context.about(&[]), &operation.to_json());
    }
    let title = format!("{}, {}", operation.name, operation.dtype);
    Ok(console::print(text(&title, &operation.figures, context.style()))?)
}

/// The architecture that figures are asked to be held against, and what is odd about its file.
pub(crate) fn architecture(
    command: &ModelCommand,
) -> Result<(Option<Architecture>, Option<String>), Failure> {
    let asked = command.answer_arguments();
    let file = asked.gpu_arch_json_path.as_deref();
    let architecture = chosen_architecture(file, asked.arch.as_deref())?
        .map(|architecture| architecture.with_basis(asked.peak.unwrap_or_default()));
    let warning = architecture.as_ref().and_then(|architecture| unknown_keys(architecture, file));
    Ok((architecture, warning))
}

/// An operation with its figures.
pub(crate) struct Operation<'a> {
    name: String,
    dtype: &'static str,
    figures: ModelFigures<'a>,
}

impl<'a> Operation<'a> {
    pub(crate) fn new(
        command: &ModelCommand,
        architecture: Option<&'a Architecture>,
    ) -> Result<Self, Failure> {
        let (name, sizes, dtype, asked) = command.parts();
        let (name, figures) = match asked.backward {
            false => (name.to_owned(), ModelFigures::forward(sizes.model(dtype)?.as_ref(), architecture)),
            true => {
                let model = sizes.backward_model(dtype)?;
                (format!("{name} backward"), ModelFigures::backward(model.as_ref(), architecture))
            }
        };
        Ok(Operation { name, dtype: common_name(dtype), figures })
    }

    /// What `--json` says of it.
    pub(crate) fn to_json(&self) -> Json {
        let mut answer = self.figures.to_json();
        answer["model"] = self.name.as_str().into();
        answer["dtype"] = self.dtype.into();
        answer
    }
}

fn text(title: &str, figures: &ModelFigures<'_>, style: Style) -> String {
    let parameters = figures.parameters.iter();
    let head = parameters.fold(title.to_owned(), |head, (name, value)| format!("{head}, {name} {value}"));
    let mut text = String::new();
    wrap(&head, "", "  ", style.width.min(110), &mut text);
    text.push('\n');
    let mut rows: Vec<(&str, String, String)> = Vec::new();
    let mut figure = |label, figure: &Figure, unit: fn(f64) -> String| match figure {
        Ok(value) => rows.push((label, plain(*value), unit(*value))),
        Err(undefined) => rows.push((label, "none".into(), undefined.to_string())),
    };
    figure("FLOPs", &figures.flops, |flops| {
        scaled(flops, 1000.0, &["", "k", "M", "G", "T", "P", "E"], "FLOP")
    });
    figure("bytes", &figures.bytes, |bytes| scaled(bytes, 1024.0, &["", "Ki", "Mi", "Gi", "Ti", "Pi"], "B"));
    if let Some(intensity) = figures.intensity() {
        rows.push(("arithmetic intensity", decimal(intensity, 3), "FLOP/byte".into()));
    }
    rows.push(("compute spec", figures.spec.map_or("none".into(), |spec| spec.to_string()), String::new()));
    if let Some(least) = &figures.least_time {
        let bandwidth = plain(least.architecture.memory_bandwidth_gb_per_s);
        let peaks = least.architecture.peaks_in_words();
        rows.push(("architecture", least.architecture.name.clone(), peaks.to_owned()));
        rows.push(("memory bandwidth", bandwidth, "GB/s".into()));
        match &least.roofline {
            Ok(roofline) => {
                if let Some(peak) = roofline.peak {
                    let tflops = least.peak_tflops().unwrap_or_default();
                    rows.push(("peak", plain(tflops), format!("TFLOP/s ({peak})")));
                    let ridge = least.ridge_point().unwrap_or_default();
                    rows.push(("ridge point", decimal(ridge, 3), "FLOP/byte".into()));
                }
                let bound = match roofline.bound() {
                    Bound::Compute => "compute",
                    Bound::Memory => "memory",
                    Bound::Link => "link",
                    Bound::AtLeastMemory => "bandwidth only",
                };
                let why = least.without_peak.as_ref().map(ToString::to_string);
                rows.push(("bound", bound.into(), why.unwrap_or_default()));
                let unit = if style.unicode { "µs" } else { "us" };
                rows.push(("roofline time", decimal(roofline.time_us(), 3), unit.into()));
            }
            Err(undefined) => rows.push(("roofline time", "none".into(), undefined.to_string())),
        }
    }
    let (label_width, value_width) = rows.iter().fold((0, 0), |(label, value), row| {
        (label.max(row.0.chars().count()), value.max(row.1.chars().count()))
    });
    for (label, value, note) in rows {
        let line = format!("{label:<label_width$}  {value:>value_width$}  {note}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    if let Some(assumption) = &figures.assumption {
        let _ = writeln!(text, "\n{assumption}");
    }
    text
}

/// A number in the largest unit of which it is at least one; nothing where that is the unit itself.
fn scaled(value: f64, step: f64, prefixes: &[&str], unit: &str) -> String {
    let mut scaled = value;
    let mut prefixes = prefixes.iter().peekable();
    let mut prefix = prefixes.next().copied().unwrap_or_default();
    while scaled >= step
        && let Some(larger) = prefixes.next()
    {
        scaled /= step;
        prefix = larger;
    }
    if prefix.is_empty() { String::new() } else { format!("{} {prefix}{unit}", decimal(scaled, 3)) }
}

/// Bytes of a line that holds a call.
const LONGEST_LINE: u64 = 64 << 20;

/// Answers every line. What is no call is answered with an error, and makes the run fail at its end.
fn answer_lines(path: &Path) -> Result<(), Failure> {
    let is_standard_input = path == Path::new("-");
    let source = if is_standard_input { PathBuf::from("standard input") } else { path.to_path_buf() };
    let unreadable = |error: io::Error| Failure::Input { path: source.clone(), detail: error.to_string() };
    let mut input: Box<dyn BufRead> = match is_standard_input {
        true => Box::new(io::stdin().lock()),
        false => Box::new(BufReader::new(File::open(path).map_err(unreadable)?)),
    };
    let mut calls = RecordedCalls::default();
    let (mut number, mut malformed, mut first_malformed) = (0, 0, None);
    let mut read_error = None;
    console::write_with(|out| {
        let mut line = Vec::new();
        loop {
            line.clear();
            number += 1;
            match input.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut line) {
                Ok(0) => return Ok(()),
                Ok(read) if read as u64 > LONGEST_LINE => {
                    let limit = LONGEST_LINE >> 20;
                    read_error = Some(io::Error::other(format!("line {number} has more than {limit} MiB")));
                    return Ok(());
                }
                Ok(_) if line.trim_ascii().is_empty() => continue,
                Ok(_) => {}
                Err(error) => {
                    read_error = Some(error);
                    return Ok(());
                }
            }
            match calls.answer(&line) {
                Ok(figures) => write_json_line(out, &figures)?,
                Err(reason) => {
                    malformed += 1;
                    first_malformed.get_or_insert(number);
                    write_json_line(out, &serde_json::json!({ "line": number, "error": reason }))?;
                }
            }
            // Who asks line by line may wait for each answer.
            if is_standard_input {
                out.flush()?;
            }
        }
    })?;
    if let Some(error) = read_error {
        return Err(unreadable(error));
    }
    match first_malformed {
        None => Ok(()),
        Some(first) => Err(Failure::MalformedLines { path: source, count: malformed, first }),
    }
}

/// The models as the command line knows them: they cannot be out of step with it.
fn list(width: usize) -> String {
    let program = arguments::command();
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
    text.push_str(
        "All accept --arch NAME, --gpu_arch_json_path FILE, --peak BASIS, --backward and --json.\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_shown_in_a_unit_of_their_size() {
        let flops = |value| scaled(value, 1000.0, &["", "k", "M"], "FLOP");
        for (value, text) in [
            (0.0, ""),
            (999.0, ""),
            (1000.0, "1.000 kFLOP"),
            (2_500_000.0, "2.500 MFLOP"),
            (7.5e9, "7,500.000 MFLOP"),
        ] {
            assert_eq!(flops(value), text);
        }
    }
}
