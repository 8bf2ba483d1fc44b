//! What a model says of a call, kept.

use perf_models::{ComputeSpec, Family, Figure, Parameter, PerfModel, Undefined};

use crate::analysis_extension::ExtensionModel;
use crate::op_category::OpCategory;

/// What a model says of a call, or why there is none.
pub(crate) type Evaluation = Result<Evaluated, Undefined>;

/// The answers of a model, kept.
#[derive(Clone, Debug)]
pub(crate) struct Evaluated {
    pub(crate) forward: Work,
    pub(crate) backward: Work,
    pub(crate) spec: Option<ComputeSpec>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) assumption: Option<String>,
    /// Where an extension's model gave the answers: what it says of the call beside figures.
    pub(crate) by_extension: Option<Classified>,
}

/// What kind of call an extension's model takes a call for.
#[derive(Clone, Debug)]
pub(crate) struct Classified {
    pub(crate) category: OpCategory,
    pub(crate) family: Option<Family>,
}

/// FLOPs and bytes of one direction.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) flops: Figure,
    pub(crate) bytes: Figure,
}

impl Evaluated {
    pub(crate) fn of(model: &dyn PerfModel) -> Self {
        Evaluated {
            forward: Work { flops: model.flops(), bytes: model.bytes() },
            backward: Work { flops: model.backward_flops(), bytes: model.backward_bytes() },
            spec: model.compute_spec(),
            parameters: model.parameters(),
            assumption: model.assumption(),
            by_extension: None,
        }
    }

    pub(super) fn by_extension(answer: ExtensionModel) -> Self {
        let category = OpCategory::named(&answer.category);
        let classified = Classified { category, family: answer.family };
        Evaluated { by_extension: Some(classified), ..Evaluated::of(&*answer.model) }
    }
}
