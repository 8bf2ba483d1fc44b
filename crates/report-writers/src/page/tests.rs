use std::io::Read as _;

use flate2::read::GzDecoder;
use serde_json::Value;
use sheets::{Cell, Column, ColumnKind, Nested, Table, TableColumn, Unit};

use super::timeline::{BINS, LONGEST, MOST_EXACT};
use super::*;

const HOSTILE: &str = "</script></noscript><img src=x onerror=\"document.title='run'\">";

fn table(rows: usize) -> Table {
    let name = Column::text("name", "What ran.");
    let time = Column::new("time (µs)", ColumnKind::Number(Unit::Microseconds), "Its time.");
    let shape = Column::nested("shape", "Its shape.");
    let names =
        (0..rows).map(|row| Cell::from(if row == 0 { HOSTILE.to_owned() } else { format!("k{row}") }));
    let times = (0..rows).map(|row| if row == 1 { Cell::Missing } else { Cell::Number(row as f64 / 3.0) });
    let shapes =
        (0..rows).map(|row| Cell::from(Nested::Tuple(vec![Nested::Whole(row as i64), Nested::None])));
    let columns =
        vec![TableColumn::new(name, names), TableColumn::new(time, times), TableColumn::new(shape, shapes)];
    Table::new("kernels", columns).unwrap()
}

fn page() -> Page {
    let event = |start_ns, duration_ns, kind| LaneEvent { start_ns, duration_ns, kind, launch: None };
    let kind = |name: &str, category| EventKind { name: name.into(), category, place: "aten::mm".into() };
    Page {
        title: HOSTILE.into(),
        head: vec!["2 × GPU".into()],
        statements: vec!["bound by GEMM".into()],
        warnings: vec![PageWarning { severity: WarningSeverity::Warning, text: "no shapes".into() }],
        figures: vec![PageFigure { name: "busy".into(), value: "70%".into(), note: "of 1 µs".into() }],
        findings: vec![PageFinding {
            rule: "IDLE-SYNC".into(),
            rank: 1,
            title: "The host waits".into(),
            saving: Some(Saving { amount_us: 0.5, amount_pct: 50.0, low_us: 0.2, mid_us: 0.3, high_us: 0.4 }),
            doubts: vec![HOSTILE.into()],
            evidence: vec![Evidence { table: "kernels".into(), row: "k1".into(), text: String::new() }],
            ..PageFinding::default()
        }],
        bars: vec![StackedBars {
            title: "whole recording".into(),
            parts: vec!["GEMM".into(), "idle".into()],
            bars: vec![StackedBar::new("all", [(0, 700), (1, 300)], 1)],
            ..StackedBars::default()
        }],
        timeline: Some(Timeline {
            categories: vec!["GEMM".into(), "other".into()],
            kinds: vec![kind("unused", 1), kind(HOSTILE, 0), kind("copy", 1)],
            lanes: vec![
                Lane {
                    name: "stream 7".into(),
                    events: vec![event(300, 200, 2), event(0, 200, 1)],
                    ..Lane::default()
                },
                Lane { name: "stream 8".into(), events: vec![event(70_000, 1, 1)], ..Lane::default() },
            ],
            marks: vec![TimelineMark { name: "step 0".into(), start_ns: 0, end_ns: 500 }],
            ..Timeline::default()
        }),
        kinds: [("GEMM".to_owned(), PageKind { fill: "#0072b2".into(), letter: "G".into() })].into(),
        ..Page::default()
    }
}

