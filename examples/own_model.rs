//! A performance model of one's own over a trace, asked before the built-in ones: the optimizer step
//! `aten::_fused_adamw_`: `cargo run -p examples own_model [TRACE [ELEMENT_TYPE]]`
//!
//! The trace does not record the element type of lists of tensors. With `float` instead of `c10::BFloat16` the step
//! would be faster than the device allows: `coverage` then says `above peak`, and so that the guess is wrong.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;

use perf_models::{
    ComputeSpec, Figure, OpCall, Parameter, PerfModel, Tensor, Undefined, Value, element_size,
};
use sheets::{Cell, Table};
use trace_ingest::{ReadOptions, read_path};
use tree_perf::{Analysis, AnalysisExtension, AnalysisOptions, ExtensionModel, pytorch_sheets};

/// A step of AdamW over all parameters in one kernel ([Loshchilov and Hutter 2019], algorithm 2).
///
/// [Loshchilov and Hutter 2019]: https://arxiv.org/abs/1711.05101
#[derive(Debug)]
struct AdamWStep {
    /// The parameters; gradients and both moments have the same shapes and are taken to have the same type.
    parameters: Vec<Tensor>,
    /// Whether the largest second moment so far is kept, too (AMSGrad).
    amsgrad: bool,
}

impl AdamWStep {
    fn elements(&self) -> f64 {
        self.parameters.iter().map(Tensor::elements).sum()
    }

    fn element_type(&self) -> &str {
        self.parameters.first().map_or("", |parameter| &parameter.element_type)
    }
}

impl PerfModel for AdamWStep {
    /// For each element: first moment 3, second moment 4, denominator 3 (root, correction, epsilon), decay and update
    /// 4; one more for the larger second moment.
    fn flops(&self) -> Figure {
        Ok(if self.amsgrad { 15.0 } else { 14.0 } * self.elements())
    }

    /// Parameter, gradient and moments read, parameter and moments written.
    fn bytes(&self) -> Figure {
        let transfers = if self.amsgrad { 9.0 } else { 7.0 };
        Ok(transfers * self.elements() * element_size(self.element_type())?)
    }

    /// The kernel computes in FP32, whatever the type of the elements.
    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::vector("float")
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            ("tensors", Value::Int(i64::try_from(self.parameters.len()).unwrap_or(i64::MAX))),
            ("elements", Value::Float(self.elements())),
            ("dtype", self.element_type().into()),
            ("amsgrad", self.amsgrad.into()),
        ]
    }

    fn assumption(&self) -> Option<String> {
        Some(format!("elements of type {}: the types of a tensor list are not recorded", self.element_type()))
    }
}

/// Models of optimizers.
struct Optimizers {
    /// Element type of parameters and moments, as PyTorch names it.
    element_type: String,
}

const ADAMW: &str = "aten::_fused_adamw_";

impl Optimizers {
    /// `_fused_adamw_(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, ...)`, lists of tensors.
    fn adamw(&self, call: &OpCall<'_>) -> Result<AdamWStep, Undefined> {
        let shapes =
            call.dims_entry(0)?.items().map(|shapes| shapes.iter().map(shape).collect::<Option<Vec<_>>>());
        let shapes = shapes.flatten().filter(|shapes| !shapes.is_empty());
        let shapes = shapes.ok_or_else(|| Undefined::arguments("Input Dims[0] is not a list of shapes"))?;
        let parameters = shapes.into_iter().map(|shape| Tensor::new(shape, self.element_type.as_str()));
        Ok(AdamWStep { parameters: parameters.collect(), amsgrad: call.has_dimensions(4) })
    }
}

/// The dimensions in a list.
fn shape(list: &Value) -> Option<Vec<u64>> {
    list.items()?.iter().map(|dimension| u64::try_from(dimension.as_int()?).ok()).collect()
}

impl AnalysisExtension for Optimizers {
    fn has_model(&self, operator: &str) -> bool {
        operator == ADAMW
    }

    fn model(&self, call: &OpCall<'_>) -> Option<Result<ExtensionModel, Undefined>> {
        (call.name == ADAMW).then(|| {
            // The category is a new one: reports sum its time apart from other kernels over lists of tensors.
            let step = Arc::new(self.adamw(call)?);
            Ok(ExtensionModel { model: step, family: None, category: "optimizer".to_owned() })
        })
    }
}

pub(crate) fn run(arguments: &[String], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let path = crate::trace(arguments);
    let element_type = arguments.get(1).map_or("c10::BFloat16", String::as_str);
    let optimizers = Optimizers { element_type: element_type.to_owned() };
    let trace = read_path(&path, &ReadOptions::default())?;
    let analysis = Analysis::with_extension(trace, AnalysisOptions::default(), Box::new(optimizers));
    for notice in analysis.notices() {
        writeln!(out, "note: {notice}")?;
    }

    let sheets = ["unified_perf_summary", "coverage"].map(|name| rows_of(&analysis, name));
    let [operators, coverage] = sheets;
    for (table, row) in operators? {
        let cell = |column: &str| table.column(column).map_or(Cell::Missing, |column| column.cell(row));
        let text = |column: &str| match cell(column) {
            Cell::Missing => "none".to_owned(),
            cell => cell.text().into_owned(),
        };
        let number = |column: &str| match cell(column) {
            Cell::Number(number) => number,
            _ => f64::NAN,
        };
        writeln!(out, "{} ({}), {} calls", text("name"), text("op category"), text("operation_count"))?;
        writeln!(out, "  FLOPs      {:.3} G", number("GFLOPS"))?;
        writeln!(out, "  bytes      {:.1} MiB", number("Data Moved (MB)"))?;
        writeln!(out, "  intensity  {:.3} FLOP/B", number("FLOPS/Byte"))?;
        writeln!(
            out,
            "  least time {:.1} µs, {}",
            number("Roofline Time (µs)_first"),
            text("Roofline Bound")
        )?;
        writeln!(out, "  took       {:.1} µs", number("Kernel Time (µs)_mean"))?;
        writeln!(out, "  reached    {:.1}% of the roofline", number("Pct Roofline_mean"))?;
        writeln!(out, "  note       {}", text("note"))?;
    }
    for (table, row) in coverage? {
        let status = table.column("status").map_or(Cell::Missing, |column| column.cell(row));
        writeln!(out, "coverage: {}", status.text())?;
    }
    Ok(())
}

/// The rows of a sheet that are about the own operator.
fn rows_of(analysis: &Analysis, name: &str) -> Result<Vec<(Table, usize)>, Box<dyn Error>> {
    let sheet = pytorch_sheets().into_iter().find(|sheet| sheet.name == name).ok_or("no such sheet")?;
    let Some(table) = sheet.table(analysis)? else { return Ok(Vec::new()) };
    let names = table.column("name").ok_or("no such column")?;
    let rows = (0..table.height()).filter(|&row| names.cell(row).text() == ADAMW);
    Ok(rows.map(|row| (table.clone(), row)).collect())
}
