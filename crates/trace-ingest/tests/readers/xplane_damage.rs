//! Damaged profiles: every one ends in a profile or in an error that names a place, never in a panic, and
//! never in more memory than the file's size explains.

use std::io::Write;
use std::path::Path;

use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use trace_ingest::xplane::{Profile, profile_from_bytes, proto::XSpace, read_profile};
use trace_ingest::{IngestError, ReadOptions};

fn recorded() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/recorded/cpu/jax_step.xplane.pb");
    std::fs::read(path).unwrap()
}

fn decode(bytes: &[u8]) -> Result<Profile, IngestError> {
    profile_from_bytes(Path::new("host.xplane.pb"), bytes.to_vec())
}

/// Reads everything that is read on demand.
fn exhaust(profile: &Profile) -> usize {
    let events = profile.trace.events().ids();
    let stats: usize = events.map(|event| profile.event_stats(event).count()).sum();
    let programs = profile.programs.ids().filter_map(|id| profile.programs.encoded(id));
    let programs: usize = programs.map(|program| program.bytes.len()).sum();
    let aggregated = profile.planes.iter().flat_map(|plane| &plane.lines).flat_map(|line| &line.aggregated);
    stats + programs + aggregated.map(|event| profile.aggregated_stats(event).count()).sum::<usize>()
}

/// The error is one that a user can act on.
fn assert_placed(error: &IngestError, length: usize) {
    match error {
        IngestError::Damaged { offset, field, .. } => {
            assert!(*offset <= length as u64 && !field.is_empty(), "{error}");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn the_damage_is_told_by_byte_and_field() {
    let bytes = recorded();
    let whole = XSpace { hostnames: vec!["worker".to_string()], ..XSpace::default() }.to_bytes();
    let mut cut = bytes.clone();
    cut.truncate(bytes.len() / 2);
    let error = decode(&cut).unwrap_err().to_string();
    assert!(error.contains("XSpace.planes at byte"), "{error}");
    assert!(error.contains("exceeds the file"), "{error}");
    let error = decode(&whole[..4]).unwrap_err().to_string();
    assert!(error.contains("XSpace.hostnames at byte 0"), "{error}");
}

#[test]
fn a_damaged_archive_is_an_error() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&recorded()).unwrap();
    let mut packed = encoder.finish().unwrap();
    packed.truncate(packed.len() - 100);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cut.xplane.pb.gz");
    std::fs::write(&path, packed).unwrap();
    let error = read_profile(&path, &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("the compressed data at byte"), "{error}");
}

#[test]
fn lengths_beyond_the_file_allocate_nothing() {
    for head in [&[0x0a_u8][..], &[0x0a, 0x16, 0x12, 0x09][..]] {
        let mut bytes = head.to_vec();
        bytes.extend([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]);
        assert_placed(&decode(&bytes).unwrap_err(), bytes.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_cut_is_read_or_refused(part in 0.0..1.0f64) {
        let bytes = recorded();
        let length = (bytes.len() as f64 * part) as usize;
        match decode(&bytes[..length]) {
            Ok(profile) => { exhaust(&profile); }
            Err(error) => assert_placed(&error, length),
        }
    }

    #[test]
    fn any_flipped_bytes_are_read_or_refused(
        flips in prop::collection::vec((0.0..1.0f64, 1u8..=255), 1..4),
        near_events in any::<bool>(),
    ) {
        let mut bytes = recorded();
        let length = bytes.len();
        // Nine tenths of the recording are modules; events lie at its end.
        let first = if near_events { length * 9 / 10 } else { 0 };
        for (place, mask) in flips {
            bytes[first + ((length - first) as f64 * place) as usize] ^= mask;
        }
        match decode(&bytes) {
            Ok(profile) => { exhaust(&profile); }
            Err(error) => assert_placed(&error, length),
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        match decode(&bytes) {
            Ok(profile) => { exhaust(&profile); }
            Err(error) => assert_placed(&error, bytes.len()),
        }
    }
}
