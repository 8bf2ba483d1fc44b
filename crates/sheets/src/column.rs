//! What a column means: its name, what its cells are, in which unit, and one sentence with the formula.

use std::borrow::Cow;

use gpu_timeline::SortFew;

use crate::figure::{Figure, Figures};

/// Unit of the numbers of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// 1e-9 s.
    Nanoseconds,
    /// 1e-6 s.
    Microseconds,
    /// 1e-3 s.
    Milliseconds,
    /// Bytes.
    Bytes,
    /// 1024 bytes.
    Kibibytes,
    /// 1024² bytes.
    Mebibytes,
    /// 1e6 bytes.
    Megabytes,
    /// 1e9 bytes.
    Gigabytes,
    /// 1e6 bytes per second.
    MegabytesPerSecond,
    /// 1e9 bytes per second.
    GigabytesPerSecond,
    /// 1024³ bytes per second.
    GibibytesPerSecond,
    /// 1e12 bytes per second.
    TerabytesPerSecond,
    /// Floating-point operations; a multiply-add counts as two.
    Flops,
    /// 1e9 floating-point operations.
    Gigaflops,
    /// 1e9 floating-point operations per second.
    GigaflopsPerSecond,
    /// 1e12 floating-point operations per second.
    TeraflopsPerSecond,
    /// 1e12 integer operations per second.
    TeraopsPerSecond,
    /// Floating-point operations per byte: arithmetic intensity.
    FlopsPerByte,
    /// 1e6 cycles per second.
    Megahertz,
    /// Joules per second: power.
    Watts,
    /// Watt-seconds: energy.
    Joules,
    /// A share, 0 to 100.
    Percent,
    /// A plain number: a ratio of two figures of the same unit, or a mean of counts.
    One,
}

impl Unit {
    /// The unit's symbol: `µs`, `GiB/s`, `%`; `1` for a plain number.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Unit::Nanoseconds => "ns",
            Unit::Microseconds => "µs",
            Unit::Milliseconds => "ms",
            Unit::Bytes => "B",
            Unit::Kibibytes => "KiB",
            Unit::Mebibytes => "MiB",
            Unit::Megabytes => "MB",
            Unit::Gigabytes => "GB",
            Unit::MegabytesPerSecond => "MB/s",
            Unit::GigabytesPerSecond => "GB/s",
            Unit::GibibytesPerSecond => "GiB/s",
            Unit::TerabytesPerSecond => "TB/s",
            Unit::Flops => "FLOP",
            Unit::Gigaflops => "GFLOP",
            Unit::GigaflopsPerSecond => "GFLOP/s",
            Unit::TeraflopsPerSecond => "TFLOP/s",
            Unit::TeraopsPerSecond => "TOP/s",
            Unit::FlopsPerByte => "FLOP/B",
            Unit::Megahertz => "MHz",
            Unit::Watts => "W",
            Unit::Joules => "J",
            Unit::Percent => "%",
            Unit::One => "1",
        }
    }

    /// Whether it is one of time, or of a rate, so that a wrong time makes the figure wrong.
    const fn rests_on_time(self) -> bool {
        matches!(
            self,
            Unit::Nanoseconds
                | Unit::Microseconds
                | Unit::Milliseconds
                | Unit::GigabytesPerSecond
                | Unit::GibibytesPerSecond
                | Unit::TerabytesPerSecond
                | Unit::GigaflopsPerSecond
                | Unit::TeraflopsPerSecond
                | Unit::TeraopsPerSecond
        )
    }
}

/// What the cells of a column are. It decides the type that the column is stored as and how it is formatted; stored
/// numbers are never rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// A name.
    Text,
    /// A list or a record: shapes, kernel lists. Printed as a Python literal, and as JSON in JSON.
    Nested,
    /// A list of names: kinds of work. Printed as `GEMM, other`; in [`Layout::Listed`] as [`ColumnKind::Nested`].
    Names,
    /// `True` or `False`.
    Flag,
    /// A whole number that identifies something; its sum and mean have no meaning.
    Identifier,
    /// How many.
    Count,
    /// A whole number of units, stored as an integer.
    Whole(Unit),
    /// A number of units, stored as a double.
    Number(Unit),
}

