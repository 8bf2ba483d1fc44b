//! Reports compared as TraceLens compares them: its sheets and columns in its order, with its quirks. Rows of one key
//! multiply, and keys are equal only where they are written alike.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use gpu_timeline::SortFew;
use sheets::columns::{self, kernels, rocprof_kernels};
use sheets::{Cell, Column, ColumnKind, Role, Table, TableColumn, TableError, Unit, names};
use thiserror::Error;
use trace_diff::Side;

/// How columns of the parameters of models begin.
const PARAMETER: &str = "param: ";

/// Rows of a joined table. Rows of one key multiply, so that two small reports can have a table of any size.
const MOST_ROWS: usize = 1_000_000;

/// Sheets that are compared together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum SheetGroup {
    GpuTimeline,
    OpsSummary,
    KernelSummary,
    OpsAll,
    Roofline,
}

impl SheetGroup {
    /// All of them, by the names that TraceLens gives them.
    pub const ALL: [(&'static str, SheetGroup); 5] = [
        (names::GPU_TIMELINE, SheetGroup::GpuTimeline),
        (names::OPS_SUMMARY, SheetGroup::OpsSummary),
        (names::KERNEL_SUMMARY, SheetGroup::KernelSummary),
        (names::OPS_ALL, SheetGroup::OpsAll),
        ("roofline", SheetGroup::Roofline),
    ];
}

/// What a comparison is made of.
#[derive(Debug)]
pub struct ParityTables {
    /// The tables, in the order of TraceLens.
    pub tables: Vec<Table>,
    /// What a reader has to know.
    pub notices: Vec<ParityNotice>,
}

/// What a reader has to know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum ParityNotice {
    /// A sheet is left out because a report lacks it; TraceLens ends with an error here.
    #[error("{sheet} is omitted: the report of {run} lacks it")]
    #[diagnostic(code("comparison-as-trace-lens/missing"), severity(Warning))]
    Missing {
        /// The sheet.
        sheet: &'static str,
        /// The run.
        run: String,
    },
    /// A sheet of operators with a model is left out because one of the reports is empty.
    #[error("roofline sheet {sheet} is omitted: one of the reports is empty")]
    #[diagnostic(code("comparison-as-trace-lens/empty"), severity(Warning))]
    Empty {
        /// The sheet.
        sheet: &'static str,
    },
    /// Rows of one key were multiplied.
    #[error(
        "{sheet} has {joined} rows, although one report has only {rows}: every row is joined with every row of the same key, as in TraceLens, so sums are too large"
    )]
    #[diagnostic(code("comparison-as-trace-lens/multiplied"), severity(Warning))]
    Multiplied {
        /// The sheet.
        sheet: &'static str,
        /// Rows of the largest of the reports.
        rows: usize,
        /// Rows of the joined table.
        joined: usize,
    },
}

/// Why reports cannot be compared in this way.
#[derive(Debug, Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum ParityError {
    /// A column that every sheet of this name has is not there.
    #[error("sheet {sheet} of {run} has no column `{column}`")]
    #[diagnostic(
        code("parity/no-column"),
        help("compare TraceLens reports, or reports in its layout (--sheet-names current)")
    )]
    NoColumn {
        /// The sheet.
        sheet: &'static str,
        /// The run.
        run: String,
        /// The column.
        column: String,
    },
    /// Rows of one key would multiply to more than anybody reads.
    #[error("sheet {sheet} would exceed {MOST_ROWS} rows: too many rows share a key")]
    #[diagnostic(code("parity/too-many-rows"), help("compare without --parity"))]
    TooManyRows {
        /// The sheet.
        sheet: &'static str,
    },
    /// Two columns would have one name.
    #[error(transparent)]
    #[diagnostic(code("parity/table"))]
    Table(
        #[from]
        #[diagnostic_source]
        TableError,
    ),
}

