//! Packs: the tables of many ranks in one file each, a row group for each rank, so that a job of thousands of ranks is a
//! few hundred files.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::folder::{
    JobFolder, PACK_MANIFEST, PackManifest, RankFolder, SCHEMA, is_pack, remove_folder, remove_remains, sync,
    table_path, write_manifest,
};
use crate::rows::{Row, TableWriter, Wanted};
use crate::tables::{EachTable, RankTables};

/// Ranks of a pack, but for the last.
const RANKS: usize = 256;

/// Folders of packs are called so, with a number that grows.
const NAME: &str = "pack-";

/// The number of the pack with this path.
fn number(path: &Path) -> Option<u32> {
    path.file_name()?.to_str()?.strip_prefix(NAME)?.parse().ok()
}

/// What packing came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// Ranks in packs, all of the job.
    pub ranks: usize,
    /// Packs that they are in.
    pub packs: usize,
    /// Packs among these that were written now.
    pub written: usize,
}

impl JobFolder {
    /// Puts the tables of 256 ranks each into one folder, in which a table is a file and a rank one of its row groups.
    /// Figures stay what they are. Folders of ranks are removed when the pack that has their tables is written, so that
    /// the job can be read whenever this is interrupted; the next run goes on. Packs that are full and up to date stay.
    /// Nothing must be mapped into the folder meanwhile.
    ///
    /// # Errors
    /// When a table cannot be read, or a file cannot be written or removed.
    pub fn pack(&mut self) -> Result<Packing, Error> {
        self.pack_by(RANKS)
    }

    fn pack_by(&mut self, ranks_of_pack: usize) -> Result<Packing, Error> {
        let packs = self.packs()?;
        let mut next = packs.iter().filter_map(|pack| number(pack)).max().map_or(0, |last| last + 1);
        let (mut kept, mut written) = (BTreeSet::new(), 0);
        for ranks in self.ranks().chunks(ranks_of_pack) {
            if let Some(pack) = whole_pack(ranks)? {
                kept.insert(pack.to_owned());
            } else {
                let destination = self.path().join(format!("{NAME}{next:05}"));
                next += 1;
                self.write_folder(&destination, |folder| write(folder, ranks))?;
                kept.insert(destination);
                written += 1;
            }
            for rank in ranks {
                if !rank.is_packed() {
                    self.remove_packed(rank)?;
                }
                self.remove_remains(rank.name())?;
            }
        }
        for old in packs.iter().filter(|pack| !kept.contains(*pack)) {
            match is_pack(old) {
                true => remove_folder(old, PACK_MANIFEST)?,
                false => remove_remains(old)?,
            }
        }
        let packing = Packing { ranks: self.ranks().len(), packs: kept.len(), written };
        *self = JobFolder::open(self.path())?;
        Ok(packing)
    }

    /// Folders of packs, those whose removal was interrupted among them; none that is of another version.
    fn packs(&self) -> Result<Vec<PathBuf>, Error> {
        let path = self.path();
        let entries: Vec<PathBuf> = fs::read_dir(path)
            .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
            .map_err(Error::io(path))?;
        let is_stale = |entry: &PathBuf| self.stale.iter().any(|(stale, _)| stale == entry);
        Ok(entries.into_iter().filter(|entry| number(entry).is_some() && !is_stale(entry)).collect())
    }
}

/// The pack that these ranks are, if they are all of one.
fn whole_pack(ranks: &[RankFolder]) -> Result<Option<&Path>, Error> {
    let Some(first) = ranks.first().filter(|rank| rank.is_packed()) else { return Ok(None) };
    let is_one = ranks.iter().all(|rank| rank.is_packed() && rank.path() == first.path());
    let is_whole = is_one && PackManifest::read(first.path())?.ranks.len() == ranks.len();
    Ok(is_whole.then(|| first.path()))
}

/// Writes the tables of ranks, and last the manifest.
fn write(folder: &Path, ranks: &[RankFolder]) -> Result<(), Error> {
    RankTables::default().each(&mut Files { folder, ranks })?;
    let rank_manifests = ranks.iter().map(|rank| (rank.name().to_owned(), rank.manifest().clone()));
    let manifest = PackManifest { schema: SCHEMA, ranks: rank_manifests.collect() };
    write_manifest(&folder.join(PACK_MANIFEST), &manifest)
}

/// Writes each table that one of the ranks has into a file; the rows of one rank are in memory at a time.
struct Files<'a> {
    folder: &'a Path,
    ranks: &'a [RankFolder],
}

