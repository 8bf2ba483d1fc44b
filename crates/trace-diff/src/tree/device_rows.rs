//! Units of difference with all their device events: what `diff_stats` shows, and what a report of one run needs to say how
//! long the other takes.

use std::borrow::Borrow;

use hashbrown::HashMap;
use sheets::{Cell, Column, ColumnKind, Field, Layout, Nested, Role, Sheet, Unit};
use trace_ingest::{ArgumentId, Category, EventId, Sequence, Signature};
use trace2tree::TraceTree;

use super::TreeDiff;
use super::align::{A, B, Confidence};
use super::units::{Unit as UnitOfNodes, UnitStatus};

/// Calls around a device event among which the operator is looked for that launched it.
const OPERATOR_DEPTH: usize = 1024;

/// A unit of difference with its device events. Pairs are of A and of B.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitWork {
    /// Its number: units are numbered by their first device event in A, then by that in B.
    pub number: usize,
    /// The operators, as each run calls them; empty where a run has nothing of it.
    pub names: [String; 2],
    /// What sets the sides apart.
    pub status: UnitStatus,
    /// How sure the match of the operators is; `None` of what is not matched.
    pub confidence: Option<Confidence>,
    /// The device events.
    pub events: [Vec<EventId>; 2],
    /// Time in which at least one of them ran, in [`TreeDiff::time_unit`].
    pub busy: [i64; 2],
}

impl UnitWork {
    /// What both runs call it; both names where they differ.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.names {
            [a, b] if a == b || b.is_empty() => a.clone(),
            [a, b] if a.is_empty() => b.clone(),
            [a, b] => format!("{a} | {b}"),
        }
    }

    /// Whether the runs differ in it: in what runs, or in how long it takes.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.status != UnitStatus::SameKernels || self.busy[A] != self.busy[B]
    }
}

impl<T: Borrow<TraceTree>> TreeDiff<T> {
    /// All units of difference. Every device event of both runs is in one of them.
    pub fn unit_work(&self) -> impl Iterator<Item = UnitWork> + '_ {
        self.units.iter().enumerate().map(|(number, unit)| self.work_of_unit(number, unit))
    }

    fn work_of_unit(&self, number: usize, unit: &UnitOfNodes) -> UnitWork {
        UnitWork {
            number,
            names: self.head_names(unit),
            status: unit.status,
            confidence: unit.confidence,
            events: [A, B].map(|side| {
                let nodes = unit.events[side].iter();
                nodes.filter_map(|&node| self.event(side, node)).collect()
            }),
            busy: unit.busy,
        }
    }
}

/// A device event in a unit in which the runs differ.
struct DeviceRow {
    side: usize,
    event: EventId,
    operator: Option<EventId>,
    /// The place of its unit in the table's list.
    unit: usize,
}

/// What the rows of a table share.
struct DeviceTable<'a, T> {
    diff: &'a TreeDiff<T>,
    units: Vec<UnitWork>,
    /// Of the nearest module around an operator, all modules around it.
    modules: [HashMap<Option<EventId>, String>; 2],
}

impl<T: Borrow<TraceTree>> DeviceTable<'_, T> {
    fn us(&self, time: i64) -> f64 {
        self.diff.time_unit().to_microseconds(time)
    }

    fn modules(&self, row: &DeviceRow) -> &str {
        let module = self.diff.trees()[row.side].parent_module(row.event);
        self.modules[row.side].get(&module).map_or("", String::as_str)
    }
}

