use gpu_timeline::WaitCause;
use sheets::numbers::{counted, duration};

use crate::facts::{Facts, Program};
use crate::finding::{Bucket, Confidence};
use crate::rule::{Claim, Inspection, Rule};

/// Device waits that the recording does not explain.
pub(super) struct Unexplained;

/// Least share of the window that is worth reporting.
const FROM: f64 = 0.02;

impl Rule for Unexplained {
    fn id(&self) -> &'static str {
        "IDLE-UNEXPLAINED"
    }

    fn what(&self) -> &'static str {
        "unexplained idle time"
    }

    fn remedy(&self, program: Program) -> &'static str {
        match program {
            Program::Native => {
                "check for other programs on the device, and find out what the queue waits for"
            }
            Program::PyTorch | Program::Xla => {
                "check for late ranks (tracelens ranks), and for other programs on the device"
            }
        }
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let facts = look.facts;
        let mut found = Vec::new();
        let in_time = |cause: WaitCause| matches!(cause, WaitCause::Dependency(_)) && !cause.is_late_launch();
        let kinds: [(&dyn Fn(WaitCause) -> bool, &str); 2] = [
            (&|cause| cause == WaitCause::Unlinked, "before work without a recorded launch"),
            (&in_time, "before work that was already launched"),
        ];
        for (is_meant, what) in kinds {
            let remedy = is_meant(WaitCause::Unlinked).then(|| launch_recording_remedy(facts));
            let waits = facts.idle.iter().filter(|idle| is_meant(idle.cause));
            let time: i64 = waits.clone().map(|idle| idle.span.length()).sum();
            let share = time as f64 / facts.window().max(1) as f64;
            if share >= FROM {
                let text = format!(
                    "{}, {} in all, {:.1}% of the window",
                    counted(waits.count(), "wait", "waits"),
                    duration(facts.us(time)),
                    share * 100.0
                );
                let claim = Claim::without_time(Bucket::Idle, what)
                    .with_time(time)
                    .with_confidence(Confidence::High)
                    .with_evidence(text)
                    .with_row(facts.sheets.timeline, "idle_time");
                found.push(Claim { remedy, ..claim });
            }
        }
        found
    }
}

/// What is to be recorded for waits to have a cause: the calls, or, where some are there, those that are lost.
fn launch_recording_remedy(facts: &Facts) -> &'static str {
    let are_recorded = facts.works.iter().any(|work| work.event.launch.is_some());
    match facts.program {
        _ if are_recorded => {
            "check for lost launches (tracelens doctor), and for launches before the recording"
        }
        Program::Native => "record calls (nsys profile --trace=cuda, rocprofv3 --hip-trace or --sys-trace)",
        Program::PyTorch | Program::Xla => "record the host, too",
    }
}
