//! The tree as text.

use std::borrow::Cow;
use std::fmt::{self, Display, Write};

use python_literal::write_float;
use trace_ingest::{ArgumentId, Category, EventId, Sequence, Signature};

use crate::call_stack::cut;
use crate::device_time::DeviceTimes;
use crate::tree::TraceTree;

/// Names are cut after this many characters.
const NAME_LIMIT: usize = 64;

/// An argument of operators that text output can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OperatorField {
    /// `Input Dims`
    InputDims,
    /// `Input type`
    InputTypes,
    /// `Input Strides`
    InputStrides,
    /// `Concrete Inputs`
    ConcreteInputs,
    /// `External id`
    ExternalId,
    /// `Sequence number`
    SequenceNumber,
    /// `Fwd thread id`
    ForwardThread,
}

impl OperatorField {
    /// All fields.
    pub const ALL: [OperatorField; 7] = [
        OperatorField::InputDims,
        OperatorField::InputTypes,
        OperatorField::InputStrides,
        OperatorField::ConcreteInputs,
        OperatorField::ExternalId,
        OperatorField::SequenceNumber,
        OperatorField::ForwardThread,
    ];

    /// Name of the argument in the trace.
    pub fn label(self) -> &'static str {
        match self {
            OperatorField::InputDims => "Input Dims",
            OperatorField::InputTypes => "Input type",
            OperatorField::InputStrides => "Input Strides",
            OperatorField::ConcreteInputs => "Concrete Inputs",
            OperatorField::ExternalId => "External id",
            OperatorField::SequenceNumber => "Sequence number",
            OperatorField::ForwardThread => "Fwd thread id",
        }
    }

    /// Writes `{indent}{label}: {value}` and a line feed when the event has the field; whether it has.
    fn write(
        self,
        out: &mut impl Write,
        tree: &TraceTree,
        event: EventId,
        indent: &str,
        shown: ShownText,
    ) -> Result<bool, fmt::Error> {
        let (trace, events) = (tree.trace(), tree.trace().events());
        let mut list = |part: fn(Signature) -> Option<ArgumentId>| match trace.argument(event, part) {
            Some(value) => {
                let value = value.display(Sequence::List).to_string();
                writeln!(out, "{indent}{}: {}", self.label(), shown(&value)).map(|()| true)
            }
            None => Ok(false),
        };
        let number = match self {
            OperatorField::InputDims => return list(|signature| signature.dims),
            OperatorField::InputTypes => return list(|signature| signature.types),
            OperatorField::InputStrides => return list(|signature| signature.strides),
            OperatorField::ConcreteInputs => return list(|signature| signature.concrete),
            OperatorField::ExternalId => events.external_id(event),
            OperatorField::SequenceNumber => events.sequence_number(event),
            OperatorField::ForwardThread => events.arguments().forward_thread.get(event.index()),
        };
        match number {
            Some(value) => writeln!(out, "{indent}{}: {value}", self.label()).map(|()| true),
            None => Ok(false),
        }
    }
}

/// How a text of the trace is shown.
pub type ShownText = fn(&str) -> Cow<'_, str>;

/// What [`TraceTree::print_subtree`] and [`TraceTree::print_parents`] show.
#[derive(Clone, Debug)]
pub struct PrintOptions<'o> {
    /// Leave out children without device work below. Applies to subtrees.
    pub prune_non_gpu: bool,
    /// Arguments to show below operators.
    pub operator_fields: &'o [OperatorField],
    /// Go on with the backward operators of an event (subtree) or with the forward operator of a chain that
    /// ends at a backward one (parents).
    pub follow_backward_links: bool,
    /// How many levels below the event to show; `None` for all.
    pub max_depth: Option<usize>,
    /// Show the device time of every node that has any, and its share in that of the trace.
    pub device_times: Option<&'o DeviceTimes<'o>>,
    /// With `device_times`, leave out children with less device time below than this, in microseconds. Applies to
    /// subtrees.
    pub min_device_time_us: f64,
    /// How names and arguments are shown, which may hold line breaks and what a terminal obeys.
    pub shown_text: ShownText,
}

impl Default for PrintOptions<'_> {
    /// Device work only, no arguments, no backward, all levels, no device times, texts as they are.
    fn default() -> Self {
        PrintOptions {
            prune_non_gpu: true,
            operator_fields: &[],
            follow_backward_links: false,
            max_depth: None,
            device_times: None,
            min_device_time_us: 0.0,
            shown_text: |text| Cow::Borrowed(text),
        }
    }
}

