//! What was wrong with the events of a trace, counted over all its runs.

use super::run::{Run, Tally};
use crate::warning::Warning;

#[derive(Default)]
pub(crate) struct Faults {
    malformed: u64,
    malformed_bytes: u64,
    first_malformed: Option<(u64, &'static str)>,
    without_timestamp: Tally,
    without_duration: Tally,
    pub(crate) negative_duration: Tally,
    without_name: Tally,
    pub(crate) unclosed: Tally,
    pub(crate) unopened: Tally,
    unused_phases: Vec<(Option<char>, u64)>,
    pub(crate) unknown_metadata: u64,
    pub(crate) invalid_utf8: u64,
    /// Text after the end of the trace, in bytes.
    pub(crate) trailing: u64,
}

impl Faults {
    /// Adds those of a run that begins at `offset` of the text with entry `first_uid`.
    pub(crate) fn append(&mut self, run: &Run, offset: u64, first_uid: u32) {
        let of_run = &run.faults;
        self.malformed += of_run.malformed;
        self.malformed_bytes += of_run.malformed_bytes;
        if let (None, Some((at, reason))) = (self.first_malformed, of_run.first_malformed) {
            self.first_malformed = Some((offset + at as u64, reason));
        }
        for (tally, more) in [
            (&mut self.without_timestamp, of_run.without_timestamp),
            (&mut self.without_duration, of_run.without_duration),
            (&mut self.negative_duration, of_run.negative_duration),
            (&mut self.without_name, of_run.without_name),
        ] {
            if tally.count == 0 {
                tally.first = first_uid + more.first;
            }
            tally.count += more.count;
        }
        for &(phase, count) in &of_run.unused_phases {
            match self.unused_phases.iter_mut().find(|(known, _)| *known == phase) {
                Some((_, total)) => *total += count,
                None => self.unused_phases.push((phase, count)),
            }
        }
        self.unknown_metadata += of_run.unknown_metadata;
    }

    /// Adds a warning per kind that occurred.
    pub(crate) fn report(&self, warnings: &mut Vec<Warning>) {
        if let Some((first_offset, detail)) = self.first_malformed {
            let (count, bytes_skipped) = (self.malformed, self.malformed_bytes);
            warnings.push(Warning::MalformedEvents { count, first_offset, detail, bytes_skipped });
        }
        let tallied = |tally: Tally, warning: fn(u64, u32) -> Warning| {
            (tally.count > 0).then(|| warning(tally.count, tally.first))
        };
        warnings.extend(tallied(self.without_timestamp, |count, first_uid| Warning::WithoutTimestamp {
            count,
            first_uid,
        }));
        warnings.extend(tallied(self.without_duration, |count, first_uid| Warning::WithoutDuration {
            count,
            first_uid,
        }));
        warnings.extend(tallied(self.negative_duration, |count, first_uid| Warning::NegativeDuration {
            count,
            first_uid,
        }));
        warnings
            .extend(tallied(self.without_name, |count, first_uid| Warning::WithoutName { count, first_uid }));
        warnings
            .extend(tallied(self.unclosed, |count, first_uid| Warning::UnclosedBegin { count, first_uid }));
        warnings.extend(tallied(self.unopened, |count, first_uid| Warning::UnopenedEnd { count, first_uid }));
        warnings
            .extend(self.unused_phases.iter().map(|&(phase, count)| Warning::UnusedPhase { phase, count }));
        if self.unknown_metadata > 0 {
            warnings.push(Warning::UnknownMetadata { count: self.unknown_metadata });
        }
        if self.invalid_utf8 > 0 {
            warnings.push(Warning::InvalidUtf8 { count: self.invalid_utf8 });
        }
        if self.trailing > 0 {
            warnings.push(Warning::TrailingText { bytes: self.trailing });
        }
    }
}
