//! Kernel names of one form from another.
//!
//! The profiler knows four names of a kernel, and its formats hold different ones of them. Reports group kernels by
//! the truncated name, so that has to be the same whichever format a run was read from.

use std::borrow::Cow;

/// Suffix of the symbol that describes a kernel in a code object.
const DESCRIPTOR: &str = ".kd";

/// The truncated form of a demangled name, by the profiler's own rule: bracketed groups and blanks at the end go
/// (parameters, template arguments, `[clone .kd]`), then what is left up to the next blank or colon from the right
/// is the name. Inside a group only brackets of its own kind count.
///
/// The rule leaves nothing of a name with an unpaired bracket, such as `operator>`; the profiler writes an empty
/// name then, and [`super::Profile::kernel_name`] takes the next best.
pub(crate) fn truncated(demangled: &str) -> &str {
    let bytes = demangled.as_bytes();
    let mut end = bytes.len();
    while let Some(&last) = end.checked_sub(1).and_then(|last| bytes.get(last)) {
        let opening = match last {
            b' ' => {
                end -= 1;
                continue;
            }
            b')' => b'(',
            b'>' => b'<',
            b']' => b'[',
            _ => break,
        };
        end = start_of_group(&bytes[..end], opening, last);
    }
    let start =
        bytes[..end].iter().rposition(|&byte| byte == b' ' || byte == b':').map_or(0, |before| before + 1);
    // All cuts lie beside ASCII characters, so they are boundaries of characters.
    demangled.get(start..end).unwrap_or_default()
}

/// Where the group that ends `text` begins; 0 when it has no beginning.
fn start_of_group(text: &[u8], opening: u8, closing: u8) -> usize {
    let mut depth = 0usize;
    for (at, &byte) in text.iter().enumerate().rev() {
        if byte == closing {
            depth += 1;
        } else if byte == opening {
            depth -= 1;
            if depth == 0 {
                return at;
            }
        }
    }
    0
}

/// Whether a name ends in a parameter list, as those of C++ kernels do unless they were truncated.
pub(crate) fn has_parameter_list(name: &str) -> bool {
    name.trim_end().ends_with(')')
}

/// The truncated form of a formatted name, which has lost the suffix `.kd`. A C or assembler kernel, of whose name
/// there is nothing to strip, keeps the suffix in its truncated form, so it is put back.
pub(crate) fn truncated_from_formatted(formatted: &str) -> Cow<'_, str> {
    let short = truncated(formatted);
    if short.len() < formatted.len() || formatted.is_empty() || formatted.ends_with(DESCRIPTOR) {
        short.into()
    } else {
        format!("{formatted}{DESCRIPTOR}").into()
    }
}

/// The truncated form of a kernel's name as the code object has it, and its formatted form. `None` when both are
/// missing.
pub(crate) fn truncated_from_symbol<'n>(
    mangled: Option<&'n str>,
    formatted: Option<&'n str>,
) -> Option<Cow<'n, str>> {
    match (mangled, formatted) {
        (Some(mangled), _) if !mangled.is_empty() && !mangled.starts_with("_Z") => {
            Some(truncated(mangled).into())
        }
        (_, Some(formatted)) => Some(truncated_from_formatted(formatted)),
        (Some(mangled), None) => Some(mangled.into()),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Demangled names and what the profiler makes of them.
    const TRUNCATED: [(&str, &str); 24] = [
        ("", ""),
        ("add(float*)", "add"),
        ("add(float*) [clone .kd]", "add"),
        ("attn_fwd.kd", "attn_fwd.kd"),
        ("__amd_rocclr_copyBuffer.kd", "__amd_rocclr_copyBuffer.kd"),
        ("ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>) [clone .kd]", "ncclDevKernel_Generic_1"),
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>>(int, int)",
            "vectorized_elementwise_kernel",
        ),
        ("void ns::kernel<int, (ns::Kind)2>(int*) [clone .kd]", "kernel"),
        ("void (anonymous namespace)::softmax<float>(float*)", "softmax"),
        (
            "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, 2>(float*, int)",
            "CatArrayBatchedCopy",
        ),
        (
            "void reduce<at::native::func_wrapper_t<float, f()::{lambda(float, float)#1}>>(R) [clone .kd]",
            "reduce",
        ),
        ("void each<f()::'lambda'(int)>(int)", "each"),
        ("f(int)::{lambda(int)#1}", "{lambda(int)#1}"),
        ("kernel(void (*)(int), int (&) [3])", "kernel"),
        ("ns::Functor::operator()(int)", "operator"),
        ("bool ns::operator<(int, int)", "operator<"),
        ("bool ns::operator< <int>(int, int)", "operator<"),
        ("ns::operator[](int)", "operator"),
        // Unpaired: the profiler leaves nothing of these.
        ("ns::operator>(int, int)", ""),
        ("void apply<decltype(a->b)>(int)", ""),
        ("std::enable_if<(4 < 5), void>::type k<int>(int)", "k"),
        ("k(int) const", "const"),
        ("k<int>   (int)  ", "k"),
        ("größe::größer<ä>(ö)", "größer"),
    ];

    #[test]
    fn truncated_names_are_those_of_the_profiler() {
        for (name, expected) in TRUNCATED {
            assert_eq!(truncated(name), expected, "{name}");
        }
    }

    #[test]
    fn formatted_names_get_the_suffix_back_where_nothing_is_stripped() {
        for (formatted, expected) in [
            ("attn_fwd", "attn_fwd.kd"),
            ("attn_fwd.kd", "attn_fwd.kd"),
            ("Cijk_Ailk_Bljk_MT64x64", "Cijk_Ailk_Bljk_MT64x64.kd"),
            ("add(float*)", "add"),
            ("ns::variable", "variable"),
            ("k<int>", "k"),
            ("_Z3broken", "_Z3broken.kd"),
            ("", ""),
        ] {
            assert_eq!(truncated_from_formatted(formatted), expected, "{formatted}");
        }
    }

    #[test]
    fn symbols_of_c_kernels_stand_as_they_are() {
        for (mangled, formatted, expected) in [
            (Some("attn_fwd.kd"), Some("attn_fwd"), Some("attn_fwd.kd")),
            (Some("attn_fwd"), Some("attn_fwd"), Some("attn_fwd")),
            (Some("_Z3addPf.kd"), Some("add(float*)"), Some("add")),
            (Some("_Z3addPf.kd"), None, Some("_Z3addPf.kd")),
            (Some(""), Some("add(float*)"), Some("add")),
            (None, Some("attn_fwd"), Some("attn_fwd.kd")),
            (Some("attn_fwd.kd"), None, Some("attn_fwd.kd")),
            (None, None, None),
        ] {
            assert_eq!(truncated_from_symbol(mangled, formatted).as_deref(), expected);
        }
    }

    #[test]
    fn any_text_is_cut_without_a_panic() {
        for text in ["(", ")", "<>", "))))((", "> > >", "ä)", ")ä", "a(b]c)", " : : ", "::"] {
            let short = truncated(text);
            assert!(text.contains(short));
        }
    }

    #[test]
    fn parameter_lists_are_told_apart() {
        assert!(has_parameter_list("add(float*)"));
        assert!(!has_parameter_list("add"));
        assert!(!has_parameter_list("attn_fwd.kd"));
        assert!(!has_parameter_list("k<int>"));
    }
}
