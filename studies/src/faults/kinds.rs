//! What is expected of findings about each fault.
//!
//! The rules that are right about a fault were written down before `advise` was run on any of these traces: a change here
//! needs a reason that lies in the fault, not in what a rule happens to say. One was made after a first run had missed a
//! slow product: `KERNEL-EFF-REL`, until then only allowed, is expected of slow products and slow memory as well, since
//! a kernel far from its roofline is also far from others of its kind.

use crate::gen_trace::tuned::{Fault, Program};

/// A fault with its expected findings.
pub(crate) struct Kind {
    pub(crate) fault: Fault,
    pub(crate) name: &'static str,
    pub(crate) programs: &'static [Program],
    /// Rules of which one has to name the fault.
    pub(crate) expected: &'static [&'static str],
    /// Rules that may name it as well, or a consequence of it.
    pub(crate) allowed: &'static [&'static str],
    pub(crate) effect: Effect,
    /// Kinds of one group are not planted together: they would lie on the same nanoseconds.
    pub(crate) group: Group,
}

/// What a fault does to the device's time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Effect {
    /// Without it the program is faster by up to so large a share of its time.
    Slower(f64),
    /// As long as the other, but the finding is a warning without a number.
    Warning(f64),
    /// It takes nothing; it spoils the recording.
    Recording,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// What keeps the host from being ahead of the device. A wait that costs nothing by itself costs much behind a late
    /// loader, so that two of these share what either would give back.
    Host,
    Copies,
    Communication,
    Products,
    Elementwise,
    Attention,
    Recording,
}

const TRAINING: &[Program] = &[Program::Training];
const SERVING: &[Program] = &[Program::Serving];
const BOTH: &[Program] = &[Program::Training, Program::Serving];

const fn kind(
    fault: Fault,
    name: &'static str,
    programs: &'static [Program],
    expected: &'static [&'static str],
    allowed: &'static [&'static str],
    effect: Effect,
    group: Group,
) -> Kind {
    Kind { fault, name, programs, expected, allowed, effect, group }
}

use Effect::{Recording, Slower, Warning};

