//! Time stacked up as SVG: a bar per device, made of segments by kind, the kinds of one category together.
//!
//! A segment of at least 2 % of its bar says what it is; smaller ones are counted below the picture. With
//! [`Arrangement::ByTime`] segments are in the order of their time alone.
//!
//! ```
//! use report_writers::stacked_time::{Arrangement, StackedBar, StackedSegment, StackedTime};
//!
//! let segment = |name: &str, category: usize, time_us: f64| StackedSegment {
//!     name: name.into(),
//!     category,
//!     time_us,
//!     details: vec![],
//! };
//! let picture = StackedTime {
//!     title: "where the time goes".into(),
//!     categories: vec!["Compute".into(), "TM".into()],
//!     bars: vec![StackedBar {
//!         name: String::new(),
//!         segments: vec![segment("Matmul", 0, 750.0), segment("Transpose", 1, 250.0)],
//!     }],
//!     arrangement: Arrangement::ByCategory,
//!     footnote: String::new(),
//! };
//! let svg = picture.to_svg()?;
//! assert!(svg.contains("75.0 %") && svg.contains("Transpose"));
//! # Ok::<(), report_writers::DrawError>(())
//! ```

mod drawing;
mod layout;

use crate::picture::DrawError;

/// Time of one or more devices by what it was spent on.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StackedTime {
    /// Heading.
    pub title: String,
    /// Categories of segments, from the bottom up; they have a colour each, six at most before colours begin again.
    pub categories: Vec<String>,
    /// The bars, from the left.
    pub bars: Vec<StackedBar>,
    /// Order of the segments.
    pub arrangement: Arrangement,
    /// Line at the bottom. May be empty.
    pub footnote: String,
}

/// Order of the segments of a bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arrangement {
    /// By category, the longest of each at the bottom.
    #[default]
    ByCategory,
    /// The longest at the bottom, whatever its category.
    ByTime,
}

/// Time of a device.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StackedBar {
    /// Name below the bar; empty: none.
    pub name: String,
    /// What its time was spent on, in any order.
    pub segments: Vec<StackedSegment>,
}

/// What a part of the time was spent on.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StackedSegment {
    /// What it is.
    pub name: String,
    /// Index of its category.
    pub category: usize,
    /// Time in microseconds. Segments without time, or with a number that is none, are not drawn.
    pub time_us: f64,
    /// More lines for where there is room.
    pub details: Vec<String>,
}

impl StackedSegment {
    fn is_drawn(&self) -> bool {
        self.time_us.is_finite() && self.time_us > 0.0
    }
}

impl StackedBar {
    /// Time of all segments.
    fn total(&self) -> f64 {
        self.segments.iter().filter(|segment| segment.is_drawn()).map(|segment| segment.time_us).sum()
    }
}

impl StackedTime {
    /// The picture. The same time gives the same text.
    ///
    /// # Errors
    ///
    /// When a segment has a category that is not among the categories.
    pub fn to_svg(&self) -> Result<String, DrawError> {
        let categories = self.categories.len();
        let mut segments = self.bars.iter().flat_map(|bar| &bar.segments);
        if let Some(segment) = segments.find(|segment| segment.category >= categories) {
            return Err(DrawError(format!(
                "{:?} has category number {}, but there are {categories}, counted from 0",
                segment.name, segment.category
            )));
        }
        drawing::draw(self)
    }
}

#[cfg(test)]
mod tests;
