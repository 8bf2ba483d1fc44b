//! A few hundred damaged texts per reader in every test run: each ends in a trace or in an error, never in a panic,
//! and never in more records than its size explains. `fuzz/` feeds the same probes with what a fuzzer finds.

use std::io::{Read, Write};
use std::path::PathBuf;

use flate2::{Compression, write::GzEncoder};
use prost::Message;
use serde_json::Value;
use trace_ingest::xplane::proto::XSpace;

use crate::reader_probes::{CSV_FILES, Found, Probes, SEPARATOR, metal_ops, xplane};

/// Damaged texts per seed.
const ROUNDS: usize = 300;

/// Largest seed, in bytes: what matters is the variety of damage, not the length of what is sound.
const LONGEST: usize = 12 << 10;

/// Pseudo-random numbers (SplitMix64): the same damage in every run and on every machine.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// Texts that readers have to be wary of.
const AWKWARD: [&[u8]; 20] = [
    b"-1",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"18446744073709551615",
    b"4294967295",
    b"1e400",
    b"-0.0",
    b"NaN",
    b"null",
    b"\"\"",
    b"{}",
    b"[[[[[[[[",
    b"\\ud800",
    b"\xff\xfe",
    b"\0",
    b"\"",
    b",,",
    b"\n\n",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80",
];

/// `seed` with one to four faults.
fn damaged(seed: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut text = seed.to_vec();
    for _ in 0..=numbers.below(4) {
        let at = numbers.below(text.len());
        let end = (at + 1 + numbers.below(64)).min(text.len());
        match numbers.below(8) {
            0 if !text.is_empty() => text[at] ^= 1 << numbers.below(8),
            1 if !text.is_empty() => text[at] = numbers.next() as u8,
            2 => text.truncate(at),
            3 => drop(text.drain(at..end)),
            4 => {
                let part = text[at..end].to_vec();
                let target = numbers.below(text.len());
                text.splice(target..target, part);
            }
            5 => {
                let value = AWKWARD[numbers.below(AWKWARD.len())];
                text.splice(at..at, value.iter().copied());
            }
            // A number in a text.
            6 => {
                let digits = |byte: &u8| byte.is_ascii_digit();
                if let Some(start) = text[at..].iter().position(digits).map(|offset| at + offset) {
                    let length = text[start..].iter().take_while(|byte| digits(byte)).count();
                    let value = AWKWARD[numbers.below(AWKWARD.len())];
                    text.splice(start..start + length, value.iter().copied());
                }
            }
            // A length or an integer of a binary format.
            _ => {
                let value = numbers.next().to_le_bytes();
                for (byte, value) in text[at..end.min(at + 8)].iter_mut().zip(value) {
                    *byte = value;
                }
            }
        }
    }
    text
}

/// Reads a seed and damaged copies of it. The seed has to be readable, or the copies would show nothing.
fn survive(seed: &[u8], mut read: impl FnMut(&[u8]) -> Option<Found>) {
    let whole = read(seed).unwrap();
    assert!(whole.records > 0, "{whole:?}");
    let mut numbers = Numbers(seed.len() as u64);
    for round in 0..ROUNDS {
        let text = damaged(seed, &mut numbers);
        if let Some(found) = read(&text) {
            // The shortest record of any format takes two bytes; a profile may have a few that no bytes stand for.
            let (most, length) = (64 + text.len() / 2, text.len());
            let within = found.records <= most && found.strings <= 64 + length && found.warnings <= most;
            assert!(within, "round {round}: {found:?} of {length} bytes");
        }
    }
}

fn testdata(path: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(path);
    let bytes = std::fs::read(&path).unwrap();
    if path.extension().is_some_and(|extension| extension == "gz") {
        let mut text = Vec::new();
        flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text).unwrap();
        return text;
    }
    bytes
}

/// The first lines of a file.
fn lines(path: &str, count: usize) -> Vec<u8> {
    testdata(path).split_inclusive(|&byte| byte == b'\n').take(count).flatten().copied().collect()
}

fn with_probes<T>(run: impl FnOnce(&Probes) -> T) -> T {
    let directory = tempfile::tempdir().unwrap();
    run(&Probes::new(directory.path()))
}

#[test]
fn kineto_json() {
    let mut text = testdata("generated/cuda_training_step.json.gz");
    // Cut off like the trace of a run that was killed.
    text.truncate(LONGEST);
    with_probes(|probes| survive(&text, |bytes| probes.trace(bytes)));
}

#[test]
fn compressed_kineto_json() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&testdata("recorded/cpu/compiled_cpp.json.gz")).unwrap();
    let packed = packed.finish().unwrap();
    with_probes(|probes| survive(&packed, |bytes| probes.trace(bytes)));
}

#[test]
fn rocprof_json() {
    let mut profile = serde_json::from_slice(&testdata("generated/rocprof/run_results.json.gz")).unwrap();
    keep_three(&mut profile);
    let text = serde_json::to_vec(&profile).unwrap();
    with_probes(|probes| survive(&text, |bytes| probes.rocprof(bytes)));
}

/// Leaves at most three elements in every list.
fn keep_three(value: &mut Value) {
    match value {
        Value::Array(elements) => {
            elements.truncate(3);
            elements.iter_mut().for_each(keep_three);
        }
        Value::Object(members) => members.values_mut().for_each(keep_three),
        _ => {}
    }
}

