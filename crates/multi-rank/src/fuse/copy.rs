//! Copies the entries of a recording, with its ids, times and rank made those of the job.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;

use trace_ingest::{Category, EntryVisitor, Member, RawEntry, members};

use super::choice::Choice;
use super::file::FusedFile;
use super::ids::{Highest, IdKind, Ids};
use crate::clocks::Correction;

/// Takes note of the highest ids of the entries that are chosen.
pub(crate) struct HighestIds<'a> {
    pub(crate) choice: &'a Choice<'a>,
    pub(crate) highest: &'a mut Highest,
}

impl EntryVisitor for HighestIds<'_> {
    fn fact(&mut self, _: &'static str, _: &[u8]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn entry(&mut self, entry: RawEntry<'_>) -> ControlFlow<()> {
        if entry.phase == Some(b'M') || self.choice.has(&entry) {
            for member in members(entry.text).unwrap_or_default() {
                if let Some(kind) = kind_of_field(member.key) {
                    self.add(kind, &member);
                } else if member.key == b"args" {
                    for argument in members(member.text).unwrap_or_default() {
                        if let Some(kind) = IdKind::from_argument(argument.key) {
                            self.add(kind, &argument);
                        }
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }
}

impl HighestIds<'_> {
    fn add(&mut self, kind: IdKind, member: &Member<'_>) {
        if let Some(Id::Number(id)) = Id::of(member) {
            self.highest.add(kind, id);
        }
    }
}

/// What a field of an event holds, if it is an id.
fn kind_of_field(key: &[u8]) -> Option<IdKind> {
    match key {
        b"pid" => Some(IdKind::Process),
        b"id" | b"bind_id" => Some(IdKind::Link),
        _ => None,
    }
}

/// An id as it is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Id<'t> {
    Number(u64),
    /// Another text, escapes not resolved.
    Text(&'t [u8]),
}

impl<'t> Id<'t> {
    /// `None` for what is no id: negative numbers, which mean that there is none, and `null`.
    fn of(member: &Member<'t>) -> Option<Self> {
        match (member.integer(), member.quoted()) {
            (Some(_), _)
                if member.text.trim_ascii_start().iter().find(|byte| **byte != b'"') == Some(&b'-') =>
            {
                None
            }
            // What was above the range of signed numbers is in it again.
            (Some(number), _) => Some(Id::Number(number.cast_unsigned())),
            (None, Some(text)) => Some(Id::Text(text)),
            (None, None) => None,
        }
    }
}

/// A process of a recording.
#[derive(Debug)]
pub(crate) struct Process {
    /// Its new id, as JSON.
    pub(crate) id: Vec<u8>,
    /// Whether something ran on a device in it.
    pub(crate) is_device: bool,
    /// Its name and the like, which are written where it has an event.
    metadata: Vec<Vec<u8>>,
    has_events: bool,
}

/// How a process is called in its recording: texts after numbers.
type OldProcess = (u64, Vec<u8>);

/// Times of a recording on the clock of the fused trace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shift {
    pub(crate) correction: Correction,
    /// Time of the host's clock at 0 of the recording, in nanoseconds.
    pub(crate) base: i64,
    /// The same of the fused trace.
    pub(crate) fused_base: i64,
}

impl Shift {
    fn at(&self, time: i64) -> i64 {
        /// Bases beyond are of no clock; the sums below stay in range with them.
        const LATEST: i64 = i64::MAX / 4;
        let base = |base: i64| base.clamp(-LATEST, LATEST);
        self.correction.apply(time.saturating_add(base(self.base))).saturating_sub(base(self.fused_base))
    }

    fn is_none(&self) -> bool {
        self.base == self.fused_base && self.correction == Correction::default()
    }

    /// Whether the clock runs as fast as that of the fused trace.
    fn keeps_durations(&self) -> bool {
        self.correction.drift == 0.0 && self.correction.jumps.is_empty()
    }

    /// The times of an entry, start and duration, as far as they change. A duration ends where the clock says.
    fn times(&self, start: Option<i64>, duration: Option<i64>) -> (Option<i64>, Option<i64>) {
        let Some(old) = start.filter(|_| !self.is_none()) else { return (None, None) };
        let new = self.at(old);
        let on_clock = |duration: i64| self.at(old.saturating_add(duration)).saturating_sub(new).max(0);
        let changed = duration
            .filter(|&duration| duration >= 0 && !self.keeps_durations())
            .map(|duration| (duration, on_clock(duration)))
            .filter(|(old, new)| old != new);
        (Some(new), changed.map(|(_, new)| new))
    }
}

/// Copies the entries of one recording.
pub(crate) struct Copier<'a> {
    pub(crate) file: &'a mut FusedFile,
    pub(crate) ids: &'a mut Ids,
    pub(crate) choice: &'a Choice<'a>,
    pub(crate) rank: u32,
    pub(crate) shift: Shift,
    /// Whether the facts of the recording are those of the fused trace.
    pub(crate) gives_facts: bool,
    pub(crate) processes: BTreeMap<OldProcess, Process>,
    /// Entries that were written, other than names of processes and threads.
    pub(crate) events: u64,
    /// Well-formed entries that were seen.
    pub(crate) seen: u64,
    /// Entries that cannot be made valid JSON.
    pub(crate) unusable: u64,
    pub(crate) failure: Option<io::Error>,
}