impl PrintOptions<'_> {
    /// Whether an event has enough device time to be shown.
    fn is_long_enough(&self, event: EventId) -> bool {
        self.device_times.is_none_or(|times| times.microseconds(event) >= self.min_device_time_us)
    }
}

impl TraceTree {
    /// Displays an event and everything below it, a line per event:
    ///
    /// ```text
    /// └── UID: 1, Category: cpu_op, Name: aten::mm
    ///     └── UID: 2, Category: cuda_runtime, Name: cudaLaunchKernel
    ///         └── UID: 3, Category: kernel, Name: gemm, Duration: 77.074
    /// ```
    ///
    /// UIDs are indices in the file's event list, durations are in microseconds.
    pub fn print_subtree<'t>(&'t self, event: EventId, options: &'t PrintOptions<'t>) -> impl Display + 't {
        Text(move |f: &mut fmt::Formatter<'_>| self.write_subtree(f, event, options))
    }

    /// Displays an event and its ancestors, nearest first.
    pub fn print_parents<'t>(&'t self, event: EventId, options: &'t PrintOptions<'t>) -> impl Display + 't {
        Text(move |f: &mut fmt::Formatter<'_>| self.write_parents(f, event, options))
    }

    /// Writes what [`TraceTree::print_subtree`] displays.
    pub fn write_subtree(
        &self,
        out: &mut impl Write,
        event: EventId,
        options: &PrintOptions<'_>,
    ) -> fmt::Result {
        let follow = options.follow_backward_links;
        let mut columns = Columns::default();
        let first = Line { event, depth: 0, is_last: true, kind: Kind::Node, follow };
        let mut stack = vec![first];
        while let Some(line) = stack.pop() {
            columns.move_to(line.depth);
            out.write_str(&columns.text)?;
            out.write_str(if line.is_last { "└── " } else { "├── " })?;
            let (prune, backward) = match line.kind {
                Kind::Node => {
                    self.write_event(out, line.event, options)?;
                    out.write_char('\n')?;
                    let backward = if line.follow { self.backward_events(line.event) } else { &[] };
                    (options.prune_non_gpu, backward)
                }
                Kind::Backward => {
                    let (trace, uid) = (self.trace(), self.trace().events().uid(line.event));
                    let name = (options.shown_text)(trace.name(line.event));
                    writeln!(out, "[BWD] {name} (UID: {uid})")?;
                    (false, &[][..])
                }
            };
            columns.push(line.is_last);
            if line.kind == Kind::Node && self.trace().events().category(line.event) == Category::CPU_OP {
                let detail = format!("{}|   ", columns.text);
                if self.write_fields(out, line.event, options, &detail)? {
                    writeln!(out, "{detail}")?;
                }
            }
            if options.max_depth.is_some_and(|limit| line.depth >= limit) {
                continue;
            }
            let depth = line.depth + 1;
            let first_below = stack.len();
            let shown = self.shown_children(line.event, prune, options);
            let follow = line.follow && line.kind == Kind::Node;
            stack.extend(shown.map(|event| Line { event, depth, is_last: false, kind: Kind::Node, follow }));
            stack.extend(backward.iter().map(|&event| Line {
                event,
                depth,
                is_last: false,
                kind: Kind::Backward,
                follow: false,
            }));
            if let Some(last) = stack[first_below..].last_mut() {
                last.is_last = true;
            }
            stack[first_below..].reverse();
        }
        Ok(())
    }

    /// An event and everything below it that [`TraceTree::print_subtree`] displays without backward operators, in the same
    /// order, with the depth of each.
    pub fn shown_subtree(&self, event: EventId, options: &PrintOptions<'_>) -> Vec<(EventId, usize)> {
        let mut shown = Vec::new();
        let mut open = vec![(event, 0)];
        while let Some((event, depth)) = open.pop() {
            shown.push((event, depth));
            if options.max_depth.is_none_or(|most| depth < most) {
                let below = self.shown_children(event, options.prune_non_gpu, options);
                open.extend(below.rev().map(|child| (child, depth + 1)));
            }
        }
        shown
    }

    /// The children of an event that are displayed.
    fn shown_children<'t>(
        &'t self,
        event: EventId,
        prune: bool,
        options: &'t PrintOptions<'_>,
    ) -> impl DoubleEndedIterator<Item = EventId> + 't {
        let is_shown =
            move |child: &EventId| (!prune || !self.non_gpu_path(*child)) && options.is_long_enough(*child);
        self.children(event).iter().copied().filter(is_shown)
    }

    /// Writes what [`TraceTree::print_parents`] displays.
    pub fn write_parents(
        &self,
        out: &mut impl Write,
        event: EventId,
        options: &PrintOptions<'_>,
    ) -> fmt::Result {
        let top = self.write_chain(out, event, options)?;
        if options.follow_backward_links
            && let Some(forward) = self.forward_event(top)
        {
            let (rule, uid) = ("=".repeat(60), self.trace().events().uid(forward));
            writeln!(out, "\n{rule}\nFollowing fwd_event link to forward call stack (UID: {uid})\n{rule}")?;
            self.write_chain(out, forward, options)?;
        }
        Ok(())
    }

    /// Writes one chain; its topmost event.
    fn write_chain(
        &self,
        out: &mut impl Write,
        event: EventId,
        options: &PrintOptions<'_>,
    ) -> Result<EventId, fmt::Error> {
        let mut top = event;
        for (level, event) in std::iter::once(event).chain(self.ancestors(event)).enumerate() {
            match level {
                0 => out.write_str("Node:\n  ")?,
                _ => write!(out, "{level}-up:\n  ")?,
            }
            self.write_event(out, event, options)?;
            out.write_char('\n')?;
            if self.trace().events().category(event) == Category::CPU_OP {
                self.write_fields(out, event, options, "    ")?;
            }
            top = event;
        }
        Ok(top)
    }

    fn write_event(&self, out: &mut impl Write, event: EventId, options: &PrintOptions<'_>) -> fmt::Result {
        let (trace, events) = (self.trace(), self.trace().events());
        let category = events.category(event);
        let shown = options.shown_text;
        let name = cut(trace.name(event), NAME_LIMIT);
        let (name, kind) = (shown(&name), shown(trace.category_name(category)));
        write!(out, "UID: {}, Category: {kind}, Name: {name}", events.uid(event))?;
        if category.is_device() {
            out.write_str(", Duration: ")?;
            write_float(out, trace.to_microseconds(events.duration(event)))?;
        }
        let Some(times) = options.device_times.filter(|_| !self.non_gpu_path(event)) else { return Ok(()) };
        if !category.is_device() {
            out.write_str(", Device time: ")?;
            write_float(out, times.microseconds(event))?;
            out.write_str(" µs")?;
        }
        times.percent(event).map_or(Ok(()), |percent| write!(out, " ({percent:.2}%)"))
    }

    /// Writes the requested fields that the event has; whether it has any.
    fn write_fields(
        &self,
        out: &mut impl Write,
        event: EventId,
        options: &PrintOptions<'_>,
        indent: &str,
    ) -> Result<bool, fmt::Error> {
        let mut any = false;
        for field in options.operator_fields {
            any |= field.write(out, self, event, indent, options.shown_text)?;
        }
        Ok(any)
    }
}

