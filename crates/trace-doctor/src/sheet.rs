//! The sheet of a recording's findings.

use sheets::{Column, ColumnKind, Role, Sheet, Unit};
use trace_ingest::TimeUnit;

use crate::diagnosis::{Diagnosis, SHEET_NAME};
use crate::finding::Finding;

/// One row per finding, the worst first. A recording without findings has no such sheet.
#[must_use]
pub fn recording_sheet<'a>() -> Sheet<'a, Diagnosis> {
    let fields = [
        Column::text("rule", "Code of the rule; its letter names the area: F file, R recorded content, W window, L loss, C clocks, S streams, I ids, O overhead, N names, P .pftrace.")
            .field_in(|_: &TimeUnit, finding: &&Finding| finding.rule.id.into()),
        Column::text(
            "severity",
            "error: figures are wrong. warning: some figures are unreliable. note: sheets are empty or partial. info: good to know.",
        )
        .field_in(|_, finding: &&Finding| finding.severity.as_str().into()),
        Column::text("finding", "Problem with the recording.")
            .field_in(|_, finding: &&Finding| finding.text.as_str().into()),
        Column::text("remedy", "Remedy.").field_in(|_, finding: &&Finding| finding.remedy.into()),
        Column::names("spoils", "Sheets and figures that are unreliable or missing as a result.").field_in(
            |_, finding: &&Finding| {
                let names = finding.rule.spoils().map(|name| sheets::Nested::Text(name.to_owned()));
                sheets::Nested::List(names.collect()).into()
            },
        ),
        Column::count("count", "Number of affected events, ids or calls.")
            .field_in(|_, finding: &&Finding| finding.count.into()),
        Column::count("of", "Total number of events, ids or calls of this kind, affected or not.")
            .with_role(Role::Detail)
            .field_in(|_, finding: &&Finding| finding.of.into()),
        Column::new("time_ms", ColumnKind::Number(Unit::Milliseconds), "Affected time, if the rule measures it.")
            .with_role(Role::Detail)
            .field_in(|unit: &TimeUnit, finding: &&Finding| {
                finding.time.map(|time| unit.to_milliseconds(time)).into()
            }),
        Column::count("guarded", "Number of similar cases with a harmless explanation.")
            .with_role(Role::Detail)
            .field_in(|_, finding: &&Finding| finding.guarded.into()),
        Column::identifier("first_UID", "Index of the earliest affected event in the file's event list.")
            .with_role(Role::Provenance)
            .field_in(|_, finding: &&Finding| finding.first.map(|place| place.uid).into()),
    ];
    Sheet::with_context(
        SHEET_NAME,
        "Problems with the recording, gaps in it, and the figures they distort: one row per finding, worst first.",
        fields,
        |diagnosis: &Diagnosis| {
            let findings: Vec<&Finding> = diagnosis.findings.iter().collect();
            (!findings.is_empty()).then_some((diagnosis.time_unit, findings))
        },
    )
}
