//! Which kernels of many ranks are one collective.

use std::sync::mpsc::sync_channel;
use std::thread::Builder;

use gpu_timeline::SortFew;
use hashbrown::{HashMap, HashSet};
use perf_models::CollectiveKind;

use crate::align::{Alignment, Doubt, End, WIDTHS, align};
use crate::clocks::{ClockMode, ClockPair, Clocks};
use crate::diagnostic::Diagnostic;
use crate::error::Error;
use crate::exchange::{Entry, Runs};
use crate::job::{Job, Recording};
use crate::rows::{Text, Wanted};
use crate::tables::{CollectiveRow, counted_instruction};

/// How the collectives of a rank were matched with those of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// By the number that the program gave them.
    Sequence,
    /// By the time at which they end, up to the difference of the clocks.
    Aligned,
    /// The same of kernels that tell no group.
    AlignedStream,
    /// By their place in the recording alone.
    Ordinal,
}

impl Tier {
    /// Name in sheets.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Tier::Sequence => "seq",
            Tier::Aligned => "aligned",
            Tier::AlignedStream => "aligned_stream",
            Tier::Ordinal => "ordinal",
        }
    }
}

/// How to match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pairing {
    /// By sequence numbers where there are some, else by the time at which collectives end.
    #[default]
    Best,
    /// By the place within the group's name, whatever was recorded: the rule of TraceLens.
    Position,
}

/// What the ranks of a collective have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Signature {
    pub(crate) name: Option<Text>,
    pub(crate) dtype: Option<Text>,
    pub(crate) in_elements: Option<i64>,
    pub(crate) out_elements: Option<i64>,
    pub(crate) in_bytes: Option<i64>,
    pub(crate) out_bytes: Option<i64>,
}

impl Signature {
    fn of(row: &CollectiveRow) -> Self {
        let CollectiveRow { name, dtype, in_elements, out_elements, in_bytes, out_bytes, .. } = row;
        Signature {
            name: name.clone(),
            dtype: dtype.clone(),
            in_elements: *in_elements,
            out_elements: *out_elements,
            in_bytes: *in_bytes,
            out_bytes: *out_bytes,
        }
    }

    /// What kind of exchange it is.
    pub(crate) fn kind(&self) -> CollectiveKind {
        self.name.as_deref().map_or(CollectiveKind::Other, CollectiveKind::from_name)
    }

    /// Whether the sizes may differ among the ranks.
    pub(crate) fn is_uneven(&self) -> bool {
        self.name.as_deref().is_some_and(|name| name.ends_with('v') && !name.starts_with("recv"))
    }

    /// Whether no rank can leave before every rank has entered.
    pub(crate) fn is_synchronising(&self) -> bool {
        let by_kind = !matches!(self.kind(), CollectiveKind::Other | CollectiveKind::CollectivePermute);
        by_kind || self.name.as_deref() == Some("barrier")
    }

    /// Whether it is one half of a transfer between two ranks.
    fn is_transfer(&self) -> bool {
        self.name.as_deref().is_some_and(|name| name.starts_with("send") || name.starts_with("recv"))
    }

    /// The same without what may differ among ranks.
    fn common(&self) -> Self {
        if self.is_transfer() {
            return Signature { name: Some("send/recv".into()), ..self.clone() };
        }
        match self.is_uneven() {
            true => Signature { dtype: self.dtype.clone(), name: self.name.clone(), ..Signature::default() },
            false => self.clone(),
        }
    }
}

/// Signatures of a job, each once.
#[derive(Debug, Default)]
pub(crate) struct Signatures {
    pub(crate) all: Vec<Signature>,
    /// By signature the index of what its ranks have in common.
    pub(crate) common: Vec<u32>,
    known: HashMap<Signature, u32>,
}

impl Signatures {
    pub(crate) fn index(&mut self, row: &CollectiveRow) -> u32 {
        self.add(Signature::of(row))
    }

