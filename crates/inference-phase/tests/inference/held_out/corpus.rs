//! Recorded steps changed in the ways in which recordings differ: what was recorded, for how long, of how many ranks,
//! with which clocks; and put together in several orders.
//!
//! The corpus is not part of the repository; `testdata` says where it lies and what its absence means.

use crate::held_out::recorder::{Judged, judge};
use inference_phase::capture::{CaptureLibrary, merge};
use inference_phase::{DetectOptions, Phase, Steps};
use trace_ingest::{Category, EventArguments, EventId, ReadOptions, RowId, Signature, Trace, TraceBuilder};
use trace2tree::{TraceTree, TreeOptions};

const DECODE: &str = "sglang-qwen3-8b-decode/sglang_Qwen3-8B_decode.json.gz";
const MIXED: &str = "vllm-prefilldecode-piecewise/graph_execution.json.gz";

/// A recording with the phase of every device event as its annotations say.
struct Part {
    trace: Trace,
    truth: Vec<Option<Phase>>,
}

/// A recording of the corpus; `None` where it is absent.
fn part(name: &str) -> Option<Part> {
    let path = testdata::corpus(&format!("inference/{name}"))?;
    let trace = trace_ingest::read_path(&path, &ReadOptions::default()).unwrap();
    let tree = TraceTree::build(trace.clone(), &TreeOptions::default());
    let steps = Steps::detect(&tree, &DetectOptions::default());
    let truth =
        trace.events().ids().map(|event| steps.step_of(event).map(|_| steps.phase_of(event))).collect();
    Some(Part { trace, truth })
}

/// What is changed of a recording.
#[derive(Clone, Copy)]
struct Change {
    annotations: bool,
    frames: bool,
    /// Every so many operators lose their shapes; all for 1, none for 0.
    shapeless: usize,
    /// Parts of the host's time between which events are kept.
    kept: (f64, f64),
    /// Whether device events stay whose launch is cut off.
    orphans: bool,
    /// Added to processes and streams.
    process: i64,
    /// Added to device times.
    clock: i64,
}

const BARE: Change = Change {
    annotations: false,
    frames: false,
    shapeless: 0,
    kept: (0.0, 1.0),
    orphans: false,
    process: 0,
    clock: 0,
};
const FRAMES: Change = Change { frames: true, ..BARE };

#[derive(Default)]
struct Composite {
    builder: TraceBuilder,
    truth: Vec<(EventId, Option<Phase>)>,
    parts: i64,
    end: i64,
}

impl Composite {
    /// Adds a part after all others.
    fn then(&mut self, part: &Part, change: Change) -> &mut Self {
        let begin = if self.parts == 0 { 0 } else { self.end + 1_000_000 };
        self.at(begin, part, change);
        self
    }

