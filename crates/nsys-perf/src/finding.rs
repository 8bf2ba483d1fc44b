//! What the recorder's own tables say of the host.

use std::fmt;

use sheets::numbers::counted;
use trace_ingest::EventId;

use crate::analysis::NsysAnalysis;
use crate::rows::{SyncFinding, overheads, synchronizations};

/// Share of the time of launch calls from which on what the driver does in them is worth a word.
const WORTH_SAYING: f64 = 0.05;

/// Something that calls of CUDA show and figures of the device do not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NsysFinding {
    /// The host waits in launch calls for room in the queue, for this share of their time.
    FullQueue {
        /// 0 to 1.
        share: f64,
    },
    /// Launch calls load modules or functions, for this share of their time.
    Loading {
        /// 0 to 1.
        share: f64,
    },
    /// Graphs were launched, and nothing of their work was recorded.
    LostGraphs {
        /// Launches of graphs.
        count: usize,
    },
    /// Operators have shapes, and their tensors no element types.
    NoElementTypes,
    /// Calls that copy asynchronously wait, because the host's memory can be paged out.
    PageableCopies {
        /// How many.
        count: u64,
        /// Sum of their durations in ns.
        time: i64,
    },
}

impl fmt::Display for NsysFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            NsysFinding::FullQueue { share } => write!(
                f,
                "the launch queue is full: launch calls spend {:.1}% of their time waiting for room, so the host is \
                 ahead and launches are not the bottleneck",
                share * 100.0
            ),
            NsysFinding::Loading { share } => write!(
                f,
                "launch calls spend {:.1}% of their time loading modules and functions: warm up before recording, or \
                 set CUDA_MODULE_LOADING=EAGER",
                share * 100.0
            ),
            NsysFinding::LostGraphs { count } => write!(
                f,
                "{} no recorded work, so GPU time is missing from all figures: record with --cuda-graph-trace=node",
                counted(count, "CUDA graph launch has", "CUDA graph launches have")
            ),
            NsysFinding::NoElementTypes => f.write_str(
                "operator shapes were recorded, but element types were not: tracelens nsys --assume_dtype bf16 gives \
                 FLOPs, bytes and rooflines",
            ),
            NsysFinding::PageableCopies { count, time } => write!(
                f,
                "{} from or to pageable memory blocked the host for {:.3} ms: pin the memory (sheet sync_summary)",
                counted(count as usize, "asynchronous copy", "asynchronous copies"),
                time as f64 / 1e6
            ),
        }
    }
}

/// What there is to say, in this order.
#[must_use]
pub fn nsys_findings(analysis: &NsysAnalysis<'_>) -> Vec<NsysFinding> {
    let trace = analysis.trace();
    let is_launch = trace.strings().classify(|name| name.contains("Launch"));
    let launches: i64 = analysis
        .calls()
        .filter(|&call| is_launch[analysis.name(call).index()])
        .map(|call| analysis.duration(call))
        .sum();
    let overhead_per_launch = |is_meant: fn(&str) -> bool| -> f64 {
        let meant = overheads(analysis).into_iter().filter(|sum| is_meant(&sum.name.to_ascii_lowercase()));
        meant.map(|sum| sum.durations.sum).sum::<i64>() as f64 / launches.max(1) as f64
    };
    let mut found = Vec::new();
    let events = trace.events();
    let launching: hashbrown::HashSet<_> =
        analysis.device_work().iter().filter_map(|work| work.call).collect();
    let is_graph = trace.strings().classify(|name| name.contains("GraphLaunch"));
    let graphs = analysis.calls().filter(|&call| is_graph[analysis.name(call).index()]);
    let lost = graphs.filter(|call| !launching.contains(call)).count();
    found.extend((lost > 0).then_some(NsysFinding::LostGraphs { count: lost }));
    if launches > 0 {
        let full = overhead_per_launch(|name| name == "command buffer full");
        let loading =
            overhead_per_launch(|name| name.contains("module loading") || name.contains("function loading"));
        // Loading may be part of other calls, too.
        found.extend((full > WORTH_SAYING).then_some(NsysFinding::FullQueue { share: full.min(1.0) }));
        found.extend((loading > WORTH_SAYING).then_some(NsysFinding::Loading { share: loading.min(1.0) }));
    }
    let pageable = synchronizations(analysis);
    let pageable = pageable.iter().filter(|row| row.finding == Some(SyncFinding::PageableCopy));
    let (count, time) = pageable.fold((0, 0), |(count, time), row| (count + row.count, time + row.call_time));
    if count > 0 {
        found.push(NsysFinding::PageableCopies { count, time });
    }
    let has_shapes_alone = |event: EventId| {
        let signature = events.signature(event).map(|signature| trace.signatures().get(signature));
        signature.is_some_and(|signature| signature.dims.is_some() && signature.types.is_none())
    };
    let has_operators = events.ids().any(has_shapes_alone);
    found.extend(has_operators.then_some(NsysFinding::NoElementTypes));
    found
}