    fn add(&mut self, signature: Signature) -> u32 {
        if let Some(&index) = self.known.get(&signature) {
            return index;
        }
        let index = self.all.len() as u32;
        self.all.push(signature.clone());
        self.common.push(index);
        self.known.insert(signature.clone(), index);
        let common = signature.common();
        if common != signature {
            self.common[index as usize] = self.add(common);
        }
        index
    }
}

/// What of a group is matched on its own: its collectives, or the operations between two of its ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lane {
    pub(crate) group: usize,
    /// The ranks that point-to-point operations lead from and to.
    pub(crate) pair: Option<(u32, u32)>,
}

/// How the collectives of a rank in a lane were matched.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RankMatch {
    pub(crate) lane: usize,
    pub(crate) recording: usize,
    pub(crate) tier: Tier,
    pub(crate) executions: u64,
    pub(crate) unmatched: u64,
    pub(crate) doubt: Option<Doubt>,
}

/// The collectives of a job, matched.
pub(crate) struct Matching {
    pub(crate) lanes: Vec<Lane>,
    pub(crate) signatures: Signatures,
    pub(crate) entries: Runs,
    pub(crate) rank_matches: Vec<RankMatch>,
    pub(crate) clock_pairs: Vec<ClockPair>,
    /// By recording from the start of its first to the end of its last collective, on its own clock.
    pub(crate) windows: Vec<(i64, i64)>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// A collective on one rank: one kernel, or several of one call.
#[derive(Clone, Copy, Debug)]
struct Execution {
    entry: Entry,
    sequence: Option<i64>,
}

/// What the other ranks of a lane are held against.
struct Reference {
    recording: usize,
    /// By start.
    ends: Vec<End>,
    indices: Vec<i64>,
    /// Positions by index, where the program numbers the collectives.
    by_index: HashMap<i64, usize>,
    /// Indices by number, where the numbers were counted in profiles, so that they identify the collectives and do not ascend
    /// in time. Collectives that the reference does not have get one when they are first seen.
    by_key: Option<HashMap<i64, i64>>,
}

/// Columns that matching reads.
const WANTED: Wanted<'static> = Wanted::Only(&[
    "group",
    "ordinal",
    "name",
    "dtype",
    "in_elements",
    "out_elements",
    "in_bytes",
    "out_bytes",
    "stream",
    "start_ns",
    "duration_ns",
    "step",
    "computation_ns",
    "sequence",
    "peer",
    "point_to_point",
    "call",
]);

/// Collectives that only some of the ranks have beside the reference get numbers from here on.
pub(crate) const BEYOND: i64 = i64::MAX / 2;

/// The same of those that are identified by a key.
const BEYOND_WITH_KEY: i64 = BEYOND + (1 << 48);

/// Matches the collectives of a job.
///
/// # Errors
/// When a table cannot be read, or there is no space for what does not fit in memory.
pub(crate) fn match_collectives(job: &Job, pairing: Pairing) -> Result<Matching, Error> {
    let mut matcher = Matcher {
        job,
        lanes: Vec::new(),
        known_lanes: HashMap::new(),
        references: Vec::new(),
        matching: Matching {
            lanes: Vec::new(),
            signatures: Signatures::default(),
            entries: Runs::default(),
            rank_matches: Vec::new(),
            clock_pairs: Vec::new(),
            windows: vec![(i64::MAX, i64::MIN); job.recordings.len()],
            diagnostics: Vec::new(),
        },
        left_over: Vec::new(),
        offsets: HashMap::new(),
        deferred: Vec::new(),
        mixed: HashSet::new(),
    };
    match pairing {
        Pairing::Best => matcher.match_best()?,
        Pairing::Position => matcher.match_by_position()?,
    }
    let Matcher { lanes, mut matching, .. } = matcher;
    matching.lanes = lanes;
    Ok(matching)
}

impl Job {
    /// How the clocks of its hosts stand to each other.
    pub(crate) fn clocks(&self, mode: ClockMode) -> Result<Clocks, Error> {
        let is_one = mode == ClockMode::Raw || self.clocks.len() < 2;
        let pairs = if is_one { Vec::new() } else { match_collectives(self, Pairing::Best)?.clock_pairs };
        Ok(Clocks::solve(self, &pairs, mode))
    }
}

