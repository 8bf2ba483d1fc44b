//! `tracelens gate`, `tracelens gate save` and the action that runs them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::program::{Outcome, Workplace};
use crate::trace::{annotation, kernel, launch, operator_with};

/// A program whose steps call some operators, one after the other.
#[derive(Clone)]
struct Program {
    /// Name, shape of the argument and µs of the kernel.
    operators: Vec<(&'static str, u32, f64)>,
    steps: u32,
    device: &'static str,
    /// Seed of the scatter.
    seed: u32,
}

impl Program {
    fn new() -> Self {
        Program {
            operators: vec![
                ("aten::mm", 64, 400.0),
                ("aten::add", 64, 150.0),
                ("aten::softmax", 64, 250.0),
                ("aten::mm", 128, 800.0),
            ],
            steps: 8,
            device: "NVIDIA H100 80GB HBM3",
            seed: 1,
        }
    }

    fn slower(mut self, operator: usize, factor: f64) -> Self {
        self.operators[operator].2 *= factor;
        self
    }

    /// The recording. Kernels scatter by 0.4%.
    fn trace(&self) -> String {
        let (mut events, mut at, mut id) = (Vec::new(), 100.0, 0_u32);
        for step in 0..self.steps {
            let start = at;
            for &(name, shape, us) in &self.operators {
                id += 1;
                let shapes = format!(
                    r#""Input Dims": [[{shape}, {shape}], [{shape}, {shape}]], "Input type": ["float", "float"]"#
                );
                events.push(operator_with(name, at, 20.0, &shapes));
                events.push(launch(id, at + 5.0));
                let hash = (self.seed * 7919 + id).wrapping_mul(2_654_435_761) >> 16;
                let us = us * (1.0 + 0.008 * (f64::from(hash) / 65_536.0 - 0.5));
                events.push(kernel(
                    &format!("kernel_of_{name}_{shape}"),
                    id,
                    at + 15.0,
                    (us * 1000.0).round() / 1000.0,
                ));
                at = (1000.0 * (at + us + 25.0)).round() / 1000.0;
            }
            events.push(annotation(&format!("ProfilerStep#{step}"), start - 1.0, at - start));
        }
        format!(
            "{{\"schemaVersion\": 1, \"deviceProperties\": [{{\"id\": 0, \"name\": \"{}\"}}], \"traceEvents\": [\n{}\n]}}\n",
            self.device,
            events.join(",\n")
        )
    }
}

/// A place with `a.json`, and `b.json` of another program.
fn place(b: &Program) -> Workplace {
    let place = Workplace::with(Program::new().trace());
    place.put("a.json", Program::new().trace());
    place.put("b.json", b.trace());
    place
}

fn gate(place: &Workplace, more: &[&str]) -> Outcome {
    place.run(&[&["gate", "--baseline", "a.json", "--candidate", "b.json"], more].concat())
}

fn document(outcome: &Outcome) -> Value {
    let answer: Value = serde_json::from_str(&outcome.out).unwrap();
    answer["result"].clone()
}

fn nanoseconds(value: &Value) -> i64 {
    value.as_i64().unwrap()
}

#[test]
fn an_unchanged_program_passes() {
    let outcome = gate(&place(&Program { seed: 2, ..Program::new() }), &[]).exits_with(0);
    outcome.with_summary(&[
        "PASS, step time",
        "1 job vs. 1 · NVIDIA H100 80GB HBM3",
        "workload similarity 1.00",
    ]);
    let itself = Workplace::with(Program::new().trace());
    let outcome = itself.run("gate --baseline trace.json --candidate trace.json --json").exits_with(0);
    let found = document(&outcome);
    assert_eq!(found["ledger"]["delta_ns"], 0);
    for line in found["ledger"]["lines"].as_array().unwrap() {
        assert_eq!(line["delta_ns"], 0, "{line}");
    }
}

#[test]
fn a_slower_operator_fails_and_is_the_first_culprit_of_a_ledger_that_adds_up() {
    let place = place(&Program { seed: 2, ..Program::new() }.slower(2, 1.3));
    let outcome = gate(&place, &["--json"]).exits_with(3).with_error(&["slower than the baseline"]);
    let found = document(&outcome);
    assert_eq!(found["verdict"], "fail");
    let lines = found["ledger"]["lines"].as_array().unwrap();
    let culprits: Vec<&Value> = lines.iter().filter(|line| line["is_culprit"] == true).collect();
    assert_eq!(culprits[0]["part"]["unit"]["name"], "aten::softmax");
    assert_eq!(culprits[0]["change"], "slower_kernel");
    assert_eq!(culprits.len(), 1, "{culprits:?}");
    let step = &found["ledger"]["step_ns"];
    let sum: i64 = lines.iter().map(|line| nanoseconds(&line["delta_ns"])).sum();
    assert_eq!(sum, nanoseconds(&step[1]) - nanoseconds(&step[0]));
    gate(&place, &[]).exits_with(3).with_summary(&[
        "FAIL, step time +4.",
        "limit 1.75%",
        "aten::softmax (",
        "kernel_of_aten::softmax_64",
        "slower kernel",
    ]);
}

#[test]
fn exchanging_the_sides_mirrors_the_figures() {
    let place = place(&Program { seed: 2, ..Program::new() }.slower(0, 1.2));
    let there = document(&gate(&place, &["--json"]).exits_with(3));
    let back = place.run("gate --baseline b.json --candidate a.json --json").exits_with(0);
    let back = document(&back);
    assert_eq!(back["verdict"], "improved");
    let logarithm =
        |document: &Value, name: &str| (document["metrics"][0][name].as_f64().unwrap() / 100.0).ln_1p();
    for (one, other) in
        [("slowdown_pct", "slowdown_pct"), ("lower_pct", "upper_pct"), ("upper_pct", "lower_pct")]
    {
        assert!((logarithm(&there, one) + logarithm(&back, other)).abs() < 1e-9, "{one}");
    }
    assert_eq!(nanoseconds(&there["ledger"]["delta_ns"]), -nanoseconds(&back["ledger"]["delta_ns"]));
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_check() {
    let mut other_shapes = Program::new();
    other_shapes.operators.iter_mut().for_each(|operator| operator.1 += 32);
    for (b, check) in [
        (other_shapes.trace(), "workload"),
        (Program { device: "AMD Instinct MI300X", ..Program::new() }.trace(), "device"),
        (Program::new().trace()[..9000].to_owned(), "truncated"),
    ] {
        let place = place(&Program::new());
        place.put("b.json", b);
        let outcome = gate(&place, &[]).exits_with(5).with_error(&["cannot be compared"]);
        outcome.with_summary(&["NOT COMPARABLE", &format!("refused: {check}: candidate b.json: ")]);
    }
    let place = place(&Program { device: "AMD Instinct MI300X", ..Program::new() });
    gate(&place, &["--allow", "device,flops"])
        .exits_with(0)
        .with_summary(&["allowed: device: candidate b.json: AMD"]);
    let unknown = gate(&place, &["--allow", "speed"]).exits_with(2);
    assert!(unknown.err.contains("\"speed\" is not a check that can refuse a comparison"), "{}", unknown.err);
}

#[test]
fn two_steps_do_not_tell() {
    let place = place(&Program { steps: 2, ..Program::new() });
    gate(&place, &[]).exits_with(4).with_error(&["do not show"]).with_summary(&[
        "INCONCLUSIVE",
        "1 step is left after warm-up in b.json, and 3 are needed",
        "to decide, record more steps in each trace",
    ]);
    gate(&place, &["--inconclusive", "pass"]).exits_with(0);
    gate(&place, &["--inconclusive", "fail"]).exits_with(3).with_error(&["counts as a failure here"]);
}

#[test]
fn a_baseline_file_stands_for_its_recordings() {
    let b = Program { seed: 2, ..Program::new() }.slower(2, 1.3);
    let place = place(&b);
    place.put("a2.json", Program { seed: 5, ..Program::new() }.trace());
    let written = place.run("gate save a.json a2.json --separate-jobs -o main.json").exits_with(0);
    assert_eq!(written.out, "wrote main.json: 2 recordings with 16 steps, counted as 2 jobs\n");
    let of_traces = place.run("gate --baseline a.json a2.json --candidate b.json --separate-jobs --json");
    let of_file = place.run("gate --baseline main.json --candidate b.json --separate-jobs --json");
    assert_eq!(document(&of_traces.exits_with(3)), document(&of_file.exits_with(3)));
    // A baseline grows by being read and written again.
    place.put("a3.json", Program { seed: 6, ..Program::new() }.trace());
    let grown = place.run("gate save main.json a3.json a.json -o main.json").exits_with(0);
    assert!(grown.out.starts_with("wrote main.json: 3 recordings"), "{}", grown.out);
    assert!(grown.err.contains("a.json is given more than once; one copy is kept"), "{}", grown.err);
    place.run("gate save a.json -o a.json").exits_with(2).with_error(&["is the trace itself"]);
    place.put("cut.json", &place.bytes("main.json")[..400]);
    place
        .run("gate --baseline cut.json --candidate b.json")
        .exits_with(2)
        .with_error(&["cut.json: is not a baseline file"]);
}

#[test]
fn jobs_are_named_by_recording() {
    let place = place(&Program { seed: 2, ..Program::new() });
    place.put("c.json", Program { seed: 3, ..Program::new() }.trace());
    let with = |jobs: &[&str]| {
        place.run(
            &[&["gate", "--baseline", "a.json", "--candidate", "b.json", "c.json", "--json"], jobs].concat(),
        )
    };
    let blocks = |outcome: Outcome| document(&outcome.exits_with(0))["metrics"][0]["blocks"].clone();
    assert_eq!(blocks(with(&[])), serde_json::json!([1, 2]));
    assert_eq!(blocks(with(&["--job", "b.json=x", "--job", "c.json=x"])), serde_json::json!([1, 1]));
    with(&["--job", "d.json=x"]).exits_with(2).with_error(&["no recording is named d.json"]);
    with(&["--job", "d.json"]).exits_with(2);
}

#[test]
fn thresholds_come_from_a_file() {
    let place = place(&Program { seed: 2, ..Program::new() }.slower(2, 1.3));
    place.run("gate --init").exits_with(0);
    gate(&place, &["--config", "gate.toml"]).exits_with(3);
    place.run("gate --init").exits_with(1).with_error(&["gate.toml", "it already exists"]);
    let with = |text: &str| {
        place.put("t.toml", format!("version = 1\n{text}"));
        gate(&place, &["--config", "t.toml"])
    };
    with("[defaults]\nslower_by = \"20%\"\nrule_out = \"20%\"").exits_with(0);
    with("[[metric]]\nname = \"op:aten::mm\"\n[[metric]]\nname = \"kernel_count\"").exits_with(0);
    with("[[metric]]\nname = \"op:aten::softmax\"")
        .exits_with(3)
        .with_summary(&["FAIL, op:aten::softmax +30."]);
    let exception = "[[metric]]\nname = \"op:aten::softmax\"\n[allow]\n\
                     \"op:aten::softmax\" = { slower_by = \"50%\", until = 2099-01-31, reason = \"fp32\" }";
    with(exception).exits_with(0).with_summary(&["exception for op:aten::softmax until 2099-01-31: fp32"]);
    with("[[metric]]\nname = \"op:none\"")
        .exits_with(2)
        .with_error(&["no recording has op:none", "names of this kind in the recordings are aten::"]);
    with("[defaults]\nslower = \"3%\"").exits_with(2).with_error(&["t.toml: line 3: unknown field `slower`"]);
    gate(&place, &["--slower-by", "20%", "--rule-out", "20%"]).exits_with(0);
    gate(&place, &["--slower-by", "3"]).exits_with(2);
    gate(&place, &["--metric", "op:aten::mm"]).exits_with(0).with_summary(&["PASS, op:aten::mm"]);
}

#[test]
fn hostile_names_stay_names() {
    let name = r"<b>x|y</b>`z`\u001b[31m\u202e";
    let mut a = Program::new();
    a.operators[2].0 = name;
    let place = place(&a.clone().slower(2, 1.3));
    place.put("a.json", a.trace());
    let outcome = gate(&place, &["--markdown", "gate.md", "--junit", "gate.xml"]).exits_with(3);
    assert!(outcome.out.contains(r"<b>x|y</b>`z`\x1b[31m\u{202e}"), "{}", outcome.out);
    let text = String::from_utf8(place.bytes("gate.md")).unwrap();
    assert!(text.contains(r"| `` <b>x\|y</b>`z`\x1b[31m\u{202e} ((64, 64), (64, 64)) `` |"), "{text}");
    let xml = String::from_utf8(place.bytes("gate.xml")).unwrap();
    assert!(xml.contains("<failure message=\"step time +4."), "{xml}");
}

#[test]
fn what_is_no_recording_is_an_error() {
    let place = place(&Program::new());
    gate(&place, &["--baseline", "none.json"]).exits_with(2);
    place.run("gate --baseline none.json --candidate b.json").exits_with(2).with_error(&["none.json"]);
    place.run("gate --baseline - --candidate b.json").exits_with(2).with_error(&["standard input"]);
    place.run("gate --candidate b.json").exits_with(2);
    place.put("host.json", crate::trace::trace(&[operator_with("aten::mm", 0.0, 5.0, "")]));
    place
        .run("gate --baseline host.json --candidate b.json")
        .exits_with(2)
        .with_error(&["host.json: has no GPU events"]);
}

fn action() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.github/actions/gate")
}

/// Runs the script of the action as a runner does, with a `gh` that writes down what it is asked.
fn run_action(place: &Workplace, script: &str, inputs: &[(&str, &str)]) -> (i32, String) {
    std::fs::create_dir_all(place.path("bin")).unwrap();
    let gh = place.path("bin/gh");
    std::fs::write(&gh, "#!/usr/bin/env bash\necho \"gh $*\" >> gh.log\n").unwrap();
    std::fs::set_permissions(&gh, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_tracelens")).parent().unwrap();
    let path = format!("{}:{}:/usr/bin:/bin", place.path("bin").display(), program.display());
    let output = Command::new("bash")
        .arg(action().join(script))
        .current_dir(place.path("."))
        .env_clear()
        .envs([("PATH", path.as_str()), ("GITHUB_REPOSITORY", "me/mine"), ("LANG", "C.UTF-8")])
        .env("RUNNER_TEMP", place.path("."))
        .env("GITHUB_OUTPUT", place.path("output"))
        .env("GITHUB_STEP_SUMMARY", place.path("summary"))
        .envs(inputs.iter().copied())
        .output()
        .unwrap();
    (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn the_action_hands_out_the_verdict_and_ends_with_its_code() {
    let place = place(&Program { seed: 2, ..Program::new() }.slower(2, 1.3));
    let inputs =
        [("BASELINE", "\na.js*\n"), ("CANDIDATE", "b.json\n"), ("COMMENT", "true"), ("PULL_REQUEST", "7")];
    assert_eq!(run_action(&place, "install.sh", &[("VERSION", "")]), (0, String::new()));
    let (code, errors) = run_action(&place, "gate.sh", &inputs);
    assert_eq!(code, 3, "{errors}");
    let output = String::from_utf8(place.bytes("output")).unwrap();
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[0], "verdict=fail");
    assert!(lines[1].starts_with("slowdown-pct=4.") && lines[2].ends_with("/tracelens-gate.md"), "{output}");
    let summary = String::from_utf8(place.bytes("summary")).unwrap();
    assert!(summary.starts_with("<!-- tracelens-gate -->\n### Performance gate: FAIL"), "{summary}");
    let asked = String::from_utf8(place.bytes("gh.log")).unwrap();
    assert!(asked.contains("gh api --method POST repos/me/mine/issues/7/comments -F body=@"), "{asked}");

    place.put("gate.toml", "version = 1\n[defaults]\nslower_by = \"20%\"\nrule_out = \"20%\"\n");
    let inputs = [("BASELINE", "a.json"), ("CANDIDATE", "b.json"), ("CONFIG", "gate.toml")];
    assert_eq!(run_action(&place, "gate.sh", &inputs).0, 0);
    let (code, errors) =
        run_action(&place, "gate.sh", &[("BASELINE", "none*.json"), ("CANDIDATE", "b.json")]);
    assert!(code == 2 && errors.contains("no file of the baseline matches none*.json"), "{code} {errors}");
}

/// Inputs reach the scripts by their environment alone: in a command, they could be commands.
#[test]
fn the_action_puts_no_input_into_a_command() {
    let text = std::fs::read_to_string(action().join("action.yml")).unwrap();
    let (mut runs, mut environment) = (Vec::new(), BTreeSet::new());
    for line in text.lines().map(str::trim) {
        if let Some(command) = line.strip_prefix("run:") {
            runs.push(command.trim().to_owned());
        } else if let Some((name, value)) = line.split_once(": ${{")
            && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
        {
            assert!(value.ends_with("}}"), "{line}");
            environment.insert(name.to_owned());
        }
    }
    assert_eq!(runs, [r#"bash "$ACTION/install.sh""#, r#"bash "$ACTION/gate.sh""#]);
    assert!(!text.contains("uses:"), "an action of others is pinned by its commit");
    for name in
        ["BASELINE", "CANDIDATE", "CONFIG", "COMMENT", "PULL_REQUEST", "GH_TOKEN", "VERSION", "ACTION"]
    {
        assert!(environment.contains(name), "{name} {environment:?}");
    }
    for input in ["baseline", "candidate", "config", "version", "comment"] {
        assert!(
            text.contains(&format!("\n  {input}:\n")) && text.contains(&format!("${{{{ inputs.{input} }}}}")),
            "{input}"
        );
    }
}
