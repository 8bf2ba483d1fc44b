//! Perfetto traces: what all of them share, whoever recorded them.
//!
//! A trace is a list of packets. [`walk()`] goes through it packet by packet, in memory that one packet bounds, and keeps
//! what later packets rely on: clocks and, for each writer, what is named once and then referred to by number. What the
//! packets say, the [`Reader`] of a recorder makes its own records of.

mod clocks;
mod event;
mod packets;
mod pairing;
mod probe;
mod recorder;
mod sequence;
mod tracks;
mod walk;

pub(crate) use event::{EventHead, EventKind, each_number};
pub(crate) use pairing::Pairing;
pub(crate) use recorder::{Recorder, recorder};
pub(crate) use sequence::read_entry;
pub(crate) use tracks::{Descriptor, Tracks};
pub(crate) use walk::{Content, Packet, Reader, Walked, walk};