impl ColumnKind {
    /// Unit of the cells; `None` where they are no quantities.
    #[must_use]
    pub const fn unit(self) -> Option<Unit> {
        match self {
            ColumnKind::Text
            | ColumnKind::Nested
            | ColumnKind::Names
            | ColumnKind::Flag
            | ColumnKind::Identifier => None,
            ColumnKind::Count => Some(Unit::One),
            ColumnKind::Whole(unit) | ColumnKind::Number(unit) => Some(unit),
        }
    }

    /// Whether the cells are numbers.
    #[must_use]
    pub const fn is_numeric(self) -> bool {
        !matches!(self, ColumnKind::Text | ColumnKind::Nested | ColumnKind::Names | ColumnKind::Flag)
    }
}

/// Which columns a table has, and in what order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// By their roles: names first, then figures, each with its spread behind it, what explains them, and at the end
    /// where they come from. A figure stands once, in one unit.
    #[default]
    Roles,
    /// In the order in which the sheet lists them. Some columns have another unit here, and a figure may stand twice.
    Listed,
}

/// How much a report tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// All that is known of the recording.
    #[default]
    Full,
    /// What reports of most tools have: timeline, operators, kernels, collectives. Nothing of iterations, budgets of time, counters or
    /// the quality of the recording, and no findings.
    Core,
}

/// What a column is there for. It decides where the column stands in [`Layout::Roles`], and how a workbook shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// It identifies the row.
    Name,
    /// The figure by which rows are compared first, such as time and its share.
    Headline,
    /// Any other figure.
    Figure,
    /// How a figure varies from call to call: median, deviation, extremes. It stands behind the figure of its series and
    /// is folded away.
    Spread,
    /// What explains the figures: shapes, the peak that work is held against, notes.
    Detail,
    /// Where the figures come from: lists of kernels and arguments, threads, numbers of events. Folded away.
    Provenance,
}

impl Role {
    /// The role of most columns of a kind.
    const fn of_kind(kind: ColumnKind) -> Self {
        match kind {
            ColumnKind::Text => Role::Name,
            ColumnKind::Count | ColumnKind::Whole(_) | ColumnKind::Number(_) => Role::Figure,
            ColumnKind::Flag | ColumnKind::Names => Role::Detail,
            ColumnKind::Nested | ColumnKind::Identifier => Role::Provenance,
        }
    }

    /// Whether a workbook folds such columns away.
    #[must_use]
    pub const fn is_folded(self) -> bool {
        matches!(self, Role::Spread | Role::Provenance)
    }
}

/// A column of a sheet. The description is the note on the header of the workbook, the answer of the command line and
/// the entry of the column reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// What JSON and options call it; it is the header in the layout of a reference tool.
    pub name: &'static str,
    /// What the cells are.
    pub kind: ColumnKind,
    /// One sentence: what it is, in which unit, how it is computed.
    pub description: &'static str,
    /// What it is there for.
    pub role: Role,
    /// What its figure is called, whatever the column is: a [`Role::Spread`] stands behind the figure of its series.
    pub series: &'static str,
    /// The only layout that has it, if not both do.
    pub only_in: Option<Layout>,
    /// Which cells are good and which bad, where the column compares.
    pub verdict: Option<Verdict>,
    /// Whether it tells rows apart together with the names, though it is none: what an operator was called with.
    pub distinguishes: bool,
    /// Whether rows share what they count, such as scopes with those inside, so that their cells have no sum.
    pub overlaps: bool,
    /// What the figure is of, where it is not of all that the row stands for, as a noun in the singular: `call` for the
    /// mean over the row's calls, for how it varies among them, and for the FLOPs of one of them.
    pub per: Option<&'static str>,
    /// Kinds of figures that it shows, which faults of a recording may spoil.
    pub figures: Figures,
}

