//! What was recorded and what was not.

use sheets::numbers::{agreeing, counted, duration, grouped};

use crate::facts::Facts;
use crate::finding::{Found, Severity, Verdict};

/// Fires where a condition holds, about so many things.
fn when(condition: bool, severity: Severity, count: u64, text: &str) -> Verdict {
    condition.then(|| Found::new(severity, count, text)).into()
}

fn device_events(facts: &Facts<'_>) -> u64 {
    facts.device.len() as u64
}

pub(super) fn no_operators(facts: &Facts<'_>) -> Verdict {
    let fires = device_events(facts) > 0 && facts.census.operators.count == 0;
    when(fires, Severity::Warning, device_events(facts), "operators were not recorded")
}

pub(super) fn no_device_work(facts: &Facts<'_>) -> Verdict {
    let operators = facts.census.operators.count;
    let launches = facts.calls.iter().any(|call| call.kind.starts_device_work());
    let fires = operators > 0 && !launches && facts.device.is_empty();
    when(fires, Severity::Info, operators, "there is no device work: all times are host times")
        .unless_of_foreign_device(facts)
}

pub(super) fn no_shapes(facts: &Facts<'_>) -> Verdict {
    let census = &facts.census;
    let fires = census.operators.count >= 20 && !census.has_shapes;
    when(fires, Severity::Warning, census.operators.count, "shapes were not recorded")
}

pub(super) fn no_stacks(facts: &Facts<'_>) -> Verdict {
    let census = &facts.census;
    let fires = census.operators.count > 0 && census.python_frames == 0;
    let text = match facts.events.arguments().call_stack.is_empty() {
        true => "Python stacks were not recorded",
        false => "Python stacks were recorded only as operator arguments, without modules",
    };
    when(fires, Severity::Note, census.operators.count, text)
}

pub(super) fn only_frames(facts: &Facts<'_>) -> Verdict {
    let census = &facts.census;
    let fires = census.python_frames > 0 && census.operators.count == 0 && facts.device.is_empty();
    when(fires, Severity::Warning, census.python_frames, "the file has only Python frames")
}

pub(super) fn no_external_ids(facts: &Facts<'_>) -> Verdict {
    let has_id = |&event| facts.events.external_id(event).is_some();
    let fires = !facts.device.is_empty() && !facts.device.iter().any(has_id);
    when(fires, Severity::Note, device_events(facts), "device events are linked by correlation id only")
        .unless_of_foreign_device(facts)
}

pub(super) fn no_allocations(facts: &Facts<'_>) -> Verdict {
    if !facts.trace.facts().recorder.allocations {
        return Verdict::NotExamined("this file format has no allocations");
    }
    let fires = !facts.device.is_empty() && facts.census.allocations == 0;
    when(fires, Severity::Info, device_events(facts), "memory allocations were not recorded")
}

pub(super) fn cut_device_times(facts: &Facts<'_>) -> Verdict {
    let fires = !facts.device.is_empty() && !facts.trace.facts().recorder.uncut_device_times;
    let text = "device events are truncated where the next one on their row starts; a .pftrace lacks \
        versions, devices, allocations and copy directions";
    when(fires, Severity::Note, device_events(facts), text)
}

pub(super) fn no_device_properties(facts: &Facts<'_>) -> Verdict {
    let fires = !facts.device.is_empty() && facts.trace.facts().devices.is_empty();
    when(fires, Severity::Note, device_events(facts), "the file does not name the GPU")
}

pub(super) fn no_waits(facts: &Facts<'_>) -> Verdict {
    let fires = !facts.device.is_empty() && facts.census.waits == 0;
    when(fires, Severity::Info, device_events(facts), "waits between streams were not recorded")
}

pub(super) fn unnamed_collectives(facts: &Facts<'_>) -> Verdict {
    let (unnamed, all) = (&facts.census.unnamed_communication, &facts.census.communication);
    let found = (unnamed.count > 0).then(|| {
        let severity = match unnamed.time * 10 >= all.time {
            true => Severity::Warning,
            false => Severity::Note,
        };
        let text = format!(
            "{} of {} ({}) {} collective",
            grouped(unnamed.count.into()),
            counted(all.count as usize, "communication kernel", "communication kernels"),
            duration(facts.microseconds(unnamed.time)),
            agreeing(unnamed.count, "does not name its", "do not name their"),
        );
        Found { of: Some(all.count), ..Found::tally(severity, unnamed, text) }
    });
    found.into()
}

pub(super) fn no_rank(facts: &Facts<'_>) -> Verdict {
    let communication = &facts.census.communication;
    let fires = communication.count > 0 && facts.trace.facts().distributed.is_none();
    when(fires, Severity::Note, communication.count, "the file does not name its rank")
}

pub(super) fn no_steps(facts: &Facts<'_>) -> Verdict {
    let fires = facts.census.spans > 0 && facts.census.steps.is_empty();
    when(fires, Severity::Info, facts.census.spans, "no steps are marked by prof.step()")
}

#[cfg(test)]
mod tests {
    use trace_ingest::{ArgumentValue, Category, Collective, DistributedInfo, EventArguments};

    use crate::Severity;
    use crate::recording::{Recording, correlated};

    fn fires(recording: Recording, rule: &str) -> Option<(Severity, u64)> {
        recording.diagnosis().find(rule).map(|found| (found.severity, found.count))
    }

