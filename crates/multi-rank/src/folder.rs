//! The folder of a rank: a file for each table, and a manifest that says what they were made from.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::rows::{ColumnShape, Key, Row, Wanted, read_rows, shape, write_rows};
use crate::tables::{CollectiveRow, GroupRow, KernelRow, OpRow, RankRow, RankTables, StepRow};

/// Version of the tables. Folders of another version are mapped again.
pub const SCHEMA: u32 = 2;

const MANIFEST: &str = "manifest.json";

/// Folders that are being written begin so; nobody reads them.
const UNFINISHED: &str = ".unfinished-";

/// What identifies the recording that tables were made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its path; bytes that are no text are replaced.
    pub path: String,
    /// Hash of the path as it is.
    path_hash: u64,
    /// Size in bytes.
    pub size: u64,
    /// Time of the last change, in nanoseconds since 1970.
    modified_ns: u64,
    /// Hash of the first and the last mebibyte.
    sample_hash: u64,
}

impl Source {
    /// What identifies the recording at this path now.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn of(path: &Path) -> Result<Self, Error> {
        Self::read(path).map_err(Error::io(path))
    }

    fn read(path: &Path) -> io::Result<Self> {
        const SAMPLE: u64 = 1 << 20;
        let path = fs::canonicalize(path)?;
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
        })
    }
}

fn hash(bytes: &[u8]) -> u64 {
    twox_hash::XxHash64::oneshot(0, bytes)
}

/// What a folder holds. Written last, so that a folder with a manifest is whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Manifest {
    schema: u32,
    tool: String,
    source: Source,
    rank: Option<i64>,
    /// Time of the recording on the host's clock, in nanoseconds.
    window: (i64, i64),
    /// Rows by table.
    rows: BTreeMap<String, usize>,
}

/// The folder of a rank in the folder of a job.
#[derive(Clone, Debug)]
pub struct RankFolder {
    path: PathBuf,
    manifest: Manifest,
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

    pub(crate) fn rows<R: Row>(&self, wanted: Wanted<'_>) -> Result<Vec<R>, Error> {
        let path = table_path(&self.path, R::TABLE);
        read_rows(&path, wanted).map_err(Error::table(path))
    }
}

/// The folder of a job: the folders of its ranks.
#[derive(Debug)]
pub struct JobFolder {
    path: PathBuf,
    ranks: Vec<RankFolder>,
    /// Folders of ranks that are of another version or damaged, and why.
    pub stale: Vec<(PathBuf, String)>,
}