struct Matcher<'a> {
    job: &'a Job,
    lanes: Vec<Lane>,
    known_lanes: HashMap<Lane, usize>,
    /// By lane.
    references: Vec<Option<Reference>>,
    matching: Matching,
    /// By lane, in the time of its reference: what the reference does not have.
    left_over: Vec<(usize, i64, Execution)>,
    /// Differences of clocks that were found, by the clocks of the rank and the reference.
    offsets: HashMap<(usize, usize), i64>,
    /// What only a known difference of clocks may tell.
    deferred: Vec<(usize, usize, Vec<Execution>)>,
    /// Recordings whose kernels that tell no group run on several streams.
    mixed: HashSet<usize>,
}

impl Matcher<'_> {
    fn match_best(&mut self) -> Result<(), Error> {
        let job = self.job;
        let busiest = |recordings: &[(usize, i64)]| {
            recordings
                .iter()
                .max_by_key(|&&(recording, kernels)| (kernels, std::cmp::Reverse(recording)))
                .map(|of| of.0)
        };
        let busiest_recordings: Vec<Option<usize>> =
            job.groups.iter().map(|group| busiest(&group.recordings)).collect();
        let mut read_recordings: Vec<usize> = busiest_recordings.iter().flatten().copied().collect();
        read_recordings.sort_unstable();
        read_recordings.dedup();
        read_ahead(job, &read_recordings, |recording, rows| {
            for (lane, executions) in self.executions(recording, rows)? {
                let Lane { group, pair } = self.lanes[lane];
                if pair.is_none() && busiest_recordings[group] == Some(recording) {
                    self.references[lane] =
                        Some(Reference::new(recording, &executions, &self.matching.signatures));
                }
            }
            Ok(())
        })?;
        let all: Vec<usize> = (0..job.recordings.len()).collect();
        read_ahead(job, &all, |recording, rows| {
            for (lane, executions) in self.executions(recording, rows)? {
                self.match_rank(lane, recording, executions, true)?;
            }
            Ok(())
        })?;
        for (lane, recording, executions) in std::mem::take(&mut self.deferred) {
            self.match_rank(lane, recording, executions, false)?;
        }
        self.matching.rank_matches.sort_few_by_key(|rank_match| (rank_match.recording, rank_match.lane));
        self.match_left_over()
    }

    /// The collectives of a recording by lane, each lane in order of start. The kernels of one call are one execution.
    fn executions(
        &mut self,
        recording: usize,
        rows: Vec<CollectiveRow>,
    ) -> Result<Vec<(usize, Vec<Execution>)>, Error> {
        let of = &self.job.recordings[recording];
        let mut lanes: Vec<(usize, Vec<Execution>)> = Vec::new();
        let mut places: HashMap<usize, usize> = HashMap::new();
        let mut call_positions: HashMap<(usize, i64), usize> = HashMap::new();
        let mut stream = None;
        for (position, row) in (0_u32..).zip(&rows) {
            let lane = self.lane(of, row);
            if self.job.groups[self.lanes[lane].group].name.is_none()
                && *stream.get_or_insert(row.stream) != row.stream
            {
                self.mixed.insert(recording);
            }
            let place = *places.entry(lane).or_insert_with(|| {
                lanes.push((lane, Vec::new()));
                lanes.len() - 1
            });
            let executions = &mut lanes[place].1;
            let start = of.row.base_time_ns.saturating_add(row.start_ns);
            let end = start.saturating_add(row.duration_ns);
            let window = &mut self.matching.windows[recording];
            *window = (window.0.min(start), window.1.max(end));
            if let Some(&at) = row.call.and_then(|call| call_positions.get(&(lane, call))) {
                let entry: &mut Entry = &mut executions[at].entry;
                entry.start = entry.start.min(start);
                entry.end = entry.end.max(end);
                entry.kernels += 1;
                continue;
            }
            call_positions.extend(row.call.map(|call| ((lane, call), executions.len())));
            let entry = Entry {
                lane: lane as u32,
                recording: recording as u32,
                row: position,
                signature: self.matching.signatures.index(row),
                kernels: 1,
                step: row.step.and_then(|step| i32::try_from(step).ok()).unwrap_or(-1),
                overlapped: 2 * row.computation_ns > row.duration_ns,
                index: 0,
                start,
                end,
            };
            // A rank counts its transfers with all others together, so their numbers differ at the two ends.
            let sequence = row.sequence.filter(|_| row.point_to_point == 0);
            executions.push(Execution { entry, sequence });
        }
        Ok(lanes)
    }

    fn lane(&mut self, recording: &Recording, row: &CollectiveRow) -> usize {
        let group = recording.group_of[row.group as usize];
        let peer = row.peer.filter(|_| row.point_to_point > 0).and_then(|peer| u32::try_from(peer).ok());
        let receives = row.name.as_deref().is_some_and(|name| name.starts_with("recv"));
        let pair = peer.map(|peer| {
            // PyTorch counts peers within the group.
            let (own, other) = (recording.rank, self.job.groups[group].members.at(peer).unwrap_or(peer));
            if receives { (other, own) } else { (own, other) }
        });
        let lane = Lane { group, pair };
        *self.known_lanes.entry(lane).or_insert_with(|| {
            self.lanes.push(lane);
            self.references.push(None);
            self.lanes.len() - 1
        })
    }

    fn match_rank(
        &mut self,
        lane: usize,
        recording: usize,
        mut executions: Vec<Execution>,
        may_wait: bool,
    ) -> Result<(), Error> {
        let signatures = &self.matching.signatures;
        // Point-to-point operations are held against those of the rank that comes first.
        let reference =
            self.references[lane].get_or_insert_with(|| Reference::new(recording, &executions, signatures));
        let numbered = executions.iter().all(|execution| execution.sequence.is_some())
            && reference.is_numbered(&executions);
        let named = self.job.groups[self.lanes[lane].group].name.is_some();
        let mut rank_match = RankMatch {
            lane,
            recording,
            tier: if named { Tier::Aligned } else { Tier::AlignedStream },
            executions: executions.len() as u64,
            unmatched: 0,
            doubt: None,
        };
        let recordings = &self.job.recordings;
        let clocks = (recordings[recording].clock, recordings[reference.recording].clock);
        let mut clock_pair = None;
        // How the ends of the collectives pair, where that is to be followed.
        let mut by_ends: Option<Alignment> = None;
        if reference.recording == recording {
            for (execution, &index) in executions.iter_mut().zip(&reference.indices) {
                execution.entry.index = index;
            }
            rank_match.tier = if numbered { Tier::Sequence } else { rank_match.tier };
        } else if numbered {
            rank_match.tier = Tier::Sequence;
            for execution in &mut executions {
                execution.entry.index = reference.index(execution.sequence.unwrap_or_default());
            }
            clock_pair = reference.clock_pair(recording, &executions, signatures);
            if reference.by_key.is_some() && clocks.0 != clocks.1 {
                // Executions of an instruction are counted from the start of the profile. Their ends tell whether the
                // profiles begin at the same step; where several differences of clocks explain them, the numbers decide.
                let near = clock_pair.as_ref().map(|pair| pair.offset);
                let alignment = align(&reference.ends, &ends(&executions, signatures), near);
                match alignment.doubt {
                    None if reference.contradicts(&alignment, &executions) => {
                        rank_match.tier = Tier::Aligned;
                        by_ends = Some(alignment);
                    }
                    doubt => {
                        let apart =
                            clock_pair.as_ref().is_some_and(|pair| pair.deviation > WIDTHS[WIDTHS.len() - 1]);
                        rank_match.doubt = doubt.filter(|_| apart);
                    }
                }
            }
        } else {
            let near = if clocks.0 == clocks.1 { Some(0) } else { self.offsets.get(&clocks).copied() };
            let mut alignment = align(&reference.ends, &ends(&executions, signatures), near);
            if alignment.doubt == Some(Doubt::TwoOffsets) && may_wait {
                self.deferred.push((lane, recording, executions));
                return Ok(());
            }
            if !named && (self.mixed.contains(&recording) || self.mixed.contains(&reference.recording)) {
                alignment.doubt = Some(Doubt::SeveralStreams);
            }
            if alignment.doubt.is_none() {
                self.offsets.entry(clocks).or_insert(alignment.offset);
            }
            rank_match.doubt = alignment.doubt;
            if alignment.doubt.is_some() && named {
                rank_match.tier = Tier::Ordinal;
                for (at, execution) in executions.iter_mut().enumerate() {
                    execution.entry.index = reference.indices.get(at).copied().unwrap_or(at as i64);
                }
            } else {
                by_ends = Some(alignment);
            }
        }
        if let Some(alignment) = by_ends {
            let mut matched = Vec::with_capacity(executions.len());
            for (mut execution, pair) in executions.into_iter().zip(alignment.pairs) {
                match pair.filter(|_| alignment.doubt.is_none()) {
                    Some(pair) => {
                        execution.entry.index = reference.indices[pair];
                        matched.push(execution);
                    }
                    None if alignment.doubt.is_some() => {}
                    None => {
                        let end = execution.entry.end - alignment.offset;
                        self.left_over.push((lane, end, execution));
                    }
                }
            }
            rank_match.unmatched = rank_match.executions - matched.len() as u64;
            executions = matched;
            clock_pair = reference.clock_pair(recording, &executions, signatures);
        }
        if rank_match.tier == Tier::Aligned && numbered && reference.recording != recording {
            let domain = |clock: usize| self.job.clocks[clock].name.clone();
            let (host, against) = (domain(clocks.0), domain(clocks.1));
            let diagnostic = Diagnostic::OtherFirstStep { host, against };
            if !self.matching.diagnostics.contains(&diagnostic) {
                self.matching.diagnostics.push(diagnostic);
            }
        }
        self.matching.clock_pairs.extend(clock_pair);
        self.matching.rank_matches.push(rank_match);
        for execution in executions {
            self.matching.entries.push(execution.entry)?;
        }
        Ok(())
    }

    /// Matches what the references do not have among the ranks that have it: like collectives of several ranks that end
    /// together on the clock of the reference.
    fn match_left_over(&mut self) -> Result<(), Error> {
        const TOGETHER: i64 = 20_000;
        let mut left_over = std::mem::take(&mut self.left_over);
        let common =
            |execution: &Execution| self.matching.signatures.common[execution.entry.signature as usize];
        left_over.sort_by_key(|(lane, end, execution)| {
            (*lane, common(execution), *end, execution.entry.recording)
        });
        let mut index = BEYOND;
        let mut unmatched: HashMap<(usize, usize), u64> = HashMap::new();
        let mut rest = left_over.as_slice();
        while let Some((lane, end, first)) = rest.first() {
            let is_same = |(other_lane, other_end, other): &&(usize, i64, Execution)| {
                other_lane == lane && common(other) == common(first) && other_end - end <= TOGETHER
            };
            let mut together = rest.iter().take_while(is_same).count();
            let mut seen = Vec::new();
            for (_, _, execution) in &rest[..together] {
                if seen.contains(&execution.entry.recording) {
                    break;
                }
                seen.push(execution.entry.recording);
            }
            together = together.min(seen.len());
            if together > 1 {
                index += 1;
                for (_, _, execution) in &rest[..together] {
                    self.matching.entries.push(Entry { index, ..execution.entry })?;
                }
            } else {
                *unmatched.entry((*lane, first.entry.recording as usize)).or_default() += 1;
            }
            rest = &rest[together..];
        }
        for rank_match in &mut self.matching.rank_matches {
            let alone = unmatched.remove(&(rank_match.lane, rank_match.recording));
            rank_match.unmatched =
                alone.unwrap_or(if rank_match.doubt.is_some() { rank_match.unmatched } else { 0 });
            let group = &self.job.groups[self.lanes[rank_match.lane].group];
            let rank = self.job.recordings[rank_match.recording].rank;
            if let Some(doubt) = rank_match.doubt {
                let (group, why) = (group.title(), in_words(doubt, rank_match.tier));
                self.matching.diagnostics.push(Diagnostic::Ambiguous { group, rank, why });
            }
            if rank_match.unmatched > 0 {
                let (group, collectives) = (group.title(), rank_match.unmatched);
                self.matching.diagnostics.push(Diagnostic::Unmatched { group, rank, collectives });
            }
        }
        Ok(())
    }

    /// Every kernel by its place among those of its rank in groups of its name.
    fn match_by_position(&mut self) -> Result<(), Error> {
        let unknown = |name: Option<&str>| name.is_none_or(|name| name == "Unknown_Group");
        let mut by_name: HashMap<Option<Text>, usize> = HashMap::new();
        let lanes_of_groups: Vec<usize> = self
            .job
            .groups
            .iter()
            .enumerate()
            .map(|(group, of)| {
                let name = of.name.clone().filter(|name| !unknown(Some(name)));
                *by_name.entry(name).or_insert_with(|| {
                    self.lanes.push(Lane { group, pair: None });
                    self.lanes.len() - 1
                })
            })
            .collect();
        let all: Vec<usize> = (0..self.job.recordings.len()).collect();
        read_ahead(self.job, &all, |recording, rows| {
            let of = &self.job.recordings[recording];
            let mut entries: Vec<Entry> = Vec::with_capacity(rows.len());
            for (position, row) in (0_u32..).zip(&rows) {
                entries.push(Entry {
                    lane: lanes_of_groups[of.group_of[row.group as usize]] as u32,
                    recording: recording as u32,
                    row: position,
                    signature: self.matching.signatures.index(row),
                    kernels: 1,
                    step: row.step.and_then(|step| i32::try_from(step).ok()).unwrap_or(-1),
                    overlapped: 2 * row.computation_ns > row.duration_ns,
                    index: 0,
                    start: row.start_ns,
                    end: row.start_ns.saturating_add(row.duration_ns),
                });
            }
            entries.sort_by_key(|entry| (entry.lane, entry.start, rows[entry.row as usize].ordinal));
            for lane_entries in entries.chunk_by_mut(|a, b| a.lane == b.lane) {
                for (index, entry) in (0..).zip(lane_entries) {
                    entry.index = index;
                    self.matching.entries.push(*entry)?;
                }
            }
            Ok(())
        })
    }
}

