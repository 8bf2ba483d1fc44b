//! Which category an event has, by the line that it lies on and its name.

use super::facts::Facts;
use super::kinds::KindRole;
use super::profile::PlaneKind;
use crate::category::Category;
use crate::trace::Trace;

/// Category of a TPU's instructions that ran (line `XLA Ops`).
pub const XLA_OP: &str = "xla_op";
/// Category of a TPU's copies and collectives that ran beside instructions (line `Async XLA Ops`).
pub const XLA_ASYNC_OP: &str = "xla_async_op";
/// Category of a TPU's executions of a module (line `XLA Modules`).
pub const XLA_MODULE: &str = "xla_module";
/// Category of a device's steps (line `Steps`).
pub const XLA_STEP: &str = "xla_step";
/// Category of any other event of a device: waits, and the lines that old profilers derived from kernels.
pub const DEVICE_NOTE: &str = "device_note";
/// Category of the events of planes that are neither a device's nor the host's threads.
pub const OTHER_PLANE: &str = "other_plane";

/// What a line's events are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineRole {
    /// Kernels and copies of a GPU.
    Stream,
    /// Executions of a module.
    Modules,
    /// A thread of the host.
    Host,
    /// Events of one category.
    Uniform(Category),
}

/// What the events of a line with this name are.
pub(crate) fn line_role(plane: PlaneKind, line: &str, trace: &mut Trace) -> LineRole {
    let text = match plane {
        PlaneKind::Gpu { .. } if line.starts_with("Stream") => return LineRole::Stream,
        PlaneKind::Tpu { .. } | PlaneKind::SparseCore { .. } => match line {
            "XLA Modules" | "Sparse Core Modules" => return LineRole::Modules,
            "XLA Ops" | "Sparse Core Ops" => XLA_OP,
            "Async XLA Ops" => XLA_ASYNC_OP,
            "Steps" | "Sparse Core Steps" => XLA_STEP,
            _ => DEVICE_NOTE,
        },
        PlaneKind::Gpu { .. } => DEVICE_NOTE,
        PlaneKind::HostCpu => return LineRole::Host,
        _ => OTHER_PLANE,
    };
    LineRole::Uniform(trace.intern_category(text))
}

/// Category of an event. Its name is looked up only where it matters.
#[inline]
pub(crate) fn category<'t>(
    line: LineRole,
    kind: KindRole,
    facts: &Facts,
    name: impl FnOnce() -> &'t str,
    module: Category,
) -> Category {
    match line {
        LineRole::Uniform(category) => category,
        LineRole::Modules => module,
        LineRole::Stream => {
            let name = name();
            let begins = |prefix: &str| {
                name.as_bytes()
                    .get(..prefix.len())
                    .is_some_and(|head| head.eq_ignore_ascii_case(prefix.as_bytes()))
            };
            if begins("copy") || begins("memcpy") {
                Category::GPU_MEMCPY
            } else if begins("memset") {
                Category::GPU_MEMSET
            } else {
                Category::KERNEL
            }
        }
        LineRole::Host => match kind {
            KindRole::Allocation => Category::CPU_INSTANT_EVENT,
            KindRole::Python => Category::PYTHON_FUNCTION,
            // Host events that carry a correlation id are launches, and are named after what they launch.
            _ if facts.correlation.is_some() => Category::CUDA_RUNTIME,
            _ if facts.is_step => Category::USER_ANNOTATION,
            _ => Category::CPU_OP,
        },
    }
}