impl JobFolder {
    /// Opens the folder of a job, which is made if it is not there.
    ///
    /// # Errors
    /// When it cannot be made or listed.
    pub fn open(path: &Path) -> Result<Self, Error> {
        fs::create_dir_all(path).map_err(Error::io(path))?;
        let mut entries: Vec<PathBuf> = fs::read_dir(path)
            .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
            .map_err(Error::io(path))?;
        entries.sort();
        let (mut ranks, mut stale) = (Vec::new(), Vec::new());
        for entry in entries {
            let manifest = entry.join(MANIFEST);
            if is_unfinished(&entry) || !manifest.is_file() {
                continue;
            }
            match read_manifest(&manifest) {
                Ok(manifest) if manifest.schema == SCHEMA => ranks.push(RankFolder { path: entry, manifest }),
                Ok(manifest) => {
                    let why = format!("its tables are of version {}, and {SCHEMA} is read", manifest.schema);
                    stale.push((entry, why));
                }
                Err(error) => stale.push((entry, error.to_string())),
            }
        }
        Ok(JobFolder { path: path.to_owned(), ranks, stale })
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

    /// The files that hold a table, such as `collectives`, of all ranks.
    #[must_use]
    pub fn files_of(&self, table: &str) -> Vec<PathBuf> {
        self.ranks.iter().map(|rank| table_path(&rank.path, table)).collect()
    }

    /// The folder with the tables of this recording as it is now.
    #[must_use]
    pub fn find(&self, source: &Source) -> Option<&RankFolder> {
        self.ranks.iter().find(|rank| rank.source() == source)
    }

    /// Writes the tables of a rank. Its folder takes its place when everything is written; where something fails, there
    /// is none. Tables that an earlier state of the same recording left are replaced.
    ///
    /// # Errors
    /// When a file cannot be written, or another recording of the rank is there, of a time that is not apart.
    pub fn add(&mut self, tables: &RankTables, source: Source) -> Result<&RankFolder, Error> {
        let RankRow { rank, base_time_ns, window_start_ns, window_end_ns, .. } = tables.rank;
        let window =
            (base_time_ns.saturating_add(window_start_ns), base_time_ns.saturating_add(window_end_ns));
        let manifest = Manifest {
            schema: SCHEMA,
            tool: concat!("tracelens ", env!("CARGO_PKG_VERSION")).to_owned(),
            rank,
            window,
            rows: BTreeMap::from([
                row_count(std::slice::from_ref(&tables.rank)),
                row_count(&tables.groups),
                row_count(&tables.collectives),
                row_count(&tables.steps),
                row_count(&tables.kernels),
                row_count(&tables.ops),
            ]),
            source,
        };
        let mut name = match rank {
            Some(rank) => format!("rank-{rank:05}"),
            None => format!("file-{:016x}", manifest.source.path_hash),
        };
        let is_same = |other: &Manifest| other.source.path_hash == manifest.source.path_hash;
        // Another process may have written the rank since this one listed the folder.
        let written = read_manifest(&self.path.join(&name).join(MANIFEST)).ok();
        let listed = self.ranks.iter().map(|other| &other.manifest);
        let others: Vec<&Manifest> =
            listed.chain(&written).filter(|other| other.schema == SCHEMA && !is_same(other)).collect();
        let at_the_time = |other: &&&Manifest| {
            let (start, end) = other.window;
            rank.is_some() && other.rank == rank && start <= window.1 && window.0 <= end
        };
        if let (Some(rank), Some(other)) = (rank, others.iter().find(at_the_time)) {
            let (first, second) = (&other.source.path, &manifest.source.path);
            return Err(Error::RankTwice { rank, first: first.into(), second: second.into() });
        }
        if others.iter().any(|other| rank.is_some() && other.rank == rank) {
            name = format!("{name}-at-{}", window.0);
        }
        let destination = self.path.join(name);
        self.write(tables, &manifest, &destination)?;
        let of_source = |other: &&RankFolder| other.source().path_hash == manifest.source.path_hash;
        for old in self.ranks.iter().filter(of_source).filter(|other| other.path != destination) {
            fs::remove_dir_all(&old.path).map_err(Error::io(&old.path))?;
        }
        self.ranks.retain(|other| other.source().path_hash != manifest.source.path_hash);
        self.stale.retain(|(path, _)| *path != destination);
        let at = self.ranks.partition_point(|other| other.path < destination);
        self.ranks.insert(at, RankFolder { path: destination, manifest });
        Ok(&self.ranks[at])
    }

    fn write(&self, tables: &RankTables, manifest: &Manifest, destination: &Path) -> Result<(), Error> {
        let mut unfinished = tempfile::Builder::new();
        unfinished.prefix(UNFINISHED);
        // As any folder, not for its owner alone: others report on the job.
        #[cfg(unix)]
        unfinished.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        let unfinished = unfinished.tempdir_in(&self.path).map_err(Error::io(&self.path))?;
        let folder = unfinished.path();
        let key = Key { recording: manifest.source.path_hash.cast_signed(), rank: manifest.rank };
        write_table(folder, key, std::slice::from_ref(&tables.rank))?;
        write_table(folder, key, &tables.groups)?;
        write_table(folder, key, &tables.collectives)?;
        write_table(folder, key, &tables.steps)?;
        write_table(folder, key, &tables.kernels)?;
        write_table(folder, key, &tables.ops)?;
        let path = folder.join(MANIFEST);
        let file = File::create_new(&path).map_err(Error::io(&path))?;
        serde_json::to_writer_pretty(&file, manifest)
            .map_err(|source| Error::Manifest { path: path.clone(), source })?;
        file.sync_all().map_err(Error::io(&path))?;
        if destination.exists() {
            fs::remove_dir_all(destination).map_err(Error::io(destination))?;
        }
        fs::rename(folder, destination).map_err(Error::io(destination))?;
        // Nothing is there any more to be removed.
        let _ = unfinished.keep();
        Ok(())
    }
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
    fn of<R: Row>() -> Result<TableShape, Error> {
        let columns = shape::<R>().map_err(Error::table(R::TABLE))?;
        Ok(TableShape { name: R::TABLE, columns })
    }
    Ok(vec![
        of::<RankRow>()?,
        of::<GroupRow>()?,
        of::<CollectiveRow>()?,
        of::<StepRow>()?,
        of::<KernelRow>()?,
        of::<OpRow>()?,
    ])
}

fn is_unfinished(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(UNFINISHED))
}

fn table_path(folder: &Path, table: &str) -> PathBuf {
    folder.join(table).with_extension("parquet")
}

fn row_count<R: Row>(rows: &[R]) -> (String, usize) {
    (R::TABLE.to_owned(), rows.len())
}

fn write_table<R: Row>(folder: &Path, key: Key, rows: &[R]) -> Result<(), Error> {
    let path = table_path(folder, R::TABLE);
    let file = File::create_new(&path).map_err(Error::io(&path))?;
    write_rows(key, rows, BufWriter::new(file)).map_err(Error::table(&path))?;
    Ok(())
}

fn read_manifest(path: &Path) -> Result<Manifest, Error> {
    let text = fs::read_to_string(path).map_err(Error::io(path))?;
    serde_json::from_str(&text).map_err(|source| Error::Manifest { path: path.to_owned(), source })
}
