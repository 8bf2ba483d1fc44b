//! Kinds of figures that faults of a recording spoil. Columns say which they show, rules about recordings say which they
//! spoil, and so neither has to know the other.

use crate::names;

/// Declares the kinds with their names.
macro_rules! figures {
    ($($(#[$meaning:meta])* $figure:ident = $name:expr,)+) => {
        /// A kind of figure.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Figure {
            $($(#[$meaning])* $figure,)+
        }

        impl Figure {
            /// All kinds.
            pub const ALL: &[Figure] = &[$(Figure::$figure),+];

            /// What a reader knows it by: the sheet that is made of such figures, or words such as `queue times`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Figure::$figure => $name,)+
                }
            }
        }
    };
}

figures! {
    /// Device time of operators in the summary by operator and by kind of work.
    OpsSummary = names::OPS_SUMMARY,
    /// Device time of operators with their arguments.
    OpsAll = names::OPS_ALL,
    /// Times and rates of modelled operators, those in sheets of operator families included.
    Unified = names::UNIFIED_PERF_SUMMARY,
    /// Device time by what is known of it.
    Coverage = names::COVERAGE,
    /// Shares of operators and kernels in device time.
    SharesOfDeviceTime = "shares of device time",
    /// Kinds of time of the device.
    GpuTimeline = names::GPU_TIMELINE,
    /// Whatever a report shows.
    Everything = "everything after the last timestamp that could be read",
    /// Times and rates, by the units of the columns.
    EveryTime = "all times",
    /// Names of events; no column stands for them.
    Names = "names",
    /// Figures of kernels under 10 µs.
    ShortKernels = "kernels under 10 µs",
    /// Gaps between device events.
    Gaps = "gaps",
    /// What ran at the same time.
    Overlap = "overlap",
    /// Sums over short events.
    SumsOverShortEvents = "sums over short events",
    /// Length of the timeline.
    Span = "span",
    /// Time in which the device was idle.
    IdleTime = "idle time",
    /// Idle time behind the last device event; no column shows it alone.
    IdleTimeAtTheEnd = "idle time at the end",
    /// Sums of device time, and rates and shares that are made of them.
    SumsOfDeviceTime = "sums of device time",
    /// Time in which the device was busy.
    BusyTime = "busy time",
    /// Memory by who allocated it.
    MemoryOwners = names::MEMORY_OWNERS,
    /// Blocks of memory.
    MemoryBlocks = names::MEMORY_BLOCKS,
    /// Memory of a device in all.
    MemorySummary = names::MEMORY_SUMMARY,
    /// Memory over time.
    MemoryTimeline = names::MEMORY_TIMELINE,
    /// Memory by step.
    MemorySteps = names::MEMORY_STEPS,
    /// What steps leave behind in memory.
    Survivors = "surviving bytes in memory_steps",
    /// Least times and what is held against them.
    Rooflines = "rooflines",
    /// Floating-point operations and bytes, and rates of them.
    Flops = "FLOPs",
    /// Modules that operators ran in.
    Modules = "modules",
    /// Calls and frames around operators.
    CallStacks = "call stacks",
    /// Modules that allocated memory.
    ModulesOfMemory = "modules in memory_owners",
    /// All but frames of Python; no column stands for it.
    AllButFrames = "everything except Python frames",
    /// What sheets of the device show.
    AllOfTheDevice = "all device figures",
    /// What the time waited for.
    CriticalPath = "critical path",
    /// Collectives and their bandwidths.
    Collectives = names::COLL_ANALYSIS,
    /// Tables of jobs of many ranks.
    TablesOfRanks = "rank tables",
    /// Times of steps, in reports of steps.
    StepTimes = "step times",
    /// Means over steps; reports leave out what is not steady.
    MeansOverSteps = "means over steps",
    /// Lengths of ranges that the program named.
    LengthsOfAnnotations = "annotation lengths",
    /// Replays of captured graphs.
    GraphReplays = names::GRAPH_REPLAYS,
    /// How much launched work waited, and for how long.
    QueueTimes = "queue times",
    /// Times from launches to the starts of their work.
    LaunchDelays = "launch delays",
    /// Why the device was idle.
    CausesOfIdleTime = "causes of idle time",
    /// Times of Python frames; no column stands for them.
    TimesOfFrames = "Python frame times",
    /// What ran beside copies.
    OverlapOfCopies = "copy overlap",
    /// Times of the host.
    HostTimes = "host times",
    /// Copies by direction; no column stands for them.
    CopiesByDirection = "copies by direction",
    /// Events of one stream that overlap; no column stands for them.
    OverlapOnAStream = "overlap on a stream",
}

impl Figure {
    /// Whether sheets of any name may show it: those of operator families are named after these, and an extension makes
    /// more. Then no sheet can be said to be free of it.
    #[must_use]
    pub const fn is_in_any_sheet(self) -> bool {
        matches!(
            self,
            Figure::Unified
                | Figure::Everything
                | Figure::EveryTime
                | Figure::Overlap
                | Figure::SumsOfDeviceTime
                | Figure::Rooflines
                | Figure::Flops
                | Figure::CallStacks
                | Figure::HostTimes
        )
    }
}

/// A set of kinds of figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures(u64);

const _: () = assert!(Figure::ALL.len() <= u64::BITS as usize, "a set has a bit for each kind");

impl Figures {
    /// No figures.
    pub const NONE: Figures = Figures(0);

    /// These.
    #[must_use]
    pub const fn new(figures: &[Figure]) -> Self {
        let (mut set, mut position) = (0, 0);
        while position < figures.len() {
            set |= 1 << figures[position] as u32;
            position += 1;
        }
        Figures(set)
    }

    /// Whether the figure is one of them.
    #[must_use]
    pub const fn contains(self, figure: Figure) -> bool {
        self.0 & (1 << figure as u32) != 0
    }

    /// Those of both.
    #[must_use]
    pub const fn union(self, other: Figures) -> Self {
        Figures(self.0 | other.0)
    }
}
