//! The vocabulary of pictures and charts: the page with its title, legend and notes, colours, text and the room for it.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use sheets::escaped;

/// A picture that cannot be drawn: something that it has to show has no place in it.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("the plot cannot be drawn: {0}")]
#[diagnostic(code("drawing/draw-error"))]
pub struct DrawError(pub(crate) String);

impl<E: std::error::Error + Send + Sync> From<DrawingAreaErrorKind<E>> for DrawError {
    fn from(error: DrawingAreaErrorKind<E>) -> Self {
        DrawError(error.to_string())
    }
}

pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

pub(crate) const WIDTH: u32 = 1040;
pub(crate) const MARGIN: i32 = 24;
pub(crate) const FONT: &str = "sans-serif";
pub(crate) const INK: RGBColor = RGBColor(38, 38, 38);
pub(crate) const SOFT_INK: RGBColor = RGBColor(105, 105, 105);
pub(crate) const GRID: RGBColor = RGBColor(228, 228, 228);

/// Draws a page of this height and gives its SVG.
pub(crate) fn svg(
    height: u32,
    draw: impl FnOnce(&Area<'_>) -> Result<(), DrawError>,
) -> Result<String, DrawError> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        root.fill(&WHITE)?;
        draw(&root)?;
        root.present()?;
    }
    Ok(svg)
}

pub(crate) fn title(root: &Area<'_>, title: &str) -> Result<(), DrawError> {
    text(root, &shortened(title, 90), (MARGIN, 14), 20.0, &INK, HPos::Left)
}

pub(crate) const LEGEND_TOP: i32 = 50;

/// A swatch and a text for each entry, as many as have room in one line.
pub(crate) fn legend(
    root: &Area<'_>,
    entries: impl IntoIterator<Item = (String, u32)>,
) -> Result<(), DrawError> {
    let mut x = MARGIN;
    for (entry, color) in entries {
        let width = 20 + text_width(&entry, 13.0);
        if x + width > pixels(WIDTH) - MARGIN {
            return text(root, "…", (x, LEGEND_TOP), 13.0, &INK, HPos::Left);
        }
        rectangle(root, [(x, LEGEND_TOP), (x + 14, LEGEND_TOP + 14)], rgb(color))?;
        text(root, &entry, (x + 20, LEGEND_TOP), 13.0, &INK, HPos::Left)?;
        x += width + 14;
    }
    Ok(())
}

/// Pixels from note to note.
const NOTE: i32 = 18;

/// Height of the notes below a picture.
pub(crate) fn notes_height(notes: &[String]) -> i32 {
    NOTE * i32::try_from(notes.len()).unwrap_or(0) + 12
}

/// Writes the notes below each other.
pub(crate) fn write_notes(root: &Area<'_>, notes: &[String], top: i32) -> Result<(), DrawError> {
    (0..).zip(notes).try_for_each(|(number, note)| {
        text(root, note, (MARGIN, top + NOTE * number), 13.0, &SOFT_INK, HPos::Left)
    })
}

/// Draws a filled rectangle between two corners.
pub(crate) fn rectangle(root: &Area<'_>, corners: [(i32, i32); 2], color: RGBColor) -> Result<(), DrawError> {
    Ok(root.draw(&Rectangle::new(corners, color.filled()))?)
}

/// Writes a text whose top is there, and whose left end, middle or right end.
pub(crate) fn text(
    root: &Area<'_>,
    text: &str,
    at: (i32, i32),
    size: f64,
    ink: &RGBColor,
    anchor: HPos,
) -> Result<(), DrawError> {
    styled(root, text, at, (FONT, size).into_font().color(ink).pos(Pos::new(anchor, VPos::Top)))
}

/// Writes a text upwards whose middle is there.
pub(crate) fn text_upwards(
    root: &Area<'_>,
    text: &str,
    middle: (i32, i32),
    size: f64,
    ink: &RGBColor,
) -> Result<(), DrawError> {
    let font = (FONT, size).into_font().transform(FontTransform::Rotate270);
    styled(root, text, middle, font.color(ink).pos(Pos::new(HPos::Center, VPos::Center)))
}

fn styled(root: &Area<'_>, text: &str, at: (i32, i32), style: TextStyle<'_>) -> Result<(), DrawError> {
    if text.is_empty() {
        return Ok(());
    }
    // No XML document may hold control characters, nor these two.
    let shown = escaped(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    Ok(root.draw(&Text::new(shown, at, style))?)
}

pub(crate) fn pixels(length: u32) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}

