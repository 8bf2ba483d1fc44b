//! Keeping spreadsheet programs from running text as a formula.

use std::borrow::Cow;

/// `text` so that a spreadsheet program that opens it from a CSV file shows it and does not calculate it: one that
/// begins with `=`, `+`, `-` or `@` gets an apostrophe in front, by which these programs know text. Numbers and a
/// sign alone are no formulas and stay as they are.
pub(crate) fn guarded(text: &str) -> Cow<'_, str> {
    let begins_formula = text.starts_with(['=', '+', '-', '@']) && text.len() > 1;
    if begins_formula && text.parse::<f64>().is_err() {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_get_an_apostrophe_and_all_else_stays() {
        for formula in ["=1+1", "+A1", "-A1", "@SUM(A1)", "=", "-1-1", "=cmd|' /C calc'!A0"] {
            let expected = if formula.len() > 1 { format!("'{formula}") } else { formula.to_string() };
            assert_eq!(guarded(formula), expected);
        }
        for text in ["", "-", "+", "-1", "-1.5e-7", "+3", "-inf", "aten::mm", "a=b", "'=1", " =1", "(1, -1)"]
        {
            assert_eq!(guarded(text), text);
        }
    }
}
