//! `tracelens model`: figures by hand and of recorded calls.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::program::{Outcome, Workplace};

fn model(arguments: &[&str]) -> Outcome {
    Workplace::with("").run(&[&["model"], arguments].concat())
}

fn answer(arguments: &[&str]) -> Value {
    let outcome = model(&[arguments, &["--json"]].concat()).exits_with(0);
    let answer: Value = serde_json::from_str(&outcome.out).unwrap();
    answer["result"].clone()
}

/// A command line after `model` with its FLOPs, bytes and compute spec.
type Case = (&'static str, f64, f64, &'static str);

#[test]
fn figures_are_those_of_the_formulas() {
    let cases: &[Case] = &[
        // 2·m·n·k; 2 bytes times (m·k + k·n + m·n).
        ("gemm --m 40960 --n 6144 --k 1536", 773_094_113_280.0, 648_019_968.0, "matrix_bf16"),
        // Two of 2·2·3·4 and 2·3 additions; 4 bytes times (8 + 12 + 6 + 3).
        ("gemm --m 2 --n 3 --k 4 --batch 2 --bias --dtype fp32", 108.0, 232.0, "matrix_fp32"),
        // The products, and for each of 8·4 results the bias and the 8 operations of GELU.
        ("gemm --m 8 --n 4 --k 2 --bias --activation gelu", 416.0, 120.0, "matrix_bf16"),
        // One byte times (8 + 12), a result of two bytes times 6.
        ("gemm --m 2 --n 3 --k 4 --dtype fp8", 48.0, 32.0, "matrix_fp8"),
        ("gemm --m 2 --n 3 --k 4 --dtype fp4 --output-dtype fp32", 48.0, 34.0, "matrix_fp4"),
        // 2·m·n·k; 2 bytes times (m·k + groups·k·n + m·n).
        ("grouped-gemm --m 8 --n 3 --k 4 --groups 5", 192.0, 232.0, "matrix_bf16"),
        // Half of 4096² scores times 64 heads times 2·(128 + 128).
        (
            "sdpa --heads 64 --kv-heads 8 --q-len 4096 --head-dim 128 --causal",
            274_877_906_944.0,
            150_994_944.0,
            "matrix_bf16",
        ),
        // 2·5·7 scores times 3 heads times 2·(8 + 16); 2 bytes times (2·3)·(5·8 + 7·8 + 7·16 + 5·16).
        (
            "sdpa --batch 2 --heads 3 --q-len 5 --kv-len 7 --head-dim 8 --v-head-dim 16 --dtype fp16",
            10_080.0,
            3_456.0,
            "matrix_fp16",
        ),
        // 1·8·3·3 results of 2·4·3·3 operations, and the bias; 4 bytes times (4·25 + 8·4·9 + 8·9 + 8).
        ("conv --input 1,4,5,5 --filter 8,4,3,3 --bias --dtype fp32", 5_256.0, 1_872.0, "matrix_fp32"),
        // Stride 2 and padding 1: 8·3·3 results again.
        (
            "conv --input 1,4,5,5 --filter 8,4,3,3 --stride 2 --padding 1 --dtype fp32",
            5_184.0,
            1_840.0,
            "matrix_fp32",
        ),
        // Two groups: each result sees half of the channels.
        ("conv --input 1,4,9 --filter 8,2,3 --groups 2 --dtype fp16", 672.0, 280.0, "matrix_fp16"),
        ("unary --shape 4,8", 32.0, 128.0, "vector_bf16"),
        ("binary --shape 4,8 --other-shape 8", 32.0, 144.0, "vector_bf16"),
        ("reduce --shape 4,8 --dim 1", 32.0, 72.0, "vector_bf16"),
        // 3 for each of 5·(2 + 1)·64 elements, which are read and written.
        ("rope --tokens 5 --heads 2 --kv-heads 1 --rope-dim 64", 2_880.0, 3_840.0, "vector_bf16"),
    ];
    for &(line, flops, bytes, spec) in cases {
        let arguments: Vec<&str> = line.split(' ').collect();
        let answer = answer(&arguments);
        let found = (answer["flops"].as_f64(), answer["bytes"].as_f64(), answer["spec"].as_str());
        assert_eq!(found, (Some(flops), Some(bytes), Some(spec)), "{line}");
        assert_eq!(answer["intensity"].as_f64(), Some(flops / bytes), "{line}");
        // Whole numbers have no decimal point.
        assert!(answer["flops"].is_u64() && answer["bytes"].is_u64(), "{line}");
    }
}

