//! What the terminal can show.

/// What the caller found out about its terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether ANSI escape sequences may be used.
    pub colored: bool,
    /// Whether characters beyond ASCII may be used.
    pub unicode: bool,
}

/// The colours that every ANSI terminal has, in the user's own scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Color {
    /// Red.
    Red,
    /// Green.
    Green,
    /// Yellow.
    Yellow,
    /// Blue.
    Blue,
    /// Magenta.
    Magenta,
    /// Cyan.
    Cyan,
    /// Grey: bright black.
    Gray,
}

impl Color {
    /// The parameter of the "select graphic rendition" sequence (ECMA-48, SGR) for foreground.
    const fn sgr(self) -> &'static str {
        match self {
            Self::Red => "31",
            Self::Green => "32",
            Self::Yellow => "33",
            Self::Blue => "34",
            Self::Magenta => "35",
            Self::Cyan => "36",
            Self::Gray => "90",
        }
    }
}

impl Style {
    /// `text` in `color`, if colours may be used.
    #[must_use]
    pub fn paint(self, text: &str, color: Color) -> String {
        self.sequence(text, color.sgr())
    }

    /// `text` in bold, if escape sequences may be used.
    pub(super) fn bold(self, text: &str) -> String {
        self.sequence(text, "1")
    }

    fn sequence(self, text: &str, sgr: &str) -> String {
        if self.colored && !text.is_empty() {
            format!("\u{1b}[{sgr}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}
