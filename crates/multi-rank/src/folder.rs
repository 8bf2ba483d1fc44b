//! The folder of a rank: a file for each table, and a manifest that says what they were made from. Many may be in a
//! pack.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use atomic_file::UnfinishedFolder;
use gpu_timeline::SortFew;
use parquet::errors::ParquetError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use trace_ingest::is_plain_name;

use crate::error::Error;
use crate::rows::{ColumnShape, Key, Row, TableReader, TableWriter, Wanted, shape};
use crate::tables::{EachTable, EventRow, PathRow, RankRow, RankTables};

/// Version of the tables. Folders of another version are mapped again.
// The queries of `cluster/` name columns of these tables: run its tests after a change.
pub const SCHEMA: u32 = 7;

/// The manifest of a rank, written last.
pub(crate) const MANIFEST: &str = "manifest.json";

/// The manifest of a pack, written last.
pub(crate) const PACK_MANIFEST: &str = "pack.json";

/// Names of folders that are being written begin so; nobody reads them.
const UNFINISHED: &str = ".unfinished-";

/// So begins the name of a folder from the moment at which it makes room for a new one until that is in its place.
const REPLACED: &str = ".replaced-";

/// What identifies the recording that tables were made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its path; bytes that are no text are replaced.
    pub path: String,
    /// Hash of the path as it is.
    pub(crate) path_hash: u64,
    /// Size in bytes.
    pub size: u64,
    /// Time of the last change, in nanoseconds since 1970.
    modified_ns: u64,
    /// Hash of the first and the last mebibyte.
    sample_hash: u64,
    /// Which of the devices of a profile that has several the rank is; `None` where the recording is of one rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<ProfileDevice>,
}

/// A device of a host's profile as a rank of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileDevice {
    /// Id of its plane.
    pub plane: i64,
    /// Devices of the profile.
    pub devices: u32,
    /// Its rank.
    pub rank: u32,
    /// Ranks of the job.
    pub world_size: u32,
}

impl Source {
    /// What identifies the recording at this path now.
    pub fn of(path: &Path) -> Result<Self, Error> {
        Self::read(path).map_err(Error::io(path))
    }

    fn read(path: &Path) -> io::Result<Self> {
        const SAMPLE: u64 = 1 << 20;
        let path = fs::canonicalize(path)?;
        // Opening a pipe waits for who writes to it, and a device has no end.
        if !fs::metadata(&path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file"));
        }
        let mut file = File::open(&path)?;
        let metadata = file.metadata()?;
        let modified = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut sample = Vec::new();
        file.by_ref().take(SAMPLE).read_to_end(&mut sample)?;
        if metadata.len() > SAMPLE {
            file.seek(SeekFrom::Start(metadata.len().saturating_sub(SAMPLE).max(SAMPLE)))?;
            file.take(SAMPLE).read_to_end(&mut sample)?;
        }
        Ok(Source {
            path: path.to_string_lossy().into_owned(),
            path_hash: hash(path.as_os_str().as_encoded_bytes()),
            size: metadata.len(),
            modified_ns: u64::try_from(modified.as_nanos()).unwrap_or(u64::MAX),
            sample_hash: hash(&sample),
            device: None,
        })
    }

    /// What identifies a device of the profile that this is of.
    #[must_use]
    pub fn for_device(&self, device: ProfileDevice) -> Self {
        let path_hash = hash(format!("{:016x} {}", self.path_hash, device.plane).as_bytes());
        Source { path_hash, device: Some(device), ..self.clone() }
    }

    /// Whether it is `recording` as it is now, or one of its devices.
    fn is_of(&self, recording: &Source) -> bool {
        let state = |source: &Source| (source.size, source.modified_ns, source.sample_hash);
        self.path == recording.path && state(self) == state(recording)
    }
}

fn hash(bytes: &[u8]) -> u64 {
    twox_hash::XxHash64::oneshot(0, bytes)
}

/// What a folder holds. Written last, so that a folder with a manifest is whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) schema: u32,
    tool: String,
    pub(crate) source: Source,
    rank: Option<i64>,
    /// Number of ranks of the job.
    world_size: Option<i64>,
    /// Time of the recording on the host's clock, in nanoseconds.
    window: (i64, i64),
    /// Rows by table.
    rows: BTreeMap<String, usize>,
}

