//! The instructions that kernels were launched for, and what the HLO says of them.

use hlo_cost::{ArrayShape, HloKind, InstructionRef, OpMetadata, Shape};
use operator_sheets::{Evaluated, OpCategory, absence};
use perf_models::{ComputeSpec, Parameter, XlaKernel};
use sheets::{Absence, AbsenceCode, Nested};
use trace_ingest::xplane::Profile;
use trace_ingest::{Category as EventCategory, EventId, StringId};

use crate::IndexMap;
use crate::device_events::GpuEvent;
use crate::options::JaxOptions;
use crate::programs::{DecodedPrograms, innermost, is_command_buffer};

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
    pub kernel_category: Option<XlaKernel>,
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

    /// Parameters of the model of its work.
    pub fn parameters(&self) -> &[Parameter] {
        self.work.as_ref().map_or(&[], |work| &work.parameters)
    }

    /// Why FLOPs or bytes are missing.
    pub(crate) fn gap(&self) -> Option<Absence> {
        match &self.work {
            Some(work) => work.forward.undefined().cloned().map(absence),
            None => Some(Absence::new(
                AbsenceCode::NotRecorded,
                "the profile does not embed the instruction that ran",
            )),
        }
    }

    /// What the figures assume, or why there are none.
    pub(crate) fn note(&self) -> Option<String> {
        let work = self.work.as_ref()?;
        let missing = work.forward.undefined().map(ToString::to_string);
        missing.or_else(|| work.assumption.clone())
    }
}

/// The key of an operator.
type Key = (Option<Program>, StringId, EventCategory);

/// Gives every device event its operator, and returns these in the order of their first event.
pub(crate) fn assign(
    profile: &Profile,
    programs: &DecodedPrograms,
    options: &JaxOptions,
    device_events: &mut [GpuEvent],
) -> Vec<Operator> {
    let mut operators: IndexMap<Key, Operator> = IndexMap::default();
    for device_event in device_events {
        let event = device_event.event;
        let kernel = profile.trace.events().name(event);
        let call = profile.xla(event);
        let program = call.and_then(|call| {
            let program = Program { id: programs.program_of(profile, call), module: call.hlo_module };
            (program != Program { id: None, module: None }).then_some(program)
        });
        let hlo_op = call.and_then(|call| call.hlo_op);
        let named = hlo_op.map(|op| innermost(profile.trace.text(op)));
        // Of a command buffer, what each kernel ran is an operator, and the rest of the buffer is one.
        let buffer_instruction =
            named.filter(|name| is_command_buffer(name)).and_then(|_| programs.instruction(profile, event));
        let category = match options.counts_as_copy(profile.trace.text(kernel)) {
            true => EventCategory::GPU_MEMCPY,
            false => profile.trace.events().category(event),
        };
        let launched_for = hlo_op.filter(|_| buffer_instruction.is_none()).unwrap_or(kernel);
        let entry = operators.entry((program, launched_for, category));
        device_event.operator = entry.index();
        let operator = entry.or_insert_with(|| {
            let instruction = buffer_instruction.or_else(|| programs.instruction(profile, event));
            let name = buffer_instruction.map(|instruction| instruction.instruction().name.as_str());
            let name = name.or(named).unwrap_or(profile.trace.text(kernel));
            let cost = instruction.map(InstructionRef::cost);
            let category = match &cost {
                Some(cost) => op_category(cost.kind),
                None => {
                    category_without_instruction(profile.trace.text(kernel), category, device_event.category)
                }
            };
            Operator {
                name: name.to_owned(),
                program,
                first: event,
                category,
                kernel_category: None,
                runs_once: instruction.is_none_or(is_in_entry),
                record: instruction.map(Record::new),
                work: cost.map(|cost| Evaluated::new(&cost)),
            }
        });
        let named = device_event.category.filter(|&category| category != XlaKernel::Uncategorized);
        operator.kernel_category = operator.kernel_category.or(named);
    }
    operators.into_values().collect()
}

fn is_in_entry(instruction: InstructionRef<'_>) -> bool {
    let entry = instruction.module().entry();
    entry.is_none_or(|entry| entry.id == instruction.computation().id)
}

