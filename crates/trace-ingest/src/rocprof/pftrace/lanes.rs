//! The rows on which slices lie. Records refer to them until everything is read: what a row is may be told after
//! the slices that lie on it.

/// What is known of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Lane {
    /// Number of the process.
    pub(super) pid: Option<i64>,
    /// Number of the thread.
    pub(super) tid: Option<i64>,
    /// HIP stream.
    pub(super) stream: Option<u64>,
}

/// The stream in the name of a row: `COMPUTE AGENT [2] STREAM [1] (GPU)`.
pub(super) fn stream_of(name: &str) -> Option<u64> {
    let (_, rest) = name.split_once("STREAM [")?;
    rest.split_once(']')?.0.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_streams_are_named_after_them() {
        assert_eq!(stream_of("COMPUTE AGENT [2] STREAM [17] (GPU)"), Some(17));
        assert_eq!(stream_of("STREAM [0]"), Some(0));
        assert_eq!(stream_of("COMPUTE AGENT [2] QUEUE [0] (GPU)"), None);
        assert_eq!(stream_of("STREAM [x]"), None);
    }
}
