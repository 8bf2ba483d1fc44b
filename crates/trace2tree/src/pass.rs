//! Rules that run on a finished tree.

use crate::edit::EditError;
use crate::tree::TraceTree;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::PseudoOperator;
    use crate::fixture::Fixture;
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
    fn a_failing_pass_does_not_stop_the_others() {
        let mut fixture = Fixture::new();
        let op = fixture.op("op", (0.0, 10.0));
        let kernel = fixture.kernel("unlinked", (20.0, 1.0), 5);
        let mut tree = fixture.tree();
        let failures = run_passes(&mut tree, &[&Insert("fails", kernel), &Insert("works", op)]);
        assert_eq!(failures.len(), 1);
        assert_eq!(failures[0].0, "fails");
        assert_eq!(
            failures[0].1.to_string(),
            "event 1 (unlinked) is not a host event of the tree; only host events can be moved"
        );
        assert_eq!(tree.trace().name(tree.roots()[0]), "works");
    }
}
