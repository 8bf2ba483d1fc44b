//! What the readers of all formats make of sound, damaged and foreign files.

#![allow(clippy::unwrap_used)] // a test helper may stop at a fault

mod bad_input;
mod entries;
mod fuzz_smoke;
mod kineto_pftrace;
mod metal;
mod metal_corpus;
mod nsys;
mod nsys_corpus;
mod nsys_meaning;
mod open;
mod other_recorders;
mod perfetto_writer;
mod rare_arguments;
mod reader_probes;
mod rocprof_csv;
mod rocprof_json;
mod rocprof_pftrace;
mod rocprof_rocpd;
mod rocprof_rocpd_hostile;
mod rocprof_run;
mod samples;
mod xplane;
mod xplane_corpus;
mod xplane_damage;

/// What an error says, and what to do.
fn said(error: &trace_ingest::IngestError) -> String {
    format!("{error}; {}", miette::Diagnostic::help(error).unwrap())
}
