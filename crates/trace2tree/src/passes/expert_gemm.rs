//! The grouped matrix products of a mixture of experts, which the rules put below operators of their own.

use trace_ingest::{ArgumentValue, EventId};

use crate::edit::{EditError, PseudoOperator, TreeEdit};

/// One kernel that multiplies the tokens with the experts' weights.
pub(super) struct ExpertGemm {
    pub(super) kernel: EventId,
    /// The operator that lends its arguments.
    pub(super) operator: EventId,
    /// Position among the products of the operator; the first one is the up projection.
    pub(super) index: i64,
    /// Whether the up projection computes a gate too.
    pub(super) gated: bool,
    /// Experts per token.
    pub(super) topk: i64,
}

impl ExpertGemm {
    /// Puts the kernel below an operator named `{family}_up` or `{family}_down`.
    pub(super) fn isolate(&self, edit: &mut TreeEdit<'_>, family: &str) -> Result<EventId, EditError> {
        let projection = if self.index == 0 { "up" } else { "down" };
        let attributes = [
            ("MoE GEMM type", ArgumentValue::Text(projection.to_owned())),
            ("MoE GEMM index", ArgumentValue::Int(self.index)),
            ("MoE GEMM gated", ArgumentValue::Bool(self.gated)),
            ("MoE topk", ArgumentValue::Int(self.topk)),
        ];
        edit.isolate(
            self.kernel,
            PseudoOperator {
                name: &format!("{family}_{projection}"),
                donor: Some(self.operator),
                attributes: attributes.map(|(label, value)| (label.to_owned(), value)).to_vec(),
                ..PseudoOperator::default()
            },
        )
    }
}
