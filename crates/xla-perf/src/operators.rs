//! The instructions that kernels were launched for.

use hashbrown::HashMap;
use perf_models::ComputeSpec;
use perf_models::hlo::InstructionRef;
use trace_ingest::xplane::Profile;
use trace_ingest::{Category as EventCategory, EventId, StringId};

use super::device_events::{DeviceEvent, is_copy_kernel};
use super::kernel_category::KernelCategory;
use super::operator_category::{of_kernel, of_kind};
use super::options::{CopyKernels, JaxOptions};
use super::programs::{ConvertedPrograms, innermost};
use super::record::Record;
use operator_sheets::Evaluated;
use operator_sheets::OpCategory;

/// What kernels were launched for: an HLO instruction of a program; for what no instruction launched, kernels, copies
/// and fills of one name.
#[derive(Clone, Debug)]
pub struct Operator {
    /// Name of the instruction, or of the kernel.
    pub name: String,
    /// Its program, as far as the profile says.
    pub program: Option<Program>,
    /// Its first event.
    pub first: EventId,
    /// Kind of its work.
    pub category: OpCategory,
    /// Kind of its kernels by their names, of the first that has one.
    pub kernel_category: Option<KernelCategory>,
    /// Whether an execution of the program runs it once: it is in the entry computation, not in a loop.
    pub runs_once: bool,
    /// What the HLO says of it; `None` where the profile does not embed the instruction.
    pub record: Option<Record>,
    /// Work of one call; `None` where there is no instruction.
    pub(crate) work: Option<Evaluated>,
}

/// A program that kernels name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Program {
    /// Its id; `None` where the kernels do not say and no embedded module can be told by name.
    pub id: Option<u64>,
    /// Name of its module.
    pub module: Option<StringId>,
}

impl Operator {
    /// Peak that the work is held against.
    pub(crate) fn spec(&self) -> Option<ComputeSpec> {
        self.work.as_ref()?.spec
    }

    /// What the figures assume, or why there are none.
    pub(crate) fn note(&self) -> Option<String> {
        let work = self.work.as_ref()?;
        let missing = [&work.forward.flops, &work.forward.bytes];
        let missing = missing.into_iter().find_map(|figure| figure.as_ref().err()).map(ToString::to_string);
        missing.or_else(|| work.assumption.clone())
    }
}

/// What tells operators apart.
type Key = (Option<Program>, StringId, EventCategory);

/// Gives every device event its operator, and returns these in the order of their first event.
pub(super) fn assign(
    profile: &Profile,
    programs: &ConvertedPrograms,
    options: &JaxOptions,
    device_events: &mut [DeviceEvent],
) -> Vec<Operator> {
    let mut known: HashMap<Key, usize> = HashMap::new();
    let mut operators: Vec<Operator> = Vec::new();
    for device_event in device_events {
        let event = device_event.event;
        let kernel = profile.trace.events().name(event);
        let call = profile.xla(event);
        let program = call.and_then(|call| {
            let program = Program { id: programs.program_of(profile, call), module: call.hlo_module };
            (program != Program { id: None, module: None }).then_some(program)
        });
        let hlo_op = call.and_then(|call| call.hlo_op);
        let copies =
            options.copy_kernels == CopyKernels::Memcpy && is_copy_kernel(profile.trace.text(kernel));
        let category = match copies {
            true => EventCategory::GPU_MEMCPY,
            false => profile.trace.events().category(event),
        };
        let operator = *known.entry((program, hlo_op.unwrap_or(kernel), category)).or_insert_with(|| {
            let name = hlo_op.map_or(profile.trace.text(kernel), |op| innermost(profile.trace.text(op)));
            let instruction = call.and_then(|call| programs.instruction(profile, call));
            let cost = instruction.map(InstructionRef::cost);
            let category = match &cost {
                Some(cost) => of_kind(cost.kind),
                None => of_kernel(profile.trace.text(kernel), category, device_event.category),
            };
            operators.push(Operator {
                name: name.to_owned(),
                program,
                first: event,
                category,
                kernel_category: None,
                runs_once: instruction.is_none_or(is_in_entry),
                record: instruction.map(Record::of),
                work: cost.map(|cost| Evaluated::of(&cost)),
            });
            operators.len() - 1
        });
        device_event.operator = operator;
        let kernel_category = &mut operators[operator].kernel_category;
        let named = device_event.category.filter(|&category| category != KernelCategory::Uncategorized);
        *kernel_category = kernel_category.or(named);
    }
    operators
}

fn is_in_entry(instruction: InstructionRef<'_>) -> bool {
    let entry = instruction.module().entry();
    entry.is_none_or(|entry| entry.id == instruction.computation().id)
}
