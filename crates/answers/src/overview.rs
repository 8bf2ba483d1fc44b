//! The first sheet of every report: what was recorded, what the figures say, and how far they go.

use advise::{Advice, Finding};
use sheets::{Chart, ChartShape, Column, ColumnKind, Role, Sheet, Unit};

use crate::diagnostic::in_one_line;
use crate::notice::Notice;
use crate::numbers::{decimal, duration};
use crate::summary::Summary;

pub(crate) const NAME: &str = "overview";

/// Its name in the report of TPUs, which have a table `overview` of the XLA profiler's.
pub(crate) const NAME_BESIDE_ANOTHER: &str = "summary";

/// What the sheet is made from.
pub(crate) struct Overview<'a> {
    pub(crate) summary: &'a Summary,
    pub(crate) advice: Option<&'a Advice>,
    pub(crate) notices: &'a [Notice],
    /// The options of the report, as who asked for it wrote them.
    pub(crate) options: &'a [String],
}

/// One thing that is known of the report.
struct Fact {
    topic: &'static str,
    item: String,
    value: String,
    figure: Option<(f64, &'static str)>,
    /// Empty where the fact is not one of a device.
    device: String,
}

/// Parts of the window of a device: its bar.
const PARTS: [&str; 5] = ["computation", "exposed communication", "exposed copies", "idle", "not recorded"];
const ITEM: &str = "item";
const FIGURE: &str = "figure";
const DEVICE: &str = "device";

pub(crate) fn sheet<'a>(name: &'static str) -> Sheet<'a, Overview<'a>> {
    let fields = [
        Column::text(
            "topic",
            "Kind of row: recording, finding, time (per device), fix first, program, coverage, roofline, options, left out, warnings or report.",
        )
        .field(|fact: &Fact| fact.topic.into()),
        Column::text(ITEM, "Name of the value.").field(|fact: &Fact| fact.item.as_str().into()),
        Column::text("value", "Value as text, with times in a readable unit.")
            .field(|fact: &Fact| fact.value.as_str().into()),
        Column::new(FIGURE, ColumnKind::Number(Unit::One), "Value as a number; empty if it is only text.")
            .field(|fact: &Fact| fact.figure.map(|(figure, _)| figure).into()),
        Column::text("unit", "Unit of the figure.").with_role(Role::Detail).field(|fact: &Fact| fact.figure.map(|(_, unit)| unit).into()),
        Column::text(DEVICE, "Device that the value belongs to; empty for values of the whole recording.")
            .with_role(Role::Detail)
            .distinguishing()
            .field(|fact: &Fact| Some(fact.device.as_str()).filter(|device| !device.is_empty()).into()),
    ];
    let bar = ChartShape::Stacked { parts: &PARTS, per: Some(DEVICE) };
    Sheet::new(
        name,
        "What was recorded, where the time went, how much of it the figures cover, and every warning: read this sheet first.",
        fields,
        facts,
    )
    .with_chart(Chart::new("Where the time goes", ITEM, FIGURE, "share of the window (%)", bar))
}

fn facts(overview: &Overview<'_>) -> Vec<Fact> {
    let Overview { summary, advice, notices, options } = overview;
    let head = summary.head.iter().enumerate();
    let head = head.map(|(at, line)| text("recording", if at == 0 { "file" } else { "recorded" }, line));
    let mut facts: Vec<Fact> = head.collect();
    facts.extend(summary.statements.iter().map(|line| text("finding", "conclusion", line)));
    times(summary, &mut facts);
    facts.extend(advice.iter().flat_map(|advice| &advice.findings).take(MOST_FINDINGS).map(finding));
    facts.extend(summary.program.iter().map(|line| text("program", "activity", line)));
    coverage(summary, &mut facts);
    facts.extend(summary.recorder.iter().map(|(item, value)| text("recording", item, value)));
    facts.extend(options.iter().map(|option| text("options", "given", option)));
    facts.extend(
        summary
            .left_out
            .iter()
            .map(|left_out| text("left out", &left_out.sheets.join(", "), &left_out.why())),
    );
    let prints =
        |notice: &&Notice| matches!(notice, Notice::Analysis(tree_perf::Notice::ExtensionSays { .. }));
    let warnings = notices.iter().filter(|notice| !prints(notice));
    facts.extend(warnings.map(|notice| text("warnings", "warning", &in_one_line(notice))));
    facts.push(text("report", "made by", concat!("tracelens ", env!("CARGO_PKG_VERSION"))));
    facts
}

/// Findings in the sheet; all are in the sheet `advice`.
const MOST_FINDINGS: usize = 5;

/// A finding, its amount as the figure.
fn finding(finding: &Finding) -> Fact {
    let place = Some(&finding.subject).filter(|subject| !subject.is_empty());
    let gain = finding.gain.map(|gain| format!("up to {} recoverable", duration(gain.high_us)));
    let remedy = Some(&finding.remedy).filter(|remedy| !remedy.is_empty());
    let parts = [place.cloned(), gain, remedy.cloned()];
    Fact {
        topic: "fix first",
        item: format!("{}. {}", finding.rank, finding.what),
        value: parts.into_iter().flatten().collect::<Vec<_>>().join("; "),
        figure: finding.amount_us.map(|us| (us, "µs")),
        device: String::new(),
    }
}

fn text(topic: &'static str, item: &str, value: &str) -> Fact {
    Fact { topic, item: item.to_owned(), value: value.to_owned(), figure: None, device: String::new() }
}

