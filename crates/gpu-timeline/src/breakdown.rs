use std::collections::{BTreeMap, VecDeque};

use crate::{Activity, DeviceEvent, Interval, IntervalSet};

/// What the device did between the start of its first and the end of its last event.
///
/// Every instant counts once: for computation if any runs, else for communication, else for copying,
/// else as idle, unless the recording does not tell whether the device worked. So, exactly,
/// `computation + exposed_communication + exposed_memcpy == busy` and `busy + idle + unrecorded == total`.
///
/// All times are in the unit of the events.
///
/// The default is that of no time at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Breakdown {
    /// Time with at least one computation.
    pub computation: i64,
    /// Time with communication and without computation.
    pub exposed_communication: i64,
    /// Time with copies, without computation and without communication.
    pub exposed_memcpy: i64,
    /// Time with at least one event.
    pub busy: i64,
    /// Time without any event in which the device did nothing.
    pub idle: i64,
    /// Time without any event in which the device may have been busy: the recording does not tell.
    pub unrecorded: i64,
    /// The idle time, split by the length of the gaps; present if a threshold was given.
    pub idle_split: Option<IdleSplit>,
    /// Time from the first start to the last end.
    pub total: i64,
    /// Time with at least one communication, hidden or exposed.
    pub total_communication: i64,
    /// Time with at least one copy, hidden or exposed.
    pub total_memcpy: i64,
}

/// Idle time split by the length of the gaps, which tells launch overhead (many short gaps) from a
/// device that waits for its host (few long ones).
///
/// A gap ends where the next event starts, and an event of length zero is an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IdleSplit {
    /// Time in gaps shorter than the threshold.
    pub micro_idle: i64,
    /// Time in gaps of at least the threshold.
    pub macro_idle: i64,
}

/// By event the time of the whole that is charged to it: each instant to one event that runs then, to a computation if
/// there is one, else to communication, else to a copy; of several of a kind to the first that began.
///
/// So the times of an activity's events add up to that of the activity in the [`Breakdown`], exactly. `events` come in order of
/// their starts, and are gone through once for each activity. O(n).
///
/// ```
/// use gpu_timeline::{Activity, DeviceEvent, exposed_times};
///
/// let events = [
///     DeviceEvent::new(0, 10, Activity::Communication),
///     DeviceEvent::new(5, 20, Activity::Computation),
///     DeviceEvent::new(8, 25, Activity::Computation),
/// ];
/// assert_eq!(exposed_times(events.iter().copied()), [5, 15, 5]);
/// ```
#[must_use]
pub fn exposed_times(events: impl ExactSizeIterator<Item = DeviceEvent> + Clone) -> Vec<i64> {
    let mut exposed = vec![0; events.len()];
    let mut covered = IntervalSet::default();
    for activity in [Activity::Computation, Activity::Communication, Activity::Memcpy] {
        let (mut free, mut next) = (i64::MIN, 0);
        let mut own = Vec::new();
        let activity_events =
            events.clone().zip(&mut exposed).filter(|(event, _)| event.activity == activity);
        for (DeviceEvent { span, .. }, exposed) in activity_events {
            let time = Interval::between(span.start.max(free), span.end.max(span.start).max(free));
            let above = covered.as_slice();
            while above.get(next).is_some_and(|other| other.end <= time.start) {
                next += 1;
            }
            let hidden = above[next..].iter().take_while(|other| other.start < time.end);
            *exposed = time.length() - hidden.map(|other| other.shared_time(time)).sum::<i64>();
            free = time.end;
            own.push(span);
        }
        covered = covered.union(&own.into_iter().collect());
    }
    exposed
}

