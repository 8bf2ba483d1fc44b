//! Names shortened in their middle that stay different where they differ.

use std::collections::{BTreeMap, BTreeSet};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// `text` in at most `width` terminal columns, with `…` (or `...` where `unicode` is false) in
/// place of its middle if it is longer. The cuts are between words, unless a third of a half would go with a word.
#[must_use]
pub fn truncate_middle(text: &str, width: usize, unicode: bool) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mark = if unicode { "…" } else { "..." };
    let Some(room) = width.checked_sub(mark.width()) else {
        return start_of(text.chars(), width);
    };
    let chars: Vec<char> = text.chars().collect();
    let head = words_of(&chars, room - room / 2);
    let fitting = start_of(text.chars().rev(), room - head.width()).chars().count();
    let first = chars.len() - fitting;
    let start = (first..=first + fitting / 3).find(|&at| is_between_words(&chars, at)).unwrap_or(first);
    head + mark + &chars[start..].iter().collect::<String>()
}

/// The first words that fit `width` columns, of a long word a part.
fn words_of(chars: &[char], width: usize) -> String {
    let fitting = start_of(chars.iter().copied(), width).chars().count();
    let mut places = (fitting - fitting / 3..=fitting).rev();
    let end = places.find(|&at| is_between_words(chars, at)).unwrap_or(fitting);
    chars[..end].iter().collect()
}

/// Whether no word goes on over a place of a text: words are of letters and digits, and capitals begin new ones.
fn is_between_words(chars: &[char], place: usize) -> bool {
    let [Some(before), Some(after)] =
        [place.checked_sub(1), Some(place)].map(|at| at.and_then(|at| chars.get(at)))
    else {
        return true;
    };
    let is_word = before.is_alphanumeric() && after.is_alphanumeric();
    !is_word || (before.is_lowercase() && after.is_uppercase())
}

/// Each of `texts` in at most `width` columns, those that are longer without their middle. Texts that differ stay
/// different.
#[must_use]
pub fn shortened_apart<'t>(
    texts: impl IntoIterator<Item = &'t str>,
    width: usize,
    unicode: bool,
) -> BTreeMap<&'t str, String> {
    let (short, long): (BTreeSet<&str>, BTreeSet<&str>) =
        texts.into_iter().partition(|text| text.width() <= width);
    let mut shortened: BTreeMap<&str, String> = short.iter().map(|&text| (text, text.to_owned())).collect();
    // Those that begin alike differ in what their beginning does not show.
    let mut by_head: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for text in long {
        by_head.entry(start_of(text.chars(), head_of(width))).or_default().push(text);
    }
    for texts in by_head.into_values() {
        let told_apart = match texts[..] {
            [text] => vec![truncate_middle(text, width, unicode)],
            _ => tell_apart(&texts, width, unicode),
        };
        shortened.extend(texts.into_iter().zip(told_apart));
    }
    let mut taken = BTreeSet::new();
    for (position, text) in (1..).zip(shortened.values_mut()) {
        if !taken.insert(text.clone()) {
            *text = numbered(text, position, width, unicode);
            taken.insert(text.clone());
        }
    }
    shortened
}

/// Columns of the beginning of a text of which more is shown behind.
const fn head_of(width: usize) -> usize {
    width / 3
}

fn numbered(text: &str, number: usize, width: usize, unicode: bool) -> String {
    let number = format!("#{number}");
    truncate_middle(text, width.saturating_sub(number.len()), unicode) + &number
}

/// Texts that begin alike: their beginning, then what is behind the part that they have in common; where that looks alike
/// too, numbered.
fn tell_apart(texts: &[&str], width: usize, unicode: bool) -> Vec<String> {
    let mark = if unicode { "…" } else { "..." };
    let chars: Vec<Vec<char>> = texts.iter().map(|text| text.chars().collect()).collect();
    let shared = |a: &[char], b: &[char]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let common = chars.windows(2).map(|pair| shared(&pair[0], &pair[1])).min().unwrap_or(0);
    let least = head_of(width);
    // The word in which they first differ is shown from its start.
    let common = (0..=common).rev().take(least).find(|&at| is_between_words(&chars[0], at)).unwrap_or(common);
    let tails: Vec<String> = chars.iter().map(|chars| chars[common..].iter().collect()).collect();
    // Where their ends leave room, more of what they have in common is shown.
    let longest = tails.iter().map(|tail| tail.width()).max().unwrap_or(0);
    let head = least.max(width.saturating_sub(mark.width() + longest));
    let behind = |(chars, tail): (&Vec<char>, &String)| {
        let head = words_of(chars, head) + mark;
        let room = width.saturating_sub(head.width());
        head + &truncate_end(tail, room, mark)
    };
    let short: Vec<String> = chars.iter().zip(&tails).map(behind).collect();
    let mut alike: BTreeMap<&String, Vec<usize>> = BTreeMap::new();
    for (position, short) in short.iter().enumerate() {
        alike.entry(short).or_default().push(position);
    }
    if alike.len() == 1 && texts.len() > 1 {
        return (1..).zip(texts).map(|(number, text)| numbered(text, number, width, unicode)).collect();
    }
    let mut told_apart = short.clone();
    for positions in alike.into_values().filter(|positions| positions.len() > 1) {
        let of_group: Vec<&str> = positions.iter().map(|&position| texts[position]).collect();
        for (position, text) in positions.into_iter().zip(tell_apart(&of_group, width, unicode)) {
            told_apart[position] = text;
        }
    }
    told_apart
}

/// `text` in at most `width` columns, with the mark in place of its end if it is longer.
fn truncate_end(text: &str, width: usize, mark: &str) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    start_of(text.chars(), width.saturating_sub(mark.width())) + mark
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
    fn names_are_cut_between_words() {
        for (text, width, short) in [
            ("vectorized_elementwise_kernel", 21, "vectorized…_kernel"),
            ("at::native::vectorized_layer_norm_kernel", 30, "at::native::…layer_norm_kernel"),
            ("MatmulMultiCoreDeviceOperation", 22, "MatmulMulti…Operation"),
            // A long word is cut.
            ("abcdefghijklmnopqrstuvwxyz", 11, "abcde…vwxyz"),
        ] {
            assert_eq!(truncate_middle(text, width, true), short);
        }
    }

    #[test]
    fn names_alike_without_their_middle_show_where_they_differ() {
        let long = |tile: &str| format!("Cijk_Alik_Bljk_{}_{tile}_{}", "x".repeat(60), "y".repeat(60));
        let names = ["MT256", "MT128"].map(long);
        let short = tell_apart(&names.each_ref().map(String::as_str), 40, true);
        assert!(short[0].contains("256") && short[1].contains("128"), "{short:?}");
    }
}
