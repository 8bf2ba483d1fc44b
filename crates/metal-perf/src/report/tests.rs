use super::*;
use crate::hand_made::{Line, names, report, table};
use crate::options::IdRange;

#[test]
fn gaps_and_durations_that_cannot_be_right_are_blank() {
    let line = |name, gap: f64, duration: Option<f64>| Line { gap: Some(gap), duration, ..Line::op(name) };
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
    for compat in [true, false] {
        let report = report(&lines, MetalOptions { compat, ..MetalOptions::default() });
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
    for compat in [true, false] {
        let options = MetalOptions { compat, ignore_signposts: true, ..MetalOptions::default() };
        let gaps: Vec<_> = report(&lines, options).ops.iter().map(|op| op.gap_us).collect();
        assert_eq!(gaps, [None, None, Some(0.7)]);
    }
}

#[test]
fn counts_are_of_the_window_and_of_what_is_shown() {
    let lines = [Line::op("A"), Line::host("add (torch)"), Line::signpost("s"), Line::op("B"), Line::op("C")];
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
    let options =
        MetalOptions { id_range: Some(IdRange { first: Some(9), last: None }), ..MetalOptions::default() };
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
    let report = report(&[Line::op("Zeta"), Line::op("Alpha"), Line::op("Zeta")], MetalOptions::default());
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
    assert!(report.notices.contains(&MetalNotice::SubDevices { named: false, budgets: vec![12, 108, 120] }));
}