impl Breakdown {
    /// The breakdown of `events`, in any order; `None` if there are none.
    ///
    /// `micro_idle_threshold` asks for [`Breakdown::idle_split`] and is the length from which on a
    /// gap is a long one.
    ///
    /// One sort, then one pass: O(n log n). The total must fit an `i64`.
    pub fn from_events(
        events: impl IntoIterator<Item = DeviceEvent>,
        micro_idle_threshold: Option<i64>,
    ) -> Option<Self> {
        Self::from_partial_events(events, micro_idle_threshold, &IntervalSet::EMPTY)
    }

    /// The same of a recording that does not tell what the device did in a part of the time.
    pub fn from_partial_events(
        events: impl IntoIterator<Item = DeviceEvent>,
        micro_idle_threshold: Option<i64>,
        unrecorded: &IntervalSet,
    ) -> Option<Self> {
        let events = events.into_iter().map(|event| (event, ()));
        Self::by_part(events, micro_idle_threshold, unrecorded).into_values().next()
    }

    /// The same, divided among parts that the events belong to, such as the iterations of a program.
    ///
    /// Every instant belongs to one part, so that the breakdowns add up to that of all events, field by field: while
    /// events of several parts run, to the least of these; while none runs, to that of the event which ends the wait.
    /// Waits in `unrecorded` are no idle time.
    pub fn by_part<P: Ord + Copy>(
        events: impl IntoIterator<Item = (DeviceEvent, P)>,
        micro_idle_threshold: Option<i64>,
        unrecorded: &IntervalSet,
    ) -> BTreeMap<P, Self> {
        // No more than what is needed of each event: there are millions.
        let needed = events.into_iter().map(|(event, part)| (event.span, event.activity, part));
        Self::by_sorted_part(needed.collect(), micro_idle_threshold, unrecorded)
    }

    /// The same, whatever gave the events.
    fn by_sorted_part<P: Ord + Copy>(
        mut events: Vec<(Interval, Activity, P)>,
        micro_idle_threshold: Option<i64>,
        unrecorded: &IntervalSet,
    ) -> BTreeMap<P, Self> {
        // Mostly in order, or a few runs that are, which a stable sort sees.
        events.sort_by_key(|&(span, _, part)| (span.start, part));
        let mut sums = Sums { parts: Vec::new(), latest: 0, micro_idle_threshold };
        let Some(&(first, ..)) = events.first() else { return BTreeMap::new() };

        // Between two consecutive starts nothing begins, so every activity that runs there runs from
        // the first of the two until its latest end so far, and so does every part. A slab between starts is thus
        // described by a few numbers, and no set of intervals needs to be built.
        let mut latest_end = [first.start; 3];
        // Parts that run, each longer than all before it: what a part has is decided by the least that runs, and one that
        // ends no later than a lesser one has nothing.
        let mut running: VecDeque<(P, i64)> = VecDeque::new();
        for (index, &(span, activity, part)) in events.iter().enumerate() {
            let end = span.end.max(span.start);
            let activity_end = &mut latest_end[activity as usize];
            *activity_end = end.max(*activity_end);
            if running.len() == 1 && running[0].0 == part {
                // It ran until then, and runs on or again.
                running[0].1 = end.max(running[0].1);
            } else {
                while running.front().is_some_and(|&(_, end)| end <= span.start) {
                    running.pop_front();
                }
                let at = running.partition_point(|&(other, _)| other < part);
                if at == 0 || running[at - 1].1 < end {
                    let behind = running.partition_point(|&(other, until)| other <= part || until <= end);
                    let until = running.get(at).filter(|&&(other, _)| other == part).map_or(end, |own| own.1);
                    match behind - at {
                        0 => running.insert(at, (part, end)),
                        1 => running[at] = (part, end.max(until)),
                        _ => {
                            running[at] = (part, end.max(until));
                            running.drain(at + 1..behind);
                        }
                    }
                }
            }
            sums.of(part);

            let next = events.get(index + 1);
            let slab_end = next.map_or_else(|| latest_end.into_iter().max(), |(next, ..)| Some(next.start));
            let slab_end = slab_end.unwrap_or(span.start);
            let mut from = span.start;
            for &(part, end) in &running {
                if from >= slab_end {
                    break;
                }
                let to = end.min(slab_end);
                if to > from {
                    sums.of(part).add_busy(to - from, latest_end.map(|end| (end - from).clamp(0, to - from)));
                    from = to;
                }
            }
            if let Some(&(.., part)) = next
                && slab_end > from
            {
                let missing = unrecorded.shared_time(Interval::between(from, slab_end));
                let sum = sums.of(part);
                sum.unrecorded += missing;
                sum.total += missing;
                if slab_end - from > missing {
                    sum.add_idle(slab_end - from - missing, micro_idle_threshold);
                }
            }
        }
        sums.parts.into_iter().collect()
    }