fn times(summary: &Summary, facts: &mut Vec<Fact>) {
    for timeline in &summary.timelines {
        let mut add = |fact: Fact| facts.push(Fact { device: timeline.device.clone(), ..fact });
        for (item, us) in [
            (format!("window, {}", timeline.window_bounds()), timeline.total_us),
            ("busy time".to_owned(), timeline.busy_us),
            ("idle time".to_owned(), timeline.idle_us),
        ] {
            add(Fact { figure: Some((us, "µs")), ..text("time", &item, &duration(us)) });
        }
        let breakdown = &timeline.breakdown;
        let times = [
            breakdown.computation,
            breakdown.exposed_communication,
            breakdown.exposed_memcpy,
            breakdown.idle,
            breakdown.unrecorded,
        ];
        for (item, part) in PARTS.into_iter().zip(times) {
            if item == "not recorded" && part == 0 {
                continue;
            }
            let share = percent("time", item.to_owned(), breakdown.percent_of_total(part));
            add(Fact { figure: share.figure.map(|(share, _)| (share, "% of the window")), ..share });
        }
    }
}

fn coverage(summary: &Summary, facts: &mut Vec<Fact>) {
    if let Some(architecture) = &summary.architecture {
        facts.push(text("roofline", "architecture", architecture));
    }
    let Some(coverage) = &summary.coverage else { return };
    let known = "FLOPs and bytes known, share of device time".to_owned();
    facts.push(percent("coverage", known, coverage.modelled_percent));
    for (reason, share) in &coverage.rest {
        facts.push(percent("coverage", format!("{reason}, share of device time"), *share));
    }
    if let Some(near) = coverage.near_percent {
        let item = "above 50% of the roofline, share of the time that has a roofline".to_owned();
        facts.push(percent("roofline", item, near));
    }
    const NAMED: usize = 5;
    for (operator, lost) in coverage.losses.iter().take(NAMED) {
        let item = format!("gap to the roofline: {operator}");
        facts.push(Fact { figure: Some((*lost, "µs")), ..text("roofline", &item, &duration(*lost)) });
    }
    for (operator, share) in coverage.unknown.iter().take(NAMED) {
        let item = format!("without FLOPs and bytes: {operator}, share of device time");
        facts.push(percent("coverage", item, *share));
    }
}

fn percent(topic: &'static str, item: String, share: f64) -> Fact {
    Fact { figure: Some((share, "%")), ..text(topic, &item, &format!("{}%", decimal(share, 1))) }
}

#[cfg(test)]
mod tests {
    use gpu_timeline::{Activity, Breakdown, DeviceEvent};
    use operator_sheets::RooflineShares;

    use super::*;
    use crate::summary::{LeftOut, Timeline};

    #[test]
    fn the_first_page_is_in_the_sheet_with_its_figures() {
        let events = [
            DeviceEvent::new(0, 600, Activity::Computation),
            DeviceEvent::new(900, 1_000, Activity::Communication),
        ];
        let breakdown = Breakdown::from_events(events, None).unwrap();
        let summary = Summary {
            head: vec!["trace.json".into(), "NVIDIA H200".into()],
            recorder: vec![("CUDA runtime", "12.4".into())],
            timelines: vec![Timeline::new("GPU", breakdown, |time| time as f64)],
            coverage: Some(RooflineShares {
                modelled_percent: 80.0,
                rest: vec![("communication", 20.0)],
                near_percent: None,
                losses: vec![("aten::mm".into(), 5.0)],
                unknown: Vec::new(),
            }),
            left_out: vec![LeftOut {
                sheets: vec!["roofline", "coverage"],
                rule: "R3",
                lacks: "No shapes".into(),
                remedy: "Record them.",
            }],
            ..Summary::default()
        };
        let (notices, options) = ([Notice::NoOperators], ["--topk_ops 3".to_owned()]);
        let overview = Overview { summary: &summary, advice: None, notices: &notices, options: &options };
        let table = sheet(NAME).table(&overview).unwrap().unwrap();
        let rows: Vec<String> = (0..table.height())
            .map(|row| {
                let cells = table.columns().iter().map(|column| column.cell(row).text().into_owned());
                cells.collect::<Vec<_>>().join(" | ")
            })
            .collect();
        for expected in [
            "recording | file | trace.json |  |  | ",
            "recording | recorded | NVIDIA H200 |  |  | ",
            "recording | CUDA runtime | 12.4 |  |  | ",
            "time | busy time | 700.0 µs | 700.0 | µs | GPU",
            "time | idle | 30.0% | 30.0 | % of the window | GPU",
            "coverage | FLOPs and bytes known, share of device time | 80.0% | 80.0 | % | ",
            "coverage | communication, share of device time | 20.0% | 20.0 | % | ",
            "roofline | gap to the roofline: aten::mm | 5.000 µs | 5.0 | µs | ",
            "options | given | --topk_ops 3 |  |  | ",
            "left out | roofline, coverage | No shapes (R3). Record them. |  |  | ",
        ] {
            assert!(rows.iter().any(|row| row == expected), "{expected}: {rows:#?}");
        }
        assert!(rows.iter().any(|row| row.starts_with("warnings | warning | ")), "{rows:#?}");
        assert!(rows.last().unwrap().starts_with("report | made by | tracelens "));
    }
}
