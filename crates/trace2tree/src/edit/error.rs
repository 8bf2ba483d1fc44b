//! Why a tree cannot be edited so.

/// Why an edit cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The event is not a host node: it cannot be moved, and has no forward or backward.
    #[error("event {uid} ({name}) is not a host event of the tree")]
    NotAHostEvent {
        /// Index in the file's event list.
        uid: u32,
        /// Name.
        name: String,
    },
    /// The event is not a device event whose launch is known.
    #[error("event {uid} ({name}) is not a device event with a launch in the tree")]
    NotLaunched {
        /// Index in the file's event list.
        uid: u32,
        /// Name.
        name: String,
    },
    /// The event calls nothing on the host.
    #[error("event {uid} ({name}) has no host children to wrap")]
    NoChildren {
        /// Index in the file's event list.
        uid: u32,
        /// Name.
        name: String,
    },
    /// The event is no inserted operator.
    #[error("event {uid} ({name}) was recorded; only inserted operators are charged with all below them")]
    NotInserted {
        /// Index in the file's event list.
        uid: u32,
        /// Name.
        name: String,
    },
    /// One event was given as forward and as backward.
    #[error("event {uid} ({name}) cannot be its own backward")]
    OwnBackward {
        /// Index in the file's event list.
        uid: u32,
        /// Name.
        name: String,
    },
    /// The backward operator belongs to another forward operator.
    #[error("event {uid} ({name}) is already the backward of event {forward_uid} ({forward_name})")]
    BackwardOfAnother {
        /// Index of the backward in the file's event list.
        uid: u32,
        /// Name of the backward.
        name: String,
        /// Index of its forward in the file's event list.
        forward_uid: u32,
        /// Name of its forward.
        forward_name: String,
    },
    /// The device event does not hang right below the launch that recorded calls are to go below.
    #[error("event {uid} ({name}) is not a device event right below event {launch_uid} ({launch_name})")]
    LaunchedElsewhere {
        /// Index in the file's event list.
        uid: u32,
        /// Name.
        name: String,
        /// Index of the launch in the file's event list.
        launch_uid: u32,
        /// Name of the launch.
        launch_name: String,
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
