//! Where the instructions of a program come from in the framework and in the source.

use perf_models::hlo::OpMetadata;
use trace_ingest::xplane::hlo::StackFrameIndexProto;

use crate::JaxAnalysis;

/// Frames of a call stack that are shown, the innermost ones.
const MOST_FRAMES: usize = 12;

/// Where an instruction comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Origin {
    /// Path of the framework's operation, such as `jit(f)/jit(main)/dot_general`; empty where the program does not say.
    pub(super) op_name: String,
    /// Source file and line; empty where the program does not say.
    pub(super) source: String,
    /// Function that the line is in; empty where the program does not say.
    pub(super) function: String,
    /// Functions with file and line, from the inside out; empty where the program does not say.
    pub(super) stack: Vec<String>,
}

impl Origin {
    /// The origin that an instruction's metadata states: its file and line, or else those of its innermost frame.
    pub(super) fn of(metadata: &OpMetadata, frames: Option<&StackFrameIndexProto>) -> Self {
        let stack = frames.map_or_else(Vec::new, |frames| stack(frames, metadata.stack_frame));
        let innermost = stack.first();
        let source = match (metadata.source_file.as_str(), metadata.source_line) {
            ("", _) => innermost.map_or_else(String::new, Frame::source),
            (file, 0) => file.to_owned(),
            (file, line) => format!("{file}:{line}"),
        };
        let texts = stack.iter().map(|frame| match frame.function {
            "" => frame.source(),
            function => format!("{function} ({})", frame.source()),
        });
        Self {
            op_name: metadata.op_name.clone(),
            source,
            function: innermost.map_or_else(String::new, |frame| frame.function.to_owned()),
            stack: texts.collect(),
        }
    }
}

/// A frame of a call stack.
struct Frame<'a> {
    file: &'a str,
    function: &'a str,
    line: i32,
}

impl Frame<'_> {
    fn source(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

/// The frames from the inside out. Numbers count from 1; 0 and numbers that the tables lack end the stack.
fn stack(frames: &StackFrameIndexProto, innermost: i32) -> Vec<Frame<'_>> {
    fn at<T>(table: &[T], number: i32) -> Option<&T> {
        table.get(usize::try_from(number).ok()?.checked_sub(1)?)
    }
    let text = |table, number| at::<String>(table, number).map_or("", String::as_str);
    let mut found = Vec::new();
    let mut number = innermost;
    // Frames of a damaged file may call each other in a ring.
    while found.len() < MOST_FRAMES {
        let Some(frame) = at(&frames.stack_frames, number) else { break };
        if let Some(location) = at(&frames.file_locations, frame.file_location_id) {
            found.push(Frame {
                file: text(&frames.file_names, location.file_name_id),
                function: text(&frames.function_names, location.function_name_id),
                line: location.line,
            });
        }
        if frame.parent_frame_id == number {
            break;
        }
        number = frame.parent_frame_id;
    }
    found
}

/// The origins of the operators of an analysis, by position; `None` for those whose instruction the profile lacks.
pub(super) fn origins(analysis: &JaxAnalysis) -> Vec<Option<Origin>> {
    let mut origins: Vec<Option<Origin>> = vec![None; analysis.operators().len()];
    let mut seen = vec![false; origins.len()];
    for event in analysis.device_events() {
        if std::mem::replace(&mut seen[event.operator], true) {
            continue;
        }
        let Some(instruction) = analysis.instruction(event.event) else { continue };
        let program = analysis.operators()[event.operator].program.and_then(|program| program.id);
        let module = program.and_then(|id| analysis.profile().programs.module(id)?.ok());
        let frames = module.and_then(|module| module.stack_frame_index.as_ref());
        origins[event.operator] = Some(Origin::of(&instruction.metadata, frames));
    }
    origins
}

/// Device time of what a row stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Share {
    /// Instructions.
    pub(super) instructions: usize,
    /// Their executions.
    pub(super) calls: usize,
    /// Kernels of these.
    pub(super) kernels: usize,
    /// Sum over the executions of the time in which a kernel ran, in ps.
    pub(super) time: i64,
}

impl Share {
    pub(super) fn add(&mut self, other: &Share) {
        self.instructions += other.instructions;
        self.calls += other.calls;
        self.kernels += other.kernels;
        self.time = self.time.saturating_add(other.time);
    }
}

/// Device time by operator, by position; those that the keywords leave out have none.
pub(super) fn shares(analysis: &JaxAnalysis) -> Vec<Share> {
    let mut shares = vec![Share::default(); analysis.operators().len()];
    for call in analysis.calls().iter().filter(|call| analysis.keeps(call.operator)) {
        let share = &mut shares[call.operator];
        share.add(&Share { instructions: 0, calls: 1, kernels: call.kernels.len(), time: call.time });
        share.instructions = 1;
    }
    shares
}

#[cfg(test)]
mod tests {
    use trace_ingest::xplane::hlo::{FileLocation, StackFrame};

    use super::*;

    fn frames() -> StackFrameIndexProto {
        let location = |file_name_id, function_name_id, line| FileLocation {
            file_name_id,
            function_name_id,
            line,
            column: 1,
        };
        let frame = |file_location_id, parent_frame_id| StackFrame { file_location_id, parent_frame_id };
        StackFrameIndexProto {
            file_names: vec!["train.py".into(), "layers.py".into()],
            function_names: vec!["main".into(), "attend".into()],
            file_locations: vec![location(1, 1, 10), location(2, 2, 20), location(9, 0, 30)],
            stack_frames: vec![frame(1, 0), frame(2, 1), frame(3, 4), frame(7, 3)],
        }
    }

    #[test]
    fn the_stack_stands_in_for_a_missing_source() {
        let metadata = |file: &str, line, stack_frame| OpMetadata {
            source_file: file.to_owned(),
            source_line: line,
            stack_frame,
            ..OpMetadata::default()
        };
        let origin = Origin::of(&metadata("", 0, 2), Some(&frames()));
        assert_eq!((origin.source.as_str(), origin.function.as_str()), ("layers.py:20", "attend"));
        assert_eq!(origin.stack, ["attend (layers.py:20)", "main (train.py:10)"]);
        assert_eq!(Origin::of(&metadata("a.py", 3, 2), Some(&frames())).source, "a.py:3");
        assert_eq!(Origin::of(&metadata("a.py", 0, 0), None).source, "a.py");
        assert_eq!(Origin::of(&metadata("", 0, 77), Some(&frames())), Origin::default());
    }

    #[test]
    fn frames_that_call_each_other_in_a_ring_end() {
        let frames = frames();
        let stack = stack(&frames, 3);
        assert_eq!(stack.len(), MOST_FRAMES);
        assert_eq!((stack[0].file, stack[0].function), ("", ""));
        let own_parent = StackFrameIndexProto {
            stack_frames: vec![StackFrame { file_location_id: 0, parent_frame_id: 1 }],
            ..StackFrameIndexProto::default()
        };
        assert_eq!(super::stack(&own_parent, 1).len(), 0);
    }
}
