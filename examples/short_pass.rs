//! A rule of one's own on the tree, in short: every matrix product gets an operator above it.
//! `cargo run -p examples short_pass [TRACE]`; `own_pass` is a longer one

use std::error::Error;
use std::io::Write;

use trace2tree::trace_ingest::{ReadOptions, read_path};
use trace2tree::{PassError, PseudoOperator, TraceTree, TreeOptions, TreePass, run_passes};

struct NameProducts;

const NAME: &str = "my_model::product";

impl TreePass for NameProducts {
    fn name(&self) -> &str {
        "name-products"
    }

    fn run(&self, tree: &mut TraceTree) -> Result<(), PassError> {
        let products = tree.find_by_name("aten::mm").to_vec();
        let mut edit = tree.edit();
        for product in products {
            edit.insert_above(product, PseudoOperator { name: NAME, ..PseudoOperator::default() })?;
        }
        Ok(())
    }
}

pub(crate) fn run(arguments: &[String], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let trace = read_path(&crate::trace(arguments), &ReadOptions::default())?;
    let mut tree = TraceTree::build(trace, &TreeOptions::default());
    for (pass, error) in run_passes(&mut tree, &[&NameProducts]) {
        writeln!(out, "{pass} failed: {error}")?;
    }
    writeln!(out, "{} operators called {NAME}", tree.find_by_name(NAME).len())?;
    Ok(())
}
