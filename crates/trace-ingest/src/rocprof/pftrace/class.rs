//! What kind of record a slice is, by its category.

use crate::rocprof::profile::Domain;

/// What a slice of a category becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Dispatch,
    Copy,
    Allocation,
    Scratch,
    Call(Domain),
    /// The profiler has no such category.
    Foreign,
}

impl Class {
    /// The class of a category, whose name the profiler takes from the domain that was traced.
    pub(super) fn of_category(category: &str) -> Class {
        let name = category.trim().to_ascii_lowercase();
        let has = |part: &str| name.contains(part);
        if has("memory_copy") {
            Class::Copy
        } else if has("memory_allocation") {
            Class::Allocation
        } else if has("scratch_memory") {
            Class::Scratch
        } else if has("kernel") || has("gpu_activity") {
            Class::Dispatch
        } else if has("_api") || has("marker") || name == "cupti" {
            Class::Call(Domain::of_kind(&name))
        } else {
            Class::Foreign
        }
    }
}

/// Whether a name is that of a kernel's descriptor in a code object.
pub(super) fn is_descriptor(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.windows(3).enumerate().any(|(at, part)| {
        part.eq_ignore_ascii_case(b".kd") && matches!(bytes.get(at + 3), None | Some(b' ' | b']'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_are_told_apart() {
        for (category, class) in [
            ("kernel_dispatch", Class::Dispatch),
            ("gpu_activity", Class::Dispatch),
            (" MEMORY_COPY ", Class::Copy),
            ("memory_allocation", Class::Allocation),
            ("scratch_memory", Class::Scratch),
            ("hip_api", Class::Call(Domain::Hip)),
            ("hsa_api", Class::Call(Domain::Hsa)),
            ("marker_api", Class::Call(Domain::Marker)),
            ("rccl_api", Class::Call(Domain::Rccl)),
            ("rocdecode_api", Class::Call(Domain::Rocdecode)),
            ("cuda_api", Class::Call(Domain::Other)),
            ("cupti", Class::Call(Domain::Other)),
            ("toplevel", Class::Foreign),
            ("", Class::Foreign),
        ] {
            assert_eq!(Class::of_category(category), class, "{category:?}");
        }
    }

    #[test]
    fn descriptors_end_in_kd() {
        for (name, is) in [
            ("attn_fwd.kd", true),
            ("add(float*) [clone .kd]", true),
            ("copy.KD (2)", true),
            ("kd", false),
            ("a.kdx", false),
            ("hipLaunchKernel", false),
        ] {
            assert_eq!(is_descriptor(name), is, "{name}");
        }
    }
}
