//! Collectives that a runtime calls by other names than the program does.

use std::collections::BTreeMap;

/// Kinds whose asynchronous form some runtimes report under the name of the plain one.
const FAMILIES: [&str; 3] = ["all-to-all", "reduce-scatter", "all-gather"];

/// The instructions that names of events mean which the module does not have: names such as `all-gather.7`, ordered
/// by number, stand for the instructions `all-gather-start…` in the order of their names (for `all-gather-done…` where
/// there are none of these). When there are more names than instructions, the last instruction has the rest.
#[must_use]
pub fn renamed_collectives<'n>(
    names: impl IntoIterator<Item = &'n str>,
    instructions: &[&'n str],
) -> BTreeMap<&'n str, &'n str> {
    let names: Vec<&str> = names.into_iter().collect();
    let mut found = BTreeMap::new();
    for family in FAMILIES {
        let beginning = |suffix: &str| {
            let mut halves: Vec<&str> = instructions
                .iter()
                .copied()
                .filter(|name| name.strip_prefix(family).is_some_and(|rest| rest.starts_with(suffix)))
                .collect();
            halves.sort_unstable();
            halves
        };
        let starts = Some(beginning("-start")).filter(|starts| !starts.is_empty());
        let halves = starts.unwrap_or_else(|| beginning("-done"));
        let number = |name: &str| name.strip_prefix(family)?.strip_prefix('.')?.parse::<u64>().ok();
        let mut numbered: Vec<(u64, &str)> = names
            .iter()
            .filter(|name| !instructions.contains(name))
            .filter_map(|&name| Some((number(name)?, name)))
            .collect();
        numbered.sort_unstable();
        numbered.dedup();
        for (position, (_, name)) in numbered.into_iter().enumerate() {
            if let Some(half) = halves.get(position).or(halves.last()) {
                found.insert(name, *half);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::renamed_collectives;

    #[test]
    fn numbered_names_stand_for_the_starts_in_order() {
        let instructions = [
            "all-gather-start.2",
            "all-gather-start",
            "all-gather-done",
            "reduce-scatter-done.1",
            "all-to-all.4",
        ];
        let names =
            ["all-gather.20", "all-gather.3", "all-gather.100", "reduce-scatter.1", "all-to-all.4", "dot.1"];
        let found: Vec<(&str, &str)> = renamed_collectives(names, &instructions).into_iter().collect();
        assert_eq!(
            found,
            [
                ("all-gather.100", "all-gather-start.2"),
                ("all-gather.20", "all-gather-start.2"),
                ("all-gather.3", "all-gather-start"),
                ("reduce-scatter.1", "reduce-scatter-done.1"),
            ]
        );
    }

    #[test]
    fn names_without_a_counterpart_mean_nothing() {
        assert!(renamed_collectives(["all-gather.1", "all-gather"], &["dot.1"]).is_empty());
    }
}
