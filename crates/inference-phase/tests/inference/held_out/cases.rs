//! The table of cases and what is asked of each.

use crate::held_out::recorder::{Judged, Recorded, Recorder};
use inference_phase::DetectOptions;

/// What a trace without annotations has to give.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Blind {
    /// The gates: 99.9% of the device time on the right side, 99.5% as the mean over the sides.
    Right,
    /// This part of the device time at least on the right side, for the reason given.
    AtLeast(f64, &'static str),
    /// At most this part on the wrong side, for the reason given.
    Guess(f64, &'static str),
    /// Nothing wrong, but it need not be known, for the reason given.
    Undecidable(&'static str),
}

/// A kind of trace.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) record: fn(&mut Recorder),
    /// With the Python frames of the engine.
    pub(crate) framed: Blind,
    /// Without.
    pub(crate) bare: Blind,
}

/// A case that has to be right in every mode.
pub(crate) const fn right(name: &'static str, record: fn(&mut Recorder)) -> Case {
    Case { name, record, framed: Blind::Right, bare: Blind::Right }
}

fn judged(case: &Case, recorded: Recorded) -> Judged {
    let mut recorder = Recorder::new(recorded);
    (case.record)(&mut recorder);
    recorder.judged(&DetectOptions::default())
}

fn is_met(judged: &Judged, asked: Blind) -> bool {
    match asked {
        Blind::Right => judged.right >= 0.999 && judged.balanced >= 0.995,
        Blind::AtLeast(part, _) => judged.right >= part,
        Blind::Guess(part, _) => judged.wrong <= part,
        Blind::Undecidable(_) => judged.wrong <= 0.001,
    }
}

/// Checks all cases and names every one that is not as asked.
pub(crate) fn check(cases: &[Case], are_annotated: bool) {
    let mut failures = String::new();
    for case in cases {
        let without_shapes = Blind::Undecidable("names and graphs alone tell some engines' steps apart");
        let by_time = Blind::Guess(0.05, "a short prompt takes as long as a step of decode of a large batch");
        let of = |annotations, frames, shapes| Recorded { annotations, frames, shapes };
        let modes = [
            ("annotated", of(true, true, true), None),
            ("frames", of(false, true, true), Some(case.framed)),
            ("bare", of(false, false, true), Some(case.bare)),
            ("annotated, without shapes", of(true, true, false), None),
            ("frames, without shapes", of(false, true, false), Some(by_time)),
            ("bare, without shapes", of(false, false, false), Some(without_shapes)),
        ];
        for (mode, recorded, asked) in modes {
            if asked.is_none() && !are_annotated {
                continue;
            }
            let judged = judged(case, recorded);
            let is_met = asked.map_or(judged.exact == 1.0, |asked| is_met(&judged, asked));
            eprintln!(
                "{} {}, {mode}: right {:.4} balanced {:.4} wrong {:.4} exact {:.4}",
                if is_met { "ok  " } else { "FAIL" },
                case.name,
                judged.right,
                judged.balanced,
                judged.wrong,
                judged.exact
            );
            if !is_met {
                let steps = judged.steps.join("\n    ");
                failures += &format!("{}, {mode}: asked {asked:?}, steps\n    {steps}\n", case.name);
            }
        }
    }
    assert!(failures.is_empty(), "{failures}");
}