/// Reads the collectives of recordings, one after the other, and hands them out. A thread reads the next ones in the
/// meantime, which is about as much work as matching.
fn read_ahead(
    job: &Job,
    recordings: &[usize],
    mut take: impl FnMut(usize, Vec<CollectiveRow>) -> Result<(), Error>,
) -> Result<(), Error> {
    /// Recordings that are held beside the one that is taken.
    const AHEAD: usize = 2;
    let read = |recording: usize| job.recordings[recording].folder.rows(WANTED);
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(AHEAD);
        let read_all = move || {
            // A caller that takes no more has met a fault.
            let _ = recordings.iter().try_for_each(|&recording| sender.send(read(recording)));
        };
        let _ = Builder::new().name("collectives".to_owned()).spawn_scoped(scope, read_all);
        recordings.iter().try_for_each(|&recording| {
            // Where there can be no thread, nobody sends.
            take(recording, receiver.recv().unwrap_or_else(|_| read(recording))?)
        })
    })
}

fn in_words(doubt: Doubt, tier: Tier) -> &'static str {
    match (doubt, tier) {
        (Doubt::NoCommonOffset | Doubt::FewPairs, Tier::Sequence) => {
            "their end times fit no common clock offset; they are matched by execution number in the profile"
        }
        (Doubt::NoCommonOffset, Tier::Ordinal) => {
            "their end times fit no common clock offset; they are matched by order"
        }
        (Doubt::NoCommonOffset, _) => "their end times fit no common clock offset; they are not matched",
        (Doubt::SeveralStreams, _) => {
            "they run on several streams, so they belong to several groups that the recording does not name; they are \
             not matched"
        }
        (Doubt::FewPairs, Tier::Ordinal) => "too few of them end together; they are matched by order",
        (Doubt::FewPairs, _) => "too few of them end together; they are not matched",
        (Doubt::TwoOffsets, Tier::Ordinal) => {
            "they are evenly spaced, which fits several clock offsets; they are matched by order"
        }
        (Doubt::TwoOffsets, _) => {
            "they are evenly spaced, which fits several clock offsets; they are not matched"
        }
    }
}