/// How a sheet is compared.
struct Rule {
    sheet: &'static str,
    /// What the result is called.
    result: &'static str,
    keys: &'static [&'static str],
    /// Whether parameters of models are keys, too.
    has_parameters: bool,
    differences: &'static [&'static str],
    dropped: &'static [&'static str],
    dropped_in_variants: &'static [&'static str],
    sorted_by: Option<&'static str>,
    /// Whether the result is in three parts for each variant.
    is_split: bool,
    /// How the names of columns end that are folded away.
    folded: &'static [&'static str],
}

const CUMULATIVE: &[&str] = &[columns::CUMULATIVE.name];
const CALL: &[&str] = &[
    "name",
    columns::INPUT_TYPE.name,
    columns::INPUT_DIMS.name,
    columns::INPUT_STRIDES.name,
    columns::CONCRETE_INPUTS.name,
];
const FIRST_ARGUMENTS: [&str; 4] = [
    columns::ARGUMENTS_OF_FIRST[1].name,
    columns::ARGUMENTS_OF_FIRST[0].name,
    columns::ARGUMENTS_OF_FIRST[2].name,
    columns::ARGUMENTS_OF_FIRST[3].name,
];

const GPU_TIMELINE: Rule = Rule {
    sheet: names::GPU_TIMELINE,
    result: names::GPU_TIMELINE,
    keys: &["type"],
    has_parameters: false,
    differences: &[columns::TIME_MS.name],
    dropped: &[],
    dropped_in_variants: &[],
    sorted_by: None,
    is_split: false,
    folded: &[],
};
const OPS_SUMMARY: Rule = Rule {
    sheet: names::OPS_SUMMARY,
    result: names::OPS_SUMMARY,
    keys: &["name"],
    differences: &[columns::DIRECT_MS.name, "Count"],
    dropped: &[columns::DIRECT_US_SUM.name],
    dropped_in_variants: CUMULATIVE,
    sorted_by: Some(columns::DIRECT_MS.name),
    ..GPU_TIMELINE
};
const KERNEL_SUMMARY: Rule = Rule {
    sheet: names::KERNEL_SUMMARY,
    result: names::KERNEL_SUMMARY,
    keys: &[kernels::KERNEL_NAME.name],
    differences: &[kernels::DURATION_SUM.name, kernels::DURATION_MEAN.name, kernels::DURATION_COUNT.name],
    dropped: &[kernels::DURATION_MIN.name, kernels::DURATION_MAX.name, kernels::PARENT_CATEGORY.name],
    dropped_in_variants: CUMULATIVE,
    sorted_by: Some(kernels::DURATION_SUM.name),
    ..GPU_TIMELINE
};
/// Of rocprofv3 profiles.
const KERNEL_SUMMARY_BY_NAME: Rule = Rule {
    keys: &["name"],
    differences: &[rocprof_kernels::TOTAL.name, rocprof_kernels::MEAN.name, "Count"],
    dropped: &[
        "Total Kernel Time (µs)",
        rocprof_kernels::MEDIAN.name,
        rocprof_kernels::STD.name,
        rocprof_kernels::MIN.name,
        rocprof_kernels::MAX.name,
        "Category",
    ],
    sorted_by: Some(rocprof_kernels::TOTAL.name),
    ..KERNEL_SUMMARY
};
const OPS_ALL: Rule = Rule {
    sheet: names::OPS_ALL,
    result: names::OPS_ALL,
    keys: CALL,
    differences: &[columns::DIRECT_US_SUM.name, columns::DIRECT_US.mean.name, columns::OPERATION_COUNT.name],
    sorted_by: Some(columns::DIRECT_US_SUM.name),
    is_split: true,
    folded: &["kernel_names", "median", "std", "min", "max", columns::EX_UID.name],
    ..GPU_TIMELINE
};
const OPS_UNIQUE_ARGS: Rule =
    Rule { sheet: names::OPS_UNIQUE_ARGS, result: names::OPS_UNIQUE_ARGS, ..OPS_ALL };