/// Kind of work of something that ran on a GPU, by its name and what the profiler says that it is.
fn category_without_instruction(name: &str, event: EventCategory, category: Option<XlaKernel>) -> OpCategory {
    let kind = match (event, category) {
        (EventCategory::GPU_MEMSET, _) => return OpCategory::named("memset"),
        _ if name.starts_with("__amd_rocclr_fillBuffer") => return OpCategory::named("memset"),
        (EventCategory::GPU_MEMCPY, _) => return OpCategory::named("memcpy"),
        _ if name.starts_with("__amd_rocclr_copyBuffer") => return OpCategory::named("memcpy"),
        (_, Some(XlaKernel::Gemm)) => HloKind::Gemm,
        (_, Some(XlaKernel::Convolution)) => HloKind::ConvForward,
        (_, Some(XlaKernel::AttentionForward | XlaKernel::AttentionV3)) => HloKind::AttentionForward,
        (_, Some(XlaKernel::AttentionBackward)) => HloKind::AttentionBackward,
        (_, Some(XlaKernel::Communication)) => HloKind::Communication,
        _ => HloKind::Other,
    };
    op_category(kind)
}

/// The category of this kind of instruction.
fn op_category(kind: HloKind) -> OpCategory {
    OpCategory::named(kind.as_str())
}

/// An instruction in texts and numbers.
#[derive(Clone, Debug)]
pub struct Record {
    /// Shapes of the operands: `bf16[4096,2048]{1,0}`.
    pub operands: Vec<String>,
    /// Shape of the result.
    pub output: String,
    /// What a custom call calls; empty for all others.
    pub custom_call_target: String,
    /// Path of the framework's operation: `jit(f)/jit(main)/dot_general`.
    pub op_name: String,
    /// Source file and line that the operation comes from; empty where the program does not say.
    pub source: String,
    /// Extents of the operands that are arrays of some rank, of tuples those of the first array.
    pub dims: Vec<Vec<u64>>,
    /// Element types of the same.
    pub types: Vec<String>,
    /// Distances of neighbours along each dimension of the same, in elements.
    pub strides: Vec<Vec<u64>>,
    /// Bytes of the operands that are arrays with dimensions.
    pub operand_bytes: f64,
}

impl Record {
    fn new(instruction: InstructionRef<'_>) -> Self {
        let arrays = operand_arrays(instruction);
        let plain = operand_shapes(instruction).filter_map(Shape::as_array);
        let sized = plain.filter(|array| !array.dimensions.is_empty());
        let metadata = &instruction.metadata;
        Record {
            operands: instruction.operand_texts(),
            output: instruction.shape.to_string(),
            custom_call_target: instruction.custom_call_target.clone(),
            op_name: metadata.op_name.clone(),
            source: stated_source(metadata),
            dims: arrays.iter().map(|array| array.dimensions.clone()).collect(),
            types: arrays.iter().map(|array| array.element_type.to_string()).collect(),
            strides: arrays.iter().map(|array| strides(array)).collect(),
            operand_bytes: sized.filter_map(|array| array.bytes().ok()).sum(),
        }
    }

    /// The operation and its source as reports show them; `None` where the program says neither.
    pub(crate) fn metadata(&self) -> Option<String> {
        let parts = [("op_name", &self.op_name), ("source", &self.source)];
        let said: Vec<String> = parts
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(key, text)| format!("{key}={text:?}"))
            .collect();
        (!said.is_empty()).then(|| said.join(" "))
    }

    /// Whether the operation or its source file has one of these texts.
    pub(crate) fn has_keyword(&self, keywords: &[String]) -> bool {
        keywords.iter().any(|keyword| self.op_name.contains(keyword) || self.source.contains(keyword))
    }
}

/// The source file and line that an instruction's metadata states; empty without a file.
pub(crate) fn stated_source(metadata: &OpMetadata) -> String {
    match (metadata.source_file.as_str(), metadata.source_line) {
        (file, 0) => file.to_owned(),
        ("", _) => String::new(),
        (file, line) => format!("{file}:{line}"),
    }
}

fn operand_shapes(instruction: InstructionRef<'_>) -> impl Iterator<Item = &Shape> {
    instruction.operands().map(|operand| &operand.instruction().shape)
}

/// Operands that are arrays of some rank, of tuples their first array. Scalars are no inputs that a reader would know an
/// operation by.
pub(crate) fn operand_arrays(instruction: InstructionRef<'_>) -> Vec<&ArrayShape> {
    operand_shapes(instruction).filter_map(first_array).collect()
}

fn first_array(shape: &Shape) -> Option<&ArrayShape> {
    shape.arrays().into_iter().find(|array| !array.dimensions.is_empty())
}

/// Distances of neighbours along each dimension, in elements, by the layout; row-major where there is none.
fn strides(array: &ArrayShape) -> Vec<u64> {
    let rank = array.dimensions.len();
    let mut strides = vec![0; rank];
    let mut distance = 1_u64;
    let row_major: Vec<i64> = (0..rank as i64).rev().collect();
    let order = array.layout.as_ref().map_or(&row_major, |layout| &layout.minor_to_major);
    for &dimension in order {
        let Some(at) = usize::try_from(dimension).ok().filter(|&at| at < rank) else { continue };
        strides[at] = distance;
        distance = distance.saturating_mul(array.dimensions[at]);
    }
    strides
}

