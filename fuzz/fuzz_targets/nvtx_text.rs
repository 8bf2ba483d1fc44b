//! Texts of NVTX ranges and payloads of NCCL, in an export that has nothing else.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tracelens_fuzz::probes().nvtx_text(bytes);
});
