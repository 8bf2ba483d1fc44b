//! Busy and idle time of intervals of one's own, without a trace: `cargo run -p examples own_intervals [START..END…]`

use std::error::Error;
use std::io::Write;

use gpu_timeline::{Activity, Breakdown, DeviceEvent, Interval, IntervalSet};

pub(crate) fn run(arguments: &[String], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let mut kernels = Vec::new();
    for argument in arguments {
        let (start, end) = argument.split_once("..").ok_or("write START..END")?;
        kernels.push(Interval::new(start.parse()?, end.parse()?)?);
    }
    if kernels.is_empty() {
        kernels = vec![Interval::new(0, 10)?, Interval::new(5, 15)?, Interval::new(20, 30)?];
    }
    let busy: IntervalSet = kernels.iter().copied().collect();
    writeln!(out, "busy {}, gaps {:?}", busy.total_length(), busy.gaps().as_slice())?;

    let events = kernels.iter().map(|span| DeviceEvent::new(span.start, span.end, Activity::Computation));
    let copy = DeviceEvent::new(14, 18, Activity::Memcpy);
    let times = Breakdown::from_events(events.chain([copy]), None).ok_or("no events")?;
    writeln!(
        out,
        "computation {}, exposed copies {}, idle {} of {}",
        times.computation, times.exposed_memcpy, times.idle, times.total
    )?;
    Ok(())
}
