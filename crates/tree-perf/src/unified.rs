//! The operators that account for the device's time with their figures, made once for all sheets that show them, and
//! put together by operator and arguments.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use gpu_timeline::{SortFew, Spread, busy_time};
use hashbrown::HashMap;
use operator_sheets::{Evaluated, Figures, MissingPeak, OpCategory, RooflineShares};
use perf_models::{Category, Gap, Parameter, Undefined};
use trace_ingest::EventId;
use trace2tree::{EventSet, is_graph_launch};

use crate::analysis::Analysis;
use crate::call_groups::{CallGroup, CallName, CallTable, CountedCall, GroupKey};
use crate::charged_operators::charged_operators;
use crate::derived::{ChargedOperator, FiguresFrom, UnifiedRow};
use crate::device::interval;
use crate::held_against;
use crate::models::AnswerId;
use crate::notice::Notice;

/// What is known of the work behind device time, in the order of its report.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Status {
    Modelled,
    InCache,
    AbovePeak,
    BytesNotKnown,
    ArgumentsNotRecorded,
    NoModel,
    Copies,
    Communication,
    Unlinked,
}

impl Status {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Status::Modelled => "modelled",
            Status::InCache => "in cache",
            Status::AbovePeak => "above peak",
            Status::BytesNotKnown => "bytes not known",
            Status::ArgumentsNotRecorded => "arguments not recorded",
            Status::NoModel => "no model",
            Status::Copies => RooflineShares::COPIES,
            Status::Communication => RooflineShares::COMMUNICATION,
            Status::Unlinked => RooflineShares::UNLINKED,
        }
    }

    /// Why FLOPs and bytes are not known.
    pub(crate) fn gap(self) -> Option<&'static str> {
        (!matches!(self, Status::Modelled | Status::InCache | Status::AbovePeak)).then(|| self.as_str())
    }
}

impl UnifiedRow {
    /// What is known of the work of the row.
    pub(crate) fn status(&self, analysis: &Analysis) -> Status {
        match &self.figures {
            _ if self.category == Category::Communication.into() => Status::Communication,
            Some(figures) if figures.bytes.is_none() => Status::BytesNotKnown,
            Some(figures) if figures.percent_of_roofline().is_some_and(|share| share > 100.0) => {
                match figures.explaining_cache(analysis.architecture()) {
                    Some(_) if analysis.options().conventions.judges_executed_work() => Status::InCache,
                    _ => Status::AbovePeak,
                }
            }
            Some(_) => Status::Modelled,
            None if self.category == Category::CopyFill.into() => Status::Copies,
            None => match self.answer.map(|answer| analysis.models().evaluation(answer)) {
                Some(Err(undefined)) if matches!(undefined.gap, Gap::Arguments | Gap::DataType) => {
                    Status::ArgumentsNotRecorded
                }
                _ if self.is_bare_launch(analysis) => Status::ArgumentsNotRecorded,
                _ => Status::NoModel,
            },
        }
    }

    /// Whether the device work is that of a call outside any operator, such as the launch of a graph.
    fn is_bare_launch(&self, analysis: &Analysis) -> bool {
        analysis.trace().events().category(self.charged.operator).is_launch_api()
    }

