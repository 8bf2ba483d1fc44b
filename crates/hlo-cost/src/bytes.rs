//! The bytes that an instruction moves at least: every input once, every output once.
//!
//! Instructions that touch a part of an operand count that part, as in XLA's `HloCostAnalysis`: a slice reads
//! what it returns, an update in place writes what it updates.

use std::collections::HashMap;

use perf_models::{Figure, Undefined};

use crate::kind::output_shape;
use crate::{ArrayShape, ElementType, InstructionRef, Shape};

/// The bytes of an instruction.
pub(crate) fn of(instruction: InstructionRef<'_>) -> Figure {
    let result = || instruction.shape.bytes();
    match instruction.opcode.as_str() {
        // They name values; nothing moves.
        "parameter"
        | "constant"
        | "tuple"
        | "get-tuple-element"
        | "bitcast"
        | "after-all"
        | "domain"
        | "add-dependency"
        | "partition-id"
        | "replica-id"
        | "opt-barrier"
        | "optimization-barrier" => Ok(0.0),
        "slice" => Ok(2.0 * result()?),
        "dynamic-slice" | "gather" => Ok(2.0 * result()? + operands_from(instruction, 1)?),
        "dynamic-update-slice" => Ok(operand(instruction, 1)? + operands_from(instruction, 1)?),
        "scatter" => scatter(instruction),
        "copy-start" => Ok(2.0 * first_part(instruction)?),
        "fusion" => fusion(instruction),
        "custom-call" => Ok(operands_from(instruction, 0)? + result()? - workspace(instruction)),
        opcode if opcode.ends_with("-start") => Ok(operands_from(instruction, 0)? + outputs(instruction)?),
        _ => Ok(operands_from(instruction, 0)? + result()?),
    }
}

fn operand(of: InstructionRef<'_>, index: usize) -> Figure {
    match of.operand(index) {
        Some(operand) => operand.shape.bytes(),
        None => Err(Undefined::arguments(format!("the program lacks operand {index}"))),
    }
}

/// Bytes of the operands from `first` on, each once however often it is passed.
fn operands_from(of: InstructionRef<'_>, first: usize) -> Figure {
    let ids = &of.instruction().operands;
    let mut sum = 0.0;
    for index in first..ids.len() {
        if !ids[first..index].contains(&ids[index]) {
            sum += operand(of, index)?;
        }
    }
    Ok(sum)
}

/// Updates and indices are read, the rows that they go to read and written.
fn scatter(of: InstructionRef<'_>) -> Figure {
    let arrays = of.operands.len() / 2;
    let updates: f64 = (arrays + 1..of.operands.len()).map(|index| operand(of, index)).sum::<Figure>()?;
    Ok(3.0 * updates + operand(of, arrays)?)
}

fn first_part(of: InstructionRef<'_>) -> Figure {
    of.shape.parts().first().map_or(Ok(0.0), Shape::bytes)
}

/// Of the value of a start: `(operands, results, context...)`, or the results alone.
fn outputs(of: InstructionRef<'_>) -> Figure {
    output_shape(of.instruction()).bytes()
}

/// The last result of a call of a library is the memory that it may use meanwhile.
fn workspace(of: InstructionRef<'_>) -> f64 {
    let library = ["__cublas$", "__cudnn$"].iter().any(|prefix| of.custom_call_target.starts_with(prefix));
    match of.shape.parts() {
        [_, .., last] if library => {
            let bytes = last.as_array().filter(|array| {
                array.dimensions.len() == 1 && matches!(array.element_type, ElementType::S8 | ElementType::U8)
            });
            bytes.map_or(0.0, ArrayShape::elements)
        }
        _ => 0.0,
    }
}

/// Operands and results of a fusion, of those that it touches in parts only the parts.
fn fusion(of: InstructionRef<'_>) -> Figure {
    let Some(fused) = Fused::of(of) else {
        return Ok(operands_from(of, 0)? + of.shape.bytes()?);
    };
    // An operand that is passed twice is read once: as much as the parameter that needs most.
    let mut read: Vec<(i64, f64)> = Vec::new();
    for (index, &id) in of.instruction().operands.iter().enumerate() {
        let bytes = match fused.parameters.get(&(index as i64)) {
            Some(&parameter) => fused.bytes_read(parameter, operand(of, index)?)?,
            None => operand(of, index)?,
        };
        match read.iter_mut().find(|(known, _)| *known == id) {
            Some((_, most)) => *most = most.max(bytes),
            None => read.push((id, bytes)),
        }
    }
    Ok(read.iter().map(|(_, bytes)| bytes).sum::<f64>() + fused.bytes_written()?)
}

/// The computation of a fusion.
struct Fused<'m> {
    root: InstructionRef<'m>,
    parameters: HashMap<i64, InstructionRef<'m>>,
    users: HashMap<i64, Vec<InstructionRef<'m>>>,
}

impl<'m> Fused<'m> {
    fn of(fusion: InstructionRef<'m>) -> Option<Self> {
        let &[id] = &fusion.instruction().called_computations[..] else { return None };
        let module = fusion.module();
        let (mut parameters, mut users) = (HashMap::new(), HashMap::<i64, Vec<_>>::new());
        for instruction in module.instructions_of(id)? {
            if instruction.opcode == "parameter" {
                parameters.insert(instruction.parameter_number, instruction);
            }
            for &operand in &instruction.operands {
                users.entry(operand).or_default().push(instruction);
            }
        }
        Some(Self { root: module.root_of(id)?, parameters, users })
    }

    /// What is read of a parameter of `whole` bytes.
    fn bytes_read(&self, parameter: InstructionRef<'m>, whole: f64) -> Figure {
        let mut read = 0.0;
        let mut open = vec![parameter.id];
        // A damaged module may have rings.
        let mut seen = open.clone();
        while let Some(id) = open.pop() {
            for user in self.users.get(&id).map_or(&[][..], Vec::as_slice) {
                let is_source = user.operands.first() == Some(&id) && !user.operands[1..].contains(&id);
                match user.opcode.as_str() {
                    "bitcast" if self.root.id != user.id && !seen.contains(&user.id) => {
                        seen.push(user.id);
                        open.push(user.id);
                    }
                    "slice" | "dynamic-slice" | "gather" if is_source => read += user.shape.bytes()?,
                    "dynamic-update-slice" if is_source && self.is_result(user) => {}
                    _ => return Ok(whole),
                }
            }
        }
        Ok(f64::min(read, whole))
    }

    /// The results of the fusion.
    fn results(&self) -> Vec<InstructionRef<'m>> {
        let parts: Vec<_> =
            if self.root.opcode == "tuple" { self.root.operands().collect() } else { vec![self.root] };
        let behind_bitcasts = |mut of: InstructionRef<'m>| {
            for _ in 0..self.users.len() {
                match of.operand(0) {
                    Some(inner) if of.opcode == "bitcast" => of = inner,
                    _ => break,
                }
            }
            of
        };
        parts.into_iter().map(behind_bitcasts).collect()
    }

    fn is_result(&self, instruction: &InstructionRef<'m>) -> bool {
        self.results().iter().any(|result| result.id == instruction.id)
    }

    fn bytes_written(&self) -> Figure {
        let written = self.results().into_iter().map(|result| {
            let updates_parameter = result.opcode == "dynamic-update-slice";
            if updates_parameter { operand(result, 1) } else { result.shape.bytes() }
        });
        written.sum()
    }
}
