//! The Model Context Protocol over two streams: JSON-RPC 2.0, a message a line
//! (<https://modelcontextprotocol.io/specification>). Requests for lists are answered where they are read; calls, which take
//! time, by a few threads, so that a client can cancel one and hear of its progress meanwhile.

use std::collections::HashMap;
use std::io::{BufRead, Read as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use thiserror::Error as ThisError;
use trace_ingest::{Progress, ReadOptions};

use crate::text::LONGEST_CELL;

/// Revisions of the protocol, the latest first. They differ in nothing that this server does.
const REVISIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// A message of more bytes ends the conversation: no argument of a tool is that long.
const LONGEST_MESSAGE: u64 = 16 << 20;
/// Calls that work at the same time.
const MOST_CALLS: usize = 4;
/// A call that takes less says nothing of its progress.
const QUIET: Duration = Duration::from_millis(250);
/// How often the progress of a call is told at most, and how soon its end is forced.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
/// How long work that is told to stop may take for its last words; then the call is answered without it.
const TO_STOP: Duration = Duration::from_millis(500);
/// How long calls may still answer when the client is gone.
const LAST_WORDS: Duration = Duration::from_millis(50);

/// Why the server ends.
#[derive(Debug, ThisError, miette::Diagnostic)]
#[non_exhaustive]
pub enum ServeError {
    /// There is no thread to serve on.
    #[error("the server cannot start: {0}")]
    #[diagnostic(code("serve/runtime"))]
    Runtime(std::io::Error),
    /// The client breaks the protocol.
    #[error("cannot read messages from standard input: {0}")]
    #[diagnostic(code("serve/protocol"))]
    Protocol(String),
}

/// Why a request has no result, as JSON-RPC says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    code: i32,
    message: String,
}

impl Fault {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Fault { code, message: message.into() }
    }

    pub(crate) fn invalid_parameters(message: impl Into<String>) -> Self {
        Fault::new(-32602, message)
    }

    pub(crate) fn no_such_resource(message: impl Into<String>) -> Self {
        Fault::new(-32002, message)
    }

    fn invalid_request(message: &str) -> Self {
        Fault::new(-32600, message)
    }
}

/// What a server offers.
pub(crate) trait Service: Send + Sync + 'static {
    /// Whether a request may take long.
    fn is_call(&self, method: &str) -> bool;

    /// The result of a request; `None` for a method that is not offered.
    fn answer(
        &self,
        method: &str,
        parameters: &Map<String, Value>,
        following: &Following<'_>,
    ) -> Option<Result<Value, Fault>>;

    /// How long a call may take.
    fn timeout(&self) -> Duration;

    /// The result of a call that takes longer.
    fn late(&self, method: &str, parameters: &Map<String, Value>) -> Result<Value, Fault>;
}

/// How a call is followed by who asked for it.
pub(crate) struct Following<'f> {
    /// Set when nobody waits any more.
    pub(crate) stop: &'f Arc<AtomicBool>,
    /// Takes how far reading has come.
    pub(crate) progress: &'f (dyn Fn(Progress) + Sync),
}

impl Following<'_> {
    /// How files are read for this call.
    pub(crate) fn reading(&self) -> ReadOptions<'_> {
        ReadOptions { stop: Some(self.stop), progress: Some(self.progress), ..ReadOptions::default() }
    }
}

/// A call that a thread answers.
struct Call {
    id: Value,
    method: String,
    parameters: Map<String, Value>,
    ending: Arc<Ending>,
}

/// How a call ends before it is done.
#[derive(Default)]
struct Ending {
    /// The work need not go on.
    stop: Arc<AtomicBool>,
    /// The client took the call back, or is gone: there is no answer.
    is_cancelled: AtomicBool,
}

