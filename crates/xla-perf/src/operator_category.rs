//! Kinds of work of what ran without an embedded instruction.

use perf_models::hlo::HloKind;
use trace_ingest::Category as EventCategory;

use super::kernel_category::KernelCategory;
use operator_sheets::OpCategory;

/// Kind of work of something that ran on a GPU, by its name and what the profiler says that it is.
pub(super) fn of_kernel(name: &str, event: EventCategory, category: Option<KernelCategory>) -> OpCategory {
    let kind = match (event, category) {
        (EventCategory::GPU_MEMSET, _) => return OpCategory::named("memset"),
        _ if name.starts_with("__amd_rocclr_fillBuffer") => return OpCategory::named("memset"),
        (EventCategory::GPU_MEMCPY, _) => return OpCategory::named("memcpy"),
        _ if name.starts_with("__amd_rocclr_copyBuffer") => return OpCategory::named("memcpy"),
        (_, Some(KernelCategory::Gemm)) => HloKind::Gemm,
        (_, Some(KernelCategory::Convolution)) => HloKind::ConvForward,
        (_, Some(KernelCategory::AttentionForward | KernelCategory::AttentionV3)) => {
            HloKind::AttentionForward
        }
        (_, Some(KernelCategory::AttentionBackward)) => HloKind::AttentionBackward,
        (_, Some(KernelCategory::Communication)) => HloKind::Communication,
        _ => HloKind::Other,
    };
    of_kind(kind)
}

/// The category of this kind of instruction.
pub(super) fn of_kind(kind: HloKind) -> OpCategory {
    OpCategory::named(kind.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_copies_is_told_by_its_name_or_the_profiler() {
        for (name, event, category, expected) in [
            ("MemcpyD2D", EventCategory::GPU_MEMCPY, None, "memcpy"),
            ("Memset", EventCategory::GPU_MEMSET, None, "memset"),
            (
                "__amd_rocclr_copyBuffer.kd",
                EventCategory::KERNEL,
                Some(KernelCategory::Uncategorized),
                "memcpy",
            ),
            ("__amd_rocclr_fillBufferAligned", EventCategory::GPU_MEMCPY, None, "memset"),
            ("Cijk_Ailk", EventCategory::KERNEL, Some(KernelCategory::Gemm), "GEMM"),
            ("mine", EventCategory::KERNEL, Some(KernelCategory::Uncategorized), "other"),
        ] {
            assert_eq!(of_kernel(name, event, category).as_str(), expected, "{name}");
        }
    }
}
