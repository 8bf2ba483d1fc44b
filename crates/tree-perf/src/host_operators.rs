//! The time that operators took on the host themselves.

use operator_sheets::OpCategory;
use trace_ingest::{Accelerator, Category, EventId};

use crate::analysis::Analysis;
use crate::call_groups::{CallName, CountedCall};
use crate::derived::HostOperator;

impl CountedCall for HostOperator {
    const BY_MODULE: bool = false;

    fn operator(&self) -> EventId {
        self.operator
    }

    fn name(&self, analysis: &Analysis) -> CallName {
        CallName { operator: analysis.trace().events().name(self.operator), device_event: None }
    }

    fn category(&self) -> &OpCategory {
        &self.category
    }

    fn device_events<'a>(&'a self, _: &'a Analysis) -> &'a [EventId] {
        &[]
    }
}

impl Analysis {
    /// Whether the recording has operators and no device event: all its times are those of the host.
    pub fn is_host_only(&self) -> bool {
        self.device.len() == 0 && !self.is_gpu_only()
    }

    /// Whether the host time of operators is shown: where it is asked for, and where their device time is not known, because
    /// none launched work or the recorder does not link all work.
    pub(crate) fn shows_host_operators(&self) -> bool {
        let (trace, options) = (self.trace(), self.options());
        let links_all = trace.facts().accelerator.is_none_or(Accelerator::links_all_work);
        let mut launchers = self.launchers().map(|launcher| trace.events().category(launcher.event));
        let have_device_time = links_all && launchers.any(|category| category == Category::CPU_OP);
        options.host_ops
            || self.is_host_only()
            || (options.conventions.is_full() && !self.is_gpu_only() && !have_device_time)
    }

    /// The operators that the host ran, each before those inside it. Operators that were inserted or captured are none of
    /// them. Computed once.
    pub(crate) fn host_operators(&self) -> &[HostOperator] {
        self.derived.host_operators.get_or_init(|| self.find_host_operators())
    }

    fn find_host_operators(&self) -> Vec<HostOperator> {
        let (tree, events) = (self.tree(), self.trace().events());
        let did_run = |&event: &EventId| !tree.is_pseudo_operator(event) && !tree.is_captured(event);
        let is_operator = |&event: &EventId| events.category(event) == Category::CPU_OP && did_run(&event);
        let mut self_time: Vec<i64> = vec![0; events.len()];
        let operators: Vec<EventId> = tree.host_events().iter().copied().filter(is_operator).collect();
        for &operator in &operators {
            let duration = events.duration(operator);
            self_time[operator.index()] += duration;
            let around = std::iter::successors(tree.operator(operator), |&above| tree.operator(above));
            if let Some(above) = around.into_iter().find(did_run) {
                self_time[above.index()] -= duration;
            }
        }
        let with_time = |operator: EventId| HostOperator {
            operator,
            self_time: self_time[operator.index()],
            category: self.models().category(tree, operator, None),
        };
        operators.into_iter().map(with_time).collect()
    }
}
