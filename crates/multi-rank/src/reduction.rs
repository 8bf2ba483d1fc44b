//! Collectives as they come, one after the other, summed up: by rank and by size, with who was late.

use std::collections::BTreeMap;

use perf_models::CollectiveKind;

use crate::clocks::Clocks;
use crate::error::Error;
use crate::exchange::Entry;
use crate::job::Job;
use crate::matching::{Lane, Signatures};
use crate::rows::Wanted;
use crate::tables::StepRow;

/// What a rank took and was waited for. Times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RankFigures {
    /// Collectives with another rank that nobody leaves before all have entered.
    pub(crate) collectives: u64,
    /// Time in them before the last rank entered.
    pub(crate) waiting: i64,
    /// How often it alone entered last, and first.
    pub(crate) last: u64,
    pub(crate) first: u64,
    /// Sum over the collectives of 1,000,000 over their ranks: how often it would be last by chance, in millionths.
    pub(crate) fair_share: u64,
    /// How often it entered last by more than the clocks are uncertain.
    pub(crate) late: u64,
    /// How much later than the middle rank it entered by its own doing, where that is more than the clocks are uncertain.
    pub(crate) lateness: i64,
    /// Sum of the durations of all kernels of collectives.
    pub(crate) duration: i64,
    /// Collectives of its groups that it does not have: before, in, and after its recording.
    pub(crate) lacks: [u64; 3],
    /// Middle duration of its whole steps.
    pub(crate) usual_step: Option<i64>,
    /// By how much later than the middle rank its recording begins, where it entered its first collective late for that.
    pub(crate) start_skew: i64,
    /// Its lateness by step; −1 outside of steps.
    pub(crate) by_step: BTreeMap<i32, Late>,
}

/// How late a rank was in some collectives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Late {
    /// Those with another rank that nobody leaves before all have entered.
    pub(crate) collectives: u64,
    /// How often it entered last by more than the clocks are uncertain.
    pub(crate) late: u64,
    /// [`RankFigures::lateness`] in them.
    pub(crate) lateness: i64,
}

/// Collectives of a group that are alike: of one kind, type and size.
#[derive(Clone, Debug, Default)]
pub(crate) struct SizeClass {
    pub(crate) group: usize,
    pub(crate) signature: u32,
    /// Shortest duration on a rank, and the differences of starts and ends, of each.
    pub(crate) latencies: Vec<i64>,
    pub(crate) start_skews: Vec<i64>,
    pub(crate) end_skews: Vec<i64>,
    /// Of those which all members have, the shortest duration on a rank.
    pub(crate) complete: Vec<i64>,
    pub(crate) waiting: i64,
    pub(crate) contradictions: u64,
    pub(crate) ends_apart: u64,
}

/// A rank that entered a collective later than its clock is uncertain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LateArrival {
    pub(crate) lane: usize,
    pub(crate) recording: usize,
    /// Row of the kernel in the rank's table.
    pub(crate) row: u32,
    /// Step of the rank; −1 outside of steps.
    pub(crate) step: i32,
    /// A rank that entered in the middle, and the row of its kernel.
    pub(crate) usual: (usize, u32),
    /// Time after the middle rank.
    pub(crate) lateness: i64,
    /// The part of it that no late arrival in another group explains, neither its own nor one that it waited for.
    pub(crate) own: i64,
    /// When it entered, on the common clock.
    pub(crate) time: i64,
    /// When its collective before this one of the lane ended, on the common clock.
    pub(crate) since: i64,
    /// Whether it computed beside the collective, which holds nobody up then.
    pub(crate) overlapped: bool,
}

/// The durations of a step on the ranks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StepTimes {
    /// Number that the program gave it, else its index.
    pub(crate) step: i64,
    /// Recording and duration in nanoseconds, by recording.
    pub(crate) durations: Vec<(usize, i64)>,
}

/// Start and end of a collective on its ranks, on one clock.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    /// By entry.
    pub(crate) spans: Vec<(i64, i64)>,
    pub(crate) latest_start: i64,
    pub(crate) earliest_start: i64,
    pub(crate) latest_end: i64,
    pub(crate) earliest_end: i64,
    /// Shortest duration: that of who did not wait.
    pub(crate) latency: i64,
}

