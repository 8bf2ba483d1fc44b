//! The kernels of a profile as the per-kernel sheets show them.

use std::fmt::Write;

use gpu_timeline::Summary;
use hashbrown::HashMap;
use trace_ingest::write_float;

use crate::analysis::JaxAnalysis;
use crate::device_events::DeviceEvent;
use crate::kernel_category::KernelCategory;
use crate::operators::Operator;
use crate::options::JaxFigures;
use crate::record::{Record, number_tuples, quoted, text_list, text_tuple};

/// What stands in a cell for what a kernel has not.
const MISSING: &str = "NA";

/// A kernel that the keywords keep.
#[derive(Clone, Copy)]
pub(super) struct KernelRow<'a> {
    pub(super) event: &'a DeviceEvent,
    pub(super) name: &'a str,
    pub(super) category: KernelCategory,
    /// In picoseconds.
    pub(super) time: i64,
}

/// The kernels in the order of their uids.
pub(super) fn kernel_rows<'a>(analysis: &'a JaxAnalysis) -> Vec<KernelRow<'a>> {
    let trace = analysis.trace();
    let row = |event: &'a DeviceEvent| {
        let DeviceEvent { event: id, category, operator, .. } = *event;
        let category = category.filter(|_| analysis.keeps(operator))?;
        Some(KernelRow { event, name: trace.name(id), category, time: trace.events().duration(id) })
    };
    analysis.device_events().iter().filter_map(row).collect()
}

/// Number of GPUs that ran these kernels.
pub(super) fn gpu_count(rows: &[KernelRow<'_>]) -> usize {
    let mut gpus: Vec<usize> = rows.iter().map(|row| row.event.gpu).collect();
    gpus.sort_unstable();
    gpus.dedup();
    gpus.len()
}

/// Arguments of an instruction as cells; equal arguments are equal texts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Arguments {
    pub(super) dims: Option<String>,
    pub(super) types: Option<String>,
    pub(super) strides: Option<String>,
    pub(super) concrete: Option<String>,
}

/// The texts of all operators, made once.
pub(super) struct OperatorTexts {
    pub(super) arguments: Vec<Arguments>,
    /// What a list of kernels says of the instruction, between `'name'` and figures.
    instruction: Vec<String>,
}

impl OperatorTexts {
    pub(super) fn of(analysis: &JaxAnalysis) -> Self {
        let figures = analysis.options().figures;
        let operators = analysis.operators();
        OperatorTexts {
            arguments: operators.iter().map(|operator| arguments(operator, figures)).collect(),
            instruction: operators.iter().map(|operator| instruction(operator, figures)).collect(),
        }
    }

    /// A list of one kernel with its duration in µs, as a Python literal.
    pub(super) fn kernel(&self, analysis: &JaxAnalysis, row: &KernelRow<'_>) -> String {
        let mut out = format!("[{{'name': {}, 'dur': ", quoted(row.name));
        // Writing to a String cannot fail.
        let _ = write_float(&mut out, analysis.us(row.time));
        let _ = write!(out, ", {}}}]", self.instruction[row.event.operator]);
        out
    }

    /// The same with statistics over several.
    pub(super) fn kernels(&self, analysis: &JaxAnalysis, first: &KernelRow<'_>, times: &[i64]) -> String {
        let instruction = &self.instruction[first.event.operator];
        format!("[{{'name': {}, {instruction}, {}}}]", quoted(first.name), statistics(analysis, times))
    }
}

/// Count and spread of durations as entries of a Python dictionary, in µs.
pub(super) fn statistics(analysis: &JaxAnalysis, times: &[i64]) -> String {
    let us = |time: f64| time / analysis.trace().time_unit().per_microsecond() as f64;
    let Some(summary) = Summary::of(times) else { return "'count': 0".to_owned() };
    let mut out = format!("'count': {}", summary.count);
    for (key, value) in [
        ("total_duration_us", summary.sum as f64),
        ("mean_duration_us", summary.mean),
        ("median_duration_us", summary.median),
        ("std_dev_duration_us", summary.population_std),
        ("min_duration_us", summary.min as f64),
        ("max_duration_us", summary.max as f64),
    ] {
        // Writing to a String cannot fail.
        let _ = write!(out, ", '{key}': ");
        let _ = write_float(&mut out, us(value));
    }
    out
}

/// Kernels of one name in the same category for instructions with the same arguments.
pub(super) struct KernelGroup<'a> {
    pub(super) arguments: &'a Arguments,
    /// By uid.
    pub(super) rows: Vec<KernelRow<'a>>,
}

impl KernelGroup<'_> {
    pub(super) fn times(&self) -> Vec<i64> {
        self.rows.iter().map(|row| row.time).collect()
    }
}

/// The groups, most time first.
pub(super) fn groups<'a>(rows: Vec<KernelRow<'a>>, texts: &'a OperatorTexts) -> Vec<KernelGroup<'a>> {
    let mut positions = HashMap::new();
    let mut groups: Vec<KernelGroup<'a>> = Vec::new();
    for row in rows {
        let arguments = &texts.arguments[row.event.operator];
        let position = *positions.entry((row.name, row.category, arguments)).or_insert(groups.len());
        match groups.get_mut(position) {
            Some(group) => group.rows.push(row),
            None => groups.push(KernelGroup { arguments, rows: vec![row] }),
        }
    }
    // They are in the order of their first uids, which decides between equal times.
    groups.sort_by_key(|group| std::cmp::Reverse(group.times().iter().sum::<i64>()));
    groups
}

fn arguments(operator: &Operator, figures: JaxFigures) -> Arguments {
    let Some(record) = &operator.record else {
        return Arguments { dims: None, types: None, strides: None, concrete: None };
    };
    // The reference tool takes query, key and value of an attention call only, and no strides of anything.
    let is_reference = figures == JaxFigures::Reference;
    let is_attention = is_reference && record.custom_call_target.contains("te_fused_attn");
    let shown = if is_attention { record.dims.len().min(3) } else { record.dims.len() };
    let concrete = record.dims.get(3).filter(|_| is_attention);
    Arguments {
        dims: Some(number_tuples(&record.dims[..shown])),
        types: Some(text_tuple(&record.types[..shown])),
        strides: Some(if is_reference { "()".to_owned() } else { number_tuples(&record.strides) }),
        concrete: Some(number_tuples(concrete.map(std::slice::from_ref).unwrap_or_default())),
    }
}

fn instruction(operator: &Operator, figures: JaxFigures) -> String {
    let missing = || quoted(MISSING);
    let record = operator.record.as_ref();
    // The reference tool fills in neither results nor where an instruction comes from.
    let known = record.filter(|_| figures == JaxFigures::Correct);
    let target = record.map(|record| record.custom_call_target.as_str()).filter(|target| !target.is_empty());
    format!(
        "'custom_call_target': {}, 'operands': {}, 'outputs': {}, 'metadata': {}",
        target.map_or_else(missing, |target| quoted(&format!("custom_call_target=\"{target}\""))),
        record.map_or_else(missing, |record| text_list(&record.operands)),
        known.map_or_else(missing, |record| quoted(&record.output)),
        known.and_then(Record::metadata).map_or_else(missing, |metadata| quoted(&metadata)),
    )
}
