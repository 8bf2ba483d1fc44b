//! Instructions of embedded modules by name, without decoding the modules.

use hashbrown::HashMap;

use super::programs::Programs;
use crate::wire::{Message, Wire};

/// Where an instruction comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct InstructionSource {
    pub(crate) op_type: String,
    pub(crate) op_name: String,
    pub(crate) source_file: String,
    pub(crate) source_line: i64,
}

/// Sources of instructions, program by program as they are asked for.
#[derive(Default)]
pub(crate) struct InstructionIndex {
    programs: HashMap<u64, HashMap<String, InstructionSource>>,
}

impl InstructionIndex {
    /// The source of an instruction; `None` when the profile does not embed the module or the module has
    /// no such instruction. Of a damaged module, what comes before the damage is found.
    pub(crate) fn find(
        &mut self,
        programs: &Programs,
        program_id: Option<u64>,
        instruction: &str,
    ) -> Option<&InstructionSource> {
        let program_id = program_id?;
        let instructions = self.programs.entry(program_id).or_insert_with(|| {
            let mut instructions = HashMap::new();
            if let Some(proto) = programs.proto(program_id) {
                // The damage comes up again, as an error, when the module is asked for.
                let _ = read_module(proto, &mut instructions);
            }
            instructions
        });
        instructions.get(instruction)
    }
}

fn read_module(proto: &[u8], instructions: &mut HashMap<String, InstructionSource>) -> Wire<()> {
    let message = Message::new(proto, 0..proto.len(), "HloProto");
    each(message, 1, "HloModuleProto", &mut |module| {
        each(module, 3, "HloComputationProto", &mut |computation| {
            each(computation, 2, "HloInstructionProto", &mut |instruction| {
                read_instruction(instruction, instructions)
            })
        })
    })
}

/// Calls `visit` with every message that is a value of field `number`.
fn each<'a>(
    mut message: Message<'a>,
    number: u32,
    name: &'static str,
    visit: &mut dyn FnMut(Message<'a>) -> Wire<()>,
) -> Wire<()> {
    while let Some(field) = message.next_field()? {
        if field.number == number {
            visit(message.message(field, name)?)?;
        }
    }
    Ok(())
}

fn read_instruction(
    mut instruction: Message<'_>,
    instructions: &mut HashMap<String, InstructionSource>,
) -> Wire<()> {
    let (mut name, mut source) = (String::new(), InstructionSource::default());
    while let Some(field) = instruction.next_field()? {
        match field.number {
            1 => name = instruction.text(field)?.into_owned(),
            7 => {
                let mut metadata = instruction.message(field, "OpMetadata")?;
                while let Some(field) = metadata.next_field()? {
                    match field.number {
                        1 => source.op_type = metadata.text(field)?.into_owned(),
                        2 => source.op_name = metadata.text(field)?.into_owned(),
                        3 => source.source_file = metadata.text(field)?.into_owned(),
                        4 => source.source_line = metadata.signed(field)?,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    instructions.insert(name, source);
    Ok(())
}
