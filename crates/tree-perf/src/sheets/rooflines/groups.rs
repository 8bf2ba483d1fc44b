//! The calls of one family with their figures, put together by operator and parameters.

use std::cmp::Reverse;

use gpu_timeline::{SortFew, busy_time};
use hashbrown::HashMap;
use operator_sheets::{Evaluated, Figures};
use perf_models::{Parameter, Undefined, Value};
use trace_ingest::EventId;
use trace2tree::EventSet;

use crate::analysis::Analysis;
use crate::call_overlap::{CallOverlap, NameLists, call_overlap};
use crate::derived::Subject;
use crate::device::interval;
use crate::held_against;
use crate::models::AnswerId;
use crate::{IndexMap, IndexSet};

/// One call with its figures.
pub(super) struct Row {
    pub(super) operator: EventId,
    answer: AnswerId,
    /// Whether the figures are of its backward pass.
    is_backward: bool,
    pub(super) figures: Figures,
    /// Time in which at least one of the device events ran.
    time: i64,
    /// By start.
    pub(super) device_events: Vec<EventId>,
    pub(super) overlap: (Option<u32>, CallOverlap),
}

impl Row {
    pub(super) fn evaluated<'a>(&self, analysis: &'a Analysis) -> Option<&'a Evaluated> {
        analysis.models().evaluation(self.answer).as_ref().ok()
    }

    /// Why there are no bytes; FLOPs there are.
    pub(super) fn undefined<'a>(&self, analysis: &'a Analysis) -> Option<&'a Undefined> {
        let evaluated = self.evaluated(analysis)?;
        let work = if self.is_backward { &evaluated.backward } else { &evaluated.forward };
        work.undefined()
    }

    /// What there is to say of the figures: what the model assumes, and what the work is held against.
    pub(super) fn note(&self, analysis: &Analysis) -> Option<String> {
        let evaluated = self.evaluated(analysis)?;
        let held = held_against::note(analysis, evaluated.spec, &self.figures, &self.device_events);
        let clauses: Vec<String> = evaluated.assumption.clone().into_iter().chain(held).collect();
        (!clauses.is_empty()).then(|| clauses.join("; "))
    }
}

/// Calls of one row of the sheet: same operator, same parameters.
pub(super) struct Group {
    /// Parameters as text, by the sheet's parameter columns.
    pub(super) parameters: Vec<Option<String>>,
    pub(super) rows: Vec<Row>,
    /// Calls that lie inside other calls of the sheet.
    pub(super) nested: usize,
}

impl Group {
    pub(super) fn time(&self) -> i64 {
        self.rows.iter().map(|row| row.time).sum()
    }
}

/// Groups with the parameter columns that they have.
#[derive(Default)]
pub(super) struct SheetRows {
    pub(super) parameters: IndexSet<&'static str>,
    pub(super) groups: Vec<Group>,
}

impl SheetRows {
    /// Adds groups behind those here, under the union of the parameter columns.
    pub(super) fn extend(&mut self, more: SheetRows) {
        self.parameters.extend(more.parameters.iter().copied());
        let width = self.parameters.len();
        self.groups.iter_mut().for_each(|group| group.parameters.resize(width, None));
        let place = |name: &&str| more.parameters.get_index_of(*name);
        let places: Vec<Option<usize>> = self.parameters.iter().map(place).collect();
        self.groups.extend(more.groups.into_iter().map(|mut group| Group {
            parameters: places.iter().map(|&place| group.parameters[place?].take()).collect(),
            ..group
        }));
    }

    /// Counts the calls that lie inside other calls of the sheet.
    pub(super) fn count_nested(&mut self, analysis: &Analysis) {
        let tree = analysis.tree();
        let mut calls = EventSet::with_capacity(analysis.trace().events().len());
        for row in self.groups.iter().flat_map(|group| &group.rows) {
            calls.insert(row.operator);
        }
        let lies_inside = |row: &Row| tree.ancestors(row.operator).any(|above| calls.contains(above));
        for group in &mut self.groups {
            group.nested = group.rows.iter().filter(|row| lies_inside(row)).count();
        }
    }
}

