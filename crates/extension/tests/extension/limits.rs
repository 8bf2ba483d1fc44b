//! Python files that run on, eat memory or misuse the protocol: each ends in a message with its line, and none hangs.

use std::time::{Duration, Instant};

use extension::{Extension, ExtensionError, Limits, Python};
use perf_models::OpCall;
use tree_perf::AnalysisExtension;

use super::fixture::Fixture;

fn load_for(time: Duration, text: &str) -> Result<Extension, ExtensionError> {
    let limits = Limits { time, memory_bytes: 400 << 20 };
    Extension::load("my.py", text, &Python { limits, ..Python::default() })
}

fn load(text: &str) -> Result<Extension, ExtensionError> {
    load_for(Duration::from_millis(700), text)
}

/// Longest that a refusal may take on a busy machine.
const SOON: Duration = Duration::from_secs(60);

#[test]
fn files_that_do_not_end_are_stopped_with_their_line() {
    let Some(_) = testdata::python3() else { return };
    let begun = Instant::now();
    for (text, line) in [
        ("x = 0\nwhile True:\n    x += 1", 2..4),
        ("def f():\n    while True:\n        pass\n\nf()", 2..4),
        ("while True:\n    try:\n        while True: pass\n    except BaseException: pass", 1..5),
        ("import time\ntime.sleep(1000)", 2..3),
        ("sum(range(10 ** 12))", 1..2),
        ("while True:\n    print('x' * 1000)", 1..3),
    ] {
        let error = load(text).unwrap_err();
        let ExtensionError::Limit { at, reason, .. } = &error else { panic!("{text}: {error}") };
        assert_eq!(reason, "the file ran for more than 0.7 s");
        // What is printed while the traceback is written may tear its line apart.
        let prints = text.contains("print(");
        assert!(at.line.map_or(prints, |found| line.contains(&found)), "{text}: {error}");
    }
    assert!(begun.elapsed() < SOON);
}

#[test]
#[cfg(target_os = "linux")]
fn files_that_eat_memory_are_stopped_with_their_line() {
    let Some(_) = testdata::python3() else { return };
    for text in [
        "x = 1\ny = 'a' * (1 << 33)",
        "def f(n):\n    return [0] * n\nz = f(1 << 40)",
        "x = []\nwhile True:\n    x.append(bytearray(1 << 20))",
    ] {
        let error = load_for(SOON, text).unwrap_err().to_string();
        assert!(
            error.starts_with("my.py:") && error.contains(": the memory limit is reached (in loading)"),
            "{error}"
        );
    }
}

#[test]
fn what_breaks_the_pipe_ends_with_a_message() {
    let Some(_) = testdata::python3() else { return };
    for (text, expected) in [
        ("import os\nos.closerange(3, 256)", "the extension process exited without an answer"),
        ("import os\nos.abort()", "the extension process exited without an answer"),
        (
            "import os\nfor fd in range(3, 9):\n    try: os.write(fd, b'nonsense\\n')\n    except OSError: pass",
            "invalid answer from the extension process: \"nonsense\"",
        ),
        (
            "import os\nfor fd in range(3, 9):\n    try: os.write(fd, b'{}\\n')\n    except OSError: pass",
            "invalid answer from the extension process: missing field `models`",
        ),
    ] {
        let error = load(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    // What is written to standard output below Python is not in the way, nor is what standard input has.
    let fine = load(
        "import faulthandler, os, sys\nos.system('echo from below')\nassert sys.stdin.read() == ''\nos.write(1, b'here')\n\
         print('\\udcff')\nsys.stdout.writelines(['a', 'b'])\nfaulthandler.enable()",
    );
    assert!(fine.is_ok(), "{fine:?}");
}

#[test]
fn a_model_that_does_not_end_leaves_the_calls_before_it() {
    let Some(_) = testdata::python3() else { return };
    let extension = load(
        "from tracelens import work\ndef fine(event):\n    return work('x', flops = 1)\n\ndef loops(event):\n    while True:\n        \
         pass\n\nperf_model_extension = {'a': fine, 'b': loops, 'c': fine}",
    )
    .unwrap();
    let calls = ["a", "b", "c"].map(|name| OpCall { name, ..OpCall::default() });
    extension.prepare(&calls);
    let answers = calls.map(|call| extension.model(&call).unwrap());
    assert_eq!(answers[0].as_ref().unwrap().model.flops(), Ok(1.0));
    for answer in &answers[1..] {
        let reason = &answer.as_ref().unwrap_err().reason;
        assert!(
            ["my.py:6", "my.py:7"].iter().any(|line| {
                **reason == format!("{line}: the file ran for more than 0.7 s (in the model of b)")
            }),
            "{reason}"
        );
    }
}

#[test]
fn a_rule_that_does_not_end_is_stopped() {
    let Some(_) = testdata::python3() else { return };
    let extension = load(
        "def tree_postprocess_extension(tree):\n    print('before')\n    while True:\n        tree.roots()",
    )
    .unwrap();
    let mut fixture = Fixture::default();
    fixture.op("root", 1, (0, 100), None, [const { None }; 4]);
    let error = extension.change_tree(&mut fixture.tree()).unwrap_err().to_string();
    assert!(error.starts_with("my.py:"), "{error}");
    assert!(error.contains("the file ran for more than 0.7 s (in tree_postprocess_extension)"), "{error}");
    let printed: Vec<_> = extension.notices().iter().map(ToString::to_string).collect();
    assert_eq!(printed, ["my.py: before"]);
}
