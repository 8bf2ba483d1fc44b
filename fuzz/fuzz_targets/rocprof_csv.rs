//! CSV files of rocprofv3.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tracelens_fuzz::probes().rocprof_csv(bytes);
});
