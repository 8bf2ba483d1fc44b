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
    /// A reason of a kind.
    #[must_use]
    pub const fn new(code: AbsenceCode, reason: &'static str) -> Self {
        Absence { code, reason: Cow::Borrowed(reason) }
    }

    /// Why values have no deviation; `None` where there are none at all.
    #[must_use]
    pub fn of_deviation(spread: &Spread) -> Option<Self> {
        spread.mean.map(|_| Absence::new(AbsenceCode::Undefined, "a single value has no standard deviation"))
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
    /// The figure cannot be computed from the values that there are: the deviation of one, a rate over no time.
    Undefined,
    /// The recording does not have it.
    NotRecorded,
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
            AbsenceCode::NotRecorded => "not-recorded",
        }
    }
}
