//! All sheets that any report may have, described without a recording.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use advise::advice_sheet;
use critical_path::{critical_path_sheets, graph_replays_sheet};
use inference_phase::sheets::phase_sheets;
use metal_perf::metal_sheets;
use multi_rank::job_sheets;
use nsys_perf::{nsys_sheets, nsys_stats_sheets};
use reference_tools::hta_sheets;
use rocprof_perf::rocprof_sheets;
use serde_json::{Value, json};
use sheets::{Column, Layout, Sheet, Unit, with_titles};
use trace_diff::{all_comparison_sheets, device_rows_sheet, tree_diff_sheets};
use trace_doctor::recording_sheet;
use trace_ingest::RecordingKind;
use trace2tree::TraceTree;
use tree_perf::{all_sheets, budget_sheets};
use xla_perf::jax_sheets;

use crate::overview;
use crate::tenstorrent::baseline_sheets;

/// What is known of a sheet without a recording.
pub struct KnownSheet {
    /// Whose report has it. Reports of several kinds may have a sheet of one name.
    pub report: ReportOf,
    /// Name in the report.
    pub name: Cow<'static, str>,
    /// Name that TraceLens gives it, where that is another.
    pub reference_name: Option<&'static str>,
    /// What one row is.
    pub description: Cow<'static, str>,
    /// All columns that it may have, in order; at the end those that only the layout of the reference tool has.
    pub columns: Vec<Column>,
    /// Whether it is a table of another tool, whose headers are the names of its columns in any layout.
    pub keeps_names: bool,
}

impl KnownSheet {
    /// What readers see above a column of it: in our own layout its title.
    #[must_use]
    pub fn title(&self, column: &Column) -> Cow<'static, str> {
        match self.keeps_names || column.only_in == Some(Layout::Listed) {
            true => column.name.into(),
            false => column.title().into(),
        }
    }

    /// Header and meaning of each of the columns, with titles where the meaning names others.
    #[must_use]
    pub fn described(&self) -> Vec<(Cow<'static, str>, String)> {
        let titles: Vec<Cow<'static, str>> = self.columns.iter().map(|column| self.title(column)).collect();
        let names = self.columns.iter().map(|column| column.name);
        let titled: Vec<(&str, &str)> = names.zip(titles.iter().map(AsRef::as_ref)).collect();
        let meaning = |column: &Column| with_titles(&column.full_description(), &titled).into_owned();
        let meanings: Vec<String> = self.columns.iter().map(meaning).collect();
        titles.into_iter().zip(meanings).collect()
    }

    /// The names of its columns by the headers that they may have: their titles and these names.
    fn names_by_header(&self) -> HashMap<Cow<'static, str>, &'static str> {
        let titled = self.columns.iter().map(|column| (self.title(column), column.name));
        let mut names: HashMap<_, _> = titled.collect();
        for column in &self.columns {
            names.entry(column.name.into()).or_insert(column.name);
        }
        names
    }

    /// Name, description and columns, each with unit and meaning; of `column` alone where one is named.
    #[must_use]
    pub fn to_json(&self, column: Option<&str>) -> Value {
        let columns = self.columns.iter().filter(|known| column.is_none_or(|name| name == known.name));
        let columns = columns.map(|column| {
            let unit = column.kind.unit().map(Unit::symbol);
            json!({
                "name": column.name, "title": self.title(column), "unit": unit, "per": column.per,
                "description": column.full_description(),
            })
        });
        let report_of = match self.report {
            ReportOf::Recording(kind) => kind.to_string(),
            ReportOf::Job => "the ranks of a job".to_owned(),
            ReportOf::Comparison => "a comparison of runs".to_owned(),
            ReportOf::Trees => "two runs whose trees are aligned".to_owned(),
        };
        json!({
            "name": self.name,
            "report_of": report_of,
            "description": self.description,
            "columns": columns.collect::<Vec<_>>(),
        })
    }
}

/// What a report is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportOf {
    /// A recording of this kind.
    Recording(RecordingKind),
    /// The ranks of a job.
    Job,
    /// Two runs side by side.
    Comparison,
    /// Two runs whose trees are aligned.
    Trees,
}

