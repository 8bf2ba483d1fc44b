//! The report: from the table of operations to the rows that are shown, with what bounds each.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use trace_ingest::metal::{OpsTable, SubDevice, Tensor};

use crate::chips::Chip;
use crate::conventions::Conventions;
use crate::derive::{Totals, derive};
use crate::fidelity::{FidelityVerdict, fidelity_verdict};
use crate::filters::filter;
use crate::hardware::hardware;
use crate::merge::{MergedRow, merge};
use crate::model::{ModelContext, model_op};
use crate::notice::MetalNotice;
use crate::op::{Counts, Op, OpCategory, OpKind};
use crate::options::{MetalError, MetalOptions};
use crate::timing::PreviousRow;
use crate::window::window;

/// Operations of one or several files, each with its times, its part of what the chip could do, and what bounds it.
#[derive(Clone, Debug)]
pub struct MetalReport {
    /// What the files hold.
    pub table: OpsTable,
    /// What was asked for.
    pub options: MetalOptions,
    /// The chip that figures are a percentage of.
    pub chip: &'static Chip,
    /// Cores of a device that operations can use, where an operation does not say.
    pub worker_cores: u32,
    /// Rows that are shown, in order.
    pub ops: Vec<Op>,
    /// Sums over [`MetalReport::ops`].
    pub totals: Totals,
    /// Rows of the window between the signposts, before any is filtered out.
    pub window_counts: Counts,
    /// Rows that are shown.
    pub shown_counts: Counts,
    /// What a reader should know about the figures.
    pub notices: Vec<MetalNotice>,
}

impl MetalReport {
    /// Makes the report.
    ///
    /// # Errors
    /// If there is no chip to compare with, or the options contradict each other.
    pub fn new(table: OpsTable, options: MetalOptions) -> Result<Self, MetalError> {
        if options.occurrence == Some(0) {
            return Err(MetalError::OccurrenceZero);
        }
        if let Some((first, last)) = options.id_range.and_then(|range| range.reversed()) {
            return Err(MetalError::ReversedIdRange { first, last });
        }
        let mut notices: Vec<MetalNotice> =
            table.warnings.iter().cloned().map(MetalNotice::Reading).collect();
        let (chip, worker_cores) = hardware(&table, &options, &mut notices)?;
        let rows = window(&table, &options, &mut notices);
        let merged = merge(&table, &rows, &options, &mut notices);
        let context = ModelContext { chip, worker_cores, options: &options };
        let mut ops = model_rows(&table, &merged, &context);
        let window_counts = Counts::of(&ops);
        observe(&table, &ops, options.conventions, &mut notices);
        filter(&mut ops, &table.rows, &options);
        if ops.is_empty() && !notices.iter().any(MetalNotice::excuses_empty_report) {
            notices.push(MetalNotice::NothingLeft { of: window_counts.rows() });
        }
        let totals = derive(&mut ops);
        let shown_counts = Counts::of(&ops);
        Ok(MetalReport {
            table,
            options,
            chip,
            worker_cores,
            ops,
            totals,
            window_counts,
            shown_counts,
            notices,
        })
    }

    /// How the fidelity of a product fits its inputs 0 and 1 and its output; `None` where its fidelity is none that is
    /// known.
    #[must_use]
    pub fn fidelity_verdict(&self, op: &Op) -> Option<FidelityVerdict> {
        let table = &self.table;
        let row = table.rows.get(op.row as usize)?;
        let datatype = |tensor: Option<&Tensor>| tensor.map_or("", |tensor| table.text(tensor.datatype));
        let [activations, weights] = [0, 1].map(|place| datatype(table.inputs(row).get(place)));
        let output = datatype(table.outputs(row).first());
        fidelity_verdict(table.text(row.fidelity), activations, weights, output)
    }
}

/// Models rows in order. A gap says something only if its beginning lies in the window too: the first operation of
/// each device has none.
fn model_rows(table: &OpsTable, merged: &[MergedRow], context: &ModelContext<'_>) -> Vec<Op> {
    let mut last: Option<PreviousRow> = None;
    let mut last_of_device: HashMap<u32, PreviousRow> = HashMap::new();
    let mut ops = Vec::with_capacity(merged.len());
    for row in merged {
        let device = table.rows[row.row as usize].device;
        let previous = match device.filter(|_| !context.options.conventions.one_timeline) {
            Some(device) => last_of_device.get(&device).copied(),
            None => last,
        };
        let mut op = model_op(table, row.row, row.duration_ns, previous.as_ref(), context);
        op.merged_rows.clone_from(&row.others);
        if op.kind != OpKind::Signpost {
            let this = PreviousRow { invalid_duration: op.invalid_duration };
            last = Some(this);
            let devices =
                row.others.iter().filter_map(|&other| table.rows[other as usize].device).chain(device);
            last_of_device.extend(devices.map(|device| (device, this)));
        }
        ops.push(op);
    }
    ops
}

/// Characters of a name that notices show.
const NAME_LENGTH: usize = 80;