impl Times {
    pub(crate) fn new(entries: &[Entry], job: &Job, clocks: &Clocks) -> Self {
        let span = |entry: &Entry| {
            let clock = &clocks.corrections[job.recordings[entry.recording as usize].clock];
            (clock.apply(entry.start), clock.apply(entry.end))
        };
        let spans: Vec<(i64, i64)> = entries.iter().map(span).collect();
        let starts = || spans.iter().map(|span| span.0);
        let ends = || spans.iter().map(|span| span.1);
        Times {
            latest_start: starts().max().unwrap_or(0),
            earliest_start: starts().min().unwrap_or(0),
            latest_end: ends().max().unwrap_or(0),
            earliest_end: ends().min().unwrap_or(0),
            latency: entries.iter().map(|entry| entry.end - entry.start).min().unwrap_or(0),
            spans,
        }
    }

    pub(crate) fn start_skew(&self) -> i64 {
        self.latest_start - self.earliest_start
    }

    pub(crate) fn end_skew(&self) -> i64 {
        self.latest_end - self.earliest_end
    }

    /// How long each rank waited for the last.
    pub(crate) fn waits(&self) -> impl ExactSizeIterator<Item = i64> + Clone + '_ {
        self.spans.iter().map(|span| self.latest_start - span.0)
    }
}

/// Sums over collectives as they come.
pub(crate) struct Reduction<'a> {
    job: &'a Job,
    lanes: &'a [Lane],
    signatures: &'a Signatures,
    clocks: &'a Clocks,
    pub(crate) ranks: Vec<RankFigures>,
    pub(crate) classes: BTreeMap<(usize, u32), SizeClass>,
    pub(crate) arrivals: Vec<LateArrival>,
    pub(crate) details: Option<Vec<Vec<Entry>>>,
    /// By recording from its first to its last collective, on its own clock.
    windows: &'a [(i64, i64)],
    /// By recording, in which lane and by how much it was behind at its last collective, where it computed beside that.
    carried: Vec<(u32, i64)>,
    /// By recording, in which lane its last collective was and when that ended, on the common clock.
    previous: Vec<(u32, i64)>,
    /// By recording its stage in a pipeline.
    stages: Vec<usize>,
}

/// By recording its place among the ranks that send each other data in turn; 0 without.
fn stages(job: &Job, lanes: &[Lane]) -> Vec<usize> {
    let mut stages = vec![0; job.recordings.len()];
    for (lane, pair) in lanes.iter().filter_map(|lane| Some((lane, lane.pair?))) {
        let group = &job.groups[lane.group];
        for &(recording, _) in &group.recordings {
            let rank = job.recordings[recording].rank;
            if rank == pair.0 || rank == pair.1 {
                stages[recording] = group.members.iter().position(|member| member == rank).unwrap_or(0);
            }
        }
    }
    stages
}

/// Finds what of each lateness is new: a rank that was late in one group, and those that waited for it there, are late by as
/// much in their other groups.
pub(crate) fn find_own_lateness(arrivals: &mut [LateArrival], job: &Job, lanes: &[Lane]) {
    let mut lanes_of: Vec<Vec<usize>> = vec![Vec::new(); job.recordings.len()];
    for (index, lane) in lanes.iter().enumerate() {
        for &(recording, _) in &job.groups[lane.group].recordings {
            lanes_of[recording].push(index);
        }
    }
    arrivals.sort_by_key(|arrival| (arrival.time, arrival.lane, arrival.recording));
    let mut known: Vec<Vec<LateArrival>> = vec![Vec::new(); lanes.len()];
    for arrival in arrivals {
        let mut explained = 0;
        for &lane in lanes_of[arrival.recording].iter().filter(|&&lane| lane != arrival.lane) {
            let after = known[lane].partition_point(|earlier| earlier.time <= arrival.since);
            let earlier = known[lane][after..].iter().take_while(|earlier| earlier.time < arrival.time);
            let shifts =
                |earlier: &&LateArrival| earlier.recording == arrival.recording || !earlier.overlapped;
            explained += earlier.filter(shifts).map(|earlier| earlier.own).sum::<i64>();
        }
        let own = arrival.lateness.saturating_sub(explained);
        arrival.own = if own > LEAST_LATENESS { own } else { 0 };
        known[arrival.lane].push(*arrival);
    }
}

