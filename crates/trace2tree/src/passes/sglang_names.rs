//! Names of SGLang's operators, which its profiler numbers.

use trace_ingest::{Category, EventId};

use super::rule::Rule;
use crate::tree::TraceTree;

/// Prefix of the operators that SGLang records for the profiler.
const PREFIX: &str = "sglang_profiler::";

/// Takes the running number off the names of SGLang's operators: `sglang_profiler::gemm_17` becomes
/// `sglang_profiler::gemm`. A name counts when its first event is an operator; one number is taken off.
/// Without it no report or model knows these operators, pseudo operators or not.
pub fn normalise_names(tree: &mut TraceTree) {
    let events = tree.trace().events();
    let renamed: Vec<(String, Vec<EventId>)> = tree
        .trace()
        .strings()
        .iter()
        .filter_map(|(id, name)| {
            let name = without_number(name)?;
            let all = tree.find_by_name_id(id);
            let time = |event: &&EventId| (events.category(**event).is_device(), events.start(**event));
            let first = *all.iter().min_by_key(time)?;
            (events.category(first) == Category::CPU_OP).then(|| (name.to_owned(), all.to_vec()))
        })
        .collect();
    let mut edit = tree.edit();
    for (name, events) in renamed {
        for event in events {
            edit.rename(event, &name);
        }
    }
}

/// The name of an SGLang operator without the number at its end.
fn without_number(name: &str) -> Option<&str> {
    let (stem, number) = name.strip_prefix(PREFIX)?.rsplit_once('_')?;
    let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    (is_number && !stem.is_empty()).then(|| &name[..PREFIX.len() + stem.len()])
}

/// [`normalise_names`] as a pass.
pub(super) const NORMALISE_NAMES: Rule = Rule {
    name: "sglang_names",
    run: |tree, _| {
        normalise_names(tree);
        Ok(())
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, Planted, names};

    #[test]
    fn one_number_at_the_end_is_taken_off() {
        for (name, stem) in [
            ("sglang_profiler::attention_ragged_100", Some("sglang_profiler::attention_ragged")),
            ("sglang_profiler::gemm_1_2", Some("sglang_profiler::gemm_1")),
            ("sglang_profiler::gemm", None),
            ("sglang_profiler::gemm_1a", None),
            ("sglang_profiler::gemm_", None),
            ("sglang_profiler::_5", None),
            ("sglang_profiler::__5", Some("sglang_profiler::_")),
            ("aten::gemm_1", None),
        ] {
            assert_eq!(without_number(name), stem, "{name}");
        }
    }

    #[test]
    fn numbered_operators_merge_under_one_name() {
        let mut fixture = Fixture::new();
        let gemms = [17, 18].map(|number| {
            fixture.op(&format!("sglang_profiler::gemm_{number}"), (f64::from(number) * 10.0, 5.0))
        });
        fixture.python("sglang_profiler::frame_3", (0.0, 5.0));
        let mut tree = fixture.tree();
        normalise_names(&mut tree);
        assert_eq!(tree.find_by_name("sglang_profiler::gemm"), gemms);
        assert_eq!(tree.find_by_name("sglang_profiler::gemm_17"), []);
        assert_eq!(
            names(&tree, tree.roots()),
            ["sglang_profiler::frame_3", "sglang_profiler::gemm", "sglang_profiler::gemm"]
        );
    }
}