fn ends(executions: &[Execution], signatures: &Signatures) -> Vec<End> {
    let end = |execution: &Execution| End {
        time: execution.entry.end,
        signature: execution
            .sequence
            .and_then(counted_instruction)
            .unwrap_or_else(|| u64::from(signatures.common[execution.entry.signature as usize])),
    };
    executions.iter().map(end).collect()
}

impl Reference {
    fn new(recording: usize, executions: &[Execution], signatures: &Signatures) -> Self {
        let numbered = executions.iter().all(|execution| execution.sequence.is_some());
        let index =
            |(at, execution): (i64, &Execution)| execution.sequence.filter(|_| numbered).unwrap_or(at);
        let mut indices: Vec<i64> = (0..).zip(executions).map(index).collect();
        let is_counted = indices.first().is_some_and(|&index| counted_instruction(index).is_some());
        let by_key = is_counted.then(|| indices.iter().copied().zip(0..).collect());
        if by_key.is_some() {
            indices = (0..).take(indices.len()).collect();
        }
        let by_index = if numbered { indices.iter().copied().zip(0..).collect() } else { HashMap::new() };
        Reference { recording, ends: ends(executions, signatures), indices, by_index, by_key }
    }

    /// Index of the collective with this number.
    fn index(&mut self, sequence: i64) -> i64 {
        let Some(by_key) = &mut self.by_key else { return sequence };
        let next = BEYOND_WITH_KEY + by_key.len() as i64;
        *by_key.entry(sequence).or_insert(next)
    }

