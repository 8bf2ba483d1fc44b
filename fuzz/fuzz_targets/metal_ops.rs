//! CSV files of Tenstorrent operations.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tracelens_fuzz::reader_probes::metal_ops(bytes);
});
