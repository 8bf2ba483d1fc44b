//! Queues between threads.

use std::sync::mpsc::Receiver;
use std::sync::{Mutex, PoisonError};

/// The next item of a queue that several threads take from; `None` once there are none and nobody can add any.
pub(crate) fn next_of<T>(queue: &Mutex<Receiver<T>>) -> Option<T> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}
