//! Kernels with what launched them: the base of the kernel sheets.

use trace_ingest::{Category as EventCategory, EventId, StringId};

use crate::analysis::Analysis;

/// One kernel event.
pub(crate) struct KernelRecord {
    pub(crate) kernel: EventId,
    /// The call that launched it; `None` when the trace does not have it.
    pub(crate) launch: Option<EventId>,
    /// The operator around that call.
    pub(crate) operator: Option<EventId>,
}

impl KernelRecord {
    /// Name of the operator, or of the call where no operator is around it.
    pub(crate) fn parent_name(&self, analysis: &Analysis) -> Option<StringId> {
        self.operator.or(self.launch).map(|event| analysis.trace().events().name(event))
    }
}

/// All kernels in file order, the unlinked and those of communication included; copies and fills are not
/// kernels.
pub(crate) fn kernel_records(analysis: &Analysis) -> Vec<KernelRecord> {
    let events = analysis.trace().events();
    analysis
        .device
        .ids
        .iter()
        .filter(|&&id| events.category(id) == EventCategory::KERNEL)
        .map(|&kernel| {
            let launch = analysis.tree().launch(kernel);
            KernelRecord { kernel, launch, operator: operator_of(analysis, kernel) }
        })
        .collect()
}

/// The operator that a kernel counts for: the nearest one that is not a mere `execute`, as in the operator
/// sheets.
fn operator_of(analysis: &Analysis, kernel: EventId) -> Option<EventId> {
    let (trace, tree) = (analysis.trace(), analysis.tree());
    let nearest = tree.operator(kernel)?;
    let is_operator = |&event: &EventId| trace.events().category(event) == EventCategory::CPU_OP;
    let named = std::iter::once(nearest)
        .chain(tree.ancestors(nearest))
        .filter(is_operator)
        .find(|&operator| trace.name(operator) != "execute");
    Some(named.unwrap_or(nearest))
}
