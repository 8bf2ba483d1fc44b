//! Tables of two reports joined by key.

use gpu_timeline::{SortFew, likeness, median};
use indexmap::IndexMap;
use indexmap::map::Entry;
use sheets::{Cell, Table, TableColumn, columns, names};

use crate::keys::KeyKind;
use crate::names::NameClasses;
use crate::repeated::{Repeated, RepeatedPart};
use crate::rules::{ALIKE_WITHOUT, PARAMETER, RATES, Rule, STEPS, Subject, may_be_absent, rule_of};

/// A report that is compared.
#[derive(Clone, Debug)]
pub struct Side {
    /// What the run is called.
    pub name: String,
    /// The tables of its report.
    pub tables: Vec<Table>,
    /// Steps of the program in it, where that is not for the tables to say.
    pub steps: Option<u64>,
    /// What its recording repeats; empty of a report that was written before.
    pub repeated: Vec<Repeated>,
}

impl Side {
    /// How many steps the program recorded or named; `None` where steps were only inferred, or none is whole. Those that the
    /// recording cuts count by their time.
    fn recorded_steps(&self) -> Option<u64> {
        let table = |name: &str| self.tables.iter().find(|table| table.name() == name);
        let each = table(names::ITERATIONS).filter(|table| table.column("state").is_some());
        let table = each.or_else(|| table(STEPS))?;
        let column = |name: &str| table.column(name);
        let (level, source) = (column("level")?, column("source")?);
        const RECORDED: [&str; 2] = ["recorded steps", "annotations"];
        let is_step = |row: &usize| {
            level.cell(*row) == level.cell(0) && RECORDED.contains(&source.cell(*row).text().as_ref())
        };
        let rows = (0..table.height()).filter(is_step);
        let Some((state, duration)) = column("state").zip(column(columns::ITERATION_DURATION.name)) else {
            let iterations = column("iterations")?;
            let sum: f64 = rows.filter_map(|row| number(&iterations.cell(row))).sum();
            return (sum >= 1.0).then_some(sum as u64);
        };
        let (partial, whole): (Vec<usize>, Vec<usize>) =
            rows.partition(|&row| state.cell(row).text() == "partial");
        let nanoseconds = |row: &usize| Some((number(&duration.cell(*row))? * 1e6).round() as i64);
        let mut times: Vec<i64> = whole.iter().filter_map(nanoseconds).collect();
        let median = median(&mut times).filter(|&median| median > 0.0)?;
        let cut: i64 = partial.iter().filter_map(nanoseconds).sum();
        Some(whole.len() as u64 + (cut as f64 / median).round() as u64)
    }
}

/// How runs are compared.
#[derive(Clone, Debug, Default)]
pub struct CompareOptions {
    /// Operators that do the same work.
    pub names: NameClasses,
    /// Names of the tables that are compared; all where none is named.
    pub sheets: Vec<String>,
}

/// Two runs side by side: A, the baseline, and B.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Names of A and B.
    pub names: [String; 2],
    /// Steps by which times and calls are divided; `None` where they are those of the whole recordings.
    pub steps: Option<[u64; 2]>,
    /// Whether the runs have other numbers of calls of what both do, and steps are not known: the recordings are cut differently.
    /// Times are those of a call then, and there is no timeline.
    pub is_cut_differently: bool,
    /// What both repeat, with the time of one, where the recordings are cut differently.
    pub repeated: Vec<RepeatedPart>,
    /// The tables, the whole before its parts.
    pub tables: Vec<Joined>,
    /// What a reader has to know.
    pub notices: Vec<CompareNotice>,
}

/// A table of both runs.
#[derive(Clone, Debug)]
pub struct Joined {
    /// Its name.
    pub sheet: String,
    /// What its rows are about.
    pub subject: Subject,
    /// Headers of the keys.
    pub keys: Vec<String>,
    /// The rows, the largest change first.
    pub rows: Vec<Row>,
    /// Sums of A and of B over the rows; of a timeline its whole span.
    pub totals: [Figures; 2],
    /// How alike the calls of both runs are, as [`gpu_timeline::likeness`] says; strides and values of arguments do not count. `None`
    /// where a report does not count calls.
    pub likeness: Option<f64>,
    pub(crate) rule: &'static Rule,
}