/// All kinds, in the order of [`Fault::ALL`].
pub(crate) static KINDS: [Kind; Fault::ALL.len()] = [
    kind(
        Fault::SlowHost,
        "slow host",
        TRAINING,
        &["IDLE-LAUNCH"],
        &["SHORT-KERNELS", "IDLE-HOST"],
        Slower(0.3),
        Group::Host,
    ),
    kind(Fault::Item, ".item()", BOTH, &["IDLE-SYNC"], &["COPY-D2H", "IDLE-HOST"], Slower(0.25), Group::Host),
    kind(
        Fault::SynchronizeDevice,
        "synchronize()",
        BOTH,
        &["IDLE-SYNC"],
        &["IDLE-HOST"],
        Slower(0.25),
        Group::Host,
    ),
    kind(
        Fault::PageableReadback,
        "pageable readback",
        BOTH,
        &["COPY-D2H", "IDLE-SYNC"],
        &[],
        Slower(0.3),
        Group::Host,
    ),
    kind(
        Fault::TinyReadbacks,
        "tiny readbacks",
        BOTH,
        &["IDLE-SYNC", "COPY-D2H"],
        &["SHORT-KERNELS", "IDLE-LAUNCH"],
        Slower(0.2),
        Group::Host,
    ),
    kind(Fault::LateLoader, "late loader", TRAINING, &["IDLE-DATA"], &[], Slower(0.3), Group::Host),
    kind(
        Fault::GarbageCollection,
        "garbage collection",
        TRAINING,
        &["IDLE-HOST"],
        &["IDLE-LAUNCH"],
        Slower(0.3),
        Group::Host,
    ),
    kind(
        Fault::OptimizerLoop,
        "optimizer loop",
        TRAINING,
        &["SHORT-KERNELS"],
        &["IDLE-LAUNCH", "FUSE-CHAIN"],
        Slower(0.2),
        Group::Host,
    ),
    kind(
        Fault::ExposedCollectives,
        "exposed collectives",
        TRAINING,
        &["COMM-EXPOSED"],
        &[],
        Slower(0.07),
        Group::Communication,
    ),
    kind(
        Fault::SlowCollective,
        "slow collective",
        TRAINING,
        &["COMM-EXPOSED", "COMM-SLOW"],
        &["COMM-SKEW", "VARIANCE"],
        Slower(0.3),
        Group::Communication,
    ),
    kind(
        Fault::PageableUpload,
        "pageable upload",
        BOTH,
        &["COPY-H2D"],
        &["IDLE-SYNC", "IDLE-HOST"],
        Slower(0.3),
        Group::Host,
    ),
    kind(Fault::DeviceCopies, "device copies", BOTH, &["COPY-D2D"], &["LAYOUT"], Slower(0.2), Group::Copies),
    kind(
        Fault::SlowProduct,
        "slow product",
        BOTH,
        &["KERNEL-EFF", "KERNEL-EFF-REL"],
        &[],
        Slower(0.3),
        Group::Products,
    ),
    kind(
        Fault::SlowInstances,
        "slow instances",
        TRAINING,
        &["KERNEL-EFF-REL", "KERNEL-EFF"],
        &["VARIANCE"],
        Slower(0.15),
        Group::Products,
    ),
    kind(
        Fault::SlowMemory,
        "slow memory",
        BOTH,
        &["KERNEL-EFF", "KERNEL-EFF-REL"],
        &[],
        Slower(0.3),
        Group::Elementwise,
    ),
    kind(
        Fault::UnfusedChain,
        "unfused chain",
        TRAINING,
        &["FUSE-CHAIN"],
        &[],
        Slower(0.09),
        Group::Elementwise,
    ),
    kind(
        Fault::UnfusedEpilogue,
        "unfused epilogue",
        TRAINING,
        &["FUSE-EPILOGUE"],
        &["FUSE-CHAIN"],
        Slower(0.07),
        Group::Elementwise,
    ),
    kind(
        Fault::UnfusedAttention,
        "unfused attention",
        TRAINING,
        &["FUSE-ATTN"],
        &["FUSE-CHAIN"],
        Slower(0.3),
        Group::Attention,
    ),
    kind(
        Fault::Transposes,
        "transposes",
        TRAINING,
        &["LAYOUT"],
        &["COPY-D2D", "FUSE-CHAIN"],
        Slower(0.07),
        Group::Attention,
    ),
    kind(
        Fault::Casts,
        "casts",
        TRAINING,
        &["LAYOUT", "FUSE-CHAIN"],
        &["FUSE-EPILOGUE"],
        Slower(0.07),
        Group::Elementwise,
    ),
    kind(
        Fault::WideProducts,
        "32-bit products",
        BOTH,
        &["DTYPE"],
        &["KERNEL-EFF-REL"],
        Slower(0.3),
        Group::Products,
    ),
    kind(
        Fault::OddSizes,
        "odd sizes",
        TRAINING,
        &["GEMM-DIMS", "KERNEL-EFF"],
        &["KERNEL-EFF-REL"],
        Slower(0.07),
        Group::Products,
    ),
    kind(Fault::Recomputation, "recomputation", TRAINING, &["RECOMPUTE"], &[], Slower(0.18), Group::Products),
    kind(
        Fault::UnevenKernel,
        "uneven kernel",
        TRAINING,
        &["VARIANCE"],
        &["KERNEL-EFF-REL", "KERNEL-EFF"],
        Warning(0.15),
        Group::Products,
    ),
    kind(
        Fault::ColdStart,
        "cold start",
        TRAINING,
        &["VARIANCE"],
        &["IDLE-LAUNCH", "IDLE-HOST"],
        Warning(0.3),
        Group::Host,
    ),
    kind(
        Fault::ForeignKernel,
        "foreign kernel",
        BOTH,
        &["UNMODELLED"],
        &[],
        Warning(0.2),
        Group::Elementwise,
    ),
    kind(
        Fault::UncapturedDecode,
        "uncaptured decode",
        SERVING,
        // The rule about decode steps is the special case of the rule about launches.
        &["DECODE-LAUNCH", "IDLE-LAUNCH"],
        &["SHORT-KERNELS"],
        Slower(0.12),
        Group::Host,
    ),
    kind(
        Fault::LateScheduler,
        "late scheduler",
        SERVING,
        &["IDLE-SYNC"],
        &["IDLE-LAUNCH", "IDLE-HOST"],
        Slower(0.3),
        Group::Host,
    ),
    kind(Fault::NoShapes, "no shapes", BOTH, &["MISSING"], &[], Recording, Group::Recording),
    kind(Fault::NoStacks, "no stacks", BOTH, &["MISSING"], &[], Recording, Group::Recording),
    kind(Fault::CutFile, "cut file", BOTH, &["MISSING"], &[], Recording, Group::Recording),
];