impl Manifest {
    /// What all rows of the recording's tables have in common.
    pub(crate) fn key(&self) -> Key {
        Key { recording: self.source.path_hash.cast_signed(), rank: self.rank }
    }

    /// Whether the two recordings say different numbers of ranks.
    fn is_other_job(&self, other: &Manifest) -> bool {
        self.world_size.zip(other.world_size).is_some_and(|(own, other)| own != other)
    }
}

/// What a pack holds.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PackManifest {
    pub(crate) schema: u32,
    /// By row group the name of the folder that the rank had, and its manifest.
    pub(crate) ranks: Vec<(String, Manifest)>,
}

impl PackManifest {
    /// The manifest of a pack, whose names are those of folders beside it.
    pub(crate) fn read(pack: &Path) -> Result<Self, Error> {
        let path = pack.join(PACK_MANIFEST);
        let manifest: Self = read_manifest(&path)?;
        match manifest.ranks.iter().find(|(name, _)| !is_plain_name(name)) {
            Some((name, _)) => Err(Error::NotAName { path, name: name.chars().take(200).collect() }),
            None => Ok(manifest),
        }
    }
}

pub(crate) fn is_pack(path: &Path) -> bool {
    path.join(PACK_MANIFEST).is_file()
}

/// Files of packs that are open: one for each table, as neighbours are in one file.
#[derive(Default)]
pub(crate) struct OpenPacks(Mutex<BTreeMap<&'static str, (PathBuf, TableReader)>>);

impl fmt::Debug for OpenPacks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("OpenPacks")
    }
}

impl OpenPacks {
    /// Reads from the file at `path`, which holds `table`.
    pub(crate) fn with<T>(
        &self,
        table: &'static str,
        path: &Path,
        read: impl FnOnce(&TableReader) -> Result<T, ParquetError>,
    ) -> Result<T, ParquetError> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if open.get(table).is_none_or(|(there, _)| there != path) {
            open.insert(table, (path.to_owned(), TableReader::open(path)?));
        }
        match open.get(table) {
            Some((_, reader)) => read(reader),
            None => Err(ParquetError::General("is not open".to_owned())),
        }
    }
}

/// The folder of a rank in the folder of a job, or its part of a pack.
#[derive(Clone, Debug)]
pub struct RankFolder {
    /// Of the folder, or of the pack.
    path: PathBuf,
    /// Name of the folder, in a pack that which it had.
    name: String,
    manifest: Manifest,
    packed: Option<Packed>,
}

/// Where a rank is in a pack.
#[derive(Clone, Debug)]
struct Packed {
    /// Row group of the rank.
    group: usize,
    open: Arc<OpenPacks>,
}

impl RankFolder {
    /// The recording that it was made from.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.manifest.source
    }

    /// The rank, if the recording or its path tells one.
    #[must_use]
    pub fn rank(&self) -> Option<i64> {
        self.manifest.rank
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Name of the folder, in a pack that which it had.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    pub(crate) fn is_packed(&self) -> bool {
        self.packed.is_some()
    }

    /// Whether events are kept one by one.
    #[must_use]
    pub fn has_events(&self) -> bool {
        self.has(EventRow::TABLE)
    }

    /// Whether it says what was waited for.
    #[must_use]
    pub fn has_waits(&self) -> bool {
        self.has(PathRow::TABLE)
    }

    /// Whether the recording was cut off or damaged.
    pub fn is_cut_off(&self) -> Result<bool, Error> {
        let rows: Vec<RankRow> = self.rows(Wanted::Only(&["damaged"]))?;
        Ok(rows.iter().any(|row| row.damaged > 0))
    }

    /// Whether the rank has this table.
    pub(crate) fn has(&self, table: &str) -> bool {
        self.manifest.rows.contains_key(table)
    }

    /// The rows of a table; none of one that was not kept.
    pub(crate) fn rows<R: Row>(&self, wanted: Wanted<'_>) -> Result<Vec<R>, Error> {
        if !self.has(R::TABLE) {
            return Ok(Vec::new());
        }
        let path = table_path(&self.path, R::TABLE);
        let rows = match &self.packed {
            None => TableReader::open(&path).and_then(|table| table.rows(wanted)),
            Some(Packed { group, open }) => {
                open.with(R::TABLE, &path, |table| table.rows_of_group(*group, wanted))
            }
        };
        rows.map_err(Error::table(path))
    }
}