/// A row of A, of B, or of both.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Cells of the keys, as A has them, or else B.
    pub keys: Vec<Option<String>>,
    /// Which runs have it.
    pub status: Status,
    /// Figures of A and of B; those of a run that lacks the row are zero.
    pub figures: [Figures; 2],
}

/// Which runs have a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Both, and how their rows were found to be the same.
    Both(Match),
    /// A alone.
    Gone,
    /// B alone.
    New,
}

/// How rows of two reports were found to be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Match {
    /// Their keys are equal.
    Exact,
    /// Their operators have different names and do the same work.
    SameWork,
    /// Their keys are equal but for the strides of the inputs.
    Relaxed,
}

impl Status {
    /// In a word: `both`, `gone`, `new`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Both(_) => "both",
            Status::Gone => "gone",
            Status::New => "new",
        }
    }
}

impl Match {
    /// In words; empty for equal keys.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Match::Exact => "",
            Match::SameWork => "same work, different name",
            Match::Relaxed => "relaxed: different strides",
        }
    }
}

/// Figures of a run in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Time in µs, divided by the steps where these are known of both runs; of a call in recordings that are cut differently.
    pub time_us: f64,
    /// Calls, divided likewise; `None` where the report does not count them.
    pub calls: Option<f64>,
    /// Mean time of a call in µs.
    pub mean_us: Option<f64>,
    /// Standard deviation of a sample (n − 1) of the same, pooled over the rows of the report.
    pub std_us: Option<f64>,
    /// Least time of a call in µs.
    pub min_us: Option<f64>,
    /// Largest time of a call in µs.
    pub max_us: Option<f64>,
    /// Means over calls of the achieved rates in TFLOP/s and TB/s.
    pub rates: [Option<f64>; 2],
}

impl Row {
    /// Time of B less that of A, in µs: above zero what takes longer.
    #[must_use]
    pub fn delta_us(&self) -> f64 {
        self.figures[1].time_us - self.figures[0].time_us
    }

    /// That, of the time of A, in percent; `None` where A has none.
    #[must_use]
    pub fn delta_percent(&self) -> Option<f64> {
        percent(self.delta_us(), self.figures[0].time_us)
    }

    /// Time of A over that of B: above 1 what is faster in B.
    #[must_use]
    pub fn speedup(&self) -> Option<f64> {
        speedup(&self.figures)
    }

    /// Whether the means of a call differ by less than one percent, or by less than two standard errors (Welch); without their
    /// deviations only by the first.
    #[must_use]
    pub fn is_noise(&self) -> bool {
        const LEAST_SHARE: f64 = 0.01;
        const LEAST_ERRORS: f64 = 2.0;
        let [Some(a), Some(b)] = self.figures.map(|figures| figures.mean_us) else { return false };
        let difference = (b - a).abs();
        let variances = self.figures.map(|figures| Some(figures.std_us?.powi(2) / figures.calls?));
        let error = variances[0].zip(variances[1]).map(|(a, b)| (a + b).sqrt());
        difference < LEAST_SHARE * a || error.is_some_and(|error| difference < LEAST_ERRORS * error)
    }

    /// The first key, such as the name of an operator.
    #[must_use]
    pub fn name(&self) -> &str {
        self.keys.first().and_then(Option::as_deref).unwrap_or_default()
    }
}

impl Joined {
    /// Makes the times those of a call. What changes most where both runs have as many calls as A comes first, what one of
    /// them lacks last.
    fn per_call(&mut self) {
        let weight = |row: &Row| {
            let calls = row.figures[0].calls.unwrap_or_default();
            if matches!(row.status, Status::Both(_)) { row.delta_us().abs() * calls } else { -1.0 }
        };
        for row in &mut self.rows {
            for figures in &mut row.figures {
                figures.time_us = figures.mean_us.unwrap_or_default();
            }
        }
        self.rows.sort_by(|one, other| weight(other).total_cmp(&weight(one)));
        self.totals = Default::default();
    }

    /// Time of B less that of A over all rows, in µs.
    #[must_use]
    pub fn gap_us(&self) -> f64 {
        self.totals[1].time_us - self.totals[0].time_us
    }

    /// Time of A over that of B, over all rows.
    #[must_use]
    pub fn speedup(&self) -> Option<f64> {
        speedup(&self.totals)
    }
}

