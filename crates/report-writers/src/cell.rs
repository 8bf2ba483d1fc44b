//! Reading the cells of a frame's column, whatever its dtype, without a dynamic value per cell.

use polars::prelude::{
    BooleanChunked, Column, DataType, Float64Chunked, Int32Chunked, Int64Chunked, StringChunked,
    UInt32Chunked, UInt64Chunked,
};

/// One cell of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell<'a> {
    Null,
    Boolean(bool),
    /// Wide enough for `i64` and `u64`.
    Integer(i128),
    Float(f64),
    Text(&'a str),
}

/// A column seen as its dtype's array.
pub(crate) enum Cells<'a> {
    AllNull,
    Boolean(&'a BooleanChunked),
    Int32(&'a Int32Chunked),
    Int64(&'a Int64Chunked),
    UInt32(&'a UInt32Chunked),
    UInt64(&'a UInt64Chunked),
    Float64(&'a Float64Chunked),
    Text(&'a StringChunked),
}

impl<'a> Cells<'a> {
    /// The cells of `column`, or `None` when its dtype is not one a report can hold.
    pub(crate) fn of(column: &'a Column) -> Option<Self> {
        match column.dtype() {
            DataType::Null => Some(Self::AllNull),
            DataType::Boolean => column.bool().ok().map(Self::Boolean),
            DataType::Int32 => column.i32().ok().map(Self::Int32),
            DataType::Int64 => column.i64().ok().map(Self::Int64),
            DataType::UInt32 => column.u32().ok().map(Self::UInt32),
            DataType::UInt64 => column.u64().ok().map(Self::UInt64),
            DataType::Float64 => column.f64().ok().map(Self::Float64),
            DataType::String => column.str().ok().map(Self::Text),
            _ => None,
        }
    }

    /// The cell in `row`; null when the column has no such row.
    pub(crate) fn get(&self, row: usize) -> Cell<'a> {
        let cell = match self {
            Self::AllNull => None,
            Self::Boolean(array) => array.get(row).map(Cell::Boolean),
            Self::Int32(array) => array.get(row).map(|value| Cell::Integer(value.into())),
            Self::Int64(array) => array.get(row).map(|value| Cell::Integer(value.into())),
            Self::UInt32(array) => array.get(row).map(|value| Cell::Integer(value.into())),
            Self::UInt64(array) => array.get(row).map(|value| Cell::Integer(value.into())),
            Self::Float64(array) => array.get(row).map(Cell::Float),
            Self::Text(array) => array.get(row).map(Cell::Text),
        };
        cell.unwrap_or(Cell::Null)
    }

    /// Whether the cells are integers or floats.
    pub(crate) fn is_numeric(&self) -> bool {
        matches!(self, Self::Int32(_) | Self::Int64(_) | Self::UInt32(_) | Self::UInt64(_) | Self::Float64(_))
    }
}