/// The folder of a job: the folders of its ranks, and packs of such.
#[derive(Debug)]
pub struct JobFolder {
    path: PathBuf,
    /// In the order of their names.
    ranks: Vec<RankFolder>,
    /// Folders of ranks that are of another version or damaged, and why.
    pub stale: Vec<(PathBuf, String)>,
    /// Packs with tables that newer ones have taken the place of: [`pack`](Self::pack) writes them anew.
    pub outdated: Vec<PathBuf>,
}

impl JobFolder {
    /// Opens the folder of a job, which is made if it is not there.
    pub fn open(path: &Path) -> Result<Self, Error> {
        fs::create_dir_all(path).map_err(Error::write(path))?;
        let mut entries: Vec<PathBuf> = fs::read_dir(path)
            .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
            .map_err(Error::io(path))?;
        entries.sort_few();
        let (mut ranks, mut packs, mut stale) = (Vec::new(), Vec::new(), Vec::new());
        let other_version = |schema| format!("its tables have version {schema}, expected {SCHEMA}");
        let entries: BTreeSet<PathBuf> = entries.into_iter().filter_map(destination_of).collect();
        for entry in entries {
            if is_pack(&entry) {
                match PackManifest::read(&entry) {
                    Ok(manifest) if manifest.schema == SCHEMA => packs.push((entry, manifest)),
                    Ok(manifest) => stale.push((entry, other_version(manifest.schema))),
                    Err(error) => stale.push((entry, error.to_string())),
                }
                continue;
            }
            let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let places = [Some(entry.clone()), replaced(&entry)];
            // The new folder where it is in its place, else the one that made room for it.
            let Some(entry) = places.into_iter().flatten().find(|place| place.join(MANIFEST).is_file())
            else {
                continue;
            };
            match read_manifest::<Manifest>(&entry.join(MANIFEST)) {
                Ok(manifest) if manifest.schema == SCHEMA => {
                    ranks.push(RankFolder { path: entry, name, manifest, packed: None });
                }
                Ok(manifest) => stale.push((entry, other_version(manifest.schema))),
                Err(error) => stale.push((entry, error.to_string())),
            }
        }
        // A folder is newer than the part of a pack that is of the same recording, and packs are numbered by age.
        let mut known: BTreeSet<u64> =
            ranks.iter().map(|rank: &RankFolder| rank.manifest.source.path_hash).collect();
        let open = Arc::new(OpenPacks::default());
        let mut outdated = Vec::new();
        for (path, pack) in packs.into_iter().rev() {
            let mut is_outdated = false;
            for (group, (name, manifest)) in pack.ranks.into_iter().enumerate() {
                if known.insert(manifest.source.path_hash) {
                    let packed = Some(Packed { group, open: open.clone() });
                    ranks.push(RankFolder { path: path.clone(), name, manifest, packed });
                } else {
                    is_outdated = true;
                }
            }
            outdated.extend(is_outdated.then_some(path));
        }
        ranks.sort_few_by(|a, b| a.name.cmp(&b.name));
        Ok(JobFolder { path: path.to_owned(), ranks, stale, outdated })
    }