fn html(page: &Page, tables: Vec<Table>) -> String {
    let mut out = Vec::new();
    page.write_to(&Report::new("r", tables).unwrap(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// What is between two marks, each time.
fn between<'t>(text: &'t str, from: &str, to: &str) -> Vec<&'t str> {
    text.split(from).skip(1).map(|rest| rest.split(to).next().unwrap()).collect()
}

fn slot(html: &str, name: &str) -> Vec<Vec<u8>> {
    let open = format!("<script type=\"application/gzip\" data-slot=\"{name}\">");
    let decode = |text: &&str| {
        let mut bytes = Vec::new();
        GzDecoder::new(BASE64.decode(text).unwrap().as_slice()).read_to_end(&mut bytes).unwrap();
        bytes
    };
    between(html, &open, "</script>").iter().map(decode).collect()
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

fn numbers(bytes: &[u8]) -> Vec<u64> {
    let (mut numbers, mut number, mut shift) = (Vec::new(), 0, 0);
    for byte in bytes {
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            numbers.push(number);
            (number, shift) = (0, 0);
        }
    }
    numbers
}

/// The page without the parts that have files and tests of their own.
#[test]
fn page_is_as_it_was() {
    let html = html(&page(), vec![table(2)]);
    let mut rest = html.replace(SCRIPT, "SCRIPT").replace(STYLE, "STYLE").replace(&policy(), "POLICY");
    rest = rest.replace(env!("CARGO_PKG_VERSION"), "VERSION");
    let open = "data-slot=\"";
    let (mut shape, mut parts) = (String::new(), rest.split(open));
    shape.push_str(parts.next().unwrap());
    for part in parts {
        let (name, after) = part.split_once("\">").unwrap();
        shape.push_str(&format!("{open}{name}\">DATA{}", &after[after.find('<').unwrap()..]));
    }
    let escaped =
        "&lt;/script&gt;&lt;/noscript&gt;&lt;img src=x onerror=&quot;document.title=&#39;run&#39;&quot;&gt;";
    let expected = format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="POLICY">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="tracelens VERSION">
<title>tracelens</title>
<style>STYLE</style>
</head>
<body>
<noscript>
<h1>{escaped}</h1>
<p>This page needs scripts for its charts and tables. What follows is its summary.</p>
<ul>
<li>2 × GPU</li>
<li>bound by GEMM</li>
</ul>
<ul>
<li>no shapes</li>
</ul>
<ul>
<li>busy: 70% of 1 µs</li>
</ul>
<ul>
<li>1. The host waits </li>
</ul>
<h2>whole recording</h2>
<svg viewBox="0 0 1000 40" width="100%" role="img" aria-label="parts as in the table">
<rect x="0.00" y="0" width="700.00" height="40" fill="{}"/>
<rect x="700.00" y="0" width="300.00" height="40" fill="{}"/>
</svg>
<table>
<tr><th>part</th><th>ms</th><th>share</th></tr>
<tr><td>GEMM</td><td>0.001</td><td>70.0%</td></tr>
<tr><td>idle</td><td>0.000</td><td>30.0%</td></tr>
</table>
</noscript>
<svg id="drawing" width="0" height="0" aria-hidden="true"></svg>
<script type="application/gzip" data-slot="page">DATA</script>
<script type="application/gzip" data-slot="events">DATA</script>
<script type="application/gzip" data-slot="tables">DATA</script>
<script type="application/gzip" data-slot="table">DATA</script>
<script>SCRIPT</script>
</body>
</html>
"#,
        "#0072b2", "#999999"
    );
    assert_eq!(shape, expected);
}