#[test]
fn every_model_of_the_list_can_be_asked() {
    let list = model(&["--list"]).exits_with(0).out;
    let names: Vec<&str> = list
        .lines()
        .filter(|line| line.starts_with(char::is_alphabetic) && !line.starts_with("All "))
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert!(names.len() >= 11, "{names:?}");
    for name in names {
        model(&[name, "--help"]).exits_with(0);
    }
    for option in ["--kv-heads <H>", "--input <N,C,H,W>", "; required", "[default: bf16]"] {
        assert!(list.contains(option), "no {option} in {list}");
    }
    for line in [
        "norm --shape 4,8 --rms",
        "cross-entropy --tokens 4 --classes 10",
        "causal-conv1d --channels 2 --seq-len 9",
    ] {
        let arguments: Vec<&str> = line.split(' ').collect();
        assert!(answer(&arguments)["flops"].as_f64().unwrap() > 0.0, "{line}");
    }
}

#[test]
fn an_architecture_adds_bound_ridge_and_least_time() {
    let gemm = ["gemm", "--m", "8192", "--n", "8192", "--k", "8192"];
    let measured = ["--arch", "mi300x", "--peak", "achievable"];
    let asked = answer(&[&gemm[..], &measured[..]].concat());
    // 2·8192³ operations at 708 TFLOP/s.
    let arch = &asked["arch"];
    assert!((arch["roofline_time_us"].as_f64().unwrap() - 1_552.982_4).abs() < 1e-3, "{arch}");
    assert_eq!((&arch["bound"], &arch["name"]), (&json!("COMPUTE_BOUND"), &json!("MI300X")));
    assert!((arch["ridge_point"].as_f64().unwrap() - 708e3 / 5300.0).abs() < 1e-9, "{arch}");
    assert_eq!((&arch["peak_basis"], &arch["peak_tflops"]), (&json!("achievable"), &json!(708)));
    let nominal = answer(&[&gemm[..], &["--arch", "mi300x"]].concat());
    let (basis, peak) = (&nominal["arch"]["peak_basis"], &nominal["arch"]["peak_tflops"]);
    assert_eq!((basis, peak), (&json!("nominal"), &json!(1307.4)));
    model(&[&gemm[..], &measured[..]].concat()).exits_with(0).with_summary(&[
        "architecture MI300X achievable peaks",
        "gemm, bf16, M 8192, N 8192, K 8192, bias False, B 1",
        "FLOPs 1,099,511,627,776 1.100 TFLOP",
        "bytes 402,653,184 384.000 MiB",
        "arithmetic intensity 2,730.667 FLOP/byte",
        "compute spec matrix_bf16",
        "ridge point 133.585 FLOP/byte",
        "bound compute",
        "roofline time 1,552.983 µs",
    ]);
}

#[test]
fn the_backward_pass_is_another_figure_or_none() {
    let sdpa = ["sdpa", "--heads", "2", "--q-len", "4", "--head-dim", "8"];
    let backward = answer(&[&sdpa[..], &["--backward"]].concat());
    // Five products of 2·4·4·8 for each of two heads.
    assert_eq!((&backward["flops"], &backward["model"]), (&json!(2_560), &json!("sdpa backward")));
    // Nine for each element; three passes over 32 elements of 2 bytes, a weight and its gradient for each of eight
    // channels, and two statistics of 4 bytes for each of four rows.
    let backward = answer(&["norm", "--shape", "4,8", "--backward"]);
    assert_eq!((&backward["flops"], &backward["bytes"]), (&json!(288), &json!(256)));
    let none = answer(&["unary", "--shape", "4", "--backward"]);
    assert_eq!(none["flops"], Value::Null);
    assert!(none["reason"].as_str().unwrap().contains("no formula"), "{none}");
}