    fn none(micro_idle_threshold: Option<i64>) -> Self {
        let idle_split = micro_idle_threshold.map(|_| IdleSplit { micro_idle: 0, macro_idle: 0 });
        Self { idle_split, ..Self::default() }
    }

    /// Adds time in which something runs, with so much of it covered by computation, communication and copies.
    fn add_busy(&mut self, time: i64, [computation, communication, memcpy]: [i64; 3]) {
        let not_copying = computation.max(communication);
        self.computation += computation;
        self.exposed_communication += not_copying - computation;
        self.exposed_memcpy += time - not_copying;
        self.busy += time;
        self.total += time;
        self.total_communication += communication;
        self.total_memcpy += memcpy;
    }

    /// Adds a gap.
    fn add_idle(&mut self, gap: i64, micro_idle_threshold: Option<i64>) {
        self.idle += gap;
        self.total += gap;
        if let (Some(split), Some(threshold)) = (&mut self.idle_split, micro_idle_threshold) {
            match gap < threshold {
                true => split.micro_idle += gap,
                false => split.macro_idle += gap,
            }
        }
    }

    /// The same within a longer window, in the rest of which the device is idle.
    #[must_use]
    pub fn within(mut self, window: i64) -> Self {
        let rest = (window - self.total).max(0);
        self.idle += rest;
        self.total += rest;
        if let Some(split) = &mut self.idle_split {
            split.macro_idle += rest;
        }
        self
    }

    /// `time` as a percentage of [`Breakdown::total`]; NaN if the total is zero.
    #[must_use]
    pub fn percent_of_total(&self, time: i64) -> f64 {
        time as f64 / self.total as f64 * 100.0
    }
}

impl std::ops::AddAssign for Breakdown {
    /// Adds time that is not the same as this, such as that of another device.
    fn add_assign(&mut self, other: Self) {
        self.computation += other.computation;
        self.exposed_communication += other.exposed_communication;
        self.exposed_memcpy += other.exposed_memcpy;
        self.busy += other.busy;
        self.idle += other.idle;
        self.unrecorded += other.unrecorded;
        self.total += other.total;
        self.total_communication += other.total_communication;
        self.total_memcpy += other.total_memcpy;
        if let (Some(split), Some(others)) = (&mut self.idle_split, other.idle_split) {
            split.micro_idle += others.micro_idle;
            split.macro_idle += others.macro_idle;
        }
    }
}

/// The breakdowns of parts, which mostly come one after the other.
struct Sums<P> {
    /// By part.
    parts: Vec<(P, Breakdown)>,
    /// Place of the part that was asked for last.
    latest: usize,
    micro_idle_threshold: Option<i64>,
}

