//! Whose a Chrome trace is: converted from a Perfetto trace of this profiler, or another profiler's.

use super::values::{members, skip};
use super::walker::{Stop, Walk, Walker};
use crate::json::scanner::{RawValue, Scan, Scanner};

/// Who recorded a Chrome trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Origin {
    /// `rocprofv3`.
    Rocprof,
    /// Someone else.
    #[default]
    Other,
    /// Its events are no list.
    NotAList,
}

/// Goes through the list of events that stands next until one shows who recorded it.
pub(super) fn origin(walker: &mut Walker<'_>) -> Walk<Origin> {
    if walker.peek()? != b'[' {
        walker.skip()?;
        return Ok(Origin::NotAList);
    }
    let mut origin = None;
    let outcome = walker.list(&mut |walker| {
        origin = walker.step(event)?;
        match origin {
            Some(_) => Err(Stop::Malformed("who recorded it is known")),
            None => Ok(()),
        }
    });
    match (origin, outcome) {
        (Some(origin), _) => Ok(origin),
        (None, Ok(_)) => Ok(Origin::Other),
        (None, Err(stop)) => Err(stop),
    }
}

/// Whose an event is, if it shows: by its category, or by arguments that only this profiler writes.
fn event(scanner: &mut Scanner<'_>) -> Scan<Option<Origin>> {
    let mut origin = None;
    members(scanner, |key, scanner| {
        match key {
            b"cat" => {
                if let RawValue::Text(category) = scanner.value()? {
                    origin = origin.or(origin_of_category(category.trim_ascii()));
                }
            }
            b"args" if scanner.peek()? == b'{' => members(scanner, |key, scanner| {
                if matches!(key, b"agent" | b"begin_ns" | b"delta_ns" | b"corr_id" | b"copy_bytes") {
                    origin = Some(Origin::Rocprof);
                }
                skip(scanner)
            })?,
            _ => skip(scanner)?,
        }
        Ok(())
    })?;
    Ok(origin)
}

fn origin_of_category(category: &[u8]) -> Option<Origin> {
    const OWN: &[&str] = &[
        "kernel_dispatch",
        "memory_copy",
        "memory_allocation",
        "scratch_memory",
        "counter_collection",
        "hip_api",
        "hsa_api",
        "marker_api",
        "rccl_api",
        "rocdecode_api",
        "rocjpeg_api",
    ];
    const PYTORCH: &[&str] = &["cpu_op", "python_function", "cuda_runtime", "cuda_driver", "user_annotation"];
    let is_one_of = |names: &[&str]| names.iter().any(|name| category.eq_ignore_ascii_case(name.as_bytes()));
    match () {
        () if is_one_of(OWN) => Some(Origin::Rocprof),
        () if is_one_of(PYTORCH) => Some(Origin::Other),
        () => None,
    }
}
