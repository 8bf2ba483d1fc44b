//! Damaged profiles: each ends in a profile that says what was lost, or in an error; never in a panic.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use trace_ingest::ReadOptions;
use trace_ingest::Warning;
use trace_ingest::rocprof::{Profile, read_profile};

use super::{file, profile, read, read_ok, synthetic, warnings};

/// Records that a profile says it has lost.
fn malformed(profile: &Profile, of: &str) -> u64 {
    let counts = profile.warnings.iter().filter_map(|warning| match warning {
        Warning::MalformedRecords { list, count, .. } if list == of => Some(*count),
        _ => None,
    });
    counts.sum()
}

/// Whether a profile says that its end is missing.
fn is_cut(profile: &Profile) -> bool {
    profile
        .warnings
        .iter()
        .any(|warning| matches!(warning, Warning::Truncated { .. } | Warning::BrokenText { .. }))
}

/// Offset of the list of dispatches, and of its end.
fn dispatch_list(text: &str) -> (usize, usize) {
    let start = text.find("\"kernel_dispatch\":[").unwrap();
    (start, start + text[start..].find("],").unwrap())
}

#[test]
fn a_cut_file_keeps_every_complete_record() {
    let text = synthetic();
    let (start, end) = dispatch_list(&text);
    for length in start + 30..text.len() {
        let profile = read_ok(&text[..length]);
        let complete = text[start..length.min(end)].matches(r#""stream_id":{"handle":3}}"#).count();
        assert_eq!(profile.dispatches.len(), complete, "{length}");
        assert!(matches!(profile.warnings[0], Warning::Truncated { .. }), "{length}: {:?}", profile.warnings);
        assert_eq!(malformed(&profile, "kernel_dispatch"), 0, "{length}");
    }
    let profile = read_ok(&text[..end - 10]);
    assert!(warnings(&profile)[0].contains("the file is truncated"), "{:?}", warnings(&profile));
}

#[test]
fn damaged_compression_keeps_what_came_before() {
    let dispatch = r#"{"start_timestamp":1,"end_timestamp":2,"dispatch_info":{"kernel_id":1}}"#;
    let text = profile(&format!(
        r#""buffer_records":{{"kernel_dispatch":[{}]}}"#,
        vec![dispatch; 100_000].join(",")
    ));
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    let profile = read_ok(&packed[..packed.len() / 2]);
    assert!((1_000..100_000).contains(&profile.dispatches.len()), "{}", profile.dispatches.len());
    assert!(matches!(profile.warnings[0], Warning::DamagedCompression { .. }), "{:?}", profile.warnings);
}

#[test]
fn malformed_records_are_named_with_their_place() {
    let text = synthetic().replace(r#""start_timestamp":200"#, r#""start_timestamp":"soon""#);
    let profile = read_ok(&text);
    assert_eq!((profile.dispatches.len(), malformed(&profile, "kernel_dispatch")), (5, 1));
    let start =
        text.find(r#"{"size":184,"kind":11,"operation":2,"thread_id":908,"correlation_id":{"internal":3"#);
    let expected = format!("(first: at byte {}: expected an integer)", start.unwrap());
    assert!(warnings(&profile)[0].contains(&expected), "{:?}", warnings(&profile));
}

#[test]
fn text_behind_the_profile_is_reported() {
    let profile = read_ok(synthetic() + "{\"more\":1}");
    let broken = matches!(profile.warnings[0], Warning::BrokenText { bytes_lost: 10, .. });
    assert!(broken, "{:?}", profile.warnings);
}

#[test]
fn every_flipped_byte_of_the_records_is_survived_and_no_dispatch_is_lost_unsaid() {
    let text = synthetic();
    let (start, end) = dispatch_list(&text);
    let (_directory, path) = file("");
    for at in start + "\"kernel_dispatch\":[".len()..start + (end - start) / 2 {
        let byte = b"X\"{}]"[at % 5];
        let mut damaged = text.clone().into_bytes();
        damaged[at] = byte;
        std::fs::write(&path, &damaged).unwrap();
        let profile = read_profile(&path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        let found = profile.dispatches.len() as u64 + malformed(&profile, "kernel_dispatch");
        assert!(found >= 6 || is_cut(&profile), "{at} {}: {found} {:?}", byte as char, profile.warnings);
        assert!(profile.dispatches.len() >= 4 || is_cut(&profile), "{at} {}", byte as char);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn any_flipped_bytes_are_read_or_refused(flips in prop::collection::vec((0.0..1.0f64, any::<u8>()), 1..4)) {
        let mut text = synthetic().into_bytes();
        let length = text.len();
        for (place, byte) in flips {
            text[(length as f64 * place) as usize] = byte;
        }
        if let Ok(profile) = read(&text) {
            prop_assert!(profile.dispatches.iter().all(|one| one.duration().0 >= 0));
            prop_assert!(profile.dispatches.iter().all(|one| (one.launch as usize) < profile.launches.len()));
            profile.to_trace();
        }
    }

    #[test]
    fn any_cut_is_read_or_refused(part in 0.0..1.0f64) {
        let text = synthetic();
        let cut = read(&text.as_bytes()[..(text.len() as f64 * part) as usize]);
        if let Ok(profile) = cut {
            prop_assert!(is_cut(&profile));
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[\\[\\]{}\",:a-z0-9 \\\\]{0,300}") {
        let _ = read(profile(&format!("\"buffer_records\":{{\"kernel_dispatch\":[{text}")));
        let _ = read(profile(&text));
        let _ = read(&text);
    }
}
