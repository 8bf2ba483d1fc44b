//! Kernels with what launched them: the base of the kernel sheets.

use trace_ingest::{Category as EventCategory, EventId, StringId};

use crate::analysis::Analysis;

pub(crate) struct KernelRecord {
    pub(crate) kernel: EventId,
    /// The call that launched it; `None` when the trace does not have it.
    pub(crate) launch: Option<EventId>,
    /// The operator that the kernel is charged to, as in the operator sheets; `None` for calls outside any.
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
    let (tree, events) = (analysis.tree(), analysis.trace().events());
    analysis
        .device
        .ids
        .iter()
        .filter(|&&id| events.category(id) == EventCategory::KERNEL)
        .map(|&kernel| {
            let (launch, launcher) = (tree.launch(kernel), tree.kernel_launcher(kernel));
            let operator = launcher.filter(|&event| events.category(event) == EventCategory::CPU_OP);
            KernelRecord { kernel, launch, operator }
        })
        .collect()
}
