//! Event categories: the profiler's `cat` field.

use crate::facts::Accelerator;

/// Category of an event. The categories that analyses treat specially are constants; any other text is
/// kept under an id that the trace assigned ([`crate::Trace::category_name`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Category(pub(crate) u16);

macro_rules! known_categories {
    ($($(#[$doc:meta])* $constant:ident = $text:literal,)*) => {
        impl Category {
            $($(#[$doc])* pub const $constant: Category = Category(KnownIndex::$constant as u16);)*
        }

        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum KnownIndex { $($constant),* }

        /// Texts of the known categories, in order of their ids.
        pub(crate) const KNOWN: &[&str] = &[$($text),*];

        impl Category {
            /// The known category with this text; of a list (`kernel,x`) the first that is known.
            pub(crate) fn known(text: &[u8]) -> Option<Category> {
                $(if text == $text.as_bytes() { return Some(Category::$constant); })*
                // Names of the same in recordings of PyTorch 1.8 to 1.11, which has ranges of the program among the operators.
                match text {
                    b"Operator" => Some(Category::CPU_OP),
                    b"Runtime" => Some(Category::CUDA_RUNTIME),
                    b"Kernel" => Some(Category::KERNEL),
                    b"Memcpy" => Some(Category::GPU_MEMCPY),
                    b"Memset" => Some(Category::GPU_MEMSET),
                    list if list.contains(&b',') => {
                        let mut entries = list.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
                        entries.find_map(|entry| Category::known(entry).filter(|_| !entry.is_empty()))
                    }
                    _ => None,
                }
            }
        }
    };
}

known_categories! {
    /// An event without `cat`.
    NONE = "",
    /// A frame of the Python stack.
    PYTHON_FUNCTION = "python_function",
    /// An operator called on the host.
    CPU_OP = "cpu_op",
    /// A CUDA or HIP runtime call.
    CUDA_RUNTIME = "cuda_runtime",
    /// A CUDA driver call.
    CUDA_DRIVER = "cuda_driver",
    /// A call of the runtime of Meta's MTIA.
    MTIA_RUNTIME = "mtia_runtime",
    /// A call of SYCL's runtime for Intel's GPUs.
    XPU_RUNTIME = "xpu_runtime",
    /// A call of the driver of Intel's GPUs.
    XPU_DRIVER = "xpu_driver",
    /// A runtime call of a device that PyTorch knows by an extension alone.
    PRIVATEUSE1_RUNTIME = "privateuse1_runtime",
    /// A driver call of such a device.
    PRIVATEUSE1_DRIVER = "privateuse1_driver",
    /// A kernel that ran on the device.
    KERNEL = "kernel",
    /// A memory copy that ran on the device.
    GPU_MEMCPY = "gpu_memcpy",
    /// A memory fill that ran on the device.
    GPU_MEMSET = "gpu_memset",
    /// A copy of a kernel's span that carries metrics of it, no work of its own: Intel's GPUs have them as kernels named
    /// `metrics: …`.
    KERNEL_METRICS = "kernel_metrics",
    /// What a device's recorder shows beside its work: queues that repeat it, sums derived from it, waits.
    DEVICE_RECORD = "device_record",
    /// A range that the user's program named, on the host.
    USER_ANNOTATION = "user_annotation",
    /// The same range as seen on the device.
    GPU_USER_ANNOTATION = "gpu_user_annotation",
    /// An instant on the host, such as an allocation.
    CPU_INSTANT_EVENT = "cpu_instant_event",
    /// Time the profiler itself took.
    OVERHEAD = "overhead",
    /// The recording as one span.
    TRACE = "Trace",
}

impl Category {
    /// Whether events of this category ran on a device: kernels, memory copies, memory fills.
    #[inline]
    pub fn is_device(self) -> bool {
        matches!(self, Category::KERNEL | Category::GPU_MEMCPY | Category::GPU_MEMSET)
    }

    /// Whether events of this category are runtime or driver calls, which launch device work.
    #[inline]
    pub fn is_launch_api(self) -> bool {
        self.is_cuda_api() || self.accelerator().is_some()
    }

    /// Whether events of this category are runtime or driver calls of CUDA or HIP, which share a category.
    #[inline]
    fn is_cuda_api(self) -> bool {
        matches!(self, Category::CUDA_RUNTIME | Category::CUDA_DRIVER)
    }

    /// The device whose runtime or driver is called; `None` for CUDA and HIP, and for events of other categories.
    #[inline]
    pub(crate) fn accelerator(self) -> Option<Accelerator> {
        match self {
            Category::MTIA_RUNTIME => Some(Accelerator::Mtia),
            Category::XPU_RUNTIME | Category::XPU_DRIVER => Some(Accelerator::Xpu),
            Category::PRIVATEUSE1_RUNTIME | Category::PRIVATEUSE1_DRIVER => Some(Accelerator::PrivateUse1),
            _ => None,
        }
    }

    /// What an event of a device is whose recorder names neither kernels nor copies: the device, and the category if it
    /// is work. `None` for events of other categories.
    pub(crate) fn from_device_event(text: &[u8], name: &[u8]) -> Option<(Accelerator, Option<Category>)> {
        match text {
            b"mtia_ccp_events" => {
                let category = match name {
                    b"event_record" | b"event_wait" => None,
                    b"dma_request" => Some(Category::GPU_MEMCPY),
                    _ => Some(Category::KERNEL),
                };
                Some((Accelerator::Mtia, category))
            }
            b"hpu_op" => Some((Accelerator::Hpu, Some(Category::KERNEL))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_texts_map_to_their_constants() {
        assert_eq!(Category::known(b"kernel"), Some(Category::KERNEL));
        assert_eq!(Category::known(b"Trace"), Some(Category::TRACE));
        assert_eq!(Category::known(b"cuda_sync"), None);
        assert_eq!(Category::known(b"Operator"), Some(Category::CPU_OP));
        assert_eq!(Category::known(b"x, kernel,cpu_op"), Some(Category::KERNEL));
        assert_eq!(Category::known(b"x,,y"), None);
        assert_eq!(Category::known(b"Memset"), Some(Category::GPU_MEMSET));
        assert_eq!(KNOWN[Category::GPU_MEMSET.0 as usize], "gpu_memset");
    }
}