    /// The folders of ranks, in the order of their names.
    #[must_use]
    pub fn ranks(&self) -> &[RankFolder] {
        &self.ranks
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder where there are ranks in it.
    ///
    /// # Errors
    /// [`Error::NoRanks`] where there is none.
    pub fn with_ranks(self) -> Result<Self, Error> {
        if !self.ranks.is_empty() {
            return Ok(self);
        }
        let unused = self.stale.first().map(|(path, why)| format!("{}: {why}", path.display()));
        Err(Error::NoRanks { path: self.path, unused })
    }

    /// The files that hold a table, such as `collectives`, of all ranks that have it: `events` and what was waited for are kept
    /// on request. Those of
    /// [outdated](Self::outdated) packs have more rows than the job.
    #[must_use]
    pub fn files_of(&self, table: &str) -> Vec<PathBuf> {
        let ranks = self.ranks.iter().filter(|rank| rank.has(table));
        let files: BTreeSet<PathBuf> = ranks.map(|rank| table_path(&rank.path, table)).collect();
        files.into_iter().collect()
    }

    /// The folder with the tables of this recording as it is now.
    #[must_use]
    pub fn find(&self, source: &Source) -> Option<&RankFolder> {
        self.ranks.iter().find(|rank| rank.source() == source)
    }

    /// The folders with tables of this recording as it is now: one, or of a profile one for each of its devices, by rank.
    #[must_use]
    pub fn ranks_of(&self, recording: &Source) -> Vec<&RankFolder> {
        let mut ranks: Vec<&RankFolder> =
            self.ranks.iter().filter(|rank| rank.source().is_of(recording)).collect();
        ranks.sort_few_by_key(|rank| rank.rank());
        ranks
    }

    /// Removes the folders of the ranks of a profile, whatever state of it they were made from. Packs stay as they are.
    pub fn remove_ranks_of_profile(&mut self, profile: &Source) -> Result<(), Error> {
        let is_of = |rank: &RankFolder| {
            rank.source().device.is_some() && rank.source().path == profile.path && !rank.is_packed()
        };
        for rank in self.ranks.iter().filter(|rank| is_of(rank)) {
            remove_folder(&rank.path, MANIFEST)?;
        }
        self.ranks.retain(|rank| !is_of(rank));
        Ok(())
    }

    /// Writes the tables of a rank. Its folder takes its place when everything is written; where something fails, what was
    /// there stays. Tables that an earlier state of the same recording left are replaced.
    ///
    /// # Errors
    /// When a file cannot be written, or another recording of the rank in the same job is there, of a time that is not
    /// apart. Recordings are of different jobs where they say different numbers of ranks.
    pub fn add(&mut self, tables: &RankTables, source: Source) -> Result<&RankFolder, Error> {
        let RankRow { rank, world_size, base_time_ns, window_start_ns, window_end_ns, .. } = tables.rank;
        let window =
            (base_time_ns.saturating_add(window_start_ns), base_time_ns.saturating_add(window_end_ns));
        let mut rows = RowCounts::default();
        tables.each(&mut rows)?;
        let manifest = Manifest {
            schema: SCHEMA,
            tool: concat!("tracelens ", env!("CARGO_PKG_VERSION")).to_owned(),
            rank,
            world_size,
            window,
            rows: rows.0,
            source,
        };
        let mut name = match rank {
            Some(rank) => format!("rank-{rank:05}"),
            None => format!("file-{:016x}", manifest.source.path_hash),
        };
        let is_same = |other: &Manifest| other.source.path_hash == manifest.source.path_hash;
        // Another process may have written the rank since this one listed the folder.
        let written: Option<Manifest> = read_manifest(&self.path.join(&name).join(MANIFEST)).ok();
        let listed = self.ranks.iter().map(|other| &other.manifest);
        let others: Vec<&Manifest> =
            listed.chain(&written).filter(|other| other.schema == SCHEMA && !is_same(other)).collect();
        let same_rank = others.into_iter().filter(|other| rank.is_some() && other.rank == rank);
        let (other_jobs, same_rank): (Vec<&Manifest>, Vec<&Manifest>) =
            same_rank.partition(|other| manifest.is_other_job(other));
        let is_overlapping = |other: &&&Manifest| other.window.0 <= window.1 && window.0 <= other.window.1;
        if let (Some(rank), Some(other)) = (rank, same_rank.iter().find(is_overlapping)) {
            let (first, second) = (&other.source.path, &manifest.source.path);
            return Err(Error::RankTwice { rank, first: first.into(), second: second.into() });
        }
        if let Some(world_size) = world_size.filter(|_| !other_jobs.is_empty()) {
            name = format!("{name}-of-{world_size}");
        }
        if !same_rank.is_empty() {
            name = format!("{name}-at-{}", window.0);
        }
        let destination = self.path.join(&name);
        self.write_folder(&destination, |folder| {
            tables.each(&mut Files { folder, key: manifest.key() })?;
            write_manifest(&folder.join(MANIFEST), &manifest)
        })?;
        let is_same_source = |other: &&RankFolder| other.source().path_hash == manifest.source.path_hash;
        let old = self.ranks.iter().filter(is_same_source).filter(|other| !other.is_packed());
        // That which made room for the new one is no more.
        for old in old.filter(|other| other.path != destination && other.path.exists()) {
            remove_folder(&old.path, MANIFEST)?;
        }
        self.ranks.retain(|other| other.source().path_hash != manifest.source.path_hash);
        self.stale.retain(|(path, _)| *path != destination);
        let at = self.ranks.partition_point(|other| other.name < name);
        self.ranks.insert(at, RankFolder { path: destination, name, manifest, packed: None });
        Ok(&self.ranks[at])
    }

    /// Makes a folder, which takes its place when `write` has filled it. One that is there makes room for it at the end, and
    /// is found until then and wherever the exchange is interrupted.
    pub(crate) fn write_folder(
        &self,
        destination: &Path,
        write: impl FnOnce(&Path) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // As any folder, not for its owner alone: others report on the job.
        let unfinished = UnfinishedFolder::create_in(&self.path, false).map_err(Error::write(&self.path))?;
        write(unfinished.path())?;
        let old = replaced(destination).filter(|_| destination.exists());
        if let Some(old) = &old {
            refuse_foreign(destination)?;
            // What an interrupted exchange left is older still.
            remove_replaced(destination)?;
            fs::rename(destination, old).map_err(Error::write(destination))?;
        }
        if let Err(error) = unfinished.rename(destination) {
            // Where this fails, too, the old folder is found under its other name.
            old.map(|old| fs::rename(old, destination));
            return Err(Error::write(destination)(error));
        }
        remove_replaced(destination)
    }

    /// Removes the folder of a rank whose tables are in a pack, unless others have been written to it since.
    pub(crate) fn remove_packed(&self, rank: &RankFolder) -> Result<(), Error> {
        match read_manifest::<Manifest>(&rank.path.join(MANIFEST)) {
            Ok(manifest) if manifest == rank.manifest => remove_folder(&rank.path, MANIFEST),
            _ => Ok(()),
        }
    }

    /// Removes what is left of a rank's folder whose removal was interrupted.
    pub(crate) fn remove_remains(&self, name: &str) -> Result<(), Error> {
        remove_remains(&self.path.join(name))
    }
}

/// Removes a folder without a manifest if nothing but our tables is in it.
pub(crate) fn remove_remains(path: &Path) -> Result<(), Error> {
    match !path.join(MANIFEST).exists() && !is_pack(path) && is_own(path) {
        true => fs::remove_dir_all(path).map_err(Error::write(path)),
        false => Ok(()),
    }
}

/// Removes a folder: first the manifest, without which nobody reads it, and before that what it took the place of.
pub(crate) fn remove_folder(path: &Path, manifest: &str) -> Result<(), Error> {
    remove_replaced(path)?;
    refuse_foreign(path)?;
    fs::remove_file(path.join(manifest)).and_then(|()| fs::remove_dir_all(path)).map_err(Error::write(path))
}

/// Whether a path is a folder, no link to one, and all that is in it could be ours: manifests and tables, of other versions
/// those beside a manifest.
fn is_own(path: &Path) -> bool {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
    let has_manifest = path.join(MANIFEST).is_file() || is_pack(path);
    let tables = table_shapes().unwrap_or_default();
    let is_own_file = |entry: io::Result<fs::DirEntry>| {
        let entry = entry.ok()?;
        let name = entry.file_name().into_string().ok()?;
        let is_manifest = [MANIFEST, PACK_MANIFEST].contains(&name.as_str());
        let table = name.strip_suffix(".parquet");
        let is_table =
            table.is_some_and(|table| has_manifest || tables.iter().any(|known| known.name == table));
        (entry.file_type().ok()?.is_file() && (is_manifest || is_table)).then_some(())
    };
    is_folder && fs::read_dir(path).is_ok_and(|mut entries| entries.all(|entry| is_own_file(entry).is_some()))
}

/// Nothing is removed that others may have made.
fn refuse_foreign(path: &Path) -> Result<(), Error> {
    match is_own(path) {
        true => Ok(()),
        false => Err(Error::Foreign { path: path.to_owned() }),
    }
}

/// Where the folder that was in a place is until a new one is there. `None` for such a folder itself.
fn replaced(destination: &Path) -> Option<PathBuf> {
    let name = destination.file_name()?.to_string_lossy();
    (!name.starts_with(REPLACED)).then(|| destination.with_file_name(format!("{REPLACED}{name}")))
}

/// Removes what a folder took the place of, if there is any.
fn remove_replaced(destination: &Path) -> Result<(), Error> {
    let Some(old) = replaced(destination).filter(|old| fs::symlink_metadata(old).is_ok()) else {
        return Ok(());
    };
    refuse_foreign(&old)?;
    match fs::remove_file(old.join(MANIFEST)) {
        // What is left without a manifest.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
    .and_then(|()| fs::remove_dir_all(&old))
    .map_err(Error::write(old))
}

/// Writes the tables of a rank, each into a file.
struct Files<'a> {
    folder: &'a Path,
    key: Key,
}

impl EachTable for Files<'_> {
    fn table<R: Row>(&mut self, rows: Option<&[R]>) -> Result<(), Error> {
        let Some(rows) = rows else { return Ok(()) };
        let path = table_path(self.folder, R::TABLE);
        let file = File::create_new(&path).map_err(Error::write(&path))?;
        let mut writer = TableWriter::new(BufWriter::new(file)).map_err(Error::table(&path))?;
        let output =
            writer.add(self.key, rows).and_then(|()| writer.finish()).map_err(Error::table(&path))?;
        sync(output, &path)
    }
}

