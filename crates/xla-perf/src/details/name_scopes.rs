//! Device time by name scope of the framework.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::origin::{Share, origins, shares};
use tree_perf::{Column, ColumnKind, Unit};
use ::sheets::percent;
use tree_perf::FrameBuilder;
use crate::JaxAnalysis;
use tree_perf::Sheet;

/// One row per name scope.
pub(crate) const SHEET: Sheet<JaxAnalysis> = Sheet {
    name: "name_scopes",
    current_name: "name_scopes",
    description: "Device time by name scope of the framework, with that of the scopes inside it, the most first: functions under jit, transformations such as transpose(jvp()), and what jax.named_scope and modules name.",
    columns: &[
        Column::new(
            "scope",
            ColumnKind::Text,
            "Path of the scope; the operation's own name, its last part, is left out.",
        ),
        Column::new("depth", ColumnKind::Count, "Parts of the path."),
        Column::new("instructions", ColumnKind::Count, "Instructions in the scope and those inside it."),
        Column::new("executions", ColumnKind::Count, "Their executions on all GPUs."),
        Column::new("kernels", ColumnKind::Count, "Kernels, copies and fills of these."),
        Column::new(
            "total_time_ms",
            ColumnKind::Number(Unit::Milliseconds),
            "Sum in ms over executions of the time in which a kernel of the instruction ran, scopes inside included.",
        ),
        Column::new(
            "own_time_ms",
            ColumnKind::Number(Unit::Milliseconds),
            "The same without the scopes inside.",
        ),
        Column::new(
            "percent",
            ColumnKind::Number(Unit::Percent),
            "total_time_ms as a share of all device time, in percent; scopes inside others count again.",
        ),
    ],
    chart: None,
    build: |analysis| {
        let shares = shares(analysis);
        let whole = shares.iter().fold(0_i64, |sum, share| sum.saturating_add(share.time));
        let mut scopes: BTreeMap<String, (usize, Share, i64)> = BTreeMap::new();
        for (origin, share) in origins(analysis).iter().zip(&shares).filter(|(_, share)| share.calls > 0) {
            let Some(origin) = origin else { continue };
            let paths = enclosing(&origin.op_name);
            for (position, path) in paths.iter().enumerate() {
                let (_, sum, own) =
                    scopes.entry((*path).to_owned()).or_insert((position + 1, Share::default(), 0));
                sum.add(share);
                if position + 1 == paths.len() {
                    *own = own.saturating_add(share.time);
                }
            }
        }
        if scopes.is_empty() {
            return Ok(None);
        }
        let mut rows: Vec<_> = scopes.into_iter().collect();
        rows.sort_by_key(|(_, (_, share, _))| Reverse(share.time));
        let mut frame = FrameBuilder::default();
        frame.text("scope", rows.iter().map(|(path, _)| Some(path)));
        frame.integer("depth", rows.iter().map(|(_, (depth, ..))| Some(*depth as i64)));
        frame.integer("instructions", rows.iter().map(|(_, (_, share, _))| Some(share.instructions as i64)));
        frame.integer("executions", rows.iter().map(|(_, (_, share, _))| Some(share.calls as i64)));
        frame.integer("kernels", rows.iter().map(|(_, (_, share, _))| Some(share.kernels as i64)));
        frame.float("total_time_ms", rows.iter().map(|(_, (_, share, _))| Some(analysis.ms(share.time))));
        frame.float("own_time_ms", rows.iter().map(|(_, (.., own))| Some(analysis.ms(*own))));
        frame.float("percent", rows.iter().map(|(_, (_, share, _))| percent(share.time, whole)));
        frame.finish().map(Some)
    },
};

/// The scopes around an operation, from the outside in: `a/b/c` is in `a` and `a/b`. A slash in parentheses does not
/// part scopes.
fn enclosing(op_name: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let mut found = Vec::new();
    for (at, c) in op_name.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '/' if depth == 0 => found.push(&op_name[..at]),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::enclosing;

    #[test]
    fn scopes_are_the_beginnings_of_the_path() {
        assert_eq!(enclosing("jit(f)/jit(main)/dot_general"), ["jit(f)", "jit(f)/jit(main)"]);
        assert_eq!(enclosing("transpose(jvp(a/b))/mul"), ["transpose(jvp(a/b))"]);
        assert!(enclosing("add").is_empty() && enclosing("").is_empty());
    }
}
