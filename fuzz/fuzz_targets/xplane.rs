//! XPlane profiles.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tracelens_fuzz::reader_probes::xplane(bytes);
});