/// Text that a function writes.
struct Text<F>(F);

impl<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result> Display for Text<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0)(f)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Node,
    Backward,
}

/// A line still to be written.
struct Line {
    event: EventId,
    depth: usize,
    is_last: bool,
    kind: Kind,
    /// Whether backward operators of this event follow its children.
    follow: bool,
}

/// The lines that lead down from the ancestors, kept as text so that a level costs one push or cut.
#[derive(Default)]
struct Columns {
    text: String,
    /// Length of `text` at each depth.
    lengths: Vec<usize>,
}

impl Columns {
    fn move_to(&mut self, depth: usize) {
        if let Some(&length) = self.lengths.get(depth) {
            self.text.truncate(length);
            self.lengths.truncate(depth);
        }
    }

    fn push(&mut self, was_last: bool) {
        self.lengths.push(self.text.len());
        self.text.push_str(if was_last { "    " } else { "│   " });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, Planted};
    use testdata::trace::{shapes, texts};

    fn sample() -> (TraceTree, EventId, EventId) {
        let mut fixture = Fixture::new();
        let region = fixture.op("Torch-Compiled Region: 0/0", (0.0, 100.0));
        let lists = [Some(shapes(&[&[8, 4096], &[]])), Some(texts(&["float", ""])), None, None];
        let arguments = fixture.recorded(lists);
        fixture.event(Category::CPU_OP, "triton_red_fused", (1, 1), (10.0, 20.0), arguments);
        fixture.launch("hipModuleLaunchKernel", (11.0, 5.0), 1);
        fixture.op("no device work", (40.0, 5.0));
        fixture.op(&"n".repeat(70), (50.0, 20.0));
        fixture.launch("hipLaunchKernel", (51.0, 5.0), 2);
        let kernel = fixture.kernel("triton_red_fused", (200.0, 77.074), 1);
        fixture.kernel("copy", (300.0, 5.0), 2);
        (fixture.tree(), region, kernel)
    }

