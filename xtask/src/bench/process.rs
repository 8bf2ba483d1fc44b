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
}

/// What the program says of itself (`--timings=json`).
#[derive(Debug, Deserialize)]
pub(super) struct Own {
    pub(super) events: u64,
    pub(super) peak_memory_bytes: Option<u64>,
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

    /// Runs once, so that the file is in memory, and says what the program says.
    pub(super) fn warm_up(&self, trace: &Path) -> Result<Own, Box<dyn Error>> {
        let mut arguments = self.arguments(trace);
        arguments.push("--timings=json".into());
        let output = Command::new(&self.binary).args(arguments).stdin(Stdio::null()).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(format!("{}: {}", output.status, said.trim()).into());
        }
        let line = said.lines().rfind(|line| line.starts_with('{'));
        let line = line.ok_or_else(|| format!("{} knows no --timings=json", self.binary.display()))?;
        Ok(serde_json::from_str(line)?)
    }

    pub(super) fn run(&self, trace: &Path) -> Result<Run, Box<dyn Error>> {
        let arguments = self.arguments(trace);
        if self.has_gnu_time {
            return self.usage(&self.binary, &arguments);
        }
        let started = Instant::now();
        let output = Command::new(&self.binary).args(arguments).stdin(Stdio::null()).output()?;
        let wall_seconds = started.elapsed().as_secs_f64();
        match output.status.success() {
            true => Ok(Run { wall_seconds, ..Run::default() }),
            false => {
                Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim()).into())
            }
        }
    }

    fn arguments(&self, trace: &Path) -> Vec<OsString> {
        let sheets = self.scratch.path().join("sheets");
        vec!["report".into(), trace.into(), "--quiet".into(), "--output_csvs_dir".into(), sheets.into()]
    }

    /// Runs a program under GNU time.
    fn usage(&self, program: &Path, arguments: &[OsString]) -> Result<Run, Box<dyn Error>> {
        let report = self.scratch.path().join("usage");
        let mut timed = Command::new(TIME);
        timed.args(["--quiet", "--format", "%U %S %M", "--output"]).arg(&report).arg(program);
        timed.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
        let started = Instant::now();
        let output = timed.output()?;
        let wall_seconds = started.elapsed().as_secs_f64();
        if !output.status.success() {
            return Err(
                format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim()).into()
            );
        }
        let said = fs::read_to_string(&report)?;
        parse_usage(&said, wall_seconds).ok_or_else(|| format!("{TIME} said {:?}", said.trim()).into())
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
        };
        assert_eq!(parse_usage("0.25 0.50 2048\n", 1.0), Some(run));
        for damaged in ["", "0.25 0.50", "a b c"] {
            assert_eq!(parse_usage(damaged, 1.0), None, "{damaged}");
        }
    }

    #[test]
    fn failing_programs_are_errors() {
        let program = Program::new("false".into()).unwrap();
        assert!(program.run(Path::new("trace")).is_err() && program.warm_up(Path::new("trace")).is_err());
        let program = Program::new("true".into()).unwrap();
        let run = program.run(Path::new("trace")).unwrap();
        assert!(run.wall_seconds > 0.0 && run.peak_bytes.is_some() == program.knows_usage());
        // It runs, but says nothing of itself.
        assert!(program.warm_up(Path::new("trace")).is_err());
    }
}
