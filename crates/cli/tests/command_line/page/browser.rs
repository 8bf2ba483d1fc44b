//! A headless Chromium, driven by the DevTools protocol over its pipe: messages of JSON that end in a zero byte.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Long enough for the slowest machine; a page that is not ready then never is.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    calls: u64,
    session: Option<String>,
    /// What the page did since it was opened.
    events: Vec<Value>,
    _profile: TempDir,
}

/// Where Chromium is installed.
fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|path| path.is_file())
}

/// Says that this test does not run, and why.
pub(crate) fn say_skipped(why: &str) {
    // Not by `eprintln!`: the test harness shows that of failed tests only. A failure to say so is no failure.
    let thread = std::thread::current();
    let _ = writeln!(std::io::stderr(), "SKIPPED {}: {why}", thread.name().unwrap_or_default());
}

impl Browser {
    /// Starts one; `None`, with a message, where none is installed. A machine that is meant to have one sets
    /// `REQUIRE_CHROMIUM=1`; the test then fails.
    pub(crate) fn start() -> Option<Self> {
        let Some(program) = installed() else {
            let absent = "no Chromium is installed (Debian: apt-get install chromium)";
            assert!(std::env::var_os("REQUIRE_CHROMIUM").is_none_or(|value| value != "1"), "{absent}");
            say_skipped(absent);
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        // The pipe is file descriptors 3 and 4, which the shell makes of its input and output.
        let script = r#"exec "$0" "$@" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null"#;
        let mut child = Command::new("sh")
            .args(["-c", script])
            .arg(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"])
            .args(["--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Some(Browser { child, to, from, calls: 0, session: None, events: Vec::new(), _profile: profile })
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.calls += 1;
        let mut message = json!({"id": self.calls, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        self.to.flush().unwrap();
        loop {
            let mut answer = Vec::new();
            self.from.read_until(0, &mut answer).unwrap();
            assert_eq!(answer.pop(), Some(0), "Chromium ended");
            let mut answer: Value = serde_json::from_slice(&answer).unwrap();
            if answer["id"] == self.calls {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].take();
            }
            self.events.push(answer);
        }
    }

    /// Opens a file in a new tab of this size and waits until the page says that it is ready.
    pub(crate) fn open(&mut self, file: &Path, width: u32, theme: &str) {
        self.session = None;
        let target = self.call("Target.createTarget", json!({"url": "about:blank"}))["targetId"].take();
        let attached = self.call("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        self.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
        let dark = json!({"features": [{"name": "prefers-color-scheme", "value": theme}]});
        self.call("Emulation.setEmulatedMedia", dark);
        self.events.clear();
        let url = format!("file://{}", file.display());
        self.call("Page.navigate", json!({"url": url}));
        self.wait_for("document.documentElement?.dataset.ready !== undefined");
    }

    /// The value of an expression in the page.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let mut answer = self.call("Runtime.evaluate", parameters);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].take()
    }

    /// Waits until an expression is true.
    pub(crate) fn wait_for(&mut self, expression: &str) {
        let begin = Instant::now();
        while self.evaluate(expression) != true {
            assert!(begin.elapsed() < PATIENCE, "never true: {expression}: {:#?}", self.faults());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What the page should not have done: errors and messages, and requests of anything but the file.
    pub(crate) fn faults(&self) -> Vec<String> {
        let fault = |event: &Value| {
            let url = event["params"]["request"]["url"].as_str().unwrap_or_default();
            let is_fault = match event["method"].as_str()? {
                "Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded" => true,
                "Network.requestWillBeSent" => !url.starts_with("file:"),
                _ => false,
            };
            is_fault.then(|| event.to_string())
        };
        self.events.iter().filter_map(fault).collect()
    }

    /// How many requests there were.
    pub(crate) fn requests(&self) -> usize {
        self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent").count()
    }

    /// Writes a picture of the whole page.
    pub(crate) fn screenshot(&mut self, destination: &Path) {
        let size = self.evaluate("[innerWidth, document.documentElement.scrollHeight]");
        let clip = json!({"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1});
        let parameters = json!({"captureBeyondViewport": true, "clip": clip});
        let picture = self.call("Page.captureScreenshot", parameters);
        std::fs::write(destination, BASE64.decode(picture["data"].as_str().unwrap()).unwrap()).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