/// Which cells of a column that compares are good and which bad: workbooks colour them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Above 0 is bad, below is good: time that was added.
    LessIsBetter,
    /// Above 1 is good, below is bad: a speedup.
    AboveOneIsBetter,
}

impl Column {
    /// A column with the role of most columns of its kind: texts are names, numbers figures, flags and lists of names
    /// details, other lists and identifiers provenance.
    #[must_use]
    pub const fn new(name: &'static str, kind: ColumnKind, description: &'static str) -> Self {
        Column {
            name,
            kind,
            description,
            role: Role::of_kind(kind),
            series: name,
            only_in: None,
            verdict: None,
            distinguishes: false,
            overlaps: false,
            per: None,
            figures: Figures::NONE,
        }
    }

    /// A column of names or other text.
    #[must_use]
    pub const fn text(name: &'static str, description: &'static str) -> Self {
        Column::new(name, ColumnKind::Text, description)
    }

    /// A column of lists or records.
    #[must_use]
    pub const fn nested(name: &'static str, description: &'static str) -> Self {
        Column::new(name, ColumnKind::Nested, description)
    }

    /// A column of lists of names.
    #[must_use]
    pub const fn names(name: &'static str, description: &'static str) -> Self {
        Column::new(name, ColumnKind::Names, description)
    }

    /// A column of flags.
    #[must_use]
    pub const fn flag(name: &'static str, description: &'static str) -> Self {
        Column::new(name, ColumnKind::Flag, description)
    }

    /// A column of identifiers, whose sum and mean have no meaning.
    #[must_use]
    pub const fn identifier(name: &'static str, description: &'static str) -> Self {
        Column::new(name, ColumnKind::Identifier, description)
    }

    /// A column of counts.
    #[must_use]
    pub const fn count(name: &'static str, description: &'static str) -> Self {
        Column::new(name, ColumnKind::Count, description)
    }

    /// A column of times in µs.
    #[must_use]
    pub const fn microseconds(name: &'static str, description: &'static str) -> Self {
        Column::new(name, ColumnKind::Number(Unit::Microseconds), description)
    }

    /// A column of times in ms.
    #[must_use]
    pub const fn milliseconds(name: &'static str, description: &'static str) -> Self {
        Column::new(name, ColumnKind::Number(Unit::Milliseconds), description)
    }

    /// A column of shares in percent.
    #[must_use]
    pub const fn percent(name: &'static str, description: &'static str) -> Self {
        Column::new(name, ColumnKind::Number(Unit::Percent), description)
    }

    /// The same column under another name.
    #[must_use]
    pub const fn named(self, name: &'static str) -> Self {
        Column { name, ..self }
    }

    /// The same column with another description.
    #[must_use]
    pub const fn described(self, description: &'static str) -> Self {
        Column { description, ..self }
    }

    /// The same column in another role.
    #[must_use]
    pub const fn with_role(self, role: Role) -> Self {
        Column { role, ..self }
    }

    /// The same column as the spread of the figure of a series: that of the column `figure`, whatever that was named
    /// later.
    #[must_use]
    pub const fn spread_of(self, figure: &'static str) -> Self {
        Column { role: Role::Spread, series: figure, ..self }
    }

    /// The same column, whose cells are good or bad.
    #[must_use]
    pub const fn judged(self, verdict: Verdict) -> Self {
        Column { verdict: Some(verdict), ..self }
    }

    /// The same column as part of what tells rows apart.
    #[must_use]
    pub const fn distinguishing(self) -> Self {
        Column { distinguishes: true, ..self }
    }

    /// The same column where rows share what they count.
    #[must_use]
    pub const fn overlapping(self) -> Self {
        Column { overlaps: true, ..self }
    }

    /// The same column as a figure of one of what the row stands for ([`Column::per`]).
    #[must_use]
    pub const fn per(self, one: &'static str) -> Self {
        Column { per: Some(one), ..self }
    }