const UNIFIED: Rule = Rule {
    sheet: names::UNIFIED_PERF_SUMMARY,
    result: names::UNIFIED_PERF_SUMMARY,
    differences: &[
        columns::KERNEL_TIME_SUM.name,
        columns::KERNEL_TIME.mean.name,
        columns::OPERATION_COUNT.name,
    ],
    sorted_by: Some(columns::KERNEL_TIME_SUM.name),
    ..OPS_ALL
};
const GEMM: Rule = Rule {
    sheet: "GEMM",
    result: "GEMM",
    keys: &["name"],
    has_parameters: true,
    differences: &[
        columns::KERNEL_TIME_SUM.name,
        columns::KERNEL_TIME.mean.name,
        columns::NAME_COUNT.name,
        columns::TFLOPS_PER_S.mean.name,
        columns::TB_PER_S.mean.name,
    ],
    dropped: &[],
    dropped_in_variants: &[
        columns::WORK_OF_FIRST[0].name,
        columns::WORK_OF_FIRST[1].name,
        columns::WORK_OF_FIRST[2].name,
        FIRST_ARGUMENTS[0],
        FIRST_ARGUMENTS[1],
        FIRST_ARGUMENTS[2],
        FIRST_ARGUMENTS[3],
    ],
    sorted_by: Some(columns::KERNEL_TIME_SUM.name),
    is_split: true,
    folded: &[
        "kernel_names_first",
        "UID",
        "median",
        "std",
        "min",
        "max",
        FIRST_ARGUMENTS[0],
        FIRST_ARGUMENTS[1],
        FIRST_ARGUMENTS[2],
        FIRST_ARGUMENTS[3],
    ],
};
const CALL_RULES: [Rule; 3] = [OPS_ALL, OPS_UNIQUE_ARGS, UNIFIED];
const MODEL_RULES: [Rule; 7] = [
    GEMM,
    Rule { sheet: "SDPA_fwd", result: "SDPA_fwd", ..GEMM },
    Rule { sheet: "SDPA_bwd", result: "SDPA_bwd", ..GEMM },
    Rule { sheet: "CONV_fwd", result: "CONV_fwd", ..GEMM },
    Rule { sheet: "CONV_bwd", result: "CONV_bwd", ..GEMM },
    Rule { sheet: "UnaryElementwise", result: "un_eltwise", ..GEMM },
    Rule { sheet: "BinaryElementwise", result: "bin_eltwise", ..GEMM },
];

/// Compares reports with the first of them as TraceLens does. A sheet that a report lacks is left out.
///
/// # Errors
/// When a sheet lacks a column that it is joined by, or rows of one key multiply beyond bounds.
pub fn compare_as_tracelens(sides: &[Side], groups: &[SheetGroup]) -> Result<ParityTables, ParityError> {
    let mut made = ParityTables { tables: Vec::new(), notices: Vec::new() };
    let first_has = |sheet: &str, column: &str| {
        sides.first().and_then(|side| find(side, sheet)).is_some_and(|table| table.column(column).is_some())
    };
    let kernels = match first_has(names::KERNEL_SUMMARY, kernels::KERNEL_NAME.name) {
        true => &KERNEL_SUMMARY,
        false => &KERNEL_SUMMARY_BY_NAME,
    };
    let all = [
        (SheetGroup::GpuTimeline, vec![&GPU_TIMELINE]),
        (SheetGroup::OpsSummary, vec![&OPS_SUMMARY]),
        (SheetGroup::KernelSummary, vec![kernels]),
        (SheetGroup::OpsAll, CALL_RULES.iter().collect()),
        (SheetGroup::Roofline, MODEL_RULES.iter().collect()),
    ];
    for (group, rules) in all {
        for rule in rules.into_iter().filter(|_| groups.contains(&group)) {
            rule.compare(sides, &mut made)?;
        }
    }
    Ok(made)
}

fn find<'s>(side: &'s Side, sheet: &str) -> Option<&'s Table> {
    side.tables.iter().find(|table| table.name() == sheet)
}

/// A cell of a key. Numbers come before texts, and missing cells, which equal each other, at the end.
#[derive(Clone, Debug)]
enum KeyCell {
    Number(f64),
    Text(String),
    Missing,
}

