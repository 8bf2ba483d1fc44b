//! What all pictures have in common: the page, its inks, text on it.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A picture that cannot be drawn: something that it has to show has no place in it.
#[derive(Debug, thiserror::Error)]
#[error("the picture cannot be drawn: {0}")]
pub struct DrawError(pub(crate) String);

impl<E: std::error::Error + Send + Sync> From<DrawingAreaErrorKind<E>> for DrawError {
    fn from(error: DrawingAreaErrorKind<E>) -> Self {
        DrawError(error.to_string())
    }
}

/// The page.
pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

pub(crate) const WIDTH: u32 = 1040;
pub(crate) const MARGIN: i32 = 24;
pub(crate) const FONT: &str = "sans-serif";
pub(crate) const INK: RGBColor = RGBColor(38, 38, 38);
pub(crate) const SOFT_INK: RGBColor = RGBColor(105, 105, 105);
pub(crate) const GRID: RGBColor = RGBColor(228, 228, 228);

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
    // Characters that no XML document may hold.
    let is_forbidden = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    let shown: String = text.chars().map(|c| if is_forbidden(c) { '\u{fffd}' } else { c }).collect();
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
