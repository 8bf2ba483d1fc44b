//! Marks figures that faults of the recording make unreliable, and explains those that are missing because of them.

use std::sync::Arc;

use sheets::{Caveat, Table};
use trace_doctor::{Diagnosis, Finding, Severity, Which};

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

/// The sheets that a report of the whole trace lacks because of what was found.
pub(crate) fn left_out(tables: &[Table], diagnosis: &Diagnosis) -> Vec<LeftOut> {
    let explaining = diagnosis.findings.iter().filter(|finding| finding.rule.harm.explains_absence());
    let left_out = explaining.map(|finding| LeftOut {
        sheets: missing_sheets(tables, finding),
        rule: finding.rule.id,
        lacks: finding.text.clone(),
        remedy: finding.rule.remedy,
    });
    left_out.filter(|left_out| !left_out.sheets.is_empty()).collect()
}

fn why_absent(Finding { rule, text, .. }: &Finding) -> String {
    format!("{text} ({}). {}", rule.id, rule.remedy)
}

fn mark_unreliable(tables: &mut [Table], finding: &Finding) {
    let Finding { rule, text, .. } = finding;
    let caveat = Arc::new(Caveat {
        brief: format!("unreliable ({}): {}", rule.id, rule.consequence.unwrap_or(text)),
        text: format!("Unreliable: {text} ({}).", rule.id),
    });
    each_shown(tables, finding, |table, which| match which {
        Which::Sheet => table.add_caveat(&caveat),
        _ => table.add_caveat_to(&caveat, |column| {
            which.selects(column.name(), column.kind()) && !column.is_blank()
        }),
    });
}

fn mark_empty(tables: &mut [Table], finding: &Finding) {
    let Finding { rule, text, .. } = finding;
    let caveat = Arc::new(Caveat {
        brief: format!("empty ({}): {text}", rule.id),
        text: format!("Empty: {}", why_absent(finding)),
    });
    each_shown(tables, finding, |table, which| match table.height() {
        0 => table.add_caveat(&caveat),
        _ => table.add_caveat_to(&caveat, |column| {
            which.selects(column.name(), column.kind()) && column.is_blank()
        }),
    });
}

/// Hands out the tables that show figures of a finding, with the columns that do.
fn each_shown(tables: &mut [Table], finding: &Finding, mut mark: impl FnMut(&mut Table, Which)) {
    for columns in finding.rule.harm.figures().iter().flat_map(|figures| figures.shown) {
        for table in tables.iter_mut().filter(|table| columns.is_of(table.name())) {
            mark(table, columns.which);
        }
    }
}

/// The sheets of a finding's figures that are not among the tables.
fn missing_sheets(tables: &[Table], finding: &Finding) -> Vec<&'static str> {
    let shown = finding.rule.harm.figures().iter().flat_map(|figures| figures.shown);
    let mut missing = Vec::new();
    for sheet in shown.filter_map(|columns| columns.only_sheet()) {
        if !missing.contains(&sheet) && !tables.iter().any(|table| table.name() == sheet) {
            missing.push(sheet);
        }
    }
    missing
}

#[cfg(test)]
mod tests {
    use sheets::{Column, ColumnKind, TableColumn, Unit};
    use trace_doctor::{Columns, RULES};
    use trace_ingest::RecordingKind;

    use super::*;
    use crate::{ReportOf, known_sheets};

    fn finding(rule: &str, severity: Severity) -> Finding {
        let rule = RULES.iter().find(|known| known.id == rule).unwrap();
        let text = "9 of 10 are lost".to_owned();
        Finding { rule, severity, count: 9, of: Some(10), time: None, guarded: 0, first: None, text }
    }

    fn table(name: &str, columns: &[(&'static str, Unit, f64)]) -> Table {
        let column = |&(name, unit, value): &(&'static str, Unit, f64)| {
            TableColumn::new(Column::new(name, ColumnKind::Number(unit), ""), [value.into()])
        };
        Table::new(name, columns.iter().map(column).collect()).unwrap()
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
                "ops_summary",
                &[("Kernel Time", Unit::Microseconds, 1.0), ("host_us", Unit::Microseconds, 1.0)],
            ),
            table("launch_delay", &[("launch_delay_ms", Unit::Milliseconds, 1.0)]),
            table("critical_path", &[("path_us", Unit::Microseconds, 1.0)]),
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
                ("ops_summary", "Kernel Time", "Unreliable: 9 of 10 are lost (W2)."),
                ("launch_delay", "launch_delay_ms", "Unreliable: 9 of 10 are lost (C2)."),
                ("critical_path", "path_us", "Unreliable: 9 of 10 are lost (W2)."),
                ("critical_path", "path_us", "Unreliable: 9 of 10 are lost (C2)."),
            ]
        );
        // What doctor notes leaves the recording trusted.
        for harmless in [finding("O2", Severity::Info), finding("W2", Severity::Note)] {
            assert!(marked(&with(vec![harmless])).is_empty());
        }
        let tables = with(vec![finding("F1", Severity::Error)]);
        assert!(marked(&tables).is_empty());
        assert!(tables.iter().all(|table| table.caveats()[0].brief.starts_with("unreliable (F1): ")));
    }

    #[test]
    fn what_is_empty_names_the_rule_and_the_remedy() {
        let mut tables = [
            table(
                "ops_all",
                &[("GFLOPS_first", Unit::Gigaflops, f64::NAN), ("TB/s_mean", Unit::TerabytesPerSecond, 1.0)],
            ),
            Table::new("roofline", Vec::new()).unwrap(),
        ];
        let findings = vec![finding("R3", Severity::Warning)];
        let diagnosis = Diagnosis { findings, ..Diagnosis::default() };
        mark(&mut tables, &diagnosis);
        let why = "9 of 10 are lost (R3). Record with record_shapes=True.";
        let left_out = left_out(&tables, &diagnosis);
        assert_eq!(left_out.len(), 1);
        assert_eq!(
            (left_out[0].sheets.as_slice(), left_out[0].why()),
            (&["roofline_points"][..], why.to_owned())
        );
        let empty = format!("Empty: {why}");
        assert_eq!(marked(&tables), [("ops_all", "GFLOPS_first", empty.as_str())]);
        assert_eq!(tables[1].caveats()[0].text, empty);
    }

    /// Names of sheets and columns change; then so must those of the figures.
    #[test]
    fn figures_are_those_of_sheets() {
        let sheets = known_sheets();
        let of_traces: Vec<_> =
            sheets.iter().filter(|sheet| sheet.report == ReportOf::Recording(RecordingKind::Trace)).collect();
        let is_shown = |sheet: &Columns, which: Which| {
            let shown = of_traces.iter().filter(|known| sheet.is_of(&known.name));
            shown.flat_map(|known| &known.columns).any(|column| which.selects(column.name, column.kind))
        };
        let everywhere = Columns { sheet: "*", which: Which::Sheet };
        for columns in RULES.iter().flat_map(|rule| rule.harm.figures()).flat_map(|figures| figures.shown) {
            if let Which::Sheet = columns.which {
                continue;
            }
            assert!(is_shown(columns, columns.which), "{columns:?}");
            // A list may be that of several sheets, none of which has all.
            if let Which::Named(patterns) = columns.which {
                for pattern in patterns.chunks(1) {
                    assert!(is_shown(&everywhere, Which::Named(pattern)), "{pattern:?}");
                }
            }
        }
    }
}
