//! What ran on the GPUs of a profile, and kinds of kernels by their names.

use std::fmt;

use gpu_timeline::{Activity, CommunicationPatterns, TimelineEvent};
use hashbrown::HashMap;
use trace_ingest::xplane::{Plane, PlaneKind, Profile};
use trace_ingest::{Category, EventId, StringId};

use crate::options::{CopyKernels, JaxOptions};
use crate::programs::innermost;

/// Something that ran on a GPU: a kernel, a copy or a fill.
#[derive(Clone, Copy, Debug)]
pub struct DeviceEvent {
    /// The event in the trace.
    pub event: EventId,
    /// Position of the GPU in [`crate::JaxAnalysis::gpus`].
    pub gpu: usize,
    /// Id of the GPU's plane plus 1: the process id of trace viewers.
    pub pid: i64,
    /// Stream: the number of its line.
    pub stream: i64,
    /// What the GPU did meanwhile, as the timeline counts it.
    pub activity: Activity,
    /// Kind of kernel; `None` for copies and fills.
    pub category: Option<KernelCategory>,
    /// The host's call that launched it: the last with the same correlation id.
    pub launch: Option<EventId>,
    /// Position of its instruction in [`crate::JaxAnalysis::operators`].
    pub operator: usize,
}

impl DeviceEvent {
    /// As the timeline needs it.
    pub(crate) fn timeline_event(&self, profile: &Profile) -> TimelineEvent {
        let events = profile.trace.events();
        TimelineEvent {
            start: events.start(self.event),
            end: events.end(self.event),
            activity: self.activity,
        }
    }
}

/// The events of all GPUs in the order of their uids, without what takes a look at other events: GPU, launch,
/// instruction.
pub(crate) fn collect(profile: &Profile, options: &JaxOptions) -> Vec<DeviceEvent> {
    let events = profile.trace.events();
    let launches = launches(profile);
    let mut found = Vec::new();
    for plane in gpu_planes(profile) {
        for line in plane.lines.iter().filter(|line| line.name.starts_with("Stream")) {
            let collected = line.events.iter().map(|&event| {
                let (activity, category) = kind(profile, event, options);
                DeviceEvent {
                    event,
                    gpu: 0,
                    pid: plane.id + 1,
                    stream: line.id,
                    activity,
                    category,
                    launch: events.correlation(event).and_then(|id| launches.get(&id).copied()),
                    operator: 0,
                }
            });
            found.extend(collected);
        }
    }
    found.sort_by_key(|event| events.uid(event.event));
    found
}

/// The planes of GPUs, in file order.
pub(crate) fn gpu_planes(profile: &Profile) -> impl Iterator<Item = &Plane> {
    profile.planes.iter().filter(|plane| matches!(plane.kind, PlaneKind::Gpu { .. }))
}

/// The host's calls by correlation id.
fn launches(profile: &Profile) -> HashMap<i64, EventId> {
    let events = profile.trace.events();
    let host = profile.planes.iter().filter(|plane| plane.kind == PlaneKind::HostCpu);
    let mut calls: Vec<(i64, EventId)> = host
        .flat_map(|plane| &plane.lines)
        .flat_map(|line| &line.events)
        .filter_map(|&event| Some((events.correlation(event)?, event)))
        .collect();
    // Of several calls with one id the last counts.
    calls.sort_by_key(|&(_, event)| events.uid(event));
    calls.into_iter().collect()
}

/// What an event is, by its name and that of its instruction.
fn kind(profile: &Profile, event: EventId, options: &JaxOptions) -> (Activity, Option<KernelCategory>) {
    let name = profile.trace.name(event);
    let copies = options.copy_kernels == CopyKernels::Memcpy && is_copy_kernel(name);
    if copies || profile.trace.events().category(event) != Category::KERNEL {
        return (Activity::Memcpy, None);
    }
    let hlo_op: Option<StringId> = profile.xla(event).and_then(|call| call.hlo_op);
    let instruction = hlo_op.map(|id| innermost(profile.trace.text(id)));
    (activity(name, &options.communication), Some(KernelCategory::from_kernel(name, instruction)))
}

fn activity(kernel: &str, communication: &CommunicationPatterns) -> Activity {
    match communication.is_communication(kernel) {
        true => Activity::Communication,
        false => Activity::Computation,
    }
}

/// Kernels of the ROCm runtime that copy or fill memory.
pub(crate) fn is_copy_kernel(name: &str) -> bool {
    name.starts_with("__amd_rocclr_copyBuffer") || name.starts_with("__amd_rocclr_fillBuffer")
}

