//! Matrix multiplications: instructions, and their calls one by one.

use perf_models::{GemmKernel, Value};
use polars::prelude::{DataFrame, PolarsResult};

use super::call_groups::{call_groups, figures};
use super::operator_columns::{INSTRUCTION, MODULE};
use tree_perf::{Column, ColumnKind, Unit};
use tree_perf::FrameBuilder;
use crate::analysis::JaxAnalysis;
use crate::executions::Call;
use crate::operators::Operator;
use crate::reference_model::Gemm;
use tree_perf::Sheet;
use operator_sheets::Figures;
use operator_sheets::columns::{DATA_MOVED, FLOPS_PER_BYTE, GFLOPS};

/// One row per instruction.
pub(crate) const SHEET: Sheet<JaxAnalysis> = Sheet {
    name: "gemms",
    current_name: "gemms",
    description: "Matrix multiplications of all programs: one row per instruction, most kernel time first.",
    columns: &[
        INSTRUCTION,
        MODULE,
        Column::new("Batch", ColumnKind::Count, "Multiplications of one call."),
        Column::new(
            "M",
            ColumnKind::Count,
            "Rows of the result; of library calls as the column-major library sees them, which is columns of a row-major result.",
        ),
        Column::new("N", ColumnKind::Count, "The other extent of the result."),
        Column::new("K", ColumnKind::Count, "Extent that is summed over."),
        Column::new(
            "Beta",
            ColumnKind::Number(Unit::One),
            "Factor of the addend of a library call; empty for fusions.",
        ),
        Column::new("Type", ColumnKind::Text, "Element type of the first operand."),
        Column::new("operation_count", ColumnKind::Count, "Calls, of all GPUs."),
    ],
    chart: None,
    build,
};

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
    fn of(analysis: &JaxAnalysis, operator: &Operator) -> Self {
        let called = operator.record.as_ref().filter(|record| !record.custom_call_target.is_empty());
        let instruction = called.and_then(|_| analysis.instruction(operator.first));
        if let Some(gemm) = instruction.and_then(Gemm::of) {
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
            let parameters = &operator.work.as_ref()?.parameters;
            parameters.iter().find(|(key, _)| *key == name).and_then(|(_, value)| Value::as_int(value))
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

fn is_gemm(operator: &Operator) -> bool {
    operator.category == perf_models::Category::Gemm.into()
}

fn build(analysis: &JaxAnalysis) -> PolarsResult<Option<DataFrame>> {
    let operators = analysis.operators();
    let groups = call_groups(analysis, |call| is_gemm(&operators[call.operator]).then_some(call.operator));
    if groups.is_empty() {
        return Ok(None);
    }
    let chosen: Vec<&Operator> = groups.iter().map(|group| group.operator(analysis)).collect();
    let extents: Vec<Extents> = chosen.iter().map(|operator| Extents::of(analysis, operator)).collect();
    let mut frame = FrameBuilder::default();
    frame.text("name", chosen.iter().map(|operator| Some(&operator.name)));
    let module = |operator: &&Operator| analysis.program_name(operator.program.as_ref()?);
    frame.text("hlo_module", chosen.iter().map(module));
    frame.integer("Batch", extents.iter().map(|of| of.batch));
    frame.integer("M", extents.iter().map(|of| of.m));
    frame.integer("N", extents.iter().map(|of| of.n));
    frame.integer("K", extents.iter().map(|of| of.k));
    frame.float("Beta", extents.iter().map(|of| of.beta));
    frame.text("Type", extents.iter().map(|of| of.element_type.as_ref()));
    frame.integer("operation_count", groups.iter().map(|group| Some(group.calls.len() as i64)));
    frame.finish().map(Some)
}

/// One row per call.
pub(crate) const DETAILS: Sheet<JaxAnalysis> = Sheet {
    name: "gemms_detailed",
    current_name: "gemms_detailed",
    description: "Calls of the instructions of gemms one by one, of all GPUs, by UID.",
    columns: &[
        INSTRUCTION,
        MODULE,
        Column::new("gpu_pid", ColumnKind::Identifier, "The GPU: the id of its plane plus 1."),
        Column::new("step", ColumnKind::Identifier, "Execution of the program, see steps."),
        Column::new("is_warm_up", ColumnKind::Flag, "Whether that execution counts as warm-up."),
        GFLOPS,
        Column::new(
            "Kernel Time (µs)",
            ColumnKind::Number(Unit::Microseconds),
            "The union of the spans of the call's kernels, in µs.",
        ),
        Column::new(
            "TFLOPS/s",
            ColumnKind::Number(Unit::One),
            "Achieved rate: floating-point operations over kernel time, in units of 1e12 per second.",
        ),
        DATA_MOVED,
        FLOPS_PER_BYTE,
        Column::new(
            "TB/s",
            ColumnKind::Number(Unit::One),
            "Achieved bandwidth: bytes over kernel time, in units of 1e12 bytes per second.",
        ),
        Column::new(
            "param: …",
            ColumnKind::Text,
            "A parameter of the multiplication: B, M, N, K as in gemms.",
        ),
        Column::new(
            "transpose",
            ColumnKind::Nested,
            "Whether the library's operands A and B are transposed, by the name of the kernel; empty where it does not say.",
        ),
        Column::new("UID", ColumnKind::Identifier, "UID of the call's first kernel."),
    ],
    chart: None,
    build: build_details,
};

fn build_details(analysis: &JaxAnalysis) -> PolarsResult<Option<DataFrame>> {
    let operators = analysis.operators();
    let is_shown = |call: &&Call| is_gemm(&operators[call.operator]) && analysis.keeps(call.operator);
    let calls: Vec<&Call> = analysis.calls().iter().filter(is_shown).collect();
    if calls.is_empty() {
        return Ok(None);
    }
    let of = |call: &Call| &operators[call.operator];
    let first = |call: &Call| &analysis.device_events()[call.kernels[0]];
    let execution = |call: &Call| call.execution.map(|at| &analysis.executions()[at]);
    let work: Vec<Option<Figures>> = calls.iter().map(|call| figures(analysis, call)).collect();
    let extents: Vec<Extents> = calls.iter().map(|call| Extents::of(analysis, of(call))).collect();
    let mut frame = FrameBuilder::default();
    frame.text("name", calls.iter().map(|call| Some(&of(call).name)));
    frame.text("hlo_module", calls.iter().map(|call| analysis.program_name(of(call).program.as_ref()?)));
    frame.integer("gpu_pid", calls.iter().map(|call| Some(first(call).pid)));
    frame.integer("step", calls.iter().map(|call| Some(execution(call)?.number as i64)));
    frame.flag("is_warm_up", calls.iter().map(|call| execution(call).is_some_and(|of| of.is_warm_up)));
    frame.float("GFLOPS", work.iter().map(|work| Some(work.as_ref()?.gflops())));
    frame.float("Kernel Time (µs)", calls.iter().map(|call| Some(analysis.us(call.time))));
    frame.float("TFLOPS/s", work.iter().map(|work| work.as_ref()?.tflops_per_s()));
    frame.float("Data Moved (MB)", work.iter().map(|work| work.as_ref()?.mebibytes()));
    frame.float("FLOPS/Byte", work.iter().map(|work| work.as_ref()?.intensity()));
    frame.float("TB/s", work.iter().map(|work| work.as_ref()?.tb_per_s()));
    for (name, size) in [
        ("B", (|of: &Extents| of.batch) as fn(&Extents) -> Option<i64>),
        ("M", |of| of.m),
        ("N", |of| of.n),
        ("K", |of| of.k),
    ] {
        frame.integer(&format!("param: {name}"), extents.iter().map(size));
    }
    let transposed = |call: &&Call| {
        let named = |&at: &usize| {
            let name = analysis.trace().name(analysis.device_events()[at].event);
            let kernel = GemmKernel::parse(name)?;
            kernel.transpose_a.zip(kernel.transpose_b)
        };
        let python = |side: bool| if side { "True" } else { "False" };
        let (a, b) = call.kernels.iter().find_map(named)?;
        Some(format!("({}, {})", python(a), python(b)))
    };
    frame.text("transpose", calls.iter().map(transposed));
    let uid = |call: &&Call| Some(i64::from(analysis.trace().events().uid(first(call).event)));
    frame.integer("UID", calls.iter().map(uid));
    frame.finish().map(Some)
}
