//! What names of operators and kernels say, decided once per distinct name.

use perf_models::{PhaseOperator, PhaseWords};
use trace_ingest::{PerString, Trace};
use trace2tree::is_graph_launch;

#[derive(Clone, Copy)]
pub(crate) struct NameClass {
    pub(crate) kind: PhaseOperator,
    pub(crate) words: PhaseWords,
    pub(crate) graph_launch: bool,
    pub(crate) transfer: Option<Transfer>,
    /// Whether the operator chooses tokens whatever its shapes are.
    pub(crate) chooses: bool,
}

/// Which way a copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transfer {
    ToHost,
    ToDevice,
}

/// Classes of the names of a trace.
pub(crate) type Names<'t> = PerString<'t, NameClass>;

/// The classes of the names of a trace, none of them asked for yet.
pub(crate) fn names(trace: &Trace) -> Names<'_> {
    PerString::new(trace.strings(), |text| {
        let lower = text.to_ascii_lowercase();
        NameClass {
            kind: PhaseOperator::from_name(text),
            words: PhaseWords::from_name(text),
            graph_launch: is_graph_launch(text),
            transfer: transfer(&lower),
            chooses: matches!(lower.as_str(), "aten::argmax" | "aten::multinomial"),
        }
    })
}

fn transfer(lower: &str) -> Option<Transfer> {
    match lower {
        _ if !lower.starts_with("memcpy") => None,
        _ if lower.contains("dtoh") => Some(Transfer::ToHost),
        _ if lower.contains("htod") => Some(Transfer::ToDevice),
        _ => None,
    }
}
