//! Where the time of a device went: rows and columns of the sheets of all recorders.

use gpu_timeline::Breakdown;
use sheets::Column;

/// Share of a row in the row `total_time`.
pub const TIME_SHARE: Column = Column::percent("percent", "time ms as a share of total_time, in percent.");

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
    times.extend([
        ("total_time", breakdown.total),
        ("total_comm_time", breakdown.total_communication),
        ("total_memcpy_time", breakdown.total_memcpy),
    ]);
    times
}
