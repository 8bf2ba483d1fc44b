//! The recordings of a job's hosts, each of several GPUs, brought into tables: XPlane profiles, exports of Nsight Systems.
//! How many devices a host has says which ranks the next hosts have, so those of a job are brought into tables together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use multi_rank::{
    HostOfJob, JobFolder, Members, ProfileDevice, RankFolder, RankTables, Source, gpus_of_trace, host_names,
    place_rank, rank_tables_of_host, recorded_host, trace_of_gpu,
};
use trace_ingest::nsys::{Session, read_session};
use trace_ingest::xplane::read_profile;
use trace_ingest::{ReadOptions, RecordingKind, read_path, recognise};
use tree_perf::{Analysis, AnalysisOptions};
use xla_perf::{JaxAnalysis, JaxOptions, gpus_at_work};

use crate::error::Error;
use crate::notice::Notice;
use crate::parallel::{MemoryBudget, map_in_order};
use crate::rank_tables::{MapOptions, Mapped, memory_to_read, tables_of_rank};

/// What the recordings of hosts are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostRecording {
    /// XPlane profiles.
    Profile,
    /// Exports of Nsight Systems.
    Export,
}

/// What the recordings of a job are, if they are of hosts: profiles always, exports of Nsight Systems where one of them has
/// several GPUs; others are traces of one rank each. What is no recording counts as nothing; reading says what it is.
///
/// # Errors
/// When some are of hosts and some are not, and when two exports are of one session.
pub(crate) fn host_recordings(recordings: &[PathBuf]) -> Result<Option<HostRecording>, Error> {
    let reading = ReadOptions::default();
    let (mut profile, mut trace) = (None, None);
    let mut exports: Vec<(&PathBuf, Session)> = Vec::new();
    for path in recordings.iter().filter(|path| path.is_file()) {
        match recognise(path, &reading) {
            Ok(RecordingKind::XPlane) => profile = profile.or(Some(path)),
            Ok(RecordingKind::Nsys) => {
                exports.extend(read_session(path, &reading).ok().map(|session| (path, session)))
            }
            Ok(_) => trace = trace.or(Some(path)),
            Err(_) => {}
        }
    }
    for (at, (path, session)) in exports.iter().enumerate() {
        if let Some((first, _)) = exports[..at].iter().find(|(_, other)| other.is_same(session)) {
            return Err(Error::SameSession { first: (*first).clone(), second: (*path).clone() });
        }
    }
    let host_export = exports.iter().find(|(_, session)| session.gpus.len() > 1).map(|&(path, _)| path);
    if host_export.is_none() {
        trace = trace.or(exports.first().map(|&(path, _)| path));
    }
    let other = match (profile, host_export) {
        (Some(_), Some(export)) => Some(export),
        _ => trace,
    };
    if let (Some(host), Some(trace)) = (profile.or(host_export), other) {
        let (profile, trace) = (host.clone(), trace.clone());
        return Err(multi_rank::Error::TwoKinds { profile, trace }.into());
    }
    let profile_kind = profile.map(|_| HostRecording::Profile);
    Ok(profile_kind.or(host_export.map(|_| HostRecording::Export)))
}

/// A host of the job, as far as its ranks depend on it.
struct Host {
    source: Source,
    gpus: u32,
    /// Its name, where the profile was read and records it.
    recorded: Option<String>,
}

impl Host {
    fn ranks(&self, place: &HostOfJob) -> Members {
        Members::new((place.first_rank..).take(self.gpus as usize))
    }

    /// Whether its tables are there, with these ranks and all that is asked for.
    fn is_there(&self, place: &HostOfJob, folder: &JobFolder, options: &MapOptions) -> bool {
        let there = folder.ranks_of(&self.source);
        let ranks = self.ranks(place);
        let has_place = |(folder, rank): (&&RankFolder, u32)| {
            let expected = (rank, self.gpus, place.world_size);
            let device = folder.source().device;
            device.is_some_and(|device| (device.rank, device.devices, device.world_size) == expected)
        };
        let has_all = |folder: &&RankFolder| {
            folder.has_events() >= options.keep_events && folder.has_waits() >= options.waits
        };
        there.len() == ranks.len()
            && there.iter().all(has_all)
            && there.iter().zip(ranks.iter()).all(has_place)
    }
}

/// Reads recordings of hosts, several at the same time.
pub(crate) struct HostMapper<'a> {
    pub(crate) kind: HostRecording,
    pub(crate) options: &'a MapOptions,
    pub(crate) reading: ReadOptions<'a>,
    /// Recordings that are read at the same time, as far as the memory allows.
    pub(crate) jobs: usize,
    pub(crate) memory: MemoryBudget,
}

