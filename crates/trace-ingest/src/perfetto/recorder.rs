//! Whose trace a Perfetto trace is, by what its first packets name.

use std::io::Read;
use std::ops::Range;

use flate2::read::ZlibDecoder;

use super::probe::is_perfetto;
use crate::wire::{Message, Value, probe_field};

/// Who recorded a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recorder {
    /// PyTorch's profiler.
    PyTorch,
    /// AMD's rocprofv3.
    Rocprof,
}

/// How much of a compressed packet is looked at, in bytes of its content.
const HEAD: usize = 64 << 10;

/// Whether a text that begins with `head` is a trace, and who recorded it as far as the head tells.
pub(crate) fn recorder(head: &[u8]) -> Option<Option<Recorder>> {
    is_perfetto(head).then(|| packets_recorder(head, true))
}

fn packets_recorder(head: &[u8], inflates: bool) -> Option<Recorder> {
    fields(head, 0..head.len()).filter(|(number, _)| *number == 1).find_map(|(_, packet)| {
        fields(head, packet).find_map(|(number, content)| match number {
            11 => event_recorder(head, content),
            12 => interned_recorder(head, content),
            50 if inflates => {
                let mut content_head = Vec::new();
                // What can be read of a damaged one says as much.
                let _ = ZlibDecoder::new(&head[content]).take(HEAD as u64).read_to_end(&mut content_head);
                packets_recorder(&content_head, false)
            }
            _ => None,
        })
    })
}

/// What the texts tell that packets refer to by number.
fn interned_recorder(head: &[u8], interned: Range<usize>) -> Option<Recorder> {
    fields(head, interned).find_map(|(number, entry)| {
        let name =
            || fields(head, entry.clone()).find(|(number, _)| *number == 2).map(|(_, name)| &head[name]);
        match number {
            1 => category_recorder(name()?),
            2 => name()?.starts_with(b"aten::").then_some(Recorder::PyTorch),
            3 => annotation_recorder(name()?),
            // A name of an argument that kernels are launched with.
            1001 => (name()? == b"registers_per_thread").then_some(Recorder::PyTorch),
            _ => None,
        }
    })
}

fn event_recorder(head: &[u8], event: Range<usize>) -> Option<Recorder> {
    fields(head, event).find_map(|(number, content)| match number {
        4 => fields(head, content)
            .find(|(number, _)| *number == 10)
            .and_then(|(_, name)| annotation_recorder(&head[name])),
        22 => category_recorder(&head[content]),
        _ => None,
    })
}

fn category_recorder(name: &[u8]) -> Option<Recorder> {
    match name {
        b"cpu_op" | b"cuda_runtime" | b"cuda_driver" | b"python_function" | b"user_annotation" => {
            Some(Recorder::PyTorch)
        }
        b"kernel_dispatch" | b"memory_copy" | b"memory_allocation" | b"scratch_memory" => {
            Some(Recorder::Rocprof)
        }
        _ if name.ends_with(b"_api") => Some(Recorder::Rocprof),
        _ => None,
    }
}

fn annotation_recorder(name: &[u8]) -> Option<Recorder> {
    match name {
        b"External id" | b"Record function id" | b"cbid" => Some(Recorder::PyTorch),
        b"begin_ns" | b"delta_ns" => Some(Recorder::Rocprof),
        _ => None,
    }
}

/// Texts, bytes and messages in a message, of which the last may end behind the head.
fn fields(head: &[u8], range: Range<usize>) -> impl Iterator<Item = (u32, Range<usize>)> {
    let end = range.end;
    let mut message = Some(Message::new(head, range, "TracePacket"));
    std::iter::from_fn(move || {
        loop {
            let field = match message.as_mut()?.next_field() {
                Ok(field) => field?,
                Err(fault) => {
                    message = None;
                    let (number, start, _) = probe_field(head, fault.offset)?;
                    return (start <= end).then_some((number.into(), start..end));
                }
            };
            if let Value::Delimited(start, end) = field.value {
                return Some((field.number, start..end));
            }
        }
    })
}
