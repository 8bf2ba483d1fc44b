//! Whether a Chrome trace was converted from a Perfetto trace of this profiler.

use super::values::{members, skip};
use super::walker::{Stop, Walk, Walker};
use crate::format::Certainty;
use crate::json::scanner::{RawValue, Scan, Scanner};
use crate::read_ahead::Blocks;

/// How sure it is that a text that begins with `head` is such a trace: the first event that shows its recorder decides.
pub(in crate::rocprof) fn probe(head: &[u8]) -> Certainty {
    let mut walker = Walker::new(Blocks::Here(Box::new(head)));
    let mut is_own = false;
    // The head ends somewhere within, or the walk stops where the recorder is known.
    let _ = walk(&mut walker, &mut is_own);
    if is_own { Certainty::Certain } else { Certainty::No }
}

fn walk(walker: &mut Walker<'_>, is_own: &mut bool) -> Walk<()> {
    const KNOWN: Stop = Stop::Malformed("its recorder is known");
    walker.skip_byte_order_mark();
    if walker.peek()? != b'{' {
        return Ok(());
    }
    walker.object(&mut |walker, key| match key {
        "traceEvents" => walker
            .list(&mut |walker| match walker.step(event)? {
                Some(own) => {
                    *is_own = own;
                    Err(KNOWN)
                }
                None => Ok(()),
            })
            .map(drop),
        _ => walker.skip(),
    })?;
    Ok(())
}

/// Whether an event is this profiler's, if it shows: by its category, or by arguments that only this profiler writes.
fn event(scanner: &mut Scanner<'_>) -> Scan<Option<bool>> {
    let mut is_own = None;
    members(scanner, |key, scanner| {
        match key {
            b"cat" => {
                if let RawValue::Text(category) = scanner.value()? {
                    is_own = is_own.or(is_own_category(category.trim_ascii()));
                }
            }
            b"args" if scanner.peek()? == b'{' => members(scanner, |key, scanner| {
                if matches!(key, b"agent" | b"begin_ns" | b"delta_ns" | b"corr_id" | b"copy_bytes") {
                    is_own = Some(true);
                }
                skip(scanner)
            })?,
            _ => skip(scanner)?,
        }
        Ok(())
    })?;
    Ok(is_own)
}

fn is_own_category(category: &[u8]) -> Option<bool> {
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
        () if is_one_of(OWN) => Some(true),
        () if is_one_of(PYTORCH) => Some(false),
        () => None,
    }
}
