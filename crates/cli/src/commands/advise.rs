//! `tracelens advise`: what to change first.

use std::collections::BTreeSet;
use std::io::{self, Write};

use advise::{Advice, Finding, Limits};
use answers::envelope::AnswerFinding;
use answers::numbers::duration;
use answers::{Advisor, Notice};
use report_writers::terminal::{Color, Style};
use report_writers::write_json;
use serde::Serialize;
use trace_ingest::ReadOptions;

use crate::arguments::advise::AdviseArguments;
use crate::console;
use crate::context::Context;
use crate::destinations::{check_destinations, save};
use crate::error::Failure;
use crate::progress::ReadingProgress;
use crate::summary::WIDEST;
use crate::wrapping::wrap;

/// A recording with its advice.
#[derive(Serialize)]
struct Advised {
    name: String,
    #[serde(flatten)]
    advice: Advice,
}

#[derive(Serialize)]
struct Document<'a> {
    files: &'a [Advised],
}

pub(crate) fn run(arguments: &AdviseArguments, context: &Context<'_>) -> Result<(), Failure> {
    let sources: Vec<_> = arguments.files.iter().chain(&arguments.baseline).cloned().collect();
    let markdown = arguments.markdown.iter().map(|path| ("markdown", path.as_path()));
    let json = arguments.output.iter().map(|path| ("json", path.as_path()));
    check_destinations(&sources, markdown.chain(json))?;
    let advisor = advisor(arguments)?;
    let mut advised = Vec::with_capacity(arguments.files.len());
    let mut notices = Vec::new();
    for path in &arguments.files {
        let progress = ReadingProgress::new(arguments.answer.is_json());
        let update = |state| progress.update(state);
        let reading = ReadOptions { progress: Some(&update), ..arguments.reading.options() };
        let (mut advice, file_notices) = advisor.advise(path, &reading)?;
        file_notices.iter().for_each(console::diagnostic);
        let file_notices =
            file_notices.into_iter().map(|notice| Notice::File { path: path.clone(), notice: notice.into() });
        notices.extend(file_notices);
        if !arguments.rules.is_empty() {
            advice.findings.retain(|finding| arguments.rules.iter().any(|rule| finding.is_of(rule)));
        }
        advised.push(Advised { name: context.name(path), advice });
    }
    // Its hash costs reading the files once more.
    let answer = || {
        let mut answer = context.about(&arguments.files).with_notices(&notices);
        if let [only] = advised.as_slice() {
            answer.findings = only.advice.findings.iter().map(AnswerFinding::from).collect();
        }
        answer.with_result(&Document { files: &advised }).map_err(io::Error::from)
    };
    let is_written = arguments.answer.is_json() || arguments.output.is_some();
    let answer = is_written.then(answer).transpose()?;
    let mut written = Vec::new();
    if let (Some(path), Some(answer)) = (&arguments.output, &answer) {
        written.push(save(path, |file| write_json(answer, file))?);
        context.note(answer.status);
    }
    if let Some(path) = &arguments.markdown {
        let texts: Vec<String> = advised.iter().map(|file| file.advice.to_markdown(&file.name)).collect();
        written.push(save(path, |file| file.write_all(texts.join("\n").as_bytes()))?);
    }
    if let (true, Some(answer)) = (arguments.answer.is_json(), &answer) {
        context.print(answer)?;
    } else {
        let style = context.style();
        let mut text: Vec<String> = advised.iter().map(|file| text(file, style)).collect();
        text.extend(written.iter().map(|path| format!("wrote {}\n", path.display())));
        console::print(text.concat())?;
    }
    let fails = |finding: &&Finding| arguments.fail_on.iter().any(|pattern| finding.is_of(pattern));
    match advised.iter().flat_map(|file| &file.advice.findings).filter(fails).count() {
        0 => Ok(()),
        found => Err(Failure::Found { found }),
    }
}

fn advisor(arguments: &AdviseArguments) -> Result<Advisor, Failure> {
    let architecture = arguments.device.architecture()?;
    if let Some(warning) = arguments.device.warning(architecture.as_ref()) {
        console::warning(format_args!("{warning}"));
    }
    Ok(Advisor {
        architecture,
        peak_basis: arguments.device.peak_basis(),
        communication: arguments.device.communication(None),
        tree: arguments.reading.tree_options(),
        baseline: arguments.baseline.clone(),
        limits: Limits { least_share: arguments.min_share / 100.0, ..Limits::default() },
    })
}

/// The findings of a recording, a block each.
fn text(file: &Advised, style: Style) -> String {
    const INDENT: &str = "    ";
    let (advice, width) = (&file.advice, style.width.min(WIDEST));
    let mut out = String::new();
    wrap(&format!("{}: {}", file.name, advice.window_in_words()), "", INDENT, width, &mut out);
    if advice.findings.is_empty() {
        out.push_str("nothing found\n");
    }
    // What to do stands with the first finding of a rule.
    let mut advised = BTreeSet::new();
    for finding in &advice.findings {
        out.push('\n');
        wrap(&headline(finding), &head_of(finding, style), INDENT, width, &mut out);
        let mut line = |text: &str| wrap(text, INDENT, "      ", width, &mut out);
        for sentence in &finding.evidence {
            line(sentence);
        }
        if let Some(site) = &finding.call_site {
            line(&format!("called from {site}"));
        } else if let Some(module) = &finding.module {
            line(&format!("in {module}"));
        }
        for other in &finding.alternatives {
            line(&format!("or {} ({}): {}", other.rule, duration(other.mid_us), other.what));
        }
        if !finding.doubts.is_empty() {
            let rules: Vec<&str> = finding.doubts.iter().map(|doubt| doubt.rule.as_str()).collect();
            line(&format!("uncertain: {}", rules.join(", ")));
        }
        if advised.insert(&finding.rule) {
            line(&format!("→ {}", finding.remedy));
        }
    }
    let doubts: BTreeSet<_> = advice.findings.iter().flat_map(|finding| &finding.doubts).collect();
    if !doubts.is_empty() {
        out.push('\n');
    }
    for doubt in doubts {
        wrap(&doubt.text, &format!("{:<4}", doubt.rule), INDENT, width, &mut out);
    }
    out.push('\n');
    if style.unicode { out } else { out.replace('µ', "u").replace('→', "->") }
}

/// Place, time that it is about, and rule.
fn head_of(finding: &Finding, style: Style) -> String {
    let amount = finding.amount_in_words();
    let space = if amount.is_empty() { "" } else { " " };
    format!("{:>2}. {amount}{space}{} ", finding.rank, style.paint(&finding.rule, Color::Cyan))
}

fn headline(finding: &Finding) -> String {
    let range = match finding.gain {
        Some(gain) => format!(
            " [{}, probably {}; {} confidence]",
            gain.in_words(),
            duration(gain.mid_us),
            finding.confidence.as_str()
        ),
        None => String::new(),
    };
    format!("{}: {}{range}", finding.what, finding.subject)
}
