//! The `nn.Module`s around a call, for tables.

use trace_ingest::{EventId, write_text};
use trace2tree::{CallStackOptions, TraceTree, module_name};

/// Where no module is around a call.
const NO_MODULE: &str = "NA";

/// Modules are frames with this in their names.
const MODULES: CallStackOptions<'_> =
    CallStackOptions { filter: Some(&["nn.Module"]), follow_forward: false };

/// The nearest module around a call without the number that tells instances apart, `NA` if there is none.
pub(crate) fn parent_module(tree: &TraceTree, call: EventId) -> &str {
    tree.parent_module(call).map_or(NO_MODULE, |module| module_name(tree.trace().name(module)))
}

/// The call and the modules around it from the inside out, as a Python list.
pub(crate) fn module_call_stack(tree: &TraceTree, call: EventId) -> String {
    let mut out = String::from("[");
    for (position, name) in tree.call_stack(call, &MODULES).iter().enumerate() {
        if position > 0 {
            out.push_str(", ");
        }
        // Writing to a String cannot fail.
        let _ = write_text(&mut out, name);
    }
    out.push(']');
    out
}
