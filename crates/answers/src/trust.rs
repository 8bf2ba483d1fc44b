//! Marks figures that faults of the recording make unreliable, and explains those that are missing because of them.

use std::sync::Arc;

use sheets::names::{
    COLL_ANALYSIS, COVERAGE, GPU_TIMELINE, MEMORY_BLOCKS, MEMORY_OWNERS, MEMORY_STEPS, MEMORY_SUMMARY,
    MEMORY_TIMELINE, OPS_ALL, OPS_SUMMARY, ROOFLINE, ROOFLINE_POINTS, UNIFIED_PERF_SUMMARY,
};
use sheets::{Caveat, Figure, Table};
use trace_doctor::{Diagnosis, Finding, Severity};

use crate::summary::LeftOut;

/// Marks tables of a trace's report, and columns in them, that findings are about.
pub(crate) fn mark(tables: &mut [Table], diagnosis: &Diagnosis) {
    for finding in &diagnosis.findings {
        let harm = finding.rule.harm;
        if harm.makes_unreliable() && finding.severity >= Severity::Warning {
            mark_unreliable(tables, finding);
        }
        if harm.explains_absence() {
            mark_empty(tables, finding);
        }
    }
}

/// The sheets of which [`left_out`] asks whether they are there.
pub(crate) fn sheets_that_may_be_left_out(diagnosis: &Diagnosis) -> Vec<&'static str> {
    let explaining = diagnosis.findings.iter().filter(|finding| finding.rule.harm.explains_absence());
    explaining.flat_map(|finding| missing_sheets(&[], finding)).collect()
}

/// The sheets that a report of the whole trace lacks because of what was found.
pub(crate) fn left_out(tables: &[Table], diagnosis: &Diagnosis) -> Vec<LeftOut> {
    let explaining = diagnosis.findings.iter().filter(|finding| finding.rule.harm.explains_absence());
    let left_out = explaining.map(|finding| LeftOut {
        sheets: missing_sheets(tables, finding),
        rule: finding.rule.id,
        lacks: finding.text.clone(),
        remedy: finding.remedy,
    });
    left_out.filter(|left_out| !left_out.sheets.is_empty()).collect()
}

fn why_absent(Finding { rule, remedy, text, .. }: &Finding) -> String {
    format!("{text} ({}). {remedy}", rule.id)
}

fn mark_unreliable(tables: &mut [Table], finding: &Finding) {
    let Finding { rule, consequence, text, .. } = finding;
    let caveat = Arc::new(Caveat {
        brief: format!("unreliable ({}): {}", rule.id, consequence.unwrap_or(text)),
        text: format!("Unreliable: {text} ({}).", rule.id),
    });
    each_shown(tables, finding, |table, figure| match figure {
        Figure::Everything => table.add_caveat(&caveat),
        figure => table.add_caveat_to(&caveat, |column| column.shows(figure) && !column.is_blank()),
    });
}

fn mark_empty(tables: &mut [Table], finding: &Finding) {
    let Finding { rule, text, .. } = finding;
    let caveat = Arc::new(Caveat {
        brief: format!("empty ({}): {text}", rule.id),
        text: format!("Empty: {}", why_absent(finding)),
    });
    each_shown(tables, finding, |table, figure| match table.height() {
        0 => table.add_caveat(&caveat),
        _ => table.add_caveat_to(&caveat, |column| column.shows(figure) && column.is_blank()),
    });
}

/// Hands out the tables that show figures of a finding.
fn each_shown(tables: &mut [Table], finding: &Finding, mut mark: impl FnMut(&mut Table, Figure)) {
    for &figure in finding.rule.harm.figures() {
        for table in tables.iter_mut().filter(|table| table.shows(figure)) {
            mark(table, figure);
        }
    }
}

