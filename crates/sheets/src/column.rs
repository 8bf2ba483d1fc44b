//! What a column means: its name, what its cells are, in which unit, and one sentence with the formula.

use crate::cell::Cell;
use crate::field::Field;

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
    /// 1e9 bytes.
    Gigabytes,
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
            Unit::Gigabytes => "GB",
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
            Unit::Percent => "%",
            Unit::One => "1",
        }
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
            ColumnKind::Text | ColumnKind::Nested | ColumnKind::Flag | ColumnKind::Identifier => None,
            ColumnKind::Count => Some(Unit::One),
            ColumnKind::Whole(unit) | ColumnKind::Number(unit) => Some(unit),
        }
    }

    /// Whether the cells are numbers.
    #[must_use]
    pub const fn is_numeric(self) -> bool {
        !matches!(self, ColumnKind::Text | ColumnKind::Nested | ColumnKind::Flag)
    }
}

/// A column of a sheet. The description is the note on the header of the workbook, the answer of the command line and
/// the entry of the column reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Header.
    pub name: &'static str,
    /// What the cells are.
    pub kind: ColumnKind,
    /// One sentence: what it is, in which unit, how it is computed.
    pub description: &'static str,
}

impl Column {
    /// A column.
    #[must_use]
    pub const fn new(name: &'static str, kind: ColumnKind, description: &'static str) -> Self {
        Column { name, kind, description }
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

    /// The column, filled from each row.
    pub fn field<C, R>(
        self,
        value: impl for<'r> Fn(&'r R) -> Cell<'r> + Send + Sync + 'static,
    ) -> Field<C, R> {
        self.field_in(move |_, row| value(row))
    }

    /// The column, filled from each row and what all rows of the sheet share.
    pub fn field_in<C, R>(
        self,
        value: impl for<'r> Fn(&'r C, &'r R) -> Cell<'r> + Send + Sync + 'static,
    ) -> Field<C, R> {
        Field::from_column(self, value)
    }
}