    fn at(&mut self, begin: i64, Part { trace, truth }: &Part, change: Change) {
        self.parts += 1;
        let events = trace.events();
        let unit = trace.time_unit().per_microsecond() / 1000;
        let offset = self.parts * 10_000_000;
        let is_host = |event: &EventId| !events.category(*event).is_device();
        let first = events.ids().filter(is_host).map(|event| events.start(event)).min().unwrap();
        let last = events.ids().filter(is_host).map(|event| events.end(event)).max().unwrap();
        let at = |part: f64| first + ((last - first) as f64 * part) as i64;
        let kept = |event: EventId| (at(change.kept.0)..=at(change.kept.1)).contains(&events.start(event));
        let launches: std::collections::HashSet<i64> = events
            .ids()
            .filter(|event| is_host(event) && kept(*event))
            .filter_map(|event| events.correlation(event))
            .collect();
        for (place, event) in events.ids().enumerate() {
            let category = events.category(event);
            let device = category.is_device();
            let is_linked = events.correlation(event).is_some_and(|id| launches.contains(&id));
            let is_cut = if device { !is_linked && !change.orphans } else { !kept(event) };
            let is_annotation = trace.category_name(category).contains("annotation");
            if is_cut
                || (is_annotation && !change.annotations)
                || (category == Category::PYTHON_FUNCTION && !change.frames)
            {
                continue;
            }
            let track = trace.tracks().get(events.track(event));
            let (RowId::Number(pid), RowId::Number(tid)) = (track.pid, track.tid) else { continue };
            let has_shapes = change.shapeless == 0 || place % change.shapeless != 0;
            let signature = events.signature(event).filter(|_| has_shapes).map(|id| {
                let Signature { dims, types, strides, concrete } = trace.signatures().get(id);
                let value = |id: Option<_>| id.map(|id| trace.signatures().argument(id).clone());
                self.builder.signature([value(dims), value(types), value(strides), value(concrete)])
            });
            let arguments = EventArguments {
                correlation: events.correlation(event).map(|id| id + offset),
                external_id: events.external_id(event).map(|id| id + offset),
                signature,
                graph_node: events.arguments().graph_node.get(event.index()),
                ..EventArguments::default()
            };
            let start = begin + events.start(event) / unit + if device { change.clock } else { 0 };
            let duration = events.duration(event) / unit;
            self.end = self.end.max(begin + events.end(event) / unit);
            let track = self.builder.track(pid + change.process, tid);
            let category = self.builder.category(trace.category_name(category));
            let new = self.builder.event(category, trace.name(event), track, start, duration, arguments);
            if device {
                let is_known = is_linked && truth[event.index()].is_some();
                self.truth.push((new, truth[event.index()].filter(|_| is_known)));
            }
        }
    }

    fn judged(self) -> Judged {
        let tree = TraceTree::build(self.builder.finish(), &TreeOptions::default());
        judge(&tree, &self.truth, &DetectOptions::default())
    }
}

/// The two recordings in an order, all with one change.
fn ordered(parts: &[&Part], change: Change) -> Judged {
    let mut composite = Composite::default();
    for part in parts {
        composite.then(part, change);
    }
    composite.judged()
}

#[track_caller]
fn assert_right(judged: &Judged, what: &str) {
    eprintln!("{what}: right {:.5} balanced {:.5} wrong {:.5}", judged.right, judged.balanced, judged.wrong);
    assert!(judged.right >= 0.999 && judged.balanced >= 0.995, "{what}: {judged:#?}");
}

#[test]
fn recorded_steps_are_right_in_every_order() {
    let (Some(decode), Some(mixed)) = (part(DECODE), part(MIXED)) else { return };
    let (d, m) = (&decode, &mixed);
    let twenty: Vec<&Part> = std::iter::once(m).chain(std::iter::repeat_n(d, 20)).collect();
    for (name, parts) in [
        ("mixed, 3 decodes", vec![m, d, d, d]),
        ("3 decodes, mixed", vec![d, d, d, m]),
        ("in turn", vec![d, m, d, m, d, m]),
        ("mixed twice", vec![m, m]),
        ("decode twice", vec![d, d]),
        ("mixed, 20 decodes", twenty),
    ] {
        assert_right(&ordered(&parts, BARE), &format!("{name}, bare"));
        assert_right(&ordered(&parts, FRAMES), &format!("{name}, frames"));
        let annotated = ordered(&parts, Change { annotations: true, ..FRAMES });
        assert_eq!(annotated.exact, 1.0, "{name}: {annotated:#?}");
    }
}

#[test]
fn clocks_of_the_device_say_nothing() {
    let (Some(decode), Some(mixed)) = (part(DECODE), part(MIXED)) else { return };
    for clock in [-5_000_000_000, -300_000, 300_000, 5_000_000_000] {
        for change in [BARE, FRAMES] {
            assert_right(
                &ordered(&[&mixed, &decode, &decode, &decode], Change { clock, ..change }),
                &format!("clock {clock}"),
            );
        }
    }
}