pub(crate) fn write_manifest(path: &Path, manifest: &impl Serialize) -> Result<(), Error> {
    let file = File::create_new(path).map_err(Error::write(path))?;
    serde_json::to_writer_pretty(&file, manifest)
        .map_err(|source| Error::Manifest { path: path.to_owned(), source })?;
    file.sync_all().map_err(Error::write(path))
}

/// The name of a table and the columns of its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableShape {
    /// Name, such as `collectives`.
    pub name: &'static str,
    /// Its columns in their order. `recording` joins the tables of one recording, `rank` is its rank.
    pub columns: Vec<ColumnShape>,
}

/// All tables of a rank, for programs that read their files.
///
/// # Errors
/// Never for the tables as they are; where a column could not be written, neither.
pub fn table_shapes() -> Result<Vec<TableShape>, Error> {
    struct Shapes(Vec<TableShape>);

    impl EachTable for Shapes {
        fn table<R: Row>(&mut self, _: Option<&[R]>) -> Result<(), Error> {
            let columns = shape::<R>().map_err(Error::table(R::TABLE))?;
            self.0.push(TableShape { name: R::TABLE, columns });
            Ok(())
        }
    }

    let mut shapes = Shapes(Vec::new());
    RankTables::default().each(&mut shapes)?;
    Ok(shapes.0)
}