impl KeyCell {
    fn new(cell: &Cell<'_>) -> Self {
        match cell {
            Cell::Missing => KeyCell::Missing,
            Cell::Flag(flag) => KeyCell::Number(f64::from(u8::from(*flag))),
            Cell::Whole(value) => KeyCell::Number(*value as f64),
            Cell::Number(value) => KeyCell::Number(*value),
            cell => KeyCell::Text(cell.text().into_owned()),
        }
    }
}

impl Ord for KeyCell {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (KeyCell::Number(one), KeyCell::Number(other)) => one.total_cmp(other),
            (KeyCell::Text(one), KeyCell::Text(other)) => one.cmp(other),
            (KeyCell::Missing, KeyCell::Missing) => Ordering::Equal,
            (KeyCell::Number(_), _) | (_, KeyCell::Missing) => Ordering::Less,
            (_, KeyCell::Number(_)) | (KeyCell::Missing, _) => Ordering::Greater,
        }
    }
}

impl PartialOrd for KeyCell {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for KeyCell {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for KeyCell {}

/// A row of the joined table: the rows of the reports that it is made of.
type JoinedRow = Vec<Option<usize>>;

/// A column of a result before it has its final kind.
struct ResultColumn<'a> {
    name: String,
    kind: ColumnKind,
    /// What the figure is of ([`Column::per`]).
    per: Option<&'static str>,
    cells: Vec<Cell<'a>>,
}

impl<'a> ResultColumn<'a> {
    /// A column of whole numbers stays one only where every row has one.
    fn new(name: String, kind: ColumnKind, cells: Vec<Cell<'a>>) -> Self {
        let is_whole = matches!(kind, ColumnKind::Whole(_) | ColumnKind::Count | ColumnKind::Identifier);
        let has_gaps = || cells.contains(&Cell::Missing);
        let kind = if is_whole && has_gaps() { ColumnKind::Number(Unit::One) } else { kind };
        ResultColumn { name, kind, per: None, cells }
    }

    /// The same column as a figure of one of what the row stands for, or of all of it.
    fn per(self, per: Option<&'static str>) -> Self {
        ResultColumn { per, ..self }
    }

    fn is_present(&self, row: usize) -> bool {
        self.cells.get(row).is_some_and(|cell| *cell != Cell::Missing)
    }
}

impl Rule {
    fn compare(&self, sides: &[Side], made: &mut ParityTables) -> Result<(), ParityError> {
        let mut tables = Vec::with_capacity(sides.len());
        for (position, side) in sides.iter().enumerate() {
            match find(side, self.sheet) {
                Some(table) => tables.push(table),
                // Sheets of calls and models that the first report lacks are none of the comparison.
                None if position == 0 && self.is_split => return Ok(()),
                None => {
                    made.notices.push(ParityNotice::Missing { sheet: self.sheet, run: side.name.clone() });
                    return Ok(());
                }
            }
        }
        if self.has_parameters && tables.iter().any(|table| table.height() == 0) {
            made.notices.push(ParityNotice::Empty { sheet: self.sheet });
            return Ok(());
        }
        let keys = self.keys_of(&tables);
        for ((table, side), key) in
            tables.iter().zip(sides).flat_map(|pair| keys.iter().map(move |key| (pair, key)))
        {
            if table.column(key).is_none() && !table.columns().is_empty() {
                let (run, column) = (side.name.clone(), key.clone());
                return Err(ParityError::NoColumn { sheet: self.sheet, run, column });
            }
        }
        let rows = self.join(&tables, &keys)?;
        let largest = tables.iter().map(|table| table.height()).max().unwrap_or_default();
        let distinct: usize = tables.iter().map(|table| table.height()).sum();
        if rows.len() > distinct {
            made.notices.push(ParityNotice::Multiplied {
                sheet: self.sheet,
                rows: largest,
                joined: rows.len(),
            });
        }
        let columns = self.columns(sides, &tables, &keys, &rows);
        let tags: Vec<&str> = sides.iter().map(|side| side.name.as_str()).collect();
        if self.is_split {
            for part in self.split(&columns, &tags, rows.len()) {
                made.tables.push(part?);
            }
        } else {
            let order =
                sorted(&columns, self.sorted_by.map(|by| format!("{}::{by}", tags[0])), 0..rows.len());
            let all: Vec<&ResultColumn<'_>> = columns.iter().collect();
            made.tables.push(self.table(self.result.to_owned(), &all, &order)?);
        }
        Ok(())
    }

