//! The ranks of a job and their groups, put together from the tables of the recordings.

use std::collections::BTreeMap;

use gpu_timeline::SortFew;
use hashbrown::HashMap;

use crate::diagnostic::Diagnostic;
use crate::error::Error;
use crate::folder::RankFolder;
use crate::map::group_key;
use crate::members::Members;
use crate::rows::{Text, Wanted};
use crate::tables::{CollectiveRow, FindingRow, GroupRow, RankRow};

/// Recordings of one job.
#[derive(Debug)]
pub struct Job {
    /// By rank, then by time.
    pub(crate) recordings: Vec<Recording>,
    pub(crate) groups: Vec<Group>,
    /// Hosts, or what stands for them, that have a clock each.
    pub(crate) clocks: Vec<ClockDomain>,
    /// Number of ranks that the recordings say the job has; else as many as there are.
    pub(crate) world_size: usize,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// The recording of a rank.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) rank: u32,
    pub(crate) row: RankRow,
    pub(crate) folder: RankFolder,
    /// Index of its clock.
    pub(crate) clock: usize,
    /// By the recording's own group the index among those of the job.
    pub(crate) group_of: Vec<usize>,
}

impl Recording {
    /// The kernels of its collectives.
    pub(crate) fn collectives(&self) -> Result<Vec<CollectiveRow>, Error> {
        self.folder.rows(Wanted::All)
    }
}

#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) name: Option<Text>,
    pub(crate) description: Option<Text>,
    pub(crate) ranks_text: Option<Text>,
    pub(crate) size: Option<i64>,
    pub(crate) members: Members,
    pub(crate) partial: bool,
    /// Recordings of members, with the number of their kernels.
    pub(crate) recordings: Vec<(usize, i64)>,
}

impl Group {
    /// Number of ranks that take part in its collectives.
    pub(crate) fn expected(&self) -> Option<usize> {
        let declared = self.size.and_then(|size| usize::try_from(size).ok());
        declared.or_else(|| Some(self.members.len()).filter(|&members| members > 0 && !self.partial))
    }

    /// What it is called: its name with what it is for.
    pub(crate) fn title(&self) -> String {
        match (&self.name, &self.description) {
            (Some(name), Some(description)) if !description.is_empty() && description != name => {
                format!("{name} ({description})")
            }
            (Some(name), _) => name.to_string(),
            (None, _) => "(unnamed)".to_owned(),
        }
    }
}

/// Recordings that share a clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClockDomain {
    pub(crate) name: String,
    /// Whether it is known to be a host; else a rank is thought to have a clock of its own.
    pub(crate) is_host: bool,
    pub(crate) ranks: Members,
}

impl Job {
    /// Puts the recordings of these folders together, each of the rank that is given with it or its own.
    ///
    /// # Errors
    /// When a table cannot be read, or some are of traces and others of profiles.
    pub fn open(folders: Vec<(RankFolder, Option<u32>)>) -> Result<Self, Error> {
        let source = |is_profile: bool| {
            let mut sources = folders.iter().map(|(folder, _)| folder.source());
            sources.find(|source| source.device.is_some() == is_profile)
        };
        if let (Some(profile), Some(trace)) = (source(true), source(false)) {
            return Err(Error::TwoKinds { profile: (&profile.path).into(), trace: (&trace.path).into() });
        }
        let mut diagnostics = Vec::new();
        let mut read = Vec::new();
        for (folder, rank) in folders {
            let row = folder.rows::<RankRow>(Wanted::All)?.into_iter().next().unwrap_or_default();
            let groups = folder.rows::<GroupRow>(Wanted::All)?;
            read.push((rank, row, groups, folder));
        }
        leave_out_other_jobs(&mut read, &mut diagnostics);
        set_aside_other_processes(&mut read, &mut diagnostics);
        let world_size = read.iter().find_map(|(_, row, ..)| usize::try_from(row.world_size?).ok());
        let mut recordings = Vec::new();
        let mut group_rows = Vec::new();
        for (rank, row, groups, folder) in numbered(read, &mut diagnostics) {
            recordings.push(Recording { rank, row, folder, clock: 0, group_of: Vec::new() });
            group_rows.push(groups);
        }
        let clocks = clock_domains(&mut recordings);
        let groups = groups(&mut recordings, &group_rows);
        // How many hosts a job has, no profile says; the groups of its programs name them all.
        let has_profiles = recordings.iter().any(|recording| recording.folder.source().device.is_some());
        let last =
            groups.iter().filter(|_| has_profiles).filter_map(|group| group.members.iter().last()).max();
        let world_size = world_size.max(last.map(|last| last as usize + 1));
        let present = Members::new(recordings.iter().map(|recording| recording.rank));
        let world_size = world_size.unwrap_or(present.len()).max(present.len());
        diagnostics.extend(unreliable(&recordings)?);
        let job = Job { recordings, groups, clocks, world_size, diagnostics };
        Ok(job.diagnosed(&present))
    }