impl Kind {
    /// The kind of a fault.
    pub(crate) fn of(fault: Fault) -> &'static Kind {
        &KINDS[fault as usize]
    }

    /// Whether a finding of this rule is right about it.
    pub(crate) fn is_expected(&self, rule: &str) -> bool {
        self.expected.contains(&rule)
    }

    /// Whether a finding of this rule is right about it, or about a consequence.
    pub(crate) fn explains(&self, rule: &str) -> bool {
        self.is_expected(rule) || self.allowed.contains(&rule)
    }

    /// Whether a finding of one rule can be about both.
    pub(crate) fn shares_rule(&self, other: &Kind) -> bool {
        self.expected.iter().any(|rule| other.is_expected(rule))
    }

    /// The largest share that is planted; 0 for what takes no time.
    pub(crate) fn largest_share(&self) -> f64 {
        match self.effect {
            Slower(share) | Warning(share) => share,
            Recording => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: [&str; 25] = [
        "DECODE-LAUNCH",
        "IDLE-LAUNCH",
        "IDLE-SYNC",
        "IDLE-DATA",
        "IDLE-HOST",
        "SHORT-KERNELS",
        "COMM-EXPOSED",
        "COMM-SLOW",
        "COMM-SKEW",
        "COPY-D2H",
        "COPY-H2D",
        "COPY-D2D",
        "KERNEL-EFF",
        "KERNEL-EFF-REL",
        "UNMODELLED",
        "FUSE-CHAIN",
        "FUSE-EPILOGUE",
        "FUSE-ATTN",
        "LAYOUT",
        "DTYPE",
        "GEMM-DIMS",
        "RECOMPUTE",
        "VARIANCE",
        "REGRESSION",
        "MISSING",
    ];

    /// What takes two recordings or more is not planted.
    const MULTI_RECORDING_RULES: [&str; 2] = ["COMM-SKEW", "REGRESSION"];

    #[test]
    fn kinds_stand_in_the_order_of_the_faults_and_name_rules_that_exist() {
        for (kind, fault) in KINDS.iter().zip(Fault::ALL) {
            assert_eq!(kind.fault, fault);
            assert!(std::ptr::eq(Kind::of(fault), kind));
            assert!(!kind.programs.is_empty() && !kind.expected.is_empty());
            for rule in kind.expected.iter().chain(kind.allowed) {
                assert!(RULES.contains(rule), "{rule}");
            }
        }
    }

    #[test]
    fn every_rule_about_one_recording_is_expected_of_some_fault() {
        for rule in RULES.iter().filter(|rule| !MULTI_RECORDING_RULES.contains(rule)) {
            assert!(KINDS.iter().any(|kind| kind.is_expected(rule)), "{rule}");
        }
    }
}
