//! The call stack of an event as a list of names.

use std::borrow::Cow;

use trace_ingest::{Category, EventId};

use crate::tree::TraceTree;

/// Ancestors' names are cut after this many characters.
const NAME_LIMIT: usize = 256;

/// Frames around an event among which its call site is looked for.
const CALL_SITE_DEPTH: usize = 256;

/// What [`TraceTree::call_stack`] lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallStackOptions<'o> {
    /// Ancestors to keep: those whose name contains any of these texts. `None` keeps all, an empty list
    /// none.
    pub filter: Option<&'o [&'o str]>,
    /// Whether a stack that ends at a backward operator goes on with its forward operator, after the line
    /// `[FWD]`.
    pub follow_forward: bool,
}

/// What stands above an event in a call stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller<'t> {
    /// An ancestor.
    Event(EventId),
    /// A Python frame that is no event: PyTorch before 1.12 notes frames in the arguments of operators
    /// ([`trace_ingest::ArgumentColumns::call_stack`]).
    Frame(&'t str),
}

impl TraceTree {
    /// Hands out what stands above an event, from the inside out. A frame that was noted in several operators of the chain
    /// stands above the outermost of them. A range that was begun by other frames than those around the operator, such as
    /// a step of the profiler, stands above all of these, and its own are left out.
    pub fn visit_callers<'t>(&'t self, event: EventId, mut visit: impl FnMut(Caller<'t>)) {
        let stacks = &self.trace.events().arguments().call_stack;
        let noted = |event: EventId| stacks.get(event.index()).map(|text| self.trace.text(text));
        let mut waiting = noted(event);
        let mut is_complete = false;
        for above in self.ancestors(event) {
            if let (false, Some(outer)) = (is_complete, noted(above)) {
                let own = waiting.map_or(Some(""), |stack| inner_frames(stack, outer));
                is_complete = own.is_none();
                frames(own.or(waiting).unwrap_or_default()).for_each(|frame| visit(Caller::Frame(frame)));
                waiting = own.map(|_| outer);
            }
            visit(Caller::Event(above));
        }
        frames(waiting.unwrap_or_default()).for_each(|frame| visit(Caller::Frame(frame)));
    }

    /// The event's full name, then its ancestors' names from the inside out, cut to 256 characters and `..`.
    pub fn call_stack(&self, event: EventId, options: &CallStackOptions<'_>) -> Vec<Cow<'_, str>> {
        let mut stack = Vec::new();
        let last = self.push_stack(event, options, &mut stack);
        if options.follow_forward
            && let Some(forward) = last.and_then(|last| self.forward_event(last))
        {
            stack.push(Cow::Borrowed("[FWD]"));
            self.push_stack(forward, options, &mut stack);
        }
        stack
    }

    /// The Python frame from which the program called an event: the nearest one around it that is not PyTorch's, else the
    /// nearest that is no wrapper ([`is_framework_wrapper`]). `None` in a tree without Python frames.
    pub fn call_site(&self, event: EventId) -> Option<EventId> {
        let events = self.trace.events();
        let frames = self.ancestors(event).take(CALL_SITE_DEPTH).filter(|&above| {
            let name = self.trace.name(above);
            events.category(above) == Category::PYTHON_FUNCTION
                && name.contains(".py")
                && !is_framework_wrapper(name)
        });
        let is_pytorch_frame = |frame: EventId| {
            let name = self.trace.name(frame);
            name.starts_with("torch/") || name.contains("/torch/")
        };
        let mut nearest = None;
        for frame in frames {
            if !is_pytorch_frame(frame) {
                return Some(frame);
            }
            nearest = nearest.or(Some(frame));
        }
        nearest
    }

    /// Adds the names of one chain; the topmost ancestor, if there is any.
    fn push_stack<'t>(
        &'t self,
        event: EventId,
        options: &CallStackOptions<'_>,
        stack: &mut Vec<Cow<'t, str>>,
    ) -> Option<EventId> {
        stack.push(Cow::Borrowed(self.trace.name(event)));
        let mut last = None;
        self.visit_callers(event, |caller| {
            let name = match caller {
                Caller::Event(above) => {
                    last = Some(above);
                    self.trace.name(above)
                }
                Caller::Frame(frame) => frame,
            };
            let name = cut(name, NAME_LIMIT);
            if options.filter.is_none_or(|parts| parts.iter().any(|part| name.contains(part))) {
                stack.push(name);
            }
        });
        last
    }
}

