//! A rule of one's own on the tree: the kernels of the backward pass of flash attention, which the trace records
//! as one operator, become operators: `cargo run -p examples own_pass [TRACE]`

use std::error::Error;
use std::io::Write;

use sheets::Cell;
use trace_ingest::{ReadOptions, read_path};
use trace2tree::{PassError, PrintOptions, PseudoOperator, TraceTree, TreePass};
use tree_perf::{Analysis, AnalysisExtension, AnalysisOptions, TreeChanges, pytorch_sheets};

/// Puts each kernel of the backward pass of flash attention below an operator that says what it does.
struct FlashAttentionBackward;

const OPERATOR: &str = "aten::_flash_attention_backward";

/// Part of a kernel's name, and the operator above such kernels.
const PARTS: [(&str, &str); 2] = [
    ("flash_bwd_dot_do_o_kernel", "flash_attention_backward::row_sums"),
    ("flash_bwd_dq_dk_dv_loop", "flash_attention_backward::gradients"),
];

impl TreePass for FlashAttentionBackward {
    fn name(&self) -> &str {
        "flash-attention-backward"
    }

    fn run(&self, tree: &mut TraceTree) -> Result<(), PassError> {
        // What is below the operator is read first: the tree is at rest until the edit begins.
        let (mut found, mut unknown) = (Vec::new(), Vec::new());
        for &call in tree.find_by_name(OPERATOR) {
            for &kernel in tree.device_events(call) {
                if tree.ancestors(kernel).any(|above| tree.is_pseudo_operator(above)) {
                    continue; // by an earlier run
                }
                let kernel_name = tree.trace().name(kernel);
                match PARTS.iter().find(|(part, _)| kernel_name.contains(part)) {
                    Some(&(_, name)) => found.push((kernel, call, name)),
                    None => unknown.push(kernel),
                }
            }
        }
        // What a rule cannot place it leaves as it is, and says so.
        tree.warn_of(self.name(), "kernels of unknown purpose", &unknown);

        let mut edit = tree.edit();
        for (kernel, call, name) in found {
            // With the shapes of the call, a model finds its arguments on the new operator.
            edit.isolate(kernel, PseudoOperator { name, donor: Some(call), ..PseudoOperator::default() })?;
        }
        Ok(())
    }
}

/// An analysis runs the rule before it computes anything from the tree.
impl AnalysisExtension for FlashAttentionBackward {
    fn change_tree(&self, tree: &mut TraceTree) -> Result<TreeChanges, Box<dyn Error + Send + Sync>> {
        self.run(tree)?;
        Ok(TreeChanges::default())
    }
}

pub(crate) fn run(arguments: &[String], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let path = crate::trace(arguments);
    let trace = read_path(&path, &ReadOptions::default())?;
    let analysis =
        Analysis::with_extension(trace, AnalysisOptions::default(), Box::new(FlashAttentionBackward));
    let tree = analysis.tree();
    for warning in tree.warnings() {
        writeln!(out, "note: {warning}")?;
    }
    if let Some(&call) = tree.find_by_name(OPERATOR).first() {
        write!(out, "{}", tree.print_subtree(call, &PrintOptions::default()))?;
    }

    // Every sheet sees the new operators: they are what launched the kernels now.
    let sheet =
        pytorch_sheets().into_iter().find(|sheet| sheet.name == "ops_summary").ok_or("no such sheet")?;
    let Some(operators) = sheet.table(&analysis)? else { return Ok(()) };
    let column = |name: &str| operators.column(name).ok_or_else(|| format!("no column {name}"));
    let (names, calls) = (column("name")?, column("Count")?);
    let times = column("total_direct_kernel_time_ms")?;
    for row in 0..operators.height() {
        let name = names.cell(row);
        if let Cell::Number(time) = times.cell(row)
            && PARTS.iter().any(|(_, part)| *part == name.text())
        {
            writeln!(out, "{}: {} calls, {time:.3} ms", name.text(), calls.cell(row).text())?;
        }
    }
    Ok(())
}
