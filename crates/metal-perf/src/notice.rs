//! What a reader should know about the figures.

use std::fmt;

use trace_ingest::metal::OpsWarning;

/// A signpost of the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignpostMark {
    /// Its text.
    pub name: String,
    /// Its ID.
    pub id: u32,
}

impl fmt::Display for SignpostMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" (ID {})", self.name, self.id)
    }
}

/// Something that a reader should know about the figures of a report.
#[derive(Clone, Debug, PartialEq)]
pub enum MetalNotice {
    /// Something about the files.
    Reading(OpsWarning),
    /// No file names a chip, and the user neither.
    ChipGuessed {
        /// Which one was taken.
        chip: &'static str,
        /// Cores that operations can use, by that.
        cores: u32,
        /// Most cores that any operation ran on, when that is fewer.
        most_used: Option<u32>,
    },
    /// The files name several chips.
    SeveralChips {
        /// The names.
        names: Vec<String>,
        /// Which one was taken.
        taken: &'static str,
    },
    /// Cards of several bandwidths have this chip; the figures are of the first.
    CardAssumed {
        /// Name in the file.
        chip: String,
        /// Bandwidth that the percentages are of, in 1e9 bytes per second.
        dram_gb_per_s: f64,
        /// Names to give for the others.
        others: &'static str,
    },
    /// Rows have no time of the host: they are in the order of the file.
    NotSorted,
    /// What is reported, of what the files hold.
    Window {
        /// The signpost before, per file.
        after: Option<SignpostMark>,
        /// The signpost behind.
        before: Option<SignpostMark>,
        /// Which file, when there are several.
        file: Option<u32>,
        /// Whether the user named the signposts.
        asked: bool,
    },
    /// There is no such signpost, or no such occurrence, or none behind the start.
    SignpostNotFound {
        /// Its text.
        name: String,
        /// Whether it should end the window.
        is_end: bool,
        /// How often it occurs.
        occurrences: usize,
    },
    /// A signpost occurs several times.
    SignpostRepeats {
        /// Its text.
        name: String,
        /// How often.
        occurrences: usize,
    },
    /// No operation follows the last signposts: an earlier one was taken, or the whole file.
    SteppedBack {
        /// The signpost that nothing follows.
        empty: SignpostMark,
        /// Which one was taken.
        taken: Option<SignpostMark>,
    },
    /// There is no row between the signposts.
    EmptyWindow {
        /// The signpost before.
        after: Option<SignpostMark>,
        /// The signpost behind.
        before: Option<SignpostMark>,
    },
    /// The files hold signposts only.
    OnlySignposts {
        /// How many.
        signposts: usize,
    },
    /// The files hold no rows, or the filters left none.
    NothingLeft {
        /// How many rows the window had.
        of: usize,
    },
    /// There is no operation of a device: nothing to put together.
    NoDevices,
    /// Operations of several devices are shown one by one.
    DevicesKeptApart {
        /// How many devices.
        devices: usize,
    },
    /// The same operation of several devices is one row.
    DevicesMerged {
        /// How many devices.
        devices: usize,
        /// Rows that were put together.
        rows: usize,
        /// Rows that they became.
        into: usize,
    },
    /// Calls that not all devices have.
    IncompleteCalls {
        /// How many.
        calls: usize,
        /// Name of the first.
        first: String,
        /// ID of the first.
        id: u32,
        /// Devices that lack the first.
        lacking: Vec<u32>,
    },
    /// Rows without a call count, or whose counts are not the profiler's, were aligned by their names.
    AlignedByName {
        /// How many rows.
        rows: usize,
    },
    /// Devices that have run out of operations, or that have another one, were passed over.
    FrontsDiffer {
        /// How many times.
        times: usize,
        /// Name of the first operation.
        first: String,
    },
    /// Operations of a device that do not say which.
    DeviceUnknown {
        /// How many.
        rows: usize,
    },
    /// Operations that no category names.
    Unclassified {
        /// Names and how often, by name.
        names: Vec<(String, usize)>,
    },
    /// Sparse products that do not say how many experts they compute.
    ActiveExpertsUnknown {
        /// How many.
        rows: usize,
    },
    /// Rows whose duration cannot be right.
    InvalidDurations {
        /// How many.
        rows: usize,
        /// ID of the first.
        id: u32,
    },
    /// Operations may run beside each other, on parts of a device: sums count their times one after the other.
    SubDevices {
        /// Whether rows name sub-devices; else their numbers of cores to run on differ.
        named: bool,
        /// Different numbers of cores that operations could use, ascending.
        budgets: Vec<u32>,
    },
    /// Percentages above 100: the operation does less than its model says, or the chip does more.
    AboveHundred {
        /// How many rows.
        rows: usize,
        /// ID of the one furthest above.
        id: u32,
        /// Its percentage.
        percent: f64,
    },
}