/// The sheets, report by report, in the order in which they are written.
#[must_use]
pub fn known_sheets() -> Vec<KnownSheet> {
    let overview = || vec![overview::sheet(overview::NAME)];
    let of = ReportOf::Recording;
    let mut all = known(of(RecordingKind::Trace), overview());
    all.extend(known(of(RecordingKind::Trace), vec![advice_sheet()]));
    all.extend(known(of(RecordingKind::Trace), all_sheets()));
    all.extend(known(of(RecordingKind::Trace), hta_sheets()));
    all.extend(known(of(RecordingKind::Trace), phase_sheets()));
    all.extend(known(of(RecordingKind::Trace), critical_path_sheets()));
    all.extend(known(of(RecordingKind::Trace), vec![graph_replays_sheet()]));
    all.extend(known(of(RecordingKind::Trace), vec![recording_sheet()]));
    all.extend(known(of(RecordingKind::Trace), vec![device_rows_sheet::<TraceTree>()]));
    all.extend(known(of(RecordingKind::XPlane), overview()));
    all.extend(known(of(RecordingKind::XPlane), vec![advice_sheet()]));
    all.extend(known(of(RecordingKind::XPlane), vec![overview::sheet(overview::NAME_BESIDE_ANOTHER)]));
    all.extend(known(of(RecordingKind::XPlane), jax_sheets()));
    all.extend(known(of(RecordingKind::Rocprof), overview()));
    all.extend(known(of(RecordingKind::Rocprof), vec![advice_sheet()]));
    all.extend(known(of(RecordingKind::Rocprof), rocprof_sheets()));
    all.extend(known(of(RecordingKind::Rocprof), budget_sheets()));
    all.extend(known(of(RecordingKind::Rocprof), vec![recording_sheet()]));
    all.extend(known(of(RecordingKind::Nsys), nsys_sheets()));
    all.extend(known(of(RecordingKind::Nsys), nsys_stats_sheets()));
    all.extend(known(of(RecordingKind::TenstorrentOps), overview()));
    all.extend(known(of(RecordingKind::TenstorrentOps), metal_sheets()));
    all.extend(known(of(RecordingKind::TenstorrentOps), baseline_sheets()));
    all.extend(known(ReportOf::Job, overview()));
    all.extend(known(ReportOf::Job, vec![advice_sheet()]));
    all.extend(known(ReportOf::Job, job_sheets()));
    all.extend(known(ReportOf::Comparison, overview()));
    all.extend(known(ReportOf::Comparison, all_comparison_sheets("")));
    all.extend(known(ReportOf::Trees, overview()));
    all.extend(known(ReportOf::Trees, tree_diff_sheets::<TraceTree>()));
    all
}

/// The names of a table's columns, from its headers: in a report that was read these are titles, in an older one, or one of
/// another tool, names. Several sheets may have the table's name, or none, as that of a family of an extension: the one
/// that knows most of the headers counts.
#[must_use]
pub fn column_names(table: &str, headers: Vec<String>) -> Vec<String> {
    type Names = HashMap<Cow<'static, str>, &'static str>;
    static KNOWN: LazyLock<Vec<(KnownSheet, Names)>> = LazyLock::new(|| {
        let with_names = |sheet: KnownSheet| {
            let names = sheet.names_by_header();
            (sheet, names)
        };
        known_sheets().into_iter().map(with_names).collect()
    });
    let is_named = |sheet: &KnownSheet| sheet.name == table || sheet.reference_name == Some(table);
    let is_known = KNOWN.iter().any(|(sheet, _)| is_named(sheet));
    let candidates = KNOWN.iter().filter(|(sheet, _)| !is_known || is_named(sheet));
    let counted = candidates.map(|(_, names)| {
        (headers.iter().filter(|header| names.contains_key(header.as_str())).count(), names)
    });
    let Some((_, names)) = counted.reduce(|best, next| if next.0 > best.0 { next } else { best }) else {
        return headers;
    };
    let name = |header: String| names.get(header.as_str()).map_or(header, |&name| name.to_owned());
    headers.into_iter().map(name).collect()
}

