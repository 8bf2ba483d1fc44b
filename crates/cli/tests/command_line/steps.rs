//! The steps of an engine as a picture and as a chart of the workbook.

use std::io::{Cursor, Read};

use crate::program::Workplace;
use crate::trace::{annotation, kernel, launch, operator, trace};

const PICTURE: [&str; 4] = ["report", "trace.json", "--inference_phase_analysis", "--step_svg=steps.svg"];

/// A prefill and three decodes of vLLM; the last one of them did nothing on the device.
fn steps() -> Vec<String> {
    let mut events = Vec::new();
    for (step, name) in [
        "execute_context_4(15360)_generation_0(0)",
        "execute_context_0(0)_generation_15(15)",
        "execute_context_0(0)_generation_14(14)",
        "execute_context_0(0)_generation_13(13)",
    ]
    .into_iter()
    .enumerate()
    {
        let id = u32::try_from(step).unwrap() + 1;
        let at = 100.0 * f64::from(id);
        events.push(annotation(name, at, 50.0));
        if id < 4 {
            let duration = if id == 1 { 60_000.0 } else { 20_000.0 };
            events.extend([
                operator("aten::mm", at + 1.0, 10.0),
                launch(id, at + 2.0),
                kernel("gemm", id, 80_000.0 * f64::from(id), duration),
            ]);
        }
    }
    events
}

#[test]
fn the_picture_shows_the_steps_their_phases_and_their_tokens() {
    let place = Workplace::with(trace(&steps()));
    let outcome = place.run(&PICTURE).exits_with(0);
    outcome.with_summary(&["wrote steps.svg"]);
    let svg = String::from_utf8(place.bytes("steps.svg")).unwrap();
    for part in [
        "Steps · trace.json",
        "Prefill 1 step · 60.0%",
        "Decode 3 steps · 40.0%",
        "15360",
        "15",
        "14",
        "1 of 4 steps has no device work: not drawn.",
    ] {
        assert!(svg.contains(part), "no {part:?} in {svg}");
    }
    // The picture is all that was asked for.
    assert_eq!(place.files("."), ["steps.svg", "trace.json"]);
    let again = ["inference", "trace.json", "--inference_phase_analysis", "--step_svg", "again.svg", "-q"];
    place.run(&again).exits_with(0);
    assert!(svg == String::from_utf8(place.bytes("again.svg")).unwrap());
}

