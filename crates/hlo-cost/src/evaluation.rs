//! Works out what an instruction costs, with the computations that it calls.

use std::collections::HashMap;

use perf_models::{ComputeSpec, Undefined, finite};

use crate::backend_config::BackendConfig;
use crate::contraction::{self, convolution, dot};
use crate::kind::{is_arithmetic, is_collective, is_elementwise};
use crate::work::Work;
use crate::{ElementType, HloCost, HloKind, HloModule, InstructionRef, attention, bytes};

/// Computations that call each other deeper than this are not followed.
const DEEPEST: usize = 64;

impl InstructionRef<'_> {
    /// What the instruction costs, with all that it calls.
    ///
    /// The end of an asynchronous operation has no cost of its own: its start has it.
    #[must_use]
    pub fn cost(self) -> HloCost {
        if self.opcode.ends_with("-done") || self.opcode.ends_with("-update") {
            let start = self.async_start();
            let kind = match start {
                Some(start) => start.cost().kind,
                None => HloKind::from_opcode(&self).unwrap_or(HloKind::Other),
            };
            let name = start.map_or("its start", |start| start.instruction().name.as_str());
            return HloCost::undefined(
                kind,
                Undefined::no_formula(format!("waits for {name}, which carries the cost")),
            );
        }
        if let Some(attention) = attention::model(self) {
            return attention::cost(self, attention);
        }
        let mut cost = Evaluation::new(self.module()).of(self).into_cost(self);
        cost.flops = cost.flops.and_then(finite);
        cost.bytes = cost.bytes.and_then(finite);
        cost
    }
}

impl Work {
    fn into_cost(self, of: InstructionRef<'_>) -> HloCost {
        let kind = HloKind::from_opcode(&of).unwrap_or_else(|| self.kind(&of.opcode));
        let vector_flops = self.vector.iter().map(|(_, operations)| operations).sum();
        let main = self.vector.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(element, _)| *element);
        let (flops, spec): (f64, Option<ComputeSpec>) = match &self.largest {
            Some(contraction) => (self.matrix_flops, contraction.spec),
            None => (vector_flops, main.and_then(ElementType::vector_spec)),
        };
        let flops = match self.gap {
            Some(reason) => Err(reason),
            None if kind == HloKind::Communication => {
                Err(Undefined::no_formula("communication has no arithmetic peak"))
            }
            None => Ok(flops + self.stated_flops.unwrap_or(0.0)),
        };
        HloCost {
            kind,
            flops,
            vector_flops,
            bytes: self.bytes,
            spec,
            parameters: self.largest.map(|contraction| contraction.parameters).unwrap_or_default(),
            assumption: self.assumption,
        }
    }

    /// The kind of what calls this work.
    fn kind(&self, opcode: &str) -> HloKind {
        match &self.largest {
            Some(contraction) => contraction.kind,
            None if self.communicates => HloKind::Communication,
            None if self.reduces => HloKind::Reduction,
            None if self.changes_elements => HloKind::Elementwise,
            None if opcode == "fusion" => HloKind::DataMovement,
            None => HloKind::ControlFlow,
        }
    }
}

/// Evaluates a module, each computation once however many instructions call it.
struct Evaluation<'m> {
    module: &'m HloModule,
    known: HashMap<i64, Work>,
    open: Vec<i64>,
}

impl<'m> Evaluation<'m> {
    fn new(module: &'m HloModule) -> Self {
        Self { module, known: HashMap::new(), open: Vec::new() }
    }

    fn of(&mut self, instruction: InstructionRef<'m>) -> Work {
        let mut work = self.operations(instruction);
        let calls_unfused = matches!(instruction.opcode.as_str(), "call" | "while" | "conditional")
            || (instruction.opcode == "async-start" && !instruction.called_computations.is_empty());
        if !calls_unfused {
            work.bytes = bytes::of(instruction);
        }
        work
    }

