//! How fast XPlane is decoded: takes a profile, lets every line go on as if the recording had been a given
//! number of times as long, and times reading that from memory on one core.
//!
//! `cargo run --release -p examples xplane_rate FILE.xplane.pb 100`

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use prost::Message as _;
use trace_ingest::xplane::profile_from_bytes;
use trace_ingest::xplane::proto::{EventPlace, XLine, XSpace};

pub(crate) fn run(arguments: &[String], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/recorded/cpu/jax_step.xplane.pb");
    let path = arguments.first().map_or(recorded, String::as_str);
    let times: i64 = arguments.get(1).map_or(Ok(100), |text| text.parse())?;
    let mut space = XSpace::decode(&std::fs::read(path)?[..])?;
    for line in space.planes.iter_mut().flat_map(|plane| &mut plane.lines) {
        go_on(line, times);
    }
    let bytes = space.to_bytes();
    let mut best = Duration::MAX;
    let mut events = 0;
    for _ in 0..5 {
        let copy = bytes.clone();
        let begin = Instant::now();
        let profile = profile_from_bytes(Path::new(path), copy)?;
        best = best.min(begin.elapsed());
        events = profile.trace.events().len();
    }
    let megabytes = bytes.len() as f64 / 1e6;
    writeln!(
        out,
        "{megabytes:.1} MB, {events} events: {best:.2?}, {:.0} MB/s, {:.0} ns per event",
        megabytes / best.as_secs_f64(),
        best.as_secs_f64() * 1e9 / events as f64,
    )?;
    Ok(())
}

/// Lets the events of a line happen `times` times, one round behind the other.
fn go_on(line: &mut XLine, times: i64) {
    let end = |place: Option<EventPlace>, duration| match place {
        Some(EventPlace::OffsetPs(offset)) => offset + duration,
        _ => 0,
    };
    let round = line.events.iter().map(|event| end(event.place, event.duration_ps)).max().unwrap_or(0);
    let first = line.events.clone();
    for number in 1..times {
        line.events.extend(first.iter().cloned().map(|mut event| {
            if let Some(EventPlace::OffsetPs(offset)) = &mut event.place {
                *offset += number * round;
            }
            event
        }));
    }
}
