//! What the profiler writes beside a slice's name: the annotations of a Perfetto slice, the `args` of a Chrome event.

use std::borrow::Cow;

/// An argument that records are made of. Several names stand for one where releases of the profiler differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Begin,
    End,
    Length,
    Operation,
    Correlation,
    Thread,
    Stream,
    Agent,
    Device,
    Queue,
    KernelId,
    DispatchId,
    Symbol,
    GridSize,
    WorkgroupSize,
    Vgprs,
    AccumVgprs,
    Sgprs,
    GroupSegment,
    PrivateSegment,
    CopyBytes,
    SourceAgent,
    DestinationAgent,
    AllocationSize,
    Address,
}

const KEYS: usize = Key::Address as usize + 1;

impl Key {
    pub(super) fn from_name(name: &[u8]) -> Option<Key> {
        Some(match name {
            b"begin_ns" => Key::Begin,
            b"end_ns" => Key::End,
            b"delta_ns" => Key::Length,
            b"operation" => Key::Operation,
            b"corr_id" | b"correlation_id" | b"correlationId" | b"CorrId" => Key::Correlation,
            b"tid" => Key::Thread,
            b"stream_ID" | b"stream_id" => Key::Stream,
            b"agent" => Key::Agent,
            b"device_id" | b"deviceId" | b"dev_id" | b"DevId" | b"gpu_id" | b"gpuId" => Key::Device,
            b"queue" | b"queue_id" => Key::Queue,
            b"kernel_id" => Key::KernelId,
            b"dispatch_id" => Key::DispatchId,
            b"kernel_name" | b"KernelName" | b"symbol" | b"symbol_name" | b"funcName" => Key::Symbol,
            b"grid_size" => Key::GridSize,
            b"workgroup_size" => Key::WorkgroupSize,
            b"VGPR_Count" => Key::Vgprs,
            b"Accum_VGPR_Count" => Key::AccumVgprs,
            b"SGPR_Count" => Key::Sgprs,
            b"LDS_Block_Size" | b"group_segment_size" => Key::GroupSegment,
            b"Scratch_Size" | b"private_segment_size" => Key::PrivateSegment,
            b"copy_bytes" => Key::CopyBytes,
            b"src_agent" => Key::SourceAgent,
            b"dst_agent" => Key::DestinationAgent,
            b"allocation_size" => Key::AllocationSize,
            b"address" => Key::Address,
            _ => return None,
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Scalar<'a> {
    #[default]
    Absent,
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Text(Cow<'a, str>),
}

impl Scalar<'_> {
    fn says_anything(&self) -> bool {
        match self {
            Scalar::Absent => false,
            Scalar::Text(text) => !text.is_empty(),
            _ => true,
        }
    }

    /// As an integer: a number, its fraction cut off, or the text of an integer.
    fn integer(&self) -> Option<i128> {
        match self {
            Scalar::Absent => None,
            Scalar::Signed(value) => Some(i128::from(*value)),
            Scalar::Unsigned(value) => Some(i128::from(*value)),
            // What has no integer becomes none; the others saturate, far outside of every field's range.
            Scalar::Float(value) => value.is_finite().then_some(*value as i128),
            Scalar::Text(text) => text.trim().parse().ok(),
        }
    }

    /// As text; an empty one is none.
    fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Scalar::Absent => None,
            Scalar::Signed(value) => Some(value.to_string().into()),
            Scalar::Unsigned(value) => Some(value.to_string().into()),
            Scalar::Float(value) => Some(value.to_string().into()),
            Scalar::Text(text) => (!text.is_empty()).then_some(Cow::Borrowed(text)),
        }
    }
}

/// The arguments of a slice.
#[derive(Default)]
pub(super) struct Arguments<'a> {
    values: [Scalar<'a>; KEYS],
}

impl<'a> Arguments<'a> {
    /// Takes a value; of several with one key the first that says anything counts.
    pub(super) fn set(&mut self, key: Key, value: Scalar<'a>) {
        let place = &mut self.values[key as usize];
        if !place.says_anything() {
            *place = value;
        }
    }

    /// A value as an integer, if it is one and fits.
    pub(super) fn integer<T: TryFrom<i128>>(&self, key: Key) -> Option<T> {
        self.values[key as usize].integer().and_then(|value| T::try_from(value).ok())
    }

    /// A value as text, if it is not empty.
    pub(super) fn text(&self, key: Key) -> Option<Cow<'_, str>> {
        self.values[key as usize].text()
    }

    /// A size or number of registers: zero where it is not given, the largest number where it is larger.
    pub(super) fn size(&self, key: Key) -> u32 {
        let value = self.values[key as usize].integer().unwrap_or(0);
        value.clamp(0, i128::from(u32::MAX)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_numbers_and_their_texts() {
        for (value, expected) in [
            (Scalar::Signed(-5), Some(-5)),
            (Scalar::Unsigned(7), Some(7)),
            (Scalar::Unsigned(u64::MAX), None),
            (Scalar::Float(2.9), Some(2)),
            (Scalar::Float(-2.9), Some(-2)),
            (Scalar::Float(f64::NAN), None),
            (Scalar::Float(1e300), None),
            (Scalar::Text(" 4096 ".into()), Some(4096)),
            (Scalar::Text("4096.5".into()), None),
            (Scalar::Text("".into()), None),
            (Scalar::Absent, None),
        ] {
            let mut arguments = Arguments::default();
            arguments.set(Key::CopyBytes, value.clone());
            assert_eq!(arguments.integer::<i64>(Key::CopyBytes), expected, "{value:?}");
        }
    }

    #[test]
    fn the_first_value_that_says_anything_counts() {
        let mut arguments = Arguments::default();
        arguments.set(Key::Agent, Scalar::Text("".into()));
        arguments.set(Key::Agent, Scalar::Unsigned(2));
        arguments.set(Key::Agent, Scalar::Text("Agent 3".into()));
        assert_eq!(arguments.text(Key::Agent).as_deref(), Some("2"));
        assert_eq!((arguments.size(Key::GridSize), arguments.size(Key::Agent)), (0, 2));
    }
}