/// Every device event of both runs that is in a unit in which they differ.
#[must_use]
pub fn device_rows_sheet<'a, T: Borrow<TraceTree> + Send + Sync + 'a>() -> Sheet<'a, TreeDiff<T>> {
    type Row = DeviceRow;
    type Of<'a, T> = DeviceTable<'a, T>;
    let argument = |column: Column, part: fn(Signature) -> Option<ArgumentId>| {
        column.distinguishing().field_in(move |table: &Of<'a, T>, row: &Row| {
            let trace = table.diff.trees()[row.side].trace();
            let signature = row.operator.and_then(|operator| trace.events().signature(operator));
            let argument = signature.and_then(|signature| part(trace.signatures().get(signature)));
            let text = |id| trace.signatures().argument(id).display(Sequence::Tuple).to_string();
            argument.map(|id| Nested::Text(text(id))).into()
        })
    };
    let mut fields = vec![
        Column::text("name", "Kernel, copy or fill.").field_in(|table: &Of<'a, T>, row: &Row| {
            table.diff.trees()[row.side].trace().name(row.event).into()
        }),
        Column::text("cpu_op_name", "Launching operator; empty if none.").field_in(
            |table: &Of<'a, T>, row: &Row| {
                row.operator.map(|operator| table.diff.trees()[row.side].trace().name(operator)).into()
            },
        ),
        Column::identifier("cpu_op_uid", "Index of the operator in its run's event list.").field_in(
            |table: &Of<'a, T>, row: &Row| {
                row.operator
                    .map(|operator| table.diff.trees()[row.side].trace().events().uid(operator))
                    .into()
            },
        ),
        Column::text("run", "Run: A or B.")
            .only_in(Layout::Roles)
            .field(|row: &Row| ["A", "B"][row.side].into()),
        Column::text("source", "Run: trace1 is A, trace2 is B.")
            .only_in(Layout::Listed)
            .field(|row: &Row| ["trace1", "trace2"][row.side].into()),
        argument(Column::nested("Input Dims", "Shapes of the operator's arguments."), |of| of.dims),
        argument(Column::nested("Input Strides", "Strides of the operator's arguments."), |of| of.strides),
        argument(Column::nested("Input type", "Types of the operator's arguments."), |of| of.types),
        argument(Column::nested("Concrete Inputs", "Non-tensor arguments of the operator."), |of| {
            of.concrete
        }),
    ];
    fields.extend(in_both(
        ["kernel_time_us", "kernel_time"],
        ColumnKind::Number(Unit::Microseconds),
        "Duration in µs.",
        |table: &Of<'a, T>, row: &Row| {
            let side = row.side;
            let duration = table.diff.trees()[side].trace().events().duration(row.event).max(0);
            table.us(duration.saturating_mul(table.diff.scales[side])).into()
        },
    ));
    fields.extend(in_both(
        ["unit_busy_us", "busy_time"],
        ColumnKind::Number(Unit::Microseconds),
        "Device busy time of the row's unit in the row's run, in µs; equal in all rows of one unit and run.",
        |table: &Of<'a, T>, row: &Row| table.us(table.units[row.unit].busy[row.side]).into(),
    ));
    fields.extend(in_both(
        ["unit_name", "lowest_common_ancestor_name"],
        ColumnKind::Text,
        "Name of the matched operators; both names if they differ.",
        |table: &Of<'a, T>, row: &Row| table.units[row.unit].name().into(),
    ));
    fields.extend(in_both(
        ["unit", "lowest_common_ancestor_id"],
        ColumnKind::Identifier,
        "ID of the unit in diff_units.",
        |table: &Of<'a, T>, row: &Row| table.units[row.unit].number.into(),
    ));
    fields.extend([
        Column::text("status", "Kind of difference of the unit, as in diff_units.")
            .with_role(Role::Detail)
            .only_in(Layout::Roles)
            .field_in(|table: &Of<'a, T>, row: &Row| table.units[row.unit].status.as_str().into()),
        Column::text("confidence", "Certainty of the match, as in diff_units; empty without a match.")
            .with_role(Role::Detail)
            .only_in(Layout::Roles)
            .field_in(|table: &Of<'a, T>, row: &Row| {
                table.units[row.unit].confidence.map(Confidence::as_str).into()
            }),
        Column::identifier("gpu_op_uid", "Index of the event in its run's event list.").field_in(
            |table: &Of<'a, T>, row: &Row| {
                table.diff.trees()[row.side].trace().events().uid(row.event).into()
            },
        ),
        Column::text("nn_module_stack", "Enclosing modules, outermost first; root if none.")
            .with_role(Role::Detail)
            .field_in(|table: &Of<'a, T>, row: &Row| table.modules(row).into()),
        Column::text("nn_module_parent", "Innermost enclosing module.").with_role(Role::Detail).field_in(
            |table: &Of<'a, T>, row: &Row| {
                let modules = table.modules(row);
                modules.rsplit_once(';').map_or(modules, |(_, innermost)| innermost).into()
            },
        ),
    ]);
    Sheet::with_context(
        "diff_stats",
        "Device events of both runs in units that differ in time or kernels, by unit; includes work found only in B.",
        fields,
        |diff: &'a TreeDiff<T>| Some(device_rows(diff)),
    )
}

/// A column that the layouts call differently: ours, then the reference's.
fn in_both<C, R>(
    names: [&'static str; 2],
    kind: ColumnKind,
    description: &'static str,
    cell: impl for<'r> Fn(&'r C, &'r R) -> Cell<'r> + Copy + Send + Sync + 'static,
) -> [Field<C, R>; 2] {
    let [ours, reference] = names.map(|name| Column::new(name, kind, description));
    [ours.only_in(Layout::Roles), reference.only_in(Layout::Listed)].map(|column| column.field_in(cell))
}

fn device_rows<T: Borrow<TraceTree>>(diff: &TreeDiff<T>) -> (DeviceTable<'_, T>, Vec<DeviceRow>) {
    let units: Vec<UnitWork> = diff.unit_work().filter(UnitWork::differs).collect();
    let mut modules = [HashMap::new(), HashMap::new()];
    let mut rows = Vec::new();
    for (place, unit) in units.iter().enumerate() {
        for side in [A, B] {
            let tree = diff.trees()[side];
            for &event in &unit.events[side] {
                let operator = tree
                    .ancestors(event)
                    .take(OPERATOR_DEPTH)
                    .find(|&above| tree.trace().events().category(above) == Category::CPU_OP);
                let module = tree.parent_module(event);
                modules[side].entry(module).or_insert_with(|| tree.module_stack(event).join(";"));
                rows.push(DeviceRow { side, event, operator, unit: place });
            }
        }
    }
    (DeviceTable { diff, units, modules }, rows)
}
