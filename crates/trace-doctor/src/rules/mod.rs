//! The rules, one list in the order of the report.

mod clocks;
mod file;
mod ids;
mod loss;
mod profiler;
mod recorded;
mod window;

use sheets::Figure;
use trace_ingest::RecordingKind;

use crate::finding::{Elsewhere, Harm, Rule};

/// What suffers where device events hang below the wrong call.
const FIGURES_BY_LAUNCH: &[Figure] = &[
    Figure::OpsSummary,
    Figure::OpsAll,
    Figure::Unified,
    Figure::Coverage,
    Figure::SharesOfDeviceTime,
    Figure::CriticalPath,
];
/// What suffers where device events, or their launches, are lost: events without a launch are in no operator's figures.
const FIGURES_WITH_LOSS: &[Figure] = &[
    Figure::OpsSummary,
    Figure::OpsAll,
    Figure::Unified,
    Figure::Coverage,
    Figure::SharesOfDeviceTime,
    Figure::GpuTimeline,
    Figure::CriticalPath,
];
/// What suffers where nobody knows whether the device worked.
const FIGURES_OF_ABSENCE: &[Figure] = &[
    Figure::OpsSummary,
    Figure::OpsAll,
    Figure::Unified,
    Figure::Coverage,
    Figure::SharesOfDeviceTime,
    Figure::GpuTimeline,
    Figure::IdleTime,
    Figure::CausesOfIdleTime,
    Figure::CriticalPath,
];
const MEMORY: &[Figure] = &[
    Figure::MemorySummary,
    Figure::MemoryOwners,
    Figure::MemoryBlocks,
    Figure::MemoryTimeline,
    Figure::MemorySteps,
];
const MEMORY_CLAIMS: &[Figure] = &[Figure::MemoryOwners, Figure::MemoryBlocks, Figure::Survivors];
/// What compares times of the device with times of the host.
const CLOCKS: &[Figure] =
    &[Figure::QueueTimes, Figure::LaunchDelays, Figure::CausesOfIdleTime, Figure::CriticalPath];

