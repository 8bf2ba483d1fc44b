//! Hardware counters by kernel, a column per counter.

use std::cmp::Reverse;

use gpu_timeline::SortFew;
use hashbrown::HashMap;
use sheets::ColumnKind::Number;
use sheets::Unit::One;
use sheets::{Column, Field, Role, Sheet};

use crate::analysis::RocprofAnalysis;
use crate::hardware::{Hardware, HardwareKinds};
use crate::{IndexMap, IndexSet};
use operator_sheets::durations::{ms, us};

pub(super) const NAME: Column = Column::text("name", "Kernel.");
pub(super) const TARGET: Column =
    Column::text("target", "GPU target, such as gfx942; empty if the format has none.")
        .with_role(Role::Detail);

/// The columns that identify the rows of counters and of what is derived from them.
pub(super) fn keys<C, R>(
    of: impl for<'r> Fn(&'r R) -> &'r CountedKernel<'r> + Copy + Send + Sync + 'static,
) -> [Field<C, R>; 5] {
    [
        NAME.field(move |row| of(row).name.into()),
        TARGET.field(move |row| of(row).hardware.target.into()),
        Column::count("Dispatches", "Number of dispatches with any counter collected.")
            .field(move |row| of(row).dispatches.into()),
        Column::milliseconds(
            "Kernel Time (ms)",
            "Sum of dispatch durations; counter collection serializes dispatches.",
        )
        .with_role(Role::Headline)
        .field(move |row| ms(of(row).time).into()),
        Column::microseconds("Mean Kernel Time (µs)", "Mean dispatch duration.")
            .per("dispatch")
            .field(move |row| us(of(row).time as f64 / of(row).dispatches as f64).into()),
    ]
}

pub(super) fn sheet<'a>() -> Sheet<'a, RocprofAnalysis> {
    let counters = Field::each(
        Column::new(
            "counter: …",
            Number(One),
            "Counter value summed over instances; mean over dispatches in which it was collected.",
        )
        .per("dispatch"),
        |counters: &Vec<&str>| counters.iter().map(|name| format!("counter: {name}")).collect(),
        |_, kernel: &CountedKernel<'_>, counter| kernel.counted.get(counter).and_then(Counted::mean).into(),
    );
    Sheet::with_context(
        "kernel_counters",
        "Hardware counters by kernel and GPU model, most time first, one column per counter.",
        keys(|kernel: &CountedKernel<'_>| kernel).into_iter().chain([counters]),
        |analysis| {
            let CountedKernels { counters, kernels } = CountedKernels::new(analysis);
            (!kernels.is_empty()).then_some((counters, kernels))
        },
    )
}

/// The counters of a profile that have values, and what they counted kernel by kernel.
pub(super) struct CountedKernels<'a> {
    /// Names of counters, each once, in the order of the profile.
    pub(super) counters: Vec<&'a str>,
    /// Most time first.
    pub(super) kernels: Vec<CountedKernel<'a>>,
}

/// What was counted of a kernel on a kind of GPU.
pub(super) struct CountedKernel<'a> {
    pub(super) name: &'a str,
    pub(super) hardware: Hardware<'a>,
    /// Dispatches with a value of any counter.
    pub(super) dispatches: i64,
    /// Sum of their durations, in nanoseconds.
    pub(super) time: i64,
    /// By position of the counter.
    pub(super) counted: Vec<Counted>,
}

/// What a counter counted in the dispatches that it was collected in; a kernel may have run several times, with other
/// counters each time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    pub(super) sum: f64,
    pub(super) dispatches: u32,
    /// Sum of the durations of the dispatches, in nanoseconds.
    pub(super) time: i64,
}

impl Counted {
    /// Per dispatch; `None` without one.
    pub(super) fn mean(&self) -> Option<f64> {
        (self.dispatches > 0).then(|| self.sum / f64::from(self.dispatches))
    }

    /// Per nanosecond; `None` without time.
    pub(super) fn rate(&self) -> Option<f64> {
        (self.time > 0).then(|| self.sum / self.time as f64)
    }
}

impl<'a> CountedKernels<'a> {
    pub(super) fn new(analysis: &'a RocprofAnalysis) -> Self {
        let profile = analysis.profile();
        let kinds = HardwareKinds::new(profile);
        let mut counters: IndexSet<&str> = IndexSet::default();
        let mut column_of: HashMap<u32, usize> = HashMap::new();
        let mut kernels: IndexMap<(u32, usize), CountedKernel<'a>> = IndexMap::default();
        let mut is_counted = vec![false; profile.dispatches.len()];
        let mut collected: Vec<u32> = profile.counter_values.iter().map(|value| value.counter).collect();
        collected.sort_unstable();
        collected.dedup();
        for counter in collected {
            let Some(description) = profile.counters.get(counter as usize) else { continue };
            column_of.insert(counter, counters.insert_full(&description.name).0);
        }
        for value in &profile.counter_values {
            let Some(&column) = column_of.get(&value.counter) else { continue };
            let Some(dispatch) = profile.dispatches.get(value.dispatch as usize) else { continue };
            let name = analysis.name_of_kernel(dispatch.kernel);
            let kind = kinds.position(dispatch.agent);
            let kernel = kernels.entry((name, kind)).or_insert_with(|| CountedKernel {
                name: &analysis.names()[name as usize],
                hardware: kinds.kinds[kind],
                dispatches: 0,
                time: 0,
                counted: vec![Counted::default(); counters.len()],
            });
            if !std::mem::replace(&mut is_counted[value.dispatch as usize], true) {
                kernel.dispatches += 1;
                kernel.time = kernel.time.saturating_add(dispatch.duration().0);
            }
            let counted = &mut kernel.counted[column];
            counted.sum += value.value;
            counted.dispatches += 1;
            counted.time = counted.time.saturating_add(dispatch.duration().0);
        }
        let mut kernels: Vec<_> = kernels.into_values().collect();
        kernels.sort_few_by_key(|kernel| (Reverse(kernel.time), kernel.name));
        CountedKernels { counters: counters.into_iter().collect(), kernels }
    }
}
