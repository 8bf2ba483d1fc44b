//! Room for text in a picture whose font cannot be measured.

/// Width of a character of a sans-serif font for its size, on average and generously: no font is read.
const CHARACTER: f64 = 0.56;

/// A rectangle in pixels, y downwards.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rect {
    pub(crate) left: i32,
    pub(crate) top: i32,
    pub(crate) right: i32,
    pub(crate) bottom: i32,
}

impl Rect {
    /// Where a text would stand whose upper left corner is there.
    pub(crate) fn of_text(text: &str, (left, top): (i32, i32), size: f64) -> Self {
        Rect { left, top, right: left + text_width(text, size), bottom: top + (size * 1.25).ceil() as i32 }
    }

    /// The square around a point.
    pub(crate) fn around((x, y): (i32, i32), reach: i32) -> Self {
        Rect { left: x - reach, top: y - reach, right: x + reach, bottom: y + reach }
    }

    pub(crate) fn overlaps(&self, other: &Rect) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    pub(crate) fn holds(&self, other: &Rect) -> bool {
        self.left <= other.left
            && other.right <= self.right
            && self.top <= other.top
            && other.bottom <= self.bottom
    }
}

pub(crate) fn text_width(text: &str, size: f64) -> i32 {
    (text.chars().count() as f64 * size * CHARACTER).ceil() as i32
}

/// The text with at most so many characters, ending in `…` if it had to be cut.
pub(crate) fn shortened(text: &str, longest: usize) -> String {
    match text.chars().count() > longest {
        true => text.chars().take(longest - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}
