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
#[derive(Clone, Debug, PartialEq, thiserror::Error, miette::Diagnostic)]
pub enum MetalNotice {
    /// Something about the files.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Reading(OpsWarning),
    /// No file names a chip, and the user neither.
    #[error("the file does not name the chip: assumed {chip} with {cores} cores{}", more_than(*.most_used))]
    #[diagnostic(code("tenstorrent/chip-guessed"), severity(Warning), help("specify the chip"))]
    ChipGuessed {
        /// Which one was taken.
        chip: &'static str,
        /// Cores that operations can use, by that.
        cores: u32,
        /// Most cores that any operation ran on, when that is fewer.
        most_used: Option<u32>,
    },
    /// The files name several chips.
    #[error("the files are from several chips ({}): all are rated against the peaks of {taken}", .names.join(", "))]
    #[diagnostic(code("tenstorrent/several-chips"), severity(Warning))]
    SeveralChips {
        /// The names.
        names: Vec<String>,
        /// Which one was taken.
        taken: &'static str,
    },
    /// Cards of several bandwidths have this chip; the figures are of the first.
    #[error(
        "\"{chip}\" is sold on several cards: DRAM percentages assume {dram_gb_per_s} GB/s (the other card: {others})"
    )]
    #[diagnostic(code("tenstorrent/card-assumed"), severity(Warning))]
    CardAssumed {
        /// Name in the file.
        chip: String,
        /// Bandwidth that the percentages are of, in 1e9 bytes per second.
        dram_gb_per_s: f64,
        /// Names to give for the others.
        others: &'static str,
    },
    /// Rows have no time of the host: they are in the order of the file.
    #[error("there is no column HOST START TS: rows are in file order, not in time order")]
    #[diagnostic(code("tenstorrent/not-sorted"), severity(Warning))]
    NotSorted,
    /// What is reported, of what the files hold.
    #[error("reporting rows{}", between(.after.as_ref(), .before.as_ref(), *.file))]
    #[diagnostic(code("tenstorrent/window"), severity(Warning))]
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
    #[error("{}", not_found(.name, *.is_end, *.occurrences))]
    #[diagnostic(code("tenstorrent/signpost-not-found"), severity(Warning))]
    SignpostNotFound {
        /// Its text.
        name: String,
        /// Whether it should end the window.
        is_end: bool,
        /// How often it occurs.
        occurrences: usize,
    },
    /// A signpost occurs several times.
    #[error("signpost \"{name}\" occurs {occurrences} times: the first is used")]
    #[diagnostic(code("tenstorrent/signpost-repeats"), severity(Warning))]
    SignpostRepeats {
        /// Its text.
        name: String,
        /// How often.
        occurrences: usize,
    },
    /// No operation follows the last signposts: an earlier one was taken, or the whole file.
    #[error("no operation follows signpost {empty}{}", taken_instead(.taken.as_ref()))]
    #[diagnostic(code("tenstorrent/stepped-back"), severity(Warning))]
    SteppedBack {
        /// The signpost that nothing follows.
        empty: SignpostMark,
        /// Which one was taken.
        taken: Option<SignpostMark>,
    },
    /// There is no row between the signposts.
    #[error("no row{}", after_and_before(.after.as_ref(), .before.as_ref()))]
    #[diagnostic(code("tenstorrent/empty-window"), severity(Warning))]
    EmptyWindow {
        /// The signpost before.
        after: Option<SignpostMark>,
        /// The signpost behind.
        before: Option<SignpostMark>,
    },
    /// The files hold signposts only.
    #[error("the files have {} and no operations", counted(*.signposts, "signpost", "signposts"))]
    #[diagnostic(code("tenstorrent/only-signposts"), severity(Warning))]
    OnlySignposts {
        /// How many.
        signposts: usize,
    },
    /// The files hold no rows, or the filters left none.
    #[error("{}", nothing_left(*.of))]
    #[diagnostic(code("tenstorrent/nothing-left"), severity(Warning))]
    NothingLeft {
        /// How many rows the window had.
        of: usize,
    },
    /// There is no operation of a device: nothing to put together.
    #[error("no row names a device: nothing to merge")]
    #[diagnostic(code("tenstorrent/no-devices"), severity(Warning))]
    NoDevices,
    /// Operations of several devices are shown one by one.
    #[error("operations of {devices} devices are not merged")]
    #[diagnostic(code("tenstorrent/devices-kept-apart"), severity(Warning))]
    DevicesKeptApart {
        /// How many devices.
        devices: usize,
    },
    /// The same operation of several devices is one row.
    #[error("{} of {devices} devices merged into {}", counted(*.rows, "operation", "operations"), counted(*.into, "row", "rows"))]
    #[diagnostic(code("tenstorrent/devices-merged"), severity(Warning))]
    DevicesMerged {
        /// How many devices.
        devices: usize,
        /// Rows that were put together.
        rows: usize,
        /// Rows that they became.
        into: usize,
    },
    /// Calls that not all devices have.
    #[error("{} not on all devices (first: {first}, ID {id}, not on device {})", counted(*.calls, "call is", "calls are"), numbers(.lacking))]
    #[diagnostic(code("tenstorrent/incomplete-calls"), severity(Warning))]
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
    #[error("{} no usable call count: devices are aligned by operation name", counted(*.rows, "row has", "rows have"))]
    #[diagnostic(code("tenstorrent/aligned-by-name"), severity(Warning))]
    AlignedByName {
        /// How many rows.
        rows: usize,
    },
    /// Devices that have run out of operations, or that have another one, were passed over.
    #[error("{}, a device was left out of a merged row (first at {first}) because its operation is missing or differs from that of the lowest-numbered device: some operations may still have one row per device", counted(*.times, "time", "times"))]
    #[diagnostic(code("tenstorrent/fronts-differ"), severity(Warning))]
    FrontsDiffer {
        /// How many times.
        times: usize,
        /// Name of the first operation.
        first: String,
    },
    /// Operations of a device that do not say which.
    #[error("{} not name the device: not merged", counted(*.rows, "device operation does", "device operations do"))]
    #[diagnostic(code("tenstorrent/device-unknown"), severity(Warning))]
    DeviceUnknown {
        /// How many.
        rows: usize,
    },
    /// Operations that no category names.
    #[error("operations of unknown category: {}", with_counts(.names))]
    #[diagnostic(code("tenstorrent/unclassified"), severity(Warning))]
    Unclassified {
        /// Names and how often, by name.
        names: Vec<(String, usize)>,
    },
    /// Sparse products that do not say how many experts they compute.
    #[error("{} not record the number of active experts: FLOPs and bytes unknown", counted(*.rows, "sparse matmul does", "sparse matmuls do"))]
    #[diagnostic(code("tenstorrent/active-experts-unknown"), severity(Warning))]
    ActiveExpertsUnknown {
        /// How many.
        rows: usize,
    },
    /// Rows whose duration cannot be right.
    #[error("{} an implausible duration (first: ID {id}): excluded from sums", counted(*.rows, "row has", "rows have"))]
    #[diagnostic(code("tenstorrent/invalid-durations"), severity(Warning))]
    InvalidDurations {
        /// How many.
        rows: usize,
        /// ID of the first.
        id: u32,
    },
    /// Operations may run beside each other, on parts of a device: sums count their times one after the other.
    #[error("{} (available cores: {}): totals add times as if operations ran sequentially", if *.named { "rows name sub-devices" } else { "operations may use different numbers of cores" }, numbers(.budgets))]
    #[diagnostic(code("tenstorrent/sub-devices"), severity(Warning))]
    SubDevices {
        /// Whether rows name sub-devices; else their numbers of cores to run on differ.
        named: bool,
        /// Different numbers of cores that operations could use, ascending.
        budgets: Vec<u32>,
    },
    /// Percentages above 100: the operation does less than its model says, or the chip does more.
    #[error("{} more than 100% of the chip ({percent:.1}% at ID {id}): the performance model or the assumed chip is wrong", counted(*.rows, "row reaches", "rows reach"))]
    #[diagnostic(code("tenstorrent/above-hundred"), severity(Warning))]
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
    pub(crate) fn excuses_empty_report(&self) -> bool {
        matches!(
            self,
            MetalNotice::OnlySignposts { .. }
                | MetalNotice::EmptyWindow { .. }
                | MetalNotice::NothingLeft { .. }
        )
    }
}