/// The frames of a noted stack, from the inside out.
fn frames(stack: &str) -> impl Iterator<Item = &str> {
    stack.split(';').filter(|frame| !frame.is_empty())
}

/// The inner frames of a noted stack that ends with another one, that of an operator around it; `None` where it does not.
fn inner_frames<'s>(stack: &'s str, outer: &str) -> Option<&'s str> {
    let inner = stack.strip_suffix(outer)?;
    if inner.is_empty() { Some(inner) } else { inner.strip_suffix(';') }
}

/// The function of a frame `path/file.py(12): function`.
pub fn frame_function(frame: &str) -> &str {
    frame.rsplit_once("): ").map_or(frame, |(_, function)| function)
}

/// Whether a frame is the framework's own way to an operator, not the program's.
pub fn is_framework_wrapper(frame: &str) -> bool {
    const PREFIXES: &[&str] = &["<built-in", "pybind11_builtins", "nn.Module:"];
    const FILES: &[&str] = &[
        "torch/_ops.py",
        "torch/nn/modules/module.py",
        "torch/utils/_contextlib.py",
        "torch/utils/_device.py",
        "torch/_tensor.py",
        "torch/functional.py",
        "torch/overrides.py",
        "torch/_inductor/",
        "torch/_functorch/",
        "torch/distributed/c10d_logger.py",
        "triton/backends/",
    ];
    const FUNCTIONS: &[&str] = &[
        "__torch_function__",
        "_call_impl",
        "_wrapped_call_impl",
        "decorate_context",
        "dispatch_wrapper",
        "handle_torch_function",
        "wrapper",
        "custom_wrapper",
        "wrapper_custom",
        "outer_wrapper",
    ];
    PREFIXES.iter().any(|prefix| frame.starts_with(prefix))
        || FILES.iter().any(|file| frame.contains(file))
        || FUNCTIONS.contains(&frame_function(frame))
}

