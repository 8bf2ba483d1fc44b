//! A sheet as text for tests to read.

use inference_phase::sheets::{PhaseAnalysis, phase_sheets};
use polars::prelude::{AnyValue, DataFrame};

/// A sheet of the phases; `None` when it is left out.
pub(crate) fn sheet(phases: &PhaseAnalysis<'_>, name: &str) -> Option<DataFrame> {
    let sheet = phase_sheets().into_iter().find(|sheet| sheet.name == name).unwrap();
    sheet.table(phases).unwrap().map(|table| table.to_dataframe().unwrap())
}

/// The rows of some columns, cells joined by ` | `; null is `-`, times have three places.
pub(crate) fn rows(frame: &DataFrame, columns: &[&str]) -> Vec<String> {
    let cell = |column: &str, row: usize| match frame.column(column).unwrap().get(row).unwrap() {
        AnyValue::Null => "-".to_owned(),
        AnyValue::String(text) => text.to_owned(),
        AnyValue::StringOwned(text) => text.to_string(),
        AnyValue::Float64(number) => format!("{number:.3}"),
        other => other.to_string(),
    };
    (0..frame.height())
        .map(|row| columns.iter().map(|column| cell(column, row)).collect::<Vec<_>>().join(" | "))
        .collect()
}

/// Σ of a column.
pub(crate) fn sum(frame: &DataFrame, column: &str) -> f64 {
    frame.column(column).unwrap().f64().unwrap().iter().flatten().sum()
}