/// The place of a folder, for one that makes room that of the new one. `None` for what nobody reads.
fn destination_of(entry: PathBuf) -> Option<PathBuf> {
    let name = entry.file_name()?.to_string_lossy();
    if name.starts_with(UNFINISHED) {
        return None;
    }
    let place = name.strip_prefix(REPLACED).map(|name| entry.with_file_name(name));
    Some(place.unwrap_or(entry))
}

pub(crate) fn table_path(folder: &Path, table: &str) -> PathBuf {
    folder.join(table).with_extension("parquet")
}

/// Rows by table.
#[derive(Default)]
struct RowCounts(BTreeMap<String, usize>);

impl EachTable for RowCounts {
    fn table<R: Row>(&mut self, rows: Option<&[R]>) -> Result<(), Error> {
        self.0.extend(rows.map(|rows| (R::TABLE.to_owned(), rows.len())));
        Ok(())
    }
}

/// Has the file on the disk, which the manifest will say of it.
pub(crate) fn sync(output: BufWriter<File>, path: &Path) -> Result<(), Error> {
    let file = output.into_inner().map_err(|error| Error::write(path)(error.into_error()))?;
    file.sync_all().map_err(Error::write(path))
}

pub(crate) fn read_manifest<M: DeserializeOwned>(path: &Path) -> Result<M, Error> {
    let text = fs::read_to_string(path).map_err(Error::io(path))?;
    serde_json::from_str(&text).map_err(|source| Error::Manifest { path: path.to_owned(), source })
}