/// Adds what a reader should know about the rows of the window.
fn observe(table: &OpsTable, ops: &[Op], rules: Conventions, notices: &mut Vec<MetalNotice>) {
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
    if !rules.silent_above_hundred {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hand_made::{Line, conventions, names, report, table};
    use crate::options::IdRange;

    #[test]
    fn gaps_and_durations_that_cannot_be_right_are_blank() {
        let line =
            |name, gap: f64, duration: Option<f64>| Line { gap: Some(gap), duration, ..Line::op(name) };
        let usual = Some(10_000.0);
        let lines = [
            line("A", 0.0, usual),
            line("B", -500.0, usual),
            line("C", -2_000_000.0, Some(1000.0)),
            line("D", 2_000_000.0, Some(-5.0)),
            line("E", 2_000_000.0, usual),
            line("F", 999_999.0, Some(-1.0)),
            line("G", 1_000_001.0, usual),
            line("H", 100.0, None),
            line("I", 0.0, Some(0.0)),
        ];
        for are_theirs in [true, false] {
            let report = report(
                &lines,
                MetalOptions { conventions: conventions(are_theirs), ..MetalOptions::default() },
            );
            let ten = Some(10.0);
            let times: Vec<_> = report.ops.iter().map(|op| op.device_time_us).collect();
            assert_eq!(times, [ten, ten, None, None, ten, None, ten, None, Some(0.0)]);
            let gaps: Vec<_> = report.ops.iter().map(|op| op.gap_us).collect();
            assert_eq!(gaps, [None, None, None, None, None, Some(999.999), None, Some(0.1), Some(0.0)]);
            assert!(report.notices.contains(&MetalNotice::InvalidDurations { rows: 4, id: 4 }));
        }
    }

    #[test]
    fn a_signpost_between_operations_keeps_the_gap() {
        let lines = [Line::op("A"), Line::signpost("s"), Line { gap: Some(700.0), ..Line::op("B") }];
        for are_theirs in [true, false] {
            let options = MetalOptions {
                conventions: conventions(are_theirs),
                ignore_signposts: true,
                ..MetalOptions::default()
            };
            let gaps: Vec<_> = report(&lines, options).ops.iter().map(|op| op.gap_us).collect();
            assert_eq!(gaps, [None, None, Some(0.7)]);
        }
    }

    #[test]
    fn counts_are_of_the_window_and_of_what_is_shown() {
        let lines =
            [Line::op("A"), Line::host("add (torch)"), Line::signpost("s"), Line::op("B"), Line::op("C")];
        let options = MetalOptions {
            ignore_signposts: true,
            no_host_ops: true,
            id_range: Some(IdRange { first: None, last: Some(5) }),
            ..MetalOptions::default()
        };
        let report = report(&lines, options);
        assert_eq!(report.window_counts, Counts { device_ops: 3, host_ops: 1, signposts: 1 });
        assert_eq!(report.shown_counts, Counts { device_ops: 2, host_ops: 0, signposts: 1 });
        assert_eq!(names(&report), "A s B");
        assert_eq!(report.totals.device_time_us, 20.0);
        let shares: Vec<_> = report.ops.iter().map(|op| op.total_percent).collect();
        assert_eq!(shares, [Some(50.0), None, Some(50.0)]);
    }

    #[test]
    fn filters_that_leave_nothing_are_told() {
        let options = MetalOptions {
            id_range: Some(IdRange { first: Some(9), last: None }),
            ..MetalOptions::default()
        };
        let report = report(&[Line::op("A")], options);
        assert!(report.ops.is_empty());
        assert_eq!(report.notices.last(), Some(&MetalNotice::NothingLeft { of: 1 }));
    }

    #[test]
    fn options_that_contradict_themselves_are_errors() {
        let of = |options| MetalReport::new(table(&[Line::op("A")]), options).unwrap_err();
        let range = Some(IdRange { first: Some(9), last: Some(3) });
        let reversed = of(MetalOptions { id_range: range, ..MetalOptions::default() });
        assert_eq!(reversed, MetalError::ReversedIdRange { first: 9, last: 3 });
        assert_eq!(reversed.to_string(), "the range of IDs is reversed: 9 comes after 3");
        let occurrence = MetalOptions { occurrence: Some(0), ..MetalOptions::default() };
        assert_eq!(of(occurrence), MetalError::OccurrenceZero);
        let arch = MetalOptions { arch: Some("quasar".to_owned()), ..MetalOptions::default() };
        assert!(of(arch).to_string().contains("wormhole"));
    }

    #[test]
    fn operations_of_no_category_are_named_once() {
        let report =
            report(&[Line::op("Zeta"), Line::op("Alpha"), Line::op("Zeta")], MetalOptions::default());
        let names = vec![("Alpha".to_owned(), 1), ("Zeta".to_owned(), 2)];
        assert!(report.notices.contains(&MetalNotice::Unclassified { names }));
    }

    #[test]
    fn differing_budgets_of_cores_are_told() {
        let line = |available| Line { available, ..Line::op("A") };
        let mut table = table(&[line(Some(108)), line(Some(12)), line(Some(120)), line(None)]);
        table.format = trace_ingest::metal::CsvFormat::V2_1;
        let report = MetalReport::new(table, MetalOptions::default()).unwrap();
        let budgets: Vec<_> = report.ops.iter().map(|op| op.available_cores).collect();
        assert_eq!(budgets, [108, 12, 120, 120]);
        assert!(
            report.notices.contains(&MetalNotice::SubDevices { named: false, budgets: vec![12, 108, 120] })
        );
    }
}
