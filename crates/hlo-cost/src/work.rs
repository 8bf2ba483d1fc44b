//! The work of instructions and computations, and its sum.

use perf_models::{ComputeSpec, Parameter, Undefined};

use crate::{ElementType, HloKind};

/// A matrix multiplication or a convolution.
#[derive(Clone, Debug)]
pub(crate) struct Contraction {
    pub(crate) kind: HloKind,
    /// Floating-point operations; a multiply-add is two.
    pub(crate) flops: f64,
    pub(crate) spec: Option<ComputeSpec>,
    pub(crate) parameters: Vec<Parameter>,
}

/// Work of an instruction or a computation.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    /// The matrix multiplication or convolution with the most operations.
    pub(crate) largest: Option<Contraction>,
    /// Operations of all matrix multiplications and convolutions.
    pub(crate) matrix_flops: f64,
    /// Operations that the author of a kernel states.
    pub(crate) stated_flops: Option<f64>,
    /// Operations of the ordinary arithmetic units, by the type of element.
    pub(crate) vector: Vec<(ElementType, f64)>,
    /// Whether elements are combined with each other.
    pub(crate) reduces: bool,
    pub(crate) changes_elements: bool,
    /// Whether other devices take part.
    pub(crate) communicates: bool,
    /// Why the operations are unknown.
    pub(crate) gap: Option<Undefined>,
    /// Bytes moved, each instruction by itself.
    pub(crate) bytes: Result<f64, Undefined>,
    /// What was taken for granted.
    pub(crate) assumption: Option<String>,
}

impl Default for Work {
    fn default() -> Self {
        Self {
            largest: None,
            matrix_flops: 0.0,
            stated_flops: None,
            vector: Vec::new(),
            reduces: false,
            changes_elements: false,
            communicates: false,
            gap: None,
            bytes: Ok(0.0),
            assumption: None,
        }
    }
}

impl Work {
    pub(crate) fn unknown(reason: Undefined) -> Self {
        Self { gap: Some(reason), ..Self::default() }
    }

    pub(crate) fn from_contraction(found: Result<Contraction, Undefined>) -> Self {
        match found {
            Ok(contraction) => {
                Self { matrix_flops: contraction.flops, largest: Some(contraction), ..Self::default() }
            }
            Err(reason) => Self::unknown(reason),
        }
    }

    pub(crate) fn add_vector(&mut self, element: ElementType, operations: f64) {
        if !element.is_floating_point() || operations <= 0.0 {
            return;
        }
        match self.vector.iter_mut().find(|(known, _)| *known == element) {
            Some((_, sum)) => *sum += operations,
            None => self.vector.push((element, operations)),
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        let flops = |of: &Option<Contraction>| of.as_ref().map_or(-1.0, |contraction| contraction.flops);
        if flops(&other.largest) > flops(&self.largest) {
            self.largest.clone_from(&other.largest);
        }
        self.matrix_flops += other.matrix_flops;
        if let Some(stated) = other.stated_flops {
            self.stated_flops = Some(stated + self.stated_flops.unwrap_or(0.0));
        }
        for &(element, operations) in &other.vector {
            self.add_vector(element, operations);
        }
        self.reduces |= other.reduces;
        self.changes_elements |= other.changes_elements;
        self.communicates |= other.communicates;
        if self.gap.is_none() {
            self.gap.clone_from(&other.gap);
        }
        self.bytes = match (&self.bytes, &other.bytes) {
            (Ok(sum), Ok(bytes)) => Ok(sum + bytes),
            (Err(reason), _) | (_, Err(reason)) => Err(reason.clone()),
        };
        if self.assumption.is_none() {
            self.assumption.clone_from(&other.assumption);
        }
    }

    /// The work done several times over.
    pub(crate) fn times(mut self, count: f64) -> Self {
        self.matrix_flops = product(self.matrix_flops, count);
        self.stated_flops = self.stated_flops.map(|stated| product(stated, count));
        for (_, operations) in &mut self.vector {
            *operations = product(*operations, count);
        }
        self.bytes = self.bytes.map(|bytes| product(bytes, count));
        self
    }
}

/// A product that is 0 where a factor is, even if the other one is infinite.
fn product(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}