impl Ending {
    fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// What the threads of a server share.
struct Shared<S, W> {
    service: S,
    output: Mutex<W>,
    /// Calls that have no answer yet, by their id.
    open: Mutex<HashMap<String, Arc<Ending>>>,
}

/// Serves a client until it goes away.
///
/// # Errors
/// When the server cannot start, or the client does not speak the protocol.
pub(crate) fn serve<S: Service>(
    service: S,
    mut input: impl BufRead,
    output: impl Write + Send + 'static,
) -> Result<(), ServeError> {
    let shared = Arc::new(Shared { service, output: Mutex::new(output), open: Mutex::default() });
    let (calls, taken) = mpsc::channel::<Call>();
    let taken = Arc::new(Mutex::new(taken));
    for number in 0..MOST_CALLS {
        let (shared, taken) = (Arc::clone(&shared), Arc::clone(&taken));
        let work = move || {
            while let Ok(call) = { locked(&taken).recv() } {
                shared.work(call);
            }
        };
        thread::Builder::new().name(format!("call-{number}")).spawn(work).map_err(ServeError::Runtime)?;
    }
    let outcome = shared.listen(&mut input, &calls);
    for ending in locked(&shared.open).values() {
        ending.cancel();
    }
    // A call that still reads sees that nobody waits for it; the process does not wait for the call.
    let since = Instant::now();
    while !locked(&shared.open).is_empty() && since.elapsed() < LAST_WORDS {
        thread::sleep(LAST_WORDS / 10);
    }
    outcome
}

impl<S: Service, W: Write + Send + 'static> Shared<S, W> {
    /// Takes messages until there are no more.
    fn listen(&self, input: &mut impl BufRead, calls: &mpsc::Sender<Call>) -> Result<(), ServeError> {
        let broken = |error: std::io::Error| ServeError::Protocol(error.to_string());
        let mut line = Vec::new();
        let mut has_begun = false;
        loop {
            line.clear();
            input.by_ref().take(LONGEST_MESSAGE).read_until(b'\n', &mut line).map_err(broken)?;
            if line.is_empty() {
                return Ok(());
            }
            if line.len() as u64 == LONGEST_MESSAGE {
                return Err(ServeError::Protocol(format!(
                    "a message must be shorter than {LONGEST_MESSAGE} bytes"
                )));
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            match serde_json::from_slice(&line) {
                Ok(Value::Object(message)) => self.hear(message, &mut has_begun, calls),
                Ok(_) => self.reply(&Value::Null, Err(Fault::invalid_request("a message must be an object"))),
                Err(error) => {
                    self.reply(&Value::Null, Err(Fault::new(-32700, format!("not JSON: {error}"))));
                }
            }
        }
    }

    /// Answers a message, or leaves it to a thread.
    fn hear(&self, mut message: Map<String, Value>, has_begun: &mut bool, calls: &mpsc::Sender<Call>) {
        let parameters = match message.remove("params") {
            Some(Value::Object(parameters)) => parameters,
            _ => Map::new(),
        };
        let id = message.remove("id").unwrap_or_default();
        // A message without a method is the answer to a request, and this server asks nothing.
        let Some(Value::String(method)) = message.remove("method") else { return };
        if id.is_null() {
            if method == "notifications/cancelled"
                && let Some(id) = parameters.get("requestId")
                && let Some(ending) = locked(&self.open).get(&id.to_string())
            {
                ending.cancel();
            }
            return;
        }
        match method.as_str() {
            "ping" => self.reply(&id, Ok(json!({}))),
            "initialize" => {
                *has_begun = true;
                let result = self.result("initialize", &parameters).map(|mut result| {
                    let asked = parameters.get("protocolVersion").and_then(Value::as_str);
                    let known = REVISIONS.iter().find(|revision| asked == Some(**revision));
                    result["protocolVersion"] = (*known.unwrap_or(&REVISIONS[0])).into();
                    result
                });
                self.reply(&id, result);
            }
            _ if !*has_begun => {
                self.reply(&id, Err(Fault::invalid_request("the first request must be initialize")));
            }
            method if self.service.is_call(method) => {
                let ending = Arc::<Ending>::default();
                locked(&self.open).insert(id.to_string(), Arc::clone(&ending));
                // The receivers live as long as the process.
                let _ = calls.send(Call { id, method: method.to_owned(), parameters, ending });
            }
            method => {
                let result = self.result(method, &parameters);
                self.reply(&id, result);
            }
        }
    }

    /// The result of a request that takes no time.
    fn result(&self, method: &str, parameters: &Map<String, Value>) -> Result<Value, Fault> {
        let following = Following { stop: &Arc::default(), progress: &|_| {} };
        known(method, self.service.answer(method, parameters, &following))
    }

    /// Works on a call, tells how far it is, and ends it when it is cancelled or takes too long. Work that does not end when it
    /// is told to goes on without anybody waiting for it.
    fn work(self: &Arc<Self>, call: Call) {
        let call = Arc::new(call);
        let stop = &call.ending.stop;
        let far: Arc<Mutex<Option<Progress>>> = Arc::default();
        let token = call.parameters.get("_meta").and_then(|meta| meta.get("progressToken"));
        let (done, is_done) = mpsc::channel();
        let work = {
            let (shared, call, far) = (Arc::clone(self), Arc::clone(&call), Arc::clone(&far));
            move || {
                let progress = |progress: Progress| *locked(&far) = Some(progress);
                let following = Following { stop: &call.ending.stop, progress: &progress };
                let result = shared.service.answer(&call.method, &call.parameters, &following);
                // Nobody may wait any more.
                let _ = done.send(known(&call.method, result));
            }
        };
        // The hook of a panic has said on standard error what is wrong.
        let own_fault = || Err(Fault::new(-32603, "the call failed: internal server error"));
        let started = Instant::now();
        let mut result = thread::Builder::new().spawn(work).err().map(|_| own_fault());
        let (mut told, mut stopped) = (None, None);
        while result.is_none() {
            match is_done.recv_timeout(BETWEEN_LOOKS) {
                Ok(answer) => result = Some(answer),
                Err(mpsc::RecvTimeoutError::Disconnected) => result = Some(own_fault()),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            if started.elapsed() > self.service.timeout() {
                stop.store(true, Ordering::Relaxed);
            }
            if stop.load(Ordering::Relaxed) {
                if stopped.get_or_insert_with(Instant::now).elapsed() > TO_STOP {
                    result = result.or_else(|| Some(self.service.late(&call.method, &call.parameters)));
                }
                continue;
            }
            let now = *locked(&far);
            if let (Some(token), Some(now)) = (token, now)
                && started.elapsed() > QUIET
                && told != Some(now)
            {
                told = Some(now);
                let far = json!({"progressToken": token, "progress": now.bytes, "total": now.total});
                self.send(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": far}));
            }
        }
        locked(&self.open).remove(&call.id.to_string());
        // A call that was taken back gets no answer.
        if call.ending.is_cancelled.load(Ordering::Relaxed) {
            return;
        }
        self.reply(&call.id, result.unwrap_or_else(own_fault));
    }

    fn reply(&self, id: &Value, result: Result<Value, Fault>) {
        self.send(&match result {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(Fault { code, message }) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
            }
        });
    }

    fn send(&self, message: &Value) {
        let mut output = locked(&self.output);
        // A client that is gone has closed standard input, too, which ends the server.
        let _ = writeln!(output, "{message}").and_then(|()| output.flush());
    }
}

fn known(method: &str, result: Option<Result<Value, Fault>>) -> Result<Value, Fault> {
    let shown: String = method.chars().take(LONGEST_CELL).collect();
    result.unwrap_or_else(|| Err(Fault::new(-32601, format!("unknown method {shown:?}"))))
}

/// A call that panicked has left nothing half done that another one could meet.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Echo;

    impl Service for Echo {
        fn is_call(&self, method: &str) -> bool {
            method == "work"
        }

        fn answer(
            &self,
            method: &str,
            parameters: &Map<String, Value>,
            following: &Following<'_>,
        ) -> Option<Result<Value, Fault>> {
            match method {
                "initialize" | "list" => Some(Ok(json!({}))),
                "work" => {
                    assert!(!parameters.contains_key("fault"), "a fault of the service");
                    while parameters.contains_key("deaf")
                        || parameters.contains_key("endless") && !following.stop.load(Ordering::Relaxed)
                    {
                        thread::sleep(Duration::from_millis(1));
                    }
                    Some(Ok(json!({"echo": parameters})))
                }
                _ => None,
            }
        }

        fn timeout(&self) -> Duration {
            Duration::from_millis(150)
        }

        fn late(&self, _: &str, _: &Map<String, Value>) -> Result<Value, Fault> {
            Ok(json!("late"))
        }
    }

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            locked(&self.0).extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// Lines of a client, of which each waits until the server has written so many of its own.
    struct Client {
        lines: Vec<(usize, String)>,
        server: Written,
    }

    impl std::io::Read for Client {
        fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
            if self.lines.is_empty() {
                return Ok(0);
            }
            let (wanted, line) = self.lines.remove(0);
            while locked(&self.server.0).iter().filter(|&&byte| byte == b'\n').count() < wanted {
                thread::sleep(Duration::from_millis(1));
            }
            bytes[..line.len()].copy_from_slice(line.as_bytes());
            Ok(line.len())
        }
    }

