//! The model of a recorded call, with what its row shows beside the model's own answers.

use std::fmt;

use crate::tensor::finite;
use crate::{ComputeSpec, Figure, Parameter, PerfModel, Undefined};

/// What reading the model of a call gives.
pub(crate) type Read = Result<Recorded, Undefined>;

/// The model of a recorded call.
///
/// Its figures are numbers, whatever extents a call records: the product of enough of them leaves the range of
/// numbers.
pub(crate) struct Recorded {
    model: Box<dyn PerfModel>,
    /// In place of those of the model.
    parameters: Option<Vec<Parameter>>,
    /// Assumptions of the layout, before those of the model.
    notes: Vec<String>,
    backward: Backward,
    /// What TraceLens makes of the call, where that differs.
    tracelens: Option<Box<dyn PerfModel>>,
}

/// Where the backward pass of a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backward {
    /// Wherever the model says.
    AsModelled,
    /// The call is the backward pass of the model.
    ThisCall,
    /// Its matrix multiplications are calls of their own, which would count twice.
    OtherMultiplications,
}

impl Recorded {
    pub(crate) fn new(model: impl PerfModel + 'static) -> Self {
        Self {
            model: Box::new(model),
            parameters: None,
            notes: Vec::new(),
            backward: Backward::AsModelled,
            tracelens: None,
        }
    }

    pub(crate) fn with_parameters(self, parameters: Vec<Parameter>) -> Self {
        Self { parameters: Some(parameters), ..self }
    }

    pub(crate) fn with_notes(self, notes: impl IntoIterator<Item = String>) -> Self {
        Self { notes: notes.into_iter().collect(), ..self }
    }

    /// One more, before the others.
    pub(crate) fn with_note(mut self, note: String) -> Self {
        self.notes.insert(0, note);
        self
    }

    pub(crate) fn with_backward(self, backward: Backward) -> Self {
        Self { backward, ..self }
    }

    pub(crate) fn with_tracelens(self, model: impl PerfModel + 'static) -> Self {
        Self { tracelens: Some(Box::new(model)), ..self }
    }

    /// As TraceLens has it, for reports that must equal its own. It notes nothing of what our figures rest on.
    pub(crate) fn into_tracelens(self) -> Self {
        match self.tracelens {
            Some(model) => Self { model, notes: Vec::new(), tracelens: None, ..self },
            None => self,
        }
    }

    fn backward(&self, figure: fn(&dyn PerfModel) -> Figure) -> Figure {
        match self.backward {
            Backward::AsModelled | Backward::ThisCall => finite(figure(&*self.model)?),
            Backward::OtherMultiplications => {
                Err(Undefined::no_formula("the backward pass has its own matrix multiplications"))
            }
        }
    }
}

impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.model.fmt(f)
    }
}

impl PerfModel for Recorded {
    fn flops(&self) -> Figure {
        match self.backward {
            Backward::ThisCall => self.backward_flops(),
            _ => finite(self.model.flops()?),
        }
    }

    fn bytes(&self) -> Figure {
        match self.backward {
            Backward::ThisCall => self.backward_bytes(),
            _ => finite(self.model.bytes()?),
        }
    }

    fn backward_flops(&self) -> Figure {
        self.backward(|model| model.backward_flops())
    }

    fn backward_bytes(&self) -> Figure {
        self.backward(|model| model.backward_bytes())
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        self.model.compute_spec()
    }

    fn parameters(&self) -> Vec<Parameter> {
        self.parameters.clone().unwrap_or_else(|| self.model.parameters())
    }

    fn assumption(&self) -> Option<String> {
        let notes: Vec<String> = self.notes.iter().cloned().chain(self.model.assumption()).collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }
}

/// A model with the bytes and the peak that TraceLens gives it.
#[derive(Debug)]
pub(crate) struct AsTraceLens<M> {
    pub(crate) model: M,
    pub(crate) bytes: Figure,
    pub(crate) backward_bytes: Figure,
    pub(crate) spec: Option<ComputeSpec>,
}

impl<M: PerfModel> AsTraceLens<M> {
    pub(crate) fn new(model: M) -> Self {
        let (bytes, backward_bytes) = (model.bytes(), model.backward_bytes());
        Self { bytes, backward_bytes, spec: model.compute_spec(), model }
    }
}

impl<M: PerfModel> PerfModel for AsTraceLens<M> {
    fn flops(&self) -> Figure {
        self.model.flops()
    }

    fn bytes(&self) -> Figure {
        self.bytes.clone()
    }

    fn backward_flops(&self) -> Figure {
        self.model.backward_flops()
    }

    fn backward_bytes(&self) -> Figure {
        self.backward_bytes.clone()
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        self.spec
    }

    fn parameters(&self) -> Vec<Parameter> {
        self.model.parameters()
    }

    fn assumption(&self) -> Option<String> {
        self.model.assumption()
    }
}

/// What a call does not record and its layout takes for granted, gathered while the call is read.
#[derive(Debug, Default)]
pub(crate) struct Assumptions(pub(crate) Vec<String>);

impl Assumptions {
    /// What was recorded; else `usual`, with a note that `what` is that.
    pub(crate) fn recorded_or<T: fmt::Display>(&mut self, recorded: Option<T>, what: &str, usual: T) -> T {
        recorded.unwrap_or_else(|| {
            self.0.push(format!("assumed {what} {usual}"));
            usual
        })
    }
}