/// The first `limit` characters and `..` when there are more.
pub(crate) fn cut(name: &str, limit: usize) -> Cow<'_, str> {
    match name.char_indices().nth(limit) {
        Some((end, _)) => Cow::Owned(format!("{}..", &name[..end])),
        None => Cow::Borrowed(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, Planted};

    #[test]
    fn long_names_of_ancestors_are_cut_and_the_events_own_is_not() {
        let (long, own) = ("x".repeat(300), "y".repeat(300));
        let mut fixture = Fixture::new();
        fixture.op(&long, (0.0, 10.0));
        let event = fixture.op(&own, (1.0, 5.0));
        let stack = fixture.tree();
        let stack = stack.call_stack(event, &CallStackOptions::default());
        assert_eq!(stack, [own, format!("{}..", "x".repeat(256))]);
        assert_eq!(cut(&"é".repeat(257), 256), format!("{}..", "é".repeat(256)));
        assert_eq!(cut(&"é".repeat(256), 256), "é".repeat(256));
    }

    #[test]
    fn frames_that_operators_note_stand_between_them() {
        let mut fixture = Fixture::new();
        fixture.op_with_stack("outer", (0.0, 10.0), "run.py(3): run;main.py(1): <module>");
        fixture.op("unnoted", (1.0, 8.0));
        let inner = "net.py(9): forward;run.py(3): run;main.py(1): <module>";
        let event = fixture.op_with_stack("inner", (2.0, 5.0), inner);
        let tree = fixture.tree();
        let stack = tree.call_stack(event, &CallStackOptions::default());
        let frames = ["unnoted", "net.py(9): forward", "outer", "run.py(3): run", "main.py(1): <module>"];
        assert_eq!(stack, [&["inner"][..], &frames].concat());
        for (stack, outer, inner) in [
            ("a;b", "a;b", Some("")),
            ("x;a;b", "a;b", Some("x")),
            ("a;b", "c;b", None),
            ("ab", "b", None),
            ("", "a", None),
        ] {
            assert_eq!(inner_frames(stack, outer), inner, "{stack} {outer}");
        }
    }

    #[test]
    fn ranges_that_other_frames_began_stand_above_those_of_the_operator() {
        let mut fixture = Fixture::new();
        fixture.op_with_stack("ProfilerStep#1", (0.0, 10.0), "profiler.py(2): step;main.py(9): <module>");
        let event = fixture.op_with_stack("aten::mm", (1.0, 5.0), "net.py(1): forward;main.py(7): <module>");
        let tree = fixture.tree();
        let stack = tree.call_stack(event, &CallStackOptions::default());
        assert_eq!(stack, ["aten::mm", "net.py(1): forward", "main.py(7): <module>", "ProfilerStep#1"]);
    }

    #[test]
    fn a_filter_keeps_the_start_and_matching_ancestors() {
        let mut fixture = Fixture::new();
        fixture.op("root op", (0.0, 10.0));
        fixture.op("middle", (1.0, 8.0));
        let event = fixture.op("leaf", (2.0, 5.0));
        let tree = fixture.tree();
        let filtered = |filter| tree.call_stack(event, &CallStackOptions { filter, ..Default::default() });
        assert_eq!(filtered(Some(&["root"])), ["leaf", "root op"]);
        assert_eq!(filtered(Some(&["mid", "root"])), ["leaf", "middle", "root op"]);
        assert_eq!(filtered(Some(&[])), ["leaf"]);
        assert_eq!(filtered(None), ["leaf", "middle", "root op"]);
    }

    #[test]
    fn a_backward_stack_goes_on_with_the_forward_one() {
        let mut fixture = Fixture::new();
        fixture.op("model", (0.0, 50.0));
        fixture.op_with_sequence(1, "aten::mm", (1.0, 10.0), 3);
        let evaluate = "autograd::engine::evaluate_function: MmBackward0";
        let backward = fixture.op_with_sequence(2, evaluate, (100.0, 50.0), 3);
        let below = fixture.op_on(2, "MmBackward0", (101.0, 40.0));
        let tree = fixture.tree();
        let follow = CallStackOptions { follow_forward: true, ..Default::default() };
        assert_eq!(tree.call_stack(below, &follow), ["MmBackward0", evaluate, "[FWD]", "aten::mm", "model"]);
        assert_eq!(tree.call_stack(below, &CallStackOptions::default()), ["MmBackward0", evaluate]);
        assert_eq!(tree.call_stack(backward, &follow), [evaluate], "the start itself is not followed");
    }

    #[test]
    fn the_call_site_is_the_nearest_frame_of_the_program() {
        for (frames, site) in [
            (
                &["model.py(7): forward", "torch/nn/modules/linear.py(5): forward"][..],
                Some("model.py(7): forward"),
            ),
            (&["torch/nn/modules/linear.py(5): forward"], Some("torch/nn/modules/linear.py(5): forward")),
            (&["nn.Module: Linear_0", "torch/nn/modules/module.py(1): _call_impl"], None),
            (&[], None),
        ] {
            let mut fixture = Fixture::new();
            for (depth, frame) in frames.iter().enumerate() {
                let start = depth as f64;
                fixture.python(frame, (start, 50.0 - 2.0 * start));
            }
            let event = fixture.op("aten::mm", (10.0, 5.0));
            let tree = fixture.tree();
            let found = tree.call_site(event).map(|frame| tree.trace().name(frame));
            assert_eq!(found, site, "{frames:?}");
        }
    }
}
