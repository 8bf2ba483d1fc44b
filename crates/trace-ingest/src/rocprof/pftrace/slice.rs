//! Slices as both forms of a trace give them: the row on which a slice lies, its times, what kind of record its
//! category makes it, and the names of a kernel that its name gives.

use super::arguments::{Arguments, Key};
use crate::json::number::LATEST;
use crate::rocprof::builder::ProfileBuilder;
use crate::rocprof::kernel_names;
use crate::rocprof::profile::{Domain, Kernel};
use crate::string_table::StringId;

pub(super) struct Slice<'s> {
    /// Its row.
    pub(super) lane: u32,
    /// Its category; of several, all with commas between.
    pub(super) category: StringId,
    pub(super) name: StringId,
    /// When it starts, in nanoseconds, where its arguments do not say.
    pub(super) start: Option<i64>,
    /// When it ends, if that is known and its arguments do not say.
    pub(super) end: Option<i64>,
    pub(super) arguments: &'s Arguments<'s>,
}

/// Start and, if it is known, end of a slice: what its arguments say goes before its place in the trace. `None`
/// when neither tells the start, or a time is out of range.
pub(super) fn times(slice: &Slice<'_>) -> Option<(i64, Option<i64>)> {
    let given = |key| slice.arguments.integer::<i64>(key);
    let (begin, end, length) = (given(Key::Begin), given(Key::End), given(Key::Length));
    let (start, end) = match (begin, end, length) {
        (Some(begin), _, Some(length)) => (begin, Some(begin.checked_add(length)?)),
        (Some(begin), Some(end), None) => (begin, Some(end)),
        (None, Some(end), Some(length)) => (end.checked_sub(length)?, Some(end)),
        (begin, ..) => (begin.or(slice.start)?, slice.end),
    };
    let in_range = |time: i64| (-LATEST..=LATEST).contains(&time);
    (in_range(start) && end.is_none_or(in_range)).then_some((start, end))
}

/// What is known of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Lane {
    pub(super) pid: Option<i64>,
    pub(super) tid: Option<i64>,
    pub(super) stream: Option<u64>,
}

/// The stream in the name of a row: `COMPUTE AGENT [2] STREAM [1] (GPU)`.
pub(super) fn stream_of(name: &str) -> Option<u64> {
    let (_, rest) = name.split_once("STREAM [")?;
    rest.split_once(']')?.0.trim().parse().ok()
}

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
    pub(super) fn from_category(category: &str) -> Class {
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
            Class::Call(Domain::from_kind(&name))
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

/// The names that a kernel has by the name of its slices, which is the demangled one where the profiler could
/// demangle it.
pub(super) fn kernel_of_name(
    builder: &mut ProfileBuilder,
    name: StringId,
    symbol: Option<StringId>,
) -> Kernel {
    let strings = &mut builder.profile.strings;
    let text = strings.get(name).to_string();
    let truncated = Some(strings.intern(kernel_names::truncated(&text)));
    let formatted = text.strip_suffix("[clone .kd]").map(str::trim_end).or_else(|| text.strip_suffix(".kd"));
    match formatted {
        Some(_) if text.starts_with("_Z") => {
            Kernel { mangled: symbol.or(Some(name)), truncated, ..Kernel::default() }
        }
        Some(formatted) => {
            let is_c = text.ends_with(".kd");
            let formatted = Some(strings.intern(formatted));
            let mangled = symbol.or(is_c.then_some(name));
            Kernel { mangled, demangled: Some(name), formatted, truncated, ..Kernel::default() }
        }
        None => Kernel { mangled: symbol, formatted: Some(name), truncated, ..Kernel::default() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_streams_are_named_after_them() {
        assert_eq!(stream_of("COMPUTE AGENT [2] STREAM [17] (GPU)"), Some(17));
        assert_eq!(stream_of("STREAM [0]"), Some(0));
        assert_eq!(stream_of("COMPUTE AGENT [2] QUEUE [0] (GPU)"), None);
        assert_eq!(stream_of("STREAM [x]"), None);
    }

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
            assert_eq!(Class::from_category(category), class, "{category:?}");
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

    #[test]
    fn a_kernel_is_shown_by_the_name_of_its_slices() {
        use crate::rocprof::profile::KernelNames;
        for (name, formatted) in [
            ("attn_fwd.kd", "attn_fwd"),
            ("ns::add<int>(int*) [clone .kd]", "ns::add<int>(int*)"),
            ("add(int*)", "add(int*)"),
        ] {
            let mut builder = ProfileBuilder::default();
            let id = builder.profile.strings.intern(name);
            let kernel = kernel_of_name(&mut builder, id, None);
            let kernel = builder.named_kernel(kernel);
            let profile = builder.finish();
            assert_eq!(profile.kernel_name(kernel, KernelNames::Demangled), name);
            assert_eq!(profile.kernel_name(kernel, KernelNames::Formatted), formatted);
        }
    }
}
