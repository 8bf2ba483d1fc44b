//! The rows of the unified analysis, put together by operator and arguments.

use std::cmp::Reverse;

use hashbrown::HashMap;
use trace_ingest::EventId;

use crate::analysis::Analysis;
use crate::call_key::CallKey;
use crate::call_overlap::{CallOverlap, NameLists, overlap_of};
use crate::places::Places;
use crate::unified::{RowName, UnifiedRow};
use gpu_timeline::Spread;
use operator_sheets::Figures;
use operator_sheets::OpCategory;

/// Calls of one row of the table.
pub(crate) struct Group<'a> {
    pub(crate) key: CallKey<RowName>,
    pub(crate) rows: Vec<&'a UnifiedRow>,
    pub(crate) overlaps: Vec<CallOverlap>,
}

impl Group<'_> {
    pub(crate) fn name(&self) -> RowName {
        self.key.name
    }

    pub(crate) fn category(&self) -> &OpCategory {
        &self.key.category
    }

    pub(crate) fn first(&self) -> EventId {
        self.rows[0].charged.operator
    }

    /// A figure of the first call that has it.
    pub(crate) fn figure<T>(&self, value: impl Fn(&Figures) -> Option<T>) -> Option<T> {
        self.rows.iter().find_map(|row| value(row.figures.as_ref()?))
    }

    pub(crate) fn time(&self) -> i64 {
        self.rows.iter().map(|row| row.time).sum()
    }

    pub(crate) fn spread(&self, value: impl Fn(&UnifiedRow) -> Option<f64>) -> Spread {
        Spread::of(self.rows.iter().map(|row| value(row)))
    }
}

/// The rows of the table by what they have in common, in the order of the walk.
pub(crate) fn grouped_rows<'a>(
    analysis: &'a Analysis,
    rows: &'a [UnifiedRow],
    with_overlap: bool,
    places: &mut Places<'a>,
    name_lists: &mut NameLists,
) -> Vec<Group<'a>> {
    let mut index: HashMap<CallKey<RowName>, usize> = HashMap::new();
    let mut groups: Vec<Group<'a>> = Vec::new();
    for row in rows {
        let operator = row.charged.operator;
        let (overlapping, overlap) = match with_overlap {
            true => overlap_of(analysis, analysis.overlaps(), &row.charged.device_events, name_lists),
            false => (None, CallOverlap::default()),
        };
        let key = CallKey::of(analysis, operator, row.name(analysis), row.category.clone(), places)
            .with_kernels(analysis, row.charged.device_events.len())
            .with_overlapping(overlapping);
        let at = *index.entry(key.clone()).or_insert_with(|| {
            groups.push(Group { key, rows: Vec::new(), overlaps: Vec::new() });
            groups.len() - 1
        });
        groups[at].rows.push(row);
        groups[at].overlaps.push(overlap);
    }
    groups
}

/// Most time first. Calls that only differ in what ran beside them stand together, by the time of them all.
pub(crate) fn sort(analysis: &Analysis, groups: &mut [Group<'_>]) {
    let events = analysis.trace().events();
    let together = |group: &Group<'_>| group.key.clone().with_overlapping(None);
    let mut of_all: HashMap<CallKey<RowName>, (i64, u32)> = HashMap::new();
    for group in groups.iter() {
        let (time, first) = of_all.entry(together(group)).or_insert((0, u32::MAX));
        *time += group.time();
        *first = (*first).min(events.uid(group.first()));
    }
    groups.sort_by_cached_key(|group| {
        let (time, first) = of_all[&together(group)];
        (Reverse(time), first, Reverse(group.time()), events.uid(group.first()))
    });
}
