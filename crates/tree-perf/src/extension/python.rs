//! What of Python is not Starlark, and what to write instead.

/// Statements by their first word.
const STATEMENTS: &[(&str, &str)] = &[
    ("import", "remove the import: `model`, `work`, `prod` and `element_size` are there without one"),
    ("from", "remove the import: `model`, `work`, `prod` and `element_size` are there without one"),
    (
        "class",
        "write a function of the event that returns `model(\"gemm\", …)` or `work(flops=…, bytes=…, …)` in place of a model class",
    ),
    (
        "try",
        "there are no exceptions to catch: test first (`if len(event.dims) > 3:`); an error leaves the call without figures and is shown as the reason",
    ),
    ("except", "there are no exceptions to catch: test first"),
    ("finally", "there are no exceptions to catch: test first"),
    ("raise", "call `fail(\"reason\")` in place of `raise`"),
    ("assert", "write `if not condition: fail(\"reason\")` in place of `assert`"),
    ("with", "scripts open no files: remove the `with` block"),
    ("while", "write `for _ in range(limit):` with a `break` in place of `while`"),
    ("global", "functions cannot change globals: return the value"),
    ("nonlocal", "functions cannot change outer variables: return the value"),
    ("del", "use `d.pop(key)` in place of `del`"),
    ("yield", "collect a list and return it in place of `yield`"),
    ("async", "there is nothing asynchronous: remove `async`"),
    ("@", "there are no decorators: call the function around it"),
];

/// Operators and literals that can stand anywhere in a line.
const EXPRESSIONS: &[(&str, &str)] = &[
    ("f\"", "an f-string takes values without a format (`:.2f`, `=`): write `{value}`, or `\"…\" % value`"),
    ("f'", "an f-string takes values without a format (`:.2f`, `=`): write `{value}`, or `'…' % value`"),
    (" is not None", "write `!= None` in place of `is not None`"),
    (" is None", "write `== None` in place of `is None`"),
    (" is ", "write `==` in place of `is`"),
    ("**", "there is no power operator: multiply"),
    (":=", "assign on a line of its own in place of `:=`"),
    ("lambda *", "write a `def` in place of the lambda"),
];

/// A line that only Python understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PythonLine {
    /// Counted from 1.
    pub(super) line: usize,
    /// The word or sign.
    pub(super) found: &'static str,
    /// What to write instead.
    pub(super) instead: &'static str,
}

/// What of a line is Python but not Starlark.
pub(super) fn python_in(text: &str, line: usize) -> Option<PythonLine> {
    let source = text.lines().nth(line.checked_sub(1)?)?;
    statement(source)
        .or_else(|| EXPRESSIONS.iter().copied().find(|(sign, _)| source.contains(sign)))
        .map(|(found, instead)| PythonLine { line, found: found.trim(), instead })
}

/// All statements of the text that are Python but not Starlark; texts in triple quotes are passed over.
pub(super) fn python_statements(text: &str) -> Vec<PythonLine> {
    let mut in_text = false;
    let mut found = Vec::new();
    for (position, source) in text.lines().enumerate() {
        let quotes = source.matches("\"\"\"").count() + source.matches("'''").count();
        if !in_text && let Some((word, instead)) = statement(source) {
            found.push(PythonLine { line: position + 1, found: word, instead });
        }
        in_text ^= quotes % 2 == 1;
    }
    found
}

fn statement(source: &str) -> Option<(&'static str, &'static str)> {
    let source = source.trim_start();
    STATEMENTS.iter().copied().find(|(word, _)| {
        source.strip_prefix(word).is_some_and(|rest| {
            *word == "@"
                || !rest.starts_with(|next: char| {
                    next.is_alphanumeric() || "_.=([ ".contains(next) && is_use(rest)
                })
        })
    })
}

/// Whether what follows a word makes it a name that is used rather than a statement: `from = 1`, `del.x`.
fn is_use(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.starts_with('.') || (rest.starts_with('=') && !rest.starts_with("==")) || rest.starts_with('_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_of_python_are_found_outside_of_texts() {
        let text = "\"\"\"\nimport this\n\"\"\"\nimport math\nimported = 1\nclass A:\n    raise ValueError()\nwithout = 2\n@wrap\n";
        let found: Vec<_> = python_statements(text).into_iter().map(|line| (line.line, line.found)).collect();
        assert_eq!(found, [(4, "import"), (6, "class"), (7, "raise"), (9, "@")]);
    }

    #[test]
    fn signs_of_python_are_found_in_their_line() {
        for (text, found) in [
            ("x = 2 ** 3", Some("**")),
            ("if x is None:", Some("is None")),
            ("x = f\"{a.b}\"", Some("f\"")),
            ("if (n := 1):", Some(":=")),
            ("x = 1", None),
        ] {
            assert_eq!(python_in(text, 1).map(|line| line.found), found, "{text}");
        }
        assert_eq!(python_in("", 1), None);
    }
}
