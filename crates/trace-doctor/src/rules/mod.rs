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

/// Figures that suffer if device events hang below the wrong call.
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
/// Figures that suffer if it is unknown whether the device was busy.
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
        looks_for: "a truncated or damaged file",
        remedy: "Export or copy the recording again. Until then the report covers only the part before the \
            damage.",
        harm: Harm::Unreliable(&[Figure::Everything]),
        consequence: Some("the figures cover only the part that was read"),
        elsewhere: &[Elsewhere {
            recorders: &[RecordingKind::XPlane, RecordingKind::Nsys, RecordingKind::Rocprof],
            remedy: None,
            consequence: None,
        }],
        examine: file::ends_early,
    },
    Rule {
        id: "F2",
        looks_for: "malformed events and names",
        remedy: "Update PyTorch: older recorders do not escape unprintable characters in names.",
        harm: Harm::Unreliable(&[Figure::Names]),
        consequence: None,
        elsewhere: &[],
        examine: file::malformed,
    },
    Rule {
        id: "F3",
        looks_for: "times not in microseconds, or relative to another base",
        remedy: "Write `ts` and `dur` in microseconds and `baseTimeNanoseconds` in nanoseconds.",
        harm: Harm::Unreliable(&[Figure::EveryTime]),
        consequence: Some("times are unreliable"),
        elsewhere: &[],
        examine: file::other_unit,
    },
    Rule {
        id: "F4",
        looks_for: "times in whole microseconds",
        remedy: "Record with PyTorch from April 2024 or later, which writes nanoseconds.",
        harm: Harm::Unreliable(&[Figure::ShortKernels, Figure::Gaps, Figure::Overlap]),
        consequence: None,
        elsewhere: &[],
        examine: file::whole_microseconds,
    },
    Rule {
        id: "F5",
        looks_for: "times too large for doubles",
        remedy: "Record with PyTorch from April 2024 or later, which writes times relative to `baseTimeNanoseconds`.",
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
        looks_for: "duplicate device events",
        remedy: "If the file was merged from overlapping recordings, report each one separately.",
        harm: Harm::Unreliable(&[Figure::SumsOfDeviceTime]),
        consequence: Some("sums of kernel times count duplicates twice"),
        elsewhere: &[],
        examine: file::repeated_events,
    },
    Rule {
        id: "F8",
        looks_for: "several processes in one file",
        remedy: "Report each process's recording separately.",
        harm: Harm::Unreliable(FIGURES_BY_LAUNCH),
        consequence: Some("kernels may be attributed to another process's operators"),
        elsewhere: &[],
        examine: file::several_processes,
    },
    Rule {
        id: "F9",
        looks_for: "allocations that contradict the allocator's totals or each other",
        remedy: "Record fewer steps: allocator events were lost. Totals and peaks are still correct.",
        harm: Harm::Unreliable(MEMORY_CLAIMS),
        consequence: Some("memory owners are incomplete"),
        elsewhere: &[],
        examine: file::lost_memory_events,
    },
    Rule {
        id: "F10",
        looks_for: "a second trace after the first",
        remedy: "Write one file per process. Report the traces separately.",
        harm: Harm::Missing(&[Figure::Everything]),
        consequence: Some("the figures cover only the first trace"),
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
        remedy: "Record with with_stack=True, in PyTorch 1.12 or later, to see modules and call stacks; recording \
                 stacks slows the host.",
        harm: Harm::Missing(&[Figure::Modules, Figure::CallStacks, Figure::ModulesOfMemory]),
        consequence: None,
        elsewhere: &[],
        examine: recorded::no_stacks,
    },
    Rule {
        id: "R5",
        looks_for: "only Python frames",
        remedy: "Add ProfilerActivity.CPU and ProfilerActivity.CUDA to the activities.",
        harm: Harm::Missing(&[Figure::AllButFrames]),
        consequence: None,
        elsewhere: &[],
        examine: recorded::only_frames,
    },
    Rule {
        id: "R6",
        looks_for: "device events without an External id",
        remedy: "Nothing to do.",
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
        looks_for: "a file without the GPU's name",
        remedy: "Choose an architecture for the report with --gpu_arch_platform or --gpu_arch_json_path.",
        harm: Harm::Missing(&[Figure::Rooflines]),
        consequence: None,
        elsewhere: &[],
        examine: recorded::no_device_properties,
    },
    Rule {
        id: "R9",
        looks_for: "device work without synchronization events",
        remedy: "Record with enable_cuda_sync_events=True to see which stream waits for which.",
        harm: Harm::Unreliable(&[Figure::CriticalPath]),
        consequence: None,
        elsewhere: &[],
        examine: recorded::no_waits,
    },
    Rule {
        id: "R10",
        looks_for: "communication kernels without a collective name",
        remedy: "Record with a newer PyTorch; coalesced calls lack the names in all versions.",
        harm: Harm::Partial(&[Figure::Collectives, Figure::TablesOfRanks]),
        consequence: None,
        elsewhere: &[],
        examine: recorded::unnamed_collectives,
    },
    Rule {
        id: "R11",
        looks_for: "communication without a rank",
        remedy: "Put the rank in each file name, so that job reports can tell the files apart.",
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
        looks_for: "spans still open when the recording ended",
        remedy: "Stop the recording while nothing important runs, such as between steps.",
        harm: Harm::Unreliable(&[Figure::LengthsOfAnnotations]),
        consequence: None,
        elsewhere: &[],
        examine: window::open_spans,
    },
    Rule {
        id: "W2",
        looks_for: "device events queued before the recording began",
        remedy: "Synchronize the device (torch.cuda.synchronize()) before the recording starts.",
        harm: Harm::Unreliable(FIGURES_WITH_LOSS),
        consequence: Some("operator kernel times are too short"),
        elsewhere: &[],
        examine: window::queued_before,
    },
    Rule {
        id: "W3",
        looks_for: "launches at the start or end without device events",
        remedy: "Run a warm-up step before the recording and synchronize at the end of the recording (pytorch #192021).",
        harm: Harm::Unreliable(FIGURES_WITH_LOSS),
        consequence: Some("operator kernel times are too short"),
        elsewhere: &[
            Elsewhere {
                recorders: &[RecordingKind::Nsys],
                remedy: Some(
                    "Synchronize the device before the recorded range ends (cudaProfilerStop, --duration).",
                ),
                consequence: Some("kernel times and busy time are too short"),
            },
            Elsewhere {
                recorders: &[RecordingKind::Rocprof],
                remedy: Some(
                    "Synchronize the device (hipDeviceSynchronize) before the program or the recorded period \
                     ends.",
                ),
                consequence: Some("kernel times and busy time are too short"),
            },
        ],
        examine: window::device_records_shorter,
    },
    Rule {
        id: "W4",
        looks_for: "device work after the last step",
        remedy: "Synchronize the device at the end of each step if step times matter.",
        harm: Harm::Unreliable(&[Figure::StepTimes]),
        consequence: None,
        elsewhere: &[],
        examine: window::work_after_last_step,
    },
    Rule {
        id: "W5",
        looks_for: "a warm-up step, or steps truncated by the recording",
        remedy: "Exclude these steps: report steady iterations only.",
        harm: Harm::Unreliable(&[Figure::MeansOverSteps]),
        consequence: None,
        elsewhere: &[],
        examine: window::odd_steps,
    },
    Rule {
        id: "W6",
        looks_for: "events past the recorder's window",
        remedy: "Ignore idle time after the mark `Record Window End`: the program did not cause it.",
        harm: Harm::Unreliable(&[Figure::IdleTimeAtTheEnd]),
        consequence: None,
        elsewhere: &[],
        examine: window::outlasting_events,
    },
    Rule {
        id: "W7",
        looks_for: "steps between two profiler cycles",
        remedy: "Nothing to do: the time between cycles counts as not recorded.",
        harm: Harm::None,
        consequence: None,
        elsewhere: &[],
        examine: window::between_cycles,
    },
    Rule {
        id: "L1",
        looks_for: "launches without any device event",
        remedy: "Stop other profilers that use CUPTI or ROCprofiler, including CUPTI's range profiler, and check the \
                 permission to read counters.",
        harm: Harm::Missing(&[Figure::AllOfTheDevice]),
        consequence: None,
        elsewhere: &[Elsewhere {
            recorders: &[RecordingKind::Nsys],
            remedy: Some("Record with --trace=cuda, and stop other profilers that use CUPTI."),
            consequence: None,
        }],
        examine: loss::no_device_events,
    },
    Rule {
        id: "L2",
        looks_for: "launches in the middle without device events",
        remedy: "Enlarge CUPTI's buffers or record fewer steps.",
        harm: Harm::Unreliable(FIGURES_WITH_LOSS),
        consequence: Some("operator kernel times are too short"),
        elsewhere: &[
            Elsewhere {
                recorders: &[RecordingKind::Nsys],
                remedy: Some("Record a shorter run, or flush more often with --cuda-flush-interval."),
                consequence: Some("kernel times and busy time are too short"),
            },
            Elsewhere {
                recorders: &[RecordingKind::Rocprof],
                remedy: Some(
                    "Record a shorter run with a newer ROCm: rocprofv3 lost dispatches (rocprofiler-sdk #137).",
                ),
                consequence: Some("kernel times and busy time are too short"),
            },
        ],
        examine: loss::dropped_device_events,
    },
    Rule {
        id: "L3",
        looks_for: "device events without a launch call",
        remedy: "Record with larger buffers; if the program launches through the driver API, use a recorder that covers it.",
        harm: Harm::Unreliable(FIGURES_WITH_LOSS),
        consequence: Some("operator kernel times are too short"),
        elsewhere: &[],
        examine: loss::missing_calls,
    },
    Rule {
        id: "L4",
        looks_for: "errors and warnings in the recorder's log",
        remedy: "Record fewer steps, or with larger buffers; see the recorder's log.",
        harm: Harm::Unreliable(FIGURES_WITH_LOSS),
        consequence: None,
        elsewhere: &[],
        examine: loss::reported_by_recorder,
    },
    Rule {
        id: "L5",
        looks_for: "gaps in ROCm's correlation ids",
        remedy: "Record fewer steps: the recorder lost records.",
        harm: Harm::Unreliable(FIGURES_WITH_LOSS),
        consequence: Some("operator kernel times are too short"),
        elsewhere: &[],
        examine: loss::gaps_in_ids,
    },
    Rule {
        id: "L6",
        looks_for: "some device events without a correlation id",
        remedy: "Update ROCm: its recorder omits the id of some kernels (roctracer #100).",
        harm: Harm::Unreliable(FIGURES_WITH_LOSS),
        consequence: Some("operator kernel times are too short"),
        elsewhere: &[],
        examine: loss::without_correlation,
    },
    Rule {
        id: "L7",
        looks_for: "replays of one graph with different numbers of kernels",
        remedy: "Enlarge CUPTI's buffers or record fewer steps.",
        harm: Harm::Unreliable(&[Figure::GraphReplays]),
        consequence: None,
        elsewhere: &[],
        examine: loss::uneven_replays,
    },
    Rule {
        id: "L8",
        looks_for: "graph replays without device events",
        remedy: "Update the recorder (CUPTI, roctracer or rocprofiler-sdk), or record without graphs: it \
            omits graph kernels.",
        harm: Harm::Unreliable(FIGURES_OF_ABSENCE),
        consequence: Some("the device may have been busy while it appears idle"),
        elsewhere: &[
            Elsewhere {
                recorders: &[RecordingKind::Nsys],
                remedy: Some("Record with --cuda-graph-trace=node."),
                consequence: Some(
                    "the device may have been busy while it appears idle; record with \
                     --cuda-graph-trace=node",
                ),
            },
            Elsewhere {
                recorders: &[RecordingKind::Rocprof],
                remedy: Some("Record with a newer ROCm, or without graphs: rocprofv3 omits graph kernels."),
                consequence: None,
            },
        ],
        examine: loss::lost_replays,
    },
    Rule {
        id: "L9",
        looks_for: "gaps in dispatch numbers",
        remedy: "Record a shorter run with a newer ROCm, and without pauses: rocprofv3 numbers dispatches without gaps.",
        harm: Harm::Unreliable(FIGURES_WITH_LOSS),
        consequence: Some("kernel times and busy time are too short"),
        elsewhere: &[Elsewhere { recorders: &[RecordingKind::Rocprof], remedy: None, consequence: None }],
        examine: loss::gaps_in_dispatches,
    },
    Rule {
        id: "C1",
        looks_for: "device events that start before their launch",
        remedy: "Do not use queue times from this recording; newer recorders convert clocks better (kineto #1380).",
        harm: Harm::Unreliable(CLOCKS),
        consequence: Some("launch delays are wrong"),
        elsewhere: &[],
        examine: clocks::start_before_launch,
    },
    Rule {
        id: "C2",
        looks_for: "an offset between device and host clocks",
        remedy: "Correct queue times and launch delays by the reported offset, or compare them within this recording only.",
        harm: Harm::Unreliable(CLOCKS),
        consequence: Some("launch delays are wrong"),
        elsewhere: &[],
        examine: clocks::offset,
    },
    Rule {
        id: "C3",
        looks_for: "drift between device and host clocks",
        remedy: "Compare queue times and launch delays only within short intervals of this recording.",
        harm: Harm::Unreliable(CLOCKS),
        consequence: Some("launch delays are wrong"),
        elsewhere: &[],
        examine: clocks::drift,
    },
    Rule {
        id: "C4",
        looks_for: "device events that overrun the next one on their stream",
        remedy: "Update the driver and recorder: recorded ends are wrong (TraceLens #669).",
        harm: Harm::Unreliable(&[
            Figure::BusyTime,
            Figure::GpuTimeline,
            Figure::SumsOfDeviceTime,
            Figure::CriticalPath,
        ]),
        consequence: Some("busy time may be off by up to the overrun"),
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
        looks_for: "unclosed Python frames",
        remedy: "Device figures are not affected; update PyTorch for correct frames.",
        harm: Harm::Unreliable(&[Figure::TimesOfFrames, Figure::Modules]),
        consequence: None,
        elsewhere: &[],
        examine: clocks::open_frames,
    },
    Rule {
        id: "S1",
        looks_for: "viewer rows that are not streams",
        remedy: "Nothing to do: streams come from the events' arguments.",
        harm: Harm::None,
        consequence: None,
        elsewhere: &[],
        examine: ids::drawing_lanes,
    },
    Rule {
        id: "S2",
        looks_for: "copies that ROCm records on stream 0",
        remedy: "Do not rely on the overlap of copies with kernels (kineto #1398).",
        harm: Harm::Unreliable(&[Figure::OverlapOfCopies]),
        consequence: None,
        elsewhere: &[],
        examine: ids::copies_on_stream_0,
    },
    Rule {
        id: "S3",
        looks_for: "correlation ids shared by several device events",
        remedy: "Update ROCm: its recorder repeats ids (kineto #1416).",
        harm: Harm::Unreliable(FIGURES_BY_LAUNCH),
        consequence: Some("kernels may be attributed to the wrong operator"),
        elsewhere: &[],
        examine: ids::shared_by_device_events,
    },
    Rule {
        id: "S4",
        looks_for: "streams of a graph executor",
        remedy: "Nothing to do.",
        harm: Harm::None,
        consequence: None,
        elsewhere: &[],
        examine: ids::executor_streams,
    },
    Rule {
        id: "I1",
        looks_for: "correlation ids shared by several calls",
        remedy: "If the file was merged from several recordings, report each one separately.",
        harm: Harm::Unreliable(FIGURES_BY_LAUNCH),
        consequence: Some("kernels may be attributed to the wrong operator"),
        elsewhere: &[],
        examine: ids::shared_by_calls,
    },
    Rule {
        id: "I2",
        looks_for: "External ids shared by several operators",
        remedy: "If the file was merged from several recordings, report each one separately.",
        harm: Harm::Unreliable(FIGURES_BY_LAUNCH),
        consequence: None,
        elsewhere: &[],
        examine: ids::shared_by_operators,
    },
    Rule {
        id: "I3",
        looks_for: "External ids that match no operator",
        remedy: "Nothing to do if correlation ids link the events to operators; recorders up to early 2024 write such ids.",
        harm: Harm::None,
        consequence: None,
        elsewhere: &[],
        examine: ids::foreign_external_ids,
    },
    Rule {
        id: "O1",
        looks_for: "profiler overhead",
        remedy: "Record fewer steps, or without shapes and stacks.",
        harm: Harm::Unreliable(&[Figure::HostTimes, Figure::IdleTime, Figure::CriticalPath]),
        consequence: Some("idle time includes profiler overhead"),
        elsewhere: &[],
        examine: profiler::overhead,
    },
    Rule {
        id: "O2",
        looks_for: "many Python frames per operator",
        remedy: "Compare host times only with recordings that also have stacks.",
        harm: Harm::Unreliable(&[Figure::HostTimes]),
        consequence: None,
        elsewhere: &[],
        examine: profiler::stacks,
    },
    Rule {
        id: "N1",
        looks_for: "unnamed calls and device events",
        remedy: "Update the recorder, which does not know these names.",
        harm: Harm::Unreliable(&[Figure::Names]),
        consequence: None,
        elsewhere: &[],
        examine: profiler::unknown_names,
    },
    Rule {
        id: "N2",
        looks_for: "metrics recorded as kernels",
        remedy: "Exclude kernels named `metrics: …` from sums: they repeat other kernels (XPU).",
        harm: Harm::Unreliable(&[Figure::SumsOfDeviceTime]),
        consequence: None,
        elsewhere: &[],
        examine: profiler::metric_kernels,
    },
    Rule {
        id: "P1",
        looks_for: "a file format that truncates device times and lacks details",
        remedy: "Export JSON if allocations, copy directions or exact kernel ends matter.",
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