impl EntryVisitor for Copier<'_> {
    fn fact(&mut self, key: &'static str, value: &[u8]) -> ControlFlow<()> {
        if self.gives_facts {
            self.file.add_fact(key, value);
        }
        ControlFlow::Continue(())
    }

    fn entry(&mut self, entry: RawEntry<'_>) -> ControlFlow<()> {
        self.seen += 1;
        let is_metadata = entry.phase == Some(b'M');
        let is_wanted = match is_metadata {
            // Those that are written for every process.
            true => !matches!(&*entry.name(), "process_name" | "process_sort_index"),
            false => self.choice.has(&entry),
        };
        if !is_wanted {
            return ControlFlow::Continue(());
        }
        let text = entry.valid_json();
        let Some(Rewritten { text, process }) = text.as_deref().and_then(|text| self.rewritten(text)) else {
            self.unusable += 1;
            return ControlFlow::Continue(());
        };
        if is_metadata {
            match process {
                Some(process) => process.metadata.push(text),
                None => self.unusable += 1,
            }
            return ControlFlow::Continue(());
        }
        if let Some(process) = process {
            process.has_events = true;
            process.is_device |= entry
                .category()
                .is_some_and(|category| category.is_device() || category == Category::GPU_USER_ANNOTATION);
        }
        self.events += 1;
        match self.file.add_entry(&text) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failure = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

/// An entry of the fused trace.
struct Rewritten<'c> {
    text: Vec<u8>,
    process: Option<&'c mut Process>,
}

/// An object that is written.
struct Object(Vec<u8>);

impl Object {
    fn new() -> Self {
        Object(b"{".to_vec())
    }

    fn add(&mut self, key: &[u8], value: &[u8]) {
        self.add_with(key, b"", value);
    }

    /// Adds a member whose key has something behind it.
    fn add_with(&mut self, key: &[u8], behind: &[u8], value: &[u8]) {
        let separator: &[u8] = if self.0.len() > 1 { b", \"" } else { b"\"" };
        for part in [separator, key, behind, b"\": ", value] {
            self.0.extend_from_slice(part);
        }
    }

