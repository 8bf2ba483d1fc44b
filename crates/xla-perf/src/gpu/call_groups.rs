//! Rows of sheets of instructions: calls that belong together, and the columns of their times and figures.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::hash::Hash;

use gpu_timeline::{SortFew, Spread, Summary};
use operator_sheets::{CallFigures, Figures, KernelList, ListedKernel};
use sheets::ColumnKind::Text;
use sheets::{Absence, Column, Field, Role};
use trace_ingest::{EventId, Picoseconds};

use crate::analysis::JaxAnalysis;
use crate::executions::Call;
use crate::operators::{Operator, stem};
use crate::{IndexMap, IndexSet};

pub(crate) const INSTRUCTION: Column =
    Column::new("name", Text, "HLO instruction; the kernel, copy or fill if not recorded.");
pub(crate) const STEM: Column = Column::new(
    "name",
    Text,
    "HLO instruction without its numeric suffix, so that similar instances share a row; the kernel, copy or fill if not recorded.",
);
pub(crate) const MODULE: Column =
    Column::new("hlo_module", Text, "Compiled program of the instruction; empty if not recorded.")
        .with_role(Role::Detail)
        .distinguishing();
pub(crate) const CATEGORY: Column = Column::new(
    "op category",
    Text,
    "Category of the instruction, by opcode, library call or fusion contents: GEMM, CONV_fwd, SDPA_fwd, reduce, elementwise, data_movement, communication …; if the profile does not embed the instruction: memcpy, memset, or a category by kernel name.",
);

/// Calls of one row, by their first kernel's uid; never empty.
pub(crate) struct CallGroup<'a> {
    pub(crate) calls: Vec<&'a Call>,
}

impl<'a> CallGroup<'a> {
    /// The instruction of the first call.
    pub(crate) fn operator(&self, analysis: &'a JaxAnalysis) -> &'a Operator {
        &analysis.operators()[self.calls[0].operator]
    }

    /// Sum over calls of the time in which at least one kernel of the call ran.
    pub(crate) fn time(&self) -> Picoseconds {
        self.calls.iter().map(|call| call.time).sum()
    }

    /// Name of the first call's instruction without its number.
    pub(crate) fn name(&self, analysis: &'a JaxAnalysis) -> &'a str {
        stem(&self.operator(analysis).name)
    }

    pub(super) fn instructions(&self) -> usize {
        self.calls.iter().map(|call| call.operator).collect::<BTreeSet<_>>().len()
    }

    pub(crate) fn first(&self, analysis: &JaxAnalysis) -> EventId {
        let first = self.calls[0].kernels.iter().min().copied().unwrap_or_default();
        analysis.device_events()[first].event
    }

    /// The calls' work held against their times; `None` where there are no FLOPs.
    pub(crate) fn figures(&self, analysis: &'a JaxAnalysis) -> impl Iterator<Item = Option<Figures>> {
        self.calls.iter().map(move |call| analysis.figures(call))
    }

    /// Times of the calls in executions of a program that are not warm-up, and in none.
    fn steady_times(&self, analysis: &JaxAnalysis) -> Vec<i64> {
        let is_warm_up =
            |call: &Call| call.execution.is_some_and(|execution| analysis.executions()[execution].is_warm_up);
        self.calls.iter().filter(|call| !is_warm_up(call)).map(|call| call.time.0).collect()
    }

    /// The calls' kernels, position by position.
    fn kernels(&self, analysis: &JaxAnalysis) -> KernelList {
        let listed = |&at: &usize| {
            let event = &analysis.device_events()[at];
            ListedKernel { stream: Some(event.stream), ..ListedKernel::new(analysis.trace(), event.event) }
        };
        KernelList::summarise(analysis.trace(), self.calls.iter().map(|call| &call.kernels[..]), listed)
    }
}

/// Groups the calls that the keywords keep by a key, most time first.
pub(super) fn call_groups<'a, Key: Eq + Hash>(
    analysis: &'a JaxAnalysis,
    key: impl Fn(&'a Call) -> Option<Key>,
) -> Vec<CallGroup<'a>> {
    let mut groups: IndexMap<Key, Vec<&'a Call>> = IndexMap::default();
    for call in analysis.calls().iter().filter(|call| analysis.keeps(call.operator)) {
        if let Some(key) = key(call) {
            groups.entry(key).or_default().push(call);
        }
    }
    let mut groups: Vec<CallGroup<'a>> = groups.into_values().map(|calls| CallGroup { calls }).collect();
    // The order of their first calls decides between equal times.
    groups.sort_few_by_key(|group| Reverse(group.time()));
    groups
}

/// What the rows of a sheet of instructions share.
pub(crate) struct OperatorContext<'a> {
    pub(crate) analysis: &'a JaxAnalysis,
    /// Names of the models' parameters, where the sheet has a column for each.
    pub(crate) parameters: IndexSet<&'static str>,
}