    /// Devices that the process of the first rank sees, where it says so.
    #[must_use]
    pub fn visible_devices(&self) -> Option<u32> {
        let first = self.recordings.first()?;
        u32::try_from(first.row.visible_devices).ok().filter(|&devices| devices > 0)
    }

    /// Whether a group's recorded members are on one host; `None` where some host is not known.
    pub(crate) fn is_on_one_host(&self, group: usize) -> Option<bool> {
        let mut clocks =
            self.groups[group].recordings.iter().map(|&(recording, _)| self.recordings[recording].clock);
        let first = clocks.next()?;
        let all_known = self.groups[group]
            .recordings
            .iter()
            .all(|&(recording, _)| self.clocks[self.recordings[recording].clock].is_host);
        all_known.then(|| clocks.all(|clock| clock == first))
    }

    pub(crate) fn present(&self) -> Members {
        Members::new(self.recordings.iter().map(|recording| recording.rank))
    }

    /// Says what is odd about the recordings.
    fn diagnosed(mut self, present: &Members) -> Self {
        let all = 0..u32::try_from(self.world_size).unwrap_or(u32::MAX);
        let missing = Members::new(all.filter(|&rank| !present.contains(rank)));
        if !missing.is_empty() {
            self.diagnostics.push(Diagnostic::RanksMissing { ranks: missing, of: self.world_size });
        }
        let usual_steps = most_common(self.recordings.iter().map(|recording| recording.row.steps));
        for recording in &self.recordings {
            let (rank, row) = (recording.rank, &recording.row);
            if row.damaged > 0 {
                self.diagnostics
                    .push(Diagnostic::CutOff { rank, path: recording.folder.source().path.clone() });
            }
            if row.collectives == 0 && self.recordings.len() > 1 {
                self.diagnostics.push(Diagnostic::NoCollectives { rank });
            }
            if let Some(usual) = usual_steps.filter(|&usual| usual != row.steps) {
                self.diagnostics.push(Diagnostic::OtherSteps { rank, steps: row.steps, usual });
            }
        }
        for group in &self.groups {
            if group.name.is_none() {
                let group_ranks =
                    group.recordings.iter().map(|&(recording, _)| self.recordings[recording].rank);
                let kernels = group.recordings.iter().map(|&(_, kernels)| kernels).sum();
                self.diagnostics.push(Diagnostic::NoMetadata { ranks: Members::new(group_ranks), kernels });
            } else if group.partial {
                self.diagnostics.push(Diagnostic::MembersPartial { group: group.title() });
            }
        }
        self
    }
}

/// The findings that make figures unreliable, each rule once with the ranks that it is about.
fn unreliable(recordings: &[Recording]) -> Result<Vec<Diagnostic>, Error> {
    let mut by_rule: BTreeMap<Text, (Vec<u32>, FindingRow)> = BTreeMap::new();
    for recording in recordings {
        for finding in recording.folder.rows::<FindingRow>(Wanted::All)? {
            // A recording that ends early (F1) is [`Diagnostic::CutOff`].
            let is_grave = matches!(finding.severity.as_deref(), Some("error" | "warning"))
                && finding.rule.as_deref() != Some("F1");
            let (Some(rule), true) = (finding.rule.clone(), is_grave && finding.consequence.is_some()) else {
                continue;
            };
            by_rule.entry(rule).or_insert_with(|| (Vec::new(), finding)).0.push(recording.rank);
        }
    }
    let said = |text: Option<Text>| text.map_or_else(String::new, |text| text.to_string());
    let diagnostic = |(rule, (ranks, first)): (Text, (Vec<u32>, FindingRow))| Diagnostic::Unreliable {
        rule: rule.to_string(),
        ranks: Members::new(ranks),
        finding: said(first.finding),
        consequence: said(first.consequence),
    };
    Ok(by_rule.into_iter().map(diagnostic).collect())
}

type Read = (Option<u32>, RankRow, Vec<GroupRow>, RankFolder);

