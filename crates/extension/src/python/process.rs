//! The process that runs the user's file: lines of JSON to it and from it, under a limit of time.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::interpreter::Python;

/// What runs in the user's Python, in one text.
const BRIDGE: &str = concat!(
    include_str!("bridge/pipe.py"),
    include_str!("bridge/api.py"),
    include_str!("bridge/tree.py"),
    include_str!("bridge/tracelens.py"),
    include_str!("bridge/run.py"),
);

/// Reads the bridge from standard input, byte by byte so that none of the first request is lost, and runs it.
const START: &str = "import os, sys
size, text = int(sys.argv[1]), b''
while len(text) < size:
    more = os.read(0, size - len(text))
    if not more:
        sys.exit(1)
    text += more
exec(compile(text, '<tracelens>', 'exec'))";

/// More than this in a line is no answer.
const LONGEST_LINE: u64 = 1 << 30;

/// How long the process may take beyond its limit to say where it was.
const GRACE: Duration = Duration::from_secs(3);

/// A running process. Dropping it ends it.
pub(super) struct Process {
    path: String,
    child: Child,
    requests: Sender<Vec<u8>>,
    answers: Receiver<Vec<u8>>,
    limit: Duration,
    until: Instant,
}

/// An answer to a question of the process.
pub(super) enum Reply {
    Json(String),
    /// Numbers as the machine stores them, with their code in Python's `array`.
    Column(char, Vec<u8>),
}

impl Reply {
    pub(super) fn column<const N: usize>(code: char, items: impl Iterator<Item = [u8; N]>) -> Reply {
        let mut bytes = Vec::with_capacity(N * items.size_hint().0);
        items.for_each(|item| bytes.extend(item));
        Reply::Column(code, bytes)
    }
}

/// Why a process gives no more answers.
pub(super) struct Stop {
    pub(super) line: Option<usize>,
    pub(super) reason: String,
    pub(super) is_limit: bool,
}

impl Process {
    /// Starts Python with the bridge for the file of this path.
    pub(super) fn start(path: &str, python: &Python) -> Result<Process, String> {
        let limits = python.limits;
        let mut child = Command::new(&python.program)
            .args(["-c", START])
            .arg(BRIDGE.len().to_string())
            .arg(limits.memory_bytes.to_string())
            .arg(limits.time.as_secs_f64().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("its standard input and output are not pipes".to_owned());
        };
        let (requests, to_write) = channel::<Vec<u8>>();
        let (read, answers) = sync_channel(64);
        // Both threads end with the pipes, which a child of the user's may hold open longer than we wait.
        let writing = thread::Builder::new().spawn(move || {
            let _ = stdin.write_all(BRIDGE.as_bytes());
            while let Ok(request) = to_write.recv() {
                if stdin.write_all(&request).and_then(|()| stdin.flush()).is_err() {
                    break;
                }
            }
        });
        let reading = thread::Builder::new().spawn(move || read_lines(stdout, &read));
        writing.and(reading).map_err(|error| error.to_string())?;
        let until = Instant::now() + limits.time + GRACE;
        Ok(Process { path: path.to_owned(), child, requests, answers, limit: limits.time, until })
    }

    /// Sends a line. What cannot be sent shows in the answer that does not come.
    pub(super) fn send(&mut self, request: String) {
        let mut line = request.into_bytes();
        line.push(b'\n');
        let _ = self.requests.send(line);
    }

    /// Sends the answer to a question, or why there is none.
    pub(super) fn reply(&mut self, reply: Result<Reply, String>) {
        match reply {
            Ok(Reply::Json(answer)) => self.send(format!("{{\"answer\":{answer}}}")),
            Ok(Reply::Column(code, bytes)) => {
                self.send(format!("{{\"column\":\"{code}\",\"bytes\":{}}}", bytes.len()));
                let _ = self.requests.send(bytes);
            }
            Err(refusal) => self.send(json!({ "refused": refusal }).to_string()),
        }
    }

    /// Gives the process its full time again.
    pub(super) fn restart_clock(&mut self) {
        self.until = Instant::now() + self.limit + GRACE;
    }

    /// Waits for a line.
    pub(super) fn receive(&mut self) -> Result<Json, Stop> {
        let line = match self.answers.recv_timeout(self.until.saturating_duration_since(Instant::now())) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => return Err(self.too_long(None)),
            Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
        };
        match serde_json::from_slice(&line) {
            Ok(answer @ Json::Object(_)) => Ok(answer),
            _ if line.starts_with(b"Timeout (") => {
                let line = self.line_of_traceback();
                Err(self.too_long(line))
            }
            _ => {
                self.kill();
                let shown = String::from_utf8_lossy(&line[..line.len().min(100)]).into_owned();
                let reason = format!("invalid answer from the extension process: {shown:?}");
                Err(Stop { line: None, reason, is_limit: false })
            }
        }
    }

    /// The innermost line of the user's file in the traceback that a process leaves when its time is over.
    fn line_of_traceback(&mut self) -> Option<usize> {
        let marked = format!("  File \"{}\", line ", self.path);
        while let Ok(line) = self.answers.recv_timeout(GRACE) {
            let line = String::from_utf8_lossy(&line);
            // What the file prints at that moment may stand before it.
            if let Some((_, rest)) = line.split_once(&marked) {
                return rest.split(' ').next()?.parse().ok();
            }
        }
        None
    }

    fn too_long(&mut self, line: Option<usize>) -> Stop {
        self.kill();
        let reason = format!("the file ran for more than {} s", self.limit.as_secs_f64());
        Stop { line, reason, is_limit: true }
    }

    /// Why the process closed its pipe.
    fn ended(&mut self) -> Stop {
        // It may still be about to end by itself, and then its status tells more.
        let soon = Instant::now() + Duration::from_millis(500);
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) if Instant::now() < soon => thread::sleep(Duration::from_millis(5)),
                _ => break None,
            }
        };
        self.kill();
        let reason = match status {
            Some(status) => format!("the extension process exited without an answer ({status})"),
            None => "the extension process closed its pipe to tracelens".to_owned(),
        };
        Stop { line: None, reason, is_limit: false }
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Passes lines on until the pipe ends, or a line does not.
fn read_lines(stdout: ChildStdout, lines: &SyncSender<Vec<u8>>) {
    let mut stdout = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        let read = stdout.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
        if !matches!(read, Ok(length) if length > 0) || (line.len() as u64 == LONGEST_LINE) {
            return;
        }
        while line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            line.pop();
        }
        if lines.send(line).is_err() {
            return;
        }
    }
}
