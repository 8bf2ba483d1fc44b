//! Kernels one by one, and what sheets show of one: shared by the sheets of kernels and those that equal TraceLens's.

use std::borrow::Cow;

use perf_models::XlaKernel;
use sheets::Nested;

use crate::analysis::JaxAnalysis;
use crate::device_events::GpuEvent;
use crate::operators::Operator;

/// A kernel that the keywords keep.
#[derive(Clone, Copy)]
pub(crate) struct KernelRow<'a> {
    pub(crate) event: &'a GpuEvent,
    pub(crate) name: &'a str,
    pub(crate) category: XlaKernel,
    /// In picoseconds.
    pub(crate) time: i64,
    pub(crate) uid: u32,
    pub(crate) operator: &'a Operator,
}

/// The kernels that the keywords keep, in the order of their uids.
pub(crate) fn gpu_kernels<'a>(analysis: &'a JaxAnalysis) -> Vec<KernelRow<'a>> {
    let (trace, events) = (analysis.trace(), analysis.trace().events());
    let kept = analysis.device_events().iter().filter(|event| analysis.keeps(event.operator));
    let row = |event: &'a GpuEvent| {
        let GpuEvent { event: id, category, operator, .. } = *event;
        Some(KernelRow {
            event,
            name: trace.name(id),
            category: category?,
            time: events.duration(id),
            uid: events.uid(id),
            operator: &analysis.operators()[operator],
        })
    };
    kept.filter_map(row).collect()
}

/// Arguments of an instruction as the sheets of kernels show them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Arguments<'a> {
    pub(crate) dims: &'a [Vec<u64>],
    pub(crate) types: &'a [String],
    pub(crate) strides: &'a [Vec<u64>],
    pub(crate) concrete: &'a [Vec<u64>],
}

pub(crate) type Entry = (Cow<'static, str>, Nested);

/// A list of one kernel with what is known of it.
pub(crate) fn kernel_list(name: &str, entries: impl Iterator<Item = Entry>) -> Nested {
    let name = [("name".into(), Nested::Text(name.to_owned()))];
    Nested::List(vec![Nested::Record(name.into_iter().chain(entries).collect())])
}
