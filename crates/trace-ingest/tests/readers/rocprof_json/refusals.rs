//! What is said of files that are no profile.

use trace_ingest::{IngestError, RecordingKind};

use super::{profile, read};

#[test]
fn the_error_names_what_is_missing_and_what_was_found() {
    const ROOT: &str = "missing 'rocprofiler-sdk-tool' key";
    for (text, missing, found) in [
        (r#"{"invalid":"data"}"#, ROOT, "a JSON object"),
        ("[]", ROOT, "a JSON list"),
        ("{}", ROOT, "a JSON object"),
        (r#"{"rocprofiler-"#, ROOT, "a JSON object"),
        ("hello", ROOT, "text in an unknown format"),
        (r#"{"invalid":{"rocprofiler-sdk-tool":[]}}"#, ROOT, "a JSON object that begins with invalid"),
        (r#"{"rocprofiler-sdk-tool":[]}"#, "'rocprofiler-sdk-tool' is an empty list", "rocprofiler-sdk-tool"),
        (r#"{"rocprofiler-sdk-tool":{}}"#, "'rocprofiler-sdk-tool' is not a list", "rocprofiler-sdk-tool"),
        (r#"{"rocprofiler-sdk-tool":[{}]}"#, "missing 'buffer_records'", "rocprofiler-sdk-tool"),
        (
            r#"{"rocprofiler-sdk-tool":[{"metadata":{}"#,
            "missing 'buffer_records': the text ends before it",
            "",
        ),
    ] {
        let error = read(text).map(|profile| profile.warnings).unwrap_err();
        let message = error.to_string();
        assert!(matches!(error, IngestError::NotRocprof { .. }), "{message}");
        assert!(message.contains("Not a valid rocprofv3 file: "), "{message}");
        assert!(message.contains(missing) && message.contains(found), "{text}: {message}");
    }
}

#[test]
fn a_trace_of_another_profiler_is_named() {
    for text in [
        r#"{"traceEvents":"nope"}"#,
        r#"{"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::mm","ts":1,"dur":1}]}"#,
    ] {
        let error = read(text).map(|profile| profile.warnings).unwrap_err();
        assert!(
            matches!(error, IngestError::OtherKind { found: RecordingKind::Trace, .. }),
            "{text}: {error}"
        );
    }
}

#[test]
fn a_profile_without_records_is_a_profile() {
    let empty = read(profile(r#""buffer_records":{}"#)).unwrap();
    assert_eq!((empty.dispatches.len(), empty.warnings.len()), (0, 0));
}

#[test]
fn a_chrome_trace_of_this_profiler_is_read() {
    let text = r#"{"traceEvents":[{"ph":"M","name":"process_name","pid":1,"args":{"name":"GPU"}},
        {"ph":"X","cat":"kernel_dispatch","name":"k.kd","pid":1,"tid":1,"ts":1,"dur":2,
         "args":{"agent":"Agent 2","begin_ns":"1000","end_ns":"3000","delta_ns":"2000","corr_id":"5"}}]}"#;
    let profile = read(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        profile.dispatches.iter().map(|one| (one.start.0, one.end.0)).collect::<Vec<_>>(),
        [(1000, 3000)]
    );
}