/// Sheets that a report of a whole trace lacks where such figures are missing.
const fn sheets_of(figure: Figure) -> &'static [&'static str] {
    match figure {
        Figure::OpsSummary => &[OPS_SUMMARY],
        Figure::OpsAll => &[OPS_ALL],
        Figure::Unified => &[UNIFIED_PERF_SUMMARY],
        Figure::GpuTimeline => &[GPU_TIMELINE],
        Figure::Rooflines => &[ROOFLINE, ROOFLINE_POINTS],
        Figure::AllOfTheDevice => &[GPU_TIMELINE, OPS_ALL, COVERAGE, ROOFLINE, ROOFLINE_POINTS],
        Figure::Collectives => &[COLL_ANALYSIS],
        Figure::MemorySummary => &[MEMORY_SUMMARY],
        Figure::MemoryOwners => &[MEMORY_OWNERS],
        Figure::MemoryBlocks => &[MEMORY_BLOCKS],
        Figure::MemoryTimeline => &[MEMORY_TIMELINE],
        Figure::MemorySteps => &[MEMORY_STEPS],
        _ => &[],
    }
}

/// The sheets of a finding's figures that are not among the tables.
fn missing_sheets(tables: &[Table], finding: &Finding) -> Vec<&'static str> {
    let mut missing = Vec::new();
    for &sheet in finding.rule.harm.figures().iter().flat_map(|&figure| sheets_of(figure)) {
        if !missing.contains(&sheet) && !tables.iter().any(|table| table.name() == sheet) {
            missing.push(sheet);
        }
    }
    missing
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fmt::Write;

    use sheets::{Column, ColumnKind, TableColumn, Unit};
    use trace_doctor::RULES;
    use trace_ingest::RecordingKind;

    use super::*;
    use crate::{KnownSheet, ReportOf, known_sheets};

    fn finding(rule: &str, severity: Severity) -> Finding {
        let rule = RULES.iter().find(|known| known.id == rule).unwrap();
        let text = "9 of 10 are lost".to_owned();
        let (remedy, consequence) = (rule.remedy, rule.consequence);
        let (of, first) = (Some(10), None);
        Finding { rule, remedy, consequence, severity, count: 9, of, time: None, guarded: 0, first, text }
    }

    fn table(name: &str, columns: &[(Column, f64)]) -> Table {
        let column = |&(column, value): &(Column, f64)| TableColumn::new(column, [value.into()]);
        Table::new(name, columns.iter().map(column).collect()).unwrap()
    }

    const fn ms(name: &'static str, figures: &'static [Figure]) -> Column {
        Column::milliseconds(name, "").showing(figures)
    }

    fn marked(tables: &[Table]) -> Vec<(&str, &str, &str)> {
        let columns = tables.iter().flat_map(|table| {
            table.columns().iter().flat_map(|column| {
                column.caveats().iter().map(|caveat| (table.name(), column.name(), caveat.text.as_str()))
            })
        });
        columns.collect()
    }

    #[test]
    fn columns_are_marked_whose_figures_a_finding_spoils() {
        let all = [
            table(
                "a",
                &[(ms("kernels", &[Figure::OpsSummary]), 1.0), (ms("host", &[Figure::HostTimes]), 1.0)],
            ),
            table("b", &[(ms("delay", &[Figure::Gaps, Figure::LaunchDelays]), 1.0)]),
            table("c", &[(ms("path", &[Figure::CriticalPath]), 1.0)]),
        ];
        let with = |findings: Vec<Finding>| {
            let mut tables = all.to_vec();
            let diagnosis = Diagnosis { findings, ..Diagnosis::default() };
            mark(&mut tables, &diagnosis);
            assert!(left_out(&tables, &diagnosis).is_empty());
            tables
        };
        assert_eq!(
            marked(&with(vec![finding("W2", Severity::Warning), finding("C2", Severity::Warning)])),
            [
                ("a", "kernels", "Unreliable: 9 of 10 are lost (W2)."),
                ("b", "delay", "Unreliable: 9 of 10 are lost (C2)."),
                ("c", "path", "Unreliable: 9 of 10 are lost (W2)."),
                ("c", "path", "Unreliable: 9 of 10 are lost (C2)."),
            ]
        );
        // What doctor notes leaves the recording trusted.
        for harmless in [finding("O2", Severity::Info), finding("W2", Severity::Note)] {
            assert!(marked(&with(vec![harmless])).is_empty());
        }
        let tables = with(vec![finding("F1", Severity::Error)]);
        assert!(marked(&tables).is_empty());
        assert!(tables.iter().all(|table| table.caveats()[0].brief.starts_with("unreliable (F1): ")));
        // A fault of the unit of time spoils every column of time.
        assert_eq!(marked(&with(vec![finding("F3", Severity::Error)])).len(), 4);
    }

    #[test]
    fn what_is_empty_names_the_rule_and_the_remedy() {
        let flops = |name, unit| Column::new(name, ColumnKind::Number(unit), "").showing(&[Figure::Flops]);
        let mut tables = [
            table(
                "a",
                &[
                    (flops("flops", Unit::Gigaflops), f64::NAN),
                    (flops("rate", Unit::TerabytesPerSecond), 1.0),
                ],
            ),
            Table::new(ROOFLINE, Vec::new()).unwrap(),
        ];
        let findings = vec![finding("R3", Severity::Warning)];
        let diagnosis = Diagnosis { findings, ..Diagnosis::default() };
        mark(&mut tables, &diagnosis);
        let why = "9 of 10 are lost (R3). Record with record_shapes=True.";
        let left_out = left_out(&tables, &diagnosis);
        assert_eq!(left_out.len(), 1);
        assert_eq!(
            (left_out[0].sheets.as_slice(), left_out[0].why()),
            (&[ROOFLINE_POINTS][..], why.to_owned())
        );
        let empty = format!("Empty: {why}");
        assert_eq!(marked(&tables), [("a", "flops", empty.as_str())]);
        assert_eq!(tables[1].caveats()[0].text, empty);
    }

    /// The sheets of reports of traces, to which findings about traces belong.
    fn sheets_of_traces() -> Vec<KnownSheet> {
        let of_traces = [RecordingKind::Trace, RecordingKind::Nsys].map(ReportOf::Recording);
        known_sheets().into_iter().filter(|sheet| of_traces.contains(&sheet.report)).collect()
    }

    /// Which columns each kind of figures is shown in: a rule that spoils the figures puts its caveat there.
    #[test]
    fn columns_show_their_figures() {
        let sheets = sheets_of_traces();
        let mut text = String::new();
        let listed = |figure: &&Figure| !matches!(figure, Figure::Everything | Figure::EveryTime);
        for figure in Figure::ALL.iter().filter(listed) {
            let mut by_columns: BTreeMap<BTreeSet<&str>, BTreeSet<&str>> = BTreeMap::new();
            for sheet in &sheets {
                let shown = sheet.columns.iter().filter(|column| column.shows(*figure));
                let shown: BTreeSet<&str> = shown.map(|column| column.name).collect();
                if !shown.is_empty() {
                    by_columns.entry(shown).or_default().insert(&sheet.name);
                }
            }
            let joined = |names: &BTreeSet<&str>| names.iter().copied().collect::<Vec<_>>().join(", ");
            let mut by_sheets: Vec<_> = by_columns.into_iter().collect();
            by_sheets.sort_by(|(_, a), (_, b)| a.cmp(b));
            for (position, (columns, sheets)) in by_sheets.iter().enumerate() {
                if position == 0 {
                    writeln!(text, "{}", figure.name()).unwrap();
                }
                writeln!(text, "  {}\n    {}", joined(sheets), joined(columns)).unwrap();
            }
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn sheets_that_are_missed_show_the_figures() {
        let sheets = sheets_of_traces();
        for &figure in Figure::ALL {
            for name in sheets_of(figure) {
                let sheet = sheets.iter().find(|sheet| sheet.name == *name).unwrap();
                assert!(sheet.columns.iter().any(|column| column.shows(figure)), "{name}: {figure:?}");
            }
        }
    }
}
