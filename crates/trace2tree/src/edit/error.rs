//! Why a tree cannot be edited so.

use std::fmt;

use trace_ingest::{EventId, Trace};

/// An event in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventLabel {
    /// Index in the file's event list.
    pub uid: u32,
    /// Name.
    pub name: String,
}

impl EventLabel {
    /// The label of an event of the trace.
    pub fn new(trace: &Trace, event: EventId) -> Self {
        EventLabel { uid: trace.events().uid(event), name: trace.name(event).to_owned() }
    }
}

impl fmt::Display for EventLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {} ({})", self.uid, self.name)
    }
}

/// Why an edit cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The event is not a host node: it cannot be moved, and has no forward or backward.
    #[error("{0} is not a host event of the tree")]
    NotAHostEvent(EventLabel),
    /// The event is not a device event whose launch is known.
    #[error("{0} is not a device event with a launch in the tree")]
    NotLaunched(EventLabel),
    /// The event calls nothing on the host.
    #[error("{0} has no host children to wrap")]
    NoChildren(EventLabel),
    /// No events were given to insert an operator around.
    #[error("an inserted operator needs events to wrap")]
    NothingToInsertAround,
    /// Events that one operator is to stand around are not of one parent.
    #[error("{0} and {1} have different parents")]
    OtherParent(EventLabel, EventLabel),
    /// The event is no inserted operator.
    #[error("{0} was recorded; only inserted operators can own their subtree's launches")]
    NotInserted(EventLabel),
    /// One event was given as forward and as backward.
    #[error("{0} cannot be its own backward")]
    OwnBackward(EventLabel),
    /// The backward operator belongs to another forward operator.
    #[error("{backward} is already the backward of {forward}")]
    BackwardOfAnother {
        /// The backward.
        backward: EventLabel,
        /// Its forward.
        forward: EventLabel,
    },
    /// The device event does not hang right below the launch that recorded calls are to go below.
    #[error("{device_event} is not a device event directly below {launch}")]
    LaunchedElsewhere {
        /// The device event.
        device_event: EventLabel,
        /// The launch.
        launch: EventLabel,
    },
    /// There are fewer recorded launches.
    #[error("recorded launch {index} does not exist: there are {launches}")]
    NoSuchLaunch {
        /// Which one was asked for.
        index: usize,
        /// How many there are.
        launches: usize,
    },
}
