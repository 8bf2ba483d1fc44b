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
        "record again and include what is missing"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let claims = look.facts.gaps.iter().map(|gap| {
            let (what, needs) = match gap {
                RecordingGap::CutOff => (
                    "the end of the file",
                    "the file is truncated: copy it again, or stop the recording before the program ends",
                ),
                RecordingGap::Shapes => {
                    ("operator shapes", "record_shapes=True (Nsight Systems: --pytorch=autograd-shapes-nvtx): without it, FLOPs, bytes and fusion are unknown")
                }
                RecordingGap::Stacks => {
                    ("Python frames", "with_stack=True: without it, findings lack source lines")
                }
                RecordingGap::Device => (
                    "a device with known peak rates",
                    "choose an architecture with --gpu_arch_platform or --gpu_arch_json_path: without peaks, no \
                     kernel can be compared with the roofline",
                ),
                RecordingGap::Launches => (
                    "launches",
                    "record the host, too: without launches, kernels belong to no operator and waits have no \
                     cause",
                ),
                RecordingGap::EarlierLaunches => (
                    "launches before the recording",
                    "the device was still busy when the recording began: synchronize first \
                     (torch.cuda.synchronize()), or let the profiler warm up for one more step",
                ),
                RecordingGap::Operators => {
                    (
                    "operators",
                    "ProfilerActivity.CPU (Nsight Systems: --pytorch=autograd-shapes-nvtx): without it, kernels belong to no operator",
                )
                }
            };
            Claim::without_time(Bucket::Recording, what).with_evidence(needs)
        });
        claims.collect()
    }
}
