use std::collections::HashMap;

use crate::{DeviceEvent, Interval, busy_time};

/// Which events ran at the same time: the result of [`overlaps`].
///
/// Events are named by their position in the slice that [`overlaps`] was given. The relation is
/// symmetric and no event overlaps itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overlaps {
    /// Partners of event `i` are `partners[offsets[i]..offsets[i + 1]]`.
    offsets: Vec<usize>,
    partners: Vec<u32>,
}

/// Finds the events that ran at the same time on different streams.
///
/// Two events overlap when they share at least `min_shared` of time (and some time at all: events
/// that only touch never overlap), unless both
/// - are known to run on the same stream of the same device, or
/// - are known to belong to the same owner: whatever launched them (the nearest operator on the host), as any identifier, at
///   the position of the event in `owners`. They are one piece of work on several streams.
///
/// An unknown stream or owner is different from every other. 1000 is the usual `min_shared` for
/// nanoseconds: below a microsecond, overlap is the imprecision of clocks.
///
/// O(n log n) plus the number of pairs on different streams. At most `u32::MAX` events.
///
/// ```
/// use gpu_timeline::{Activity, DeviceEvent, overlaps};
///
/// let on_stream =
///     |stream, start, end| DeviceEvent::new(start, end, Activity::Computation).on(Some(0), Some(stream));
/// let events = [on_stream(7, 0, 5_000), on_stream(8, 2_000, 9_000), on_stream(7, 6_000, 8_000)];
/// let found = overlaps(&events, &[None; 3], 1_000);
/// assert_eq!(found.of(1), [0, 2]);
/// assert_eq!(found.pair_count(), 2);
/// ```
#[must_use]
pub fn overlaps(events: &[DeviceEvent], owners: &[Option<u32>], min_shared: i64) -> Overlaps {
    let min_shared = min_shared.max(1);
    // An event shorter than the least shared time cannot overlap anything.
    let mut by_start: Vec<u32> = (0_u32..)
        .zip(events)
        .filter(|(_, event)| event.span.length() >= min_shared)
        .map(|(index, _)| index)
        .collect();
    by_start.sort_unstable_by_key(|&index| (events[index as usize].span.start, index));

    let owner = |index: u32| owners.get(index as usize).copied().flatten();
    let mut running = RunningEvents::default();
    let mut pairs = Vec::new();
    for index in by_start {
        let event = &events[index as usize];
        let lane = running.lane_of(event);
        // Later events start no earlier, so what has less than `min_shared` left will never share
        // enough again; and what remains shares enough with this event, which is long enough itself.
        let shares_enough = |end: i64| end.saturating_sub(event.span.start) >= min_shared;
        running.retain_and_visit_other_lanes(lane, shares_enough, |other| {
            let same_owner = owner(index).is_some() && owner(index) == owner(other);
            if !same_owner {
                pairs.push((other, index));
            }
        });
        running.start(lane, index, event.span.end);
    }
    Overlaps::from_pairs(events.len(), &pairs)
}

/// The events that have started and may still overlap later ones, one list per known stream.
///
/// The lists keep a single busy stream from being searched for every one of its own events, and a
/// list is dropped from `occupied` when it runs empty, so every step of the search either finds a
/// pair on different streams or removes something for good.
#[derive(Default)]
struct RunningEvents {
    lanes: Vec<Vec<(u32, i64)>>,
    lane_of_stream: HashMap<(Option<i64>, i64), usize>,
    /// Lanes whose list is not empty.
    occupied: Vec<usize>,
}

/// The list of events whose stream is unknown; they may overlap one another.
const UNKNOWN_STREAM: usize = 0;

impl RunningEvents {
    fn lane_of(&mut self, event: &DeviceEvent) -> usize {
        let next = self.lane_of_stream.len() + 1;
        let lane = event.stream.map_or(UNKNOWN_STREAM, |stream| {
            *self.lane_of_stream.entry((event.device, stream)).or_insert(next)
        });
        if self.lanes.len() <= lane {
            self.lanes.resize_with(lane + 1, Vec::new);
        }
        lane
    }

    fn retain_and_visit_other_lanes(
        &mut self,
        own_lane: usize,
        may_still_overlap: impl Fn(i64) -> bool,
        mut visit: impl FnMut(u32),
    ) {
        let lanes = &mut self.lanes;
        self.occupied.retain(|&lane| {
            if lane == own_lane && lane != UNKNOWN_STREAM {
                return true;
            }
            lanes[lane].retain(|&(index, end)| {
                let keep = may_still_overlap(end);
                if keep {
                    visit(index);
                }
                keep
            });
            !lanes[lane].is_empty()
        });
    }

