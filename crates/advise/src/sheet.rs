//! The sheet of findings.

use sheets::numbers::decimal;
use sheets::{Column, ColumnKind, Nested, Role, Sheet, Unit};

use crate::advice::Advice;
use crate::finding::Finding;

/// Name of the sheet.
pub const ADVICE: &str = "advice";

/// One row per finding, what gives back most first.
#[must_use]
pub fn advice_sheet<'a>() -> Sheet<'a, Advice> {
    let fields = [
        Column::count("rank", "Place by what the finding probably gives back, from 1; findings without a figure come last.")
            .with_role(Role::Name)
            .field(|finding: &&Finding| finding.rank.into()),
        Column::text("rule", "The rule that found it; crates/advise/README.md lists them.")
            .with_role(Role::Name)
            .field(|finding: &&Finding| finding.rule.as_str().into()),
        Column::text("finding", "What is wrong.").field(|finding: &&Finding| finding.what.as_str().into()),
        Column::text("subject", "Where: operators, kernels or calls.")
            .field(|finding: &&Finding| finding.subject.as_str().into()),
        Column::microseconds("amount_us", "Time of the window that the finding is about, in µs; the gain is a part of it. One moment may be of several findings. Empty where no figure is known.")
            .field(|finding: &&Finding| finding.amount_us.into()),
        Column::percent("amount_percent", "amount_us in percent of the window.")
            .with_role(Role::Detail)
            .field(|finding: &&Finding| finding.amount_percent.into()),
        Column::microseconds("gain_us", "Time of the window that a change probably gives back, in µs. Each moment is given back by one finding only. Empty where no figure is known.")
            .with_role(Role::Headline)
            .field(|finding: &&Finding| finding.gain.map(|gain| gain.mid_us).into()),
        Column::percent("share_percent", "gain_us in percent of the window.")
            .with_role(Role::Headline)
            .field(|finding: &&Finding| finding.share_percent.into()),
        Column::microseconds("gain_low_us", "What it surely gives back, in µs.")
            .with_role(Role::Detail)
            .field(|finding: &&Finding| finding.gain.map(|gain| gain.low_us).into()),
        Column::microseconds("gain_high_us", "What it gives back at most, in µs.")
            .with_role(Role::Detail)
            .field(|finding: &&Finding| finding.gain.map(|gain| gain.high_us).into()),
        Column::text("confidence", "high: measured in the recording. medium: by a model's figure, or what shapes suggest. low: a guess.")
            .field(|finding: &&Finding| finding.confidence.as_str().into()),
        Column::text("bucket", "Part of the window that the time comes from, or most of it: computation, exposed communication, exposed copy, idle; recording where it is about the recording itself.")
            .field(|finding: &&Finding| finding.bucket.as_str().into()),
        Column::text("remedy", "What to do.").field(|finding: &&Finding| finding.remedy.as_str().into()),
        Column::names("evidence", "What the figure rests on.")
            .field(|finding: &&Finding| Nested::Names(finding.evidence.clone()).into()),
        Column::text("module", "Module of the program with the most of the time, where frames were read.")
            .with_role(Role::Detail)
            .field(|finding: &&Finding| finding.module.as_deref().into()),
        Column::text("call_site", "Line of the program that the event with the most of the time comes from, where frames were read.")
            .with_role(Role::Detail)
            .field(|finding: &&Finding| finding.call_site.as_deref().into()),
        Column::names("kernels", "Kernels with the most of the time.").with_role(Role::Detail).field(
            |finding: &&Finding| {
                let names = finding.kernels.iter().map(|kernel| kernel.name.clone());
                Nested::Names(names.collect()).into()
            },
        ),
        Column::names("rows", "Rows of other sheets that show it: sheet, column and what stands there. idle_causes is written with --waits.")
            .with_role(Role::Detail)
            .field(|finding: &&Finding| {
                let rows = finding.rows.iter().map(|row| {
                    let (column, value) = &row.key;
                    format!("{}: {column} = {value}", row.table)
                });
                Nested::Names(rows.collect()).into()
            }),
        Column::names("alternatives", "Other explanations of the same time, with what each alone would give back in µs.")
            .with_role(Role::Detail)
            .field(|finding: &&Finding| {
                let others = finding.alternatives.iter().map(|other| {
                    format!("{} ({} µs): {}", other.rule, decimal(other.mid_us, 1), other.what)
                });
                Nested::Names(others.collect()).into()
            }),
        Column::names("doubts", "What is wrong with the recording so that the figure may be wrong.")
            .with_role(Role::Detail)
            .field(|finding: &&Finding| {
                let doubts = finding.doubts.iter().map(|doubt| format!("{} ({})", doubt.text, doubt.rule));
                Nested::Names(doubts.collect()).into()
            }),
        Column::new("on_path", ColumnKind::Number(Unit::One), "Where device events get shorter: the share of that time, and of the waits that go with it, by which the device is done earlier, 0 to 1; for the rest it would wait longer for its host. The gain is only that share.")
            .with_role(Role::Detail)
            .field(|finding: &&Finding| finding.on_path.into()),
        Column::nested("UIDs", "Events that show it, by their index in the file's event list; a few of them.")
            .with_role(Role::Provenance)
            .field(|finding: &&Finding| {
                Nested::List(finding.events.iter().map(|&event| Nested::Whole(event.into())).collect()).into()
            }),
    ];
    Sheet::new(
        ADVICE,
        "What to change first: one row per finding, what gives back most first. The gains together are no more than the window from the first start to the last end of the device's work.",
        fields,
        |advice: &'a Advice| advice.findings.iter().collect::<Vec<_>>(),
    )
}