    /// The same column, which shows these kinds of figures and no others: a fault of the recording that spoils one of them
    /// spoils the column.
    #[must_use]
    pub const fn showing(self, figures: &'static [Figure]) -> Self {
        Column { figures: Figures::new(figures), ..self }
    }

    /// Whether the column shows figures of this kind.
    #[must_use]
    pub fn shows(&self, figure: Figure) -> bool {
        match figure {
            Figure::EveryTime => self.kind.unit().is_some_and(Unit::rests_on_time),
            figure => self.figures.contains(figure),
        }
    }

    /// The same column, in one layout only: a figure that the other has in another unit.
    #[must_use]
    pub const fn only_in(self, layout: Layout) -> Self {
        Column { only_in: Some(layout), ..self }
    }

    /// The description, with the layout where only the reference tool's has the column.
    #[must_use]
    pub fn full_description(&self) -> Cow<'static, str> {
        match self.only_in {
            Some(Layout::Listed) => format!("{} Only in the TraceLens layout.", self.description).into(),
            _ => self.description.into(),
        }
    }

    /// As this layout has it; `None` where it has not.
    pub(crate) fn in_layout(self, layout: Layout) -> Option<Self> {
        let kind = match (layout, self.kind) {
            (Layout::Listed, ColumnKind::Names) => ColumnKind::Nested,
            (_, kind) => kind,
        };
        self.only_in.is_none_or(|only| only == layout).then_some(Column { kind, ..self })
    }
}

/// Columns in the order of [`Layout::Roles`]; those of one role stay in their order, but the shares among the headlines
/// follow what they are shares of. The role, series and kind of each are asked for.
pub(crate) fn by_role<T>(
    columns: Vec<T>,
    role_of: impl Fn(&T) -> (Role, &'static str, ColumnKind),
) -> Vec<T> {
    let roles: Vec<(Role, &str, ColumnKind)> = columns.iter().map(role_of).collect();
    let place_of_figure = |position: usize| {
        let (role, _, kind) = roles[position];
        (role, role == Role::Headline && kind == ColumnKind::Number(Unit::Percent), position)
    };
    let place = |position: usize| match roles[position] {
        (Role::Spread, series, _) => {
            let is_figure = |&(role, of, _): &(Role, &str, _)| role != Role::Spread && of == series;
            let figure = roles.iter().position(is_figure).unwrap_or(position);
            (place_of_figure(figure), true)
        }
        _ => (place_of_figure(position), false),
    };
    let mut placed: Vec<_> =
        columns.into_iter().enumerate().map(|(position, column)| (place(position), column)).collect();
    // Stable: the spread of a figure stays in its order.
    placed.sort_few_by_key(|&(place, _)| place);
    placed.into_iter().map(|(_, column)| column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_by_their_roles_and_spreads_behind_their_figures() {
        let time = Column::microseconds("time_mean", "");
        let columns = vec![
            Column::identifier("uid", ""),
            Column::text("name", ""),
            Column::text("note", "").with_role(Role::Detail),
            Column::count("count", ""),
            Column::microseconds("std_time", "").spread_of(time.name),
            Column::percent("share", "").with_role(Role::Headline),
            Column::microseconds("total", "").with_role(Role::Headline),
            // Under another name it is still the figure of its series.
            time.named("mean_time"),
            Column::microseconds("time_max", "").spread_of(time.name),
            Column::microseconds("alone_max", "").spread_of("alone"),
            Column::nested("dims", ""),
        ];
        let arranged: Vec<&str> = by_role(columns, |column| (column.role, column.series, column.kind))
            .iter()
            .map(|column| column.name)
            .collect();
        assert_eq!(
            arranged,
            [
                "name",
                "total",
                "share",
                "count",
                "mean_time",
                "std_time",
                "time_max",
                "alone_max",
                "note",
                "uid",
                "dims"
            ]
        );
    }
}
