//! What the recorded program does, without times: nested Python frames, ops and device work.

use std::borrow::Cow;
use std::rc::Rc;

use super::flavour::{Call, Direction, HostMemory, Stream};

/// One thing the host does.
pub(super) enum Node {
    Frame(Frame),
    Op(Op),
    /// A runtime call that launches a kernel.
    Launch(Kernel),
    /// One runtime call that launches all these kernels.
    Graph(Vec<Kernel>),
    Copy(Transfer),
    /// Sets so many bytes of device memory.
    Set(u64),
    /// A runtime call without device work.
    Call(Call),
    /// Memory allocated (or, negative, freed) on the device.
    Memory(i64),
    /// Makes the compute stream wait for what another stream has to do already.
    Await(Stream),
    /// Records an event behind the work of the compute stream.
    Mark,
    /// Makes the host wait for the event that was recorded last, or for the one so many before it.
    AwaitMark(usize),
    /// Nothing that is recorded, for so many nanoseconds.
    Pause(u64),
}

/// A frame of the Python stack.
pub(super) struct Frame {
    pub(super) name: FrameName,
    pub(super) children: Vec<Node>,
}

/// The name of a Python frame.
#[derive(Debug, Clone, Copy)]
pub(super) enum FrameName {
    /// The whole text: `file.py(12): function` or `<built-in …>`.
    Fixed(&'static str),
    /// `nn.Module: Class_N`, where each layer of the model has `per_layer` modules of the class.
    Module { class: &'static str, per_layer: u64, offset: u64 },
}

impl FrameName {
    /// The text, of a module its class.
    pub(super) fn text(&self) -> &'static str {
        match self {
            FrameName::Fixed(text) => text,
            FrameName::Module { class, .. } => class,
        }
    }
}

/// An op of the dispatcher, or an annotation that stands among them.
pub(super) struct Op {
    pub(super) name: Cow<'static, str>,
    pub(super) kind: OpKind,
    /// The fields of the arguments, as JSON; empty when the recorder has none.
    pub(super) arguments: Rc<str>,
    pub(super) gradient: Gradient,
    pub(super) children: Vec<Node>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpKind {
    Operator,
    Annotation,
}

/// An op's part in differentiation, which decides its sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gradient {
    None,
    /// Bears the number that the next recording op will take.
    Announces,
    /// Takes the next number and a place on the layer's tape.
    Records,
    /// Backward of the op at this place of the layer's tape: `evaluate_function`.
    Evaluates(usize),
    /// The same, and the end of its `fwdbwd` flow.
    Replays(usize),
}

/// A kernel and what it takes.
pub(super) struct Kernel {
    pub(super) name: Cow<'static, str>,
    pub(super) call: Call,
    pub(super) stream: Stream,
    /// Usual duration in nanoseconds.
    pub(super) duration: u64,
    pub(super) grid: [u64; 3],
    pub(super) block: [u64; 3],
    pub(super) registers: u64,
    pub(super) shared_memory: u64,
    /// What a collective's kernel says about the collective, as JSON fields; else empty.
    pub(super) collective: Rc<str>,
}

/// Rates of copies in bytes per nanosecond: over the bus, within the device.
const BUS_RATE: u64 = 50;
pub(super) const MEMORY_RATE: u64 = 1_400;

/// A copy over the bus or within the device.
pub(super) struct Transfer {
    pub(super) direction: Direction,
    pub(super) bytes: u64,
    pub(super) stream: Stream,
    /// The host's side.
    pub(super) memory: HostMemory,
    pub(super) call: Call,
    /// Bytes per nanosecond.
    pub(super) rate: u64,
}

impl Transfer {
    /// A copy in order with the computation.
    pub(super) fn new(direction: Direction, bytes: u64) -> Self {
        let rate = if direction == Direction::DeviceToDevice { MEMORY_RATE } else { BUS_RATE };
        let is_read_back = direction == Direction::DeviceToHost;
        let memory = if is_read_back { HostMemory::Pageable } else { HostMemory::Pinned };
        Self { direction, bytes, stream: Stream::Compute, memory, call: Call::Copy, rate }
    }
}

/// A frame with this name and content.
pub(super) fn frame(name: FrameName, children: Vec<Node>) -> Node {
    Node::Frame(Frame { name, children })
}

/// A frame of a source line.
pub(super) fn code(name: &'static str, children: Vec<Node>) -> Node {
    frame(FrameName::Fixed(name), children)
}

/// An op without part in differentiation.
pub(super) fn op(name: &'static str, arguments: Rc<str>, children: Vec<Node>) -> Node {
    graded(Gradient::None, name, arguments, children)
}

/// An op with a part in differentiation.
pub(super) fn graded(
    gradient: Gradient,
    name: impl Into<Cow<'static, str>>,
    arguments: Rc<str>,
    children: Vec<Node>,
) -> Node {
    Node::Op(Op { name: name.into(), kind: OpKind::Operator, arguments, gradient, children })
}

/// A `user_annotation` around these nodes.
pub(super) fn annotation(name: impl Into<Cow<'static, str>>, children: Vec<Node>) -> Node {
    let kind = OpKind::Annotation;
    Node::Op(Op { name: name.into(), kind, arguments: "".into(), gradient: Gradient::None, children })
}
