//! Order of device events on their stream.

use trace_ingest::{EventId, Trace};

use crate::row::NONE;

/// Device events by stream. A stream is a queue of one device: equal stream numbers on different devices
/// are different streams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamIndex {
    /// `(device, stream)` with the start of its events in `order`, sorted.
    streams: Vec<(Option<i64>, i64, u32)>,
    /// Events by stream, then by start.
    order: Vec<EventId>,
    /// Index on its stream per event row.
    index: Vec<u32>,
}

impl StreamIndex {
    /// Indexes the device events that name a stream.
    pub fn new(trace: &Trace) -> StreamIndex {
        let events = trace.events();
        let mut keys: Vec<(Option<i64>, i64, i64, EventId)> = events
            .ids()
            .filter(|&event| events.category(event).is_device())
            .filter_map(|event| {
                Some((events.device(event), events.stream(event)?, events.start(event), event))
            })
            .collect();
        keys.sort_unstable();
        let mut result = StreamIndex {
            index: vec![NONE; events.len()],
            order: Vec::with_capacity(keys.len()),
            streams: Vec::new(),
        };
        for stream in keys.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            result.streams.push((stream[0].0, stream[0].1, result.order.len() as u32));
            for (index, key) in stream.iter().enumerate() {
                result.index[key.3.index()] = index as u32;
                result.order.push(key.3);
            }
        }
        result
    }

    /// How many events of its stream start before this one; `None` for an event that lies on no stream.
    pub fn get(&self, event: EventId) -> Option<u32> {
        self.index.get(event.index()).copied().filter(|&index| index != NONE)
    }

    /// The streams as `(device, stream)`, ascending.
    pub fn streams(&self) -> impl ExactSizeIterator<Item = (Option<i64>, i64)> + '_ {
        self.streams.iter().map(|&(device, stream, _)| (device, stream))
    }

    /// Events of a stream by start, then file order.
    pub fn events(&self, device: Option<i64>, stream: i64) -> &[EventId] {
        match self.streams.binary_search_by_key(&(device, stream), |&(device, stream, _)| (device, stream)) {
            Ok(found) => {
                let end = self.streams.get(found + 1).map_or(self.order.len(), |next| next.2 as usize);
                &self.order[self.streams[found].2 as usize..end]
            }
            Err(_) => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_ingest::{Category, EventArguments, TraceBuilder};

    #[test]
    fn events_count_per_device_and_stream_and_host_events_do_not() {
        let mut builder = TraceBuilder::new();
        let track = builder.track(0, 7);
        let mut add = |category, device, start| {
            let arguments = EventArguments { device, stream: Some(7), ..EventArguments::default() };
            builder.event(category, "e", track, start, 1, arguments)
        };
        let op = add(Category::CPU_OP, None, 0);
        let late = add(Category::KERNEL, Some(0), 20);
        let early = add(Category::GPU_MEMCPY, Some(0), 10);
        let other = add(Category::KERNEL, Some(1), 15);
        let streams = StreamIndex::new(&builder.finish());
        assert_eq!(
            [op, late, early, other].map(|event| streams.get(event)),
            [None, Some(1), Some(0), Some(0)]
        );
        assert_eq!(streams.streams().collect::<Vec<_>>(), [(Some(0), 7), (Some(1), 7)]);
        assert_eq!(streams.events(Some(0), 7), [early, late]);
        assert_eq!(streams.events(Some(1), 7), [other]);
        assert_eq!(streams.events(Some(0), 8), []);
    }
}
