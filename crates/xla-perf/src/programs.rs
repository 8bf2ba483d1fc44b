//! The compiled programs of a profile, decoded when they are first asked for.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use hlo_cost::{HloDecodeError, HloModule, InstructionRef};
use trace_ingest::EventId;
use trace_ingest::xplane::{Profile, XlaCall};

/// Why a program that a profile embeds cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the HLO module of program {program_id} (at byte {offset}) cannot be decoded: {cause}")]
pub(crate) struct ProgramError {
    program_id: u64,
    /// Where its message lies in the decompressed file.
    offset: u64,
    cause: HloDecodeError,
}

/// HLO modules by program id.
#[derive(Default)]
pub(crate) struct DecodedPrograms {
    modules: BTreeMap<u64, OnceLock<Result<HloModule, ProgramError>>>,
}

impl DecodedPrograms {
    pub(crate) fn new(profile: &Profile) -> Self {
        DecodedPrograms { modules: profile.programs.ids().map(|id| (id, OnceLock::new())).collect() }
    }

    /// The module of a program: `None` when the profile has none, an error when it is damaged.
    pub(crate) fn module(
        &self,
        profile: &Profile,
        program_id: u64,
    ) -> Option<Result<&HloModule, &ProgramError>> {
        let (cell, program) = (self.modules.get(&program_id)?, profile.programs.encoded(program_id)?);
        let decode = || {
            let refused = |cause| ProgramError { program_id, offset: program.offset, cause };
            HloModule::decode(program.bytes).map_err(refused)
        };
        Some(cell.get_or_init(decode).as_ref())
    }

    /// The program that an event belongs to: the one it names, or else the only one whose module has the name.
    pub(crate) fn program_of(&self, profile: &Profile, call: &XlaCall) -> Option<u64> {
        if let Some(id) = call.program_id.filter(|id| self.modules.contains_key(id)) {
            return Some(id);
        }
        let mut named_programs = profile.programs.find_by_name(profile.trace.text(call.hlo_module?));
        let only = named_programs.next()?;
        named_programs.next().is_none().then_some(only)
    }

    /// The instruction that an event ran: the innermost where calls nest. The kernels of a command buffer, which is a
    /// CUDA graph of several instructions, name the buffer; the name of the kernel tells the instruction.
    pub(crate) fn instruction(&self, profile: &Profile, event: EventId) -> Option<InstructionRef<'_>> {
        let call = profile.xla(event)?;
        let name = innermost(profile.trace.text(call.hlo_op?));
        let module = self.module(profile, self.program_of(profile, call)?)?.ok()?;
        match is_command_buffer(name) {
            true => module.instruction_of_kernel(profile.trace.name(event)),
            false => find(module, name),
        }
    }
}

/// Whether an event's `hlo_op` is no instruction but a command buffer of several.
pub(crate) fn is_command_buffer(hlo_op: &str) -> bool {
    hlo_op.starts_with("command_buffer")
}

/// The innermost instruction of nested calls, which profilers join by `::`.
pub(crate) fn innermost(hlo_op: &str) -> &str {
    hlo_op.rsplit_once("::").map_or(hlo_op, |(_, innermost)| innermost)
}

/// Collectives whose events some runtimes name after the plain collective, with a number of their own.
pub(crate) const RENAMED: [&str; 3] = ["all-to-all", "reduce-scatter", "all-gather"];

/// The instruction of this name. Of a collective that the module has under the name of its start, the start with
/// the same number, or else the only one.
fn find<'m>(module: &'m HloModule, name: &str) -> Option<InstructionRef<'m>> {
    module.instruction(name).or_else(|| {
        let family = RENAMED.into_iter().find(|family| name.starts_with(family))?;
        let suffix = &name[family.len()..];
        let started = module.instruction(&format!("{family}-start{suffix}"));
        let starts =
            || module.instructions().filter(|other| other.name.starts_with(&format!("{family}-start")));
        started.or_else(|| starts().next().filter(|_| starts().nth(1).is_none()))
    })
}