impl<P: Ord + Copy> Sums<P> {
    fn of(&mut self, part: P) -> &mut Breakdown {
        if self.parts.get(self.latest).is_none_or(|&(latest, _)| latest != part) {
            self.latest = self.parts.binary_search_by_key(&part, |&(part, _)| part).unwrap_or_else(|at| {
                self.parts.insert(at, (part, Breakdown::none(self.micro_idle_threshold)));
                at
            });
        }
        &mut self.parts[self.latest].1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Activity::{Communication, Computation, Memcpy};
    use super::*;

    fn events(list: &[(i64, i64, Activity)]) -> Vec<DeviceEvent> {
        list.iter().map(|&(start, end, activity)| DeviceEvent::new(start, end, activity)).collect()
    }

    fn breakdown(list: &[(i64, i64, Activity)]) -> Breakdown {
        Breakdown::from_events(events(list), None).unwrap()
    }

    #[test]
    fn no_events_have_no_breakdown() {
        assert_eq!(Breakdown::from_events([], None), None);
    }

    #[test]
    fn exposed_time_is_what_nothing_more_useful_hides() {
        // A name, events, then computation, exposed communication, exposed copies, busy, idle, total, communication, copies.
        let cases = "
            computation and copy apart | computation 0..100, memcpy 200..250 | 100 0 50 150 100 250 0 50
            two streams at once | computation 1050..1100, computation 1060..1110, computation 1250..1300 | 110 0 0 110 140 250 0 0
            communication half hidden | computation 0..100, communication 50..150 | 100 50 0 150 0 150 100 0
            communication hidden in the middle | communication 0..100, computation 40..60 | 20 80 0 100 0 100 100 0
            copy behind communication behind computation | memcpy 0..30, communication 0..20, computation 0..10 | 10 10 10 30 0 30 20 30
            listed out of order | memcpy 200..250, computation 0..100 | 100 0 50 150 100 250 0 50
            one event of length zero | computation 5..5 | 0 0 0 0 0 0 0 0
            an event of length zero at the end extends the span | computation 0..10, memcpy 30..30 | 10 0 0 10 20 30 0 0
            a reversed event counts as length zero | computation 0..10, communication 20..4, computation 30..40 | 20 0 0 20 20 40 0 0";
        for row in cases.trim().lines() {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let [case, events, expected] = cells[..] else { panic!("{row}") };
            let event = |text: &str| {
                let (kind, span) = text.split_once(' ').unwrap();
                let activities =
                    [("computation", Computation), ("communication", Communication), ("memcpy", Memcpy)];
                let activity = activities.into_iter().find(|(name, _)| *name == kind).unwrap().1;
                let (start, end) = span.split_once("..").unwrap();
                (start.parse().unwrap(), end.parse().unwrap(), activity)
            };
            let b = breakdown(&events.split(", ").map(event).collect::<Vec<_>>());
            let shown = [b.computation, b.exposed_communication, b.exposed_memcpy, b.busy, b.idle, b.total];
            let totals = [b.total_communication, b.total_memcpy];
            let found: Vec<String> = shown.iter().chain(&totals).map(ToString::to_string).collect();
            assert_eq!(found.join(" "), expected, "{case}");
        }
    }

    #[test]
    fn gaps_below_the_threshold_are_micro_idle() {
        let kernels = [(0, 50, Computation), (100, 150, Computation), (160, 170, Memcpy)];
        // Gaps of 50 and 10.
        for (threshold, micro_idle, macro_idle) in
            [(0, 0, 60), (10, 0, 60), (11, 10, 50), (30, 10, 50), (50, 10, 50), (51, 60, 0)]
        {
            let split = Breakdown::from_events(events(&kernels), Some(threshold)).unwrap().idle_split;
            assert_eq!(split, Some(IdleSplit { micro_idle, macro_idle }), "threshold {threshold}");
        }
        assert_eq!(breakdown(&kernels).idle_split, None);
    }

    #[test]
    fn an_event_of_length_zero_ends_a_gap() {
        let list = [(0, 10, Computation), (50, 50, Computation), (100, 110, Computation)];
        let split = Breakdown::from_events(events(&list), Some(60)).unwrap().idle_split;
        assert_eq!(split, Some(IdleSplit { micro_idle: 90, macro_idle: 0 }));
    }

    #[test]
    fn percentages_refer_to_the_total_and_are_nan_without_one() {
        let half = breakdown(&[(0, 50, Computation), (100, 100, Computation)]);
        assert_eq!(half.percent_of_total(half.computation), 50.0);
        let nothing = breakdown(&[(5, 5, Computation)]);
        assert!(nothing.percent_of_total(nothing.busy).is_nan());
    }

    fn activity() -> impl Strategy<Value = Activity> {
        prop_oneof![Just(Computation), Just(Communication), Just(Memcpy)]
    }

    fn some_event() -> impl Strategy<Value = DeviceEvent> {
        (-200..200_i64, -2..60_i64, activity())
            .prop_map(|(start, length, activity)| DeviceEvent::new(start, start + length, activity))
    }

    fn some_events() -> impl Strategy<Value = Vec<DeviceEvent>> {
        prop::collection::vec(some_event(), 1..40)
    }

    #[test]
    fn time_belongs_to_the_earlier_part_and_waiting_to_the_later() {
        let event = DeviceEvent::new;
        let parts = Breakdown::by_part(
            [
                (event(0, 100, Computation), 1),
                // A copy for the next part, hidden and then alone.
                (event(80, 120, Memcpy), 2),
                (event(150, 200, Computation), 2),
            ],
            None,
            &IntervalSet::EMPTY,
        );
        let times = |part: i32| {
            let b = parts[&part];
            [b.computation, b.exposed_memcpy, b.idle, b.total_memcpy]
        };
        assert_eq!((times(1), times(2)), ([100, 0, 0, 20], [50, 20, 30, 20]));
    }

    /// As long as the least part that runs decides, whatever comes and goes beside it.
    fn busy_by_moment(events: &[(DeviceEvent, u8)]) -> BTreeMap<u8, i64> {
        let mut busy: BTreeMap<u8, i64> = events.iter().map(|&(_, part)| (part, 0)).collect();
        let all = || events.iter().map(|&(event, part)| (event.span, part));
        let (first, last) = (all().map(|of| of.0.start).min(), all().map(|of| of.0.end).max());
        for moment in first.unwrap_or(0)..last.unwrap_or(0) {
            let running = all().filter(|(span, _)| span.start <= moment && moment < span.end);
            if let Some((_, part)) = running.min_by_key(|&(_, part)| part) {
                *busy.entry(part).or_default() += 1;
            }
        }
        busy
    }

    #[test]
    fn only_parts_that_can_decide_are_walked() {
        // Were all that run walked for each, this would take minutes.
        let all = (0..200_000_i64).map(|at| (DeviceEvent::new(at, 1_000_000 + at, Computation), at));
        let parts = Breakdown::by_part(all, None, &IntervalSet::EMPTY);
        assert_eq!(parts.values().map(|part| part.busy).sum::<i64>(), 1_199_999);
        assert_eq!((parts[&0].busy, parts[&1].busy, parts.len()), (1_000_000, 1, 200_000));
    }

    proptest! {
        #[test]
        fn each_moment_is_of_the_least_part_that_runs(
            events in prop::collection::vec((some_event(), 0..6_u8), 1..30),
        ) {
            let parts = Breakdown::by_part(events.iter().copied(), None, &IntervalSet::EMPTY);
            let busy: BTreeMap<u8, i64> = parts.iter().map(|(&part, of)| (part, of.busy)).collect();
            prop_assert_eq!(busy, busy_by_moment(&events));
        }

        #[test]
        fn parts_add_up_exactly(events in some_events(), threshold in 0..40_i64) {
            let b = Breakdown::from_events(events, Some(threshold)).unwrap();
            prop_assert_eq!(b.computation + b.exposed_communication + b.exposed_memcpy + b.idle, b.total);
            prop_assert_eq!(b.busy + b.idle, b.total);
            let split = b.idle_split.unwrap();
            prop_assert_eq!(split.micro_idle + split.macro_idle, b.idle);
        }

        #[test]
        fn exposed_times_add_up_to_the_activities(mut events in some_events()) {
            events.sort_by_key(|event| event.span.start);
            let whole = Breakdown::from_events(events.iter().copied(), None).unwrap();
            let exposed = exposed_times(events.iter().copied());
            let of = |activity| {
                let of_activity = events.iter().zip(&exposed).filter(|(event, _)| event.activity == activity);
                of_activity.map(|(_, exposed)| exposed).sum::<i64>()
            };
            prop_assert_eq!(of(Computation), whole.computation);
            prop_assert_eq!(of(Communication), whole.exposed_communication);
            prop_assert_eq!(of(Memcpy), whole.exposed_memcpy);
        }

        #[test]
        fn breakdowns_of_parts_add_up_to_that_of_all(
            events in prop::collection::vec((some_event(), 0..5_u8), 1..40),
            threshold in 0..40_i64,
            missing in -250..250_i64,
        ) {
            let unrecorded: IntervalSet = [Interval::between(missing, missing + 60)].into_iter().collect();
            let whole = events.iter().map(|&(event, _)| event);
            let whole = Breakdown::from_partial_events(whole, Some(threshold), &unrecorded).unwrap();
            prop_assert_eq!(whole.busy + whole.idle + whole.unrecorded, whole.total);
            let all_told = Breakdown::from_events(events.iter().map(|&(event, _)| event), None).unwrap();
            prop_assert_eq!(whole.idle + whole.unrecorded, all_told.idle);
            let parts = Breakdown::by_part(events.iter().copied(), Some(threshold), &unrecorded);
            let fields = |b: &Breakdown| {
                let split = b.idle_split.unwrap();
                [
                    b.computation, b.exposed_communication, b.exposed_memcpy, b.busy, b.idle, b.total,
                    b.total_communication, b.total_memcpy, split.micro_idle, split.macro_idle, b.unrecorded,
                ]
            };
            let mut sums = [0; 11];
            for part in parts.values() {
                sums.iter_mut().zip(fields(part)).for_each(|(sum, time)| *sum += time);
            }
            prop_assert_eq!(sums, fields(&whole));
            // A part is busy at most while its own events run, and the least part always then.
            for (&part, breakdown) in &parts {
                let own = events.iter().filter(|&&(_, of)| of == part).map(|(event, _)| event);
                let own: IntervalSet = own.map(|event| event.span).collect();
                prop_assert!(breakdown.busy <= own.total_length());
                if Some(&part) == parts.keys().next() {
                    prop_assert_eq!(breakdown.busy, own.total_length());
                }
            }
        }

        #[test]
        fn one_pass_agrees_with_the_interval_algebra(events in some_events()) {
            let b = Breakdown::from_events(events.iter().copied(), None).unwrap();
            let set_of = |activity: Activity| -> IntervalSet {
                let of_activity = events.iter().filter(|event| event.activity == activity);
                of_activity.map(|event| event.span).collect()
            };
            let [computation, communication, memcpy] = [Computation, Communication, Memcpy].map(set_of);
            prop_assert_eq!(b.computation, computation.total_length());
            prop_assert_eq!(b.total_communication, communication.total_length());
            prop_assert_eq!(b.total_memcpy, memcpy.total_length());
            let exposed = communication.subtract(&computation);
            prop_assert_eq!(b.exposed_communication, exposed.total_length());
            let exposed = memcpy.subtract(&computation).subtract(&communication);
            prop_assert_eq!(b.exposed_memcpy, exposed.total_length());
            let busy = computation.union(&communication).union(&memcpy);
            prop_assert_eq!(b.busy, busy.total_length());
            let first = events.iter().map(|event| event.span.start).min().unwrap();
            let last = events.iter().map(|event| event.span.end.max(event.span.start)).max().unwrap();
            prop_assert_eq!(b.total, last - first);
        }
    }
}