/// A row of a sheet of instructions: calls, with what several cells are made from.
pub(super) struct OperatorRow<'a> {
    pub(super) group: CallGroup<'a>,
    pub(super) operator: &'a Operator,
    /// Sum over calls of the kernel time.
    pub(super) time: Picoseconds,
    /// Kernel times of the calls, in µs.
    pub(super) times: Spread,
    /// UID of the first kernel.
    pub(super) uid: u32,
    pub(super) kernels: KernelList,
    steady: Vec<i64>,
    figures: CallFigures,
}

impl<'a> OperatorRow<'a> {
    pub(super) fn new(analysis: &'a JaxAnalysis, group: CallGroup<'a>) -> Self {
        let figures: Vec<Figures> = group.figures(analysis).flatten().collect();
        // Work without FLOPs has no rate.
        let rates = figures.iter().map(|figures| figures.tflops_per_s().filter(|_| figures.flops > 0.0));
        let times: Vec<i64> = group.calls.iter().map(|call| call.time.0).collect();
        let operator = group.operator(analysis);
        OperatorRow {
            operator,
            time: group.time(),
            times: analysis.spread_us(Summary::from_values(&times)),
            uid: analysis.trace().events().uid(group.first(analysis)),
            kernels: group.kernels(analysis),
            steady: group.steady_times(analysis),
            figures: CallFigures {
                spec: operator.spec(),
                tflops_per_s: Spread::from_values(rates),
                ..CallFigures::new(figures.iter())
            },
            group,
        }
    }
}

pub(super) type OperatorField<'a> = Field<OperatorContext<'a>, OperatorRow<'a>>;

/// Why a row has no FLOPs, or no bytes.
fn gap(_: &OperatorContext<'_>, row: &OperatorRow<'_>) -> Option<Absence> {
    row.operator.gap()
}

/// The program of the instruction.
pub(super) fn module_field<'a>() -> OperatorField<'a> {
    MODULE.field_in(|context: &OperatorContext<'_>, row: &OperatorRow<'_>| {
        context.analysis.module_name(row.operator).into()
    })
}

/// Work of the first call with figures, under the names of these columns.
pub(super) fn work_fields<'a>(columns: [Column; 3]) -> [OperatorField<'a>; 3] {
    operator_sheets::work_fields(columns, |row: &OperatorRow<'_>| &row.figures, gap)
}

/// Achieved bandwidth and rate over calls.
pub(super) fn rate_fields<'a>() -> impl Iterator<Item = OperatorField<'a>> {
    operator_sheets::rate_fields(|row: &OperatorRow<'_>| &row.figures, gap)
}

/// The peak, and with an architecture the columns of the roofline.
pub(super) fn roofline_fields<'a>() -> impl Iterator<Item = OperatorField<'a>> {
    let has_architecture = |context: &OperatorContext<'_>| context.analysis.architecture().is_some();
    operator_sheets::roofline_fields(has_architecture, |row: &OperatorRow<'_>| &row.figures, gap)
}

/// The calls in warm-up executions and the mean time of the others.
pub(super) fn warm_up_fields<'a>() -> [OperatorField<'a>; 2] {
    [
        Column::count("warm_up_count", "Number of calls in warm-up executions of the program, see steps.")
            .with_role(Role::Detail)
            .field(|row: &OperatorRow<'_>| (row.group.calls.len() - row.steady.len()).into()),
        Column::microseconds(
            "Steady Kernel Time (µs)_mean",
            "Mean kernel time of the calls outside warm-up executions.",
        )
        .per("call")
        .field_in(|context: &OperatorContext<'_>, row: &OperatorRow<'_>| {
            context.analysis.spread_us(Summary::from_values(&row.steady)).mean.into()
        }),
    ]
}

/// What the figures assume.
pub(super) fn note_field<'a>() -> OperatorField<'a> {
    Column::text("note", "Assumptions behind the figures, or why they are missing; else empty.")
        .with_role(Role::Detail)
        .field(|row: &OperatorRow<'_>| row.operator.note().into())
}
