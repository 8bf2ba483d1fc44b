//! Sheets in which the reference is known to be wrong, with how much differs for that.
//!
//! Cell by cell, with every fault, the differences are in `crates/cli/tests/command_line/inference_conformance/meant.rs`.

use super::Sheet;

/// One sheet of one case: wrong cells, missing rows, extra rows.
type Known = (&'static str, &'static str, [u64; 3], &'static str);

const GRAPH: &str = "no host time for operators of a replayed graph; stacks of single device events";
const BYTES: &str = "bytes of bool, of generated kernels and of their second outputs";
const PARTS: &str = "parts of fused operators in every table, not in the unified one alone";
const XDIT: &str = "xdit-sd-3.5";
const VLLM: &str = "vllm-prefilldecode-piecewise";

const KNOWN: &[Known] = &[
    ("sglang-qwen3-8b-decode", "unified_perf_summary", [104, 0, 0], GRAPH),
    (VLLM, "UnaryElementwise", [6, 0, 0], BYTES),
    (VLLM, "ops_summary", [3, 1, 3], PARTS),
    (VLLM, "ops_summary_by_category", [5, 0, 1], PARTS),
    (VLLM, "ops_unique_args", [3, 1, 3], PARTS),
    (VLLM, "unified_perf_summary", [100, 0, 0], GRAPH),
    (XDIT, "CONV_fwd", [0, 12, 12], "the bias of convolutions counts"),
    (XDIT, "Reduce_fwd", [0, 2, 2], "only the reduced dimensions go"),
    (XDIT, "UnaryElementwise", [37, 0, 0], "both overloads of upsample_nearest2d are read; bytes of bool"),
    (
        XDIT,
        "unified_perf_summary",
        [415, 0, 0],
        "the above; bytes of generated kernels; no frame is lost from stacks",
    ),
];

/// Why a sheet differs, if it differs as much as is known, and lacks nothing.
pub(super) fn known(case: &str, sheet: &Sheet) -> Option<&'static str> {
    let differs = [sheet.wrong, sheet.missing_rows, sheet.extra_rows];
    let complete = !sheet.missing && sheet.missing_columns.is_empty();
    KNOWN
        .iter()
        .find(|(known_case, name, known, _)| {
            complete && (*known_case, *name, *known) == (case, sheet.sheet.as_str(), differs)
        })
        .map(|&(.., why)| why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_that_differs_in_anything_more_is_not_known() {
        let sheet = |wrong, missing_columns: &[&str]| Sheet {
            sheet: "UnaryElementwise".to_owned(),
            wrong,
            missing_columns: missing_columns.iter().map(ToString::to_string).collect(),
            ..Sheet::default()
        };
        assert_eq!(known(VLLM, &sheet(6, &[])), Some(BYTES));
        for (case, sheet) in [(VLLM, sheet(7, &[])), (VLLM, sheet(6, &["name"])), ("another", sheet(6, &[]))]
        {
            assert_eq!(known(case, &sheet), None, "{case} {sheet:?}");
        }
    }
}