fn more_than(most_used: Option<u32>) -> String {
    most_used.map_or_else(String::new, |used| format!(", although no operation ran on more than {used}"))
}

fn between(after: Option<&SignpostMark>, before: Option<&SignpostMark>, file: Option<u32>) -> String {
    let mut words = String::new();
    words.extend(after.map(|mark| format!(" after signpost {mark}")));
    words.extend(before.map(|mark| format!(" before signpost {mark}")));
    words.extend(file.map(|file| format!(" of file {}", file + 1)));
    words
}

fn after_and_before(after: Option<&SignpostMark>, before: Option<&SignpostMark>) -> String {
    let mut words = Vec::new();
    words.extend(after.map(|mark| format!(" after signpost {mark}")));
    words.extend(before.map(|mark| format!(" before signpost {mark}")));
    words.join(" and")
}

fn not_found(name: &str, is_end: bool, occurrences: usize) -> String {
    match (is_end, occurrences) {
        (true, 0) => format!("no signpost \"{name}\": the requested end is ignored"),
        (true, _) => format!(
            "no signpost \"{name}\" after the start ({occurrences} in all): the requested end is ignored"
        ),
        (false, 0) => format!("no signpost \"{name}\": the requested start is ignored"),
        (false, _) => {
            format!(
                "signpost \"{name}\" occurs only {}: the requested start is ignored",
                counted(occurrences, "time", "times")
            )
        }
    }
}

