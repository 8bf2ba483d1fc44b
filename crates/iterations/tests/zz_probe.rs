use std::path::Path;
use iterations::{DetectOptions, Iterations};
use trace2tree::{TraceTree, TreeOptions};
#[test]
fn probe() {
    let Ok(list) = std::env::var("PROBE") else { return };
    for path in list.split_whitespace() {
        let options = trace_ingest::ReadOptions::default();
        let trace = match trace_ingest::read_path(Path::new(path), &options) { Ok(t) => t, Err(e) => { println!("{path}: {e}"); continue } };
        println!("=== {path} {} events", trace.events().len());
        let tree = TraceTree::build(trace, &TreeOptions { python_frames: true, ..Default::default() });
        let us = |t: i64| (tree.trace().to_microseconds(t)).round();
        for (what, o) in [("recorded", DetectOptions::default()),
            ("stripped", DetectOptions { use_recorded_steps: false, use_annotations: false, use_frames: true }),
            ("noframes", DetectOptions { use_recorded_steps: false, use_annotations: false, use_frames: false })] {
            let begin = std::time::Instant::now();
            let found = Iterations::detect(&tree, &o);
            println!("  {what}: {} {} ({:?} ms)", found.program(), found.reason(), begin.elapsed().as_millis());
            for level in found.levels() {
                let mark = if Some(level) == found.steps() { "STEPS" } else { "" };
                let n = level.iterations.len();
                let show: Vec<String> = level.iterations.iter().take(4).chain(level.iterations.iter().skip(4.max(n.saturating_sub(2)))).map(|i| format!("{}{}..{}{}", i.number.map_or(String::new(), |n| format!("#{n}:")), us(i.start), us(i.end), if i.whole {""} else {"~"})).collect();
                println!("     {mark} {} {:?} x{n} {} {:.2} {}", level.kind, level.name, level.evidence, level.confidence, show.join(" "));
            }
        }
    }
}
