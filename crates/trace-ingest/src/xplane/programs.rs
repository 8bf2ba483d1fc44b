//! The HLO modules that a profile embeds: where they lie, and where their instructions come from. The crate `hlo-cost`
//! decodes a module as a whole.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use hashbrown::HashMap;

use crate::wire::{Message, Wire};

/// The decompressed file, which events, stats and modules are read from when they are asked for.
#[derive(Clone, Default)]
pub(crate) struct FileBytes(pub(crate) Arc<Vec<u8>>);

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for FileBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

/// An HLO module as the profile embeds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EncodedProgram<'a> {
    /// Its `xla.HloProto` message.
    pub bytes: &'a [u8],
    /// Where that begins in the decompressed file, in bytes.
    pub offset: u64,
}

/// HLO modules by program id, none of them decoded.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    pub(crate) bytes: FileBytes,
    programs: BTreeMap<u64, Program>,
}

#[derive(Clone, Debug)]
struct Program {
    name: String,
    span: Range<usize>,
}

impl Programs {
    pub(crate) fn new(bytes: FileBytes) -> Self {
        Programs { bytes, programs: BTreeMap::new() }
    }

    /// Adds a module; `title` is its name with the program id in parentheses. Most profilers also use the
    /// program id as the `key` of the entry, but JAX's CPU profiler counts entries there.
    pub(crate) fn add(&mut self, key: i64, title: &str, span: Range<usize>) {
        let (name, program_id) = match split_title(title) {
            Some((name, program_id)) => (name, program_id),
            None => (title, key as u64),
        };
        self.programs.insert(program_id, Program { name: name.to_string(), span });
    }

    /// The module of a program; `None` when the profile has none.
    pub fn encoded(&self, program_id: u64) -> Option<EncodedProgram<'_>> {
        let span = self.programs.get(&program_id)?.span.clone();
        let offset = span.start as u64;
        Some(EncodedProgram { bytes: &self.bytes[span], offset })
    }

    /// Name of a program's module, such as `jit_train_step`; nothing is decoded.
    pub fn name(&self, program_id: u64) -> Option<&str> {
        self.programs.get(&program_id).map(|program| program.name.as_str())
    }

    /// All program ids, ascending.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.programs.keys().copied()
    }

    /// Ids of the programs whose module has this name, ascending.
    pub fn find_by_name<'a>(&'a self, name: &'a str) -> impl Iterator<Item = u64> + 'a {
        self.programs.iter().filter(move |(_, program)| program.name == name).map(|(&id, _)| id)
    }

    /// Number of programs.
    pub fn len(&self) -> usize {
        self.programs.len()
    }

    /// Whether the profile embeds no module.
    pub fn is_empty(&self) -> bool {
        self.programs.is_empty()
    }
}

/// Module and program in a title such as `jit_f(9646411105960254074)`.
pub(crate) fn split_title(title: &str) -> Option<(&str, u64)> {
    let (name, id) = title.strip_suffix(')')?.rsplit_once('(')?;
    id.parse().ok().map(|id| (name, id))
}

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
            if let Some(program) = programs.encoded(program_id) {
                // Whoever decodes the module is told of the damage.
                let _ = read_module(program.bytes, &mut instructions);
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
