//! Exports of Nsight Systems, as files and as the statements that make them.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tracelens_fuzz::probes().nsys(bytes);
});