/// Time of A over that of B, where both have some.
pub(crate) fn speedup([a, b]: &[Figures; 2]) -> Option<f64> {
    (a.time_us > 0.0 && b.time_us > 0.0).then(|| a.time_us / b.time_us)
}

/// `part / whole * 100`; `None` without a whole.
pub(crate) fn percent(part: f64, whole: f64) -> Option<f64> {
    (whole != 0.0).then(|| part / whole * 100.0)
}

impl Comparison {
    /// The first table about a subject.
    #[must_use]
    pub fn about(&self, subject: Subject) -> Option<&Joined> {
        self.tables.iter().find(|table| table.subject == subject)
    }

    /// The table that says best what became slower or faster: operators, or else kernels.
    #[must_use]
    pub fn main_table(&self) -> Option<&Joined> {
        let order = [Subject::Operator, Subject::Kernel, Subject::Call, Subject::Category];
        order.into_iter().find_map(|subject| self.about(subject))
    }

    /// The table whose rows are ranked. Of recordings that are cut differently those are calls with their types and shapes: the
    /// mean over all shapes of an operator differs for what one of them has beyond the cut of the other.
    #[must_use]
    pub fn ranked_table(&self) -> Option<&Joined> {
        let calls = self.about(Subject::Call).filter(|_| self.is_cut_differently);
        calls.or_else(|| self.main_table())
    }

    /// The table that says best how alike the programs of the runs are: calls with their types and shapes, or else
    /// operators or kernels by name.
    #[must_use]
    pub fn likeness(&self) -> Option<(f64, &Joined)> {
        let order = [Subject::Call, Subject::Operator, Subject::Kernel];
        let mut tables = order
            .into_iter()
            .flat_map(|subject| self.tables.iter().filter(move |one| one.subject == subject));
        tables.find_map(|table| Some((table.likeness?, table)))
    }

    /// The row of the timeline that is the whole span.
    #[must_use]
    pub fn span(&self) -> Option<&Row> {
        self.part_of_timeline(TOTAL)
    }

    /// A row of the timeline by the kind of time.
    #[must_use]
    pub fn part_of_timeline(&self, kind: &str) -> Option<&Row> {
        self.about(Subject::Timeline)?.rows.iter().find(|row| row.name() == kind)
    }

    /// What changes are held against, in µs of A: the whole span, or else the sum of the main table.
    #[must_use]
    pub fn whole_us(&self) -> f64 {
        let span = self.span().map(|row| row.figures[0].time_us).filter(|&span| span > 0.0);
        span.or_else(|| self.main_table().map(|table| table.totals[0].time_us)).unwrap_or_default()
    }
}

/// The kind of time that is the whole span of the timeline.
pub(crate) const TOTAL: &str = "total_time";

/// What a reader of a comparison has to know.
#[derive(Clone, Debug, PartialEq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum CompareNotice {
    /// A table that one of the reports lacks is left out.
    #[error("{sheet} is omitted: only the report of {run} has it")]
    #[diagnostic(code("comparison/only-in"), severity(Warning))]
    OnlyIn {
        /// The table.
        sheet: String,
        /// The run whose report has it.
        run: String,
    },
    /// A report lacks a key, so the rows of both are joined without.
    #[error("{sheet} is joined without `{key}`, which the report of {run} lacks")]
    #[diagnostic(code("comparison/without-key"), severity(Warning))]
    WithoutKey {
        /// The table.
        sheet: String,
        /// The column.
        key: String,
        /// The run whose report lacks it.
        run: String,
    },
    /// No column of a table is a time that both reports have.
    #[error("{sheet} is omitted: the reports have no time column in common")]
    #[diagnostic(code("comparison/no-time"), severity(Warning))]
    NoTime {
        /// The table.
        sheet: String,
    },
    /// The numbers of calls differ by one factor.
    #[error("the recordings cover different amounts of work: {} makes {factor:.3} times as many calls of each operator as {}, and steps are unknown; times are per call and per layer", .runs[1], .runs[0])]
    #[diagnostic(code("comparison/one-factor"), severity(Warning))]
    OneFactor {
        /// Calls in B for one in A.
        factor: f64,
        /// Names of A and B.
        runs: [String; 2],
    },
    /// Most of what both runs call they call another number of times.
    #[error("the recordings cover different amounts of work: {} and {} call most shared operators a different number of times, and steps are unknown; times are per call and per layer", .runs[0], .runs[1])]
    #[diagnostic(code("comparison/cut-differently"), severity(Warning))]
    CutDifferently {
        /// Names of A and B.
        runs: [String; 2],
    },
    /// Most of what one run calls the other does not.
    #[error("only {:.1}% of the calls in {sheet} occur in both runs: these may be different programs", .likeness * 100.0)]
    #[diagnostic(code("comparison/little-in-common"), severity(Warning))]
    LittleInCommon {
        /// How alike the runs are, as [`gpu_timeline::likeness`] says.
        likeness: f64,
        /// The table that says so.
        sheet: String,
    },
}

