//! Reads a profile of rocprofv3 and says what is in it and how fast it was read:
//! `cargo run --release -p examples rocprof_summary 908_results.json`

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use trace_ingest::rocprof::{KernelNames, read_profile};
use trace_ingest::{Nanoseconds, ReadOptions};

pub(crate) fn run(arguments: &[String], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let path = arguments.first().ok_or("name a profile, and how many threads to use if not all")?;
    let threads = arguments.get(1).map(|text| text.parse()).transpose()?;
    let begin = Instant::now();
    let profile = read_profile(Path::new(path), &ReadOptions { threads, ..ReadOptions::default() })?;
    let elapsed = begin.elapsed();
    for process in &profile.processes {
        writeln!(out, "{process:?}")?;
    }
    for agent in &profile.agents {
        writeln!(out, "{:?} {}: {:?} {:?}", agent.kind, agent.label, agent.name, agent.product_name)?;
    }
    writeln!(
        out,
        "{} kernels, {} launch configurations, {} dispatches, {} copies, {} calls, {} allocations, {} scratch \
         events, {} counters with {} values, {} samples",
        profile.kernels.len(),
        profile.launches.len(),
        profile.dispatches.len(),
        profile.copies.len(),
        profile.calls.len(),
        profile.allocations.len(),
        profile.scratch.len(),
        profile.counters.len(),
        profile.counter_values.len(),
        profile.samples.len(),
    )?;
    let mut times = vec![(Nanoseconds(0), 0); profile.kernels.len()];
    for dispatch in &profile.dispatches {
        let (time, count) = &mut times[dispatch.kernel as usize];
        *time += dispatch.duration();
        *count += 1;
    }
    let mut longest: Vec<u32> = (0..profile.kernels.len() as u32).collect();
    longest.sort_by_key(|&kernel| std::cmp::Reverse(times[kernel as usize]));
    for kernel in longest.into_iter().take(5) {
        let (time, count) = times[kernel as usize];
        writeln!(
            out,
            "{:>14} ns {count:>6} x {}",
            time.0,
            profile.kernel_name(kernel, KernelNames::Truncated)
        )?;
    }
    for warning in &profile.warnings {
        writeln!(out, "warning: {warning}")?;
    }
    writeln!(out, "{elapsed:.2?}")?;
    Ok(())
}
