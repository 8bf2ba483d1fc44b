//! Kineto JSON, compressed or not: reading it, and going through its entries.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tracelens_fuzz::probes().trace(bytes);
});
