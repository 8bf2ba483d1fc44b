//! The sheets that an extension's categories and lists make.

use std::collections::HashSet;
use std::sync::Arc;

use polars::prelude::{DataFrame, PolarsResult};

use super::columns::COLUMNS;
use super::members::Subject;
use super::{Direction, build};
use crate::analysis::Analysis;
use crate::column::Column;
use crate::sheet::{column_of, pytorch_sheets};
use operator_sheets::{BACKWARD, FORWARD};

/// Operators that an extension puts under a name of its own, with FLOPs, bytes, achieved rates and distance from the
/// roofline: a roofline sheet as those of the built-in families.
#[derive(Clone, Debug)]
pub struct ExtensionSheet {
    name: String,
    description: String,
    subject: Subject,
    direction: Direction,
    with_overlap: bool,
}

impl ExtensionSheet {
    /// Name in the report: that of the extension with `_fwd` or `_bwd`, as far as a workbook can have it (at most 31
    /// characters, some of them not allowed, no two names that differ in case only).
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What one row is, in one sentence.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Makes the table of a trace; `None` when there is nothing to show and the sheet is left out.
    ///
    /// # Errors
    /// When polars refuses the columns, which is a fault of this crate.
    pub fn build(&self, analysis: &Analysis) -> PolarsResult<Option<DataFrame>> {
        build(analysis, &self.subject, self.direction, self.with_overlap)
    }

    /// The description of a column of this sheet.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&'static Column> {
        column_of(COLUMNS, name)
    }
}

/// All of them, by name.
pub(crate) fn extension_sheets(analysis: &Analysis) -> Vec<ExtensionSheet> {
    let mut taken: HashSet<String> = pytorch_sheets()
        .iter()
        .flat_map(|sheet| [sheet.name, sheet.current_name])
        .map(str::to_lowercase)
        .collect();
    let mut sheets = Vec::new();
    for own in analysis.sheet_members().own_names() {
        for (with_overlap, beside) in [(false, ""), (true, "_kl_overlap")] {
            for (direction, suffix) in [(Direction::Forward, FORWARD), (Direction::Backward, BACKWARD)] {
                sheets.push(ExtensionSheet {
                    name: sheet_name(own, &format!("{suffix}{beside}"), &mut taken),
                    description: format!(
                        "Operators of {own}, a category of the extension, by their parameters."
                    ),
                    subject: Subject::Own(Arc::clone(own)),
                    direction,
                    with_overlap,
                });
            }
        }
    }
    sheets
}

/// UTF-16 code units of a sheet name.
const LONGEST_NAME: usize = 31;

/// A name that a workbook and a file system can have, that is not taken yet and will be.
fn sheet_name(own: &str, suffix: &str, taken: &mut HashSet<String>) -> String {
    let is_reserved = |c: char| c.is_control() || r#"[]:*?/\"<>|"#.contains(c);
    let allowed: String = own.chars().map(|c| if is_reserved(c) { '_' } else { c }).collect();
    let allowed = allowed.trim_start_matches([' ', '.', '\'']);
    let mut copy = 1;
    loop {
        let suffix = if copy > 1 { format!("~{copy}{suffix}") } else { suffix.to_owned() };
        let mut left = LONGEST_NAME - suffix.len();
        let stem: String = allowed
            .chars()
            .take_while(|c| {
                let fits = c.len_utf16() <= left;
                left = left.saturating_sub(c.len_utf16());
                fits
            })
            .collect();
        let name = format!("{}{suffix}", if stem.is_empty() { "extension" } else { &stem });
        if taken.insert(name.to_lowercase()) {
            return name;
        }
        copy += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_such_as_a_workbook_takes() {
        let mut taken = HashSet::from(["gemm_fwd".to_owned()]);
        for (own, name) in [
            ("mine", "mine_fwd"),
            ("Mine", "Mine~2_fwd"),
            ("a/b:c*d", "a_b_c_d_fwd"),
            ("a?b[c]d", "a_b_c_d~2_fwd"),
            ("GEMM", "GEMM~2_fwd"),
            ("'. quoted", "quoted_fwd"),
            ("", "extension_fwd"),
            ("a category of which there is much to say", "a category of which there i_fwd"),
            ("😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀", "😀😀😀😀😀😀😀😀😀😀😀😀😀_fwd"),
        ] {
            let given = sheet_name(own, "_fwd", &mut taken);
            assert_eq!(given, name, "{own}");
            assert!(given.encode_utf16().count() <= LONGEST_NAME, "{given}");
        }
    }
}
