//! Notes on what a layout takes for granted.

use std::fmt;

use crate::{ComputeSpec, Figure, Parameter, PerfModel};

/// What a call does not record and its layout takes for granted, gathered while the call is read.
#[derive(Debug, Default)]
pub(crate) struct Assumptions(Vec<String>);

impl Assumptions {
    /// What was recorded; else `usual`, with a note that `what` is that.
    pub(crate) fn recorded_or<T: fmt::Display>(&mut self, recorded: Option<T>, what: &str, usual: T) -> T {
        recorded.unwrap_or_else(|| {
            self.0.push(format!("assumed {what} {usual}"));
            usual
        })
    }

    /// The model with the notes, if there are any.
    pub(crate) fn noted_on(self, model: impl PerfModel + 'static) -> Box<dyn PerfModel> {
        match self.0.is_empty() {
            true => Box::new(model),
            false => Box::new(Noted { model: Box::new(model), notes: self.0 }),
        }
    }
}

/// A model with notes of its layout before its own.
struct Noted {
    model: Box<dyn PerfModel>,
    notes: Vec<String>,
}

impl fmt::Debug for Noted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.model.fmt(f)
    }
}

impl PerfModel for Noted {
    fn flops(&self) -> Figure {
        self.model.flops()
    }

    fn bytes(&self) -> Figure {
        self.model.bytes()
    }

    fn backward_flops(&self) -> Figure {
        self.model.backward_flops()
    }

    fn backward_bytes(&self) -> Figure {
        self.model.backward_bytes()
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        self.model.compute_spec()
    }

    fn parameters(&self) -> Vec<Parameter> {
        self.model.parameters()
    }

    fn assumption(&self) -> Option<String> {
        Some(self.notes.iter().cloned().chain(self.model.assumption()).collect::<Vec<_>>().join("; "))
    }
}