pub(crate) fn text_tuple(texts: &[impl AsRef<str>]) -> Nested {
    Nested::Tuple(nested_texts(texts))
}

pub(crate) fn text_list(texts: impl IntoIterator<Item = impl AsRef<str>>) -> Nested {
    Nested::List(nested_texts(texts))
}

fn nested_texts(texts: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<Nested> {
    texts.into_iter().map(|text| Nested::Text(text.as_ref().to_owned())).collect()
}

/// Lists of numbers as a tuple of tuples.
pub(crate) fn number_tuples(lists: &[Vec<u64>]) -> Nested {
    Nested::Tuple(lists.iter().map(|list| number_tuple(list)).collect())
}

pub(crate) fn number_tuple(numbers: &[u64]) -> Nested {
    let whole = |&number: &u64| Nested::Whole(i64::try_from(number).unwrap_or(i64::MAX));
    Nested::Tuple(numbers.iter().map(whole).collect())
}

/// The name of an instruction without the numbers at its end: `fusion.12` and `fusion_3.clone.1` are instances.
pub(crate) fn stem(name: &str) -> &str {
    let mut stem = name;
    loop {
        let without_digits = stem.trim_end_matches(|c: char| c.is_ascii_digit());
        let shorter = match without_digits.strip_suffix(['.', '_']) {
            Some(before) if without_digits.len() < stem.len() => before,
            _ => stem.strip_suffix(".clone").unwrap_or(stem),
        };
        if shorter.is_empty() || shorter == stem {
            return stem;
        }
        stem = shorter;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hlo_cost::{ElementType, Layout};

    #[test]
    fn what_copies_is_told_by_its_name_or_the_profiler() {
        for (name, event, category, expected) in [
            ("MemcpyD2D", EventCategory::GPU_MEMCPY, None, "memcpy"),
            ("Memset", EventCategory::GPU_MEMSET, None, "memset"),
            ("__amd_rocclr_copyBuffer.kd", EventCategory::KERNEL, Some(XlaKernel::Uncategorized), "memcpy"),
            ("__amd_rocclr_fillBufferAligned", EventCategory::GPU_MEMCPY, None, "memset"),
            ("Cijk_Ailk", EventCategory::KERNEL, Some(XlaKernel::Gemm), "GEMM"),
            ("mine", EventCategory::KERNEL, Some(XlaKernel::Uncategorized), "other"),
        ] {
            assert_eq!(category_without_instruction(name, event, category).as_str(), expected, "{name}");
        }
    }

    #[test]
    fn strides_follow_the_layout() {
        let array = |dimensions: &[u64], layout: Option<&[i64]>| ArrayShape {
            element_type: ElementType::Bf16,
            dimensions: dimensions.to_vec(),
            dynamic: Vec::new(),
            layout: layout.map(|order| Layout { minor_to_major: order.to_vec(), ..Layout::default() }),
        };
        for (dimensions, layout, expected) in [
            (&[2, 3, 4][..], Some(&[2, 1, 0][..]), &[12, 4, 1][..]),
            (&[2, 3, 4], Some(&[0, 1, 2]), &[1, 2, 6]),
            (&[2, 3, 4], None, &[12, 4, 1]),
            (&[2, 3], Some(&[7, 1, 0]), &[3, 1]),
        ] {
            assert_eq!(strides(&array(dimensions, layout)), expected);
        }
    }

    #[test]
    fn lists_are_python_literals() {
        assert_eq!(number_tuples(&[vec![1, 2], vec![3]]).to_string(), "((1, 2), (3,))");
        assert_eq!(number_tuples(&[]).to_string(), "()");
        assert_eq!(text_tuple(&["bf16"]).to_string(), "('bf16',)");
        assert_eq!(text_list(["a", "b'"]).to_string(), "['a', \"b'\"]");
    }

    #[test]
    fn a_stem_has_no_number_at_its_end() {
        for (name, expected) in [
            ("fusion.12", "fusion"),
            ("input_transpose_fusion_1", "input_transpose_fusion"),
            ("gemm_fusion_dot.3.clone.1", "gemm_fusion_dot"),
            ("all-reduce-start", "all-reduce-start"),
            ("Im3d2Col", "Im3d2Col"),
            ("conv2", "conv2"),
            ("_1", "_1"),
            ("", ""),
        ] {
            assert_eq!(stem(name), expected, "{name}");
        }
    }
}
