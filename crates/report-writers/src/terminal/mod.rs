//! Compact text for a terminal: tables and stacked bars.
//!
//! Everything here is a function from data to text. Whether colour and Unicode are wanted, and
//! how wide the terminal is, the caller finds out and says in a [`Style`].
//!
//! ```
//! use report_writers::terminal::{Color, Segment, Style, bar};
//!
//! let style = Style { width: 20, colored: false, unicode: true };
//! let parts = [
//!     Segment { label: "computation", fraction: 0.9, color: Color::Green },
//!     Segment { label: "idle", fraction: 0.1, color: Color::Red },
//! ];
//! assert_eq!(bar(&parts, style), "██████████████████▓▓\n█ computation 90.0%\n▓ idle 10.0%\n");
//! ```

mod bar;
mod style;
mod table;
mod truncate;

pub use bar::{Segment, bar};
pub use style::{Color, Style};
pub use table::{Alignment, TextColumn, table};
pub use truncate::truncate_middle;
