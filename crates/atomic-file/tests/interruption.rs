//! A process of its own: the temporary files are those of the whole process.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Write;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use atomic_file::{AtomicFile, UnfinishedFolder, remove_unfinished};

#[test]
fn interrupted_files_vanish_and_none_is_made_before_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("old"), "old").unwrap();
    let mut files = [AtomicFile::create(&at("old")).unwrap(), AtomicFile::create(&at("new")).unwrap()];
    files[0].write_all(b"new").unwrap();
    files[0].flush().unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    let temporary = UnfinishedFolder::create_in(folder.path(), true).unwrap();
    fs::write(temporary.path().join("table"), "1").unwrap();

    let removed = remove_unfinished();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let (made, waits) = channel();
    let late = at("late");
    let maker = thread::spawn(move || made.send(AtomicFile::create(&late).map(drop).is_ok()).unwrap());
    waits.recv_timeout(Duration::from_millis(200)).unwrap_err();
    drop(removed);
    assert!(waits.recv().unwrap());
    maker.join().unwrap();

    let [replacing, _] = files;
    replacing.commit().unwrap_err();
    assert_eq!(fs::read(at("old")).unwrap(), b"old");
}
