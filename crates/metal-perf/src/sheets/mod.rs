//! One module per sheet, and the list of them.

mod advice;
mod comparison;
mod devices;
mod ops;
mod summary;

use tree_perf::Sheet;

use crate::compare::Comparison;
use crate::report::MetalReport;

/// The sheet of two runs side by side, the biggest changes first.
#[must_use]
pub fn comparison_sheet() -> &'static Sheet<Comparison> {
    &comparison::SHEET
}

/// The sheets of a report, in order.
#[must_use]
pub fn metal_sheets() -> &'static [&'static Sheet<MetalReport>] {
    static SHEETS: [&Sheet<MetalReport>; 5] =
        [&ops::SHEET, &summary::SHEET, &advice::SHEET, &devices::SHEET, &devices::IMBALANCE];
    &SHEETS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hand_made::{Line, report};
    use crate::options::MetalOptions;

    #[test]
    fn every_column_of_every_sheet_is_described() {
        let line = |device| Line { device: Some(device), call: Some(0), ..Line::op("Matmul") };
        let report = report(&[line(0), line(1)], MetalOptions::default());
        let mut made = Vec::new();
        for sheet in metal_sheets() {
            let Some(frame) = sheet.build(&report).unwrap() else { continue };
            let columns: Vec<String> = frame.get_column_names().iter().map(ToString::to_string).collect();
            let described: Vec<&str> = sheet.columns.iter().map(|column| column.name).collect();
            assert_eq!(columns, described, "{}", sheet.name);
            made.push(sheet.name);
        }
        for name in ["ops", "summary", "devices", "imbalance"] {
            assert!(made.contains(&name), "{name} is empty");
        }
    }
}
