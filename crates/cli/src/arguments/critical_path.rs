//! Flags of `tracelens critical-path`.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use answers::OverlayEvents;
use clap::Args;
use critical_path::{PathMode, Scaling};
use flags::{one_of, one_of_explained};
use iterations::WindowOptions;

use super::Reference;
use super::answer_output::JsonPage;
use super::reading::ReadingArguments;
use super::report_output::{Recordings, ReportOutput};

pub(crate) const EXAMPLES: &str = "\
Examples:
  tracelens critical-path trace.json.gz                                  what the run waited for
  tracelens critical-path trace.json.gz --annotation 'ProfilerStep#1'    one step
  tracelens critical-path trace.json.gz --without aten::mm               step time if aten::mm were free
  tracelens critical-path trace.json.gz --scale '*flash*=0.5' --quiet --overlay path.json.gz    for https://ui.perfetto.dev

Options accept _ or -. `tracelens info columns critical_path` explains the sheets.";

#[derive(Args)]
pub(crate) struct CriticalPathArguments {
    #[command(flatten)]
    pub(crate) recordings: Recordings,

    #[command(flatten)]
    pub(crate) tables: ReportOutput,

    #[command(flatten)]
    pub(crate) page: JsonPage,

    /// Write the trace with the critical path as a separate track and as arrows: .json, .json.gz or .json.zst
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) overlay: Option<PathBuf>,

    /// Trace events to keep in the overlay
    #[arg(
        long = "overlay_events",
        value_name = "WHICH",
        default_value = "all",
        requires = "overlay",
        value_parser = one_of_explained(OVERLAY_EVENTS),
        help_heading = "Output"
    )]
    pub(crate) overlay_events: OverlayEvents,

    /// Arrows to draw in the overlay
    #[arg(
        long = "overlay_edges",
        value_name = "WHICH",
        default_value = "path",
        requires = "overlay",
        value_parser = one_of_explained(OVERLAY_EDGES),
        help_heading = "Output"
    )]
    pub(crate) overlay_edges: OverlayEdges,

    /// How to find the path
    #[arg(long, value_name = "HOW", default_value = "wall", value_parser = one_of_explained(MODES), help_heading = "Analysis")]
    pub(crate) mode: PathMode,

    /// Reproduce Holistic Trace Analysis 0.5.0, errors included: builds its graph (--mode dag) in integer µs and drops
    /// the last profiler step if there are several; --annotation matches any event whose name contains the text
    #[arg(long, value_name = "TOOL", value_parser = one_of(HTA), help_heading = "Analysis")]
    pub(crate) parity: Option<Reference>,

    /// Estimate the time if operators or kernels of this name were free; * matches any characters. Repeatable
    #[arg(long, value_name = "OP", help_heading = "Analysis")]
    pub(crate) without: Vec<String>,

    /// Estimate the time if operators or kernels of this name took FACTOR times as long. Repeatable. Example:
    /// aten::mm=0.5
    #[arg(long, value_name = "OP=FACTOR", value_parser = scaling, help_heading = "Analysis")]
    pub(crate) scale: Vec<Scaling>,

    /// Analyze only host work in ranges or operators whose names start with TEXT, and the device work it launches: TEXT
    /// is the first match, TEXT#N match N (from 0), TEXT#N..M matches N to M
    #[arg(
        long,
        value_name = "TEXT[#N[..M]]",
        value_parser = annotation,
        conflicts_with_all = ["iterations", "steady", "window"],
        help_heading = "Window"
    )]
    pub(crate) annotation: Option<Annotation>,

    #[command(flatten)]
    pub(crate) window: WindowOptions,
    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
}

const HTA: &[(&str, Reference)] = &[("hta", Reference::Hta)];

const OVERLAY_EVENTS: &[(&str, &str, OverlayEvents)] = &[
    ("all", "every event", OverlayEvents::All),
    ("path", "events on the path, annotations and Python frames", OverlayEvents::Path),
];

/// The arrows of an overlay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OverlayEdges {
    Path,
    All,
}

const OVERLAY_EDGES: &[(&str, &str, OverlayEdges)] = &[
    ("path", "where the path changes tracks", OverlayEdges::Path),
    (
        "all",
        "every edge between two events of the graph, with kind and weight; needs --mode dag",
        OverlayEdges::All,
    ),
];

const MODES: &[(&str, &str, PathMode)] = &[
    ("wall", "walk back in time, attributing each moment to exactly one event", PathMode::Wall),
    ("dag", "longest path through the graph of Holistic Trace Analysis", PathMode::Dag),
];

/// The start of a range's name, and the numbers of the ranges.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Annotation(pub(crate) String, pub(crate) RangeInclusive<usize>);

fn annotation(text: &str) -> Result<Annotation, String> {
    let numbers = |text: &str| match text.split_once("..") {
        Some((first, last)) => Some(first.parse().ok()?..=last.parse().ok()?),
        None => text.parse().ok().map(|number| number..=number),
    };
    let (name, numbers) = match text.rsplit_once('#').and_then(|(name, given)| Some((name, numbers(given)?)))
    {
        // The numbers of the profiler's steps are part of their names.
        Some((name, _)) if name == "ProfilerStep" && !text.contains("..") => (text, 0..=0),
        Some(found) => found,
        None => (text, 0..=0),
    };
    if name.is_empty() {
        return Err("expected the start of a name, such as ProfilerStep or forward#2".to_owned());
    }
    match numbers.is_empty() {
        true => Err("the first number is greater than the second".to_owned()),
        false => Ok(Annotation(name.to_owned(), numbers)),
    }
}

fn scaling(text: &str) -> Result<Scaling, String> {
    const EXPECTED: &str = "expected a name and a factor of 0 or more, such as aten::mm=0.5";
    let (name, factor) = text.rsplit_once('=').ok_or(EXPECTED)?;
    let factor = factor.trim().parse::<f64>().ok().filter(|factor| (0.0..=1e6).contains(factor));
    match factor {
        Some(factor) if !name.is_empty() => Ok(Scaling { name: name.to_owned(), factor }),
        _ => Err(EXPECTED.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_numbers_and_steps_have_names() {
        for (text, name, numbers) in [
            ("forward", "forward", 0..=0),
            ("forward#2", "forward", 2..=2),
            ("forward#2..4", "forward", 2..=4),
            ("a#b", "a#b", 0..=0),
            ("ProfilerStep", "ProfilerStep", 0..=0),
            ("ProfilerStep#7", "ProfilerStep#7", 0..=0),
            ("ProfilerStep#0..1", "ProfilerStep", 0..=1),
        ] {
            assert_eq!(annotation(text), Ok(Annotation(name.to_owned(), numbers)), "{text}");
        }
        assert!(annotation("").is_err() && annotation("#1").is_err() && annotation("a#3..1").is_err());
    }

    #[test]
    fn factors_stand_behind_the_last_equals_sign() {
        let parsed = scaling("f<a=1>=0.5").unwrap();
        assert_eq!((&*parsed.name, parsed.factor), ("f<a=1>", 0.5));
        for text in ["aten::mm", "=1", "a=-1", "a=NaN", "a=x"] {
            assert!(scaling(text).is_err(), "{text}");
        }
    }
}