    fn start(&mut self, lane: usize, index: u32, end: i64) {
        if self.lanes[lane].is_empty() {
            self.occupied.push(lane);
        }
        self.lanes[lane].push((index, end));
    }
}

impl Overlaps {
    /// `pairs` holds every unordered pair once.
    fn from_pairs(events: usize, pairs: &[(u32, u32)]) -> Self {
        let mut offsets = vec![0; events + 1];
        for &(a, b) in pairs {
            offsets[a as usize + 1] += 1;
            offsets[b as usize + 1] += 1;
        }
        for event in 0..events {
            offsets[event + 1] += offsets[event];
        }
        let mut next = offsets.clone();
        let mut partners = vec![0; pairs.len() * 2];
        for &(a, b) in pairs {
            for (of, partner) in [(a as usize, b), (b as usize, a)] {
                partners[next[of]] = partner;
                next[of] += 1;
            }
        }
        for event in 0..events {
            partners[offsets[event]..offsets[event + 1]].sort_unstable();
        }
        Self { offsets, partners }
    }

    /// The events that overlap event `index`, ascending; empty for a position that does not exist.
    #[must_use]
    pub fn of(&self, index: usize) -> &[u32] {
        match (self.offsets.get(index), self.offsets.get(index + 1)) {
            (Some(&start), Some(&end)) => &self.partners[start..end],
            _ => &[],
        }
    }

    /// Number of unordered pairs of events that overlap.
    #[must_use]
    pub fn pair_count(&self) -> usize {
        self.partners.len() / 2
    }

    /// How much of a group of events (the kernels of one operator) overlaps other events.
    ///
    /// `events` is the slice that [`overlaps`] was given; `group` lists positions in it, in the order
    /// in which the pairs are wanted; `scratch` is working memory as in [`busy_time`]. `None` if no
    /// event of the group overlaps anything.
    pub fn group_overlap(
        &self,
        events: &[DeviceEvent],
        group: impl IntoIterator<Item = u32> + Clone,
        scratch: &mut Vec<Interval>,
    ) -> Option<GroupOverlap> {
        let mut pairs = Vec::new();
        let mut overlapped = 0;
        for event in group.clone() {
            let interval = events[event as usize].span;
            let partners = self.of(event as usize);
            let clipped =
                partners.iter().map(|&partner| interval.intersection(events[partner as usize].span));
            pairs.extend(partners.iter().zip(clipped.clone()).map(|(&partner, part)| SharedTime {
                event,
                partner,
                shared: part.length(),
            }));
            overlapped += busy_time(clipped, scratch);
        }
        if pairs.is_empty() {
            return None;
        }
        let runtime = busy_time(group.into_iter().map(|event| events[event as usize].span), scratch);
        Some(GroupOverlap { runtime, overlapped, pairs })
    }
}

/// How much of a group of events overlaps other events: the result of [`Overlaps::group_overlap`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupOverlap {
    /// Time during which at least one event of the group runs.
    pub runtime: i64,
    /// Sum over the events of the group of the time during which any partner of theirs runs.
    pub overlapped: i64,
    /// Every (event of the group, partner), in order of the group, then of the partners.
    pub pairs: Vec<SharedTime>,
}

impl GroupOverlap {
    /// `time` as a fraction of the group's runtime; 0 if that is zero.
    ///
    /// For [`GroupOverlap::overlapped`] the fraction exceeds 1 when events of the group that run at
    /// the same time each overlap others.
    #[must_use]
    pub fn share_of_runtime(&self, time: i64) -> f64 {
        if self.runtime == 0 { 0.0 } else { time as f64 / self.runtime as f64 }
    }
}

