use crate::facts::{Program, RecordingGap};
use crate::finding::Bucket;
use crate::rule::{Claim, Inspection, Rule};

/// What the recording lacks.
pub(super) struct Missing;

impl Rule for Missing {
    fn id(&self) -> &'static str {
        "MISSING"
    }

    fn what(&self) -> &'static str {
        "missing from this recording"
    }

    fn remedy(&self, _: Program) -> &'static str {
        "record again with what is named"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let claims = look.facts.gaps.iter().map(|gap| {
            let (what, needs) = match gap {
                RecordingGap::CutOff => (
                    "a part of the file",
                    "the file ends before its data do: copy it again, or end the recording before the program ends",
                ),
                RecordingGap::Shapes => (
                    "shapes of operators",
                    "record_shapes=True: without them no FLOPs, no bytes and no fusion are known",
                ),
                RecordingGap::Stacks => {
                    ("Python's frames", "with_stack=True: without them no finding names its line of the program")
                }
                RecordingGap::Device => (
                    "a known device",
                    "--gpu_arch_json_path: without peaks no kernel is held against what the device can do",
                ),
                RecordingGap::Launches => (
                    "launches of device work",
                    "record the host's side, too: work without a launch belongs to no operator and waits have no cause",
                ),
                RecordingGap::EarlierLaunches => (
                    "launches before it began",
                    "the device still had work when the recording began: wait for it before (torch.cuda.synchronize()), or let the \
                     profiler warm up for a step more",
                ),
                RecordingGap::Operators => {
                    ("operators", "record the host (ProfilerActivity.CPU): kernels belong to no operator")
                }
            };
            Claim::without_time(Bucket::Recording, what).with_evidence(needs)
        });
        claims.collect()
    }
}
