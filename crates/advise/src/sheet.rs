//! The sheet of findings.

use sheets::numbers::decimal;
use sheets::{Chart, ChartShape, Column, ColumnKind, Nested, Role, Sheet, Unit};

use crate::advice::Advice;
use crate::finding::Finding;

/// Name of the sheet.
pub const ADVICE: &str = "advice";

const FINDING: Column = Column::text("finding", "Problem found.");
const SUBJECT: Column = Column::text("subject", "Where: operator, kernels, calls or device.");
const GAIN: Column = Column::microseconds("gain_us", "Time in the window that a change would probably save. Each moment counts toward one finding only. Empty if unknown.")
    .with_role(Role::Headline);
/// Bars of the chart.
const MOST_BARS: usize = 10;

/// One row per finding, what gives back most first.
#[must_use]
pub fn advice_sheet<'a>() -> Sheet<'a, Advice> {
    let fields = [
        Column::count("rank", "Position by probable gain, from 1; findings without a figure come last.")
            .with_role(Role::Name)
            .field(|finding: &&Finding| finding.rank.into()),
        Column::text("rule", "Rule behind the finding.")
            .with_role(Role::Name)
            .field(|finding: &&Finding| finding.rule.as_str().into()),
        FINDING.field(|finding: &&Finding| finding.what.as_str().into()),
        SUBJECT.field(|finding: &&Finding| finding.subject.as_str().into()),
        Column::microseconds("amount_us", "Time in the window affected by the finding, including the gain. Findings may overlap. Empty if unknown.")
            .field(|finding: &&Finding| finding.amount_us.into()),
        Column::percent("amount_percent", "amount_us as a share of the window.")
            .with_role(Role::Detail)
            .field(|finding: &&Finding| finding.amount_percent.into()),
        GAIN.field(|finding: &&Finding| finding.gain.map(|gain| gain.mid_us).into()),
        Column::percent("share_percent", "gain_us as a share of the window.")
            .with_role(Role::Headline)
            .field(|finding: &&Finding| finding.share_percent.into()),
        Column::microseconds("gain_low_us", "Lower bound of the estimated saving.")
            .with_role(Role::Detail)
            .field(|finding: &&Finding| finding.gain.map(|gain| gain.low_us).into()),
        Column::microseconds("gain_high_us", "Upper bound of the estimated saving.")
            .with_role(Role::Detail)
            .field(|finding: &&Finding| finding.gain.map(|gain| gain.high_us).into()),
        Column::text("confidence", "high: measured in the recording. medium: from a model, or suggested by shapes. low: a guess.")
            .field(|finding: &&Finding| finding.confidence.as_str().into()),
        Column::text("bucket", "Part of the window that the finding mainly affects: computation, exposed communication, exposed copy or idle; or recording, for problems with the recording itself.")
            .field(|finding: &&Finding| finding.bucket.as_str().into()),
        Column::text("remedy", "Recommended change.").field(|finding: &&Finding| finding.remedy.as_str().into()),
        Column::names("evidence", "Evidence for the figure.")
            .field(|finding: &&Finding| Nested::Names(finding.evidence.clone()).into()),
        Column::text("module", "Module that accounts for most of the time, if frames were read.")
            .with_role(Role::Detail)
            .field(|finding: &&Finding| finding.module.as_deref().into()),
        Column::text("call_site", "Source line of the event that accounts for most of the time, if frames were read.")
            .with_role(Role::Detail)
            .field(|finding: &&Finding| finding.call_site.as_deref().into()),
        Column::names("kernels", "Kernels that account for most of the time.").with_role(Role::Detail).field(
            |finding: &&Finding| {
                let names = finding.kernels.iter().map(|kernel| kernel.name.clone());
                Nested::Names(names.collect()).into()
            },
        ),
        Column::names("rows", "Supporting rows in other sheets, as sheet: column = value. idle_causes needs --waits.")
            .with_role(Role::Detail)
            .field(|finding: &&Finding| {
                let rows = finding.rows.iter().map(|row| {
                    let (column, value) = &row.key;
                    format!("{}: {column} = {value}", row.table)
                });
                Nested::Names(rows.collect()).into()
            }),
        Column::names("alternatives", "Alternative explanations of the same time, each with its separate gain in µs.")
            .with_role(Role::Detail)
            .field(|finding: &&Finding| {
                let others = finding.alternatives.iter().map(|other| {
                    format!("{} ({} µs): {}", other.rule, decimal(other.mid_us, 1), other.what)
                });
                Nested::Names(others.collect()).into()
            }),
        Column::names("doubts", "Problems with the recording that may distort the figure.")
            .with_role(Role::Detail)
            .field(|finding: &&Finding| {
                let doubts = finding.doubts.iter().map(|doubt| format!("{} ({})", doubt.text, doubt.rule));
                Nested::Names(doubts.collect()).into()
            }),
        Column::new("on_path", ColumnKind::Number(Unit::One), "Fraction (0 to 1) of the saved device time that makes the device finish earlier; for the rest, the device would wait for the host instead. The gain counts only this fraction. Empty for findings that do not shorten device events.")
            .with_role(Role::Detail)
            .field(|finding: &&Finding| finding.on_path.into()),
        Column::nested("UIDs", "Example events, by index in the file's event list.")
            .with_role(Role::Provenance)
            .field(|finding: &&Finding| {
                Nested::List(finding.events.iter().map(|&event| Nested::Whole(event.into())).collect()).into()
            }),
    ];
    Sheet::new(
        ADVICE,
        "What to change first: one row per finding, largest gain first. The gains add up to at most the window, which runs from the first start to the last end of device work.",
        fields,
        |advice: &'a Advice| advice.findings.iter().collect::<Vec<_>>(),
    )
    .with_chart(
        Chart::new("Findings by probable gain", FINDING.name, GAIN.name, "probable gain (µs)", ChartShape::Bars(MOST_BARS))
            .told_by(&[SUBJECT.name]),
    )
}
