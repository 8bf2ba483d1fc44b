//! The XPlane profiles of a job's hosts, brought into tables. How many devices a host has says which ranks the next hosts
//! have, so the profiles of a job are brought into tables together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use multi_rank::{
    HostOfJob, JobFolder, Members, ProfileDevice, RankFolder, Source, host_names, rank_tables_of_host,
    recorded_host,
};
use trace_ingest::xplane::read_profile;
use trace_ingest::{ReadOptions, RecordingKind, recognise};
use xla_perf::{JaxAnalysis, JaxOptions, gpus_at_work};

use crate::error::Error;
use crate::parallel::{MemoryBudget, map_in_order};
use crate::ranks::{MapOptions, Mapped, memory_to_read};

/// Whether the recordings of a job are profiles of hosts. What is no recording counts as neither; reading says what it is.
///
/// # Errors
/// When some are and some are not.
pub(crate) fn are_profiles(recordings: &[PathBuf]) -> Result<bool, Error> {
    let (mut profile, mut trace) = (None, None);
    for path in recordings.iter().filter(|path| path.is_file()) {
        match recognise(path) {
            Ok(RecordingKind::XPlane) => profile = profile.or(Some(path)),
            Ok(_) => trace = trace.or(Some(path)),
            Err(_) => {}
        }
    }
    if let (Some(profile), Some(trace)) = (profile, trace) {
        let (profile, trace) = (profile.clone(), trace.clone());
        return Err(multi_rank::Error::TwoKinds { profile, trace }.into());
    }
    Ok(profile.is_some())
}

/// A profile of the job, as far as its ranks depend on it.
struct Host {
    source: Source,
    /// GPUs that did something.
    gpus: u32,
    /// Its name, where the profile was read and records it.
    recorded: Option<String>,
}

impl Host {
    fn ranks(&self, place: &HostOfJob) -> Members {
        Members::new((place.first_rank..).take(self.gpus as usize))
    }

    /// Whether its tables are there, with these ranks.
    fn is_there(&self, place: &HostOfJob, folder: &JobFolder) -> bool {
        let there = folder.ranks_of(&self.source);
        let ranks = self.ranks(place);
        let has_place = |(folder, rank): (&&RankFolder, u32)| {
            let expected = (rank, self.gpus, place.world_size);
            let device = folder.source().device;
            device.is_some_and(|device| (device.rank, device.devices, device.world_size) == expected)
        };
        there.len() == ranks.len() && there.iter().zip(ranks.iter()).all(has_place)
    }
}

/// Reads profiles, several at the same time.
pub(crate) struct HostMapper<'a> {
    pub(crate) options: &'a MapOptions,
    pub(crate) reading: ReadOptions<'a>,
    /// Profiles that are read at the same time, as far as the memory allows.
    pub(crate) jobs: usize,
    pub(crate) memory: MemoryBudget,
}

impl HostMapper<'_> {
    /// Brings profiles into the tables of a folder, unless they are there with the same ranks already. The ranks of a host
    /// follow those of the hosts before it. A profile that cannot be used keeps as many ranks as most of the others have, so
    /// that the ranks of these stay what they are.
    pub(crate) fn map(
        &self,
        profiles: &[PathBuf],
        mut folder: JobFolder,
        done: impl Fn(&Path, &Result<Mapped, Error>) + Sync,
    ) -> Result<Vec<Result<Mapped, Error>>, Error> {
        let hosts = map_in_order(profiles, self.jobs, |path| self.host(path, &folder));
        let paths: Vec<Option<&str>> =
            hosts.iter().map(|host| host.as_ref().ok().map(|host| host.source.path.as_str())).collect();
        if let Some(twice) =
            (1..paths.len()).find(|&at| paths[at].is_some() && paths[..at].contains(&paths[at]))
        {
            return Err(Error::SameProfile { path: profiles[twice].clone() });
        }
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
            if let Some(host) = host.as_ref().ok().filter(|host| !host.is_there(place, &folder)) {
                folder.remove_ranks_of_profile(&host.source)?;
            }
        }
        let folder = Mutex::new(folder);
        let mapped = map_in_order(&places, self.jobs, |(path, host, place)| {
            let mapped = self.map_host(path, host.as_ref().ok()?, place, &folder);
            done(path, &mapped);
            Some(mapped)
        });
        let of_faulty = |path: &Path, host: Result<Host, Error>| {
            let fault = Err(host.err()?);
            done(path, &fault);
            Some(fault)
        };
        let all = places.into_iter().zip(mapped);
        Ok(all.filter_map(|((path, host, _), mapped)| mapped.or_else(|| of_faulty(path, host))).collect())
    }

    /// The GPUs of a profile: by its tables, else by itself.
    fn host(&self, path: &Path, folder: &JobFolder) -> Result<Host, Error> {
        let source = Source::of(path)?;
        let there = folder.ranks_of(&source).first().and_then(|rank| rank.source().device);
        if let Some(device) = there {
            return Ok(Host { source, gpus: device.devices, recorded: None });
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
        if host.is_there(place, &folder()) {
            return Ok(Mapped::Kept { ranks });
        }
        let (tables, events) = self.memory.with(memory_to_read(path, host.source.size), || {
            let profile = read_profile(path, &self.reading)?;
            let events = profile.trace.events().len();
            let options =
                JaxOptions { communication: self.options.communication.clone(), ..JaxOptions::default() };
            Ok::<_, Error>((rank_tables_of_host(&JaxAnalysis::new(profile, options), place), events))
        })?;
        let mut folder = folder();
        for ((plane, tables), rank) in tables.into_iter().zip(ranks.iter()) {
            let device = ProfileDevice { plane, devices: host.gpus, rank, world_size: place.world_size };
            folder.add(&tables, host.source.of_device(device))?;
        }
        Ok(Mapped::Written { ranks, events })
    }
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