impl MetalNotice {
    /// Whether it says why there is nothing to report.
    pub(crate) fn says_nothing_to_report(&self) -> bool {
        matches!(
            self,
            MetalNotice::OnlySignposts { .. }
                | MetalNotice::EmptyWindow { .. }
                | MetalNotice::NothingLeft { .. }
        )
    }
}

impl fmt::Display for MetalNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MetalNotice::Reading(warning) => warning.fmt(f),
            MetalNotice::ChipGuessed { chip, cores, most_used: None } => {
                write!(f, "the file does not name the chip: compared with {chip} of {cores} cores")
            }
            MetalNotice::ChipGuessed { chip, cores, most_used: Some(used) } => write!(
                f,
                "the file does not name the chip: compared with {chip} of {cores} cores, although no operation ran \
                 on more than {used}; name the chip"
            ),
            MetalNotice::SeveralChips { names, taken } => {
                write!(f, "the files name several chips ({}): all compared with {taken}", names.join(", "))
            }
            MetalNotice::CardAssumed { chip, dram_gb_per_s, others } => write!(
                f,
                "\"{chip}\" does not say which card: DRAM percentages are of {dram_gb_per_s} GB/s (the other card is {others})"
            ),
            MetalNotice::NotSorted => {
                f.write_str("no column HOST START TS: rows are in file order, not in time order")
            }
            MetalNotice::Window { after, before, file, .. } => {
                f.write_str("reported: rows")?;
                if let Some(mark) = after {
                    write!(f, " after signpost {mark}")?;
                }
                if let Some(mark) = before {
                    write!(f, " before signpost {mark}")?;
                }
                if let Some(file) = file {
                    write!(f, " of file {}", file + 1)?;
                }
                Ok(())
            }
            MetalNotice::SignpostNotFound { name, is_end: true, occurrences: 0 } => {
                write!(f, "no signpost \"{name}\": no end set")
            }
            MetalNotice::SignpostNotFound { name, is_end: true, occurrences } => {
                write!(f, "no signpost \"{name}\" behind the start ({occurrences} in all): no end set")
            }
            MetalNotice::SignpostNotFound { name, is_end: false, occurrences: 0 } => {
                write!(f, "no signpost \"{name}\": no start set")
            }
            MetalNotice::SignpostNotFound { name, is_end: false, occurrences } => {
                let times = counted(*occurrences, "time", "times");
                write!(f, "signpost \"{name}\" occurs only {times}: no start set")
            }
            MetalNotice::SignpostRepeats { name, occurrences } => {
                write!(f, "signpost \"{name}\" occurs {occurrences} times: the first counts")
            }
            MetalNotice::SteppedBack { empty, taken: Some(taken) } => {
                write!(f, "no operation follows signpost {empty}: what follows {taken} is reported")
            }
            MetalNotice::SteppedBack { empty, taken: None } => {
                write!(
                    f,
                    "no operation follows signpost {empty}, nor any signpost before it: all is reported"
                )
            }
            MetalNotice::EmptyWindow { after, before } => {
                f.write_str("no row")?;
                if let Some(mark) = after {
                    write!(f, " after signpost {mark}")?;
                }
                if let Some(mark) = before {
                    write!(f, "{} before signpost {mark}", if after.is_some() { " and" } else { "" })?;
                }
                Ok(())
            }
            MetalNotice::OnlySignposts { signposts } => {
                write!(f, "the files hold {} and no operation", counted(*signposts, "signpost", "signposts"))
            }
            MetalNotice::NothingLeft { of: 0 } => f.write_str("no rows to report"),
            MetalNotice::NothingLeft { of } => {
                write!(f, "the filters leave none of {}", counted(*of, "row", "rows"))
            }
            MetalNotice::NoDevices => f.write_str("no row names a device: nothing to merge"),
            MetalNotice::DevicesKeptApart { devices } => {
                write!(f, "operations of {devices} devices, each device for itself")
            }
            MetalNotice::DevicesMerged { devices, rows, into } => {
                let (operations, rows) =
                    (counted(*rows, "operation", "operations"), counted(*into, "row", "rows"));
                write!(f, "{operations} of {devices} devices merged into {rows}")
            }
            MetalNotice::IncompleteCalls { calls, first, id, lacking } => {
                let lacking: Vec<String> = lacking.iter().map(u32::to_string).collect();
                write!(
                    f,
                    "{} not on all devices (first: {first}, ID {id}, not on device {})",
                    counted(*calls, "call is", "calls are"),
                    lacking.join(", ")
                )
            }
            MetalNotice::AlignedByName { rows } => write!(
                f,
                "{} no call count that tells the call: devices are aligned by the names of operations",
                counted(*rows, "row has", "rows have")
            ),
            MetalNotice::FrontsDiffer { times, first } => write!(
                f,
                "devices with another operation than the lowest one's, or none left, passed over {} \
                 (first at {first}): rows may be unmerged",
                counted(*times, "time", "times")
            ),
            MetalNotice::DeviceUnknown { rows } => {
                let operations = counted(*rows, "operation of a device does", "operations of devices do");
                write!(f, "{operations} not say which device: not merged")
            }
            MetalNotice::Unclassified { names } => {
                f.write_str("operations of no known category: ")?;
                for (i, (name, count)) in names.iter().enumerate() {
                    write!(f, "{}{name} ({count})", if i == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
            MetalNotice::ActiveExpertsUnknown { rows } => write!(
                f,
                "{} not say how many experts are computed: no figures",
                counted(*rows, "sparse product does", "sparse products do")
            ),
            MetalNotice::InvalidDurations { rows, id } => {
                let rows = counted(*rows, "row has", "rows have");
                write!(f, "{rows} no duration that can be right (first: ID {id}): left out of sums")
            }
            MetalNotice::SubDevices { named, budgets } => {
                let budgets: Vec<String> = budgets.iter().map(u32::to_string).collect();
                let why =
                    if *named { "rows name sub-devices" } else { "operations differ in cores available" };
                write!(
                    f,
                    "{why} (available cores: {}): totals add times as if operations ran one after the other",
                    budgets.join(", ")
                )
            }
            MetalNotice::AboveHundred { rows, id, percent } => write!(
                f,
                "{} more than 100 % of the chip ({percent:.1} % at ID {id}): the model of the operation, or the \
                 chip, is not what ran",
                counted(*rows, "row reaches", "rows reach")
            ),
        }
    }
}