#[test]
fn wrong_questions_are_answered_with_what_is_wrong() {
    let gemm = ["gemm", "--m", "1", "--n", "1", "--k", "1"];
    for (more, part) in [
        (&["--arch", "h900"][..], "unknown architecture \"h900\""),
        (&["--dtype", "fp7"], "bf16"),
        (&["--m", "x"], "invalid value"),
        (&["--arch", "h100", "--gpu_arch_json_path", "a.json"], "cannot be used with"),
        (&["--gpu_arch_json_path", "no.json"], "no.json: is not an architecture file"),
        (&["--peak", "achievable"], "--arch"),
    ] {
        let arguments = if more[0] == "--m" { vec!["gemm", "--m", "x"] } else { [&gemm[..], more].concat() };
        let outcome = model(&arguments).exits_with(2);
        assert!(outcome.err.contains(part), "no {part:?} in {outcome:#?}");
    }
    for (line, part) in [
        ("matmul --m 1", "matmul"),
        ("gemm --m 1", "--k"),
        ("conv --input 1,4,5 --filter 8,4,3,3", "the sizes do not match: no convolution has"),
        ("conv --input 1,4,5,5 --filter 8,4,3,3 --stride 1,1,1", "stride has 3 numbers"),
        ("binary --shape 4,8 --other-shape 3", "the sizes do not match"),
        ("sdpa --heads 4 --kv-heads 3 --q-len 1 --head-dim 8", "--kv-heads 3 does not divide"),
        ("sdpa --heads 4 --q-len 1 --head-dim 8 --dtype fp4", "only gemm supports fp4"),
        ("reduce --shape 4,8 --dim 2", "--shape has no dimension 2"),
        ("norm --shape 4,8 --channels 7", "--channels 7 does not divide the 32 elements"),
        (
            "conv --input 1,4,5,5 --filter 8,3,3,3",
            "the filters need 3 channels in each of 1 groups, the input has 4",
        ),
        (
            "conv --transposed --input 1,4,5,5 --filter 8,4,3,3",
            "the filters need 8 channels, the input has 4",
        ),
    ] {
        let arguments: Vec<&str> = line.split(' ').collect();
        let outcome = model(&arguments).exits_with(2);
        assert!(outcome.err.contains(part), "no {part:?} in {outcome:#?}");
    }
    model(&[]).exits_with(2);
}

const MM: &str = r#"{"name": "aten::mm", "args": {"Input Dims": [[2, 4], [4, 3]], "Input type": ["float", "float"], "Input Strides": [[4, 1], [3, 1]], "Concrete Inputs": ["", ""]}}"#;

/// Ranges of NVTX tell shapes and no types: FLOPs need no types, bytes do.
#[test]
fn a_call_without_types_has_flops_and_no_bytes() {
    let place = Workplace::with("");
    let call = |types: Value| {
        let args = json!({"Input Dims": [[4096], [8192, 1024], [1024, 4096], [], []], "Input type": types});
        json!({"name": "aten::addmm", "args": args})
    };
    let bf16 = "c10::BFloat16";
    let calls = [call(json!(["", "", "", "", ""])), call(json!([bf16, bf16, bf16, "Scalar", "Scalar"]))];
    place.put("calls.jsonl", calls.map(|call| call.to_string()).join("\n"));
    let out = place.run("model --jsonl calls.jsonl").exits_with(0).out;
    let answers: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let figures = |answer: &Value| (answer["flops"].as_u64(), answer["bytes"].as_u64());
    assert_eq!(figures(&answers[0]), (Some(68_753_031_168), None), "{out}");
    assert_eq!(figures(&answers[1]), (Some(68_753_031_168), Some(92_282_880)), "{out}");
}

