//! The rules on which graphs of dependencies differ.

/// How the graph of [`PathMode::Dag`](crate::PathMode::Dag) is made where other tools do it differently. The default is
/// ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conventions {
    /// Calls of several threads under one lock of the CUDA runtime do not wait for each other, and a copy that may block
    /// the host weighs nothing.
    pub ignores_locks: bool,
    /// The thread of the backward does not continue that of the forward.
    pub keeps_threads_apart: bool,
    /// Each kernel is linked with the one before it on its stream, whatever lies between, even where they overlap.
    pub links_any_gap: bool,
    /// Time by which an edge leads back, such as between overlapping kernels, is subtracted from the path, which was
    /// found without it.
    pub subtracts_overlap: bool,
    /// Of several device events of one call, such as a replay of a graph, the last in the file alone exists.
    pub one_work_per_call: bool,
    /// Device events of calls that take no time do not exist.
    pub ignores_instant_calls: bool,
    /// Streams of one number are one stream, whatever their device.
    pub merges_devices: bool,
    /// Operators that name a stream, as those of Triton do, are none of the host's.
    pub ignores_operators_on_streams: bool,
    /// Where operators of a thread overlap without one being inside the other, each end closes the innermost one that is
    /// open.
    pub closes_innermost: bool,
    /// Calls whose kernels are in no queue, beside those of unknown names.
    pub unqueued_calls: &'static [&'static str],
}