/// Compares the reports of two runs. Without a table that both have there is none in the comparison.
#[must_use]
pub fn compare(a: &Side, b: &Side, options: &CompareOptions) -> Comparison {
    let steps = |side: &Side| side.steps.or_else(|| side.recorded_steps());
    let known = steps(a).zip(steps(b)).map(|(a, b)| [a.max(1), b.max(1)]);
    // A single step of both is the whole of both.
    let steps = known.filter(|steps| *steps != [1, 1]);
    let mut comparison = Comparison {
        names: [a.name.clone(), b.name.clone()],
        steps,
        is_cut_differently: false,
        repeated: Vec::new(),
        tables: Vec::new(),
        notices: Vec::new(),
    };
    let [in_a, in_b] = [comparable(a, options), comparable(b, options)];
    let only_in_b = in_b.iter().filter(|table| !in_a.iter().any(|known| known.title == table.title));
    let mut any_in_both = false;
    for one in in_a.iter().chain(only_in_b) {
        let pair = [&in_a, &in_b]
            .map(|tables| tables.iter().find(|table| table.title == one.title).map(|one| one.table));
        if let ([None, Some(_)], false) | ([Some(_), None], false) =
            (pair, may_be_absent(&one.title, one.rule))
        {
            let run = comparison.names[usize::from(pair[0].is_none())].clone();
            comparison.notices.push(CompareNotice::OnlyIn { sheet: one.title.clone(), run });
            continue;
        }
        any_in_both |= matches!(pair, [Some(_), Some(_)]);
        let joining = Joining { sheet: &one.title, rule: one.rule, names: &options.names };
        joining.join(pair, &mut comparison);
    }
    if !any_in_both {
        // Reports of different programs or recorders: there is nothing beside which what one alone has could stand.
        comparison.tables.clear();
    }
    comparison.tables.sort_few_by_key(|table| table.subject as u8);
    // Other numbers of steps make other numbers of calls, of one program, too.
    let one_factor = one_factor(&comparison).filter(|_| known.is_none());
    comparison.is_cut_differently =
        one_factor.is_some() || (known.is_none() && has_different_call_counts(&comparison));
    let cut = one_factor.or_else(|| {
        let runs = comparison.names.clone();
        comparison.is_cut_differently.then_some(CompareNotice::CutDifferently { runs })
    });
    let notice = cut.or_else(|| little_in_common(&comparison));
    comparison.notices.extend(notice);
    if comparison.is_cut_differently {
        comparison.tables.retain(|table| table.subject != Subject::Timeline);
        comparison.tables.iter_mut().for_each(Joined::per_call);
        comparison.repeated = RepeatedPart::pairs([&a.repeated, &b.repeated], &options.names);
    }
    comparison
}

fn has_different_call_counts(comparison: &Comparison) -> bool {
    let rows = comparison.main_table().map(|table| &*table.rows).unwrap_or_default();
    mostly_differs(rows.iter().map(|Row { figures: [a, b], status, .. }| {
        let calls = a.calls.zip(b.calls).filter(|_| matches!(status, Status::Both(_)));
        (a.time_us + b.time_us, calls.map(|(calls_a, calls_b)| calls_a != calls_b))
    }))
}

/// Whether runs have most in common, by its time, and most of that differs in the number of calls. Of each part its time
/// in both runs, and whether the numbers differ; `None` of what one run lacks.
pub(crate) fn mostly_differs(parts: impl Iterator<Item = (f64, Option<bool>)>) -> bool {
    const MOST: f64 = 0.5;
    let (mut all, mut shared, mut differing) = (0.0, 0.0, 0.0);
    for (time, differs) in parts {
        all += time;
        shared += if differs.is_some() { time } else { 0.0 };
        differing += if differs == Some(true) { time } else { 0.0 };
    }
    shared > MOST * all && differing > MOST * shared
}