impl EachTable for Files<'_> {
    fn table<R: Row>(&mut self, _: Option<&[R]>) -> Result<(), Error> {
        if !self.ranks.iter().any(|rank| rank.has(R::TABLE)) {
            return Ok(());
        }
        let path = table_path(self.folder, R::TABLE);
        let file = File::create_new(&path).map_err(Error::write(&path))?;
        let mut writer = TableWriter::<R, _>::new(BufWriter::new(file)).map_err(Error::table(&path))?;
        for rank in self.ranks {
            writer.add(rank.manifest().key(), &rank.rows::<R>(Wanted::All)?).map_err(Error::table(&path))?;
        }
        sync(writer.finish().map_err(Error::table(&path))?, &path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Source;
    use crate::tables::{EventRow, KernelRow, RankRow, StepRow};

    const COUNT: i64 = 7;

    /// Tables of a rank, of which some are empty.
    fn tables(rank: i64, state: i64) -> RankTables {
        let steps = (0..rank).map(|step| StepRow { step, kernels: state, ..StepRow::default() });
        RankTables {
            rank: RankRow { rank: Some(rank), host: Some("a".into()), ..RankRow::default() },
            steps: steps.collect(),
            ..RankTables::default()
        }
    }

    /// A job in a folder, with the recording of a rank beside it.
    struct Place(tempfile::TempDir);

    impl Place {
        fn new() -> Self {
            let place = Place(tempfile::tempdir().unwrap());
            (0..COUNT).for_each(|rank| place.map(rank, 0));
            place
        }

        fn map(&self, rank: i64, state: i64) {
            let path = self.0.path().join(format!("rank{rank}.json"));
            fs::write(&path, state.to_string()).unwrap();
            self.open().add(&tables(rank, state), Source::of(&path).unwrap()).unwrap();
        }

        fn path(&self) -> PathBuf {
            self.0.path().join("job")
        }

        fn open(&self) -> JobFolder {
            JobFolder::open(&self.path()).unwrap()
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(self.path()).unwrap();
            let mut names: Vec<String> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }

        /// The tables of all ranks as they are read.
        fn content(&self) -> Vec<(Option<i64>, Vec<StepRow>, usize)> {
            let job = self.open();
            assert!(job.stale.is_empty(), "{:?}", job.stale);
            let content = |rank: &RankFolder| {
                let own = rank.rows::<RankRow>(Wanted::All).unwrap().remove(0);
                assert_eq!(own.rank, rank.rank());
                let kernels = rank.rows::<KernelRow>(Wanted::All).unwrap().len();
                (own.rank, rank.rows(Wanted::All).unwrap(), kernels)
            };
            job.ranks().iter().map(content).collect()
        }
    }

    #[test]
    fn packs_say_what_folders_said_and_stay() {
        let place = Place::new();
        let before = place.content();
        let packed = |place: &Place| place.open().pack_by(3).unwrap();
        assert_eq!(packed(&place), Packing { ranks: 7, packs: 3, written: 3 });
        assert_eq!(place.names(), ["pack-00000", "pack-00001", "pack-00002"]);
        assert_eq!(place.content(), before);
        let files = fs::read_dir(place.path().join("pack-00000")).unwrap().count();
        assert_eq!(files, 8);
        assert_eq!(packed(&place), Packing { ranks: 7, packs: 3, written: 0 });
        // A recording that changed takes the place of what the pack has of it.
        place.map(4, 9);
        let changed = place.content();
        assert_eq!(changed[4].1[0].kernels, 9);
        assert_eq!(place.open().outdated, [place.path().join("pack-00001")]);
        assert_eq!(packed(&place), Packing { ranks: 7, packs: 3, written: 1 });
        assert_eq!(place.names(), ["pack-00000", "pack-00002", "pack-00003"]);
        assert_eq!(place.content(), changed);
        assert!(place.open().outdated.is_empty());
        // Ranks that are added fill the last pack.
        place.map(7, 0);
        place.map(8, 0);
        assert_eq!(packed(&place), Packing { ranks: 9, packs: 3, written: 1 });
        assert_eq!(place.content().len(), 9);
    }

    #[test]
    fn a_job_can_be_read_wherever_packing_was_interrupted() {
        let place = Place::new();
        let before = place.content();
        let job = place.open();
        // A pack that is not finished, one that is with the folders still there, and folders half removed.
        fs::create_dir(place.path().join(".unfinished-x")).unwrap();
        job.write_folder(&place.path().join("pack-00004"), |folder| write(folder, &job.ranks()[..4]))
            .unwrap();
        assert_eq!(place.content(), before);
        fs::remove_file(place.path().join("rank-00001/manifest.json")).unwrap();
        job.remove_packed(&job.ranks()[2]).unwrap();
        assert_eq!(place.content(), before);
        // An older pack that was about to be removed.
        fs::create_dir(place.path().join("pack-00002")).unwrap();
        fs::remove_dir(place.path().join(".unfinished-x")).unwrap();
        let packing = place.open().pack().unwrap();
        assert_eq!(packing, Packing { ranks: 7, packs: 1, written: 1 });
        assert_eq!((place.names(), place.content()), (vec!["pack-00005".to_owned()], before));
    }

    #[test]
    fn a_rank_is_found_wherever_the_exchange_of_its_folder_was_interrupted() {
        let place = Place::new();
        let before = place.content();
        let (there, aside) = (place.path().join("rank-00003"), place.path().join(".replaced-rank-00003"));
        // The old folder has made room, and the new one is not there yet.
        fs::rename(&there, &aside).unwrap();
        assert_eq!(place.content(), before);
        assert_eq!(place.open().ranks()[3].path(), aside);
        place.map(3, 5);
        assert_eq!((there.is_dir(), aside.exists()), (true, false));
        let after = place.content();
        assert_eq!(after[3].1[0].kernels, 5);
        // The new one is there, and the old one has not gone, or not all of it.
        let copy = |from: &Path| {
            fs::create_dir(&aside).unwrap();
            for file in fs::read_dir(from).unwrap().map(|file| file.unwrap().path()) {
                fs::copy(&file, aside.join(file.file_name().unwrap())).unwrap();
            }
        };
        copy(&place.path().join("rank-00004"));
        assert_eq!(place.content(), after);
        place.map(3, 6);
        assert!(!aside.exists());
        copy(&there);
        fs::remove_file(aside.join(crate::folder::MANIFEST)).unwrap();
        place.map(3, 5);
        assert_eq!((aside.exists(), place.content()), (false, after.clone()));
        // What is left of an exchange does not come back when its folder goes into a pack.
        copy(&place.path().join("rank-00004"));
        place.open().pack().unwrap();
        assert_eq!((place.names(), place.content()), (vec!["pack-00000".to_owned()], after));
    }

    #[test]
    fn tables_that_cannot_be_written_leave_those_that_are_there() {
        let place = Place::new();
        let before = place.content();
        let refuse = |folder: &Path| Err(Error::io(folder)(std::io::ErrorKind::StorageFull.into()));
        place.open().write_folder(&place.path().join("rank-00003"), refuse).unwrap_err();
        assert_eq!((place.names().len(), place.content()), (7, before));
    }

    #[test]
    fn packing_removes_only_what_is_ours() {
        // Names out of a manifest that lead elsewhere, or to a folder that others made.
        for name in ["../victim", "VICTIM", "..", ".", "", "a/b", "mine"] {
            let place = Place::new();
            let (victim, mine) = (place.0.path().join("victim"), place.path().join("mine"));
            for folder in [&victim, &mine] {
                fs::create_dir(folder).unwrap();
                fs::write(folder.join("notes.txt"), "mine").unwrap();
            }
            place.open().pack().unwrap();
            let manifest = place.path().join("pack-00000/pack.json");
            let name = name.replace("VICTIM", victim.to_str().unwrap());
            let text = fs::read_to_string(&manifest).unwrap().replacen("rank-00003", &name, 1);
            fs::write(&manifest, text).unwrap();
            assert_eq!(place.open().stale.len(), usize::from(name != "mine"), "{name}");
            place.map(8, 0);
            place.open().pack().unwrap();
            assert!(victim.join("notes.txt").exists() && mine.join("notes.txt").exists(), "{name}");
        }
    }

    #[test]
    fn folders_of_others_stay_and_no_link_is_followed() {
        let place = Place::new();
        fs::create_dir(place.path().join("pack-7")).unwrap();
        fs::write(place.path().join("pack-7/notes.txt"), "mine").unwrap();
        place.open().pack().unwrap();
        assert_eq!(place.names(), ["pack-00008", "pack-7"]);
        // A folder of a rank with a file of somebody in it.
        place.map(3, 1);
        fs::write(place.path().join("rank-00003/notes.txt"), "mine").unwrap();
        let error = place.open().pack().unwrap_err();
        assert!(matches!(error, Error::Foreign { .. }), "{error}");
        fs::write(place.0.path().join("rank3.json"), "changed").unwrap();
        let source = Source::of(&place.0.path().join("rank3.json")).unwrap();
        place.open().add(&tables(3, 2), source).unwrap_err();
        assert!(place.path().join("rank-00003/notes.txt").exists());
        #[cfg(unix)]
        {
            let place = Place::new();
            let there = place.path().join("rank-00002");
            let outside = place.0.path().join("outside");
            fs::rename(&there, &outside).unwrap();
            std::os::unix::fs::symlink(&outside, &there).unwrap();
            place.open().pack().unwrap_err();
            assert!(outside.join("manifest.json").exists());
        }
    }

    #[test]
    fn events_of_some_ranks_stay_theirs() {
        let place = Place::new();
        assert!(place.open().files_of(EventRow::TABLE).is_empty());
        let events = vec![EventRow { event: 7, name: Some("gemm".into()), ..EventRow::default() }];
        let with_events = RankTables { events: Some(events.clone()), ..tables(2, 0) };
        let path = place.0.path().join("rank2.json");
        place.open().add(&with_events, Source::of(&path).unwrap()).unwrap();
        for packs in [0, 3] {
            let job = place.open();
            let of = |rank: usize| job.ranks()[rank].rows::<EventRow>(Wanted::All).unwrap();
            assert_eq!((of(1), of(2), of(5)), (Vec::new(), events.clone(), Vec::new()));
            assert_eq!(job.ranks().iter().filter(|rank| rank.has_events()).count(), 1);
            assert_eq!(job.files_of(EventRow::TABLE).len(), 1);
            assert_eq!(
                job.ranks().iter().filter(|rank| rank.is_packed()).count(),
                if packs > 0 { 7 } else { 0 }
            );
            place.open().pack_by(3).unwrap();
        }
    }
}
