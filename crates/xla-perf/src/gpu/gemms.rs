//! Matrix multiplications: instructions, and their calls one by one.

use hlo_cost::InstructionRef;
use operator_sheets::Figures;
use perf_models::{Category, GemmKernel, Value};
use sheets::ColumnKind::{Count, Number};
use sheets::Unit::{One, TerabytesPerSecond, TeraflopsPerSecond};
use sheets::columns::{DATA_MOVED, FLOPS_PER_BYTE, GFLOPS};
use sheets::{Column, Field, Nested, Role, Sheet};

use super::call_groups::{CallGroup, INSTRUCTION, MODULE, call_groups};
use super::steps::GPU;
use crate::analysis::JaxAnalysis;
use crate::executions::Call;
use crate::operators::{Operator, operand_arrays};
use crate::sheet::sheet;

/// The sheets of matrix multiplications.
pub(super) fn gemm_sheets<'a>() -> [Sheet<'a, JaxAnalysis>; 2] {
    [by_instruction(), by_call()]
}

fn is_gemm(operator: &Operator) -> bool {
    operator.category == Category::Gemm.into()
}

/// The name of the instruction and its program.
fn identity<'a, R>(
    operator: impl Fn(&R) -> &Operator + Copy + Send + Sync + 'static,
) -> [Field<&'a JaxAnalysis, R>; 2] {
    [
        INSTRUCTION.field(move |row| operator(row).name.as_str().into()),
        MODULE.field_in(move |analysis: &&JaxAnalysis, row| analysis.module_name(operator(row)).into()),
    ]
}

struct Row<'a> {
    group: CallGroup<'a>,
    operator: &'a Operator,
    extents: Extents,
}