/// A table that is compared.
struct Comparable<'a> {
    title: String,
    rule: &'static Rule,
    table: &'a Table,
}

/// The tables of a report that are compared, one for each title.
fn comparable<'a>(side: &'a Side, options: &CompareOptions) -> Vec<Comparable<'a>> {
    let mut tables: Vec<Comparable<'a>> = Vec::new();
    for table in &side.tables {
        let headers = table.columns().iter().map(TableColumn::name);
        let Some((title, rule)) = rule_of(table.name(), headers) else { continue };
        let is_asked = options.sheets.is_empty() || options.sheets.contains(&title);
        let place = |table: &Table| rule.sheets.iter().position(|sheet| *sheet == table.name());
        match tables.iter_mut().find(|known| known.title == title) {
            _ if !is_asked => {}
            None => tables.push(Comparable { title, rule, table }),
            Some(known) if place(table) > place(known.table) => known.table = table,
            Some(_) => {}
        }
    }
    tables
}

struct Joining<'a> {
    sheet: &'a str,
    rule: &'static Rule,
    names: &'a NameClasses,
}

impl Joining<'_> {
    fn join(&self, pair: [Option<&Table>; 2], comparison: &mut Comparison) {
        let sheet = || self.sheet.to_owned();
        // A table without columns is one without rows.
        let pair = pair.map(|table| table.filter(|table| !table.columns().is_empty()));
        let keys = self.keys(pair, comparison);
        let Some(keys) = keys else {
            comparison.notices.push(CompareNotice::NoTime { sheet: sheet() });
            return;
        };
        let Some(times) = self.times(pair) else {
            comparison.notices.push(CompareNotice::NoTime { sheet: sheet() });
            return;
        };
        let mut sides = [Vec::new(), Vec::new()];
        for (position, groups) in sides.iter_mut().enumerate() {
            let steps = comparison.steps.map_or(1.0, |steps| steps[position] as f64);
            if let (Some(table), Some(time)) = (pair[position], times[position]) {
                *groups = self.groups(table, &keys, time, steps);
            }
        }
        let totals = [&sides[0], &sides[1]].map(|groups| {
            let mut total = Sum::default();
            groups.iter().for_each(|group| total.add(&group.sum));
            total.figures()
        });
        let likeness = self.likeness(&sides, &keys);
        let [a, b] = sides;
        let mut rows = pair_up(a, b, keys.iter().position(|key| Some(&*key.header) == self.rule.relaxed));
        rows.sort_few_by(|one, other| {
            let change = |row: &Row| row.delta_us().abs();
            change(other).total_cmp(&change(one)).then_with(|| one.keys.cmp(&other.keys))
        });
        let keys = keys.into_iter().map(|key| key.header).collect();
        let subject = self.rule.subject;
        let totals = match subject {
            // Its rows are the whole and parts of it.
            Subject::Timeline => {
                rows.iter().find(|row| row.name() == TOTAL).map_or_else(Default::default, |row| row.figures)
            }
            _ => totals,
        };
        let (sheet, rule) = (sheet(), self.rule);
        comparison.tables.push(Joined { sheet, subject, keys, rows, totals, likeness, rule });
    }

    /// How alike the calls are by the keys that say what is computed. `None` where a row has no number of calls.
    fn likeness(&self, sides: &[Vec<Group>; 2], keys: &[KeyColumn]) -> Option<f64> {
        let counts = |group: &Group| group.sum.counts_calls;
        if !sides.iter().flatten().all(counts) {
            return None;
        }
        let says = |key: &KeyColumn| !ALIKE_WITHOUT.contains(&&*key.header);
        let calls = |group: &Group| {
            let key: Key = group
                .key
                .iter()
                .zip(keys)
                .filter(|(_, key)| says(key))
                .map(|(cell, _)| cell.clone())
                .collect();
            (key, group.sum.calls / group.sum.steps)
        };
        let [a, b] = sides;
        likeness(a.iter().map(calls), b.iter().map(calls))
    }

    /// The keys that both tables have; `None` without the first of them, which all others only refine.
    fn keys(&self, pair: [Option<&Table>; 2], comparison: &mut Comparison) -> Option<Vec<KeyColumn>> {
        let mut keys = Vec::new();
        let parameters = pair.into_iter().flatten().flat_map(Table::columns).map(TableColumn::name);
        let mut parameters: Vec<&str> = parameters.filter(|name| name.starts_with(PARAMETER)).collect();
        parameters.sort_few();
        parameters.dedup();
        let mut known: Vec<(Vec<&str>, KeyKind)> =
            self.rule.keys.iter().map(|(names, kind)| (names.to_vec(), *kind)).collect();
        if self.rule.subject == Subject::Model {
            if parameters.is_empty() {
                known.push((vec![columns::ARGUMENTS_OF_FIRST[0].name], KeyKind::Literal));
            }
            known.extend(parameters.into_iter().map(|name| (vec![name], KeyKind::Literal)));
        }
        for (position, (names, kind)) in known.into_iter().enumerate() {
            let of = |table: Option<&Table>| {
                table.map(|table| {
                    names.iter().find(|name| table.column(name).is_some()).map(|name| (*name).to_owned())
                })
            };
            let found = pair.map(of);
            match found {
                [Some(None), Some(None)] | [Some(None), None] | [None, Some(None)] if position > 0 => {}
                [a, b] if a != Some(None) && b != Some(None) => {
                    keys.push(KeyColumn {
                        header: names[0].to_owned(),
                        headers: [a.flatten(), b.flatten()],
                        kind,
                    });
                }
                [a, _] if position > 0 => {
                    let run = comparison.names[usize::from(a != Some(None))].clone();
                    let (sheet, key) = (self.sheet.to_owned(), names[0].to_owned());
                    comparison.notices.push(CompareNotice::WithoutKey { sheet, key, run });
                }
                _ => return None,
            }
        }
        Some(keys)
    }

    /// The columns of times, of one quantity in both tables.
    fn times(&self, pair: [Option<&Table>; 2]) -> Option<[Option<(&'static str, f64)>; 2]> {
        let is_time =
            |table: &Table, name: &str| table.column(name).is_some_and(|column| column.kind().is_numeric());
        let is_host = |name: &str| name.starts_with("host_");
        let of = |table: Option<&Table>, host: bool| {
            let mut times = self.rule.times.iter().filter(|(name, _)| is_host(name) == host);
            table.map(|table| times.find(|(name, _)| is_time(table, name)).copied())
        };
        [false, true].into_iter().find_map(|host| {
            let times = pair.map(|table| of(table, host));
            times.iter().all(|time| *time != Some(None)).then(|| times.map(Option::flatten))
        })
    }

    /// The rows of a table with equal keys as one, in the order of the table.
    fn groups(&self, table: &Table, keys: &[KeyColumn], time: (&str, f64), steps: f64) -> Vec<Group> {
        let first = |names: &[&str]| names.iter().find_map(|name| table.column(name));
        let columns: Vec<(Option<&TableColumn>, KeyKind)> = keys
            .iter()
            .map(|key| (key.headers.iter().flatten().find_map(|name| table.column(name)), key.kind))
            .collect();
        let (time, unit) = (table.column(time.0), time.1);
        let calls = first(self.rule.calls);
        let spread = self.rule.spread.map(first);
        let rates = RATES.map(|name| table.column(name));
        let figure = |column: Option<&TableColumn>, row: usize| {
            column.and_then(|column| number(&column.cell(row))).filter(|value| value.is_finite())
        };
        let mut groups: IndexMap<Key, Group> = IndexMap::new();
        for row in 0..table.height() {
            let cell = |column: Option<&TableColumn>| match column.map(|column| column.cell(row)) {
                None | Some(Cell::Missing) => None,
                Some(cell) => Some(cell.text().into_owned()),
            };
            let cells: Vec<Option<String>> = columns.iter().map(|(column, _)| cell(*column)).collect();
            let normal = |(text, (_, kind)): (&Option<String>, &(_, KeyKind))| {
                text.as_ref().map(|text| kind.normal_form(text, self.names))
            };
            let key: Key = cells.iter().zip(&columns).map(normal).collect();
            let calls_of_row = match calls {
                Some(_) => figure(calls, row),
                // A table with a row per call.
                None if self.rule.calls.is_empty() && self.rule.subject != Subject::Timeline => Some(1.0),
                None => None,
            };
            let mut sum = Sum::new(figure(time, row).unwrap_or_default() * unit, calls_of_row, steps);
            sum.set_spread(spread.map(|column| figure(column, row)));
            sum.set_rates(rates.map(|column| figure(column, row)));
            match groups.entry(key) {
                Entry::Occupied(mut group) => group.get_mut().sum.add(&sum),
                Entry::Vacant(place) => {
                    let key = place.key().clone();
                    place.insert(Group { cells, key, sum });
                }
            }
        }
        groups.into_values().collect()
    }
}