    /// The keys: those of the sheet, then the parameters that every report has, by name.
    fn keys_of(&self, tables: &[&Table]) -> Vec<String> {
        let mut keys: Vec<String> = self.keys.iter().map(|key| (*key).to_owned()).collect();
        if let (true, Some((first, others))) = (self.has_parameters, tables.split_first()) {
            let names = first.columns().iter().map(TableColumn::name);
            let is_shared = |name: &&str| {
                name.starts_with(PARAMETER) && others.iter().all(|table| table.column(name).is_some())
            };
            let parameters: BTreeSet<&str> = names.filter(is_shared).collect();
            keys.extend(parameters.into_iter().map(ToOwned::to_owned));
        }
        keys
    }

    /// The full outer join of all tables, from left to right, in the order of the keys.
    fn join(&self, tables: &[&Table], keys: &[String]) -> Result<Vec<JoinedRow>, ParityError> {
        let mut joined: BTreeMap<Vec<KeyCell>, Vec<JoinedRow>> = BTreeMap::new();
        for (position, table) in tables.iter().enumerate() {
            let columns: Vec<&TableColumn> = keys.iter().filter_map(|key| table.column(key)).collect();
            let mut rows_by_key: BTreeMap<Vec<KeyCell>, Vec<usize>> = BTreeMap::new();
            for row in 0..table.height() {
                let key = columns.iter().map(|column| KeyCell::new(&column.cell(row))).collect();
                rows_by_key.entry(key).or_default().push(row);
            }
            let mut count = 0;
            for (key, rows) in &mut joined {
                let matching = rows_by_key.remove(key);
                count += rows.len() * matching.as_ref().map_or(1, Vec::len);
                if count > MOST_ROWS {
                    return Err(ParityError::TooManyRows { sheet: self.sheet });
                }
                match matching {
                    None => rows.iter_mut().for_each(|row| row.push(None)),
                    Some(others) => {
                        let pair = |row: &JoinedRow| {
                            let row = row.clone();
                            others
                                .iter()
                                .map(move |&other| row.iter().copied().chain([Some(other)]).collect())
                                .collect::<Vec<JoinedRow>>()
                        };
                        *rows = rows.iter().flat_map(pair).collect();
                    }
                }
            }
            for (key, rows) in rows_by_key {
                let alone = |row| std::iter::repeat_n(None, position).chain([Some(row)]).collect();
                joined.insert(key, rows.into_iter().map(alone).collect());
            }
        }
        Ok(joined.into_values().flatten().collect())
    }

    /// The columns of the joined table: keys, differences, then those of the reports in turn.
    fn columns<'a>(
        &self,
        sides: &[Side],
        tables: &[&'a Table],
        keys: &[String],
        rows: &[JoinedRow],
    ) -> Vec<ResultColumn<'a>> {
        let cells = |column: &'a TableColumn, side: usize| -> Vec<Cell<'a>> {
            rows.iter().map(|row| row[side].map_or(Cell::Missing, |row| column.cell(row))).collect()
        };
        let mut columns = Vec::new();
        for key in keys {
            let side_columns: Vec<Option<&'a TableColumn>> =
                tables.iter().map(|table| table.column(key)).collect();
            let cell = |row: &JoinedRow| {
                let known = row.iter().zip(&side_columns).find_map(|(row, column)| row.zip(*column));
                known.map_or(Cell::Missing, |(row, column)| column.cell(row))
            };
            let kinds: Vec<ColumnKind> = side_columns.iter().flatten().map(|column| column.kind()).collect();
            let per = side_columns.iter().flatten().find_map(|column| column.per());
            let cells = rows.iter().map(cell).collect();
            columns.push(ResultColumn::new(key.clone(), common_kind(&kinds), cells).per(per));
        }
        let mut differences = Vec::new();
        for difference in self.differences {
            let side_values = |side: usize| {
                tables[side].column(difference).map(|column| (column.kind(), cells(column, side)))
            };
            let Some((base_kind, base)) = side_values(0) else { continue };
            let per = tables.iter().filter_map(|table| table.column(difference)).find_map(TableColumn::per);
            for (side, variant) in sides.iter().enumerate().skip(1) {
                let Some((kind, values)) = side_values(side) else { continue };
                let variant_columns =
                    difference_columns(difference, &variant.name, (base_kind, &base), (kind, &values));
                differences.extend(variant_columns.map(|column| column.per(per)));
            }
        }
        let mut data = Vec::new();
        for (side, (table, run)) in tables.iter().zip(sides).enumerate() {
            for column in table.columns() {
                let name = column.name();
                let is_dropped = self.dropped.contains(&name)
                    || (side > 0 && self.dropped_in_variants.contains(&name))
                    || keys.iter().any(|key| key == name);
                if !is_dropped {
                    let name = format!("{}::{name}", run.name);
                    let result_column = ResultColumn::new(name, column.kind(), cells(column, side));
                    data.push(result_column.per(column.per()));
                }
            }
        }
        // TraceLens takes any column for a difference whose name looks like one.
        let (alike, data): (Vec<_>, Vec<_>) =
            data.into_iter().partition(|column| looks_like_difference(&column.name));
        columns.extend(alike);
        columns.extend(differences);
        columns.extend(data);
        columns
    }