/// A colour of a palette, `0xRRGGBB`.
pub(crate) fn rgb(color: u32) -> RGBColor {
    let [_, red, green, blue] = color.to_be_bytes();
    RGBColor(red, green, blue)
}

/// A decimal number without zeros at its end.
pub(crate) fn trimmed(text: String) -> String {
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Eight colours that people with colour-blindness can tell apart: Okabe and Ito,
/// <https://jfly.uni-koeln.de/color/>, ordered so that neighbours differ most.
pub(crate) const PALETTE: [u32; 8] =
    [0x0072B2, 0xE69F00, 0x009E73, 0xD55E00, 0x56B4E9, 0xCC79A7, 0xF0E442, 0x999999];

/// Four colours for kinds that must be told apart in print without colour too: dark blue, yellow and red of Tol's
/// high-contrast scheme, <https://sronpersonalpages.nl/~pault/>, and a light grey, each of another lightness.
pub(crate) const KINDS: [u32; 4] = [0x004488, 0xDDAA33, 0xBB5566, 0xD0D0D0];

/// The darkest shades of categories, each of another hue: purple, blue, green, orange, red, grey.
const HUES: [u32; 6] = [0x54278F, 0x08519C, 0x006D2C, 0xA63603, 0x99000D, 0x4D4D4D];

/// A shade of a category's colour: from the darkest, 0, twelve steps to a light one, and so on from the darkest again.
pub(crate) fn shade_of(category: usize, shade: usize) -> u32 {
    // The lightest is two thirds of the way to white.
    let step = (shade % 12) as u32;
    let lighter = |channel: u8| u32::from(channel) + (255 - u32::from(channel)) * step * 2 / 33;
    let [_, red, green, blue] = HUES[category % HUES.len()].to_be_bytes().map(lighter);
    red << 16 | green << 8 | blue
}

/// Whether text on a colour must be white to be read.
pub(crate) fn is_dark(color: u32) -> bool {
    let [_, red, green, blue] = color.to_be_bytes().map(u32::from);
    // Weights of ITU-R BT.601, in thousandths; 128 of 255 is the middle.
    299 * red + 587 * green + 114 * blue < 128_000
}

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

/// A place in pixels, y downwards.
pub(crate) type Pixel = (i32, i32);

/// A line as a chain of small squares.
pub(crate) fn along(from: Pixel, to: Pixel) -> impl Iterator<Item = Rect> {
    const REACH: i32 = 4;
    let steps = ((to.0 - from.0).abs().max((to.1 - from.1).abs()) / (2 * REACH)).max(1);
    let between = move |from: i32, to: i32, step: i32| from + (to - from) * step / steps;
    (0..=steps)
        .map(move |step| Rect::around((between(from.0, to.0, step), between(from.1, to.1, step)), REACH))
}

/// A number with one decimal place, its thousands apart: `1,004.1`.
pub(crate) fn grouped(value: f64) -> String {
    let text = format!("{value:.1}");
    let end = text.find('.').unwrap_or(text.len());
    let mut grouped = String::with_capacity(text.len() + text.len() / 3);
    for (at, c) in text.char_indices() {
        let is_inside = at > 0 && at < end && text.as_bytes()[at - 1].is_ascii_digit();
        if is_inside && (end - at) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(c);
    }
    grouped
}

/// The text with at most so many characters, ending in `…` if it had to be cut.
pub(crate) fn shortened(text: &str, longest: usize) -> String {
    match text.chars().count() > longest {
        true => text.chars().take(longest - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_go_from_dark_to_light() {
        for category in 0..6 {
            assert!(is_dark(shade_of(category, 0)) && !is_dark(shade_of(category, 11)), "{category}");
            assert_eq!(shade_of(category, 12), shade_of(category, 0));
        }
    }

    #[test]
    fn thousands_are_apart() {
        for (value, text) in [(0.04, "0.0"), (999.94, "999.9"), (1004.1, "1,004.1"), (-1e6, "-1,000,000.0")] {
            assert_eq!(grouped(value), text);
        }
    }

    #[test]
    fn text_on_the_dark_kinds_is_white() {
        assert_eq!(KINDS.map(is_dark), [true, false, true, false]);
    }

    #[test]
    fn no_two_kinds_have_one_lightness() {
        let mut lightness = KINDS.map(|color| {
            let [_, red, green, blue] = color.to_be_bytes().map(u32::from);
            (299 * red + 587 * green + 114 * blue) / 1000
        });
        lightness.sort_unstable();
        assert!(lightness.windows(2).all(|pair| pair[1] - pair[0] >= 25), "{lightness:?}");
    }
}