/// Lateness below this, in nanoseconds, is that of any program.
const LEAST_LATENESS: i64 = 10_000;

/// Ends of a collective this far apart, in nanoseconds, are odd whatever the clocks are worth.
const LEAST_END_SKEW: i64 = 100_000;

impl<'a> Reduction<'a> {
    pub(crate) fn new(
        job: &'a Job,
        lanes: &'a [Lane],
        signatures: &'a Signatures,
        clocks: &'a Clocks,
        windows: &'a [(i64, i64)],
        keeps_details: bool,
    ) -> Self {
        Reduction {
            job,
            lanes,
            signatures,
            clocks,
            ranks: vec![RankFigures::default(); job.recordings.len()],
            classes: BTreeMap::new(),
            arrivals: Vec::new(),
            details: keeps_details.then(Vec::new),
            windows,
            carried: vec![(u32::MAX, 0); job.recordings.len()],
            previous: vec![(u32::MAX, i64::MIN); job.recordings.len()],
            stages: stages(job, lanes),
        }
    }

    pub(crate) fn add(&mut self, entries: &[Entry]) {
        let times = Times::new(entries, self.job, self.clocks);
        self.judge(entries, &times);
        for (entry, &(_, end)) in entries.iter().zip(&times.spans) {
            self.previous[entry.recording as usize] = (entry.lane, end);
        }
    }

    fn judge(&mut self, entries: &[Entry], times: &Times) {
        let Some(first) = entries.first() else { return };
        let signature = &self.signatures.all[first.signature as usize];
        let Lane { group, pair } = self.lanes[first.lane as usize];
        if pair.is_none() {
            self.count_lacking(first.lane as usize, entries, times);
        }
        let common = |entry: &Entry| self.signatures.common[entry.signature as usize];
        for entry in entries {
            self.ranks[entry.recording as usize].duration += entry.end - entry.start;
        }
        if let Some(details) = &mut self.details {
            details.push(entries.to_vec());
        }
        let synchronises = entries.len() > 1
            && signature.is_synchronising()
            && !entries.iter().any(|entry| self.is_at_jump(entry));
        let uncertainty = self.uncertainty(entries);
        let key = (group, common(first));
        let class = self.classes.entry(key).or_insert_with(|| SizeClass {
            group: key.0,
            signature: key.1,
            ..SizeClass::default()
        });
        class.latencies.push(times.latency);
        class.start_skews.push(times.start_skew());
        class.end_skews.push(times.end_skew());
        class.contradictions += u64::from(entries.iter().any(|entry| common(entry) != key.1));
        if self.job.groups[group].expected() == Some(entries.len()) {
            class.complete.push(times.latency);
        }
        if !synchronises {
            return;
        }
        class.waiting += times.waits().sum::<i64>();
        // Members leave together: where they do not, the clock of a rank is not what it was.
        let apart = times.end_skew() > LEAST_END_SKEW.max(5 * uncertainty);
        class.ends_apart += u64::from(apart);
        for (entry, wait) in entries.iter().zip(times.waits()) {
            let rank = &mut self.ranks[entry.recording as usize];
            rank.collectives += 1;
            rank.by_step.entry(entry.step).or_default().collectives += 1;
            rank.fair_share += 1_000_000 / entries.len() as u64;
            rank.waiting += wait;
        }
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by_key(|&at| times.spans[at].0);
        let start = |at: usize| times.spans[order[at]].0;
        let [first_one, last_one] = [order[0], order[order.len() - 1]];
        if start(0) < start(1) {
            self.ranks[entries[first_one].recording as usize].first += 1;
        }
        if start(order.len() - 2) == start(order.len() - 1) {
            return;
        }
        let late = entries[last_one];
        self.ranks[late.recording as usize].last += 1;
        // Stages of a pipeline end at different times by design: a rank is held against those of its own stage.
        let stage = |at: usize| self.stages[entries[at].recording as usize];
        order.retain(|&at| stage(at) == stage(last_one));
        let usual = order[(order.len() - 1) / 2];
        let behind = |at: usize| times.spans[at].0 - times.spans[usual].0;
        // Where computation goes on beside a collective, that does not make a late rank even with the others, and its
        // delay is there again at the next one.
        let carried = self.carried[late.recording as usize];
        let carried = if carried.0 == late.lane { carried.1.max(0) } else { 0 };
        for (at, entry) in entries.iter().enumerate() {
            let behind = if entry.overlapped { behind(at) } else { 0 };
            self.carried[entry.recording as usize] = (entry.lane, behind);
        }
        let lateness = behind(last_one) - carried - self.start_skew(&late, &entries[usual], behind(last_one));
        let end_difference = times.spans[last_one].1 - times.spans[usual].1;
        if lateness > (3 * uncertainty).max(LEAST_LATENESS) && 2 * end_difference < lateness {
            let rank = &mut self.ranks[late.recording as usize];
            rank.late += 1;
            rank.by_step.entry(late.step).or_default().late += 1;
            let (lane, previous) = self.previous[late.recording as usize];
            self.arrivals.push(LateArrival {
                lane: late.lane as usize,
                recording: late.recording as usize,
                row: late.row,
                step: late.step,
                usual: (entries[usual].recording as usize, entries[usual].row),
                lateness,
                own: lateness,
                time: times.latest_start,
                since: if lane == late.lane { previous } else { i64::MIN },
                overlapped: late.overlapped,
            });
        }
    }