fn known<A>(report: ReportOf, sheets: Vec<Sheet<'static, A>>) -> Vec<KnownSheet> {
    let known = |sheet: Sheet<'static, A>| KnownSheet {
        report,
        columns: sheet.columns_by_role(),
        keeps_names: sheet.keeps_names,
        name: sheet.name,
        reference_name: sheet.reference_name,
        description: sheet.description,
    };
    sheets.into_iter().map(known).collect()
}

#[cfg(test)]
mod tests {
    use sheets::{ColumnKind, Role};

    use super::*;

    /// What a reader must find: charts draw what is in view, no sheet is without a name for its rows at the left, and no
    /// column of a layout stands twice.
    fn check<A>(sheets: &[Sheet<'static, A>]) {
        for sheet in sheets {
            let name = &sheet.name;
            if let Some(chart) = sheet.chart {
                let (any, numbers) = chart.columns();
                for column in any.into_iter().chain(numbers) {
                    let drawn = sheet.column(column).unwrap_or_else(|| panic!("{name}: no {column}"));
                    assert!(!drawn.role.is_folded(), "{name}: {column} is drawn and folded away");
                    assert_eq!(drawn.only_in, None, "{name}: {column}");
                }
                for column in chart.told_by {
                    assert!(sheet.column(column).is_some(), "{name}: no {column}");
                }
            }
            let columns = sheet.columns_by_role();
            assert_eq!(columns.first().map(|column| column.role), Some(Role::Name), "{name}");
            for spread in columns.iter().filter(|column| column.role == Role::Spread) {
                let figure = |column: &&Column| column.series == spread.series && column.role != spread.role;
                assert!(
                    columns.iter().any(|column| figure(&column)),
                    "{name}: {} has no figure",
                    spread.name
                );
            }
            for layout in [Layout::Roles, Layout::Listed] {
                let in_layout = |column: &&Column| column.only_in.is_none_or(|only| only == layout);
                let mut names: Vec<&str> =
                    sheet.columns.iter().filter(in_layout).map(|column| column.name).collect();
                names.sort_unstable();
                assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{name}: {names:?}");
            }
        }
    }

    #[test]
    fn columns_have_roles_that_a_reader_can_use() {
        check(&all_sheets());
        check(&hta_sheets());
        check(&phase_sheets());
        check(&critical_path_sheets());
        check(&[graph_replays_sheet()]);
        check(&tree_diff_sheets::<TraceTree>());
        check(&[device_rows_sheet::<TraceTree>()]);
        check(&jax_sheets());
        check(&rocprof_sheets());
        check(&nsys_sheets());
        check(&metal_sheets());
        check(&job_sheets());
        check(&all_comparison_sheets(""));
        check(&[overview::sheet(overview::NAME)]);
    }

    /// A figure whose name says that it is a mean or an extreme says of what, and so does how it varies.
    #[test]
    fn means_and_extremes_say_what_they_are_of() {
        const WORDS: [&str; 13] = [
            "mean", "median", "std", "stddev", "average", "avg", "med", "min", "max", "shortest", "longest",
            "smallest", "largest",
        ];
        // Of a whole, for all that they name an extreme.
        const TOTALS: [&str; 3] =
            ["duration_at_max_queue_length", "relative_duration_at_max_queue_length", "percent of max"];
        for sheet in known_sheets() {
            for column in sheet.columns.iter().filter(|column| column.kind.is_numeric()) {
                let name = column.name.to_lowercase();
                let is_statistic =
                    name.split(|c: char| !c.is_ascii_alphabetic()).any(|word| WORDS.contains(&word));
                let says = column.per.is_some()
                    || column.kind == ColumnKind::Identifier
                    || TOTALS.contains(&column.name);
                assert!(says || !is_statistic, "{}: {}", sheet.name, column.name);
                let noun = column.per.unwrap_or("call");
                assert!(noun.chars().all(|c| c.is_ascii_lowercase() || c == ' '), "{}: {noun}", sheet.name);
                let figure = |other: &&Column| other.series == column.series && other.role != Role::Spread;
                if let (Role::Spread, Some(figure)) = (column.role, sheet.columns.iter().find(figure)) {
                    let is_same = figure.per.is_none() || figure.per == column.per;
                    assert!(is_same, "{}: {} and {}", sheet.name, column.name, figure.name);
                }
            }
        }
    }

    /// No figure of our own layout stands there in µs and in ms.
    #[test]
    fn no_time_stands_in_two_units() {
        fn check<A>(sheets: &[Sheet<'static, A>]) {
            for sheet in sheets {
                let shown = |column: &&Column| column.only_in != Some(Layout::Listed);
                let names: Vec<&str> = sheet.columns.iter().filter(shown).map(|column| column.name).collect();
                for name in &names {
                    if let Some(figure) = name.strip_suffix("_ms") {
                        let twice = format!("{figure}_sum");
                        assert!(!names.contains(&twice.as_str()), "{}: {name} and {twice}", sheet.name);
                    }
                }
            }
        }
        check(&all_sheets());
        check(&hta_sheets());
        check(&phase_sheets());
        check(&jax_sheets());
        check(&rocprof_sheets());
        check(&nsys_sheets());
    }

    /// Columns with titles: those of our own layout.
    fn titled(sheet: &KnownSheet) -> impl Iterator<Item = (&Column, String)> {
        let has_title = |column: &&Column| !sheet.keeps_names && column.only_in != Some(Layout::Listed);
        sheet.columns.iter().filter(has_title).map(|column| (column, column.title()))
    }

    #[test]
    fn titles_are_in_one_style_and_tell_columns_apart() {
        for sheet in known_sheets() {
            let mut seen = HashMap::new();
            for (column, title) in titled(&sheet) {
                let of = format!("{}: {} is {title:?}", sheet.name, column.name);
                // Texts may be of a unit, too: ranges.
                let named_unit = column.name.split_once(" (").and_then(|(_, unit)| unit.strip_suffix(')'));
                let unit = column.kind.unit().map_or(named_unit, |unit| Some(unit.symbol()));
                let unit = unit.filter(|&unit| unit != Unit::One.symbol());
                let bracket = unit.map(|unit| format!(" ({unit})")).unwrap_or_default();
                let plain = title.strip_suffix(&bracket).unwrap_or_else(|| panic!("{of}, without its unit"));
                assert!(!plain.contains(['(', '_', '#']), "{of}");
                assert!(!plain.is_empty() && plain.trim() == plain && !plain.contains("  "), "{of}");
                for word in plain.split(' ') {
                    assert!(!["us", "ms", "ns", "pct", "percent", "avg", "num"].contains(&word), "{of}");
                    assert!(unit != Some(word), "{of}, its unit twice");
                    let mut letters = word.chars();
                    let is_capital = letters.next().is_some_and(char::is_uppercase);
                    let is_ordinary = letters.clone().count() > 1 && letters.all(char::is_lowercase);
                    assert!(!(is_capital && is_ordinary), "{of}");
                }
                if let Some(other) = seen.insert(title, column.name) {
                    panic!("{of}, and so is {other}");
                }
            }
        }
    }

    /// A report that was written and one of an earlier version read alike.
    #[test]
    fn headers_are_read_as_names() {
        for sheet in known_sheets() {
            let names: Vec<String> = titled(&sheet).map(|(column, _)| column.name.to_owned()).collect();
            let titles: Vec<String> = titled(&sheet).map(|(_, title)| title).collect();
            assert_eq!(column_names(&sheet.name, titles), names, "{}", sheet.name);
            assert_eq!(column_names(&sheet.name, names.clone()), names, "{}", sheet.name);
        }
        let family_columns = ["name", "kernel time (µs)", "mine", "param: M"].map(str::to_owned);
        let names = column_names("MyFamily_fwd", family_columns.into());
        assert_eq!(names, ["name", "Kernel Time (µs)_sum", "mine", "param: M"]);
    }
}
