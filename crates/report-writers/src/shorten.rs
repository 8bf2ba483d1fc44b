//! Names shortened in their middle that stay different where they differ.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// `text` in at most `width` terminal columns, with `…` (or `...` where `unicode` is false) in
/// place of its middle if it is longer.
#[must_use]
pub fn truncate_middle(text: &str, width: usize, unicode: bool) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mark = if unicode { "…" } else { "..." };
    let Some(room) = width.checked_sub(mark.width()) else {
        return start_of(text.chars(), width);
    };
    let tail_room = room / 2;
    let head = start_of(text.chars(), room - tail_room);
    let tail: String = start_of(text.chars().rev(), tail_room).chars().rev().collect();
    head + mark + &tail
}

/// Each of `texts` in at most `width` columns, those that are longer without their middle. Texts that differ stay
/// different.
#[must_use]
pub fn shortened_apart<'t>(
    texts: impl IntoIterator<Item = &'t str>,
    width: usize,
    unicode: bool,
) -> BTreeMap<&'t str, String> {
    let mut by_short: BTreeMap<Cow<'t, str>, BTreeSet<&'t str>> = BTreeMap::new();
    for text in texts {
        let short = match text.width() <= width {
            true => Cow::Borrowed(text),
            false => truncate_middle(text, width, unicode).into(),
        };
        by_short.entry(short).or_default().insert(text);
    }
    let mut shortened = BTreeMap::new();
    for (alike, texts) in by_short {
        let texts: Vec<&str> = texts.into_iter().collect();
        let told_apart = match texts.len() {
            1 => vec![alike.into_owned()],
            _ => tell_apart(&texts, width, unicode),
        };
        shortened.extend(texts.into_iter().zip(told_apart));
    }
    shortened
}

/// Texts that look alike without their middle, shortened another way: their beginning, then what is behind the part that
/// they have in common; where that looks alike too, numbered.
fn tell_apart(texts: &[&str], width: usize, unicode: bool) -> Vec<String> {
    let mark = if unicode { "…" } else { "..." };
    let common = |a: &str, b: &str| a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let common = texts.windows(2).map(|pair| common(pair[0], pair[1])).min().unwrap_or(0);
    let head = width / 3;
    let behind = |text: &&str| {
        let tail = start_of(text.chars().skip(common), width.saturating_sub(head + mark.width()));
        start_of(text.chars(), head) + mark + &tail
    };
    let short: Vec<String> = texts.iter().map(behind).collect();
    let distinct: BTreeSet<&String> = short.iter().collect();
    if distinct.len() == short.len() {
        return short;
    }
    let numbered = (1..).zip(texts).map(|(number, text)| {
        let number = format!("#{number}");
        truncate_middle(text, width.saturating_sub(number.len()), unicode) + &number
    });
    numbered.collect()
}

/// The first of `chars` that fit `width` columns.
fn start_of(chars: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= width
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_stay_different() {
        // Three names, two of which differ behind what there is room for.
        let name = |end: &str| format!("{}{}{end}", "a".repeat(50), "b".repeat(80));
        let names = [name("1"), name("2"), "a".repeat(50) + "c" + &"b".repeat(80), "short".to_owned()];
        let short = shortened_apart(names.iter().map(String::as_str), 30, true);
        let distinct: BTreeSet<&String> = short.values().collect();
        assert_eq!(distinct.len(), 4, "{short:?}");
        assert!(short.values().all(|name| name.width() <= 30), "{short:?}");
        assert_eq!(short["short"], "short");
    }

    #[test]
    fn names_alike_without_their_middle_show_where_they_differ() {
        let long = |tile: &str| format!("Cijk_Alik_Bljk_{}_{tile}_{}", "x".repeat(60), "y".repeat(60));
        let names = ["MT256", "MT128"].map(long);
        let short = tell_apart(&names.each_ref().map(String::as_str), 40, true);
        assert!(short[0].contains("256") && short[1].contains("128"), "{short:?}");
    }
}
