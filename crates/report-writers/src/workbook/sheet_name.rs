//! Sheet names that the format accepts: at most 31 characters, seven of them forbidden, unique
//! without regard to case.

use std::collections::HashSet;

/// UTF-16 code units of a sheet name.
const MAX_NAME: usize = 31;

/// One sheet name per table name: the name itself wherever it is allowed.
pub(super) fn sheet_names<'a>(tables: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut taken = HashSet::new();
    tables
        .map(|table| {
            let allowed: String =
                table.chars().map(|c| if r"[]:*?/\".contains(c) { '_' } else { c }).collect();
            // An apostrophe at either end is forbidden too: it would end the name in a formula.
            let allowed = allowed.trim_matches('\'');
            let mut name = shorten(if allowed.is_empty() { "_" } else { allowed }, MAX_NAME);
            let mut copy = 2;
            while !taken.insert(name.to_lowercase()) {
                let suffix = format!("~{copy}");
                name = shorten(allowed, MAX_NAME - suffix.len()) + &suffix;
                copy += 1;
            }
            name
        })
        .collect()
}

/// The longest start of `name` of at most `units` UTF-16 code units.
fn shorten(name: &str, units: usize) -> String {
    let mut used = 0;
    let kept = name.chars().take_while(|c| {
        used += c.len_utf16();
        used <= units
    });
    let kept: String = kept.collect();
    kept.trim_end_matches('\'').to_owned()
}

#[cfg(test)]
mod tests {
    use super::sheet_names;

    #[test]
    fn allowed_names_are_kept_and_others_changed_without_collisions() {
        let cases: &[(&[&str], &[&str])] = &[
            (&["gpu_timeline", "GEMM"], &["gpu_timeline", "GEMM"]),
            (&["unified_perf_summary_kl_overlap"], &["unified_perf_summary_kl_overlap"]),
            (&["a[1]", "a_1_"], &["a_1_", "a_1_~2"]),
            (&["'quoted'"], &["quoted"]),
            (
                &["unified_perf_summary_kl_overlap_fwd", "Unified_perf_summary_kl_overlap_bwd"],
                &["unified_perf_summary_kl_overlap", "Unified_perf_summary_kl_overl~2"],
            ),
            (&["😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀"], &["😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀"]),
        ];
        for (tables, sheets) in cases {
            assert_eq!(&sheet_names(tables.iter().copied()), sheets);
        }
    }
}