/// The calls of the family's operators that have figures, grouped, most time first.
pub(super) fn grouped_calls(
    analysis: &Analysis,
    subject: &Subject,
    backward: bool,
    name_lists: &mut Option<NameLists>,
) -> SheetRows {
    let rows = calls(analysis, subject, backward, name_lists);
    let (parameters, row_texts) = ParameterTexts::new(analysis, &rows);

    let options = analysis.options();
    let events = analysis.trace().events();
    // Calls that only differ in what ran beside them stand together: by time and first call of them all.
    let mut alike = HashMap::new();
    let mut group_totals: Vec<(i64, u32)> = Vec::new();
    let mut index = HashMap::new();
    let mut unfilled: Vec<UnfilledGroup> = Vec::new();
    let mut group_of_row = Vec::with_capacity(rows.len());
    for (row, text) in rows.iter().zip(row_texts.ids) {
        let key = (
            events.name(row.operator),
            text,
            options.group_by_num_kernels.then_some(row.device_events.len()),
            analysis.is_recompute(row.operator),
        );
        let same = *alike.entry(key).or_insert_with(|| {
            group_totals.push((0, events.uid(row.operator)));
            group_totals.len() - 1
        });
        group_totals[same].0 += row.time;
        let at = *index.entry((same, row.overlap.0)).or_insert_with(|| {
            unfilled.push(UnfilledGroup { text, same, rows: 0 });
            unfilled.len() - 1
        });
        unfilled[at].rows += 1;
        group_of_row.push(at);
    }
    let group = |UnfilledGroup { text, same, rows }| {
        let parameters = row_texts.texts[text].clone();
        (same, Group { parameters, rows: Vec::with_capacity(rows), nested: 0 })
    };
    let mut groups: Vec<(usize, Group)> = unfilled.into_iter().map(group).collect();
    for (row, at) in rows.into_iter().zip(group_of_row) {
        groups[at].1.rows.push(row);
    }
    // Stable: calls came in file order, so of equal groups the first in the file comes first.
    groups.sort_few_by_key(|(same, group)| {
        let (time, first) = group_totals[*same];
        (Reverse(time), first, Reverse(group.time()))
    });
    SheetRows { parameters, groups: groups.into_iter().map(|(_, group)| group).collect() }
}

/// A group before its rows are moved to it.
struct UnfilledGroup {
    /// Index of the parameters' text.
    text: usize,
    /// Index of the groups that only differ in what ran beside them.
    same: usize,
    rows: usize,
}

/// The parameters of calls as texts: each answer of a model is put into words once, however many calls share it.
struct ParameterTexts {
    /// Distinct texts, by the parameter columns.
    texts: IndexSet<Vec<Option<String>>>,
    /// Which of them each call has.
    ids: Vec<usize>,
}

impl ParameterTexts {
    /// The names of the parameters, and the texts.
    fn new(analysis: &Analysis, rows: &[Row]) -> (IndexSet<&'static str>, Self) {
        let mut answers: IndexMap<AnswerId, &[Parameter]> = IndexMap::default();
        let mut answer_of_row = Vec::with_capacity(rows.len());
        for row in rows {
            let entry = answers.entry(row.answer);
            answer_of_row.push(entry.index());
            entry.or_insert_with(|| {
                row.evaluated(analysis).map_or(&[][..], |evaluated| &evaluated.parameters)
            });
        }
        let answers: Vec<&[Parameter]> = answers.into_values().collect();
        let names = parameter_names(&answers);
        let mut texts: IndexSet<Vec<Option<String>>> = IndexSet::default();
        let text_of_answer: Vec<usize> =
            parameter_texts(&answers, &names).into_iter().map(|text| texts.insert_full(text).0).collect();
        let ids = answer_of_row.into_iter().map(|answer| text_of_answer[answer]).collect();
        (names, ParameterTexts { texts, ids })
    }
}

/// Names of the parameters of calls, in the order in which they first occur.
fn parameter_names(calls: &[&[Parameter]]) -> IndexSet<&'static str> {
    calls.iter().copied().flatten().map(|&(name, _)| name).collect()
}

/// Parameters as text, call by call. A column of numbers in which a call has none, or which mixes whole and
/// other numbers, prints as floats throughout.
fn parameter_texts(calls: &[&[Parameter]], names: &IndexSet<&'static str>) -> Vec<Vec<Option<String>>> {
    let value = |call: &[Parameter], name: &str| -> Option<Value> {
        let (_, value) = call.iter().find(|(known, _)| *known == name)?;
        (*value != Value::None).then(|| value.clone())
    };
    let as_floats: Vec<bool> = names
        .iter()
        .map(|name| {
            let (mut whole, mut other, mut gaps) = (false, false, false);
            for call in calls {
                match value(call, name) {
                    None => gaps = true,
                    Some(Value::Int(_)) => whole = true,
                    Some(Value::Float(_)) => other = true,
                    Some(_) => return false,
                }
            }
            whole && (other || gaps)
        })
        .collect();
    calls
        .iter()
        .map(|call| {
            let texts = names.iter().zip(&as_floats).map(|(name, &as_float)| {
                Some(match value(call, name)? {
                    Value::Int(number) if as_float => Value::Float(number as f64).to_string(),
                    other => other.to_string(),
                })
            });
            texts.collect()
        })
        .collect()
}

