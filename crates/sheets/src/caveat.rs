//! Why figures of a table are missing or cannot be relied on.

use std::borrow::Cow;

use gpu_timeline::Spread;

/// What a reader has to know of a table or of single columns before relying on them. It is found in the recording, where a
/// description holds for every report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caveat {
    /// For a line below a printed table, such as `unreliable (W2): kernel times are too small`.
    pub brief: String,
    /// The evidence and, where there is one, the remedy: whole sentences.
    pub text: String,
}

/// Why a cell is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absence {
    /// The kind of reason.
    pub code: AbsenceCode,
    /// What is missing, as a clause.
    pub reason: Cow<'static, str>,
}

impl Absence {
    /// Why values have no deviation; `None` where there are none at all.
    #[must_use]
    pub fn of_deviation(spread: &Spread) -> Option<Self> {
        let reason = Cow::Borrowed("one value has no deviation");
        spread.mean.map(|_| Absence { code: AbsenceCode::Undefined, reason })
    }
}

/// The kinds of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbsenceCode {
    /// No model knows the operator.
    NoModel,
    /// The model has no formula for the figure.
    NoFormula,
    /// The recorded arguments do not say what the formula needs.
    Arguments,
    /// The element type has no known size.
    DataType,
    /// The figure has no meaning for so few values.
    Undefined,
}

impl AbsenceCode {
    /// As documents for programs have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            AbsenceCode::NoModel => "no-model",
            AbsenceCode::NoFormula => "no-formula",
            AbsenceCode::Arguments => "arguments",
            AbsenceCode::DataType => "data-type",
            AbsenceCode::Undefined => "undefined",
        }
    }
}