/// The time that two overlapping events share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SharedTime {
    /// Position of the event of the group.
    pub event: u32,
    /// Position of the event that overlaps it.
    pub partner: u32,
    /// Length of the time that both run.
    pub shared: i64,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Activity;

    const MICROSECOND: i64 = 1_000;

    type Owned = (DeviceEvent, Option<u32>);

    fn event(start: i64, end: i64, stream: Option<i64>, owner: Option<u32>) -> Owned {
        (DeviceEvent::new(start, end, Activity::Computation).on(Some(0), stream), owner)
    }

    fn overlaps(events: &[Owned], min_shared: i64) -> Overlaps {
        let (events, owners): (Vec<_>, Vec<_>) = events.iter().copied().unzip();
        super::overlaps(&events, &owners, min_shared)
    }

    fn group_overlap(
        found: &Overlaps,
        events: &[Owned],
        group: impl IntoIterator<Item = u32> + Clone,
    ) -> Option<GroupOverlap> {
        let events: Vec<DeviceEvent> = events.iter().map(|&(event, _)| event).collect();
        found.group_overlap(&events, group, &mut Vec::new())
    }

    fn pairs(found: &Overlaps, events: usize) -> Vec<(u32, u32)> {
        (0_u32..)
            .take(events)
            .flat_map(|a| found.of(a as usize).iter().map(move |&b| (a, b)))
            .filter(|(a, b)| a < b)
            .collect()
    }

    #[test]
    fn events_overlap_when_they_share_enough_time_on_different_streams() {
        // Events of a start and an end in µs, a stream and an owner, neither of which must be known; then the pairs.
        let cases = "
            nothing |  |
            single | 0..10 0 - |
            disjoint | 0..10 0 -, 20..30 1 - |
            touching | 0..10 0 -, 10..30 1 - |
            partial | 0..10 0 -, 5..30 1 - | 0-1
            containment marks every pair | 0..100 0 -, 10..60 1 -, 20..50 2 - | 0-1 0-2 1-2
            identical | 0..10 0 -, 0..10 1 - | 0-1
            listed later, starts earlier | 5..30 1 -, 0..10 0 - | 0-1
            same stream | 0..10 0 -, 5..30 0 - |
            same stream, other owner | 0..10 0 1, 5..30 0 2 |
            stream unknown on one side | 0..10 0 -, 5..30 - - | 0-1
            stream unknown on both sides | 0..10 - -, 5..30 - - | 0-1
            same owner | 0..10 0 1, 5..30 1 1 |
            same owner, stream unknown | 0..10 - 1, 5..30 - 1 |
            different owners | 0..10 0 1, 5..30 1 2 | 0-1
            owner unknown on one side | 0..10 0 1, 5..30 1 - | 0-1
            0.2 us shared | 0..10 0 -, 9.8..30 1 - |
            0.999 us shared | 0..10 0 -, 9.001..30 1 - |
            exactly 1 us shared | 0..10 0 -, 9..30 1 - | 0-1
            exactly 1 us long | 0..10 0 -, 4..5 1 - | 0-1
            2 us shared | 0..10 0 -, 8..30 1 - | 0-1
            an event of length zero disturbs nothing | 0..10 0 -, 5..5 1 -, 5..30 2 - | 0-2
            a long event outlives short ones between | 0..100 0 -, 1..5 1 -, 6..9 1 -, 50..60 2 - | 0-1 0-2 0-3
            two events of one op do not overlap each other, only the copy beside them | 1050..1100 0 1, 1060..1110 1 1, 1055..1070 2 2 | 0-2 1-2";
        let known = |word: &str| (word != "-").then(|| word.parse::<i64>().unwrap());
        let nanoseconds = |us: &str| (us.parse::<f64>().unwrap() * 1e3) as i64;
        let read = |text: &str| {
            let words: Vec<&str> = text.split_whitespace().collect();
            let [span, stream, owner] = words[..] else { panic!("{text}") };
            let (start, end) = span.split_once("..").unwrap();
            let owner = known(owner).map(|owner| owner as u32);
            event(nanoseconds(start), nanoseconds(end), known(stream), owner)
        };
        for row in cases.trim().lines() {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let [case, events, expected] = cells[..] else { panic!("{row}") };
            let events: Vec<_> = events.split(", ").filter(|event| !event.is_empty()).map(read).collect();
            let found = pairs(&overlaps(&events, MICROSECOND), events.len());
            let found: Vec<String> = found.iter().map(|(a, b)| format!("{a}-{b}")).collect();
            assert_eq!(found.join(" "), expected, "{case}");
        }
    }

    #[test]
    fn the_same_stream_number_on_two_devices_is_two_streams() {
        let on_device = |device, start, end| (event(start, end, None, None).0.on(device, Some(7)), None);
        for (devices, pairs) in
            [([Some(0), Some(1)], 1), ([Some(0), Some(0)], 0), ([None, None], 0), ([None, Some(0)], 1)]
        {
            let events = [on_device(devices[0], 0, 5_000), on_device(devices[1], 1_000, 6_000)];
            assert_eq!(overlaps(&events, MICROSECOND).pair_count(), pairs, "{devices:?}");
        }
    }

    #[test]
    fn touching_is_no_overlap_even_when_no_least_time_is_asked_for() {
        let events =
            [event(0, 10, Some(0), None), event(10, 20, Some(1), None), event(19, 30, Some(2), None)];
        assert_eq!(pairs(&overlaps(&events, 0), 3), [(1, 2)]);
    }

    #[test]
    fn partners_are_ascending_and_unknown_positions_have_none() {
        let events: Vec<_> = (0..6).rev().map(|k| event(k, 100 + k, Some(k), None)).collect();
        let found = overlaps(&events, 1);
        assert_eq!(found.of(2), [0, 1, 3, 4, 5]);
        assert_eq!(found.of(6), []);
        assert_eq!(found.pair_count(), 15);
    }

    #[test]
    fn share_of_a_group_is_its_overlapped_time_over_its_merged_runtime() {
        // Kernels of op A (owner 0) and of the others; the share of A and of the first other.
        type Kernels = &'static [(i64, i64)];
        let cases: [(&str, Kernels, Kernels, f64, f64); 6] = [
            ("partial", &[(0, 100)], &[(50, 200)], 0.5, 0.33),
            ("containment", &[(0, 400)], &[(100, 200)], 0.25, 1.0),
            ("identical", &[(0, 100)], &[(0, 100)], 1.0, 1.0),
            ("two kernels, one hit", &[(1000, 1100), (1200, 1300)], &[(1050, 1150)], 0.25, 0.5),
            ("two kernels, both hit", &[(1000, 1100), (1200, 1300)], &[(1050, 1250)], 0.5, 0.5),
            ("two overlappers", &[(0, 200)], &[(0, 25), (25, 50)], 0.25, 1.0),
        ];
        for (case, group, others, share, share_of_other) in cases {
            let (mut events, mut stream) = (Vec::new(), 0);
            for &(start, end) in group {
                events.push(event(start, end, Some(0), Some(0)));
            }
            for &(start, end) in others {
                stream += 1;
                events.push(event(start, end, Some(stream), Some(stream as u32)));
            }
            let found = overlaps(&events, 1);
            let rounded = |group: std::ops::Range<usize>| {
                let group = (group.start as u32)..(group.end as u32);
                let overlap = group_overlap(&found, &events, group).unwrap();
                (overlap.share_of_runtime(overlap.overlapped) * 100.0).round() / 100.0
            };
            assert_eq!(rounded(0..group.len()), share, "{case}");
            assert_eq!(rounded(group.len()..group.len() + 1), share_of_other, "{case}, the other");
        }
    }

    #[test]
    fn time_shared_with_several_partners_at_once_counts_once_and_each_pair_is_listed() {
        let events = [
            event(0, 100, Some(0), Some(0)),
            event(40, 80, Some(1), Some(1)),
            event(60, 200, Some(2), Some(2)),
            event(500, 600, Some(0), Some(3)),
        ];
        let found = overlaps(&events, 1);
        let overlap = group_overlap(&found, &events, [0]).unwrap();
        assert_eq!((overlap.runtime, overlap.overlapped), (100, 60));
        let shared = |partner, shared| SharedTime { event: 0, partner, shared };
        assert_eq!(overlap.pairs, [shared(1, 40), shared(2, 40)]);
        assert_eq!(group_overlap(&found, &events, [3]), None);
        assert_eq!(group_overlap(&found, &events, []), None);
    }

    fn some_events() -> impl Strategy<Value = Vec<Owned>> {
        let one = (
            0..300_i64,
            -2..80_i64,
            prop::option::of(0..2_i64),
            prop::option::weighted(0.8, 0..4_i64),
            prop::option::of(0..4_u32),
        )
            .prop_map(|(start, length, device, stream, owner)| {
                (event(start, start + length, None, None).0.on(device, stream), owner)
            });
        prop::collection::vec(one, 0..60)
    }

    proptest! {
        #[test]
        fn the_sweep_finds_what_comparing_every_pair_finds(events in some_events(), min_shared in 0..20_i64) {
            let mut expected = Vec::new();
            for (a, &(first, owner)) in events.iter().enumerate() {
                for (b, &(second, other_owner)) in events.iter().enumerate().skip(a + 1) {
                    let same_stream = first.stream.is_some()
                        && (first.device, first.stream) == (second.device, second.stream);
                    let same_owner = owner.is_some() && owner == other_owner;
                    let (a_span, b_span) = (first.span, second.span);
                    let shared = a_span.end.min(b_span.end) - a_span.start.max(b_span.start);
                    let zero_length = a_span.is_empty() || b_span.is_empty();
                    if !same_stream && !same_owner && !zero_length && shared > 0 && shared >= min_shared {
                        expected.push((a as u32, b as u32));
                    }
                }
            }
            let found = overlaps(&events, min_shared);
            prop_assert_eq!(pairs(&found, events.len()), expected);
            for a in 0..events.len() {
                prop_assert!(found.of(a).is_sorted());
                for &b in found.of(a) {
                    prop_assert!(found.of(b as usize).binary_search(&(a as u32)).is_ok());
                }
            }
        }
    }
}
