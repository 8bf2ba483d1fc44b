use super::*;
use crate::hand_made::{Line, conventions, names, report, table};

/// Upper-case letters are operations, all else are signposts.
fn lines(text: &'static str) -> Vec<Line> {
    let is_op = |name: &str| name.chars().all(|c| c.is_ascii_uppercase());
    text.split_whitespace()
        .map(|name| if is_op(name) { Line::op(name) } else { Line::signpost(name) })
        .collect()
}

fn options(start: Option<&str>, end: Option<&str>) -> MetalOptions {
    MetalOptions {
        start_signpost: start.map(str::to_owned),
        end_signpost: end.map(str::to_owned),
        ..MetalOptions::default()
    }
}

fn shown(text: &'static str, options: &MetalOptions) -> (String, Vec<MetalNotice>) {
    let report = report(&lines(text), options.clone());
    let notices = report
        .notices
        .iter()
        .filter(|notice| {
            !matches!(notice, MetalNotice::ChipGuessed { .. } | MetalNotice::Unclassified { .. })
        })
        .cloned()
        .collect();
    (names(&report), notices)
}

#[test]
fn windows_between_signposts() {
    const RUNS: &str = "P run A B end run C D end E";
    // Start, end, what tt-perf-report shows, what is shown.
    for (text, start, end, theirs, ours) in [
        (RUNS, None, None, "C D E", "E"),
        (RUNS, Some("run"), Some("end"), "A B", "A B"),
        (RUNS, Some("run"), Some("run"), "A B", "A B"),
        (RUNS, Some("end"), Some("end"), "C D", "C D"),
        (RUNS, None, Some("run"), "P", "P"),
        (RUNS, Some("end"), None, "C D E", "C D E"),
        ("P warm A run B run C D", None, None, "B C D", "C D"),
        ("A B finished", None, None, "", "A B"),
        ("P start A B finished", None, None, "", "A B"),
        ("P start A mid B finished over", None, None, "", "B"),
        ("P end Q run A B end C", Some("run"), Some("end"), "", "A B"),
        ("A B", None, None, "A B", "A B"),
        ("A run B", Some("nowhere"), None, "B", "B"),
        ("A run B", Some("run"), Some("run"), "B", "B"),
    ] {
        for (are_theirs, expected) in [(true, theirs), (false, ours)] {
            let options = MetalOptions { conventions: conventions(are_theirs), ..options(start, end) };
            assert_eq!(shown(text, &options).0, expected, "{text}: {start:?} {end:?}, theirs {are_theirs}");
        }
    }
}

#[test]
fn a_start_may_be_any_occurrence() {
    let text = "P run A run B end run C end";
    for (occurrence, expected) in [(None, "A"), (Some(1), "A"), (Some(2), "B"), (Some(3), "C")] {
        let options = MetalOptions { occurrence, ..options(Some("run"), Some("run")) };
        assert_eq!(shown(text, &options).0, expected, "{occurrence:?}");
    }
    let (_, notices) = shown(text, &MetalOptions { occurrence: Some(4), ..options(Some("run"), None) });
    let missing = MetalNotice::SignpostNotFound { name: "run".to_owned(), is_end: false, occurrences: 3 };
    assert!(notices.contains(&missing), "{notices:?}");
}

#[test]
fn stepping_back_says_from_where_to_where() {
    let (_, notices) = shown("P start A B finished", &MetalOptions::default());
    let mark = |name: &str, id| SignpostMark { name: name.to_owned(), id };
    assert_eq!(
        notices,
        [
            MetalNotice::SteppedBack { empty: mark("finished", 6), taken: Some(mark("start", 3)) },
            MetalNotice::Window { after: Some(mark("start", 3)), before: None, file: None, asked: false },
        ]
    );
    let (shown, notices) = shown("A B finished", &MetalOptions::default());
    assert_eq!(shown, "A B");
    assert_eq!(notices, [MetalNotice::SteppedBack { empty: mark("finished", 4), taken: None }]);
    assert!(notices[0].to_string().contains("\"finished\" (ID 4)"));
}

#[test]
fn an_empty_window_that_was_asked_for_names_its_signposts() {
    let (shown, notices) = shown("A B finished", &options(Some("finished"), None));
    assert_eq!(shown, "");
    let after = Some(SignpostMark { name: "finished".to_owned(), id: 4 });
    assert_eq!(notices.last(), Some(&MetalNotice::EmptyWindow { after, before: None }));
}

#[test]
fn signposts_alone_and_nothing_at_all_are_told() {
    let (names, notices) = shown("run end", &MetalOptions::default());
    assert_eq!((names.as_str(), &notices[..]), ("", &[MetalNotice::OnlySignposts { signposts: 2 }][..]));
    let (names, notices) = shown("", &MetalOptions::default());
    assert_eq!((names.as_str(), &notices[..]), ("", &[MetalNotice::NothingLeft { of: 0 }][..]));
}

#[test]
fn signposts_are_kept_on_request_only() {
    let both = |ignore_signposts, print_signposts| MetalOptions {
        ignore_signposts,
        print_signposts,
        ..options(Some("end"), Some("end"))
    };
    let text = "P run A B end run C D end E";
    assert_eq!(shown(text, &both(false, true)).0, "run C D");
    assert_eq!(shown(text, &both(false, false)).0, "C D");
    assert_eq!(shown(text, &both(true, false)).0, text);
}

#[test]
fn files_are_cut_at_their_own_signposts() {
    let line =
        |file, time, line: Line| Line { file, device: line.device.map(|_| file), time: Some(time), ..line };
    let two = [
        line(0, 0, Line::op("P")),
        line(0, 10, Line::signpost("run")),
        line(0, 20, Line::op("A")),
        line(1, 1, Line::op("WARM")),
        line(1, 12, Line::signpost("run")),
        line(1, 21, Line::op("B")),
    ];
    let of = |lines: &[Line], are_theirs, start: Option<&str>| {
        names(&report(
            lines,
            MetalOptions {
                conventions: conventions(are_theirs),
                merge_devices: false,
                ..options(start, None)
            },
        ))
    };
    assert_eq!(of(&two, true, Some("run")), "WARM A B");
    assert_eq!(of(&two, false, Some("run")), "A B");
    assert_eq!(of(&two, false, None), "A B");
    let without: Vec<Line> =
        two.iter().copied().filter(|line| line.file == 0 || line.name != "run").collect();
    assert_eq!(of(&without, false, Some("run")), "A B", "cut at the time of the other file's signpost");
}

#[test]
fn order_is_that_of_time_and_stable_or_that_of_the_file() {
    let at = |name, time| Line { time: Some(time), ..Line::op(name) };
    let mut table = table(&[at("A", 5), at("B", 3), at("C", 5), at("D", 3), at("E", 0)]);
    table.rows[4].host_start = None;
    let order = |table: &OpsTable, tracing_mode| {
        let mut notices = Vec::new();
        let rows = window(table, &MetalOptions { tracing_mode, ..MetalOptions::default() }, &mut notices);
        (rows, notices)
    };
    assert_eq!(order(&table, false), (vec![1, 3, 0, 2, 4], Vec::new()));
    assert_eq!(order(&table, true), (vec![0, 1, 2, 3, 4], Vec::new()));
    table.has.host_start = false;
    assert_eq!(order(&table, false), (vec![0, 1, 2, 3, 4], vec![MetalNotice::NotSorted]));
}
