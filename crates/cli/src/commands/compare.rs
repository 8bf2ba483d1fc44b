//! `tracelens compare`.

use std::io::Write;
use std::path::{Path, PathBuf};

use answers::{Analysed, CompareReporter, Report};
use reference_tools::SheetGroup;
use report_writers::terminal::Style;
use trace_diff::{CompareOptions, Comparison, Limit, markdown};

use crate::arguments::compare::{CompareArguments, name_classes};
use crate::comparison_text;
use crate::context::Context;
use crate::destinations::{check_destinations, save};
use crate::error::Failure;
use crate::request::{Extras, Request};
use crate::summary::Detail;

/// The workbook that TraceLens writes where nothing else is asked for.
const WORKBOOK: &str = "comparison.xlsx";

pub(crate) fn run(arguments: &CompareArguments, context: &Context<'_>) -> Result<(), Failure> {
    let names = name_classes(&arguments.same);
    let is_all = arguments.sheets.is_empty() || arguments.sheets.iter().any(|sheet| sheet == "all");
    let sheets = if is_all { Vec::new() } else { arguments.sheets.clone() };
    let as_tracelens = match arguments.parity {
        None => None,
        Some(_) => Some(groups(arguments, is_all)?),
    };
    let markdown = arguments.output_markdown_path.as_deref();
    check_destinations(&arguments.files, markdown.map(|path| ("markdown", path)))?;
    let reporter = CompareReporter {
        names: arguments.names.clone(),
        options: CompareOptions { names, sheets },
        steps: arguments.steps.clone(),
        as_tracelens,
    };
    let request = Request {
        default_workbook: context.given.as_reference_tool.then(|| PathBuf::from(WORKBOOK)),
        ..Request::new("compare", &arguments.files, &arguments.tables, context)
    };
    request.answer(reporter, &FirstPage { limits: &arguments.fail_on, markdown })
}

/// The sheets that are compared as TraceLens does, which knows neither steps nor operators of one kind.
fn groups(arguments: &CompareArguments, is_all: bool) -> Result<Vec<SheetGroup>, Failure> {
    let own_options = [
        ("--same", !arguments.same.is_empty()),
        ("--steps", !arguments.steps.is_empty()),
        ("--fail-on", !arguments.fail_on.is_empty()),
        ("--output_markdown_path", arguments.output_markdown_path.is_some()),
    ];
    if let Some((option, _)) = own_options.iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::OptionOfOurComparison { option });
    }
    let known = SheetGroup::ALL;
    if is_all {
        return Ok(known.iter().map(|(_, group)| *group).collect());
    }
    let group = |sheet: &String| {
        known.iter().find(|(name, _)| name == sheet).map(|(_, group)| *group).ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            let names = names.join(", ");
            Failure::Arguments(format!("--sheets {sheet}: with --parity tracelens, choose {names} or all"))
        })
    };
    arguments.sheets.iter().map(group).collect()
}

/// What is printed of a comparison, and what is done with it beside the tables.
struct FirstPage<'a> {
    limits: &'a [Limit],
    markdown: Option<&'a Path>,
}

fn comparisons(report: &Report) -> &[Comparison] {
    match &report.analysis {
        Analysed::Comparisons(comparisons) => comparisons,
        _ => &[],
    }
}

impl Extras for FirstPage<'_> {
    fn write(&self, report: &Report) -> Vec<Result<PathBuf, Failure>> {
        let comparisons = comparisons(report);
        let mut outcomes = Vec::new();
        outcomes.extend(
            self.markdown.map(|path| save(path, |file| file.write_all(self.markdown(report).as_bytes()))),
        );
        for (limit, comparison) in
            self.limits.iter().flat_map(|limit| comparisons.iter().map(move |one| (limit, one)))
        {
            match limit.check(comparison) {
                Ok(None) => {}
                Ok(Some(exceeded)) => outcomes.push(Err(Failure::LimitExceeded(exceeded.to_string()))),
                Err(unknown) => outcomes.push(Err(Failure::LimitOfUnknown(unknown.to_string()))),
            }
        }
        outcomes
    }

    const CAVEATS_ABOVE: bool = true;

    fn markdown(&self, report: &Report) -> String {
        comparisons(report).iter().map(markdown).collect::<Vec<String>>().join("\n")
    }

    fn text(&self, report: &Report, caveats: &str, _: Detail, style: Style) -> String {
        let lines = report.summary.head.iter().chain(&report.summary.statements);
        comparison_text::text(lines, caveats, comparisons(report), style)
    }
}
