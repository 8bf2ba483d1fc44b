//! Which events a step's file has.

use std::collections::HashMap;
use std::fmt::Write as _;

use inference_phase::split::SplitOptions;
use trace_ingest::Category;

use crate::split::composite::{DECODE, MIXED, composite, parsed, recorded};
use crate::split::splitting::{SINGLE_STEPS, Split, split_text};

/// A trace in the making; times in µs.
#[derive(Default)]
struct Recording(Vec<String>);

impl Recording {
    fn span(
        &mut self,
        category: &str,
        name: &str,
        row: (i64, i64),
        start: f64,
        duration: f64,
        arguments: &str,
    ) {
        let (pid, tid) = row;
        self.0.push(format!(
            r#"{{"ph":"X","cat":"{category}","name":"{name}","pid":{pid},"tid":{tid},"ts":{start},"dur":{duration},"args":{{{arguments}}}}}"#
        ));
    }

    fn step(&mut self, thread: i64, start: f64, duration: f64) {
        let name = "execute_8_context_0(sq0sk0sqsq0sqsk0)_generation_8(sq8sk80sqsq8sqsk80)";
        let id = format!(r#""External id":{}"#, self.0.len());
        self.span("user_annotation", name, (1, thread), start, duration, &id);
    }

    fn launch(&mut self, thread: i64, correlation: i64, start: f64) {
        let id = format!(r#""correlation":{correlation}"#);
        self.span("cuda_runtime", "cudaLaunchKernel", (1, thread), start, 2.0, &id);
        self.0.push(format!(
            r#"{{"ph":"s","cat":"ac2g","name":"ac2g","id":{correlation},"pid":1,"tid":{thread},"ts":{start}}}"#
        ));
    }

    fn kernel(&mut self, correlation: i64, start: f64) {
        let id = format!(r#""correlation":{correlation}"#);
        self.span("kernel", &format!("k{correlation}"), (0, 7), start, 8.0, &id);
        self.0.push(format!(
            r#"{{"ph":"f","cat":"ac2g","name":"ac2g","id":{correlation},"pid":0,"tid":7,"ts":{start},"bp":"e"}}"#
        ));
    }

    fn other(&mut self, text: &str) {
        self.0.push(text.to_string());
    }

    fn split(&self) -> Split {
        let text = format!("{{\"traceEvents\":[{}]}}", self.0.join(",\n"));
        split_text("t", text.as_bytes(), &SINGLE_STEPS)
    }
}

#[test]
fn a_step_has_its_device_events_wherever_they_are_in_time_and_none_of_its_neighbours() {
    let mut recording = Recording::default();
    for step in 0..16 {
        let start = 1000.0 + 100.0 * f64::from(step);
        recording.step(1, start, 90.0);
        for kernel in 0..2 {
            let (id, at) = (i64::from(2 * step + kernel), start + 10.0 * f64::from(kernel));
            recording.launch(1, id, at + 1.0);
            recording.kernel(id, at + 5000.0);
        }
    }
    let split = recording.split();
    assert_eq!(split.details.len(), 16);
    for details in &split.details {
        assert_eq!((details.device_events, details.entries), (2, 9));
        assert_eq!((details.device_span, details.device_busy), (18.0, 16.0));
    }
    let range = SplitOptions { range: Some(0..16), divide_phases: Some(32), ..SplitOptions::default() };
    let text = format!("{{\"traceEvents\":[{}]}}", recording.0.join(",\n"));
    let whole = split_text("t", text.as_bytes(), &range);
    assert_eq!((whole.details[0].device_events, whole.details[0].device_busy), (32, 256.0));
}

#[test]
fn other_threads_and_events_that_reach_over_the_end_are_in_no_step() {
    let mut recording = Recording::default();
    recording.step(1, 1000.0, 100.0);
    recording.span("cpu_op", "inside", (1, 1), 1000.0, 100.0, "");
    recording.span("cpu_op", "reaches over", (1, 1), 1050.0, 51.0, "");
    recording.span("cpu_op", "elsewhere", (1, 2), 1010.0, 5.0, "");
    recording.launch(2, 5, 1020.0);
    recording.kernel(5, 1030.0);
    recording
        .other(r#"{"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":1,"ts":1040,"s":"t"}"#);
    recording.other(r#"{"ph":"s","cat":"fwdbwd","name":"forward","id":5,"pid":1,"tid":1,"ts":1045}"#);
    recording.other(r#"{"ph":"f","cat":"fwdbwd","name":"backward","id":5,"pid":1,"tid":2,"ts":1046}"#);
    recording.other(r#"{"ph":"C","name":"counter","pid":1,"tid":1,"ts":2040,"args":{}}"#);
    let split = recording.split();
    assert_eq!(split.names(0)[1..], ["inside", "[memory]", "forward"]);
    assert_eq!(split.membership.unassigned_device_events, 1);
}

#[test]
fn of_steps_that_touch_a_moment_between_them_belongs_to_the_later() {
    let mut recording = Recording::default();
    recording.step(1, 1000.0, 100.0);
    recording.step(1, 1100.0, 100.0);
    recording.span("cpu_op", "between", (1, 1), 1100.0, 0.0, "");
    recording.span("cpu_op", "last", (1, 1), 1090.0, 10.0, "");
    let split = recording.split();
    assert_eq!(
        (&split.names(0)[1..], &split.names(1)[1..]),
        (&["last".to_string()][..], &["between".to_string()][..])
    );
}

#[test]
fn the_device_range_of_an_annotation_goes_with_it() {
    let mut recording = Recording::default();
    recording.step(1, 1000.0, 100.0);
    recording.span("gpu_user_annotation", "on the device", (0, 7), 5000.0, 10.0, r#""External id":0"#);
    recording.span("gpu_user_annotation", "of another", (0, 7), 5000.0, 10.0, r#""External id":77"#);
    let split = recording.split();
    assert_eq!(split.names(0)[1..], ["on the device"]);
    assert_eq!(split.details[0].device_events, 0);
}

#[test]
fn passes_of_a_loop_are_the_steps_where_nothing_is_annotated() {
    let mut recording = Recording::default();
    recording.span("python_function", "main", (1, 1), 0.0, 9000.0, r#""Python id":1"#);
    for pass in 0..4 {
        let start = 1000.0 + 1000.0 * f64::from(pass);
        recording.span("cpu_op", "forward", (1, 1), start, 100.0, "");
        recording.launch(1, i64::from(pass), start + 10.0);
        recording.kernel(i64::from(pass), start + 20.0);
        recording.span("cpu_op", "backward", (1, 1), start + 200.0, 100.0, "");
    }
    let split = recording.split();
    assert_eq!(split.details.len(), 4);
    assert_eq!(split.paths()[2].file_name().unwrap().to_str().unwrap(), "t_annotation_iteration_2.json.gz");
    for output in 0..4 {
        let kernel = format!("k{output}");
        let names = ["forward", "cudaLaunchKernel", "ac2g", &kernel, "ac2g", "backward"];
        assert_eq!(split.names(output), names.map(str::to_string));
    }
}

/// Device events of a step's file and of the whole trace, each with how often it is there.
fn device_events(trace: &trace_ingest::Trace, counts: &mut HashMap<String, usize>) {
    let events = trace.events();
    for event in events.ids().filter(|&event| events.category(event).is_device()) {
        let mut key = trace.name(event).to_string();
        let start = events.start(event) + trace.origin();
        let _ = write!(key, " {start} {:?}", events.correlation(event));
        *counts.entry(key).or_default() += 1;
    }
}

#[test]
fn every_device_event_that_a_step_of_the_corpus_launched_is_in_one_file_of_a_step() {
    let (Some(decode), Some(mixed)) = (recorded(DECODE), recorded(MIXED)) else { return };
    let (decode, mixed) = (parsed(&decode), parsed(&mixed));
    let text = composite(&[&decode, &mixed, &decode, &mixed, &decode]);
    let split = split_text("t", text.as_bytes(), &SINGLE_STEPS);
    let (mut in_files, mut in_trace) = (HashMap::new(), HashMap::new());
    (0..split.details.len()).for_each(|output| device_events(&split.read(output), &mut in_files));
    device_events(split.tree.trace(), &mut in_trace);
    assert_eq!(in_trace.len(), 3 * 558 + 2 * 423);
    assert!(in_files == in_trace);

    let tree = &split.tree;
    let events = tree.trace().events();
    for event in events.ids().filter(|&event| events.category(event).is_device()) {
        let launch = tree.launch(event).unwrap();
        let step = &split.steps[split.membership.step_of(event).unwrap()];
        assert!(step.start <= events.start(launch) && events.end(launch) <= step.end);
        assert_eq!(events.category(step.annotation.unwrap()), Category::USER_ANNOTATION);
    }
}
