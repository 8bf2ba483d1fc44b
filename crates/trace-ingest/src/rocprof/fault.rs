//! Recoverable faults of a profile, counted.

use std::fmt;

use crate::warning::Warning;

/// A fault that reading got over. Each kind occurs once per profile and place with its count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProfileWarning {
    /// The file ends in the middle; every complete record before was read.
    Truncated {
        /// Bytes (of decompressed content) that could not be used.
        bytes_lost: u64,
    },
    /// Compressed data is damaged; everything before was read.
    DamagedCompression {
        /// What the decompressor said.
        detail: String,
    },
    /// Records that could not be read were left out.
    MalformedRecords {
        /// List or table that they stand in.
        list: String,
        /// How many.
        count: u64,
        /// What is wrong with the first.
        detail: String,
    },
    /// Records of a kind that no analysis uses were left out.
    UnusedRecords {
        /// List that they stand in.
        list: String,
        /// How many.
        count: u64,
    },
    /// Records that do not say when they began or ended were read as having no length.
    WithoutTimes {
        /// List that they stand in.
        list: String,
        /// How many.
        count: u64,
    },
    /// The text cannot be made sense of from a place on; every record before was read.
    BrokenText {
        /// The place, in bytes of decompressed text.
        offset: u64,
        /// What is wrong there.
        detail: String,
        /// Bytes that could not be used.
        bytes_lost: u64,
    },
    /// Records that end before they begin were read as having no length.
    NegativeDuration {
        /// How many.
        count: u64,
    },
    /// Dispatches of kernels that the file does not describe are named after the kernel's number.
    UnknownKernels {
        /// How many dispatches.
        count: u64,
    },
    /// Records refer to agents that the file does not describe.
    UnknownAgents {
        /// How many records.
        count: u64,
    },
    /// Packets that rely on packets which the file has lost were left out.
    LostPackets {
        /// How many.
        count: u64,
    },
    /// Slices that were begun and never ended have no length.
    UnclosedSlices {
        /// How many.
        count: u64,
    },
    /// Texts held bytes that are not UTF-8; these were replaced by `U+FFFD`.
    InvalidUtf8 {
        /// How many texts.
        count: u64,
    },
    /// Files beside the one that was named could not be read and were left out.
    UnreadFile {
        /// Its name.
        name: String,
        /// Why.
        detail: String,
    },
    /// An archive holds several files; only one was read.
    OtherArchiveMembers {
        /// The file that was read.
        read: String,
        /// How many were not.
        ignored: u64,
    },
}

impl ProfileWarning {
    /// What opening a file got over.
    pub(crate) fn of_opening(warnings: Vec<Warning>) -> impl Iterator<Item = ProfileWarning> {
        warnings.into_iter().filter_map(|warning| match warning {
            Warning::OtherArchiveMembers { read, ignored } => {
                Some(ProfileWarning::OtherArchiveMembers { read, ignored })
            }
            _ => None,
        })
    }
}

impl fmt::Display for ProfileWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProfileWarning::Truncated { bytes_lost } => write!(
                f,
                "the file ends early: every complete record was read, {bytes_lost} bytes after the last one are lost"
            ),
            ProfileWarning::DamagedCompression { detail } => {
                write!(f, "the compressed data is damaged ({detail}): what comes behind is lost")
            }
            ProfileWarning::MalformedRecords { list, count, detail } => {
                write!(f, "records of {list} that could not be read left out: {count} (first: {detail})")
            }
            ProfileWarning::UnusedRecords { list, count } => {
                write!(f, "records of {list}, which no analysis uses, left out: {count}")
            }
            ProfileWarning::WithoutTimes { list, count } => {
                write!(f, "records of {list} without a start or an end read as zero long: {count}")
            }
            ProfileWarning::BrokenText { offset, detail, bytes_lost } => write!(
                f,
                "the text is broken at byte {offset} ({detail}): every record before was read, {bytes_lost} bytes are lost"
            ),
            ProfileWarning::NegativeDuration { count } => {
                write!(f, "records that end before they begin read as zero long: {count}")
            }
            ProfileWarning::UnknownKernels { count } => {
                write!(
                    f,
                    "dispatches of kernels that the file does not describe: {count}; they are named by number"
                )
            }
            ProfileWarning::UnknownAgents { count } => {
                write!(f, "records of agents that the file does not describe: {count}")
            }
            ProfileWarning::LostPackets { count } => {
                write!(f, "packets that rely on lost ones left out: {count}; record with a larger buffer")
            }
            ProfileWarning::UnclosedSlices { count } => {
                write!(f, "slices without an end read as zero long: {count}")
            }
            ProfileWarning::InvalidUtf8 { count } => {
                write!(f, "texts with invalid UTF-8, replaced by U+FFFD: {count}")
            }
            ProfileWarning::UnreadFile { name, detail } => write!(f, "{name} was not read: {detail}"),
            ProfileWarning::OtherArchiveMembers { read, ignored } => {
                write!(f, "the archive holds {ignored} more files; only {read:?} was read")
            }
        }
    }
}
