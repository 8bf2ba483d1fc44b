//! Reads an XPlane profile and says what is in it and how fast it was read:
//! `cargo run --release -p examples xplane_summary FILE.xplane.pb`

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use trace_ingest::ReadOptions;
use trace_ingest::xplane::read_profile;

pub(crate) fn run(arguments: &[String], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let path = arguments.first().ok_or("name an .xplane.pb file")?;
    let begin = Instant::now();
    let profile = read_profile(Path::new(path), &ReadOptions::default())?;
    let elapsed = begin.elapsed();
    let trace = &profile.trace;
    writeln!(
        out,
        "{} events ({} shown by the viewer), {elapsed:.2?}",
        trace.events().len(),
        profile.shown_events
    )?;
    for plane in &profile.planes {
        writeln!(out, "{} ({:?}), id {}, {} facts", plane.name, plane.kind, plane.id, plane.stats.len())?;
        for line in plane.lines.iter().filter(|line| !line.events.is_empty()) {
            let categories: std::collections::BTreeSet<_> =
                line.events.iter().map(|&id| trace.category_name(trace.events().category(id))).collect();
            writeln!(out, "  {} {}: {} events {categories:?}", line.id, line.name, line.events.len())?;
        }
    }
    for id in profile.programs.ids() {
        let name = profile.programs.name(id).unwrap_or_default();
        let size = profile.programs.encoded(id).map_or(0, |program| program.bytes.len());
        writeln!(out, "program {id}: {name}, {size} bytes")?;
    }
    for warning in trace.warnings() {
        writeln!(out, "warning: {warning}")?;
    }
    Ok(())
}