    /// The rows that the baseline and a variant have, and those of one of them alone.
    fn split(
        &self,
        columns: &[ResultColumn<'_>],
        tags: &[&str],
        height: usize,
    ) -> Vec<Result<Table, ParityError>> {
        let (baseline, variants) = match tags.split_first() {
            Some((baseline, variants)) => (*baseline, variants),
            None => return Vec::new(),
        };
        let decisive = self.differences.first().copied().unwrap_or_default();
        let column = |tag: &str, name: &str| {
            let name = format!("{tag}::{name}");
            columns.iter().find(move |column| column.name == name)
        };
        let mut parts = Vec::new();
        for variant in variants {
            let has =
                |tag: &str, row: usize| column(tag, decisive).is_some_and(|column| column.is_present(row));
            for (part, in_baseline, in_variant) in
                [("intersect", true, true), ("only_baseline", true, false), ("only_variant", false, true)]
            {
                let rows: Vec<usize> = (0..height)
                    .filter(|&row| has(baseline, row) == in_baseline && has(variant, row) == in_variant)
                    .collect();
                let sorted_by = if in_baseline { baseline } else { variant };
                let sorted_by = self.sorted_by.map(|by| format!("{sorted_by}::{by}"));
                let order = sorted(columns, sorted_by, rows.into_iter());
                let kept: Vec<&str> = [(in_baseline, baseline), (in_variant, *variant)]
                    .into_iter()
                    .filter_map(|(is_kept, tag)| is_kept.then_some(tag))
                    .collect();
                let is_shown = |column: &&ResultColumn<'_>| {
                    let is_kept = match (tag_of_difference(&column.name), column.name.split_once("::")) {
                        (Some(tag), _) | (None, Some((tag, _))) => kept.contains(&tag),
                        (None, None) => true,
                    };
                    is_kept && order.iter().any(|&row| column.is_present(row))
                };
                let shown: Vec<&ResultColumn<'_>> = columns.iter().filter(is_shown).collect();
                parts.push(self.table(format!("{}_{part}_{variant}", self.result), &shown, &order));
            }
        }
        parts
    }

    fn table(
        &self,
        name: String,
        columns: &[&ResultColumn<'_>],
        rows: &[usize],
    ) -> Result<Table, ParityError> {
        let column = |column: &&ResultColumn<'_>| {
            let described = Column { per: column.per, ..Column::new("", column.kind, "") };
            let is_folded = self.folded.iter().any(|ending| column.name.ends_with(ending));
            let described = if is_folded { described.with_role(Role::Provenance) } else { described };
            let cells = rows.iter().map(|&row| column.cells.get(row).cloned().unwrap_or(Cell::Missing));
            TableColumn::named(column.name.clone(), described, cells)
        };
        let allowed = if sheets::names_a_file(&name) { name } else { file_name(&name) };
        Ok(Table::new(allowed, columns.iter().map(column).collect())?)
    }
}

