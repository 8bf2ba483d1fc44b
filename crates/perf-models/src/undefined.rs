use std::borrow::Cow;
use std::fmt;

/// Why an operator call has no FLOPs, no bytes, or no model at all.
///
/// The reason is for the reader of a report: it says what is missing, so that a figure that does not
/// exist can be told from one that was forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undefined {
    /// What kind of gap it is.
    pub gap: Gap,
    /// What is missing, as a clause: `Input Dims[1] is missing`.
    pub reason: Cow<'static, str>,
}

/// The kinds of gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// No model knows operators of this name.
    NoModel,
    /// The model does not cover this figure: there is no formula.
    NoFormula,
    /// The recorded arguments do not say what the formula needs.
    Arguments,
    /// The element type has no known size.
    DataType,
}

impl Undefined {
    /// There is no formula.
    pub fn no_formula(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { gap: Gap::NoFormula, reason: reason.into() }
    }

    /// The arguments do not say.
    pub fn arguments(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { gap: Gap::Arguments, reason: reason.into() }
    }

    /// The element type has no known size.
    pub fn data_type(name: &str) -> Self {
        Self { gap: Gap::DataType, reason: format!("element type {name:?} has no known size").into() }
    }
}

impl fmt::Display for Undefined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Undefined {}