/// All rules.
pub static RULES: [Rule; 55] = [
    Rule {
        id: "F1",
        looks_for: "a file that ends early or is damaged",
        remedy: "Export or copy the recording again. Until then the report is of the part before the damage.",
        harm: Harm::Unreliable(&[Figure::Everything]),
        consequence: Some("the figures are of the part that was read"),
        elsewhere: &[Elsewhere {
            recorders: &[RecordingKind::XPlane, RecordingKind::Nsys, RecordingKind::Rocprof],
            remedy: None,
            consequence: None,
        }],
        examine: file::ends_early,
    },
    Rule {
        id: "F2",
        looks_for: "events and names that are malformed",
        remedy: "Update PyTorch: older recorders write unprintable characters of names unescaped.",
        harm: Harm::Unreliable(&[Figure::Names]),
        consequence: None,
        elsewhere: &[],
        examine: file::malformed,
    },
    Rule {
        id: "F3",
        looks_for: "times in another unit than microseconds, or on another base",
        remedy: "Write `ts` and `dur` in microseconds and `baseTimeNanoseconds` in nanoseconds.",
        harm: Harm::Unreliable(&[Figure::EveryTime]),
        consequence: Some("no time can be trusted"),
        elsewhere: &[],
        examine: file::other_unit,
    },
    Rule {
        id: "F4",
        looks_for: "times in whole microseconds",
        remedy: "Record with PyTorch of April 2024 or later, which writes nanoseconds.",
        harm: Harm::Unreliable(&[Figure::ShortKernels, Figure::Gaps, Figure::Overlap]),
        consequence: None,
        elsewhere: &[],
        examine: file::whole_microseconds,
    },
    Rule {
        id: "F5",
        looks_for: "times so large that doubles round them",
        remedy: "Record with PyTorch of April 2024 or later, which writes times relative to `baseTimeNanoseconds`.",
        harm: Harm::Unreliable(&[Figure::SumsOverShortEvents]),
        consequence: None,
        elsewhere: &[],
        examine: file::doubles,
    },
    Rule {
        id: "F6",
        looks_for: "events with impossible times",
        remedy: "Record again; if it recurs, report it to the recorder's authors.",
        harm: Harm::Unreliable(&[Figure::Span, Figure::IdleTime, Figure::CriticalPath]),
        consequence: Some("the span and the idle time may be too long"),
        elsewhere: &[
            Elsewhere { recorders: &[RecordingKind::XPlane], remedy: None, consequence: None },
            Elsewhere {
                recorders: &[RecordingKind::Nsys],
                remedy: None,
                consequence: Some("busy time may be too short and idle time too long"),
            },
            Elsewhere {
                recorders: &[RecordingKind::Rocprof],
                remedy: Some(
                    "Record again with a newer ROCm; if it recurs, report it to the authors of rocprofv3.",
                ),
                consequence: Some("busy time may be too short and idle time too long"),
            },
        ],
        examine: file::impossible_times,
    },
    Rule {
        id: "F7",
        looks_for: "device events that are in the file twice",
        remedy: "Check whether the file was merged from overlapping recordings, and report each alone.",
        harm: Harm::Unreliable(&[Figure::SumsOfDeviceTime]),
        consequence: Some("sums of kernel times count them twice"),
        elsewhere: &[],
        examine: file::repeated_events,
    },
    Rule {
        id: "F8",
        looks_for: "recordings of several processes in one file",
        remedy: "Report the recording of each process alone.",
        harm: Harm::Unreliable(FIGURES_BY_LAUNCH),
        consequence: Some("kernels may be charged to operators of another process"),
        elsewhere: &[],
        examine: file::several_processes,
    },
    Rule {
        id: "F9",
        looks_for: "allocations of memory that contradict the allocator's totals or each other",
        remedy: "Record fewer steps: events of the allocator were lost. Totals and peaks are right all the same.",
        harm: Harm::Unreliable(MEMORY_CLAIMS),
        consequence: Some("the owners of memory are incomplete"),
        elsewhere: &[],
        examine: file::lost_memory_events,
    },
    Rule {
        id: "F10",
        looks_for: "another trace behind the end of the trace",
        remedy: "Give each process a file of its own. Report the traces one by one.",
        harm: Harm::Missing(&[Figure::Everything]),
        consequence: Some("the figures are of the first trace alone"),
        elsewhere: &[],
        examine: file::second_trace,
    },
    Rule {
        id: "R1",
        looks_for: "device events without operators",
        remedy: "Add ProfilerActivity.CPU to the activities.",
        harm: Harm::Missing(&[Figure::OpsSummary, Figure::OpsAll, Figure::Unified, Figure::Rooflines]),
        consequence: None,
        elsewhere: &[],
        examine: recorded::no_operators,
    },
    Rule {
        id: "R2",
        looks_for: "operators without device work",
        remedy: "If the program uses a GPU, add ProfilerActivity.CUDA to the activities.",
        harm: Harm::Missing(&[Figure::GpuTimeline]),
        consequence: None,
        elsewhere: &[],
        examine: recorded::no_device_work,
    },
    Rule {
        id: "R3",
        looks_for: "operators without shapes",
        remedy: "Record with record_shapes=True.",
        harm: Harm::Missing(&[Figure::Rooflines, Figure::Flops]),
        consequence: None,
        elsewhere: &[],
        examine: recorded::no_shapes,
    },
    Rule {
        id: "R4",
        looks_for: "operators without Python frames",
        remedy: "Record with with_stack=True, in PyTorch 1.12 or later, to see modules and call stacks; host times grow.",
        harm: Harm::Missing(&[Figure::Modules, Figure::CallStacks, Figure::ModulesOfMemory]),
        consequence: None,
        elsewhere: &[],
        examine: recorded::no_stacks,
    },
    Rule {
        id: "R5",
        looks_for: "nothing but Python frames",
        remedy: "Add ProfilerActivity.CPU and ProfilerActivity.CUDA to the activities.",
        harm: Harm::Missing(&[Figure::AllButFrames]),
        consequence: None,
        elsewhere: &[],
        examine: recorded::only_frames,
    },
    Rule {
        id: "R6",
        looks_for: "device events without an External id",
        remedy: "None is needed.",
        harm: Harm::None,
        consequence: None,
        elsewhere: &[],
        examine: recorded::no_external_ids,
    },
    Rule {
        id: "R7",
        looks_for: "device work without allocations",
        remedy: "Record with profile_memory=True to see memory.",
        harm: Harm::Missing(MEMORY),
        consequence: None,
        elsewhere: &[],
        examine: recorded::no_allocations,
    },
    Rule {
        id: "R8",
        looks_for: "a file that does not name its GPU",
        remedy: "Say which GPU it is when you ask for the report.",
        harm: Harm::Missing(&[Figure::Rooflines]),
        consequence: None,
        elsewhere: &[],
        examine: recorded::no_device_properties,
    },
    Rule {
        id: "R9",
        looks_for: "device work without records of synchronisation",
        remedy: "Record with enable_cuda_sync_events=True to see which stream waits for which.",
        harm: Harm::Unreliable(&[Figure::CriticalPath]),
        consequence: None,
        elsewhere: &[],
        examine: recorded::no_waits,
    },
    Rule {
        id: "R10",
        looks_for: "communication kernels that do not name their collective",
        remedy: "Record with a newer PyTorch; coalesced calls lack the names in all versions.",
        harm: Harm::Partial(&[Figure::Collectives, Figure::TablesOfRanks]),
        consequence: None,
        elsewhere: &[],
        examine: recorded::unnamed_collectives,
    },
    Rule {
        id: "R11",
        looks_for: "communication without the process's rank",
        remedy: "Name the files after their ranks, so that reports of jobs can tell them.",
        harm: Harm::Unreliable(&[Figure::TablesOfRanks]),
        consequence: None,
        elsewhere: &[],
        examine: recorded::no_rank,
    },
    Rule {
        id: "R12",
        looks_for: "recordings without marked steps",
        remedy: "Call prof.step() after each step.",
        harm: Harm::Missing(&[Figure::StepTimes, Figure::MemorySteps]),
        consequence: None,
        elsewhere: &[],
        examine: recorded::no_steps,
    },
    Rule {
        id: "W1",
        looks_for: "spans that were still open when the recording ended",
        remedy: "Stop the recording where nothing runs that matters, such as between steps.",
        harm: Harm::Unreliable(&[Figure::LengthsOfAnnotations]),
        consequence: None,
        elsewhere: &[],
        examine: window::open_spans,
    },
    Rule {
        id: "W2",
        looks_for: "device events that were queued before the recording began",
        remedy: "Synchronise the device (torch.cuda.synchronize()) before the recording starts.",
        harm: Harm::Unreliable(FIGURES_WITH_LOSS),
        consequence: Some("kernel times of operators are too small"),
        elsewhere: &[],
        examine: window::queued_before,
    },
    Rule {
        id: "W3",
        looks_for: "launches at the head or tail whose device events are missing",
        remedy: "Leave a step of warm-up before the recording and synchronise at its end (pytorch #192021).",
        harm: Harm::Unreliable(FIGURES_WITH_LOSS),
        consequence: Some("kernel times of operators are too small"),
        elsewhere: &[
            Elsewhere {
                recorders: &[RecordingKind::Nsys],
                remedy: Some(
                    "Synchronise the device before the recorded range ends (cudaProfilerStop, --duration).",
                ),
                consequence: Some("kernel times and busy time are too small"),
            },
            Elsewhere {
                recorders: &[RecordingKind::Rocprof],
                remedy: Some(
                    "Synchronise the device (hipDeviceSynchronize) before the program or the recorded period ends.",
                ),
                consequence: Some("kernel times and busy time are too small"),
            },
        ],
        examine: window::device_records_shorter,
    },
    Rule {
        id: "W4",
        looks_for: "device work that outlasts the last step",
        remedy: "Synchronise the device at the end of the step where step times matter.",
        harm: Harm::Unreliable(&[Figure::StepTimes]),
        consequence: None,
        elsewhere: &[],
        examine: window::work_after_last_step,
    },
    Rule {
        id: "W5",
        looks_for: "a first step of warm-up, or steps that the recording cuts",
        remedy: "Leave these steps out of the report: choose the steady iterations.",
        harm: Harm::Unreliable(&[Figure::MeansOverSteps]),
        consequence: None,
        elsewhere: &[],
        examine: window::odd_steps,
    },
    Rule {
        id: "W6",
        looks_for: "events that outlast the recorder's window",
        remedy: "Do not read the idle time after the mark `Record Window End` as the program's.",
        harm: Harm::Unreliable(&[Figure::IdleTimeAtTheEnd]),
        consequence: None,
        elsewhere: &[],
        examine: window::outlasting_events,
    },
    Rule {
        id: "W7",
        looks_for: "steps between two cycles of the profiler",
        remedy: "None is needed: the time between the cycles counts as not recorded.",
        harm: Harm::None,
        consequence: None,
        elsewhere: &[],
        examine: window::between_cycles,
    },
    Rule {
        id: "L1",
        looks_for: "launches without any device event",
        remedy: "Stop other profilers that hold CUPTI or ROCprofiler, CUPTI's range profiler among them, and check the permission \
                 to read counters.",
        harm: Harm::Missing(&[Figure::AllOfTheDevice]),
        consequence: None,
        elsewhere: &[Elsewhere {
            recorders: &[RecordingKind::Nsys],
            remedy: Some("Record with --trace=cuda, and stop other profilers that hold CUPTI."),
            consequence: None,
        }],
        examine: loss::no_device_events,
    },
    Rule {
        id: "L2",
        looks_for: "launches between others whose device events are missing",
        remedy: "Enlarge CUPTI's buffers or record fewer steps.",
        harm: Harm::Unreliable(FIGURES_WITH_LOSS),
        consequence: Some("kernel times of operators are too small"),
        elsewhere: &[
            Elsewhere {
                recorders: &[RecordingKind::Nsys],
                remedy: Some("Record a shorter run, or flush more often with --cuda-flush-interval."),
                consequence: Some("kernel times and busy time are too small"),
            },
            Elsewhere {
                recorders: &[RecordingKind::Rocprof],
                remedy: Some(
                    "Record a shorter run with a newer ROCm: rocprofv3 has lost dispatches (rocprofiler-sdk #137).",
                ),
                consequence: Some("kernel times and busy time are too small"),
            },
        ],
        examine: loss::dropped_device_events,
    },
    Rule {
        id: "L3",
        looks_for: "device events whose launch call is missing",
        remedy: "Record again with larger buffers; calls of the driver's interface need a recorder that records them.",
        harm: Harm::Unreliable(FIGURES_WITH_LOSS),
        consequence: Some("kernel times of operators are too small"),
        elsewhere: &[],
        examine: loss::missing_calls,
    },
    Rule {
        id: "L4",
        looks_for: "faults that the recorder itself reports in its log",
        remedy: "Record fewer steps, or with larger buffers; the recorder's own log says more.",
        harm: Harm::Unreliable(FIGURES_WITH_LOSS),
        consequence: None,
        elsewhere: &[],
        examine: loss::reported_by_recorder,
    },
    Rule {
        id: "L5",
        looks_for: "gaps in the correlation ids of ROCm",
        remedy: "Record fewer steps: the recorder has lost records.",
        harm: Harm::Unreliable(FIGURES_WITH_LOSS),
        consequence: Some("kernel times of operators are too small"),
        elsewhere: &[],
        examine: loss::gaps_in_ids,
    },
    Rule {
        id: "L6",
        looks_for: "device events without a correlation id among others that have one",
        remedy: "Update ROCm: its recorder leaves out the id of some kernels (roctracer #100).",
        harm: Harm::Unreliable(FIGURES_WITH_LOSS),
        consequence: Some("kernel times of operators are too small"),
        elsewhere: &[],
        examine: loss::without_correlation,
    },
    Rule {
        id: "L7",
        looks_for: "replays of one graph that ran different numbers of kernels",
        remedy: "Enlarge CUPTI's buffers or record fewer steps.",
        harm: Harm::Unreliable(&[Figure::GraphReplays]),
        consequence: None,
        elsewhere: &[],
        examine: loss::uneven_replays,
    },
    Rule {
        id: "L8",
        looks_for: "graph replays without device events",
        remedy: "Update the recorder (CUPTI, roctracer or rocprofiler-sdk), or record without graphs: it leaves out the kernels of graphs.",
        harm: Harm::Unreliable(FIGURES_OF_ABSENCE),
        consequence: Some("the device may have worked where no event is recorded"),
        elsewhere: &[
            Elsewhere {
                recorders: &[RecordingKind::Nsys],
                remedy: Some("Record with --cuda-graph-trace=node."),
                consequence: Some(
                    "the device may have worked where no event is recorded; record with --cuda-graph-trace=node",
                ),
            },
            Elsewhere {
                recorders: &[RecordingKind::Rocprof],
                remedy: Some(
                    "Record with a newer ROCm, or without graphs: rocprofv3 leaves out the kernels of graphs.",
                ),
                consequence: None,
            },
        ],
        examine: loss::lost_replays,
    },
    Rule {
        id: "L9",
        looks_for: "gaps in the numbers of dispatches",
        remedy: "Record a shorter run with a newer ROCm, and without pauses: rocprofv3 numbers dispatches without gaps.",
        harm: Harm::Unreliable(FIGURES_WITH_LOSS),
        consequence: Some("kernel times and busy time are too small"),
        elsewhere: &[Elsewhere { recorders: &[RecordingKind::Rocprof], remedy: None, consequence: None }],
        examine: loss::gaps_in_dispatches,
    },
    Rule {
        id: "C1",
        looks_for: "device events that start before their launch",
        remedy: "Do not read queue times of this recording; newer recorders convert clocks better (kineto #1380).",
        harm: Harm::Unreliable(CLOCKS),
        consequence: Some("launch delays are wrong"),
        elsewhere: &[],
        examine: clocks::start_before_launch,
    },
    Rule {
        id: "C2",
        looks_for: "clocks of device and host that differ",
        remedy: "Correct queue times and launch delays by the bound, or compare them within this recording only.",
        harm: Harm::Unreliable(CLOCKS),
        consequence: Some("launch delays are wrong"),
        elsewhere: &[],
        examine: clocks::offset,
    },
    Rule {
        id: "C3",
        looks_for: "clocks of device and host that drift apart",
        remedy: "Compare queue times and launch delays only within short stretches of this recording.",
        harm: Harm::Unreliable(CLOCKS),
        consequence: Some("launch delays are wrong"),
        elsewhere: &[],
        examine: clocks::drift,
    },
    Rule {
        id: "C4",
        looks_for: "device events that overrun their successor on the stream",
        remedy: "Update the driver and recorder: recorded ends are wrong (TraceLens #669).",
        harm: Harm::Unreliable(&[
            Figure::BusyTime,
            Figure::GpuTimeline,
            Figure::SumsOfDeviceTime,
            Figure::CriticalPath,
        ]),
        consequence: Some("the busy time is uncertain by as much"),
        elsewhere: &[
            Elsewhere {
                recorders: &[RecordingKind::Nsys],
                remedy: Some("Update the driver and Nsight Systems: recorded ends are wrong."),
                consequence: None,
            },
            Elsewhere {
                recorders: &[RecordingKind::Rocprof],
                remedy: Some("Update ROCm: recorded ends are wrong (rocm-systems #1568)."),
                consequence: None,
            },
        ],
        examine: clocks::overrun,
    },
    Rule {
        id: "C5",
        looks_for: "Python frames that were never closed",
        remedy: "None is needed for figures of the device; update PyTorch for correct frames.",
        harm: Harm::Unreliable(&[Figure::TimesOfFrames, Figure::Modules]),
        consequence: None,
        elsewhere: &[],
        examine: clocks::open_frames,
    },
    Rule {
        id: "S1",
        looks_for: "rows of a viewer that are not the streams",
        remedy: "None is needed: the stream in the events' arguments is used.",
        harm: Harm::None,
        consequence: None,
        elsewhere: &[],
        examine: ids::drawing_lanes,
    },
    Rule {
        id: "S2",
        looks_for: "copies that ROCm books on stream 0",
        remedy: "Do not read overlap of copies with kernels of this recording (kineto #1398).",
        harm: Harm::Unreliable(&[Figure::OverlapOfCopies]),
        consequence: None,
        elsewhere: &[],
        examine: ids::copies_on_stream_0,
    },
    Rule {
        id: "S3",
        looks_for: "correlation ids that several device events share",
        remedy: "Update ROCm: its recorder repeats ids (kineto #1416).",
        harm: Harm::Unreliable(FIGURES_BY_LAUNCH),
        consequence: Some("kernels may be charged to the wrong operator"),
        elsewhere: &[],
        examine: ids::shared_by_device_events,
    },
    Rule {
        id: "S4",
        looks_for: "streams of a graph executor",
        remedy: "None is needed.",
        harm: Harm::None,
        consequence: None,
        elsewhere: &[],
        examine: ids::executor_streams,
    },
    Rule {
        id: "I1",
        looks_for: "correlation ids that several calls share",
        remedy: "Check whether the file was merged from several recordings; report each alone.",
        harm: Harm::Unreliable(FIGURES_BY_LAUNCH),
        consequence: Some("kernels may be charged to the wrong operator"),
        elsewhere: &[],
        examine: ids::shared_by_calls,
    },
    Rule {
        id: "I2",
        looks_for: "External ids that several operators share",
        remedy: "Check whether the file was merged from several recordings; report each alone.",
        harm: Harm::Unreliable(FIGURES_BY_LAUNCH),
        consequence: None,
        elsewhere: &[],
        examine: ids::shared_by_operators,
    },
    Rule {
        id: "I3",
        looks_for: "External ids that are not those of operators",
        remedy: "None is needed where correlation ids link; recorders up to early 2024 write them so.",
        harm: Harm::None,
        consequence: None,
        elsewhere: &[],
        examine: ids::foreign_external_ids,
    },
    Rule {
        id: "O1",
        looks_for: "time that the profiler took",
        remedy: "Record fewer steps, or without shapes and stacks.",
        harm: Harm::Unreliable(&[Figure::HostTimes, Figure::IdleTime, Figure::CriticalPath]),
        consequence: Some("idle time has that of the profiler in it"),
        elsewhere: &[],
        examine: profiler::overhead,
    },
    Rule {
        id: "O2",
        looks_for: "many Python frames per operator",
        remedy: "Compare host times only with those of recordings that have stacks, too.",
        harm: Harm::Unreliable(&[Figure::HostTimes]),
        consequence: None,
        elsewhere: &[],
        examine: profiler::stacks,
    },
    Rule {
        id: "N1",
        looks_for: "calls and device events without a proper name",
        remedy: "Update the recorder, which does not know these names.",
        harm: Harm::Unreliable(&[Figure::Names]),
        consequence: None,
        elsewhere: &[],
        examine: profiler::unknown_names,
    },
    Rule {
        id: "N2",
        looks_for: "kernels that stand for metrics",
        remedy: "Leave kernels named `metrics: …` out of sums: they repeat other kernels (XPU).",
        harm: Harm::Unreliable(&[Figure::SumsOfDeviceTime]),
        consequence: None,
        elsewhere: &[],
        examine: profiler::metric_kernels,
    },
    Rule {
        id: "P1",
        looks_for: "a form of file that cuts device times and lacks facts",
        remedy: "Export JSON where allocations, directions of copies or the exact ends of kernels matter.",
        harm: Harm::Missing(&[
            Figure::MemorySummary,
            Figure::MemoryOwners,
            Figure::MemoryBlocks,
            Figure::MemoryTimeline,
            Figure::MemorySteps,
            Figure::CopiesByDirection,
            Figure::OverlapOnAStream,
        ]),
        consequence: None,
        elsewhere: &[],
        examine: recorded::cut_device_times,
    },
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn rules_have_names_of_their_own_and_say_what_to_do() {
        let ids: HashSet<&str> = RULES.iter().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), RULES.len());
        for rule in &RULES {
            assert!(rule.remedy.ends_with('.') && !rule.looks_for.ends_with('.'), "{}", rule.id);
            assert!(rule.consequence.is_none() || !rule.harm.figures().is_empty(), "{}", rule.id);
            let remedies = rule.elsewhere.iter().filter_map(|elsewhere| elsewhere.remedy);
            assert!(remedies.into_iter().all(|remedy| remedy.ends_with('.')), "{}", rule.id);
        }
    }
}
