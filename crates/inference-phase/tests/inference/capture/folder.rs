//! What a folder of captures may hold.

use std::fs;
use std::io::Write;

use inference_phase::capture::{CaptureLibrary, CaptureMode, EXECUTION_DETAILS, merge};
use trace_ingest::ReadOptions;

use crate::capture::trace::Recording;

fn capture(annotation: Option<&str>, captures: usize) -> Recording {
    let mut recording = Recording::default();
    for _ in 0..captures {
        recording.capture(&[("aten::mm", 4, Some("gemm")), ("aten::mm", 4, Some("gemm"))], true);
    }
    if let Some(annotation) = annotation {
        recording.annotate(annotation, (0, 1000));
    }
    recording
}

fn open(folder: &tempfile::TempDir) -> CaptureLibrary {
    CaptureLibrary::open(folder.path(), &ReadOptions::default()).unwrap()
}

fn files(library: &CaptureLibrary) -> Vec<(&str, Option<i64>, String)> {
    library.files().iter().map(|file| (file.file.as_str(), file.batch_size, file.mode.to_string())).collect()
}

#[test]
fn traces_are_classified_and_what_is_stated_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    capture(Some("capture_256_PIECEWISE"), 3).write(&folder.path().join("b.json"));
    capture(Some("capture_32_DECODE"), 1).write(&folder.path().join("a.json"));
    capture(None, 2).write(&folder.path().join("c.json"));
    fs::write(folder.path().join("notes.txt"), "no trace").unwrap();
    fs::create_dir(folder.path().join("folder.json")).unwrap();
    let library = open(&folder);
    let expected = [
        ("a.json", Some(32), "FULL".to_owned()),
        ("b.json", Some(256), "PIECEWISE".to_owned()),
        ("c.json", Some(4), "PIECEWISE".to_owned()),
    ];
    assert_eq!((files(&library), library.is_listed()), (expected.to_vec(), false));
    assert_eq!(library.warnings().len(), 0);
    assert!(!folder.path().join(EXECUTION_DETAILS).exists(), "nothing is written unasked");

    let mut details = Vec::new();
    library.write_details(&mut details).unwrap();
    fs::write(folder.path().join(EXECUTION_DETAILS), &details).unwrap();
    let again = open(&folder);
    let [a, b, (c, _, mode)] = expected;
    // The size of a trace without annotation is a guess, and no guess is written.
    assert_eq!((files(&again), again.is_listed()), (vec![a, b, (c, None, mode)], true));
    let mut same = Vec::new();
    again.write_details(&mut same).unwrap();
    assert_eq!(same, details);
}

#[test]
fn archives_and_compressed_traces_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let text = capture(Some("capture_8_FULL"), 1).text();
    let mut archive = zip::ZipWriter::new(fs::File::create(folder.path().join("a.zip")).unwrap());
    archive.start_file("inner/trace.json", zip::write::SimpleFileOptions::default()).unwrap();
    archive.write_all(text.as_bytes()).unwrap();
    archive.finish().unwrap();
    let gzip = fs::File::create(folder.path().join("b.json.gz")).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(gzip, flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    gzip.finish().unwrap();
    fs::write(folder.path().join("c.json.zst"), zstd::encode_all(text.as_bytes(), 1).unwrap()).unwrap();
    let mut library = open(&folder);
    let expected = ["a.zip", "b.json.gz", "c.json.zst"].map(|name| (name, Some(8), "FULL".to_owned()));
    assert_eq!(files(&library), expected);

    let mut replay = Recording::default();
    replay.step("execute_context_0(0)_generation_8(8)", &[&[("gemm", 7, 5), ("gemm", 7, 5)]]);
    let report = merge(&mut replay.tree(), &mut library, &ReadOptions::default());
    assert_eq!((report.merged(), report.merged_device_events()), (1, 2));
}

#[test]
fn a_list_is_used_untouched_and_its_traces_are_read_when_needed() {
    let folder = tempfile::tempdir().unwrap();
    capture(None, 1).write(&folder.path().join("used.json"));
    fs::write(folder.path().join("broken.json"), "no trace at all").unwrap();
    let details = r#"[{"file": "broken.json", "batch_size": 64, "mode": "FULL"},
        {"file": "used.json", "batch_size": 16, "mode": "DECODE", "comment": "kept"},
        {"file": "used.json", "batch_size": "bad", "mode": "FULL"}]"#;
    fs::write(folder.path().join(EXECUTION_DETAILS), details).unwrap();
    let mut library = open(&folder);
    assert_eq!(library.warnings().len(), 1, "the entry with a bad size");
    assert_eq!(library.files()[1].mode, CaptureMode::Other("DECODE".to_owned()));

    let mut replay = Recording::default();
    replay.step("step[DECODE bs=13]", &[&[("gemm", 7, 5), ("gemm", 7, 5)]]);
    let report = merge(&mut replay.tree(), &mut library, &ReadOptions::default());
    assert_eq!((report.merged(), library.warnings().len()), (1, 1), "the broken trace was not read");

    let mut replay = Recording::default();
    replay.step("step[DECODE bs=40]", &[&[("gemm", 7, 5)]]);
    replay.step("step[DECODE bs=41]", &[&[("gemm", 7, 5)]]);
    let report = merge(&mut replay.tree(), &mut library, &ReadOptions::default());
    assert_eq!((report.merged(), library.warnings().len()), (0, 2), "it is read and told of once");
    assert_eq!(report.skipped().len(), 1);
    assert_eq!(fs::read_to_string(folder.path().join(EXECUTION_DETAILS)).unwrap(), details);
}

#[test]
fn folders_without_use_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let open_error =
        |path: &std::path::Path| CaptureLibrary::open(path, &ReadOptions::default()).unwrap_err().to_string();
    let library = open(&folder);
    assert!(library.warnings()[0].to_string().contains("has no trace"));
    let mut details = Vec::new();
    library.write_details(&mut details).unwrap();
    assert_eq!(details, b"[]");
    let file = folder.path().join("a.json");
    fs::write(&file, "{}").unwrap();
    assert!(open_error(&file).contains("is not a folder"));
    assert!(open_error(&folder.path().join("gone")).contains("gone"));
    let library = open(&folder);
    assert_eq!((library.files().len(), library.warnings().len()), (0, 1), "a.json is no trace");
    fs::remove_file(&file).unwrap();
    Recording::default().write(&file);
    let mut only_ops = Recording::default();
    only_ops.push("cpu_op", "aten::mm", (1, 1), (0, 5), serde_json::json!({}));
    only_ops.write(&file);
    let library = open(&folder);
    assert!(library.warnings()[0].to_string().contains("has no graph capture"));
    fs::write(folder.path().join(EXECUTION_DETAILS), "{}").unwrap();
    assert!(open_error(folder.path()).contains("expected a list of {\"file\", \"batch_size\", \"mode\"}"));
}