impl HostMapper<'_> {
    /// Brings recordings into the tables of a folder, unless they are there with the same ranks already. The ranks of a host
    /// follow those of the hosts before it. A recording that cannot be used keeps as many ranks as most of the others have, so
    /// that the ranks of these stay what they are.
    pub(crate) fn map(
        &self,
        profiles: &[PathBuf],
        mut folder: JobFolder,
        done: impl Fn(&Path, &Result<Mapped, Error>) + Sync,
    ) -> Result<Vec<Result<Mapped, Error>>, Error> {
        let hosts = map_in_order(profiles, self.jobs, |path| self.host(path, &folder));
        let usual = most_common(hosts.iter().flatten().map(|host| host.gpus)).unwrap_or(1);
        let gpus = |host: &Result<Host, Error>| host.as_ref().map_or(usual, |host| host.gpus);
        let world_size: u32 = hosts.iter().map(gpus).sum();
        let recorded = |host: &Result<Host, Error>| host.as_ref().ok().and_then(|host| host.recorded.clone());
        let named: Vec<(&Path, Option<String>)> =
            profiles.iter().map(PathBuf::as_path).zip(hosts.iter().map(recorded)).collect();
        let mut first_rank = 0;
        let mut places = Vec::with_capacity(hosts.len());
        for ((host, name), path) in hosts.into_iter().zip(host_names(&named)).zip(profiles) {
            let place = HostOfJob { name, first_rank, world_size };
            first_rank += gpus(&host);
            places.push((path, host, place));
        }
        // Tables with other ranks would stand in the way of those that get these ranks now.
        for (_, host, place) in &places {
            if let Some(host) = host.as_ref().ok().filter(|host| !host.is_there(place, &folder, self.options))
            {
                folder.remove_ranks_of_profile(&host.source)?;
            }
        }
        let folder = Mutex::new(folder);
        let mapped = map_in_order(&places, self.jobs, |(path, host, place)| {
            let mapped = self.map_host(path, host.as_ref().ok()?, place, &folder);
            done(path, &mapped);
            Some(mapped)
        });
        let host_fault = |path: &Path, host: Result<Host, Error>| {
            let fault = Err(host.err()?);
            done(path, &fault);
            Some(fault)
        };
        let all = places.into_iter().zip(mapped);
        Ok(all.filter_map(|((path, host, _), mapped)| mapped.or_else(|| host_fault(path, host))).collect())
    }

    /// The GPUs of a host: by its tables, else by its recording.
    fn host(&self, path: &Path, folder: &JobFolder) -> Result<Host, Error> {
        let source = Source::of(path)?;
        let there = folder.ranks_of(&source).first().and_then(|rank| rank.source().device);
        if let Some(device) = there {
            return Ok(Host { source, gpus: device.devices, recorded: None });
        }
        if self.kind == HostRecording::Export {
            let gpus = u32::try_from(read_session(path, &self.reading)?.gpus.len()).unwrap_or(u32::MAX);
            return match gpus {
                0 => Err(Error::NoGpuInExport { path: path.to_owned() }),
                _ => Ok(Host { source, gpus, recorded: None }),
            };
        }
        let profile =
            self.memory.with(memory_to_read(path, source.size), || read_profile(path, &self.reading))?;
        let gpus = u32::try_from(gpus_at_work(&profile).len()).unwrap_or(u32::MAX);
        if gpus == 0 {
            let planes: Vec<&str> = profile.planes.iter().map(|plane| plane.name.as_str()).collect();
            let planes = if planes.is_empty() { "nothing".to_owned() } else { planes.join(", ") };
            return Err(Error::NoGpuAtWork { path: path.to_owned(), planes });
        }
        Ok(Host { source, gpus, recorded: recorded_host(&profile) })
    }

    fn map_host(
        &self,
        path: &Path,
        host: &Host,
        place: &HostOfJob,
        folder: &Mutex<JobFolder>,
    ) -> Result<Mapped, Error> {
        let ranks = host.ranks(place);
        let folder = || folder.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let folder = folder();
            if host.is_there(place, &folder, self.options) {
                return Mapped::there(path, &folder.ranks_of(&host.source), ranks);
            }
        }
        let HostTables { tables, events, notices } =
            self.memory.with(memory_to_read(path, host.source.size), || match self.kind {
                HostRecording::Profile => self.tables_of_profile(path, place),
                HostRecording::Export => self.tables_of_export(path, place),
            })?;
        let mut folder = folder();
        for ((plane, tables), rank) in tables.into_iter().zip(ranks.iter()) {
            let device = ProfileDevice { plane, devices: host.gpus, rank, world_size: place.world_size };
            folder.add(&tables, host.source.for_device(device))?;
        }
        Ok(Mapped { ranks, events: Some(events), notices })
    }

    /// The tables of the GPUs of a profile, each with the id of its plane.
    fn tables_of_profile(&self, path: &Path, place: &HostOfJob) -> Result<HostTables, Error> {
        let profile = read_profile(path, &self.reading)?;
        let (events, notices) = (profile.trace.events().len(), Notice::all_of_reading(path, &profile.trace));
        let options =
            JaxOptions { communication: self.options.communication.clone(), ..JaxOptions::default() };
        let tables = rank_tables_of_host(&JaxAnalysis::new(profile, options), place);
        Ok(HostTables { tables, events, notices })
    }

    /// The tables of the GPUs of an export, each with its number.
    fn tables_of_export(&self, path: &Path, place: &HostOfJob) -> Result<HostTables, Error> {
        let trace = read_path(path, &self.reading)?;
        let gpus = gpus_of_trace(&trace).into_iter().zip(place.first_rank..);
        let tables = gpus.map(|(gpu, rank)| {
            let communication = self.options.communication.clone();
            let options = AnalysisOptions { communication, ..AnalysisOptions::default() };
            let analysis = Analysis::new(trace_of_gpu(&trace, gpu), options);
            let mut tables = tables_of_rank(&analysis, path, self.options.keep_events, self.options.waits);
            place_rank(&mut tables, gpu, rank, place);
            (gpu, tables)
        });
        let (events, notices) = (trace.events().len(), Notice::all_of_reading(path, &trace));
        Ok(HostTables { tables: tables.collect(), events, notices })
    }
}