    #[test]
    fn a_subtree_prints_device_work_with_arguments() {
        let (tree, region, _) = sample();
        let fields = [OperatorField::InputDims, OperatorField::InputTypes, OperatorField::InputStrides];
        let options = PrintOptions { operator_fields: &fields, ..PrintOptions::default() };
        let long = "n".repeat(64);
        let expected = format!(
            "\
└── UID: 0, Category: cpu_op, Name: Torch-Compiled Region: 0/0
    ├── UID: 1, Category: cpu_op, Name: triton_red_fused
    │   |   Input Dims: [[8, 4096], []]
    │   |   Input type: ['float', '']
    │   |   \n\
\x20   │   └── UID: 2, Category: cuda_runtime, Name: hipModuleLaunchKernel
    │       └── UID: 6, Category: kernel, Name: triton_red_fused, Duration: 77.074
    └── UID: 4, Category: cpu_op, Name: {long}..
        └── UID: 5, Category: cuda_runtime, Name: hipLaunchKernel
            └── UID: 7, Category: kernel, Name: copy, Duration: 5.0
"
        );
        assert_eq!(tree.print_subtree(region, &options).to_string(), expected);
    }

    #[test]
    fn pruning_and_depth_can_be_changed() {
        let (tree, region, _) = sample();
        let options = PrintOptions { prune_non_gpu: false, max_depth: Some(1), ..PrintOptions::default() };
        let text = tree.print_subtree(region, &options).to_string();
        assert_eq!(text.lines().count(), 4);
        assert!(text.contains("    ├── UID: 3, Category: cpu_op, Name: no device work\n"));
    }

