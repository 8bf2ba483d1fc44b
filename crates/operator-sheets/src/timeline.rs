//! Where the time of a device went: rows of the sheets of all recorders.

use gpu_timeline::Breakdown;

/// The kinds of time of a breakdown by name, in its unit. A breakdown with a threshold for gaps has two kinds of idle time.
pub fn kinds_of_time(breakdown: &Breakdown) -> Vec<(&'static str, i64)> {
    let mut times = vec![
        ("computation_time", breakdown.computation),
        ("exposed_comm_time", breakdown.exposed_communication),
        ("exposed_memcpy_time", breakdown.exposed_memcpy),
        ("busy_time", breakdown.busy),
    ];
    match breakdown.idle_split {
        None => times.push(("idle_time", breakdown.idle)),
        Some(split) => {
            times.extend([("micro_idle_time", split.micro_idle), ("macro_idle_time", split.macro_idle)]);
        }
    }
    if breakdown.unrecorded > 0 {
        times.push(("unrecorded_time", breakdown.unrecorded));
    }
    times.extend([
        ("total_time", breakdown.total),
        ("total_comm_time", breakdown.total_communication),
        ("total_memcpy_time", breakdown.total_memcpy),
    ]);
    times
}
