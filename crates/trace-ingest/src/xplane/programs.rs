//! The HLO modules that a profile embeds.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

use prost::Message as _;

use super::hlo::{HloModuleProto, HloProto};
use super::profile::FileBytes;

/// Why an embedded module cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the HLO module of program {program_id} (at byte {offset}) cannot be decoded: {detail}")]
pub struct ProgramError {
    /// The program.
    pub program_id: u64,
    /// Where its message lies in the decompressed file.
    pub offset: u64,
    /// What is wrong with it.
    pub detail: String,
}

/// HLO modules by program id, each decoded when it is first asked for.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    pub(crate) bytes: FileBytes,
    programs: BTreeMap<u64, Program>,
}

#[derive(Clone, Debug)]
struct Program {
    name: String,
    span: Range<usize>,
    module: OnceLock<Result<HloModuleProto, ProgramError>>,
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
        self.programs.insert(program_id, Program { name: name.to_string(), span, module: OnceLock::new() });
    }

    /// The module of a program: `None` when the profile has none, an error when it is damaged.
    pub fn module(&self, program_id: u64) -> Option<Result<&HloModuleProto, &ProgramError>> {
        let program = self.programs.get(&program_id)?;
        let module = program.module.get_or_init(|| {
            let refused =
                |detail: String| ProgramError { program_id, offset: program.span.start as u64, detail };
            let proto =
                HloProto::decode(self.encoded(program)).map_err(|error| refused(error.to_string()))?;
            proto.hlo_module.ok_or_else(|| refused("it holds no module".to_string()))
        });
        Some(module.as_ref())
    }

    /// The message of a program as the file has it.
    pub(crate) fn proto(&self, program_id: u64) -> Option<&[u8]> {
        self.programs.get(&program_id).map(|program| self.encoded(program))
    }

    fn encoded(&self, program: &Program) -> &[u8] {
        &self.bytes[program.span.clone()]
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