/// A key column, which the two reports may name differently.
struct KeyColumn {
    /// Its header in the comparison.
    header: String,
    /// Its headers in the reports; `None` in one without the table.
    headers: [Option<String>; 2],
    kind: KeyKind,
}

/// Cells of the keys in their normal form.
type Key = Vec<Option<String>>;

/// Rows of one report with one key.
#[derive(Clone)]
struct Group {
    /// The cells as the first of the rows has them.
    cells: Vec<Option<String>>,
    key: Key,
    sum: Sum,
}

impl Group {
    /// One group for two that differ in the key `relaxed`; its cell is empty.
    fn merged(mut self, other: Group, relaxed: usize) -> Self {
        self.sum.add(&other.sum);
        self.cells[relaxed] = None;
        self
    }
}

/// Puts the groups of two reports together: equal keys first, then those left over without the key `relaxed`.
fn pair_up(a: Vec<Group>, b: Vec<Group>, relaxed: Option<usize>) -> Vec<Row> {
    let mut unmatched: IndexMap<Key, Group> = b.into_iter().map(|group| (group.key.clone(), group)).collect();
    let (mut rows, mut gone) = (Vec::new(), Vec::new());
    for group in a {
        match unmatched.swap_remove(&group.key) {
            None => gone.push(group),
            Some(other) => {
                let is_same = group.cells.first() == other.cells.first();
                rows.push(in_both(group, other, if is_same { Match::Exact } else { Match::SameWork }));
            }
        }
    }
    let mut new: Vec<Group> = unmatched.into_values().collect();
    if let Some(relaxed) = relaxed {
        let mut left: IndexMap<Key, [Vec<Group>; 2]> = IndexMap::new();
        for (side, groups) in [&mut gone, &mut new].into_iter().enumerate() {
            for group in groups.drain(..) {
                let mut key = group.key.clone();
                key.remove(relaxed);
                left.entry(key).or_default()[side].push(group);
            }
        }
        for [groups_a, groups_b] in left.into_values() {
            let merged =
                |groups: &[Group]| groups.iter().cloned().reduce(|one, other| one.merged(other, relaxed));
            match (merged(&groups_a), merged(&groups_b)) {
                (Some(one), Some(other)) => rows.push(in_both(one, other, Match::Relaxed)),
                _ => {
                    gone.extend(groups_a);
                    new.extend(groups_b);
                }
            }
        }
    }
    let none = Figures::default();
    rows.extend(gone.into_iter().map(|Group { cells, sum, .. }| Row {
        keys: cells,
        status: Status::Gone,
        figures: [sum.figures(), none],
    }));
    rows.extend(new.into_iter().map(|Group { cells, sum, .. }| Row {
        keys: cells,
        status: Status::New,
        figures: [none, sum.figures()],
    }));
    rows
}

