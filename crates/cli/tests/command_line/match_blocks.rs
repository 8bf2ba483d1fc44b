//! `tracelens split match`.

use crate::program::Workplace;
use crate::trace::{kernel, launch, trace};

/// A trace of steps: context requests and their tokens, generation requests and the tokens that they attend to.
fn served(steps: &[(u32, u32, u32, u32)]) -> String {
    let mut events = Vec::new();
    for (&(context, context_tokens, generation, keys), number) in steps.iter().zip(1..) {
        let start = 100.0 * f64::from(number);
        let name = format!(
            "execute_0_context_{context}(sq{context_tokens}sk{context_tokens}sqsq1sqsk1)_generation_{generation}(sq{generation}sk{keys}sqsq1sqsk1)"
        );
        events.push(format!(
            r#"{{"ph": "X", "cat": "user_annotation", "name": "{name}", "pid": 1, "tid": 1, "ts": {start}, "dur": 90}}"#
        ));
        events.push(launch(number, start + 1.0));
        events.push(kernel("gemm", number, start + 1000.0, 50.0));
    }
    trace(&events)
}

/// Twenty decode steps, two mixed ones, twenty decode steps in B; in A the other way round.
fn place() -> Workplace {
    let (long, short) = (vec![(0, 0, 8, 800); 20], vec![(0, 0, 8, 5050); 20]);
    let (near, far) = (vec![(1, 600, 7, 700); 2], vec![(1, 175, 7, 700); 2]);
    let place = Workplace::with(served(&[&short[..], &near, &long].concat()));
    place.put("b.json", served(&[&long[..], &far, &long].concat()));
    place
}

#[test]
fn the_nearest_steps_of_two_traces_are_cut_out() {
    let place = place();
    let outcome = place.run("split match trace.json b.json -o out").exits_with(0);
    assert_eq!(outcome.err, "");
    outcome.with_summary(&[
        "decode_only: steps 22 to 37 of A and steps 0 to 15 of B; distance: g_sq 0, g_sk 0",
        "prefilldecode: steps 20 to 21 of A and steps 20 to 21 of B; distance: context_requests 0, generation_requests 0, c_sq 425, g_sq 0",
        "wrote match_report.json, match_report.csv to out",
    ]);
    let decode = |block, side, base| {
        format!(
            "decode_only_best_{block}_{side}_prefill_0_prefilldecode_0_decode_16_bs8_conc8_{base}.json.gz"
        )
    };
    assert_eq!(place.files("out/decode_only"), [decode("A2_B0", "A", "trace"), decode("A2_B0", "B", "b")]);
    assert_eq!(place.files("out/prefilldecode").len(), 2);
    let report: serde_json::Value = serde_json::from_slice(&place.bytes("out/match_report.json")).unwrap();
    assert_eq!(report[1]["distance"], serde_json::json!([0.0, 0.0, 425.0, 0.0]));
    let side = &report[0]["TraceA"];
    assert_eq!(
        (&side["block_index"], &side["start"], &side["end"], &side["original_num_steps"], &side["truncated"]),
        (&2.into(), &22.into(), &38.into(), &20.into(), &true.into())
    );
    assert_eq!(side["avg_g_sk"], 800.0);
    assert_eq!(side["steps"].as_array().unwrap().len(), 16);
    assert_eq!(side["steps"][0]["step"], 22);
    let csv = String::from_utf8(place.bytes("out/match_report.csv")).unwrap();
    let cells: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(cells, [30, 30, 30]);
    assert!(
        csv.lines()
            .nth(2)
            .unwrap()
            .starts_with("1,prefilldecode,2,0|0|425|0,trace.json,1,20,22,2,false,1,7,600,"),
        "{csv}"
    );
    assert_eq!(place.bytes("out/match_notes.json"), b"[]\n");
    for file in place.files("out/decode_only") {
        let sheets = place.run(&["report", &format!("out/decode_only/{file}"), "--json"]);
        sheets.exits_with(0);
    }
}

#[test]
fn what_matches_can_be_told_without_cutting_it_out() {
    let place = place();
    let arguments = ["match", "trace.json", "b.json", "-o", "out", "--no-extract", "--num-steps"];
    place
        .run(&[&arguments[..], &["0"]].concat())
        .exits_with(0)
        .with_summary(&["decode_only: steps 22 to 41"]);
    assert_eq!(place.files("out"), ["match_notes.json", "match_report.csv", "match_report.json"]);
    let outcome = place.run(&[&arguments[..], &["4", "--phases", "prefill_only"]].concat()).exits_with(0);
    assert!(outcome.err.contains("no steps match for prefill_only"), "{outcome:#?}");
    let notes: serde_json::Value = serde_json::from_slice(&place.bytes("out/match_notes.json")).unwrap();
    assert_eq!((&notes[0]["phase"], &notes[0]["eligible_A"]), (&"prefill_only".into(), &0.into()));
}

#[test]
fn what_cannot_be_matched_is_told_before_anything_is_written() {
    let place = place();
    let outcome = place.run("split match trace.json b.json -o out --phases decode").exits_with(2);
    assert!(outcome.err.contains("prefilldecode"), "{outcome:#?}");
    place.put("plain.json", trace(&[kernel("gemm", 1, 5.0, 1.0)]));
    place
        .run("split match trace.json plain.json -o out")
        .exits_with(2)
        .with_error(&["plain.json: no inference engine annotated its steps", "execute_"]);
    assert!(!place.path("out").exists());
    place.run("split match trace.json b.json -o b.json").exits_with(1).with_error(&["cannot write b.json"]);
}

#[test]
fn equal_traces_match() {
    let place = place();
    std::fs::create_dir(place.path("copy")).unwrap();
    place.put("copy/trace.json", place.bytes("trace.json"));
    for (other, out) in [("trace.json", "same"), ("copy/trace.json", "copied")] {
        let outcome = place.run(&["split", "match", "trace.json", other, "-o", out]).exits_with(0);
        assert_eq!(outcome.err, "");
        outcome.with_summary(&["decode_only: steps", "distance: g_sq 0, g_sk 0", "wrote match_report.json"]);
        for phase in ["decode_only", "prefilldecode"] {
            let files = place.files(&format!("{out}/{phase}"));
            assert_eq!(files.len(), 2, "{files:?}");
            let [a, b] = [0, 1].map(|at| place.bytes(&format!("{out}/{phase}/{}", files[at])));
            assert_eq!(a, b, "the same steps of equal traces");
        }
    }
}
