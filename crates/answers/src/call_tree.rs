//! The call tree of a trace as rows: what is below calls, or above them, with equal siblings as one.

use gpu_timeline::SortFew;
use indexmap::IndexMap;
use sheets::{Column, Role, Table, TableColumn, TableError};
use trace_ingest::{EventId, StringId};
use trace2tree::DeviceTimes;
use tree_perf::Analysis;

/// Which part of the tree to show.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeQuery {
    /// Where to begin.
    pub start: TreeStart,
    /// Whether to go up to the callers instead of down.
    pub callers: bool,
    /// Levels to show.
    pub depth: usize,
    /// Leave out what has less device time than this, in µs. What has none is always left out.
    pub min_us: f64,
}

/// Where to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeStart {
    /// At the outermost calls.
    Roots,
    /// At the event of this number.
    Uid(u32),
    /// At every event of this name.
    Name(String),
}

/// Calls of one name in one place.
struct Row {
    first: EventId,
    depth: usize,
    calls: usize,
    us: f64,
}

impl TreeQuery {
    /// The rows `uid`, `depth`, `name`, `kind`, `device_us`, `calls`; `None` where the tree has no such event.
    ///
    /// # Errors
    /// Never in practice: the columns differ in name.
    pub fn table(&self, analysis: &Analysis) -> Result<Option<Table>, TableError> {
        let (tree, trace) = (analysis.tree(), analysis.trace());
        let starts = match &self.start {
            TreeStart::Roots => tree.roots().to_vec(),
            TreeStart::Name(name) => tree.find_by_name(name).to_vec(),
            TreeStart::Uid(uid) => {
                trace.events().find_uid(*uid).filter(|&event| tree.contains(event)).into_iter().collect()
            }
        };
        if starts.is_empty() {
            return Ok(None);
        }
        let times = tree.device_times();
        let mut rows = Vec::new();
        self.visit(analysis, &times, &starts, 0, &mut rows);
        let events = trace.events();
        let column = |column: Column, cell: &dyn Fn(&Row) -> sheets::Cell<'static>| {
            TableColumn::new(column, rows.iter().map(cell))
        };
        let columns = vec![
            column(
                Column::identifier(
                    "uid",
                    "Index of the event (of the first call if several) in the file's event list.",
                ),
                &|row| i64::from(events.uid(row.first)).into(),
            ),
            column(Column::count("depth", "Depth below the starting event."), &|row| {
                (row.depth as i64).into()
            }),
            column(Column::text("name", "Name of the event."), &|row| {
                trace.name(row.first).to_owned().into()
            }),
            column(
                Column::text("kind", "Category of the event, as named by the profiler.")
                    .with_role(Role::Detail),
                &|row| trace.category_name(events.category(row.first)).to_owned().into(),
            ),
            column(
                Column::microseconds(
                    "device_us",
                    "Sum of the durations of the device events launched by the event or its descendants.",
                ),
                &|row| row.us.into(),
            ),
            column(Column::count("calls", "Number of calls with this name at this place."), &|row| {
                (row.calls as i64).into()
            }),
        ];
        Ok(Some(Table::new("call_tree", columns)?))
    }

    /// Adds events and what is below or above them, those of one name as one.
    fn visit(
        &self,
        analysis: &Analysis,
        times: &DeviceTimes<'_>,
        events: &[EventId],
        depth: usize,
        rows: &mut Vec<Row>,
    ) {
        if depth >= self.depth {
            return;
        }
        let tree = analysis.tree();
        let mut by_name: IndexMap<StringId, Vec<EventId>> = IndexMap::new();
        for &event in events {
            by_name.entry(analysis.trace().events().name(event)).or_default().push(event);
        }
        let us = |group: &[EventId]| group.iter().map(|&event| times.microseconds(event)).sum::<f64>();
        let mut groups: Vec<(f64, Vec<EventId>)> =
            by_name.into_values().map(|group| (us(&group), group)).collect();
        groups.retain(|(us, _)| *us > 0.0 && *us >= self.min_us);
        groups.sort_few_by(|(a, _), (b, _)| b.total_cmp(a));
        for (us, group) in groups {
            rows.push(Row { first: group[0], depth, calls: group.len(), us });
            let next: Vec<EventId> = match self.callers {
                false => group.iter().flat_map(|&event| tree.children(event)).copied().collect(),
                true => {
                    let mut parents: Vec<EventId> =
                        group.iter().filter_map(|&event| tree.parent(event)).collect();
                    parents.sort_unstable();
                    parents.dedup();
                    parents
                }
            };
            self.visit(analysis, times, &next, depth + 1, rows);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::any_recording::AnyReporter;
    use crate::report::{Analysed, Report, Reporter, Run};

    fn report() -> Report {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/generated/cuda_training_step.json.gz");
        AnyReporter { modules: true, ..AnyReporter::default() }.report(&[path], &mut Run::default()).unwrap()
    }

    fn rows(query: &TreeQuery, report: &Report) -> Vec<(i64, String, f64)> {
        let Analysed::Trace(analysis, _) = &report.analysis else { panic!("no trace") };
        let table = query.table(analysis).unwrap().unwrap();
        let cells = |name: &str| table.column(name).unwrap().cells().collect::<Vec<_>>();
        let rows = cells("depth").into_iter().zip(cells("name")).zip(cells("device_us"));
        let rows = rows.map(|((depth, name), us)| match (depth, us) {
            (sheets::Cell::Whole(depth), sheets::Cell::Number(us)) => (depth, name.text().into_owned(), us),
            other => panic!("{other:?}"),
        });
        rows.collect()
    }

    #[test]
    fn a_node_has_the_time_of_those_below_it_at_least() {
        let query = TreeQuery { start: TreeStart::Roots, callers: false, depth: 9, min_us: 0.0 };
        let rows = rows(&query, &report());
        for (at, (depth, name, us)) in rows.iter().enumerate() {
            let below = rows[at + 1..].iter().take_while(|(below, ..)| below > depth);
            let children: f64 = below.filter(|(below, ..)| *below == depth + 1).map(|(.., us)| us).sum();
            assert!(children <= us + 1e-6, "{name}: {us} {children}");
        }
    }

    #[test]
    fn callers_are_above() {
        let report = report();
        let up = TreeQuery {
            start: TreeStart::Name("aten::addmm".to_owned()),
            callers: true,
            depth: 3,
            min_us: 0.0,
        };
        let above = rows(&up, &report);
        assert_eq!(above[0].1, "aten::addmm");
        assert!(above[1].1.contains("aten::linear"), "{above:?}");
        let Analysed::Trace(analysis, _) = &report.analysis else { panic!("no trace") };
        assert!(TreeQuery { start: TreeStart::Uid(u32::MAX), ..up }.table(analysis).unwrap().is_none());
    }
}
