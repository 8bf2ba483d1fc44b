//! Names of framework operations as XLA records them.

/// Where an operation comes from and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameworkOp<'t> {
    /// Its name with the scopes around it, `jit(f)/jit(main)/add`.
    pub name: &'t str,
    /// Its type; empty when the text does not say.
    pub kind: &'t str,
}

/// Parses `<name>:<type>`. Without a type, the last part of the name without the number behind it is the type, which is
/// how JAX records its primitives. `None` when the text is of another form.
#[must_use]
pub fn parse_framework_op(text: &str) -> Option<FrameworkOp<'_>> {
    let Some((name, kind)) = text.split_once(':') else {
        let copies = ["MemcpyHToD", "MemcpyDToH", "MemcpyDToD", "MemcpyHToH"];
        let starts =
            |copy: &&&str| text.get(..copy.len()).is_some_and(|start| start.eq_ignore_ascii_case(copy));
        return copies.iter().find(starts).map(|kind| FrameworkOp { name: text, kind });
    };
    if name == "Iterator" {
        return Some(FrameworkOp { name: text, kind: "Dataset" });
    }
    if is_tensorflow_name(name) && is_tensorflow_type(kind) {
        return Some(FrameworkOp { name, kind });
    }
    let derived = if kind.is_empty() { type_of_name(name) } else { kind };
    if is_jax_type(derived) {
        let end = derived.find('[').unwrap_or(derived.len());
        return Some(FrameworkOp { name, kind: &derived[..end] });
    }
    kind.is_empty().then_some(FrameworkOp { name, kind: derived })
}

/// `a/b/mul_3` is a `mul`.
fn type_of_name(name: &str) -> &str {
    let last = name.rsplit('/').next().unwrap_or(name);
    match last.rsplit_once('_') {
        Some((stem, number)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            stem
        }
        _ => last,
    }
}

fn is_tensorflow_name(name: &str) -> bool {
    let starts = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.';
    let continues = |byte: u8| byte.is_ascii_alphanumeric() || b"_.\\/>-".contains(&byte);
    name.bytes().next().is_some_and(starts) && name.bytes().all(continues)
}

fn is_tensorflow_type(kind: &str) -> bool {
    let starts = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    kind.bytes().next().is_some_and(starts) && is_word(kind)
}

/// Lower-case letters, digits and `_`, then perhaps parameters in brackets.
fn is_jax_type(kind: &str) -> bool {
    let (word, parameters) = kind.split_at(kind.find('[').unwrap_or(kind.len()));
    let starts = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    let is_lower = !word.bytes().any(|byte| byte.is_ascii_uppercase());
    let closes = parameters.is_empty() || parameters.ends_with(']');
    word.bytes().next().is_some_and(starts) && is_word(word) && is_lower && closes
}

fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_types_are_told_apart() {
        for (text, expected) in [
            ("jit(f)/jit(main)/add:", Some(("jit(f)/jit(main)/add", "add"))),
            ("jit(f)/jit(main)/dot_general_3:", Some(("jit(f)/jit(main)/dot_general_3", "dot_general"))),
            (
                "jit(f)/transpose[permutation=(1, 0)]:",
                Some(("jit(f)/transpose[permutation=(1, 0)]", "transpose")),
            ),
            ("model/dense/MatMul:MatMul", Some(("model/dense/MatMul", "MatMul"))),
            ("model/dense/MatMul_1:", Some(("model/dense/MatMul_1", "MatMul"))),
            ("Iterator::Batch", Some(("Iterator::Batch", "Dataset"))),
            ("memcpyhtod", Some(("memcpyhtod", "MemcpyHToD"))),
            ("dummy", None),
            ("PjitFunction(f)", None),
            ("$file.py:12 f", None),
            ("a:b:c", None),
            ("", None),
        ] {
            let parsed = parse_framework_op(text).map(|op| (op.name, op.kind));
            assert_eq!(parsed, expected, "{text}");
        }
    }
}