#[test]
fn rocprof_csv() {
    let parts: Vec<Vec<u8>> = CSV_FILES
        .iter()
        .map(|kind| match *kind {
            "scratch_memory_trace" | "pc_sampling_host_trap" => Vec::new(),
            kind => lines(&format!("generated/rocprof/csv/4242_{kind}.csv"), 5),
        })
        .collect();
    with_probes(|probes| {
        survive(&parts.join(&SEPARATOR), |bytes| probes.rocprof_csv(bytes));
        survive(&parts[1], |bytes| probes.rocprof_csv(bytes));
    });
}

#[test]
fn rocpd() {
    let database = testdata("generated/rocprof/run_results.db");
    with_probes(|probes| survive(&database, |bytes| probes.rocpd(bytes)));
}

#[test]
fn rocpd_of_statements() {
    let statements = "CREATE TABLE rocpd_string (id INTEGER, string TEXT);
INSERT INTO rocpd_string VALUES (1, 'KERNEL_DISPATCH');
CREATE TABLE kept (id INTEGER, guid TEXT, kernel_id INTEGER, start INTEGER, end INTEGER, event_id INTEGER);
INSERT INTO kept VALUES (1, 'run', 1, 100, 200, 1);
INSERT INTO kept VALUES (2, 'run', 1, 200, 300, 2);
CREATE VIEW rocpd_kernel_dispatch AS SELECT * FROM kept;
CREATE TABLE rocpd_event (id INTEGER, guid TEXT, category_id INTEGER, correlation_id INTEGER);
INSERT INTO rocpd_event VALUES (1, 'run', 1, 7);
CREATE TABLE rocpd_memory_copy_00000e57_6f6a (id INTEGER, start INTEGER, end INTEGER, size INTEGER);
INSERT INTO rocpd_memory_copy_00000e57_6f6a VALUES (1, 300, 400, 4096);";
    with_probes(|probes| survive(statements.as_bytes(), |bytes| probes.rocpd(bytes)));
}

#[test]
fn pftrace() {
    let mut packets = testdata("generated/rocprof/run_results.pftrace.gz");
    packets.truncate(LONGEST);
    with_probes(|probes| survive(&packets, |bytes| probes.rocprof(bytes)));
}

#[test]
fn pytorch_pftrace() {
    with_probes(|probes| survive(&crate::kineto_pftrace::vector(), |bytes| probes.trace(bytes)));
}

#[test]
fn xplane_profiles() {
    let mut profile = XSpace::decode(&testdata("recorded/cpu/jax_step.xplane.pb")[..]).unwrap();
    for line in profile.planes.iter_mut().flat_map(|plane| &mut plane.lines) {
        line.events.truncate(12);
    }
    survive(&profile.to_bytes(), xplane);
}

#[test]
fn metal_operations() {
    survive(&lines("generated/metal_ops.csv", 12), metal_ops);
}

#[test]
fn nsys_of_statements() {
    let statements = "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (7, 'cudaLaunchKernel_v7000');
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass, globalTid, correlationId, nameId);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0, 100, 0, 281476838981743, 49, 7);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, globalPid, demangledName, gridX, blockX);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (500, 900, 0, 7, 49, 281476838981632, 8, 4, 128);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, copyKind, srcKind, dstKind, bytes);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (900, 990, 0, 1, 1, 2, 4096);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, deviceId, contextId, streamId, correlationId, syncType);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (5, 50, 4294967295, 1, 7, 49, 3);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType, text, globalTid, textId, domainId);
INSERT INTO NVTX_EVENTS VALUES (0, 400, 59, 'aten::mm, seq = 1, op_id = 2, sizes = [[4, 8], [8]]', 281476838981743, NULL, 0);
INSERT INTO NVTX_EVENTS VALUES (3, NULL, 60, NULL, 281476838981743, 7, 1);
CREATE TABLE DIAGNOSTIC_EVENT (severity, text);
INSERT INTO DIAGNOSTIC_EVENT VALUES (2, 'cannot open /tmp/x');
CREATE TABLE TARGET_INFO_GPU (id, name, totalMemory, smCount, threadsPerWarp, maxWarpsPerSm);
INSERT INTO TARGET_INFO_GPU VALUES (0, 'GPU', 80, 132, 32, 64);";
    with_probes(|probes| survive(statements.as_bytes(), |bytes| probes.nsys(bytes)));
}

#[test]
fn nsys_as_a_file() {
    with_probes(|probes| survive(&testdata("generated/nsys/run.sqlite"), |bytes| probes.nsys(bytes)));
}

#[test]
fn texts_and_payloads_of_nvtx() {
    let text =
        b"aten::addmm, seq = 12, op_id = 345, sizes = [[4096], [8192, 1024], []], input_op_ids = [(340,0)]";
    with_probes(|probes| survive(text, |bytes| probes.nvtx_text(bytes)));
    let payload = "010000000000000004000001000000001000000000000000200000000000000018\
                   07f6e5d4c3b2a10000400000000000";
    with_probes(|probes| survive(payload.as_bytes(), |bytes| probes.nvtx_text(bytes)));
}