    /// The answers of the model, if it has any. Copies are not asked about.
    pub(crate) fn evaluated<'a>(&self, analysis: &'a Analysis) -> Option<&'a Evaluated> {
        analysis.models().evaluation(self.answer?).as_ref().ok()
    }

    /// Whether a model claims the operator.
    pub(crate) fn has_model(&self) -> bool {
        self.charged.figures != FiguresFrom::Nowhere
    }

    /// The model's answer and whether it is that for backward work: rows with the same have the same reason.
    pub(crate) fn answer(&self) -> (Option<AnswerId>, bool, bool) {
        (self.answer, matches!(self.charged.figures, FiguresFrom::BackwardOf(_)), self.is_copy)
    }

    /// What there is to say of the figures: what the model assumes, and what the work is held against.
    pub(crate) fn note(&self, analysis: &Analysis) -> Option<String> {
        let figures = self.figures.as_ref()?;
        let evaluated = self.evaluated(analysis);
        let assumed = evaluated.and_then(|evaluated| evaluated.assumption.clone());
        let spec = evaluated.and_then(|evaluated| evaluated.spec);
        let held = held_against::note(analysis, spec, figures, &self.charged.device_events);
        let clauses: Vec<String> = assumed.into_iter().chain(held).collect();
        (!clauses.is_empty()).then(|| clauses.join("; "))
    }

    /// Why there are no figures, or not all of them.
    pub(crate) fn undefined(&self, analysis: &Analysis) -> Option<Undefined> {
        let missing = |gap, reason| Undefined { gap, reason: Cow::Borrowed(reason) };
        if self.is_copy {
            let has_none = self.figures.is_none();
            return has_none.then(|| missing(Gap::Arguments, "the copy size is not recorded"));
        }
        let Some(answer) = self.answer else {
            let is_launch = analysis.options().conventions.is_full() && self.is_bare_launch(analysis);
            let (gap, reason) = match is_launch {
                _ if self.category == Category::Communication.into() => {
                    (Gap::NoFormula, "communication: its time depends on other ranks and links")
                }
                true if is_graph_launch(analysis.trace().name(self.charged.operator)) => {
                    (Gap::Arguments, "a graph replay is recorded without the arguments of its calls")
                }
                true => (Gap::Arguments, "launched outside any operator, so no arguments are recorded"),
                false => (Gap::NoModel, "no performance model for this operator"),
            };
            return Some(missing(gap, reason));
        };
        let undefined = match analysis.models().evaluation(answer) {
            Err(undefined) => undefined,
            Ok(evaluated) => {
                let work = match self.charged.figures {
                    FiguresFrom::BackwardOf(_) => &evaluated.backward,
                    FiguresFrom::Own | FiguresFrom::Nowhere => &evaluated.forward,
                };
                work.undefined()?
            }
        };
        Some(undefined.clone())
    }
}

impl CountedCall for UnifiedRow {
    const BY_MODULE: bool = false;

    fn operator(&self) -> EventId {
        self.charged.operator
    }

    /// That of the operator, with the device event's for what is left over.
    fn name(&self, analysis: &Analysis) -> CallName {
        let events = analysis.trace().events();
        let device_event = self.charged.device_events.first().filter(|_| self.charged.is_leftover);
        CallName {
            operator: events.name(self.charged.operator),
            device_event: device_event.map(|&event| events.name(event)),
        }
    }

    fn category(&self) -> &OpCategory {
        &self.category
    }

    fn device_events<'a>(&'a self, _: &'a Analysis) -> &'a [EventId] {
        &self.charged.device_events
    }
}

impl CallGroup<'_, UnifiedRow> {
    /// A figure of the first call that has it.
    pub(crate) fn figure<T>(&self, value: impl Fn(&Figures) -> Option<T>) -> Option<T> {
        self.calls.iter().find_map(|row| value(row.figures.as_ref()?))
    }

    pub(crate) fn time(&self) -> i64 {
        self.calls.iter().map(|row| row.time).sum()
    }

    pub(crate) fn spread(&self, value: impl Fn(&UnifiedRow) -> Option<f64>) -> Spread {
        Spread::from_values(self.calls.iter().map(|row| value(row)))
    }
}

/// The rows by what they have in common, most time first. Calls that only differ in what ran beside them stand
/// together, by the time of them all.
pub(crate) fn unified_groups(
    analysis: &Analysis,
    with_overlap: bool,
) -> (CallTable<'_>, Vec<CallGroup<'_, UnifiedRow>>) {
    let mut table = CallTable::new(analysis, with_overlap);
    let mut groups = table.group(analysis.unified_rows().iter());
    let uid = |group: &CallGroup<'_, UnifiedRow>| analysis.trace().events().uid(group.first());
    let mut group_totals: HashMap<GroupKey, (i64, u32)> = HashMap::new();
    for group in &groups {
        let (time, first) = group_totals.entry(group.key.without_overlap()).or_insert((0, u32::MAX));
        *time += group.time();
        *first = (*first).min(uid(group));
    }
    groups.sort_few_by_cached_key(|group| {
        let (time, first) = group_totals[&group.key.without_overlap()];
        (Reverse(time), first, Reverse(group.time()), uid(group))
    });
    (table, groups)
}

/// An operator call with the device events that it accounts for: what a row of `unified_perf_summary` sums up.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ChargedWork<'a> {
    /// The operator; the call of the runtime where no operator launched the events.
    pub operator: EventId,
    /// Whether it is one device event that no row of its operator accounts for: the row has the name of both.
    pub is_leftover: bool,
    /// Kind of work, such as `GEMM`.
    pub category: &'a str,
    /// Time in which at least one of the device events ran, in the trace's unit.
    pub time: i64,
    /// The device events. Every one whose launch is in the trace is that of one operator.
    pub device_events: &'a [EventId],
    /// Its work held against its time, where a model or the recorded size of a copy tells it.
    pub figures: Option<Figures>,
    /// Why FLOPs and bytes are not known; `None` where they are.
    pub gap: Option<&'static str>,
    /// Parameters of the model, such as `M`; empty without one.
    pub parameters: &'a [Parameter],
}