/// What a recording of a host gives.
struct HostTables {
    /// The tables of each GPU, with its number in the recording.
    tables: Vec<(i64, RankTables)>,
    /// Events that were read.
    events: usize,
    /// What reading got over.
    notices: Vec<Notice>,
}

/// The number that most have; the lowest of several.
fn most_common(numbers: impl Iterator<Item = u32>) -> Option<u32> {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for number in numbers {
        *counts.entry(number).or_default() += 1;
    }
    counts
        .into_iter()
        .max_by_key(|&(number, count)| (count, std::cmp::Reverse(number)))
        .map(|(number, _)| number)
}

#[cfg(test)]
mod tests {
    use multi_rank::Job;
    use tempfile::TempDir;

    use super::*;
    use crate::ranks::map_ranks;

    const EXPORT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/generated/nsys/run.sqlite");
    const TRACE: &str =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/generated/cuda_training_step.json.gz");

    fn map(recordings: &[PathBuf], options: &MapOptions) -> (TempDir, Result<Vec<Mapped>, Error>) {
        let folder = tempfile::tempdir().expect("a folder");
        let reading = ReadOptions::default();
        let mapped = map_ranks(recordings, folder.path(), options, &reading, |_, _| ())
            .and_then(|mapped| mapped.into_iter().collect());
        (folder, mapped)
    }

    #[test]
    fn an_export_of_one_gpu_is_the_trace_of_a_rank() {
        let recordings = [PathBuf::from(EXPORT), PathBuf::from(TRACE)];
        assert_eq!(host_recordings(&recordings).unwrap(), None);
    }

    #[test]
    fn two_exports_of_one_session_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let copy = folder.path().join("copy.sqlite");
        std::fs::copy(EXPORT, &copy).expect("a copy");
        let (_folder, mapped) = map(&[PathBuf::from(EXPORT), copy], &MapOptions::default());
        let error = mapped.unwrap_err().to_string();
        assert!(error.contains("copy.sqlite: is the same session as"), "{error}");
    }

    #[test]
    fn gpus_of_an_export_of_the_corpus_are_ranks() {
        let Some(export) = testdata::corpus("nsys/h100-2gpu-1s/trace.sqlite") else { return };
        let options = MapOptions { keep_events: true, waits: true, ..MapOptions::default() };
        let (folder, mapped) = map(std::slice::from_ref(&export), &options);
        let ranks = Members::new(0..2);
        let mapped = mapped.unwrap();
        let [Mapped { ranks: written, events: Some(27_388), .. }] = &mapped[..] else { panic!("{mapped:?}") };
        assert_eq!(*written, ranks);
        let job = JobFolder::open(folder.path()).expect("tables");
        let mapper = HostMapper {
            kind: HostRecording::Export,
            options: &options,
            reading: ReadOptions::default(),
            jobs: 1,
            memory: MemoryBudget::new(u64::MAX),
        };
        let place = HostOfJob { name: "a".to_owned(), first_rank: 0, world_size: 2 };
        let HostTables { tables, .. } = mapper.tables_of_export(&export, &place).expect("tables");
        // Times of each GPU, as the specification's tables have them.
        let times: Vec<_> = tables
            .iter()
            .map(|(_, tables)| {
                let row = &tables.rank;
                (row.rank, row.device, row.world_size, row.busy_ns, row.computation_ns, row.exposed_copies_ns)
            })
            .collect();
        assert_eq!(
            times,
            [
                (Some(0), Some(0), Some(2), 962_890_247, 22_399_947, 940_490_300),
                (Some(1), Some(1), Some(2), 962_810_705, 22_458_791, 940_351_914),
            ]
        );
        let reading = ReadOptions::default();
        let again = map_ranks(&[export], folder.path(), &options, &reading, |_, _| ()).expect("mapped");
        assert!(
            matches!(&again[..], [Ok(Mapped { ranks: kept, events: None, .. })] if *kept == ranks),
            "{again:?}"
        );
        Job::open(job.ranks().iter().map(|rank| (rank.clone(), None)).collect()).expect("a job");
    }

    #[test]
    fn exports_of_the_corpus_and_traces_are_no_job() {
        let Some(export) = testdata::corpus("nsys/h100-2gpu-1s/trace.sqlite") else { return };
        let error = host_recordings(&[export, PathBuf::from(TRACE)]).unwrap_err().to_string();
        assert!(error.contains("trace.sqlite: covers a whole host, but "), "{error}");
    }
}
