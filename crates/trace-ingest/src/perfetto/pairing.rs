//! Begins and ends of slices whose arguments do not tell their length, matched as brackets are.

#[derive(Clone, Copy, Debug)]
enum Edge<R> {
    /// Of a record, or of a slice that needs no end.
    Begin(Option<R>),
    End,
}

/// One track.
#[derive(Debug)]
enum Row<R> {
    /// So far every slice told its length. Times of those whose ends are still to come: a stack that stays as low as
    /// slices nest, where a list of all edges would grow with the trace.
    Told(Vec<i64>),
    /// Edges in file order, from the first slice on that did not tell its length.
    Edges(Vec<(i64, Edge<R>)>),
}

/// All tracks, with what the reader knows a slice by.
#[derive(Debug)]
pub(crate) struct Pairing<R> {
    rows: Vec<Row<R>>,
    unopened: u64,
}

impl<R> Default for Pairing<R> {
    fn default() -> Self {
        Pairing { rows: Vec::new(), unopened: 0 }
    }
}

impl<R: Copy> Pairing<R> {
    fn row(&mut self, track: u32) -> &mut Row<R> {
        let track = track as usize;
        while self.rows.len() <= track {
            self.rows.push(Row::Told(Vec::new()));
        }
        &mut self.rows[track]
    }

    /// A slice begins; `record` needs the end.
    pub(crate) fn begin(&mut self, track: u32, time: i64, record: Option<R>) {
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
    pub(crate) fn end(&mut self, track: u32, time: i64) {
        match self.row(track) {
            Row::Edges(edges) => edges.push((time, Edge::End)),
            Row::Told(open) => {
                if open.pop().is_none() {
                    self.unopened += 1;
                }
            }
        }
    }

    /// Tells the end of every record, or that it has none; the number of ends without a begin.
    pub(crate) fn finish(self, mut close: impl FnMut(R, Option<i64>)) -> u64 {
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
                        Some(Some(record)) => close(record, Some(time)),
                        Some(None) => {}
                        None => unopened += 1,
                    },
                }
            }
            for record in open.into_iter().flatten() {
                close(record, None);
            }
        }
        unopened
    }
}