    /// By how much later the recording of a rank begins than that of another, where this is its first collective and it is at
    /// least that late: what it did before is not recorded.
    fn start_skew(&mut self, late: &Entry, usual: &Entry, behind: i64) -> i64 {
        let (recording, lane) = (late.recording as usize, self.previous[late.recording as usize].0);
        let begin = |entry: &Entry| {
            let recording = &self.job.recordings[entry.recording as usize];
            let start = recording.row.base_time_ns.saturating_add(recording.row.window_start_ns);
            self.clocks.corrections[recording.clock].apply(start)
        };
        let skew = begin(late) - begin(usual);
        if lane != u32::MAX || skew <= LEAST_LATENESS || skew > behind {
            return 0;
        }
        self.ranks[recording].start_skew = skew;
        skew
    }

    /// Counts a collective with the ranks of its group that do not have it.
    fn count_lacking(&mut self, lane: usize, entries: &[Entry], times: &Times) {
        let group = &self.job.groups[self.lanes[lane].group];
        if group.name.is_none() || entries.len() >= group.recordings.len() {
            return;
        }
        let has: Vec<u32> = entries.iter().map(|entry| entry.recording).collect();
        for &(recording, _) in group.recordings.iter().filter(|of| !has.contains(&(of.0 as u32))) {
            let clock = &self.clocks.corrections[self.job.recordings[recording].clock];
            let (first, last) = self.windows[recording];
            let place = if times.latest_end <= clock.apply(first) {
                0
            } else if times.earliest_start >= clock.apply(last) {
                2
            } else {
                1
            };
            self.ranks[recording].lacks[place] += 1;
        }
    }

    /// Whether the clock was set about then: it is not known on which side of that the start is.
    fn is_at_jump(&self, entry: &Entry) -> bool {
        let jumps = &self.clocks.corrections[self.job.recordings[entry.recording as usize].clock].jumps;
        jumps.iter().any(|jump| entry.start < jump.at && jump.at <= entry.end)
    }

    /// How far the clocks of some ranks may be off: nothing where they share one.
    fn uncertainty(&self, entries: &[Entry]) -> i64 {
        let clocks = || entries.iter().map(|entry| self.job.recordings[entry.recording as usize].clock);
        let mut others = clocks().skip(1);
        if clocks().next().is_none_or(|first| others.all(|clock| clock == first)) {
            return 0;
        }
        clocks().map(|clock| self.clocks.corrections[clock].deviation).max().unwrap_or(0)
    }
}