impl ChargedWork<'_> {
    /// Floating-point operations, if they are known.
    #[must_use]
    pub fn flops(&self) -> Option<f64> {
        self.figures.map(|figures| figures.flops)
    }

    /// Bytes moved, if they are known.
    #[must_use]
    pub fn bytes(&self) -> Option<f64> {
        self.figures.and_then(|figures| figures.bytes)
    }
}

/// A call with what its own model says of it, whichever operator is charged with its device events.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModelledCall<'a> {
    /// The device events of the work, by start.
    pub device_events: Vec<EventId>,
    /// Time in µs in which at least one of them ran.
    pub time_us: f64,
    /// The work held against that time.
    pub figures: Option<Figures>,
    /// Why FLOPs or bytes are not known; `None` where both are.
    pub reason: Option<String>,
    /// Parameters of the model, such as `M`; empty without one.
    pub parameters: &'a [Parameter],
}

impl Analysis {
    /// What the model of an operator says of one of its calls and of all device events below it, or with `backward` of the
    /// device events below the backward operators of the call and of those inside it.
    pub fn modelled_call(&self, operator: EventId, backward: bool) -> ModelledCall<'_> {
        let (tree, events) = (self.tree(), self.trace().events());
        let mut device_events = match backward {
            true => device_events_of_backward(self, operator),
            false => tree.device_events(operator).to_vec(),
        };
        device_events.sort_by_key(|&event| (events.start(event), event));
        let intervals = device_events.iter().map(|&event| interval(self.trace(), event));
        let time_us = self.us(busy_time(intervals, &mut Vec::new()));
        let (figures, reason, parameters): (_, _, &[Parameter]) = match self.models().evaluate(tree, operator)
        {
            Ok(evaluated) => {
                let work = if backward { &evaluated.backward } else { &evaluated.forward };
                let figures = held_against::figures(self, work, evaluated.spec, &device_events, time_us);
                (figures, work.undefined().map(ToString::to_string), &evaluated.parameters)
            }
            Err(undefined) => (None, Some(undefined.to_string()), &[]),
        };
        ModelledCall { device_events, time_us, figures, reason, parameters }
    }

    /// The operators that account for the device's time, with what the models say of them. An operator that does work of
    /// several kinds, or does more than its model says, comes more than once. Models are asked once for each distinct call.
    pub fn charged_work(&self) -> impl Iterator<Item = ChargedWork<'_>> {
        self.unified_rows().iter().map(|row| ChargedWork {
            operator: row.charged.operator,
            is_leftover: row.charged.is_leftover,
            category: row.category.as_str(),
            time: row.time,
            device_events: &row.charged.device_events,
            figures: row.figures,
            gap: row.status(self).gap(),
            parameters: row.evaluated(self).map_or(&[], |evaluated| &evaluated.parameters),
        })
    }

    /// The operators that account for the device's time with their figures, in the order of the walk. Computed once.
    pub(crate) fn unified_rows(&self) -> &[UnifiedRow] {
        self.derived.unified.get_or_init(|| {
            let mut scratch = Vec::new();
            charged_operators(self).into_iter().map(|charged| row(self, charged, &mut scratch)).collect()
        })
    }

    /// The device events that no unified row accounts for, and why: those without a launch in the trace, and with the
    /// figures of TraceLens communication.
    pub(crate) fn uncharged_device_events(&self) -> impl Iterator<Item = (Status, EventId)> {
        let charged = self.charged_device_events();
        let uncharged = self.device.ids.iter().zip(&self.device.linked);
        uncharged.filter(|(event, _)| !charged.contains(**event)).map(|(&event, &linked)| match linked {
            true => (Status::Communication, event),
            false => (Status::Unlinked, event),
        })
    }

    /// The device events that the unified rows account for.
    pub(crate) fn charged_device_events(&self) -> &EventSet {
        self.derived.charged.get_or_init(|| {
            let mut set = EventSet::with_capacity(self.trace().events().len());
            for &event in self.unified_rows().iter().flat_map(|row| &row.charged.device_events) {
                set.insert(event);
            }
            set
        })
    }
}