    fn answers(lines: &[(usize, &str)]) -> Vec<Value> {
        let written = Written::default();
        let lines = lines.iter().map(|(wanted, line)| (*wanted, format!("{line}\n"))).collect();
        let client = Client { lines, server: written.clone() };
        serve(Echo, std::io::BufReader::new(client), written.clone()).unwrap();
        let written = locked(&written.0);
        written.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }

    const HELLO: &str =
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}"#;

    #[test]
    fn what_is_no_request_is_a_fault_and_the_server_lives_on() {
        let answers = answers(&[
            (0, r#"{"jsonrpc":"2.0","id":1,"method":"list"}"#),
            (1, "{\"id\": 2"),
            (2, "[]"),
            (3, HELLO),
            (4, r#"{"jsonrpc":"2.0","id":"a","method":"nothing"}"#),
            (5, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
            (5, r#"{"jsonrpc":"2.0","id":9,"result":{}}"#),
            (5, r#"{"jsonrpc":"2.0","id":"b","method":"ping"}"#),
        ]);
        let codes: Vec<&Value> = answers.iter().map(|answer| &answer["error"]["code"]).collect();
        assert_eq!(
            codes,
            [&json!(-32600), &json!(-32700), &json!(-32600), &json!(null), &json!(-32601), &json!(null)]
        );
        assert_eq!(answers[3]["result"]["protocolVersion"], "2025-03-26");
        assert_eq!((&answers[5]["id"], &answers[5]["result"]), (&json!("b"), &json!({})));
    }

    #[test]
    fn an_unknown_revision_is_answered_with_the_latest() {
        let hello = HELLO.replace("2025-03-26", "1999-01-01");
        assert_eq!(answers(&[(0, &hello)])[0]["result"]["protocolVersion"], REVISIONS[0]);
    }

    #[test]
    fn work_that_does_not_hear_holds_up_no_other_call() {
        let call = |id: usize, parameters: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"work","params":{{{parameters}}}}}"#)
        };
        let deaf = |id| call(id, "\"deaf\": 1");
        let calls: Vec<String> = (1..=2 * MOST_CALLS).map(deaf).collect();
        let mut lines: Vec<(usize, &str)> = vec![(0, HELLO)];
        lines.extend(calls.iter().map(|call| (1, call.as_str())));
        let last = call(99, "");
        lines.push((1, &last));
        let ping = r#"{"jsonrpc":"2.0","id":100,"method":"ping"}"#;
        lines.push((2 + 2 * MOST_CALLS, ping));
        let answers = answers(&lines);
        assert_eq!(answers.iter().filter(|answer| answer["result"] == "late").count(), 2 * MOST_CALLS);
        assert!(answers.iter().any(|answer| answer["id"] == 99 && answer["result"]["echo"].is_object()));
    }

    #[test]
    fn calls_end_when_they_are_taken_back_or_take_too_long_or_panic() {
        let call = |id: u32, parameters: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"work","params":{{{parameters}}}}}"#)
        };
        let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
        let answers = answers(&[
            (0, HELLO),
            (1, &call(1, "\"endless\": 1")),
            (1, cancel),
            (1, &call(2, "\"fault\": 1")),
            (2, &call(3, "\"endless\": 1")),
            (3, &call(4, "")),
            (4, r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#),
        ]);
        let ids: Vec<&Value> = answers.iter().map(|answer| &answer["id"]).collect();
        assert_eq!(ids, [&json!(0), &json!(2), &json!(3), &json!(4), &json!(5)]);
        assert_eq!(answers[1]["error"]["code"], -32603);
        assert_eq!(answers[2]["result"]["echo"], json!({"endless": 1}));
    }
}