/// The name without what no file may be called.
fn file_name(name: &str) -> String {
    let allowed = name.chars().map(|c| if sheets::names_a_file(&format!("a{c}a")) { c } else { '_' });
    let mut short = String::new();
    // A file name has room for so many bytes.
    for c in allowed {
        if short.len() + c.len_utf8() > 250 {
            break;
        }
        short.push(c);
    }
    short.trim_end_matches([' ', '.']).to_owned()
}

/// The kind of a key that the reports may have in different kinds.
fn common_kind(kinds: &[ColumnKind]) -> ColumnKind {
    match kinds.split_first() {
        None => ColumnKind::Text,
        Some((first, others)) if others.iter().all(|kind| kind == first) => *first,
        Some(_) if kinds.iter().all(|kind| kind.is_numeric()) => ColumnKind::Number(Unit::One),
        Some(_) => ColumnKind::Text,
    }
}

/// `<difference>__<variant>_diff` and `…_pct`.
fn difference_columns<'a>(
    difference: &str,
    variant: &str,
    (base_kind, base): (ColumnKind, &[Cell<'_>]),
    (kind, values): (ColumnKind, &[Cell<'_>]),
) -> [ResultColumn<'a>; 2] {
    let number = |cell: &Cell<'_>| match cell {
        Cell::Whole(value) => Some(*value as f64),
        Cell::Number(value) => Some(*value),
        _ => None,
    };
    let pairs = || base.iter().zip(values);
    let is_whole = |kind| matches!(kind, ColumnKind::Whole(_) | ColumnKind::Count | ColumnKind::Identifier);
    let diff = |(base, value): (&Cell<'_>, &Cell<'_>)| match (base, value) {
        (Cell::Whole(base), Cell::Whole(value)) => {
            value.checked_sub(*base).map_or(Cell::Missing, Cell::Whole)
        }
        (base, value) => number(value).zip(number(base)).map(|(value, base)| value - base).into(),
    };
    let percent = |(base, value): (&Cell<'_>, &Cell<'_>)| {
        let (base, value) = (number(base)?, number(value)?);
        (base != 0.0).then(|| 100.0 * ((value - base) / base))
    };
    let kind = if is_whole(kind) && is_whole(base_kind) { kind } else { ColumnKind::Number(Unit::One) };
    [
        ResultColumn::new(format!("{difference}__{variant}_diff"), kind, pairs().map(diff).collect()),
        ResultColumn::new(
            format!("{difference}__{variant}_pct"),
            ColumnKind::Number(Unit::One),
            pairs().map(|pair| percent(pair).into()).collect(),
        ),
    ]
}

/// Whether the beginning of a name reads `…__…_diff` or `…__…_pct`.
fn looks_like_difference(name: &str) -> bool {
    let rest = name.split_once("__").map(|(_, rest)| rest);
    rest.is_some_and(|rest| rest.contains("_diff") || rest.contains("_pct"))
}

/// The run of a column whose name ends in `__<run>_diff` or `__<run>_pct`.
fn tag_of_difference(name: &str) -> Option<&str> {
    let (_, rest) = name.split_once("__")?;
    let tag = rest.strip_suffix("_diff").or_else(|| rest.strip_suffix("_pct"))?;
    (!tag.is_empty()).then_some(tag)
}

/// Rows by a column, the largest first, those without a value at the end; rows of equal values stay in their order.
fn sorted(columns: &[ResultColumn<'_>], by: Option<String>, rows: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut rows: Vec<usize> = rows.collect();
    let Some(column) = by.and_then(|by| columns.iter().find(|column| column.name == by)) else { return rows };
    let value = |row: usize| match column.cells.get(row) {
        Some(Cell::Whole(value)) => *value as f64,
        Some(Cell::Number(value)) => *value,
        _ => f64::NEG_INFINITY,
    };
    rows.sort_few_by(|&one, &other| value(other).total_cmp(&value(one)));
    rows
}