#[test]
fn ranks_in_one_file_are_told_apart() {
    let (Some(decode), Some(mixed)) = (part(DECODE), part(MIXED)) else { return };
    for change in [BARE, FRAMES, Change { annotations: true, ..FRAMES }] {
        let other = Change { process: 100_000, ..change };
        let mut composite = Composite::default();
        composite.then(&mixed, change).then(&decode, change).then(&decode, change);
        composite.at(70_000, &mixed, other);
        let begin = composite.end + 500_000;
        composite.at(begin, &decode, other);
        assert_right(&composite.judged(), "two ranks");
        // One rank decodes while the other has prompts.
        let mut composite = Composite::default();
        composite.at(0, &mixed, change);
        composite.at(10_000, &decode, other);
        assert_right(&composite.judged(), "two ranks at different work");
    }
}

#[test]
fn recordings_that_begin_or_end_within_a_step_are_not_wrong() {
    let (Some(decode), Some(mixed)) = (part(DECODE), part(MIXED)) else { return };
    for (name, one) in [("decode", &decode), ("mixed", &mixed)] {
        for kept in [(0.0, 0.3), (0.0, 0.6), (0.0, 0.9), (0.2, 1.0), (0.5, 1.0), (0.85, 1.0), (0.3, 0.7)] {
            for change in [BARE, FRAMES] {
                for orphans in [false, true] {
                    let judged = ordered(&[one], Change { kept, orphans, ..change });
                    eprintln!(
                        "{name} {kept:?} {}: right {:.4} wrong {:.4}",
                        change.frames, judged.right, judged.wrong
                    );
                    assert!(judged.right.is_nan() || judged.wrong <= 0.001, "{name} {kept:?}: {judged:#?}");
                }
            }
        }
        // What is whole stays right.
        let mut composite = Composite::default();
        composite.then(one, Change { kept: (0.5, 1.0), ..BARE }).then(one, BARE).then(one, BARE);
        composite.then(one, Change { kept: (0.0, 0.5), ..BARE });
        assert_right(&composite.judged(), &format!("{name}, begun and ended within"));
    }
}

#[test]
fn recordings_with_fewer_shapes_are_not_wrong() {
    let (Some(decode), Some(mixed)) = (part(DECODE), part(MIXED)) else { return };
    for (name, parts) in [
        ("decode", vec![&decode]),
        ("mixed", vec![&mixed]),
        ("mixed, 3 decodes", vec![&mixed, &decode, &decode, &decode]),
        ("in turn", vec![&decode, &mixed, &decode, &mixed]),
    ] {
        for shapeless in [1, 2, 3, 5] {
            for change in [BARE, FRAMES] {
                let judged = ordered(&parts, Change { shapeless, ..change });
                eprintln!(
                    "{name} {shapeless} {}: right {:.4} wrong {:.4}",
                    change.frames, judged.right, judged.wrong
                );
                assert!(judged.wrong <= 0.001, "{name}, every {shapeless}. without shapes: {judged:#?}");
            }
        }
    }
}

#[test]
fn opened_graphs_change_no_phase() {
    for name in [DECODE, MIXED] {
        let Some(Part { trace, truth }) = part(name) else { continue };
        let truth: Vec<_> = trace.events().ids().zip(truth).filter(|(_, phase)| phase.is_some()).collect();
        let mut tree = TraceTree::build(trace, &TreeOptions::default());
        let reading = ReadOptions::default();
        let folder = name.split_once('/').unwrap().0;
        let Some(captures) = testdata::corpus(&format!("inference/{folder}/capture_traces")) else {
            continue;
        };
        merge(&mut tree, &mut CaptureLibrary::open(&captures, &reading).unwrap(), &reading);
        for (use_annotations, use_frames) in [(true, true), (false, true), (false, false)] {
            let options = DetectOptions { use_annotations, use_frames, ..DetectOptions::default() };
            assert_right(&judge(&tree, &truth, &options), &format!("{name} {options:?}"));
        }
    }
}