/// The device events below the backward operators of a forward operator and of those inside it.
fn device_events_of_backward(analysis: &Analysis, forward: EventId) -> Vec<EventId> {
    let tree = analysis.tree();
    let links = tree.backward_events_of_subtree(forward);
    let mut events: Vec<EventId> = links.iter().flat_map(|&link| tree.device_events(link)).copied().collect();
    events.sort_unstable();
    events.dedup();
    events
}

fn row(
    analysis: &Analysis,
    charged: ChargedOperator,
    scratch: &mut Vec<gpu_timeline::Interval>,
) -> UnifiedRow {
    let (tree, trace, models) = (analysis.tree(), analysis.trace(), analysis.models());
    let mut busy =
        |events: &[EventId]| busy_time(events.iter().map(|&event| interval(trace, event)), scratch);
    let time = busy(&charged.device_events);
    let is_copy = held_against::is_copy(analysis, &charged.device_events);
    let (answer, backward, time_of_figures) = match charged.figures {
        _ if is_copy => (None, false, time),
        FiguresFrom::Own => (Some(models.answer(tree, charged.operator)), false, time),
        FiguresFrom::BackwardOf(forward) => {
            // The forward operator's backward figures cover everything that its backward links launched.
            (Some(models.answer(tree, forward)), true, busy(&device_events_of_backward(analysis, forward)))
        }
        FiguresFrom::Nowhere => (None, false, time),
    };
    let us = analysis.us(time_of_figures);
    let model_figures = |answer| {
        let evaluated = models.evaluation(answer).as_ref().ok()?;
        let work = if backward { &evaluated.backward } else { &evaluated.forward };
        held_against::figures(analysis, work, evaluated.spec, &charged.device_events, us)
    };
    let figures = match is_copy {
        true => held_against::copy_figures(analysis, &charged.device_events, us),
        false => answer.and_then(model_figures),
    };
    let mut row = UnifiedRow { charged, category: Category::Other.into(), time, is_copy, answer, figures };
    row.category = category(analysis, &row);
    row
}

/// The peaks that the architecture lacks, if there are any.
pub(crate) fn peaks_missing(analysis: &Analysis) -> Option<Notice> {
    let architecture = analysis.architecture()?;
    let mut calls: BTreeMap<String, usize> = BTreeMap::new();
    for figures in analysis.unified_rows().iter().filter_map(|row| row.figures) {
        if let Some(spec) = figures.spec
            && figures.roofline.is_none_or(|roofline| roofline.missing_peak.is_some())
            && figures.bytes.is_some()
            && figures.flops > 0.0
        {
            *calls.entry(spec.to_string()).or_default() += 1;
        }
    }
    let architecture = architecture.name.clone();
    let calls: Vec<(String, usize)> = calls.into_iter().collect();
    let have_bytes = analysis.options().conventions.missing_peak == MissingPeak::BytesAlone;
    (!calls.is_empty()).then_some(Notice::PeaksMissing { architecture, calls, have_bytes })
}

fn category(analysis: &Analysis, row: &UnifiedRow) -> OpCategory {
    let (tree, models) = (analysis.tree(), analysis.models());
    if analysis.options().conventions.divides_by_kernel() {
        return work(analysis, &row.charged);
    }
    let first_kernel = row.charged.device_events.first().copied();
    if row.charged.is_leftover {
        let first_kernel = first_kernel.map(|event| analysis.trace().name(event));
        return models.category_of_name(&row.name(analysis).text(analysis), first_kernel);
    }
    if let FiguresFrom::BackwardOf(forward) = row.charged.figures {
        let category = models
            .category_by_extension(tree, row.charged.operator)
            .or_else(|| models.backward_category(tree, forward));
        if let Some(category) = category {
            return category;
        }
    }
    models.category(tree, row.charged.operator, first_kernel)
}

/// What the operator is there for: the first kind of work of its device events that is neither communication nor a
/// copy, if there is any.
fn work(analysis: &Analysis, charged: &ChargedOperator) -> OpCategory {
    let (tree, models) = (analysis.tree(), analysis.models());
    let own = models.category_by_extension(tree, charged.operator);
    if let FiguresFrom::BackwardOf(forward) = charged.figures
        && let Some(category) = own.or_else(|| models.backward_category(tree, forward))
    {
        return category;
    }
    let mut kinds = charged.device_events.iter().map(|&event| models.work(tree, charged.operator, event));
    let besides = [Category::Communication, Category::CopyFill].map(OpCategory::from);
    let first = kinds.next().unwrap_or(Category::Other.into());
    match besides.contains(&first) {
        true => kinds.find(|kind| !besides.contains(kind)).unwrap_or(first),
        false => first,
    }
}