/// Leaves out recordings that say another number of ranks than most.
fn leave_out_other_jobs(read: &mut Vec<Read>, diagnostics: &mut Vec<Diagnostic>) {
    let Some(usual) = most_common(read.iter().filter_map(|(_, row, ..)| row.world_size)) else { return };
    read.retain(|(_, row, _, folder)| {
        let other = row.world_size.filter(|&world_size| world_size != usual);
        diagnostics.extend(other.map(|world_size| Diagnostic::OtherJob {
            path: folder.source().path.clone(),
            world_size,
            usual,
        }));
        other.is_none()
    });
}

/// Leaves out recordings of processes that are no ranks, such as a server that hands work to them. Those say neither a rank nor
/// a number of ranks, and do nothing on a device where others do, or are more than the job has ranks.
fn set_aside_other_processes(read: &mut Vec<Read>, diagnostics: &mut Vec<Diagnostic>) {
    let rank = |(given, row, ..): &Read| given.or_else(|| u32::try_from(row.rank?).ok());
    let works = |(_, row, ..): &Read| row.busy_ns > 0 || row.collectives > 0;
    let has_work = read.iter().any(works);
    let present = Members::new(read.iter().filter_map(rank));
    let world_size = read.iter().find_map(|(_, row, ..)| usize::try_from(row.world_size?).ok());
    let is_whole = world_size.is_some_and(|size| {
        present.len() >= size
            && (0..u32::try_from(size).unwrap_or(u32::MAX)).all(|rank| present.contains(rank))
    });
    read.retain(|recording| {
        let (_, row, _, folder) = recording;
        let why = if rank(recording).is_some() || row.world_size.is_some() {
            None
        } else if has_work && !works(recording) {
            Some("it has no device work, no collectives, no distributedInfo and no rank in its name")
        } else if is_whole {
            Some("it names no rank, and every rank of the job already has a recording")
        } else {
            None
        };
        diagnostics.extend(why.map(|why| Diagnostic::NoRank { path: folder.source().path.clone(), why }));
        why.is_none()
    });
}

