//! How long an agent waits: the server against starting the program for every question.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{Outcome, StudyResult, build_program};

/// What to ask about, and how often.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The recording; one of PyTorch, which has answers to all questions
    trace: PathBuf,
    /// Another one for `diff` [default: the same]
    #[arg(long)]
    baseline: Option<PathBuf>,
    /// Times that each question is asked, of which the median counts
    #[arg(long, default_value = "20", value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Binary to run [default: build what is published]
    #[arg(long)]
    bin: Option<PathBuf>,
}

struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start(binary: &Path, roots: [&Path; 2]) -> Result<Self, Box<dyn Error>> {
        let mut command = Command::new(binary);
        command.arg("mcp").arg("--root").args(roots).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let input = child.stdin.take().ok_or("the server has no input")?;
        let output = BufReader::new(child.stdout.take().ok_or("the server has no output")?);
        let mut server = Server { child, input, output };
        let client = json!({"name": "mcp-bench", "version": "1"});
        server.ask(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}),
        )?;
        writeln!(server.input, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(server)
    }

    fn ask(&mut self, method: &str, parameters: &Value) -> Result<Value, Box<dyn Error>> {
        writeln!(
            self.input,
            "{}",
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters})
        )?;
        self.input.flush()?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let answer: Value = serde_json::from_str(&line)?;
        match answer["error"].is_null() && answer["result"]["isError"] != true {
            true => Ok(answer),
            false => Err(format!("{method} {parameters}: {answer}").into()),
        }
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, Box<dyn Error>> {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends with its input in any case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn run(arguments: &Arguments, root: &Path) -> StudyResult {
    let binary = match &arguments.bin {
        Some(binary) => binary.clone(),
        None => build_program(root, "dist")?,
    };
    let trace = arguments.trace.canonicalize()?;
    let baseline = arguments.baseline.as_ref().unwrap_or(&arguments.trace).canonicalize()?;
    let folder = |path: &Path| path.parent().map(Path::to_path_buf).ok_or("the recording has no folder");
    let folders = [folder(&trace)?, folder(&baseline)?];
    let roots = folders.each_ref().map(PathBuf::as_path);
    let (file, other) = (trace.to_string_lossy().into_owned(), baseline.to_string_lossy().into_owned());

    println!("| question | server, ms | program, ms |\n| --- | --- | --- |");
    let row = |name: &str, server: Duration, program: Option<Duration>| {
        let ms = |time: Duration| format!("{:.1}", time.as_secs_f64() * 1e3);
        println!("| {name} | {} | {} |", ms(server), program.map_or_else(|| "–".to_owned(), ms));
    };
    let runs = arguments.runs;
    row("start to first answer", median(runs, || Server::start(&binary, roots).map(drop))?, None);
    let opened = median(runs, || {
        let mut server = Server::start(&binary, roots)?;
        server.call("open", &json!({"path": file})).map(drop)
    })?;
    let listed = median(runs, || program(&binary, &["table", &file]))?;
    row("start and `open`", opened, Some(listed));
    let mut server = Server::start(&binary, roots)?;
    server.call("open", &json!({"path": file}))?;
    server.call("open", &json!({"path": other}))?;
    let questions = [
        ("summary", json!({"trace": file}), Some(vec!["report", &file])),
        (
            "table",
            json!({"trace": file, "name": "unified_perf_summary", "top": 50}),
            Some(vec!["table", &file, "unified_perf_summary", "--top", "50"]),
        ),
        ("why", json!({"trace": file, "target": "aten::mm"}), Some(vec!["why", &file, "aten::mm"])),
        ("tree", json!({"trace": file}), None),
        ("columns", json!({"name": "ops_summary"}), Some(vec!["columns", "ops_summary"])),
        ("doctor", json!({"trace": file}), Some(vec!["doctor", &file])),
        ("path", json!({"trace": file}), Some(vec!["critical-path", &file])),
        ("diff", json!({"baseline": other, "candidate": file}), Some(vec!["diff", &other, &file])),
    ];
    for (tool, question, command) in &questions {
        let asked = median(runs, || server.call(tool, question).map(drop))?;
        let started =
            command.as_ref().map(|command| median(runs, || program(&binary, command))).transpose()?;
        row(&format!("`{tool}`"), asked, started);
    }
    Ok(Outcome::Good)
}

fn program(binary: &Path, arguments: &[&str]) -> Result<(), Box<dyn Error>> {
    let output = Command::new(binary).args(arguments).arg("--json").output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{arguments:?}: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

fn median(
    runs: u32,
    mut work: impl FnMut() -> Result<(), Box<dyn Error>>,
) -> Result<Duration, Box<dyn Error>> {
    let mut times = Vec::new();
    for _ in 0..runs {
        let started = Instant::now();
        work()?;
        times.push(started.elapsed());
    }
    times.sort_unstable();
    Ok(times[times.len() / 2])
}
