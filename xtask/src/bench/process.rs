//! Runs the program and takes its time and memory.

use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde::Deserialize;

/// GNU time: std does not say what a child used.
const TIME: &str = "/usr/bin/time";

/// What a run of the program took.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Run {
    pub(super) wall_seconds: f64,
    /// Processor time of the program and of the system for it, in steps of 10 ms; `None` without GNU time.
    pub(super) user_seconds: Option<f64>,
    pub(super) system_seconds: Option<f64>,
    /// Most memory that was resident.
    pub(super) peak_bytes: Option<u64>,
    /// Seconds of each of [`STAGES`].
    pub(super) stage_seconds: [f64; STAGES.len()],
    pub(super) events: u64,
}

/// The stages of a report, as the program calls them; what it prints is not looked at.
pub(super) const STAGES: [&str; 4] = ["read", "analysis", "sheets", "write"];

/// What the program says of itself (`--timings=json`).
#[derive(Debug, Deserialize)]
struct Own {
    events: u64,
    stages: Vec<StageTime>,
    peak_memory_bytes: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct StageTime {
    stage: String,
    seconds: f64,
}

impl Own {
    /// The line among what the program says.
    fn of(said: &str) -> Result<Self, Box<dyn Error>> {
        let line = said.lines().rfind(|line| line.starts_with('{'));
        Ok(serde_json::from_str(line.ok_or("the program knows no --timings=json")?)?)
    }

    fn seconds(&self, stage: &str) -> f64 {
        self.stages.iter().filter(|time| time.stage == stage).map(|time| time.seconds).sum()
    }
}

/// The program with a place for its output.
pub(super) struct Program {
    binary: PathBuf,
    scratch: tempfile::TempDir,
    has_gnu_time: bool,
}

impl Program {
    pub(super) fn new(binary: PathBuf) -> Result<Self, Box<dyn Error>> {
        let scratch = tempfile::tempdir()?;
        let mut program = Program { binary, scratch, has_gnu_time: false };
        program.has_gnu_time = program.usage(Path::new("true"), &[]).is_ok();
        Ok(program)
    }

    /// Whether processor time and memory of runs are known.
    pub(super) fn knows_usage(&self) -> bool {
        self.has_gnu_time
    }

    /// Runs the program on a trace.
    pub(super) fn run(&self, trace: &Path) -> Result<Run, Box<dyn Error>> {
        let sheets = self.scratch.path().join("sheets");
        let mut arguments: Vec<OsString> = vec!["report".into(), trace.into(), "--quiet".into()];
        arguments.extend(["--timings=json".into(), "--output_csvs_dir".into(), sheets.into()]);
        let (mut run, said) = match self.has_gnu_time {
            true => self.usage(&self.binary, &arguments)?,
            false => finish(Command::new(&self.binary).args(arguments))?,
        };
        let own = Own::of(&said)?;
        run.peak_bytes = run.peak_bytes.or(own.peak_memory_bytes);
        Ok(Run { events: own.events, stage_seconds: STAGES.map(|stage| own.seconds(stage)), ..run })
    }

    /// Runs a program under GNU time; what it used, and what it said.
    fn usage(&self, program: &Path, arguments: &[OsString]) -> Result<(Run, String), Box<dyn Error>> {
        let report = self.scratch.path().join("usage");
        let mut timed = Command::new(TIME);
        timed.args(["--quiet", "--format", "%U %S %M", "--output"]).arg(&report).arg(program);
        let (run, said) = finish(timed.args(arguments))?;
        let usage = fs::read_to_string(&report)?;
        let used = parse_usage(&usage, run.wall_seconds);
        Ok((used.ok_or_else(|| format!("{TIME} said {:?}", usage.trim()))?, said))
    }
}

/// Runs a command to its end; its time, and what it said on the error stream.
fn finish(command: &mut Command) -> Result<(Run, String), Box<dyn Error>> {
    let started = Instant::now();
    let output = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
    let wall_seconds = started.elapsed().as_secs_f64();
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok((Run { wall_seconds, ..Run::default() }, said.into_owned())),
        false => Err(format!("{}: {}", output.status, said.trim()).into()),
    }
}

/// `user seconds, system seconds, peak KiB`.
fn parse_usage(said: &str, wall_seconds: f64) -> Option<Run> {
    let mut parts = said.split_whitespace();
    let mut next = || parts.next();
    let (user, system, peak) = (next()?, next()?, next()?);
    let kibibytes: u64 = peak.parse().ok()?;
    Some(Run {
        wall_seconds,
        user_seconds: Some(user.parse().ok()?),
        system_seconds: Some(system.parse().ok()?),
        peak_bytes: Some(kibibytes.checked_mul(1024)?),
        ..Run::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_what_gnu_time_writes() {
        let run = Run {
            wall_seconds: 1.0,
            user_seconds: Some(0.25),
            system_seconds: Some(0.5),
            peak_bytes: Some(2 << 20),
            ..Run::default()
        };
        assert_eq!(parse_usage("0.25 0.50 2048\n", 1.0), Some(run));
        for damaged in ["", "0.25 0.50", "a b c"] {
            assert_eq!(parse_usage(damaged, 1.0), None, "{damaged}");
        }
    }

    #[test]
    fn failing_programs_are_errors() {
        // The second runs, but says nothing of itself.
        for binary in ["false", "true"] {
            assert!(Program::new(binary.into()).unwrap().run(Path::new("trace")).is_err(), "{binary}");
        }
    }
}
