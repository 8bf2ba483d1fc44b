//! What stands out in the rows of a window.

use std::collections::BTreeMap;

use trace_ingest::metal::{OpsTable, SubDevice};

use crate::notice::MetalNotice;
use crate::op::{Op, OpCategory, OpKind};

/// Characters of a name that notices show.
const NAME_LENGTH: usize = 80;

/// Adds what a reader should know about the rows of the window.
pub(crate) fn observe(table: &OpsTable, ops: &[Op], compat: bool, notices: &mut Vec<MetalNotice>) {
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for op in ops.iter().filter(|op| op.category == Some(OpCategory::Other)) {
        let name = op.label.split_whitespace().next().unwrap_or("");
        *names.entry(name.chars().take(NAME_LENGTH).collect()).or_insert(0) += 1;
    }
    if !names.is_empty() {
        notices.push(MetalNotice::Unclassified { names: names.into_iter().collect() });
    }
    let unknown = ops.iter().filter(|op| op.sparse.is_some_and(|sparse| sparse.active.is_none())).count();
    if unknown > 0 {
        notices.push(MetalNotice::ActiveExpertsUnknown { rows: unknown });
    }
    let mut invalid = ops.iter().filter(|op| op.invalid_duration);
    if let Some(first) = invalid.next() {
        notices.push(MetalNotice::InvalidDurations { rows: 1 + invalid.count(), id: first.id });
    }
    tell_sub_devices(table, ops, notices);
    if !compat {
        tell_above_hundred(ops, notices);
    }
}

fn tell_sub_devices(table: &OpsTable, ops: &[Op], notices: &mut Vec<MetalNotice>) {
    let rows = || ops.iter().filter(|op| op.kind == OpKind::Device);
    let named = rows().any(|op| table.rows[op.row as usize].sub_device != SubDevice::None);
    let mut budgets: Vec<u32> = rows().map(|op| op.available_cores).collect();
    budgets.sort_unstable();
    budgets.dedup();
    if named || budgets.len() > 1 {
        notices.push(MetalNotice::SubDevices { named, budgets });
    }
}

fn tell_above_hundred(ops: &[Op], notices: &mut Vec<MetalNotice>) {
    let highest = |op: &Op| op.dram_percent.into_iter().chain(op.flops_percent).reduce(f64::max);
    let above = || ops.iter().filter_map(|op| Some((op.id, highest(op).filter(|percent| *percent > 100.0)?)));
    if let Some((id, percent)) = above().max_by(|a, b| a.1.total_cmp(&b.1)) {
        notices.push(MetalNotice::AboveHundred { rows: above().count(), id, percent });
    }
}