#[test]
fn recorded_calls_are_answered_line_by_line() {
    let place = Workplace::with("");
    let unknown =
        r#"{"name": "mine::op", "args": {}, "kernel_details": [{"name": "void at::native::reduce_kernel"}]}"#;
    place.put("calls.jsonl", format!("{MM}\n\n{{\"name\": 3}}\nno JSON\n{unknown}\n"));
    let outcome = place.run("model --jsonl calls.jsonl").exits_with(2);
    let answers: Vec<Value> = outcome.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), 4, "{outcome:#?}");
    assert!(
        outcome.out.starts_with(r#"{"name":"aten::mm","category":"GEMM","flops":48,"bytes":104,"#),
        "{outcome:#?}"
    );
    assert_eq!(answers[0]["spec"], "matrix_fp32");
    assert_eq!((&answers[0]["params"]["M"], &answers[0]["params"]["bias"]), (&json!("2"), &json!("False")));
    assert_eq!((&answers[1]["line"], &answers[2]["line"]), (&json!(3), &json!(4)));
    assert!(answers[1]["error"].as_str().unwrap().contains("expected a string"), "{outcome:#?}");
    assert!(
        answers[2]["error"].as_str().unwrap().starts_with("a line must be a JSON object"),
        "{outcome:#?}"
    );
    assert_eq!((&answers[3]["category"], &answers[3]["flops"]), (&json!("reduce"), &Value::Null));
    assert_eq!(answers[3]["reason"], "no performance model for this operator");
    outcome.with_error(&["calls.jsonl: 2 malformed lines (first: line 3)"]);
    for (line, error) in [
        ("[1]", "a line must be a JSON object"),
        (r#"{"args": {}}"#, "missing field `name`"),
        (r#"{"name": "aten::mm", "args": {"Input Dims": "x"}}"#, "Input Dims must be a list"),
        (
            r#"{"name": "f", "forward": {"name": "g", "args": {"Input type": 1}}}"#,
            "forward: Input type must be a list",
        ),
    ] {
        place.put("call.jsonl", line);
        let outcome = place.run("model --jsonl call.jsonl").exits_with(2);
        let answer: Value = serde_json::from_str(&outcome.out).unwrap();
        assert!(answer["error"].as_str().unwrap().starts_with(error), "{outcome:#?}");
        outcome.with_error(&["call.jsonl: 1 malformed line (first: line 1)"]);
    }
}

#[test]
fn a_backward_call_finds_the_forward_call_before_it() {
    let forward = r#"{"name": "ConvBias_", "args": {"Input Dims": [[8, 64, 56, 56], [128, 64, 3, 3], [1, 128, 1, 1], [], []], "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar"], "Concrete Inputs": ["", "", "", "1", "1"], "Sequence number": 77}}"#;
    let backward = r#""name": "ConvBias_Backward", "args": {"Input Dims": [[8, 128, 56, 56]], "Input type": ["c10::BFloat16"], "Concrete Inputs": [""], "Sequence number": 77}"#;
    let place = Workplace::with("");
    place.put("alone.jsonl", format!("{{{backward}}}"));
    place.put("both.jsonl", format!("{forward}\n{{{backward}}}"));
    place.put("inside.jsonl", format!("{{{backward}, \"forward\": {forward}}}"));
    let last = |file: &str| {
        let outcome = place.run(&["model", "--jsonl", file]).exits_with(0);
        serde_json::from_str::<Value>(outcome.out.lines().last().unwrap()).unwrap()
    };
    assert_eq!(last("alone.jsonl")["flops"], Value::Null);
    assert_eq!(last("both.jsonl")["flops"], 7_401_963_520_u64);
    assert_eq!(last("inside.jsonl"), last("both.jsonl"));
}

#[test]
fn calls_on_standard_input_are_answered_as_they_come() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tracelens"))
        .args(["model", "--jsonl", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut answers = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    for _ in 0..2 {
        writeln!(input, "{MM}").unwrap();
        input.flush().unwrap();
        assert!(answers.next().unwrap().unwrap().contains("\"flops\":48"));
    }
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_missing_file_of_calls_is_named() {
    model(&["--jsonl", "no.jsonl"]).exits_with(2).with_error(&["no.jsonl: cannot be read: No such file"]);
}

#[test]
fn every_call_of_the_corpus_is_answered() {
    let Some(cases) = testdata::corpus("perf-models/cases.jsonl") else { return };
    let cases = std::fs::canonicalize(cases).unwrap();
    let outcome = model(&["--jsonl", cases.to_str().unwrap()]).exits_with(0);
    let asked = std::fs::read_to_string(&cases).unwrap();
    assert_eq!(outcome.out.lines().count(), asked.lines().count());
    let mut with_flops = 0;
    for (asked, answer) in asked.lines().zip(outcome.out.lines()) {
        let (asked, answer): (Value, Value) =
            (serde_json::from_str(asked).unwrap(), serde_json::from_str(answer).unwrap());
        assert_eq!(asked["name"], answer["name"]);
        assert!(answer["flops"].is_number() || answer["reason"].is_string(), "{answer}");
        with_flops += usize::from(answer["flops"].is_number());
    }
    assert!(with_flops > 100, "{with_flops}");
}

#[test]
fn work_without_a_peak_is_held_against_the_bandwidth() {
    // The H100 has no peak for FP4. 34 bytes at 3350 GB/s.
    let command = "gemm --m 2 --n 3 --k 4 --dtype fp4 --output-dtype fp32 --arch h100-sxm";
    let arguments: Vec<&str> = command.split(' ').collect();
    let answer = answer(&arguments);
    assert_eq!(answer["arch"]["bound"], "BANDWIDTH_ONLY");
    let time = answer["arch"]["roofline_time_us"].as_f64().unwrap();
    assert!((time - 34.0 / 3.35e6).abs() < 1e-15, "{time}");
    assert_eq!(answer["reason"], "H100-SXM has no peak for matrix_fp4");
    let shown = model(&arguments).exits_with(0).out;
    assert!(shown.contains("bandwidth only  H100-SXM has no peak for matrix_fp4"), "{shown}");
}
