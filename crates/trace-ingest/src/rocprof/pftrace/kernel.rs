//! Names of kernels by the names of their slices.

use crate::rocprof::builder::ProfileBuilder;
use crate::rocprof::kernel_names;
use crate::rocprof::profile::Kernel;
use crate::string_table::StringId;

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
