//! Rules that run on a finished tree.

use trace_ingest::EventId;

use crate::edit::EditError;
use crate::tree::TraceTree;
use crate::warning::TreeWarning;

/// A rule that runs after a tree is built and may insert operators ([`TraceTree::edit`]), for instance one
/// that names the parts of a fused kernel sequence.
///
/// ```
/// use trace2tree::{PassError, PseudoOperator, TraceTree, TreeOptions, TreePass, run_passes};
///
/// /// Puts every fused mixture-of-experts kernel below an operator of its own.
/// struct NameExperts;
///
/// impl TreePass for NameExperts {
///     fn name(&self) -> &str {
///         "name-experts"
///     }
///
///     fn run(&self, tree: &mut TraceTree) -> Result<(), PassError> {
///         let kernels = tree.find_by_name("fused_moe_kernel").to_vec();
///         let mut edit = tree.edit();
///         for kernel in kernels {
///             edit.isolate(kernel, PseudoOperator { name: "pseudo_op::experts", ..Default::default() })?;
///         }
///         Ok(())
///     }
/// }
///
/// let mut tree = TraceTree::build(Default::default(), &TreeOptions::default());
/// assert!(run_passes(&mut tree, &[&NameExperts]).is_empty());
/// ```
pub trait TreePass {
    /// Name by which it is chosen and reported.
    fn name(&self) -> &str;

    /// Runs the rule. A tree that it does not apply to is not an error.
    ///
    /// # Errors
    /// When the rule applies but cannot be carried out. What it inserted until then stays.
    fn run(&self, tree: &mut TraceTree) -> Result<(), PassError>;
}

/// Why a pass could not be carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PassError {
    /// An operator could not be inserted.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The trace lacks what the pass needs.
    #[error("{0}")]
    Unmet(String),
}

/// Runs passes in order. One that fails does not keep the others from running; the failures are returned
/// with the names of their passes.
pub fn run_passes(tree: &mut TraceTree, passes: &[&dyn TreePass]) -> Vec<(String, PassError)> {
    let mut failures = Vec::new();
    for pass in passes {
        if let Err(error) = pass.run(tree) {
            failures.push((pass.name().to_owned(), error));
        }
    }
    failures
}

impl TraceTree {
    /// Adds to the tree's warnings that a pass left events as they are, or had to assume something for them.
    /// It takes the place of what the same pass said of the same problem before; no event, no warning.
    pub fn warn_of(&mut self, pass: &str, problem: &str, events: &[EventId]) {
        let Some(&first) = events.first() else { return };
        let is_same = |warning: &TreeWarning| match warning {
            TreeWarning::Pass { pass: other, problem: met, .. } => other == pass && met == problem,
            _ => false,
        };
        let warning = TreeWarning::Pass {
            pass: pass.to_owned(),
            problem: problem.to_owned(),
            count: events.len() as u64,
            first_uid: self.trace.events().uid(first),
        };
        match self.warnings.iter().position(is_same) {
            Some(said) => self.warnings[said] = warning,
            None => self.warnings.push(warning),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::PseudoOperator;
    use crate::fixture::{Fixture, Planted};
    use trace_ingest::EventId;

    struct Insert(&'static str, EventId);

    impl TreePass for Insert {
        fn name(&self) -> &str {
            self.0
        }

        fn run(&self, tree: &mut TraceTree) -> Result<(), PassError> {
            tree.edit().insert_above(self.1, PseudoOperator { name: self.0, ..PseudoOperator::default() })?;
            Ok(())
        }
    }

    #[test]
    fn what_a_pass_met_is_a_warning_of_the_tree_said_once() {
        let mut fixture = Fixture::new();
        let ops = [fixture.op("a", (0.0, 10.0)), fixture.op("b", (20.0, 10.0))];
        let mut tree = fixture.tree();
        tree.warn_of("experts", "no top-k found", &[]);
        assert!(tree.warnings().is_empty());
        for count in [1, 2] {
            tree.warn_of("experts", "no top-k found", &ops[..count]);
            tree.warn_of("stages", "no top-k found", &ops[1..]);
        }
        let said: Vec<String> = tree.warnings().iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "experts: no top-k found (events: 2, first: event 0)",
                "stages: no top-k found (events: 1, first: event 1)"
            ]
        );
    }

    #[test]
    fn a_failing_pass_does_not_stop_the_others() {
        let mut fixture = Fixture::new();
        let op = fixture.op("op", (0.0, 10.0));
        let kernel = fixture.kernel("unlinked", (20.0, 1.0), 5);
        let mut tree = fixture.tree();
        let failures = run_passes(&mut tree, &[&Insert("fails", kernel), &Insert("works", op)]);
        assert_eq!(failures.len(), 1);
        assert_eq!(failures[0].0, "fails");
        assert_eq!(failures[0].1.to_string(), "event 1 (unlinked) is not a host event of the tree");
        assert_eq!(tree.trace().name(tree.roots()[0]), "works");
    }
}