/// Gives a number to recordings whose rank is not known: the lowest that are free, in the order of their paths.
fn numbered(
    mut read: Vec<Read>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<(u32, RankRow, Vec<GroupRow>, RankFolder)> {
    let own = |read: &Read| read.0.or_else(|| u32::try_from(read.1.rank?).ok());
    read.sort_few_by(|a, b| {
        let key = |read: &Read| {
            (own(read).unwrap_or(u32::MAX), read.1.base_time_ns.saturating_add(read.1.window_start_ns))
        };
        key(a).cmp(&key(b)).then_with(|| a.3.source().path.cmp(&b.3.source().path))
    });
    let taken = Members::new(read.iter().filter_map(own));
    let mut free = (0_u32..).filter(|&rank| !taken.contains(rank));
    let mut numbered: Vec<_> = read
        .into_iter()
        .map(|read| {
            let rank = own(&read).unwrap_or_else(|| {
                let rank = free.next().unwrap_or(u32::MAX);
                diagnostics.push(Diagnostic::RankByOrder { path: read.3.source().path.clone(), rank });
                rank
            });
            let (_, row, groups, folder) = read;
            (rank, row, groups, folder)
        })
        .collect();
    numbered.sort_few_by_key(|(rank, row, ..)| (*rank, row.base_time_ns.saturating_add(row.window_start_ns)));
    numbered
}

/// Which recordings share a clock: those of one host. Where no path tells the host, ranks that fit the devices of a host
/// stand on one, and else each recording is thought to have a clock of its own.
fn clock_domains(recordings: &mut [Recording]) -> Vec<ClockDomain> {
    let ranks = recordings.len();
    let host_devices = devices_of_host(recordings).unwrap_or(0);
    let shares_device = |a: &Recording, b: &Recording| a.row.device == b.row.device && a.rank != b.rank;
    let mut by_device: Vec<&Recording> = recordings.iter().filter(|of| of.row.device.is_some()).collect();
    by_device.sort_few_by_key(|recording| recording.row.device);
    let has_own_devices = by_device.windows(2).all(|pair| !shares_device(pair[0], pair[1]));
    let mut domains: Vec<(String, bool, Vec<u32>)> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for recording in recordings {
        let visible = u32::try_from(recording.row.visible_devices).unwrap_or(0);
        let devices = host_devices.max(visible);
        let (name, is_host) = match &recording.row.host {
            Some(host) => (host.to_string(), true),
            None if ranks <= visible as usize && has_own_devices => ("host 0".to_owned(), true),
            None if devices > 1 => (format!("host {}", recording.rank / devices), true),
            None => (format!("host of rank {}", recording.rank), false),
        };
        recording.clock = *known.entry(name.clone()).or_insert_with(|| {
            domains.push((name, is_host, Vec::new()));
            domains.len() - 1
        });
        domains[recording.clock].2.push(recording.rank);
    }
    let domain = |(name, is_host, ranks)| ClockDomain { name, is_host, ranks: Members::new(ranks) };
    domains.into_iter().map(domain).collect()
}

/// Devices of a host, by the numbers of those that the ranks use: these are counted on each host, so that a process that
/// names only its own device tells how many there are at least. `None` where ranks do not use devices in turn.
fn devices_of_host(recordings: &[Recording]) -> Option<u32> {
    let device = |recording: &Recording| u32::try_from(recording.row.device?).ok();
    let last = recordings.iter().filter_map(device).max()?;
    let devices = last.checked_add(1)?;
    recordings.iter().all(|recording| device(recording) == Some(recording.rank % devices)).then_some(devices)
}

/// The groups of a job: those of its recordings that have one name and the same members.
fn groups(recordings: &mut [Recording], group_rows: &[Vec<GroupRow>]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut known: BTreeMap<i64, usize> = BTreeMap::new();
    for (index, (recording, rows)) in recordings.iter_mut().zip(group_rows).enumerate() {
        for row in rows {
            debug_assert_eq!(row.key, group_key(row.name.as_deref(), row.members.as_deref(), row.size));
            let at = *known.entry(row.key).or_insert_with(|| {
                groups.push(Group {
                    name: row.name.clone(),
                    description: row.description.clone(),
                    ranks_text: row.ranks_text.clone(),
                    size: row.size,
                    members: row.members.as_deref().and_then(Members::from_ranges).unwrap_or_default(),
                    partial: row.members_partial > 0,
                    recordings: Vec::new(),
                });
                groups.len() - 1
            });
            recording.group_of.push(at);
            match groups[at].recordings.last_mut() {
                Some((last, kernels)) if *last == index => *kernels += row.collectives,
                _ => groups[at].recordings.push((index, row.collectives)),
            }
        }
    }
    groups
}

/// The value that most have; the lowest of several.
pub(crate) fn most_common(values: impl Iterator<Item = i64>) -> Option<i64> {
    let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    counts.into_iter().max_by_key(|&(value, count)| (count, std::cmp::Reverse(value))).map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::{JobFolder, Source};
    use crate::tables::RankTables;

    /// Severity, rule and consequence of a finding.
    fn finding(severity: &str, rule: &str, consequence: Option<&str>) -> FindingRow {
        FindingRow {
            rule: Some(rule.into()),
            severity: Some(severity.into()),
            finding: Some(format!("{rule} was seen").into()),
            consequence: consequence.map(Text::from),
            ..FindingRow::default()
        }
    }

    /// The job of these recordings, each with the name of its file.
    fn job(rows: &[(&str, RankRow)]) -> Job {
        let folder = tempfile::tempdir().unwrap();
        let mut job = JobFolder::open(&folder.path().join("job")).unwrap();
        for (name, row) in rows {
            let path = folder.path().join(name);
            std::fs::write(&path, name).unwrap();
            let tables = RankTables { rank: row.clone(), ..RankTables::default() };
            job.add(&tables, Source::of(&path).unwrap()).unwrap();
        }
        Job::open(job.ranks().iter().map(|rank| (rank.clone(), None)).collect()).unwrap()
    }

    /// A rank that does something on its device, which it names alone.
    fn rank(rank: i64, device: i64) -> RankRow {
        RankRow {
            rank: Some(rank),
            device: Some(device),
            visible_devices: 1,
            busy_ns: 5,
            collectives: 1,
            ..RankRow::default()
        }
    }

    /// Ranks with a recording, and what is said of those that are none.
    fn ranks_and_others(job: &Job) -> (Vec<u32>, Vec<String>) {
        let others = job.diagnostics.iter().filter_map(|diagnostic| match diagnostic {
            Diagnostic::NoRank { path, why } => {
                let name = path.rsplit('/').next().unwrap_or_default();
                Some(format!("{name}: {}", why.split(',').next().unwrap_or_default()))
            }
            _ => None,
        });
        (job.present().iter().collect(), others.collect())
    }

    #[test]
    fn processes_that_do_nothing_on_a_device_are_no_ranks() {
        let server = || ("async_llm.json", RankRow { steps: 4, ..RankRow::default() });
        let of_two = |number| RankRow { world_size: Some(2), ..rank(number, number) };
        let said = vec!["async_llm.json: it has no device work".to_owned()];
        let whole = job(&[("a.json", of_two(0)), ("b.json", of_two(1)), server()]);
        assert_eq!(ranks_and_others(&whole), (vec![0, 1], said.clone()));
        assert_eq!(whole.world_size, 2);
        // Ranks that tell no number, either.
        let unnumbered = || RankRow { rank: None, ..rank(0, 0) };
        let counted = job(&[("a.json", unnumbered()), ("b.json", unnumbered()), server()]);
        assert_eq!(ranks_and_others(&counted), (vec![0, 1], said));
        // Nobody does anything on a device: nothing tells ranks from others.
        let hosts = job(&[("a.json", RankRow::default()), server()]);
        assert_eq!(ranks_and_others(&hosts), (vec![0, 1], vec![]));
        // A rank may do nothing, and says that it is one.
        let idle = RankRow { busy_ns: 0, collectives: 0, ..of_two(1) };
        assert_eq!(ranks_and_others(&job(&[("a.json", of_two(0)), ("b.json", idle)])).0, [0, 1]);
    }

    #[test]
    fn a_job_has_no_more_ranks_than_it_says() {
        let of_two = |number| RankRow { world_size: Some(2), ..rank(number, number) };
        let other = || ("other.json", RankRow { rank: None, ..rank(0, 0) });
        let said = vec!["other.json: it names no rank".to_owned()];
        assert_eq!(
            ranks_and_others(&job(&[("a.json", of_two(0)), ("b.json", of_two(1)), other()])),
            (vec![0, 1], said)
        );
        assert_eq!(ranks_and_others(&job(&[("a.json", of_two(0)), other()])), (vec![0, 1], vec![]));
    }

    #[test]
    fn devices_that_are_used_in_turn_are_those_of_one_host() {
        let hosts = |rows: &[RankRow]| {
            let names: Vec<String> = (0..rows.len()).map(|at| format!("{at}.json")).collect();
            let rows: Vec<_> = names.iter().map(String::as_str).zip(rows.iter().cloned()).collect();
            job(&rows).clocks.iter().map(|clock| (clock.is_host, clock.ranks.len())).collect::<Vec<_>>()
        };
        let in_turn = |ranks: i64, devices: i64| {
            (0..ranks).map(|number| rank(number, number % devices)).collect::<Vec<_>>()
        };
        assert_eq!(hosts(&in_turn(8, 8)), [(true, 8)]);
        assert_eq!(hosts(&in_turn(16, 8)), [(true, 8), (true, 8)]);
        // Every process sees one device alone, and calls it 0.
        assert_eq!(hosts(&in_turn(3, 1)), [(false, 1); 3]);
        assert_eq!(hosts(&[rank(0, 3), rank(1, 1)]), [(false, 1); 2]);
        // Two ranks on one number of a device are on two hosts.
        let of_eight = |number| RankRow { visible_devices: 8, ..rank(number, 1) };
        assert_eq!(hosts(&[of_eight(1), of_eight(9)]), [(true, 1); 2]);
    }

    #[test]
    fn findings_that_make_figures_unreliable_are_said_once_with_their_ranks() {
        let lost = |severity| finding(severity, "W2", Some("times are too small"));
        let clock = || finding("warning", "C2", Some("delays are wrong"));
        let of_ranks = [
            vec![lost("warning"), finding("warning", "R3", None)],
            vec![lost("note")],
            vec![lost("error"), clock()],
            vec![finding("error", "F1", Some("figures are partial"))],
        ];
        let folder = tempfile::tempdir().unwrap();
        let mut job = JobFolder::open(&folder.path().join("job")).unwrap();
        for (rank, findings) in (0..).zip(of_ranks) {
            let path = folder.path().join(format!("rank{rank}.json"));
            std::fs::write(&path, rank.to_string()).unwrap();
            let row = RankRow { rank: Some(rank), ..RankRow::default() };
            let tables = RankTables { rank: row, findings, ..RankTables::default() };
            job.add(&tables, Source::of(&path).unwrap()).unwrap();
        }
        let job = Job::open(job.ranks().iter().map(|rank| (rank.clone(), None)).collect()).unwrap();
        let said: Vec<String> = job
            .diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.kind() == "unreliable recording")
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            said,
            [
                "rank 2: delays are wrong (C2: C2 was seen)",
                "ranks 0,2: times are too small (W2, on rank 0: W2 was seen)",
            ]
        );
    }
}