#[test]
fn the_policy_has_the_hashes_of_what_the_page_runs() {
    let html = html(&page(), Vec::new());
    let hash = |text: &str| format!("'sha256-{}'", BASE64.encode(Sha256::digest(text.as_bytes())));
    let script = *between(&html, "<script>", "</script>").first().unwrap();
    let style = *between(&html, "<style>", "</style>").first().unwrap();
    let policy = *between(&html, "Content-Security-Policy\" content=\"", "\"").first().unwrap();
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    assert!(policy.contains(&format!("script-src {};", hash(script))), "{policy}");
    assert!(policy.contains(&format!("style-src {};", hash(style))), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(html.matches("<script>").count(), 1, "one script that runs");
}

#[test]
fn nothing_in_the_page_makes_markup_of_text_or_asks_a_server() {
    for banned in [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "DOMParser",
        "createContextualFragment",
        "setHTML",
        "srcdoc",
        "eval",
        "new Function",
        "http:",
        "https:",
        "fetch(",
        "XMLHttpRequest",
        "WebSocket",
        "import(",
        "localStorage",
        "sessionStorage",
        "cookie",
        "@import",
        "url(",
    ] {
        assert!(!SCRIPT.contains(banned) && !STYLE.contains(banned), "{banned}");
    }
    // The element that holds the script must not end in it.
    assert!(!SCRIPT.contains("</") && !STYLE.contains("</"));
}

#[test]
fn hostile_names_are_data_and_never_markup() {
    let html = html(&page(), vec![table(3)]);
    assert!(!html.contains("<img") && !html.contains(HOSTILE));
    assert_eq!(html.matches("</noscript>").count(), 1);
    let slot = |name: &str| json(&slot(&html, name)[0]);
    assert_eq!(slot("page")["page"]["title"], HOSTILE);
    assert_eq!(slot("page")["timeline"]["kinds"][0]["name"], HOSTILE);
    assert_eq!(slot("table")["columns"][0]["cells"][0], HOSTILE);
}

#[test]
fn tables_are_whole_up_to_the_limit() {
    let of = |rows: usize| json(&slot(&html(&page(), vec![table(rows)]), "table")[0]);
    let small = of(4);
    assert_eq!(small["left_out"], 0);
    assert_eq!(small["columns"][1]["cells"], serde_json::json!([0.0, null, 2.0 / 3.0, 1.0]));
    assert_eq!(small["columns"][2]["cells"][3], serde_json::json!([3, null]));
    assert_eq!(small["columns"][1]["unit"], "µs");
    let large = of(MOST_ROWS + 7);
    assert_eq!(large["left_out"], 7);
    assert_eq!(large["columns"][0]["cells"].as_array().unwrap().len(), MOST_ROWS);
    let contents = json(&slot(&html(&page(), vec![table(MOST_ROWS + 7)]), "tables")[0]);
    assert_eq!(contents, serde_json::json!([{"name": "kernels", "rows": MOST_ROWS + 7}]));
}

#[test]
fn events_stand_by_lane_and_start() {
    let html = html(&page(), Vec::new());
    let header = &json(&slot(&html, "page")[0])["timeline"];
    // Kinds that no event has are left out.
    assert_eq!(header["kinds"].as_array().unwrap().len(), 2);
    assert_eq!(header["exact"], true);
    let events = numbers(&slot(&html, "events")[0]);
    assert_eq!(events, [2, 0, 300, 200, 200, 0, 1, 1, 70_000, 1, 0]);
}

#[test]
fn launches_stand_behind_the_events_of_their_lane() {
    let launch = |start_ns| Some(Launch { host: 2, start_ns });
    let event = |start_ns, launch| LaneEvent { start_ns, duration_ns: 5, kind: 0, launch };
    let events = vec![event(10, launch(4)), event(20, None), event(30, launch(33))];
    let kinds = vec![EventKind { name: "k".into(), category: 0, place: String::new() }];
    let host = Lane { name: "main".into(), kind: LaneKind::Host, events: vec![event(0, None)] };
    let lanes = vec![Lane { name: "s".into(), events, ..Lane::default() }, host];
    let timeline = Timeline { categories: vec!["GEMM".into()], kinds, lanes, ..Timeline::default() };
    let html = html(&Page { timeline: Some(timeline), ..Page::default() }, Vec::new());
    let header = &json(&slot(&html, "page")[0])["timeline"];
    assert_eq!(header["lanes"][0]["linked"], true);
    assert_eq!(header["lanes"][1]["kind"], "host");
    let events = numbers(&slot(&html, "events")[0]);
    // Number, starts, lengths, kinds; then the thread with the distance: 6 before, nothing, 3 after.
    assert_eq!(events[..10], [3, 10, 10, 10, 5, 5, 5, 0, 0, 0]);
    assert_eq!(events[10..15], [3, 12, 0, 3, 5]);
    assert_eq!(events[15..], [1, 0, 5, 0]);
}

#[test]
fn a_counter_keeps_the_largest_value_of_a_moment_and_where_it_ends() {
    let values = vec![(0, 1.0), (1, 5.0), (2, 2.0), (100, 2.0), (200, 0.0)];
    let counter = Counter::new("queue", values, 10 * BINS);
    assert_eq!(counter.times_ns, [0, 2, 200]);
    assert_eq!(counter.values, [5.0, 2.0, 0.0]);
}

#[test]
fn beyond_the_limit_moments_are_summed_up_and_the_longest_events_stay() {
    let events = |count: usize| {
        let event = |at: usize| LaneEvent {
            start_ns: at as i64 * 10,
            duration_ns: if at == 5 { 9 } else { 4 },
            kind: at % 2,
            launch: None,
        };
        (0..count).map(event).collect()
    };
    let kinds =
        (0..2).map(|category| EventKind { name: format!("k{category}"), category, place: String::new() });
    let timeline = |count: usize| Timeline {
        categories: vec!["GEMM".into(), "other".into()],
        kinds: kinds.clone().collect(),
        // One idle time stands between very many events, and stays one.
        lanes: vec![
            Lane { name: "s".into(), events: events(count), ..Lane::default() },
            Lane {
                name: "idle".into(),
                kind: LaneKind::Idle,
                events: vec![LaneEvent { start_ns: 4, duration_ns: 3, kind: 1, launch: None }],
            },
        ],
        ..Timeline::default()
    };
    let page = |count: usize| Page { timeline: Some(timeline(count)), ..Page::default() };
    let count = MOST_EXACT + 1;
    let html = html(&page(count), Vec::new());
    let header = &json(&slot(&html, "page")[0])["timeline"];
    assert_eq!((&header["exact"], &header["events"]), (&false.into(), &count.into()));
    let numbers = numbers(&slot(&html, "events")[0]);
    assert_eq!(numbers[0] as usize, LONGEST);
    assert!(numbers[1 + LONGEST..1 + 2 * LONGEST].contains(&9), "the longest is there");
    let (idle, bins) = numbers[1 + 3 * LONGEST..].split_at(4);
    assert_eq!(idle, [1, 4, 3, 1]);
    assert_eq!(
        header["lanes"][1],
        serde_json::json!({"name": "idle", "kind": "idle", "exact": true, "linked": false})
    );
    let mut bins = bins.iter().copied();
    let mut next = || bins.next().unwrap();
    let mut sum = 0;
    assert_eq!(next(), 2, "categories");
    for category in 0..2 {
        assert_eq!(next(), category);
        let used = next();
        assert!(used <= BINS as u64);
        for _ in 0..used {
            next();
            sum += next();
        }
    }
    assert_eq!(sum, 4 * count as u64 + 5, "no time is lost");
    assert_eq!(bins.next(), None, "only lanes that are not exact have bins");
    let exact = slot(&self::html(&page(MOST_EXACT), Vec::new()), "events");
    assert_eq!(self::numbers(&exact[0]).len(), 1 + 3 * MOST_EXACT + 4);
}

#[test]
fn parts_add_up_to_their_bar_in_any_unit() {
    // Thirds of a nanosecond in picoseconds.
    let bar = StackedBar::new("b", [(0, 1_333), (1, 1_333), (2, 1_334), (3, 500)], 1_000);
    assert_eq!(bar.total_ns, 4);
    assert_eq!(bar.times.iter().map(|(_, time)| time).sum::<i64>(), bar.total_ns);
    assert_eq!(bar.times, [(0, 1), (1, 1), (2, 2), (3, 0)]);
}

#[test]
fn the_same_page_is_the_same_bytes_on_any_number_of_threads() {
    let tables = || vec![table(300), Table::new("other", Vec::new()).unwrap()];
    let written = |threads: usize| {
        let mut out = Vec::new();
        let report = Report::new("r", tables()).unwrap().with_threads(threads);
        page().write_to(&report, &mut out).unwrap();
        out
    };
    assert_eq!(written(1), written(4));
}
