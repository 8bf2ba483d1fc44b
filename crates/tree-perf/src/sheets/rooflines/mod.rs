//! Achieved rates of the operators of one family, by their parameters: one pair of sheets per family, and those that an
//! extension's categories and lists make.

mod fields;
mod groups;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use operator_sheets::{BACKWARD, FORWARD};
use perf_models::{BackwardWork, Family};
use sheets::Sheet;

use crate::analysis::Analysis;
use crate::call_groups::CallTable;
use crate::derived::Subject;
use crate::options::ReportLayout;

use fields::{Row, fields};
use groups::{Group, SheetRows, grouped_calls};

/// What the names of sheets end with that distinguish calls by what ran beside them.
const OVERLAP: &str = "_kl_overlap";

/// The sheets of all families, in the order of reports.
pub(crate) fn sheets<'a>(layout: ReportLayout) -> impl Iterator<Item = Sheet<'a, Analysis>> {
    Family::all().flat_map(move |family| {
        let what = family.description();
        // The report of inference engines has another name for normalizations.
        let is_renamed = layout == ReportLayout::Inference && family == Family::Normalization;
        let (combined, what) = match is_renamed {
            true => (FORWARD, format!("{what}, in the inference report")),
            false => ("", what.to_owned()),
        };
        let directions = match family.is_split_by_direction() {
            false => &[(Direction::Combined, combined)][..],
            true => &[(Direction::Forward, FORWARD), (Direction::Backward, BACKWARD)],
        };
        let sheets = [false, true].into_iter().flat_map(|with_overlap| {
            directions.iter().map(move |&(direction, suffix)| (with_overlap, direction, suffix))
        });
        let sheets = sheets.map(|(with_overlap, direction, suffix)| match with_overlap {
            false => sheet(
                format!("{family}{suffix}"),
                format!("{what}: operators of the family by their parameters, with FLOPs, bytes, achieved rates and distance from the roofline, most kernel time first."),
                Subject::Family(family),
                direction,
                false,
            ),
            true => sheet(
                format!("{family}{suffix}{OVERLAP}"),
                format!("{what}, with calls distinguished by concurrent kernels on other streams; only if overlap is requested."),
                Subject::Family(family),
                direction,
                true,
            ),
        });
        sheets.collect::<Vec<_>>()
    })
}

/// The sheets that the extension's categories and lists make, by name, beside those of these names: roofline sheets as
/// those of the built-in families. Their names are those of the extension with `_fwd` or `_bwd`, as far as a workbook
/// can have them (at most 31 characters, some of them not allowed, no two names that differ in case only).
pub(crate) fn extension_sheets<'a>(
    analysis: &Analysis,
    built_in: impl Iterator<Item = String>,
) -> Vec<Sheet<'a, Analysis>> {
    let mut taken: HashSet<String> = built_in.map(|name| name.to_lowercase()).collect();
    let mut sheets = Vec::new();
    for own in analysis.roofline_members().own_names() {
        for (with_overlap, beside) in [(false, ""), (true, OVERLAP)] {
            for (direction, suffix) in [(Direction::Forward, FORWARD), (Direction::Backward, BACKWARD)] {
                sheets.push(sheet(
                    sheet_name(own, &format!("{suffix}{beside}"), &mut taken),
                    format!("Operators of the extension's category {own}, by their parameters."),
                    Subject::Own(Arc::clone(own)),
                    direction,
                    with_overlap,
                ));
            }
        }
    }
    sheets
}

fn sheet<'a>(
    name: impl Into<Cow<'static, str>>,
    description: impl Into<Cow<'static, str>>,
    subject: Subject,
    direction: Direction,
    with_overlap: bool,
) -> Sheet<'a, Analysis> {
    Sheet::with_context(name, description, fields(), move |analysis| {
        rows(analysis, &subject, direction, with_overlap)
    })
}

/// Which rows a sheet of a family shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    /// Forward and backward operators alike, each by its own figures.
    Combined,
    /// Forward work: operators by their own figures.
    Forward,
    /// Backward work: forward operators by the figures of their backward pass, then backward operators.
    Backward,
}

fn rows<'a>(
    analysis: &'a Analysis,
    subject: &Subject,
    direction: Direction,
    with_overlap: bool,
) -> Option<(CallTable<'a>, Vec<Row>)> {
    let nothing_ran = analysis.is_gpu_only() || analysis.device_event_count() == 0;
    if nothing_ran || (with_overlap && !analysis.options().include_overlap_info) {
        return None;
    }
    let mut table = CallTable::new(analysis, with_overlap);
    let mut calls = |backward| grouped_calls(analysis, subject, backward, &mut table.name_lists);
    let mut sheet = SheetRows::default();
    match direction {
        Direction::Combined => sheet.extend(calls(false)),
        Direction::Forward => {
            let mut forward = calls(false);
            forward.groups.retain(|group| !is_backward(analysis, group));
            sheet.extend(forward);
        }
        Direction::Backward => {
            let mut linked = calls(true);
            linked.groups.retain(|group| backward_work(analysis, group) != BackwardWork::NotCounted);
            let mut own = calls(false);
            own.groups.retain(|group| is_backward(analysis, group));
            sheet.extend(linked);
            sheet.extend(own);
        }
    }
    if sheet.groups.is_empty() {
        return None;
    }
    sheet.count_nested(analysis);
    sheet.groups.truncate(analysis.options().topk_roofline_ops.unwrap_or(usize::MAX));
    table.parameters = sheet.parameters;
    let rows = sheet.groups.into_iter().map(|group| Row::new(&mut table, group)).collect();
    Some((table, rows))
}

/// Whether the group's operator is backward work itself.
fn is_backward(analysis: &Analysis, group: &Group) -> bool {
    let (models, operator) = (analysis.models(), group.rows[0].operator);
    match models.is_extended(analysis.tree(), operator) {
        true => {
            let category = models.category_by_extension(analysis.tree(), operator);
            category.is_some_and(|category| category.is_backward())
        }
        false => backward_work(analysis, group) == BackwardWork::Itself,
    }
}

/// Where the group's operator has its backward work, as its row in the tables of operators says.
fn backward_work(analysis: &Analysis, group: &Group) -> BackwardWork {
    let name = analysis.trace().name(group.rows[0].operator);
    analysis.models().operator(name).map(|operator| operator.backward_work).unwrap_or_default()
}

/// UTF-16 code units of a sheet name.
const LONGEST_NAME: usize = 31;

/// A name that a workbook and a file system can have, that is not taken yet and will be.
pub(crate) fn sheet_name(own: &str, suffix: &str, taken: &mut HashSet<String>) -> String {
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
