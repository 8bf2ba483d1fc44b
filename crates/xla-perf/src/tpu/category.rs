//! What the compiler's categories of HLO operations stand for.

/// Whether operations of the category run others inside, so that their figures would count twice.
pub(super) fn may_have_inner_ops(category: &str) -> bool {
    matches!(category, "call" | "conditional" | "while" | "megacore fusion")
}

/// Whether the category feeds the device from the host or the host from the device.
pub(super) fn is_infeed_or_outfeed(category: &str) -> bool {
    category.contains("infeed") || category.contains("outfeed")
}

/// Whether the time of the category is no work of the core.
pub(super) fn is_off_duty(category: &str) -> bool {
    matches!(
        category,
        "infeed"
            | "outfeed"
            | "host send"
            | "host send-done"
            | "host recv"
            | "host recv-done"
            | "megacore fusion"
    )
}

/// Kind of work that a category is, for findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkClass {
    /// Arithmetic and data movement inside the core.
    Compute,
    /// Copies between memories of the device.
    Copy,
    /// Copies between the device's memory and the host's.
    HostOffload,
    /// Exchange among devices.
    Collective,
    /// Feeding from and to the host.
    Feed,
    /// Nothing ran.
    Idle,
}

impl WorkClass {
    /// In a sentence: "largest: …".
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            WorkClass::Compute => "compute",
            WorkClass::Copy => "copies between device memories",
            WorkClass::HostOffload => "host-offload copies",
            WorkClass::Collective => "collectives",
            WorkClass::Feed => "host transfers",
            WorkClass::Idle => "idle time",
        }
    }
}

/// First words of the categories that exchange data among devices.
const COLLECTIVES: &[&str] = &[
    "all-reduce",
    "all-gather",
    "all-to-all",
    "ragged-all-to-all",
    "reduce-scatter",
    "collective-permute",
    "collective-broadcast",
];

/// Whether operations of the category exchange data among devices.
pub(super) fn is_collective(category: &str) -> bool {
    COLLECTIVES.iter().any(|name| category.starts_with(name))
        || matches!(category, "send" | "send-done" | "recv" | "recv-done")
}

/// The kind of work of an operation.
pub(super) fn work_class(category: &str, expression: &str) -> WorkClass {
    let is_copy = matches!(category, "copy" | "copy-start" | "copy-done");
    let is_async = matches!(category, "async-start" | "async-update" | "async-done");
    match category {
        _ if is_off_duty(category) && category != "megacore fusion" || is_infeed_or_outfeed(category) => {
            WorkClass::Feed
        }
        _ if is_collective(category) => WorkClass::Collective,
        _ if (is_copy || is_async) && touches_host_memory(expression) => WorkClass::HostOffload,
        _ if is_copy => WorkClass::Copy,
        _ => WorkClass::Compute,
    }
}

/// Whether a shape lies in host memory, which layouts of XLA number as memory space 5.
pub(super) fn touches_host_memory(shape: &str) -> bool {
    shape.contains("S(5)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_have_a_kind_of_work() {
        let host = "%copy-done.1 = f32[8]{0:S(5)} copy-done(%copy-start.1)";
        for (category, expression, class) in [
            ("loop fusion", "", WorkClass::Compute),
            ("convolution fusion", host, WorkClass::Compute),
            ("copy-done", host, WorkClass::HostOffload),
            ("async-done", host, WorkClass::HostOffload),
            ("copy-done", "f32[8]{0}", WorkClass::Copy),
            ("copy", "", WorkClass::Copy),
            ("all-reduce fusion", "", WorkClass::Collective),
            ("collective-permute-done", "", WorkClass::Collective),
            ("send-done", "", WorkClass::Collective),
            ("host recv-done", "", WorkClass::Feed),
            ("infeed", "", WorkClass::Feed),
            ("SparseCoreV0 infeed wait", "", WorkClass::Feed),
            ("megacore fusion", "", WorkClass::Compute),
        ] {
            assert_eq!(work_class(category, expression), class, "{category}");
        }
    }
}
