//! Synthetic operations as the profiler of tt-metal lists them: a decoder with a convolution before it, on several
//! Blackhole chips, in iterations between signposts.
//!
//! `program` says what runs, `table` gives it times and writes it.

mod program;
mod table;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::io::Write;

/// Fewest rows that hold a whole iteration.
const FEWEST_EVENTS: u64 = 100;

/// Chips that the program runs on.
const DEVICES: u64 = 4;

/// Writes a table of exactly `events` rows: operations of all devices, of the host, and signposts.
pub(super) fn write(events: u64, seed: u64, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    if events < FEWEST_EVENTS {
        return Err(format!("a run has at least {FEWEST_EVENTS} events").into());
    }
    let mut out = std::io::BufWriter::new(out);
    table::write(events, seed, &mut out).and_then(|()| out.flush())?;
    Ok(())
}