    fn end(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}

impl Copier<'_> {
    /// The entry that a text becomes; `None` where it is no object.
    fn rewritten(&mut self, text: &[u8]) -> Option<Rewritten<'_>> {
        let found = members(text)?;
        let (mut event, mut arguments) = (Object::new(), Object::new());
        arguments.add(b"rank", self.rank.to_string().as_bytes());
        let time = |key: &[u8]| found.iter().find(|member| member.key == key)?.nanoseconds();
        let (start, duration) = self.shift.times(time(b"ts"), time(b"dur"));
        let (mut process, mut own_arguments) = (None, None);
        for member in &found {
            let Member { key, text, .. } = *member;
            match key {
                b"args" => own_arguments = Some(member),
                b"ts" if start.is_some() => event.add(key, microseconds(start?).as_bytes()),
                b"dur" if duration.is_some() => {
                    event.add(key, microseconds(duration?).as_bytes());
                    arguments.add_with(key, b"_raw", text);
                }
                _ => match kind_of_field(key).and_then(|kind| Some((kind, Id::of(member)?))) {
                    Some((kind, id)) => {
                        let new = self.new_id(kind, id, member);
                        event.add(key, &new);
                        arguments.add_with(key, b"_raw", text);
                        if kind == IdKind::Process {
                            process = Some((id, new));
                        }
                    }
                    None => event.add(key, text),
                },
            }
        }
        self.add_arguments(&mut arguments, own_arguments);
        event.add(b"args", &arguments.end());
        let process = process.map(|(id, new)| {
            let old = match id {
                Id::Number(number) => (number, Vec::new()),
                Id::Text(text) => (u64::MAX, text.to_vec()),
            };
            self.processes.entry(old).or_insert_with(|| Process {
                id: new,
                is_device: false,
                metadata: Vec::new(),
                has_events: false,
            })
        });
        Some(Rewritten { text: event.end(), process })
    }

    fn add_arguments(&mut self, arguments: &mut Object, own: Option<&Member<'_>>) {
        let Some(own) = own.filter(|own| !own.is_null()) else { return };
        let Some(found) = members(own.text) else { return arguments.add(b"args_raw", own.text) };
        for member in &found {
            let Member { key, text, .. } = *member;
            match IdKind::from_argument(key).and_then(|kind| Some((kind, Id::of(member)?))) {
                // A node outside of any graph.
                Some((_, Id::Number(0))) if key.starts_with(b"graph") => arguments.add(key, text),
                Some((kind, id)) => {
                    let new = self.new_id(kind, id, member);
                    arguments.add(key, &new);
                    arguments.add_with(key, b"_raw", text);
                }
                None if key == b"rank" => arguments.add_with(key, b"_raw", text),
                None => arguments.add(key, text),
            }
        }
    }

    /// The new id as JSON, in quotes where the old one is.
    fn new_id(&mut self, kind: IdKind, id: Id<'_>, member: &Member<'_>) -> Vec<u8> {
        let new = match id {
            Id::Number(old) => self.ids.new_id(kind, old).to_string().into_bytes(),
            Id::Text(old) => {
                [format!("RANK {} ", self.rank).as_bytes(), old].concat().trim_ascii_end().to_vec()
            }
        };
        if member.quoted().is_some() { [b"\"", &new[..], b"\""].concat() } else { new }
    }

    /// Writes the names of threads and the like, and hands out the processes that have events, in their order.
    pub(crate) fn finish(self) -> io::Result<Vec<Process>> {
        let processes: Vec<Process> =
            self.processes.into_values().filter(|process| process.has_events).collect();
        for metadata in processes.iter().flat_map(|process| &process.metadata) {
            self.file.add_entry(metadata)?;
        }
        Ok(processes)
    }
}

/// A time in nanoseconds as microseconds.
pub(crate) fn microseconds(time: i64) -> String {
    let sign = if time < 0 { "-" } else { "" };
    format!("{sign}{}.{:03}", time.unsigned_abs() / 1000, time.unsigned_abs() % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clocks::Jump;

    #[test]
    fn events_that_touch_or_nest_do_so_on_another_clock() {
        let correction = Correction {
            offset: 1_000,
            drift: 250_000.0,
            jumps: vec![Jump { at: 5_000_000, by: 70_000 }],
            ..Correction::default()
        };
        let shift = Shift { correction, base: 10, fused_base: 0 };
        let span = |start: i64, duration: i64| {
            let (new, changed) = shift.times(Some(start), Some(duration));
            (new.unwrap(), new.unwrap() + changed.unwrap_or(duration))
        };
        let outer = span(1_000_000, 8_000_001);
        let parts = [(1_000_000, 3_999_990), (4_999_990, 1), (4_999_991, 1_000_009), (6_000_000, 3_000_001)];
        let parts = parts.map(|(start, duration)| span(start, duration));
        assert!(parts.windows(2).all(|two| two[0].1 == two[1].0), "{parts:?}");
        assert_eq!((parts[0].0, parts[3].1), outer);
        // 250 µs in a second, over 8 ms, and the jump.
        assert_eq!(outer.1 - outer.0, 8_000_001 - 2_000 - 70_000);
        let same = Shift { base: 5, fused_base: 5, ..Shift::default() };
        assert_eq!(same.times(Some(1), Some(2)), (None, None));
        let later = Shift { base: 5, fused_base: 2, ..Shift::default() };
        assert_eq!(later.times(Some(1), Some(2)), (Some(4), None));
        assert_eq!([-1, 0, 1_234_567].map(microseconds), ["-0.001", "0.000", "1234.567"]);
    }
}