fn calls(
    analysis: &Analysis,
    subject: &Subject,
    backward: bool,
    name_lists: &mut Option<NameLists>,
) -> Vec<Row> {
    let (tree, trace, models) = (analysis.tree(), analysis.trace(), analysis.models());
    let calls = analysis.roofline_members().calls(analysis, subject);
    let mut scratch = Vec::new();
    // Room for all: rows are large, and would be moved again and again while the list grows.
    let mut rows = Vec::with_capacity(calls.len());
    rows.extend(calls.into_iter().filter_map(|operator| {
        let mut device_events: Vec<EventId> = match backward {
            // The row of the forward operator has the work.
            false
                if models.models_backward_alone(tree, operator)
                    && models.modelled_forward(tree, operator).is_some() =>
            {
                return None;
            }
            false => tree.device_events(operator).to_vec(),
            true => {
                // Only operators that a backward links to themselves, though figures are of all below.
                if tree.backward_events(operator).is_empty() {
                    return None;
                }
                let links = tree.backward_events_of_subtree(operator);
                let mut all: Vec<EventId> =
                    links.iter().flat_map(|&link| tree.device_events(link)).copied().collect();
                all.sort_unstable();
                all.dedup();
                all
            }
        };
        device_events.sort_by_key(|&event| trace.events().start(event));
        let answer = models.answer(tree, operator);
        let evaluated = models.evaluation(answer).as_ref().ok()?;
        let work = if backward { &evaluated.backward } else { &evaluated.forward };
        let time = busy_time(device_events.iter().map(|&event| interval(trace, event)), &mut scratch);
        let figures =
            held_against::figures(analysis, work, evaluated.spec, &device_events, analysis.us(time))?;
        let overlap = match name_lists {
            Some(name_lists) => call_overlap(analysis, &device_events, name_lists),
            None => (None, CallOverlap::default()),
        };
        Some(Row { operator, answer, is_backward: backward, figures, time, device_events, overlap })
    }));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of one column; `None` where a call lacks the parameter.
    fn column(values: &[Option<Value>]) -> Vec<Option<String>> {
        let calls: Vec<Vec<Parameter>> =
            values.iter().map(|value| value.iter().map(|value| ("p", value.clone())).collect()).collect();
        let calls: Vec<&[Parameter]> = calls.iter().map(Vec::as_slice).collect();
        let texts = parameter_texts(&calls, &IndexSet::from_iter(["p"]));
        texts.into_iter().map(|mut call| call.remove(0)).collect()
    }

    #[test]
    fn a_column_prints_its_numbers_alike() {
        let list = || Value::List(vec![Value::Int(1)]);
        let (int, float, flag) =
            (|| Some(Value::Int(8944)), || Some(Value::Float(0.5)), || Some(Value::Bool(true)));
        let text = |texts: &[&str]| -> Vec<Option<String>> {
            texts.iter().map(|text| (*text != "-").then(|| (*text).to_owned())).collect()
        };
        for (values, expected) in [
            (vec![int(), int()], text(&["8944", "8944"])),
            (vec![int(), None], text(&["8944.0", "-"])),
            (vec![int(), Some(Value::None)], text(&["8944.0", "-"])),
            (vec![int(), float()], text(&["8944.0", "0.5"])),
            (vec![float(), None], text(&["0.5", "-"])),
            (vec![flag(), None], text(&["True", "-"])),
            // One that is no number: each for itself.
            (vec![int(), flag()], text(&["8944", "True"])),
            (vec![int(), Some(list()), None], text(&["8944", &list().to_string(), "-"])),
        ] {
            assert_eq!(column(&values), expected, "{values:?}");
        }
    }

    #[test]
    fn names_come_in_the_order_of_the_calls() {
        let calls: [&[Parameter]; 2] =
            [&[("M", Value::Int(1)), ("K", Value::Int(1))], &[("B", Value::Int(1)), ("M", Value::Int(1))]];
        assert!(parameter_names(&calls).into_iter().eq(["M", "K", "B"]));
    }
}
