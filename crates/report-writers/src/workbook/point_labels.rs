//! Where the names of points can stand in a scatter chart without lying on anything.
//!
//! A spreadsheet program writes a label beside, above or below its point and asks nobody whether something is
//! there. With the axes and the place of the plot fixed, the pixels are known well enough to ask before.

use crate::label_room::{Rect, shortened, text_width};

/// Names that are shown at most: those of the heaviest points.
const LABELS: usize = 8;
const LONGEST_LABEL: usize = 32;
/// Points of the font, and pixels of it at the usual 96 per inch.
pub(super) const FONT_SIZE: u32 = 8;
const PIXELS: f64 = FONT_SIZE as f64 * 96.0 / 72.0;
const HALF_HEIGHT: i32 = 8;
/// Pixels between a point and its name.
const DISTANCE: i32 = 4;

/// A place in pixels, y downwards.
pub(super) type Pixel = (i32, i32);

/// A point in pixels.
pub(super) struct Marker<'a> {
    pub(super) at: Pixel,
    pub(super) radius: i32,
    pub(super) name: &'a str,
    pub(super) weight: f64,
}

/// Where a name stands, seen from its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Right,
    Below,
    Left,
    Above,
}

/// A name beside its point.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PointLabel {
    pub(super) text: String,
    pub(super) side: Side,
}

/// The names that have room, each once, the heaviest points asked first; in the order of `markers`.
pub(super) fn point_labels(
    frame: Rect,
    markers: &[Marker<'_>],
    lines: &[(Pixel, Pixel)],
) -> Vec<Option<PointLabel>> {
    let mut taken: Vec<Rect> = markers.iter().map(|marker| Rect::around(marker.at, marker.radius)).collect();
    taken.extend(lines.iter().flat_map(|&(from, to)| along(from, to)));
    let mut by_weight: Vec<usize> = (0..markers.len()).collect();
    by_weight.sort_by(|&a, &b| markers[b].weight.total_cmp(&markers[a].weight));
    let mut names: Vec<&str> = Vec::new();
    for &index in &by_weight {
        let name = markers[index].name;
        if names.len() < LABELS && !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    let mut labels = vec![None; markers.len()];
    for name in names {
        let text = shortened(name, LONGEST_LABEL);
        let room = |&index: &usize| {
            let is_free =
                |place: &Rect| frame.holds(place) && !taken.iter().any(|taken| taken.overlaps(place));
            let (side, place) =
                places(&markers[index], &text).into_iter().find(|(_, place)| is_free(place))?;
            Some((index, side, place))
        };
        // In the midst of others the heaviest point of a name may have no room where another one has.
        let of_name = by_weight.iter().filter(|&&index| markers[index].name == name);
        if let Some((index, side, place)) = of_name.filter_map(room).next() {
            taken.push(place);
            labels[index] = Some(PointLabel { text, side });
        }
    }
    labels
}

fn places(marker: &Marker<'_>, text: &str) -> [(Side, Rect); 4] {
    let (x, y) = marker.at;
    let away = marker.radius + DISTANCE;
    let width = text_width(text, PIXELS);
    let beside =
        |left: i32| Rect { left, top: y - HALF_HEIGHT, right: left + width, bottom: y + HALF_HEIGHT };
    let over =
        |top: i32| Rect { left: x - width / 2, top, right: x + width / 2, bottom: top + 2 * HALF_HEIGHT };
    [
        (Side::Right, beside(x + away)),
        (Side::Below, over(y + away)),
        (Side::Left, beside(x - away - width)),
        (Side::Above, over(y - away - 2 * HALF_HEIGHT)),
    ]
}

/// A line as a chain of small squares.
fn along(from: Pixel, to: Pixel) -> impl Iterator<Item = Rect> {
    const REACH: i32 = 4;
    let steps = ((to.0 - from.0).abs().max((to.1 - from.1).abs()) / (2 * REACH)).max(1);
    let between = move |from: i32, to: i32, step: i32| from + (to - from) * step / steps;
    (0..=steps)
        .map(move |step| Rect::around((between(from.0, to.0, step), between(from.1, to.1, step)), REACH))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Rect = Rect { left: 0, top: 0, right: 400, bottom: 300 };

    fn marker(at: (i32, i32), name: &str, weight: f64) -> Marker<'_> {
        Marker { at, radius: 5, name, weight }
    }

    fn positions(markers: &[Marker<'_>], lines: &[(Pixel, Pixel)]) -> Vec<Option<Side>> {
        point_labels(FRAME, markers, lines).into_iter().map(|label| Some(label?.side)).collect()
    }

    #[test]
    fn names_avoid_points_lines_the_frame_and_one_another() {
        use Side::{Above, Below, Left, Right};
        let alone = || marker((200, 150), "aten::mm", 2.0);
        assert_eq!(positions(&[alone()], &[]), [Some(Right)]);
        assert_eq!(positions(&[alone()], &[((230, 0), (230, 300))]), [Some(Below)]);
        assert_eq!(positions(&[marker((395, 290), "aten::mm", 2.0)], &[]), [Some(Left)]);
        let crowded = [((150, 170), (250, 170)), ((229, 146), (229, 160)), ((170, 145), (170, 155))];
        assert_eq!(positions(&[alone()], &crowded), [Some(Above)]);
        // The heavier one is asked first, wherever it stands in the table.
        let pair = [marker((190, 150), "light", 1.0), marker((220, 150), "heavy", 3.0)];
        assert_eq!(positions(&pair, &[]), [Some(Below), Some(Right)]);
    }

    #[test]
    fn a_name_without_room_is_left_out() {
        let wall: Vec<_> = (0..30).map(|at| ((0, at * 10), (400, at * 10))).collect();
        assert_eq!(positions(&[marker((200, 150), "aten::mm", 2.0)], &wall), [None]);
    }

    #[test]
    fn a_lighter_point_carries_the_name_where_the_heaviest_has_no_room() {
        let walls = [((150, 170), (250, 170)), ((150, 130), (250, 130))];
        let ends = [((225, 130), (225, 170)), ((175, 130), (175, 170))];
        let two = [marker((200, 150), "aten::mm", 2.0), marker((200, 250), "aten::mm", 1.0)];
        assert_eq!(positions(&two, &[walls, ends].concat()), [None, Some(Side::Right)]);
    }

    #[test]
    fn only_the_heaviest_points_are_named_and_each_name_once() {
        let names: Vec<String> = (0..12).map(|at| format!("op{}", at / 2)).collect();
        let markers: Vec<Marker<'_>> = names
            .iter()
            .enumerate()
            .map(|(at, name)| marker((50, 20 + 20 * at as i32), name, at as f64))
            .collect();
        let labels = point_labels(FRAME, &markers, &[]);
        let named: Vec<usize> = (0..12).filter(|&at| labels[at].is_some()).collect();
        assert_eq!(named, [1, 3, 5, 7, 9, 11]);
        let distinct: Vec<String> = (0..12).map(|at| format!("op{at}")).collect();
        let markers: Vec<Marker<'_>> = distinct
            .iter()
            .enumerate()
            .map(|(at, name)| marker((50, 20 + 20 * at as i32), name, at as f64))
            .collect();
        assert_eq!(point_labels(FRAME, &markers, &[]).iter().flatten().count(), LABELS);
    }
}
