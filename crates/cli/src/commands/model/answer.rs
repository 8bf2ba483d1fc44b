//! What a model says of given sizes, as text or JSON.

use std::fmt::Write;

use clap::ValueEnum;
use perf_models::{Architecture, Bound, Figure, PerfModel, Roofline, Undefined, Value};
use serde_json::json;

use crate::architecture_choice::chosen;
use crate::arguments::model::{AnswerArguments, DataType};
use crate::console;
use crate::error::Failure;
use crate::wrapping::wrap;
use answers::numbers::{decimal, json_number, plain};

/// The figures of one direction.
struct Figures {
    flops: Figure,
    bytes: Figure,
}

impl Figures {
    fn intensity(&self) -> Option<f64> {
        let (flops, bytes) = (*self.flops.as_ref().ok()?, *self.bytes.as_ref().ok()?);
        (bytes > 0.0).then(|| flops / bytes)
    }

    fn roofline(&self, model: &dyn PerfModel, architecture: &Architecture) -> Result<Roofline, Undefined> {
        Roofline::new(self.flops.clone()?, self.bytes.clone()?, model.compute_spec(), architecture)
    }
}

pub(super) fn print(
    name: &str,
    model: &dyn PerfModel,
    data_type: DataType,
    asked: &AnswerArguments,
) -> Result<(), Failure> {
    let architecture = chosen(asked.gpu_arch_json_path.as_deref(), asked.arch.as_deref())?;
    let figures = match asked.backward {
        false => Figures { flops: model.flops(), bytes: model.bytes() },
        true => Figures { flops: model.backward_flops(), bytes: model.backward_bytes() },
    };
    let name = if asked.backward { format!("{name} backward") } else { name.to_owned() };
    let data_type =
        data_type.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    let architecture = architecture.as_ref();
    let text = match asked.json {
        true => as_json(&name, model, &data_type, &figures, architecture),
        false => as_text(&name, model, &data_type, &figures, architecture),
    };
    Ok(console::print(text)?)
}

fn as_text(
    name: &str,
    model: &dyn PerfModel,
    data_type: &str,
    figures: &Figures,
    architecture: Option<&Architecture>,
) -> String {
    let unicode = console::style().unicode;
    let mut head = format!("{name}, {data_type}");
    for (name, value) in shown_parameters(model) {
        let _ = write!(head, ", {name} {value}");
    }
    let mut text = String::new();
    wrap(&head, "", "  ", console::style().width.min(110), &mut text);
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
    let spec = model.compute_spec();
    rows.push(("compute spec", spec.map_or("none".into(), |spec| spec.to_string()), String::new()));
    if let Some(architecture) = architecture {
        let bandwidth = plain(architecture.memory_bandwidth_gb_per_s);
        rows.push(("architecture", architecture.name.clone(), String::new()));
        rows.push(("memory bandwidth", bandwidth, "GB/s".into()));
        match figures.roofline(model, architecture) {
            Ok(roofline) => {
                if let Some(peak) = roofline.peak {
                    let tflops = architecture.peak_tflops(peak).unwrap_or_default();
                    rows.push(("peak", plain(tflops), format!("TFLOP/s ({peak})")));
                    let ridge = architecture.ridge_point(peak).unwrap_or_default();
                    rows.push(("ridge point", decimal(ridge, 3), "FLOP/byte".into()));
                }
                rows.push(("bound", bound(roofline.bound()).into(), String::new()));
                let unit = if unicode { "µs" } else { "us" };
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
    if let Some(assumption) = model.assumption() {
        let _ = writeln!(text, "\n{assumption}");
    }
    text
}

fn as_json(
    name: &str,
    model: &dyn PerfModel,
    data_type: &str,
    figures: &Figures,
    architecture: Option<&Architecture>,
) -> String {
    let number = |figure: &Figure| figure.as_ref().map_or(json!(null), |&value| json_number(value));
    let params: serde_json::Map<String, serde_json::Value> =
        shown_parameters(model).map(|(name, value)| (name.to_owned(), value.to_string().into())).collect();
    let mut answer = json!({
        "model": name,
        "dtype": data_type,
        "params": params,
        "flops": number(&figures.flops),
        "bytes": number(&figures.bytes),
        "intensity": figures.intensity().map(json_number),
        "spec": model.compute_spec().map(|spec| spec.to_string()),
    });
    let mut reasons: Vec<String> = [&figures.flops, &figures.bytes]
        .into_iter()
        .filter_map(|figure| figure.as_ref().err())
        .map(ToString::to_string)
        .collect();
    if let Some(architecture) = architecture {
        let roofline = figures.roofline(model, architecture);
        let peak = roofline.as_ref().ok().and_then(|roofline| roofline.peak);
        answer["arch"] = json!({
            "name": architecture.name,
            "memory_bandwidth_gb_per_s": json_number(architecture.memory_bandwidth_gb_per_s),
            "peak_spec": peak.map(|spec| spec.to_string()),
            "peak_tflops": peak.and_then(|spec| architecture.peak_tflops(spec)).map(json_number),
            "ridge_point": peak.and_then(|spec| architecture.ridge_point(spec)).map(json_number),
            "bound": roofline.as_ref().ok().map(|roofline| roofline.bound().to_string()),
            "roofline_time_us": roofline.as_ref().ok().map(|roofline| json_number(roofline.time_us())),
        });
        reasons.extend(roofline.err().map(|undefined| undefined.to_string()));
    }
    reasons.dedup();
    if !reasons.is_empty() {
        answer["reason"] = reasons.join("; ").into();
    }
    format!("{answer:#}\n")
}

/// Parameters that the caller can have set. Strides are for reports.
fn shown_parameters(model: &dyn PerfModel) -> impl Iterator<Item = (&'static str, Value)> {
    model.parameters().into_iter().filter(|(name, value)| *value != Value::None && !name.starts_with("dtype"))
}

fn bound(bound: Bound) -> &'static str {
    match bound {
        Bound::Compute => "compute",
        Bound::Memory => "memory",
    }
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