fn taken_instead(taken: Option<&SignpostMark>) -> String {
    match taken {
        Some(taken) => format!(": the rows after {taken} are reported"),
        None => " or any earlier one: the whole file is reported".to_owned(),
    }
}

fn nothing_left(of: usize) -> String {
    match of {
        0 => "no rows to report".to_owned(),
        1 => "the filters exclude the only row".to_owned(),
        of => format!("the filters exclude all {of} rows"),
    }
}

fn numbers(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

fn with_counts(names: &[(String, usize)]) -> String {
    names.iter().map(|(name, count)| format!("{name} ({count})")).collect::<Vec<_>>().join(", ")
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
            (above(1), "1 row reaches more than 100% of the chip (120.0% at ID 7): "),
            (above(2), "2 rows reach more than 100% of the chip (120.0% at ID 7): "),
            (calls(1), "1 call is not on all devices (first: Matmul, ID 3, not on device 1)"),
            (calls(2), "2 calls are not on all devices (first: Matmul, ID 3, not on device 1)"),
            (MetalNotice::OnlySignposts { signposts: 1 }, "the files have 1 signpost and no operations"),
            (MetalNotice::NothingLeft { of: 1 }, "the filters exclude the only row"),
            (MetalNotice::NothingLeft { of: 3 }, "the filters exclude all 3 rows"),
            (
                MetalNotice::DevicesMerged { devices: 2, rows: 2, into: 1 },
                "2 operations of 2 devices merged into 1 row",
            ),
            (MetalNotice::AlignedByName { rows: 1 }, "1 row has no usable call count"),
            (MetalNotice::DeviceUnknown { rows: 1 }, "1 device operation does not name the device"),
            (
                MetalNotice::ActiveExpertsUnknown { rows: 1 },
                "1 sparse matmul does not record the number of active experts",
            ),
            (MetalNotice::InvalidDurations { rows: 1, id: 4 }, "1 row has an implausible duration"),
        ] {
            let text = notice.to_string();
            assert!(text.starts_with(start), "{text}");
        }
    }
}