impl SizeClass {
    /// What kind of exchange they are.
    pub(crate) fn kind(&self, signatures: &Signatures) -> CollectiveKind {
        signatures.all[self.signature as usize].kind()
    }

    /// Bytes that nccl-tests calls the message's: the larger of what a rank gives and gets.
    pub(crate) fn message_bytes(&self, signatures: &Signatures) -> Option<i64> {
        let signature = &signatures.all[self.signature as usize];
        signature.in_bytes.into_iter().chain(signature.out_bytes).max().filter(|&bytes| bytes > 0)
    }
}

/// The steps of the recordings of a job.
pub(crate) struct Steps {
    step_rows: Vec<Vec<StepRow>>,
    /// Whether the program numbered all of them.
    pub(crate) numbered: bool,
}

impl Steps {
    pub(crate) fn read(job: &Job) -> Result<Self, Error> {
        let mut step_rows = Vec::with_capacity(job.recordings.len());
        for recording in &job.recordings {
            step_rows.push(recording.folder.rows::<StepRow>(Wanted::All)?);
        }
        let numbered = step_rows.iter().flatten().all(|step| step.number.is_some());
        Ok(Steps { step_rows, numbered })
    }

    /// The durations of whole steps, and by recording the numbers of its steps: the program's where all have one, else their
    /// places, counted on from the first step that recordings with the same collectives have.
    pub(crate) fn times(&self, shifts: &StepShifts) -> (Vec<StepTimes>, Vec<Vec<i64>>) {
        let first = match self.numbered {
            true => vec![0; self.step_rows.len()],
            false => shifts.first_steps(self.step_rows.len()),
        };
        let number = |recording: usize, step: &StepRow| {
            step.number.filter(|_| self.numbered).unwrap_or(step.step + first[recording])
        };
        let mut by_step: BTreeMap<i64, Vec<(usize, i64)>> = BTreeMap::new();
        for (recording, steps) in self.step_rows.iter().enumerate() {
            for step in steps.iter().filter(|step| step.whole > 0) {
                let duration = if step.kernels > 0 { step.device_ns } else { step.end_ns - step.start_ns };
                by_step.entry(number(recording, step)).or_default().push((recording, duration));
            }
        }
        let times = by_step.into_iter().map(|(step, durations)| StepTimes { step, durations }).collect();
        let numbers = self.step_rows.iter().enumerate();
        let numbers =
            numbers.map(|(recording, steps)| steps.iter().map(|step| number(recording, step)).collect());
        (times, numbers.collect())
    }
}

/// By how many steps recordings begin apart, as their collectives say: what two recordings have together is in one step of
/// the program, whatever place that has in each.
#[derive(Default)]
pub(crate) struct StepShifts {
    /// By recording, and the first recording that it has a collective with, how many collectives are so many steps later in
    /// the latter.
    votes: BTreeMap<(u32, u32), BTreeMap<i64, u64>>,
}

impl StepShifts {
    pub(crate) fn vote(&mut self, entries: &[Entry]) {
        let mut in_steps = entries.iter().filter(|entry| entry.step >= 0);
        let Some(first) = in_steps.clone().min_by_key(|entry| entry.recording) else { return };
        for entry in in_steps.by_ref().filter(|entry| entry.recording != first.recording) {
            let votes = self.votes.entry((entry.recording, first.recording)).or_default();
            *votes.entry(i64::from(first.step) - i64::from(entry.step)).or_default() += 1;
        }
    }

    /// By recording the number of its first step, the least being 0.
    fn first_steps(&self, recordings: usize) -> Vec<i64> {
        let mut first = vec![0; recordings];
        for recording in 0..recordings as u32 {
            let with_others = self.votes.range((recording, 0)..(recording, recording));
            let most = with_others.flat_map(|((_, other), votes)| {
                votes.iter().map(|(shift, count)| (*count, std::cmp::Reverse(shift.abs()), *shift, *other))
            });
            if let Some((.., shift, other)) = most.max() {
                first[recording as usize] = first[other as usize] + shift;
            }
        }
        let least = first.iter().copied().min().unwrap_or(0);
        first.iter().map(|first| first - least).collect()
    }
}
