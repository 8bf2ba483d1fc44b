//! Recorded steps, alone and put together.

use inference_phase::Phase;
use inference_phase::split::{RegionRule, SplitOptions, WindowOptions};
use trace_ingest::Trace;

use crate::split::composite::{DECODE, MIXED, annotated, composite, parsed, recorded};
use crate::split::splitting::{SINGLE_STEPS, Split, split_file, split_text};

/// Entries, device events, span and busy time in µs.
fn figures(split: &Split) -> Vec<(u64, usize, f64, f64)> {
    let rounded = |time: f64| (time * 10.0).round() / 10.0;
    split
        .details
        .iter()
        .map(|d| (d.entries, d.device_events, rounded(d.device_span), rounded(d.device_busy)))
        .collect()
}

/// Every event and arrow of a trace, times absolute.
fn content(trace: &Trace) -> Vec<String> {
    let events = trace.events();
    let event = |id| {
        format!(
            "{} {} {:?} {} {} {:?} {:?} {:?}",
            trace.name(id),
            trace.category_name(events.category(id)),
            trace.tracks().get(events.track(id)),
            events.start(id) + trace.origin(),
            events.duration(id),
            events.correlation(id),
            events.arguments().geometry.get(id.index()),
            trace.argument(id, |signature| signature.dims),
        )
    };
    let arrow = |flow| format!("{flow:?}");
    events.ids().map(event).chain(trace.flows().iter().map(arrow)).collect()
}

#[test]
fn a_trace_of_one_step_is_split_into_itself() {
    for file in [DECODE, MIXED] {
        let Some(path) = recorded(file) else { continue };
        let split = split_file(&path, &SINGLE_STEPS);
        assert_eq!(split.details.len(), 1);
        let original = split.tree.trace();
        assert_eq!(content(&split.read(0)), content(original));
        assert_eq!(split.read(0).facts(), original.facts());
        assert!(split.read(0).warnings().is_empty());
    }
}

#[test]
fn a_decode_step_has_known_figures_and_name() {
    let Some(path) = recorded(DECODE) else { return };
    let split = split_file(&path, &SINGLE_STEPS);
    assert_eq!(figures(&split), [(2058, 558, 473_749.9, 9778.6)]);
    assert_eq!(
        split.paths()[0].file_name().unwrap().to_str().unwrap(),
        "sglang_Qwen3-8B_decode_annotation_iteration_0_\
         execute_32_context_0_sq0sk0sqsq0sqsk0_generation_32_sq32sk32785sqsq32sqsk32785.json.gz"
    );
    let csv = std::fs::read_to_string(split.directory.path().join("execution_details.csv")).unwrap();
    let row = csv.lines().nth(1).unwrap();
    assert!(row.ends_with(".json.gz,2058,558,473749.94,9778.61,0,0,1,32,32,1"), "{csv}");
}

#[test]
fn steps_of_a_composite_are_the_traces_that_it_was_made_of() {
    let (Some(decode), Some(mixed)) = (recorded(DECODE), recorded(MIXED)) else { return };
    let (decode, mixed) = (parsed(&decode), parsed(&mixed));
    let split = split_text("B", composite(&[&mixed, &decode, &decode, &decode]).as_bytes(), &SINGLE_STEPS);
    let decode_step = (2058, 558, 473_749.9, 9778.6);
    assert_eq!(figures(&split)[1..], [decode_step; 3]);
    assert_eq!((figures(&split)[0].0, figures(&split)[0].1), (19289, 423));
    assert_eq!(split.membership.unassigned_device_events, 0);
    let total: u64 = split.details.iter().map(|details| details.entries).sum();
    assert_eq!(total, u64::from(split.tree.trace().entries()));
}

#[test]
fn steps_that_nothing_annotates_are_those_that_the_calls_show() {
    let Some(path) = recorded(DECODE) else { return };
    let mut decode = parsed(&path);
    let events = decode["traceEvents"].as_array_mut().unwrap();
    events.retain(|event| event["cat"] != "user_annotation");
    let split = split_text("t", composite(&[&decode, &decode, &decode]).as_bytes(), &SINGLE_STEPS);
    let figures: Vec<_> = figures(&split).into_iter().map(|(_, events, _, busy)| (events, busy)).collect();
    assert_eq!(figures, [(558, 9778.6); 3]);
    assert!(split.steps.iter().all(|step| step.annotation.is_none() && step.work.phase == Phase::Decode));
    assert_eq!(split.plan.outputs[2].path.to_str(), Some("t_annotation_iteration_2.json.gz"));
}

#[test]
fn the_steady_state_after_a_prefill_is_decode() {
    let Some(path) = recorded(DECODE) else { return };
    let decode = parsed(&path);
    let prefill = annotated(
        &decode,
        "execute_15360_context_15(sq15360sk15360sqsq15728640sqsk15728640)_generation_0(sq0sk0sqsq0sqsk0)",
    );
    let parts: Vec<_> = std::iter::once(&prefill).chain(std::iter::repeat_n(&decode, 20)).collect();
    let window = WindowOptions { length: 8, load: None };
    for (region_rule, region) in [(RegionRule::Counted, 1..20), (RegionRule::Consecutive, 1..21)] {
        let options = SplitOptions { steady_windows: Some(window), region_rule, ..SplitOptions::default() };
        let split = split_text("C_sgl_1p20d", composite(&parts).as_bytes(), &options);
        assert_eq!(split.plan.regions, [region]);
        assert_eq!(split.plan.missing, ["prefilldecode_steady_state"]);
        let steps: Vec<_> = split.plan.outputs.iter().map(|output| output.steps.clone()).collect();
        assert_eq!(steps, [[1, 2, 3, 4, 5, 6, 7, 8]; 2]);
        assert_eq!(
            split.paths()[0].file_name().unwrap().to_str().unwrap(),
            "mixed_steady_state_prefill_0_prefilldecode_0_decode_8_bs32_conc32_C_sgl_1p20d.json.gz"
        );
        assert_eq!(figures(&split), [(16464, 4464, 3_789_999.5, 78228.9); 2]);
    }
}