fn in_both(a: Group, b: Group, matched: Match) -> Row {
    let figures = [a.sum.figures(), b.sum.figures()];
    let mut keys = a.cells;
    // Names that stand for the same work are both shown; other keys are those of A.
    if let (Some(Some(name)), Some(Some(other))) = (keys.first_mut(), b.cells.first())
        && name != other
    {
        *name = format!("{name} → {other}");
    }
    Row { keys, status: Status::Both(matched), figures }
}

/// Sums over rows of a report.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    time_us: f64,
    /// Calls as counted, and time as summed, of all steps.
    calls: f64,
    all_time_us: f64,
    counts_calls: bool,
    steps: f64,
    min_us: Option<f64>,
    max_us: Option<f64>,
    /// Sum of squared deviations from the mean; `None` where a row does not say.
    squares: Option<f64>,
    /// Σ rate × calls, and the calls with a rate.
    rates: [(f64, f64); 2],
}

impl Sum {
    fn new(time_us: f64, calls: Option<f64>, steps: f64) -> Self {
        let counts_calls = calls.is_some();
        let calls = calls.unwrap_or_default();
        Sum { time_us: time_us / steps, all_time_us: time_us, calls, counts_calls, steps, ..Sum::default() }
    }

    /// Mean, standard deviation, least and largest time of the calls of a row.
    fn set_spread(&mut self, [_, std, min, max]: [Option<f64>; 4]) {
        (self.min_us, self.max_us) = (min, max);
        self.squares = match (self.calls, std) {
            // One call has no deviation.
            (1.0, None) => Some(0.0),
            (calls, Some(std)) if calls > 1.0 => Some(std * std * (calls - 1.0)),
            _ => None,
        };
    }