    /// Whether the program numbers the collectives, also where neither rank has any.
    fn is_numbered(&self, executions: &[Execution]) -> bool {
        !self.by_index.is_empty() || (self.ends.is_empty() && executions.is_empty())
    }

    /// Whether most collectives that end together have other numbers than their partners.
    fn contradicts(&self, alignment: &Alignment, executions: &[Execution]) -> bool {
        let pairs = executions
            .iter()
            .zip(&alignment.pairs)
            .filter_map(|(execution, pair)| Some(execution.entry.index != *self.indices.get((*pair)?)?));
        let (paired, other) =
            pairs.fold((0, 0), |(paired, other), differs| (paired + 1, other + i32::from(differs)));
        2 * other > paired
    }

    /// How the clock of a rank stands to that of the reference, by the ends of what both have.
    fn clock_pair(
        &self,
        recording: usize,
        executions: &[Execution],
        signatures: &Signatures,
    ) -> Option<ClockPair> {
        let at = |index: i64| {
            let numbered = self.by_index.get(&index).copied();
            numbered.or_else(|| usize::try_from(index).ok().filter(|_| self.by_index.is_empty()))
        };
        let together = executions
            .iter()
            .filter(|execution| signatures.all[execution.entry.signature as usize].is_synchronising());
        let mut differences: Vec<(i64, i64)> = together
            .filter_map(|execution| {
                let end = self.ends.get(at(execution.entry.index)?)?.time;
                Some((end, execution.entry.end - end))
            })
            .collect();
        ClockPair::new(recording, self.recording, &mut differences)
    }
}
