//! Small traces, written event by event. Times are in µs.

pub(crate) fn trace(events: &[String]) -> String {
    format!("{{\"schemaVersion\": 1, \"traceEvents\": [\n{}\n]}}\n", events.join(",\n"))
}

fn span(category: &str, name: &str, thread: &str, start: f64, duration: f64, arguments: &str) -> String {
    format!(
        r#"{{"ph": "X", "cat": "{category}", "name": "{name}", {thread}, "ts": {start}, "dur": {duration}, "args": {{{arguments}}}}}"#
    )
}

const HOST: &str = r#""pid": 1, "tid": 1"#;

pub(crate) fn operator(name: &str, start: f64, duration: f64) -> String {
    span("cpu_op", name, HOST, start, duration, r#""External id": 3, "Input Dims": [[2, 3]]"#)
}

/// An operator with arguments as the profiler records them, without the braces around them.
pub(crate) fn operator_with(name: &str, start: f64, duration: f64, arguments: &str) -> String {
    span("cpu_op", name, HOST, start, duration, arguments)
}

pub(crate) fn python_frame(name: &str, start: f64, duration: f64) -> String {
    span("python_function", name, HOST, start, duration, "")
}

pub(crate) fn launch(correlation: u32, start: f64) -> String {
    let arguments = format!(r#""correlation": {correlation}"#);
    span("cuda_runtime", "cudaLaunchKernel", HOST, start, 1.0, &arguments)
}

/// A call of the runtime with arguments as the profiler records them, without the braces around them.
pub(crate) fn runtime_call(name: &str, start: f64, arguments: &str) -> String {
    span("cuda_runtime", name, HOST, start, 1.0, arguments)
}

/// A span that the program itself named.
pub(crate) fn annotation(name: &str, start: f64, duration: f64) -> String {
    span("user_annotation", name, HOST, start, duration, "")
}

pub(crate) fn kernel(name: &str, correlation: u32, start: f64, duration: f64) -> String {
    kernel_on_stream(7, name, correlation, start, duration)
}

pub(crate) fn kernel_on_stream(
    stream: u32,
    name: &str,
    correlation: u32,
    start: f64,
    duration: f64,
) -> String {
    let arguments = format!(r#""device": 0, "stream": {stream}, "correlation": {correlation}"#);
    span("kernel", name, &format!(r#""pid": 0, "tid": {stream}"#), start, duration, &arguments)
}

/// A kernel with arguments as the profiler records them, behind those that every kernel has.
pub(crate) fn kernel_with(
    name: &str,
    correlation: u32,
    start: f64,
    duration: f64,
    arguments: &str,
) -> String {
    let arguments = format!(r#""device": 0, "stream": 7, "correlation": {correlation}, {arguments}"#);
    span("kernel", name, r#""pid": 0, "tid": 7"#, start, duration, &arguments)
}

/// One operator that launches one kernel of 100 µs.
pub(crate) fn one_operator() -> Vec<String> {
    vec![operator("aten::mm", 0.0, 10.0), launch(1, 2.0), kernel("gemm", 1, 20.0, 100.0)]
}

/// `one_operator` and one more event or other text in the event list.
pub(crate) fn one_operator_and(text: &str) -> String {
    let mut events = one_operator();
    events.push(text.to_string());
    trace(&events)
}
