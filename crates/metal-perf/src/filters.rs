//! Rows that the user asks for: a range of IDs, no operations of the host.

use std::str::FromStr;

use hashbrown::HashSet;
use trace_ingest::metal::OpRow;

use crate::op::{Op, OpKind};
use crate::options::{IdRange, MetalOptions};

/// Why a text is no range of IDs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdRangeError {
    /// It is not two numbers around a hyphen, of which one may be left out.
    #[error("\"{text}\" is not a range of IDs such as 5-10, 31- or -12")]
    Malformed {
        /// What was given.
        text: String,
    },
    /// The first comes after the last.
    #[error("the range is reversed; did you mean {last}-{first}?")]
    Reversed {
        /// The first.
        first: u32,
        /// The last.
        last: u32,
    },
}

impl IdRange {
    /// Whether it holds an ID.
    pub fn contains(&self, id: u32) -> bool {
        self.first.is_none_or(|first| id >= first) && self.last.is_none_or(|last| id <= last)
    }

    /// Its ends, if the first comes after the last.
    pub(crate) fn reversed(&self) -> Option<(u32, u32)> {
        self.first.zip(self.last).filter(|(first, last)| first > last)
    }
}

impl FromStr for IdRange {
    type Err = IdRangeError;

    /// Reads `5-10`, `31-` or `-12`; numbers may have commas between thousands.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let malformed = || IdRangeError::Malformed { text: text.to_string() };
        let end = |part: &str| match part.trim().replace(',', "") {
            none if none.is_empty() => Ok(None),
            // Rust reads a sign, too.
            signed if signed.starts_with('+') => Err(malformed()),
            digits => digits.parse().map(Some).map_err(|_| malformed()),
        };
        let (first, last) = text.split_once('-').ok_or_else(malformed)?;
        let range = IdRange { first: end(first)?, last: end(last)? };
        if range.first.is_none() && range.last.is_none() {
            return Err(malformed());
        }
        match range.reversed() {
            Some((first, last)) => Err(IdRangeError::Reversed { first, last }),
            None => Ok(range),
        }
    }
}

/// Keeps the rows that the user asks for. What comes before a range is not shown, so neither is the gap to it.
pub(crate) fn filter(ops: &mut Vec<Op>, rows: &[OpRow], options: &MetalOptions) {
    if let Some(range) = options.id_range {
        ops.retain(|op| range.contains(op.id));
        if options.conventions.one_timeline {
            if let Some(op) = ops.first_mut() {
                op.gap_us = None;
            }
        } else {
            blank_first_gaps(ops, rows);
        }
    }
    if options.no_host_ops {
        ops.retain(|op| op.kind != OpKind::Host);
    }
}

/// The first operation of each device has no gap: it begins before the rows that are shown. An operation that stands
/// for rows of several devices is one of each of them.
fn blank_first_gaps(ops: &mut [Op], rows: &[OpRow]) {
    let mut seen = HashSet::new();
    for op in ops.iter_mut().filter(|op| op.kind != OpKind::Signpost) {
        if seen.insert(op.device) {
            op.gap_us = None;
        }
        seen.extend(op.merged_rows.iter().filter_map(|&row| Some(rows.get(row as usize)?.device)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hand_made::THEIRS;

    fn op(id: u32, device: Option<u32>, kind: OpKind) -> Op {
        Op { id, device, kind, gap_us: Some(1.0), ..Op::default() }
    }

    #[test]
    fn ranges_have_open_ends_and_commas() {
        let range = |first, last| Ok(IdRange { first, last });
        let malformed = |text: &str| Err(IdRangeError::Malformed { text: text.to_string() });
        for (text, expected) in [
            ("5-10", range(Some(5), Some(10))),
            ("31-", range(Some(31), None)),
            ("-12", range(None, Some(12))),
            ("1,200-2,400", range(Some(1200), Some(2400))),
            ("7-7", range(Some(7), Some(7))),
            ("10-5", Err(IdRangeError::Reversed { first: 10, last: 5 })),
            ("-", malformed("-")),
            ("", malformed("")),
            ("5", malformed("5")),
            ("1-2-3", malformed("1-2-3")),
            ("+1-3", malformed("+1-3")),
            ("a-b", malformed("a-b")),
            ("-99999999999", malformed("-99999999999")),
        ] {
            assert_eq!(text.parse::<IdRange>(), expected, "{text}");
        }
    }

    #[test]
    fn both_ends_of_a_range_are_in_it() {
        let range = IdRange { first: Some(5), last: Some(7) };
        assert_eq!((4..9).filter(|&id| range.contains(id)).collect::<Vec<_>>(), [5, 6, 7]);
    }

    #[test]
    fn an_operation_of_several_devices_is_the_first_of_each() {
        let rows: Vec<OpRow> =
            [0, 1].map(|device| OpRow { device: Some(device), ..OpRow::default() }).to_vec();
        let merged = Op { merged_rows: vec![1], ..op(2, Some(0), OpKind::Device) };
        let mut ops = vec![merged, op(4, Some(1), OpKind::Device)];
        let range = IdRange { first: Some(2), last: None };
        filter(&mut ops, &rows, &MetalOptions { id_range: Some(range), ..MetalOptions::default() });
        assert_eq!(ops.iter().map(|op| op.gap_us).collect::<Vec<_>>(), [None, Some(1.0)]);
    }

    #[test]
    fn a_range_blanks_the_gap_of_the_first_row_of_each_device() {
        let rows = || {
            vec![
                op(2, Some(0), OpKind::Device),
                op(3, Some(0), OpKind::Device),
                op(4, Some(1), OpKind::Device),
                op(5, Some(0), OpKind::Device),
            ]
        };
        let mut options = MetalOptions {
            id_range: Some(IdRange { first: Some(3), last: None }),
            ..MetalOptions::default()
        };
        let mut ours = rows();
        filter(&mut ours, &[], &options);
        assert_eq!(
            ours.iter().map(|op| (op.id, op.gap_us)).collect::<Vec<_>>(),
            [(3, None), (4, None), (5, Some(1.0))]
        );
        options.conventions = THEIRS;
        let mut reference = rows();
        filter(&mut reference, &[], &options);
        assert_eq!(reference.iter().map(|op| op.gap_us).collect::<Vec<_>>(), [None, Some(1.0), Some(1.0)]);
    }

    #[test]
    fn host_operations_are_left_out_on_request() {
        let mut ops =
            vec![op(2, None, OpKind::Host), op(3, Some(0), OpKind::Device), op(4, None, OpKind::Signpost)];
        filter(&mut ops, &[], &MetalOptions { no_host_ops: true, ..MetalOptions::default() });
        assert_eq!(ops.iter().map(|op| op.id).collect::<Vec<_>>(), [3, 4]);
    }
}