#[test]
fn threads_of_engines_have_blocks_with_their_names() {
    let mut events = steps();
    let name = r#"{"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "engine <B>"}}"#;
    events.push(name.to_owned());
    // The same host, half a step later, on another thread; its kernels have ids of their own.
    for id in [11, 12] {
        let at = 100.0 * f64::from(id - 10) + 25.0;
        let on_host = [
            annotation("execute_context_0(0)_generation_7(7)", at, 50.0),
            operator("aten::mm", at + 1.0, 10.0),
            launch(id, at + 2.0),
        ];
        events.extend(on_host.map(|event| event.replace(r#""pid": 1, "tid": 1"#, r#""pid": 1, "tid": 2"#)));
        events.push(kernel("gemm", id, 80_000.0 * f64::from(id - 10) + 61_000.0, 15_000.0));
    }
    let place = Workplace::with(trace(&events));
    place.run(&PICTURE).exits_with(0);
    let svg = String::from_utf8(place.bytes("steps.svg")).unwrap();
    for part in
        ["process 1, thread 1", "engine &lt;B&gt; (process 1, thread 2)", "Decode 5 steps", "15360", "7"]
    {
        assert!(svg.contains(part), "no {part:?} in {svg}");
    }
}

#[test]
fn the_workbook_has_the_steps_as_columns_coloured_by_phase() {
    let place = Workplace::with(trace(&steps()));
    place.run("report trace.json -q --inference_phase_analysis").exits_with(0);
    let mut archive = zip::ZipArchive::new(Cursor::new(place.bytes("trace_perf_report.xlsx"))).unwrap();
    let names: Vec<String> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
    let mut charts = Vec::new();
    for name in names.iter().filter(|name| name.starts_with("xl/charts/chart")) {
        let mut xml = String::new();
        archive.by_name(name).unwrap().read_to_string(&mut xml).unwrap();
        charts.push(xml);
    }
    let of_steps: Vec<&String> = charts.iter().filter(|xml| xml.contains("step_summary!$A$2:$A$5")).collect();
    assert_eq!(of_steps.len(), 1, "of {} charts", charts.len());
    // Prefill has the first colour, decode as the most frequent one that of the series.
    for part in ["step_summary!$C$2:$C$5", "004488", "DDAA33", "<a:t>15360</a:t>", "<a:t>15</a:t>"] {
        assert!(of_steps[0].contains(part), "no {part:?} in {}", of_steps[0]);
    }
}

#[test]
fn a_trace_without_steps_gives_no_picture_and_says_so() {
    // Nothing tells who launched the kernel.
    let place = Workplace::with(trace(&[operator("aten::mm", 0.0, 10.0), kernel("gemm", 1, 20.0, 100.0)]));
    let outcome = place.run(&PICTURE).exits_with(0);
    outcome.with_summary(&["--step_svg writes nothing: the trace has no steps"]);
    assert!(!place.path("steps.svg").exists());
}

#[test]
fn iterations_of_a_language_model_have_phase_and_tokens_and_those_of_others_no_such_columns() {
    let place = Workplace::with(trace(&steps()));
    for options in [&[][..], &["--inference_phase_analysis"], &["--iterations=0..3"]] {
        let sheets = place.sheets(options);
        let column = |name| sheets.column("iterations", name).into_iter().cloned().collect::<Vec<_>>();
        assert_eq!(column("phase"), ["Prefill", "Decode", "Decode", "Decode"], "{options:?}");
        assert_eq!(column("tokens"), [15_360, 15, 14, 13], "{options:?}");
        let of_groups: Vec<_> = sheets.column("iteration_groups", "phase").into_iter().collect();
        assert!(of_groups.contains(&&"Decode".into()) || of_groups.contains(&&"Prefill + Decode".into()));
    }
    let training = steps().join("\n").replace("execute_context_", "ProfilerStep#1");
    let training = Workplace::with(trace(&training.lines().map(str::to_owned).collect::<Vec<_>>()));
    let sheets = training.sheets("");
    assert!(sheets.has("iterations") && !sheets.columns("iterations").contains(&"phase"));
}

#[test]
fn without_phases_the_picture_is_of_iterations() {
    let place = Workplace::with_generated();
    place.run("report trace.json.gz --step_svg=steps.svg -q").exits_with(0);
    let svg = String::from_utf8(place.bytes("steps.svg")).unwrap();
    for text in ["Iterations · trace.json.gz", "steady", "ProfilerStep by recorded steps"] {
        assert!(svg.contains(text), "{text}");
    }
}

#[test]
fn a_picture_of_steps_that_are_not_looked_for_is_refused_before_reading() {
    let place = Workplace::with("");
    for method in ["--phase_detection_method=gemm_params", "--phase_legacy"] {
        let arguments = ["report", "no.json", "--inference_phase_analysis", "--step_svg=s.svg", method];
        place.run(&arguments).exits_with(2).with_error(&["--step_svg", "steps", "hybrid"]);
    }
    let nowhere = ["report", "no.json", "--inference_phase_analysis", "--step_svg=no/such/s.svg"];
    place.run(&nowhere).exits_with(1).with_error(&["cannot write", "its directory does not exist"]);
}

#[test]
fn without_device_work_the_picture_has_the_steps_of_the_host_and_says_so() {
    let events: Vec<String> = (0..4)
        .flat_map(|step| {
            let at = 100.0 * f64::from(step);
            let name = format!("ProfilerStep#{step}");
            [annotation(&name, at, 90.0), operator("aten::mm", at + 1.0, 80.0)]
        })
        .collect();
    let place = Workplace::with(trace(&events));
    place.run("report trace.json --step_svg=steps.svg -q").exits_with(0);
    let svg = String::from_utf8(place.bytes("steps.svg")).unwrap();
    let expected = ["steady 4 steps · 100.0%", "time on the host (ms)", "share of the host", "on the host."];
    for text in expected {
        assert!(svg.contains(text), "no {text:?} in {svg}");
    }
    assert!(!svg.contains("device"), "{svg}");
}
