//! Recordings for tests.

use crate::recording::{Recording, Rest, Steps, Unit};

/// A recording of steps of these durations: one operator that takes all of them.
pub(crate) fn recording(durations: &[i64]) -> Recording {
    recording_of(&[("aten::mm", durations)])
}

/// A recording of operators with their times in each step, one kernel each.
pub(crate) fn recording_of(operators: &[(&str, &[i64])]) -> Recording {
    let steps = operators.first().map_or(0, |(_, times)| times.len());
    let unit = |&(op, times): &(&str, &[i64])| Unit {
        op: op.to_owned(),
        dims: "((8, 8), (8, 8))".to_owned(),
        kernel: format!("kernel of {op}"),
        calls: 1.0,
        kernel_time: times.to_vec(),
        ..Unit::default()
    };
    let duration = (0..steps).map(|step| operators.iter().map(|(_, times)| times[step]).sum());
    let mut made = Recording {
        steps: Steps {
            kind: "step".to_owned(),
            evidence: "recorded steps".to_owned(),
            recorded: steps,
            index: (0..steps).collect(),
            duration: duration.collect(),
        },
        units: operators.iter().map(unit).collect(),
        rest: Rest { units: 0, own_time: vec![0; steps] },
        exposed_communication: vec![0; steps],
        idle: vec![0; steps],
        kernels: vec![u32::try_from(operators.len()).unwrap(); steps],
        ..Recording::default()
    };
    made.setup.devices = vec!["NVIDIA H100".to_owned()];
    made.setup.linked_percent = 100.0;
    made.workload.calls = operators.iter().map(|(op, _)| ((*op).to_owned(), 1.0)).collect();
    let text = format!("{operators:?}");
    made.hash = format!("{:016x}", twox_hash::XxHash64::oneshot(0, text.as_bytes()));
    made.file = format!("{}.json", made.hash);
    made
}
