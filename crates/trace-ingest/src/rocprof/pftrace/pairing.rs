//! Begins and ends of slices whose arguments do not tell their length, matched as brackets are.

use super::collector::{Collector, RecordId};

#[derive(Clone, Copy, Debug)]
enum Edge {
    /// Of a record, or of a slice that needs no end.
    Begin(Option<RecordId>),
    End,
}

/// One track.
#[derive(Debug)]
enum Row {
    /// So far every slice told its length. Times of those whose ends are still to come: a stack that stays as low as
    /// slices nest, where a list of all edges would grow with the trace.
    Told(Vec<i64>),
    /// Edges in file order, from the first slice on that did not tell its length.
    Edges(Vec<(i64, Edge)>),
}

/// All tracks.
#[derive(Debug, Default)]
pub(super) struct Pairing {
    rows: Vec<Row>,
    unopened: u64,
}

impl Pairing {
    fn row(&mut self, track: u32) -> &mut Row {
        let track = track as usize;
        while self.rows.len() <= track {
            self.rows.push(Row::Told(Vec::new()));
        }
        &mut self.rows[track]
    }

    /// A slice begins; `record` needs the end.
    pub(super) fn begin(&mut self, track: u32, time: i64, record: Option<RecordId>) {
        let row = self.row(track);
        match (&mut *row, record) {
            (Row::Edges(edges), record) => edges.push((time, Edge::Begin(record))),
            (Row::Told(open), None) => open.push(time),
            (Row::Told(open), Some(_)) => {
                let mut edges: Vec<_> = open.drain(..).map(|time| (time, Edge::Begin(None))).collect();
                edges.push((time, Edge::Begin(record)));
                *row = Row::Edges(edges);
            }
        }
    }

    /// A slice ends.
    pub(super) fn end(&mut self, track: u32, time: i64) {
        match self.row(track) {
            Row::Edges(edges) => edges.push((time, Edge::End)),
            Row::Told(open) => {
                if open.pop().is_none() {
                    self.unopened += 1;
                }
            }
        }
    }

    /// Gives every record its end; the number of ends without a begin.
    pub(super) fn finish(self, collector: &mut Collector) -> u64 {
        let mut unopened = self.unopened;
        for row in self.rows {
            let Row::Edges(mut edges) = row else { continue };
            // Packets stand in the order of recording; slices of one time in file order.
            edges.sort_by_key(|&(time, _)| time);
            let mut open = Vec::new();
            for (time, edge) in edges {
                match edge {
                    Edge::Begin(record) => open.push(record),
                    Edge::End => match open.pop() {
                        Some(Some(record)) => collector.close(record, time),
                        Some(None) => {}
                        None => unopened += 1,
                    },
                }
            }
            for _ in open.into_iter().flatten() {
                collector.count_unclosed();
            }
        }
        unopened
    }
}