fn by_instruction<'a>() -> Sheet<'a, JaxAnalysis> {
    let fields = [
        Column::count("Batch", "Matrix multiplications per call.")
            .per("call")
            .field(|row: &Row<'_>| row.extents.batch.into()),
        Column::count(
            "M",
            "Rows of the result; for column-major library calls, these are columns of a row-major result.",
        )
        .field(|row: &Row<'_>| row.extents.m.into()),
        Column::count("N", "Columns of the result; rows if M counts columns.")
            .field(|row: &Row<'_>| row.extents.n.into()),
        Column::count("K", "Contracted dimension.").field(|row: &Row<'_>| row.extents.k.into()),
        Column::new("Beta", Number(One), "Factor of the addend C in a library call; empty for fusions.")
            .field(|row: &Row<'_>| row.extents.beta.into()),
        Column::text("Type", "Element type of the first operand.")
            .field(|row: &Row<'_>| row.extents.element_type.as_ref().into()),
        Column::count("operation_count", "Number of calls on all GPUs.")
            .field(|row: &Row<'_>| row.group.calls.len().into()),
    ];
    sheet(
        "gemms",
        "Matrix multiplications of all programs: one row per instruction, most kernel time first.",
        identity(|row: &Row<'a>| row.operator).into_iter().chain(fields),
        |analysis: &'a JaxAnalysis| {
            let operators = analysis.operators();
            let groups =
                call_groups(analysis, |call| is_gemm(&operators[call.operator]).then_some(call.operator));
            let row = |group: CallGroup<'a>| {
                let operator = group.operator(analysis);
                Row { group, operator, extents: Extents::new(analysis, operator) }
            };
            groups.into_iter().map(row).collect()
        },
    )
}

/// A call of an instruction.
struct CallRow<'a> {
    call: &'a Call,
    operator: &'a Operator,
    extents: Extents,
    figures: Option<Figures>,
}

type Size = fn(&Extents) -> Option<i64>;

/// The sizes that the sheet of calls shows as parameters.
const SIZES: [(&str, Size); 4] = [
    ("param: B", |extents| extents.batch),
    ("param: M", |extents| extents.m),
    ("param: N", |extents| extents.n),
    ("param: K", |extents| extents.k),
];

fn by_call<'a>() -> Sheet<'a, JaxAnalysis> {
    let fields = [
        GPU.with_role(Role::Name).field_in(|analysis: &&JaxAnalysis, row: &CallRow<'_>| {
            analysis.device_events()[row.call.kernels[0]].pid.into()
        }),
        Column::identifier("step", "Program execution, see steps.").with_role(Role::Name).field_in(
            |analysis: &&JaxAnalysis, row: &CallRow<'_>| {
                row.call.execution.map(|at| analysis.executions()[at].number).into()
            },
        ),
        Column::flag("is_warm_up", "Whether it is a warm-up execution.").field_in(
            |analysis: &&JaxAnalysis, row: &CallRow<'_>| {
                row.call.execution.is_some_and(|at| analysis.executions()[at].is_warm_up).into()
            },
        ),
        GFLOPS.field(|row: &CallRow<'_>| row.figures.map(|figures| figures.gflops()).into()),
        Column::microseconds("Kernel Time (µs)", "Time of the call's kernels, overlaps counted once.")
            .with_role(Role::Headline)
            .field(|row: &CallRow<'_>| row.call.time.to_microseconds().into()),
        Column::new(
            "TFLOPS/s",
            Number(TeraflopsPerSecond),
            "Achieved rate: floating-point operations / kernel time, in TFLOP/s.",
        )
        .field(|row: &CallRow<'_>| row.figures.and_then(|figures| figures.tflops_per_s()).into()),
        DATA_MOVED.field(|row: &CallRow<'_>| row.figures.and_then(|figures| figures.mebibytes()).into()),
        FLOPS_PER_BYTE.field(|row: &CallRow<'_>| row.figures.and_then(|figures| figures.intensity()).into()),
        Column::new(
            "TB/s",
            Number(TerabytesPerSecond),
            "Achieved bandwidth: bytes / kernel time, in TB/s (10¹² bytes).",
        )
        .field(|row: &CallRow<'_>| row.figures.and_then(|figures| figures.tb_per_s()).into()),
        Field::each(
            Column::new("param: …", Count, "Parameter of the matrix multiplication: B, M, N, K as in gemms.")
                .with_role(Role::Detail)
                .distinguishing(),
            |_| SIZES.map(|(name, _)| name.to_owned()).into(),
            |_, row: &CallRow<'_>, position| SIZES[position].1(&row.extents).into(),
        ),
        Column::nested(
            "transpose",
            "Whether the library's operands A and B are transposed, by kernel name; empty if unknown.",
        )
        .field_in(|analysis: &&JaxAnalysis, row: &CallRow<'_>| {
            let name = |&at: &usize| analysis.trace().name(analysis.device_events()[at].event);
            row.call.kernels.iter().map(name).find_map(transposes).into()
        }),
        Column::identifier("UID", "UID of the call's first kernel.").field_in(
            |analysis: &&JaxAnalysis, row: &CallRow<'_>| {
                let first = analysis.device_events()[row.call.kernels[0]].event;
                analysis.trace().events().uid(first).into()
            },
        ),
    ];
    sheet(
        "gemms_detailed",
        "Individual calls of the instructions in gemms, on all GPUs, by UID.",
        identity(|row: &CallRow<'a>| row.operator).into_iter().chain(fields),
        |analysis| {
            let row = |call: &'a Call| {
                let operator = &analysis.operators()[call.operator];
                (is_gemm(operator) && analysis.keeps(call.operator)).then(|| CallRow {
                    call,
                    operator,
                    extents: Extents::new(analysis, operator),
                    figures: analysis.figures(call),
                })
            };
            analysis.calls().iter().filter_map(row).collect()
        },
    )
}

/// Whether a library's kernel transposes its operands A and B, as a pair; `None` where its name does not say.
pub(crate) fn transposes(kernel: &str) -> Option<Nested> {
    let kernel = GemmKernel::parse(kernel)?;
    let (a, b) = kernel.transpose_a.zip(kernel.transpose_b)?;
    Some(Nested::Tuple(vec![Nested::Flag(a), Nested::Flag(b)]))
}

/// Extents of a multiplication.
struct Extents {
    batch: Option<i64>,
    m: Option<i64>,
    n: Option<i64>,
    k: Option<i64>,
    beta: Option<f64>,
    element_type: Option<String>,
}

impl Extents {
    fn new(analysis: &JaxAnalysis, operator: &Operator) -> Self {
        let called = operator.record.as_ref().filter(|record| !record.custom_call_target.is_empty());
        let instruction = called.and_then(|_| analysis.instruction(operator.first));
        if let Some(gemm) = instruction.and_then(LibraryGemm::new) {
            let count = |size: u64| i64::try_from(size).ok();
            let [element_type, _] = gemm.types;
            return Extents {
                batch: count(gemm.batch),
                m: count(gemm.m),
                n: count(gemm.n),
                k: count(gemm.k),
                beta: Some(gemm.beta),
                element_type: Some(element_type),
            };
        }
        let parameter = |name: &str| {
            let (_, value) = operator.parameters().iter().find(|(key, _)| *key == name)?;
            Value::as_int(value)
        };
        Extents {
            batch: parameter("B"),
            m: parameter("M"),
            n: parameter("N"),
            k: parameter("K"),
            beta: None,
            element_type: operator.record.as_ref().and_then(|record| record.types.first().cloned()),
        }
    }
}

/// A matrix multiplication of a library, in the column-major view of the library.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LibraryGemm {
    pub(crate) batch: u64,
    pub(crate) m: u64,
    pub(crate) n: u64,
    pub(crate) k: u64,
    /// Factor of the addend.
    pub(crate) beta: f64,
    /// Element types of both factors.
    pub(crate) types: [String; 2],
}

impl LibraryGemm {
    /// `None` where the call is no matrix multiplication, or one whose extents do not fit each other.
    pub(crate) fn new(instruction: InstructionRef<'_>) -> Option<Self> {
        let target = instruction.custom_call_target.as_str();
        if !["matmul", "cublas"].iter().any(|name| target.contains(name)) {
            return None;
        }
        let arrays = operand_arrays(instruction);
        let (lhs, rhs) = (*arrays.first()?, *arrays.get(1)?);
        let config = &String::from_utf8_lossy(&instruction.backend_config);
        let contracted = |key: &str| Some(number_behind(config, key)? as usize);
        let lhs_dimension = contracted("\"lhs_contracting_dimensions\"").unwrap_or(1);
        let rhs_dimension = contracted("\"rhs_contracting_dimensions\"").unwrap_or(0);
        let k = *lhs.dimensions.get(lhs_dimension)?;
        if rhs.dimensions.get(rhs_dimension) != Some(&k) {
            return None;
        }
        let results = instruction.shape.arrays();
        let result = results.iter().find(|array| array.element_type.is_floating_point())?;
        let (mut a, mut b) = (lhs.dimensions.clone(), rhs.dimensions.clone());
        without_first(&mut a, k);
        without_first(&mut b, k);
        let batch = if result.dimensions.len() > 2 { *result.dimensions.first()? } else { 1 };
        if result.dimensions.len() > 2 {
            without_first(&mut a, batch);
            without_first(&mut b, batch);
        }
        let order = result.layout.as_ref().map(|layout| layout.minor_to_major.as_slice()).unwrap_or_default();
        let is_column_major = order.windows(2).any(|pair| pair == [0, 1]);
        let (rows, columns) = (a.first().copied().unwrap_or(1), b.first().copied().unwrap_or(1));
        let (m, n) = if is_column_major { (rows, columns) } else { (columns, rows) };
        let types = [lhs, rhs].map(|array| array.element_type.to_string());
        let beta = number_behind(config, "\"beta\"").unwrap_or(0.0);
        Some(LibraryGemm { batch, m, n, k, beta, types })
    }
}

/// Takes out the first size of this value.
fn without_first(sizes: &mut Vec<u64>, size: u64) {
    if let Some(at) = sizes.iter().position(|&other| other == size) {
        sizes.remove(at);
    }
}

/// The number behind a key of JSON text, in a text or a list of its own or by itself.
fn number_behind(json: &str, key: &str) -> Option<f64> {
    let rest = json[json.find(key)? + key.len()..].trim_start_matches([':', '[', '"', ' ']);
    let end = rest.find(|c: char| !(c.is_ascii_digit() || ".-+eE".contains(c))).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::number_behind;

    #[test]
    fn numbers_of_the_configuration_are_those_behind_their_key() {
        let config = r#"{"alpha":1,"beta":0.5,"lhs":["2"],"rhs":[],"next":["3"]}"#;
        for (key, expected) in
            [("\"beta\"", Some(0.5)), ("\"lhs\"", Some(2.0)), ("\"rhs\"", None), ("\"x\"", None)]
        {
            assert_eq!(number_behind(config, key), expected, "{key}");
        }
    }
}