    fn set_rates(&mut self, rates: [Option<f64>; 2]) {
        let weight = if self.counts_calls { self.calls } else { 1.0 };
        self.rates = rates.map(|rate| rate.map_or((0.0, 0.0), |rate| (rate * weight, weight)));
    }

    fn add(&mut self, other: &Sum) {
        if self.steps == 0.0 {
            *self = *other;
            return;
        }
        // Sums of squares about two means, brought to the common one.
        let between = |(n, sum): (f64, f64), (m, other): (f64, f64)| {
            let apart = other / m - sum / n;
            apart * apart * n * m / (n + m)
        };
        self.squares = self.squares.zip(other.squares).filter(|_| self.calls > 0.0 && other.calls > 0.0).map(
            |(one, another)| {
                one + another + between((self.calls, self.all_time_us), (other.calls, other.all_time_us))
            },
        );
        self.time_us += other.time_us;
        self.all_time_us += other.all_time_us;
        self.calls += other.calls;
        self.counts_calls &= other.counts_calls;
        self.min_us = self.min_us.zip(other.min_us).map(|(one, another)| one.min(another));
        self.max_us = self.max_us.zip(other.max_us).map(|(one, another)| one.max(another));
        for (sum, other) in self.rates.iter_mut().zip(other.rates) {
            *sum = (sum.0 + other.0, sum.1 + other.1);
        }
    }

    fn figures(&self) -> Figures {
        let counts = self.counts_calls && self.calls > 0.0;
        let squares = self.squares.filter(|_| counts && self.calls > 1.0);
        Figures {
            time_us: self.time_us,
            calls: self.counts_calls.then(|| self.calls / self.steps),
            mean_us: counts.then(|| self.all_time_us / self.calls),
            std_us: squares.map(|squares| (squares / (self.calls - 1.0)).sqrt()),
            min_us: self.min_us,
            max_us: self.max_us,
            rates: self.rates.map(|(sum, weight)| (weight > 0.0).then(|| sum / weight)),
        }
    }
}

fn number(cell: &Cell<'_>) -> Option<f64> {
    match cell {
        Cell::Whole(value) => Some(*value as f64),
        Cell::Number(value) => Some(*value),
        _ => None,
    }
}

/// Says where most operators of both runs are called so many times as often in B as in A.
fn one_factor(comparison: &Comparison) -> Option<CompareNotice> {
    /// Share of the operators that have the factor.
    const MOST: f64 = 0.8;
    const LEAST_OPERATORS: usize = 3;
    if comparison.steps.is_some() {
        return None;
    }
    let table = comparison.main_table()?;
    let factor = |row: &Row| Some(row.figures[1].calls? / row.figures[0].calls.filter(|&calls| calls > 0.0)?);
    let in_both = table.rows.iter().filter(|row| matches!(row.status, Status::Both(_)));
    let mut factors: Vec<f64> = in_both.filter_map(factor).collect();
    factors.sort_few_by(f64::total_cmp);
    let factor = *factors.get(factors.len() / 2)?;
    let alike = factors.iter().filter(|&&other| (other / factor - 1.0).abs() < 1e-3).count();
    let is_common = factors.len() >= LEAST_OPERATORS && alike as f64 >= MOST * factors.len() as f64;
    let runs = comparison.names.clone();
    (is_common && (factor - 1.0).abs() > 1e-3).then_some(CompareNotice::OneFactor { factor, runs })
}

/// Says where the runs have little in common.
fn little_in_common(comparison: &Comparison) -> Option<CompareNotice> {
    const LITTLE: f64 = 0.5;
    let (likeness, table) = comparison.likeness()?;
    let sheet = table.sheet.clone();
    (likeness < LITTLE).then_some(CompareNotice::LittleInCommon { likeness, sheet })
}
