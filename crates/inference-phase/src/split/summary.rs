//! What was split off, for other programs and for people.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use trace_ingest::Trace;

use super::error::SplitError;
use super::membership::Membership;
use super::plan::SplitOutput;
use super::steps::SplitStep;
use super::write::Written;

/// Files beside the traces that describe them.
pub const DETAILS: [&str; 2] = ["execution_details.json", "execution_details.csv"];

/// A file that was written, with what it holds. Times are in µs.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutionDetails {
    /// What was planned.
    pub output: SplitOutput,
    /// Where it is.
    pub path: PathBuf,
    /// Entries of its event list.
    pub entries: u64,
    /// Kernels, copies, fills.
    pub device_events: usize,
    /// Time from the first to the last of them of each step, summed over steps, in µs.
    pub device_span: f64,
    /// Their durations, in µs.
    pub device_busy: f64,
    /// What its steps run.
    pub steps: Vec<super::StepWork>,
}

/// The details of written files.
#[must_use]
pub fn execution_details(
    trace: &Trace,
    steps: &[SplitStep],
    membership: &Membership,
    outputs: Vec<SplitOutput>,
    written: &[Written],
) -> Vec<ExecutionDetails> {
    let details = |(output, written): (SplitOutput, &Written)| {
        let works = || output.steps.iter().map(|&step| membership.device_work(step));
        ExecutionDetails {
            path: written.path.clone(),
            entries: written.entries,
            device_events: works().map(|work| work.events).sum(),
            device_span: trace.to_microseconds(works().map(|work| work.span).sum()),
            device_busy: trace.to_microseconds(works().map(|work| work.busy).sum()),
            steps: output.steps.iter().filter_map(|&step| steps.get(step)).map(|step| step.work).collect(),
            output,
        }
    };
    outputs.into_iter().zip(written).map(details).collect()
}

/// Writes the details as `execution_details.json` and `execution_details.csv` into a directory, and returns where
/// they are.
pub fn write_details(details: &[ExecutionDetails], directory: &Path) -> Result<[PathBuf; 2], SplitError> {
    let paths = DETAILS.map(|name| directory.join(name));
    let writers = [write_json, write_csv];
    for (path, write) in paths.iter().zip(writers) {
        atomic_file::write_with(path, |file| write(details, file))
            .map_err(|source| SplitError::Write { path: path.clone(), source })?;
    }
    Ok(paths)
}

fn write_json(details: &[ExecutionDetails], out: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<Value> = details.iter().map(details_json).collect();
    serde_json::to_writer_pretty(&mut *out, &rows)?;
    out.write_all(b"\n")
}

/// The details of a file, as `execution_details.json` has them.
#[must_use]
pub fn details_json(details: &ExecutionDetails) -> Value {
    let step = |work: &super::StepWork| {
        json!({
            "batch_size": work.batch_size,
            "num_requests": work.requests(),
            "context_requests": work.context_requests,
            "context_sum": work.context_tokens,
            "generation_requests": work.generation_requests,
            "generation_sum": work.generation_tokens,
        })
    };
    let load = &details.output.load;
    let mut row = json!({
        "idx": details.output.index,
        "output_path": details.path.to_string_lossy(),
        "event_count": details.entries,
        "num_gpu_events": details.device_events,
        "gpu_duration": details.device_span,
        "gpu_busy_duration": details.device_busy,
        "steps": details.steps.iter().map(step).collect::<Vec<_>>(),
        "phase": {
            "num_prefill": load.prefill,
            "num_prefilldecode": load.mixed,
            "num_decode": load.decode,
            "avg_bs": load.mean_batch_size,
            "avg_conc": load.mean_requests,
        },
    });
    if let (Some(mix), Some(row)) = (details.output.mix, row.as_object_mut()) {
        row.insert("mix_distance".into(), mix.alone.into());
        row.insert("mix_distance_together".into(), mix.together.into());
    }
    row
}

fn write_csv(details: &[ExecutionDetails], out: &mut dyn Write) -> io::Result<()> {
    let has_mix = details.iter().any(|details| details.output.mix.is_some());
    writeln!(
        out,
        "idx,output_path,event_count,num_gpu_events,gpu_duration,gpu_busy_duration,phase_num_prefill,\
         phase_num_prefilldecode,phase_num_decode,phase_avg_bs,phase_avg_conc,num_steps{}",
        if has_mix { ",mix_distance,mix_distance_together" } else { "" }
    )?;
    for details in details {
        let load = &details.output.load;
        write!(
            out,
            "{},{},{},{},{:.2},{:.2},{},{},{},{},{},{}",
            details.output.index,
            csv_cell(&details.path.to_string_lossy()),
            details.entries,
            details.device_events,
            details.device_span,
            details.device_busy,
            load.prefill,
            load.mixed,
            load.decode,
            load.mean_batch_size,
            load.mean_requests,
            details.steps.len(),
        )?;
        match details.output.mix {
            Some(mix) => writeln!(out, ",{:.4},{:.4}", mix.alone, mix.together)?,
            None if has_mix => writeln!(out, ",,")?,
            None => writeln!(out)?,
        }
    }
    Ok(())
}

/// A cell of a CSV file.
pub(crate) fn csv_cell(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}