    #[test]
    fn device_time_and_its_share_stand_on_every_line_and_may_be_limited() {
        let (tree, region, _) = sample();
        let times = tree.device_times();
        let options = PrintOptions { device_times: Some(&times), ..PrintOptions::default() };
        let text = tree.print_subtree(region, &options).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].ends_with("Torch-Compiled Region: 0/0, Device time: 82.074 µs (100.00%)"), "{text}");
        assert!(lines[1].ends_with("triton_red_fused, Device time: 77.074 µs (93.91%)"), "{text}");
        assert!(lines[3].ends_with("triton_red_fused, Duration: 77.074 (93.91%)"), "{text}");
        assert!(lines[6].ends_with("copy, Duration: 5.0 (6.09%)"), "{text}");
        let all = tree.print_parents(region, &options).to_string();
        assert!(all.ends_with("Device time: 82.074 µs (100.00%)\n"), "{all}");

        let options = PrintOptions { min_device_time_us: 77.0, ..options };
        let text = tree.print_subtree(region, &options).to_string();
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(!text.contains("copy"), "{text}");
    }

    #[test]
    fn names_and_arguments_are_shown_as_asked() {
        let mut fixture = Fixture::new();
        let arguments = fixture.recorded([None, Some(texts(&["a!"])), None, None]);
        let op = fixture.event(Category::CPU_OP, "o!p", (1, 1), (10.0, 20.0), arguments);
        let tree = fixture.tree();
        let options = PrintOptions {
            operator_fields: &[OperatorField::InputTypes],
            shown_text: |text| Cow::Owned(text.replace('!', "?")),
            ..PrintOptions::default()
        };
        let text = tree.print_subtree(op, &options).to_string();
        assert!(text.contains("Name: o?p\n") && text.contains("Input type: ['a?']\n"), "{text}");
    }

    #[test]
    fn parents_print_from_the_inside_out() {
        let (tree, _, kernel) = sample();
        let options =
            PrintOptions { operator_fields: &[OperatorField::InputDims], ..PrintOptions::default() };
        let expected = "\
Node:
  UID: 6, Category: kernel, Name: triton_red_fused, Duration: 77.074
1-up:
  UID: 2, Category: cuda_runtime, Name: hipModuleLaunchKernel
2-up:
  UID: 1, Category: cpu_op, Name: triton_red_fused
    Input Dims: [[8, 4096], []]
3-up:
  UID: 0, Category: cpu_op, Name: Torch-Compiled Region: 0/0
";
        assert_eq!(tree.print_parents(kernel, &options).to_string(), expected);
    }

    const EVALUATE: &str = "autograd::engine::evaluate_function: MmBackward0";

    /// `(tree, forward, an event below the backward)`
    fn with_backward() -> (TraceTree, EventId, EventId) {
        let mut fixture = Fixture::new();
        let forward = fixture.op_with_sequence(1, "aten::mm", (0.0, 50.0), 1);
        fixture.op("child", (1.0, 10.0));
        fixture.op_with_sequence(2, EVALUATE, (100.0, 50.0), 1);
        let inner = fixture.op_with_sequence(2, "MmBackward0", (101.0, 40.0), 1);
        fixture.op_on(2, "pruned below the first level", (102.0, 10.0));
        (fixture.tree(), forward, inner)
    }

    #[test]
    fn the_backward_follows_the_children() {
        let (tree, forward, _) = with_backward();
        let options =
            PrintOptions { prune_non_gpu: false, follow_backward_links: true, ..PrintOptions::default() };
        let expected = "\
└── UID: 0, Category: cpu_op, Name: aten::mm
    ├── UID: 1, Category: cpu_op, Name: child
    └── [BWD] autograd::engine::evaluate_function: MmBackward0 (UID: 2)
        └── UID: 3, Category: cpu_op, Name: MmBackward0
            └── UID: 4, Category: cpu_op, Name: pruned below the first level
";
        assert_eq!(tree.print_subtree(forward, &options).to_string(), expected);
        let pruned = PrintOptions { prune_non_gpu: true, ..options };
        let expected = "\
└── UID: 0, Category: cpu_op, Name: aten::mm
    └── [BWD] autograd::engine::evaluate_function: MmBackward0 (UID: 2)
        └── UID: 3, Category: cpu_op, Name: MmBackward0
";
        assert_eq!(tree.print_subtree(forward, &pruned).to_string(), expected);
    }

    #[test]
    fn backwards_are_followed_at_every_level_of_the_forward_but_not_below_a_backward() {
        let mut fixture = Fixture::new();
        let outer = fixture.op("outer", (0.0, 50.0));
        fixture.op_with_sequence(1, "inner", (1.0, 10.0), 1);
        fixture.op_with_sequence(2, EVALUATE, (100.0, 50.0), 1);
        fixture.op_with_sequence(2, "forward again", (101.0, 40.0), 2);
        fixture.op_with_sequence(3, EVALUATE, (200.0, 50.0), 2);
        let tree = fixture.tree();
        let options =
            PrintOptions { prune_non_gpu: false, follow_backward_links: true, ..PrintOptions::default() };
        let expected = "\
└── UID: 0, Category: cpu_op, Name: outer
    └── UID: 1, Category: cpu_op, Name: inner
        └── [BWD] autograd::engine::evaluate_function: MmBackward0 (UID: 2)
            └── UID: 3, Category: cpu_op, Name: forward again
";
        assert_eq!(tree.print_subtree(outer, &options).to_string(), expected);
    }

    #[test]
    fn parents_of_a_backward_go_on_with_the_forward() {
        let (tree, _, inner) = with_backward();
        let options = PrintOptions { follow_backward_links: true, ..PrintOptions::default() };
        let rule = "=".repeat(60);
        let expected = format!(
            "\
Node:
  UID: 3, Category: cpu_op, Name: MmBackward0
1-up:
  UID: 2, Category: cpu_op, Name: {EVALUATE}

{rule}
Following fwd_event link to forward call stack (UID: 0)
{rule}
Node:
  UID: 0, Category: cpu_op, Name: aten::mm
"
        );
        assert_eq!(tree.print_parents(inner, &options).to_string(), expected);
    }

    #[test]
    fn deep_trees_print_without_recursion() {
        let mut fixture = Fixture::new();
        let deep = 3_000;
        let root = fixture.op("op", (0.0, 10_000.0));
        for level in 1..deep {
            fixture.op("op", (f64::from(level), 10_000.0 - 2.0 * f64::from(level)));
        }
        let tree = fixture.tree();
        let options = PrintOptions { prune_non_gpu: false, ..PrintOptions::default() };
        let text = tree.print_subtree(root, &options).to_string();
        assert_eq!(text.lines().count(), deep as usize);
        assert!(text.lines().last().unwrap().starts_with(&" ".repeat(4 * (deep as usize - 1))));
    }
}
