//! What is at the destination before, during and after writing.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::thread;

use atomic_file::{AtomicFile, UnfinishedFolder, write_with};

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn the_old_file_stays_until_the_new_one_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report");
    fs::write(&path, "old").unwrap();
    let mut file = AtomicFile::create(&path).unwrap();
    file.write_all(b"new").unwrap();
    file.flush().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    let pending = file.finish().unwrap();
    assert_eq!(fs::read(pending.path()).unwrap(), b"new");
    assert_eq!((pending.destination(), fs::read(&path).unwrap().as_slice()), (path.as_path(), &b"old"[..]));
    pending.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(names(folder.path()), ["report"]);
}

#[test]
fn nothing_is_left_of_a_file_that_was_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report");
    for old in [None, Some("old")] {
        if let Some(old) = old {
            fs::write(&path, old).unwrap();
        }
        let outcome = write_with(&path, |file| {
            file.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::StorageFull);
        drop(AtomicFile::create(&path).unwrap().finish().unwrap());
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), old);
        assert_eq!(names(folder.path()).len(), usize::from(old.is_some()));
    }
}

#[test]
fn places_that_take_no_file_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    for name in ["", "file/below", "no/such/folder"] {
        AtomicFile::create(&folder.path().join(name)).unwrap_err();
    }
    AtomicFile::create(Path::new("")).unwrap_err();
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn the_longest_name_has_room() {
    let folder = tempfile::tempdir().unwrap();
    let name = "n".repeat(255);
    write_with(&folder.path().join(&name), |file| file.write_all(b"x")).unwrap();
    assert_eq!(names(folder.path()), [name]);
}

#[test]
fn writers_of_one_destination_do_not_mix() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report");
    thread::scope(|scope| {
        for letter in *b"abcdefgh" {
            let path = &path;
            scope.spawn(move || {
                for _ in 0..20 {
                    write_with(path, |file| (0..1000).try_for_each(|_| file.write_all(&[letter; 40])))
                        .unwrap();
                    let found = fs::read(path).unwrap();
                    assert!(found.len() == 40_000 && found.iter().all(|byte| *byte == found[0]));
                }
            });
        }
    });
    assert_eq!(names(folder.path()), ["report"]);
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode() & 0o777;
    fs::create_dir(at("below")).unwrap();
    fs::write(at("below/file"), "old").unwrap();
    fs::set_permissions(at("below/file"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("below/file", at("link")).unwrap();
    write_with(&at("link"), |file| file.write_all(b"new")).unwrap();
    assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
    assert_eq!(fs::read(at("below/file")).unwrap(), b"new");
    assert_eq!(mode("below/file"), 0o640);
    assert_eq!(
        (names(folder.path()), names(&at("below"))),
        (vec!["below".into(), "link".into()], vec!["file".into()])
    );

    fs::write(at("ordinary"), "").unwrap();
    write_with(&at("ours"), |_| Ok(())).unwrap();
    assert_eq!(mode("ours"), mode("ordinary"));
}

#[cfg(target_os = "linux")]
#[test]
fn devices_are_written_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt;

    write_with(Path::new("/dev/null"), |file| file.write_all(b"x")).unwrap();
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    let full = write_with(Path::new("/dev/full"), |file| file.write_all(b"x"));
    assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
}

#[test]
fn folders_are_removed_or_take_their_place() {
    let place = tempfile::tempdir().unwrap();
    let folder = UnfinishedFolder::create_in(place.path(), false).unwrap();
    fs::write(folder.path().join("a"), "a").unwrap();
    folder.rename(&place.path().join("whole")).unwrap();
    let folder = UnfinishedFolder::create_in(place.path(), false).unwrap();
    fs::write(folder.path().join("b"), "b").unwrap();
    folder.rename(&place.path().join("whole")).unwrap_err();
    let names = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["whole"]);
    assert_eq!(fs::read(place.path().join("whole/a")).unwrap(), b"a");
}

#[test]
fn what_killed_runs_left_goes_when_it_is_old() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(25 * 60 * 60);
    let names = [".unfinished-1-0.tmp", ".unfinished-mine-0.tmp", ".unfinished-1-0", "result.tmp"];
    for name in names {
        fs::File::create(at(name)).unwrap().set_modified(old).unwrap();
    }
    fs::write(at(".unfinished-2-1.tmp"), "of a run that goes on").unwrap();
    atomic_file::write_with(&at("new"), |out| out.write_all(b"new")).unwrap();
    let mut left: Vec<_> =
        fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(
        left,
        [".unfinished-1-0", ".unfinished-2-1.tmp", ".unfinished-mine-0.tmp", "new", "result.tmp"]
    );
}