    fn operations(&mut self, instruction: InstructionRef<'m>) -> Work {
        let opcode = instruction.opcode.as_str();
        let mut work = match opcode {
            "dot" | "scaled-dot" | "ragged-dot" => Work::from_contraction(dot(instruction)),
            "convolution" => Work::from_contraction(convolution(instruction)),
            "custom-call" => contraction::custom_call(instruction),
            "fusion" | "call" | "async-start" => self.computations_work(&instruction.called_computations),
            "while" => self.loop_work(instruction),
            "conditional" => self.branches_work(instruction),
            "reduce" | "reduce-window" | "map" | "scatter" | "select-and-scatter" => {
                self.applications_work(instruction)
            }
            "fft"
            | "cholesky"
            | "triangular-solve"
            | "batch-norm-training"
            | "batch-norm-inference"
            | "batch-norm-grad" => Work::unknown(Undefined::no_formula(format!("no formula for {opcode}"))),
            _ if is_arithmetic(opcode) => elementwise(instruction),
            _ => Work::default(),
        };
        work.changes_elements |= is_elementwise(opcode);
        work.communicates |= is_collective(opcode);
        work
    }

    fn computations_work(&mut self, ids: &[i64]) -> Work {
        let mut sum = Work::default();
        for &id in ids {
            sum.add(&self.computation_work(id));
        }
        sum
    }

    fn computation_work(&mut self, id: i64) -> Work {
        if let Some(work) = self.known.get(&id) {
            return work.clone();
        }
        let Some(instructions) = self.module.instructions_of(id) else {
            return Work::unknown(Undefined::arguments(format!("the program lacks computation {id}")));
        };
        if self.open.contains(&id) || self.open.len() >= DEEPEST {
            return Work::unknown(Undefined::arguments("computations call each other too deeply"));
        }
        self.open.push(id);
        let mut sum = Work::default();
        for instruction in instructions {
            sum.add(&self.of(instruction));
        }
        self.open.pop();
        self.known.insert(id, sum.clone());
        sum
    }

    /// A loop does the work of its iterations, if the compiler knows how many there are.
    fn loop_work(&mut self, instruction: InstructionRef<'m>) -> Work {
        let rounds = BackendConfig::read(&instruction.backend_config).number("/known_trip_count/n");
        let once = self.computations_work(&instruction.called_computations);
        match rounds.filter(|rounds| *rounds >= 0.0) {
            Some(rounds) => once.times(rounds),
            None => {
                let reason = Undefined::arguments("the loop's trip count is unknown");
                Work { bytes: Err(reason.clone()), gap: Some(reason), ..once }
            }
        }
    }

    /// One of the branches runs: known where all are alike.
    fn branches_work(&mut self, instruction: InstructionRef<'m>) -> Work {
        let mut works = instruction.called_computations.iter().map(|&id| self.computation_work(id));
        let Some(first) = works.next() else { return Work::default() };
        let alike = |other: &Work| {
            (other.matrix_flops, &other.vector, &other.bytes, &other.gap)
                == (first.matrix_flops, &first.vector, &first.bytes, &first.gap)
        };
        if works.all(|other| alike(&other)) {
            return first;
        }
        let reason = Undefined::arguments("the branch taken is unknown");
        Work { bytes: Err(reason.clone()), gap: Some(reason), ..first }
    }

    /// Instructions that apply a computation on scalars many times.
    fn applications_work(&mut self, instruction: InstructionRef<'m>) -> Work {
        let result = instruction.shape.elements();
        let elements_of =
            |operand: usize| instruction.operand(operand).map_or(0.0, |operand| operand.shape.elements());
        let window = || {
            let dimensions = instruction.window.iter().flat_map(|window| &window.dimensions);
            dimensions.map(|dimension| dimension.size.max(0) as f64).product::<f64>()
        };
        // A reduction of several arrays side by side combines their elements together.
        let arrays = instruction.shape.arrays().len().max(1) as f64;
        let applications = match instruction.opcode.as_str() {
            "map" => result,
            "reduce" => elements_of(0) - result / arrays,
            "reduce-window" => result / arrays * (window() - 1.0),
            "scatter" => elements_of(instruction.operands.len().saturating_sub(1)),
            // Every element of the source is compared with its window, then added to what is chosen.
            _ => elements_of(1) * window(),
        };
        let mut work = self.computations_work(&instruction.called_computations).times(applications.max(0.0));
        work.reduces |= !matches!(instruction.opcode.as_str(), "map" | "scatter");
        work
    }
}

/// An operation for each element of the result; on complex numbers the operations on their parts.
fn elementwise(instruction: InstructionRef<'_>) -> Work {
    let mut work = Work::default();
    if let Some(array) = instruction.shape.as_array() {
        let operations = match (array.element_type.is_complex(), instruction.opcode.as_str()) {
            (false, _) => 1.0,
            (true, "multiply") => 6.0,
            (true, _) => 2.0,
        };
        work.add_vector(array.element_type, operations * array.elements());
    }
    work
}
