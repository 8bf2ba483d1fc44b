//! What a model says of a call, kept.

use operator_sheets::{Classified, Evaluated, OpCategory};
use perf_models::Undefined;

use crate::analysis_extension::ExtensionModel;

/// What a model says of a call, or why there is none.
pub(crate) type Evaluation = Result<Evaluated, Undefined>;

/// The answers of an extension's model.
pub(super) fn by_extension(answer: ExtensionModel) -> Evaluated {
    let category = OpCategory::named(&answer.category);
    let classified = Classified { category, family: answer.family };
    Evaluated { by_extension: Some(classified), ..Evaluated::of(&*answer.model) }
}
