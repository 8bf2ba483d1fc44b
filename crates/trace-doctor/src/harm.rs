//! What a rule that fires does to figures of reports.

use sheets::Figure;

/// What a rule that fires does to figures of reports.
#[derive(Clone, Copy, Debug)]
pub enum Harm {
    /// Nothing.
    None,
    /// They are not to be relied on.
    Unreliable(&'static [Figure]),
    /// They are missing: columns are empty and sheets are left out.
    Missing(&'static [Figure]),
    /// Some are missing, and those that are left are not to be relied on.
    Partial(&'static [Figure]),
}

impl Harm {
    /// The figures.
    #[must_use]
    pub const fn figures(self) -> &'static [Figure] {
        match self {
            Harm::None => &[],
            Harm::Unreliable(figures) | Harm::Missing(figures) | Harm::Partial(figures) => figures,
        }
    }

    /// Whether figures that are there are not to be relied on.
    #[must_use]
    pub const fn makes_unreliable(self) -> bool {
        matches!(self, Harm::Unreliable(_) | Harm::Partial(_))
    }

    /// Whether it explains that figures are missing.
    #[must_use]
    pub const fn explains_absence(self) -> bool {
        matches!(self, Harm::Missing(_) | Harm::Partial(_))
    }
}
