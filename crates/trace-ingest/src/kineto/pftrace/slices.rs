//! Ends of slices.
//!
//! The recorder writes the begins of a group one after the other and then, in the same order, the ends. So the place of
//! an end says which slice it ends, where its time does not: of two slices of which one begins when the other ends, and
//! of slices without a length, the order in time is another than that of nesting.

use crate::event_table::{EventId, EventTable};
use crate::perfetto::Pairing;
use crate::warning::{EventFault, Tally, Warning};

/// A slice that begins.
#[derive(Clone, Copy, Debug)]
struct Slice {
    event: EventId,
    track: u32,
}

/// All slices, whose events have no length until their ends come.
#[derive(Debug, Default)]
pub(super) struct Slices {
    /// In file order.
    begun: Vec<Slice>,
    /// Lengths of the groups before the last.
    groups: Vec<u32>,
    /// Where the last group begins.
    group: usize,
    /// Ends of the last group so far.
    ended: usize,
    /// Where an end is not that of the slice at its place: all of them, to be matched by time, and the first such.
    by_time: Option<(Pairing<EventId>, u32)>,
}

impl Slices {
    /// A slice begins.
    pub(super) fn begin(&mut self, event: EventId, track: u32, events: &EventTable) {
        if self.by_time.is_none() && self.ended > 0 {
            let length = self.begun.len() - self.group;
            if self.ended == length {
                self.groups.push(length as u32);
                (self.group, self.ended) = (self.begun.len(), 0);
            } else {
                self.match_by_time(events);
            }
        }
        match &mut self.by_time {
            Some((pairing, _)) => pairing.begin(track, events.start(event), Some(event)),
            None => self.begun.push(Slice { event, track }),
        }
    }

    /// A slice ends.
    pub(super) fn end(&mut self, track: u32, time: i64, events: &mut EventTable) {
        if self.by_time.is_none() {
            let slice = self.begun.get(self.group + self.ended).copied();
            if let Some(Slice { event, .. }) =
                slice.filter(|slice| slice.track == track && time >= events.start(slice.event))
            {
                events.duration[event.index()] = time - events.start(event);
                self.ended += 1;
                return;
            }
            self.match_by_time(events);
        }
        if let Some((pairing, _)) = &mut self.by_time {
            pairing.end(track, time);
        }
    }

    /// Takes what was matched by place for matching by time, in the order of the file.
    fn match_by_time(&mut self, events: &EventTable) {
        let mut pairing = Pairing::default();
        let mut rest = &self.begun[..];
        let lengths = self.groups.iter().map(|&length| (length as usize, length as usize));
        for (length, ended) in lengths.chain([(self.begun.len() - self.group, self.ended)]) {
            let (group, others) = rest.split_at(length);
            for &Slice { event, track } in group {
                pairing.begin(track, events.start(event), Some(event));
            }
            for &Slice { event, track } in &group[..ended] {
                pairing.end(track, events.end(event));
            }
            rest = others;
        }
        let first = self.begun.get(self.group + self.ended).or(self.begun.last());
        self.by_time = Some((pairing, first.map_or(0, |slice| events.uid(slice.event))));
        (self.begun, self.groups) = (Vec::new(), Vec::new());
    }

    /// Gives the slices their lengths that have none yet; those without an end last until `last`.
    pub(super) fn finish(self, last: i64, events: &mut EventTable, warnings: &mut Vec<Warning>) {
        let mut unended = Tally::default();
        let (mut unopened, mut out_of_order) = (Tally::default(), Tally::default());
        let mut cut = |event: EventId, events: &mut EventTable| {
            unended.add(events.uid(event));
            events.duration[event.index()] = last.max(events.start(event)) - events.start(event);
        };
        match self.by_time {
            None => self.begun[self.group + self.ended..].iter().for_each(|slice| cut(slice.event, events)),
            Some((pairing, first)) => {
                out_of_order.add(first);
                unopened.count = pairing.finish(|event, end| match end {
                    Some(end) => {
                        events.duration[event.index()] = end.max(events.start(event)) - events.start(event)
                    }
                    None => cut(event, events),
                });
            }
        }
        warnings.extend(out_of_order.warning(EventFault::EndOutOfOrder));
        warnings.extend(unended.warning(EventFault::UnendedSlice));
        warnings.extend(unopened.warning(EventFault::UnopenedEnd));
    }
}
