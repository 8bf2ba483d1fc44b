//! What the sheets of a recording are made from.

use std::sync::OnceLock;

use trace_ingest::{Category, EventId, RowId, StringId, Trace};
use trace2tree::TraceTree;

use crate::ranges::{DeviceWork, NvtxRanges};

/// What is shown, and how much of it.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct NsysOptions {
    /// Write only the tables of `nsys stats`, with its names, columns and units; numbers are not rounded
    #[cfg_attr(feature = "clap", arg(long = "nsys_names", alias = "nsys-names"))]
    pub nsys_names: bool,
    /// Levels of ranges in the sheet nvtx_tree; deeper ranges count toward their parent
    #[cfg_attr(
        feature = "clap",
        arg(long = "nvtx_depth", value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))
    )]
    pub nvtx_depth: u16,
    /// Maximum number of paths in the sheet `nvtx_tree`; the rest share one row.
    #[cfg_attr(feature = "clap", arg(skip = 100_000_usize))]
    pub most_paths: usize,
    /// With --nsys_names, add cuda_gpu_trace: all device work in start order
    #[cfg_attr(feature = "clap", arg(long = "gpu_trace", requires = "nsys_names"))]
    pub gpu_trace: bool,
}

impl Default for NsysOptions {
    fn default() -> Self {
        NsysOptions { nsys_names: false, nvtx_depth: 8, most_paths: 100_000, gpu_trace: false }
    }
}

/// A recording of Nsight Systems with what its sheets share. Times are nanoseconds.
pub struct NsysAnalysis<'t> {
    tree: &'t TraceTree,
    options: NsysOptions,
    device_work: Vec<DeviceWork>,
    ranges: OnceLock<NvtxRanges>,
}

/// Process and thread, where they have numbers.
pub type Thread = (Option<i64>, Option<i64>);

impl<'t> NsysAnalysis<'t> {
    /// Lists the device work with its calls.
    #[must_use]
    pub fn new(tree: &'t TraceTree, options: NsysOptions) -> Self {
        let events = tree.trace().events();
        let device_work = events.ids().filter(|&event| events.category(event).is_device()).map(|event| {
            let device = events.device(event).unwrap_or(0);
            DeviceWork { event, device, call: tree.recorded_launch(event) }
        });
        NsysAnalysis { device_work: device_work.collect(), tree, options, ranges: OnceLock::new() }
    }

    /// The events.
    #[must_use]
    pub fn trace(&self) -> &'t Trace {
        self.tree.trace()
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &NsysOptions {
        &self.options
    }

    /// The ranges of NVTX with the device work that their threads launched in them. Computed once.
    pub fn ranges(&self) -> &NvtxRanges {
        self.ranges.get_or_init(|| NvtxRanges::new(self.trace(), &self.device_work))
    }

    pub(crate) fn device_work(&self) -> &[DeviceWork] {
        &self.device_work
    }

    pub(crate) fn work_of(&self, category: Category) -> impl Iterator<Item = DeviceWork> + Clone + '_ {
        let events = self.trace().events();
        self.device_work.iter().copied().filter(move |work| events.category(work.event) == category)
    }

    /// The kernels, without replays of whole graphs.
    pub(crate) fn kernels(&self) -> impl Iterator<Item = DeviceWork> + Clone + '_ {
        let is_graph = self.trace().strings().classify(|name| name.starts_with(GRAPH_REPLAY));
        let events = self.trace().events();
        let is_graph = move |event: EventId| {
            is_graph[events.name(event).index()] && events.arguments().geometry.get(event.index()).is_none()
        };
        self.work_of(Category::KERNEL).filter(move |work| !is_graph(work.event))
    }

    /// Calls of the CUDA runtime and driver.
    pub(crate) fn calls(&self) -> impl Iterator<Item = EventId> + '_ {
        let events = self.trace().events();
        events
            .ids()
            .filter(|&event| matches!(events.category(event), Category::CUDA_RUNTIME | Category::CUDA_DRIVER))
    }

    pub(crate) fn duration(&self, event: EventId) -> i64 {
        self.trace().events().duration(event)
    }

    pub(crate) fn name(&self, event: EventId) -> StringId {
        self.trace().events().name(event)
    }

    /// Process and thread of a call or range.
    pub(crate) fn thread(&self, event: EventId) -> Thread {
        let track = self.trace().tracks().get(self.trace().events().track(event));
        let number = |row: RowId| match row {
            RowId::Number(number) => Some(number),
            _ => None,
        };
        (number(track.pid), number(track.tid))
    }

    /// A time as the recorder has it.
    pub(crate) fn recorded_time(&self, time: i64) -> i64 {
        self.trace().origin().saturating_add(time)
    }
}

/// Beginning of the names of spans that are replays of whole graphs.
const GRAPH_REPLAY: &str = "CUDA graph";
