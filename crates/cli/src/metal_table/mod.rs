//! The table of operations on the terminal: what its cells say (`cells`), their colours (`ink`), and how the columns
//! stand (`grid`).

mod cells;
mod grid;
mod ink;

pub(crate) use cells::{OpColumns, decimal_text, micros_text, percent_text};
pub(crate) use grid::{Align, Cell, Frame, Grid, GridColumn, Priority};
pub(crate) use ink::{Ink, Paint, of_label};
