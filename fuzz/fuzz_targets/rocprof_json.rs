//! JSON of rocprofv3, and Chrome traces made from its Perfetto traces.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tracelens_fuzz::probes().rocprof(bytes);
});
