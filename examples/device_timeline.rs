//! Where the time of each stream went, from the event columns alone, without a tree:
//! `cargo run -p examples device_timeline [TRACE]`

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;

use gpu_timeline::{Interval, IntervalSet};
use trace_ingest::{ReadOptions, read_path};

pub(crate) fn run(arguments: &[String], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let path = crate::trace(arguments);
    let trace = read_path(&path, &ReadOptions::default())?;
    let events = trace.events();

    let mut streams: BTreeMap<_, Vec<Interval>> = BTreeMap::new();
    for event in events.ids().filter(|&event| events.category(event).is_device()) {
        let stream = (events.device(event), events.stream(event));
        streams.entry(stream).or_default().push(Interval::between(events.start(event), events.end(event)));
    }
    for ((device, stream), spans) in streams {
        let count = spans.len();
        let busy: IntervalSet = spans.into_iter().collect();
        let longest_gap = busy.gaps().iter().map(Interval::length).max().unwrap_or(0);
        writeln!(
            out,
            "device {} stream {}: {count} events, busy {:.1} µs, longest gap {:.1} µs",
            device.map_or("?".to_string(), |device| device.to_string()),
            stream.map_or("?".to_string(), |stream| stream.to_string()),
            trace.to_microseconds(busy.total_length()),
            trace.to_microseconds(longest_gap),
        )?;
    }
    Ok(())
}
