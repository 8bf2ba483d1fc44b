//! Compiled XLA programs and what their instructions cost.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tracelens_fuzz::program_probe::program(bytes);
});