    #[test]
    fn device_work_without_operators_and_operators_without_device_work() {
        let mut recording = Recording::new();
        recording.call("cudaLaunchKernel", (0.0, 1.0), 1);
        recording.kernel("k", (5.0, 1.0), 1);
        assert_eq!(fires(recording, "R1"), Some((Severity::Warning, 1)));

        let of_host = |mut recording: Recording, category: &str| {
            recording.operator("a", (0.0, 1.0));
            recording.host(category, "launch", (0.5, 0.1), EventArguments::default());
            recording
        };
        assert_eq!(fires(of_host(Recording::new(), "user_annotation"), "R2"), Some((Severity::Info, 1)));
        assert_eq!(fires(of_host(Recording::new(), "cuda_runtime"), "R2"), None);
        assert_eq!(of_host(Recording::mtia(), "user_annotation").diagnosis().guarded("R2"), 1);
    }

    #[test]
    fn shapes_are_missed_where_there_are_operators_enough() {
        let with = |count: i64, shapes: bool| {
            let mut recording = Recording::new();
            let dims = shapes.then_some(ArgumentValue::Null);
            let signature = Some(recording.builder.signature([dims, None, None, None]));
            for at in 0..count {
                let arguments = EventArguments { signature, ..EventArguments::default() };
                recording.host("cpu_op", "a", (10.0 * at as f64, 5.0), arguments);
            }
            fires(recording, "R3")
        };
        assert_eq!(with(20, false), Some((Severity::Warning, 20)));
        assert_eq!((with(19, false), with(20, true)), (None, None));
    }

    #[test]
    fn stacks_are_missed_and_alone_they_are_too_little() {
        let mut recording = Recording::new();
        recording.launches(1, 2);
        assert_eq!(fires(recording, "R4"), Some((Severity::Note, 2)));
        let mut noted = Recording::new();
        let call_stack = Some(noted.builder.intern("main.py(1): <module>"));
        noted.host("cpu_op", "a", (0.0, 1.0), EventArguments { call_stack, ..EventArguments::default() });
        assert!(noted.diagnosis().find("R4").unwrap().text.contains("as operator arguments"));
        let with_frame = |operators: i64| {
            let mut recording = Recording::new();
            recording.launches(1, operators);
            recording.host("python_function", "main", (0.0, 900.0), EventArguments::default());
            recording
        };
        assert_eq!(fires(with_frame(2), "R4"), None);
        assert_eq!(fires(with_frame(0), "R5"), Some((Severity::Warning, 1)));
        assert_eq!(fires(with_frame(2), "R5"), None);
    }

    #[test]
    fn what_a_bare_recording_lacks_is_noted_and_a_full_one_lacks_nothing() {
        let mut bare = Recording::new();
        bare.launches(1, 2);
        let bare = bare.diagnosis();
        let mut full = Recording::new();
        full.launches(1, 2);
        full.facts.devices.push(Default::default());
        let external = EventArguments { external_id: Some(1), ..correlated(2) };
        full.device(Category::KERNEL, "k", 7, (500.0, 1.0), external);
        full.host("cuda_sync", "Stream Wait Event", (400.0, 1.0), EventArguments::default());
        full.host("user_annotation", "ProfilerStep#1", (0.0, 900.0), EventArguments::default());
        let full = full.diagnosis();
        for (rule, severity) in
            [("R6", Severity::Note), ("R7", Severity::Info), ("R8", Severity::Note), ("R9", Severity::Info)]
        {
            let found = bare.find(rule).unwrap();
            assert_eq!((found.severity, found.count), (severity, 2), "{rule}");
            // A generated recording has no moments, so none of memory.
            assert_eq!(full.find(rule).is_some(), rule == "R7", "{rule}");
        }
        assert_eq!(bare.find("R12").unwrap().count, 6);
        assert!(full.find("R12").is_none());
        // As PyTorch 1.8 to 1.11 marks them.
        let mut old = Recording::new();
        old.operator("ProfilerStep#1", (0.0, 900.0));
        assert_eq!(fires(old, "R12"), None);
    }

    #[test]
    fn unnamed_collectives_are_a_warning_from_a_tenth_of_the_time_on() {
        let seen = |unnamed: f64| {
            let mut recording = Recording::new();
            let name = Some(recording.builder.intern("allreduce"));
            let collective = Some(Collective { name, ..Collective::default() });
            let named = EventArguments { collective, ..correlated(1) };
            recording.device(Category::KERNEL, "ncclDevKernel_AllReduce", 7, (0.0, 90.0), named);
            recording.kernel("ncclDevKernel_Generic", (100.0, unnamed), 2);
            let diagnosis = recording.diagnosis();
            assert_eq!(diagnosis.find("R11").unwrap().count, 2);
            diagnosis.find("R10").map(|found| (found.severity, found.count, found.of))
        };
        assert_eq!(seen(10.0), Some((Severity::Warning, 1, Some(2))));
        assert_eq!(seen(9.0), Some((Severity::Note, 1, Some(2))));
        let mut recording = Recording::new();
        recording.kernel("ncclDevKernel_Generic", (100.0, 1.0), 2);
        recording.facts.distributed = Some(DistributedInfo::default());
        assert_eq!(fires(recording, "R11"), None);
    }
}