/// How many of what, with the words of its number: `1 row reaches`, `2 rows reach`.
pub(crate) fn counted(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_several() {
        let above = |rows| MetalNotice::AboveHundred { rows, id: 7, percent: 120.0 };
        let calls = |calls| MetalNotice::IncompleteCalls {
            calls,
            first: "Matmul".to_owned(),
            id: 3,
            lacking: vec![1],
        };
        for (notice, start) in [
            (above(1), "1 row reaches more than 100 % of the chip (120.0 % at ID 7): "),
            (above(2), "2 rows reach more than 100 % of the chip (120.0 % at ID 7): "),
            (calls(1), "1 call is not on all devices (first: Matmul, ID 3, not on device 1)"),
            (calls(2), "2 calls are not on all devices (first: Matmul, ID 3, not on device 1)"),
            (MetalNotice::OnlySignposts { signposts: 1 }, "the files hold 1 signpost and no operation"),
            (MetalNotice::NothingLeft { of: 1 }, "the filters leave none of 1 row"),
            (MetalNotice::NothingLeft { of: 3 }, "the filters leave none of 3 rows"),
            (
                MetalNotice::DevicesMerged { devices: 2, rows: 2, into: 1 },
                "2 operations of 2 devices merged into 1 row",
            ),
            (MetalNotice::AlignedByName { rows: 1 }, "1 row has no call count"),
            (MetalNotice::DeviceUnknown { rows: 1 }, "1 operation of a device does not say which device"),
            (MetalNotice::ActiveExpertsUnknown { rows: 1 }, "1 sparse product does not say how many experts"),
            (MetalNotice::InvalidDurations { rows: 1, id: 4 }, "1 row has no duration that can be right"),
        ] {
            let text = notice.to_string();
            assert!(text.starts_with(start), "{text}");
        }
    }
}