/// What a kernel does, as its name or that of its HLO instruction says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KernelCategory {
    /// Matrix multiplication.
    Gemm,
    /// Fused attention, backward.
    AttentionBackward,
    /// Fused attention, forward.
    AttentionForward,
    /// Fused attention, kernels of the third version of AMD's assembly library.
    AttentionV3,
    /// Convolution.
    Convolution,
    /// Helpers of Transformer Engine.
    TransformerEngine,
    /// Collectives of RCCL or NCCL.
    Communication,
    /// Whatever XLA generated, and everything else.
    Uncategorized,
}

/// Names that decide, in the order in which they are tried; case counts.
const NAMES: &[(KernelCategory, &[&str])] = &[
    (KernelCategory::Gemm, &["Cijk", "gemm", "nvjet", "cublasLt"]),
    (
        KernelCategory::AttentionBackward,
        &["FmhaBwd", "flash_bprop", "ck_fused_attn::dk_dv_reduce_thd", "fmha_bwd"],
    ),
    (KernelCategory::AttentionForward, &["FmhaFwd", "flash_fprop", "fmha_fwd"]),
    (KernelCategory::AttentionV3, &["kernel_func"]),
    (KernelCategory::Convolution, &["conv_", "conv.", "conv-"]),
    (KernelCategory::TransformerEngine, &["transformer_engine", "te_fused_attn"]),
    (KernelCategory::Communication, &["rccl", "nccl"]),
];

impl KernelCategory {
    /// The spelling in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gemm => "GEMM",
            Self::AttentionBackward => "FA BWD",
            Self::AttentionForward => "FA FWD",
            Self::AttentionV3 => "FA V3",
            Self::Convolution => "Conv",
            Self::TransformerEngine => "TE",
            Self::Communication => "Communication rccl/nccl",
            Self::Uncategorized => "Uncategorized Events/XLA",
        }
    }

    /// The category that a name says; `None` when it says none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let says = |texts: &&(Self, &[&str])| texts.1.iter().any(|text| name.contains(text));
        NAMES.iter().find(says).map(|&(category, _)| category)
    }

    /// The category of a kernel. The name of its instruction decides before its own, except for attention: library
    /// kernels that XLA calls for a convolution are part of the convolution.
    #[must_use]
    pub fn from_kernel(kernel: &str, instruction: Option<&str>) -> Self {
        let own = Self::from_name(kernel);
        let is_attention =
            matches!(own, Some(Self::AttentionBackward | Self::AttentionForward | Self::AttentionV3));
        let of_instruction = instruction.filter(|_| !is_attention).and_then(Self::from_name);
        of_instruction.or(own).unwrap_or(Self::Uncategorized)
    }

    /// The category of a kernel by its own name first; that of its instruction decides only where the name says
    /// nothing.
    #[must_use]
    pub fn by_own_name(kernel: &str, instruction: Option<&str>) -> Self {
        Self::from_name(kernel)
            .or_else(|| instruction.and_then(Self::from_name))
            .unwrap_or(Self::Uncategorized)
    }
}

impl fmt::Display for KernelCategory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::KernelCategory::*;
    use super::*;

    #[test]
    fn names_decide_in_order_and_instructions_before_kernels() {
        // kernel, instruction, category, category by the kernel's own name first
        for (kernel, instruction, category, by_own_name) in [
            ("Cijk_Ailk_Bljk_BBS_BH", Some("cudnn-conv.1"), Convolution, Gemm),
            ("Im3d2Col", Some("cudnn-conv.1"), Convolution, Convolution),
            ("Im3d2Col", Some("cudnn-conv"), Uncategorized, Uncategorized),
            ("gemm_fusion_dot_1", Some("gemm_fusion_dot.1"), Gemm, Gemm),
            ("nvjet_hsh_128x256", Some("custom-call.1"), Gemm, Gemm),
            (
                "FmhaBwdDQDKDVKernel",
                Some("te_fused_attn_backward_ffi.1"),
                AttentionBackward,
                AttentionBackward,
            ),
            ("ck_helper", Some("te_fused_attn_backward_ffi.1"), TransformerEngine, TransformerEngine),
            ("ncclDevKernel_AllReduce", Some("all-reduce-start.2"), Communication, Communication),
            ("loop_add_fusion", Some("loop_add_fusion"), Uncategorized, Uncategorized),
            ("cijk", None, Uncategorized, Uncategorized),
        ] {
            assert_eq!(KernelCategory::from_kernel(kernel, instruction), category, "{kernel}");
            assert_eq!(KernelCategory::by_own_name(kernel, instruction), by_own_name, "{kernel}");
        }
    }
}
