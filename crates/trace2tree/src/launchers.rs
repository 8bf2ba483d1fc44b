//! Kernel launchers: the operators that device work is charged to.

use trace_ingest::{Category, EventId, StringId};

use crate::row::NONE;
use crate::tree::TraceTree;

/// Operators with the device events they launched themselves, not through an operator inside them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelLaunchers {
    launchers: Vec<EventId>,
    /// Start of each launcher's device events; one entry more than launchers.
    offsets: Vec<u32>,
    device_events: Vec<EventId>,
}

impl KernelLaunchers {
    /// Number of launchers.
    pub fn len(&self) -> usize {
        self.launchers.len()
    }

    /// Whether nothing was launched.
    pub fn is_empty(&self) -> bool {
        self.launchers.is_empty()
    }

    /// The launchers by start; of launchers that start together, the one of the first device event in the
    /// file first.
    pub fn launchers(&self) -> &[EventId] {
        &self.launchers
    }

    /// Device events of the launcher at this index, in file order.
    pub fn device_events(&self, index: usize) -> &[EventId] {
        &self.device_events[self.offsets[index] as usize..self.offsets[index + 1] as usize]
    }

    /// Launchers, each with its device events.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (EventId, &[EventId])> {
        self.launchers.iter().enumerate().map(|(index, &launcher)| (launcher, self.device_events(index)))
    }
}

impl TraceTree {
    /// The launcher of a device event: the nearest `cpu_op` above its launch, Python frames skipped. An
    /// operator named `execute` (the host's wrapper around a compiled graph) passes its work on to the
    /// operator above it. A call below no operator is its own launcher, and so is one below another call.
    /// Inserted operators may be charged with all that operators inside them launched
    /// ([`crate::TreeEdit::charge_with_subtree`]).
    pub fn kernel_launcher(&self, device_event: EventId) -> Option<EventId> {
        self.launcher_of(device_event, self.trace.strings().find("execute"))
    }

    /// [`TraceTree::kernel_launcher`], given the id of the name `execute`.
    fn launcher_of(&self, device_event: EventId, execute: Option<StringId>) -> Option<EventId> {
        let launch = self.launch(device_event)?;
        let nearest = self.nearest_launcher(device_event, launch, execute);
        let inserted = &self.pseudo_operators;
        if !inserted.any_charged_with_subtree() || inserted.contains(nearest) {
            return Some(nearest);
        }
        let charged = self.ancestors(device_event).find(|&above| inserted.is_charged_with_subtree(above));
        Some(charged.unwrap_or(nearest))
    }

    /// The nearest operator that passes nothing on, else the launch.
    fn nearest_launcher(&self, device_event: EventId, launch: EventId, execute: Option<StringId>) -> EventId {
        let events = self.trace.events();
        for above in self.ancestors(device_event) {
            match events.category(above) {
                category if above == launch && category != Category::CPU_OP => {}
                Category::PYTHON_FUNCTION => {}
                Category::CPU_OP if Some(events.name(above)) == execute => {}
                Category::CPU_OP => return above,
                _ => break,
            }
        }
        launch
    }

    /// All launchers ([`TraceTree::kernel_launcher`]) of the linked device events whose name `include`
    /// accepts; it is asked once per distinct name. Reports on computation leave communication out this way.
    pub fn kernel_launchers(&self, mut include: impl FnMut(&str) -> bool) -> KernelLaunchers {
        let events = self.trace.events();
        let mut included: Vec<Option<bool>> = vec![None; self.trace.strings().len()];
        let mut device: Vec<EventId> = self
            .linked_device_events()
            .iter()
            .copied()
            .filter(|&event| {
                let name = events.name(event);
                *included[name.index()].get_or_insert_with(|| include(self.trace.text(name)))
            })
            .collect();
        device.sort_unstable();

        let execute = self.trace.strings().find("execute");
        let mut first_seen: Vec<EventId> = Vec::new();
        let mut seen_at = vec![NONE; events.len()];
        let mut pairs = Vec::with_capacity(device.len());
        for event in device {
            let Some(launcher) = self.launcher_of(event, execute) else { continue };
            let slot = &mut seen_at[launcher.index()];
            if *slot == NONE {
                *slot = first_seen.len() as u32;
                first_seen.push(launcher);
            }
            pairs.push((launcher, event));
        }
        let mut launchers = first_seen;
        launchers.sort_by_key(|&launcher| events.start(launcher));
        for (index, launcher) in launchers.iter().enumerate() {
            seen_at[launcher.index()] = index as u32;
        }
        pairs.sort_by_key(|(launcher, _)| seen_at[launcher.index()]);
        let mut offsets = vec![0u32];
        for group in pairs.chunk_by(|a, b| a.0 == b.0) {
            offsets.push(offsets.last().copied().unwrap_or(0) + group.len() as u32);
        }
        KernelLaunchers {
            launchers,
            offsets,
            device_events: pairs.into_iter().map(|(_, event)| event).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{Fixture, Planted, names};
    use crate::{TraceTree, TreeOptions, busy_time};
    use trace_ingest::{Category, EventArguments};

    /// `(launcher, its device events, busy time in µs)`
    fn launchers(tree: &TraceTree) -> Vec<(&str, Vec<&str>, f64)> {
        let rows = tree.kernel_launchers(|_| true);
        let row = |(launcher, device): (_, &[_])| {
            let busy = busy_time(tree.trace().events(), device.iter().copied());
            (tree.trace().name(launcher), names(tree, device), tree.trace().to_microseconds(busy))
        };
        rows.iter().map(row).collect()
    }

    #[test]
    fn the_innermost_operator_is_the_launcher() {
        let mut fixture = Fixture::new();
        fixture.op("aten::linear", (0.0, 100.0));
        fixture.op("aten::addmm", (10.0, 50.0));
        fixture.launch("cudaLaunchKernel", (20.0, 5.0), 1);
        fixture.kernel("gemm", (200.0, 30.0), 1);
        assert_eq!(launchers(&fixture.tree()), [("aten::addmm", vec!["gemm"], 30.0)]);
    }

    #[test]
    fn two_launches_below_one_operator_add_up() {
        let mut fixture = Fixture::new();
        fixture.op("aten::sum", (0.0, 100.0));
        fixture.launch("cudaLaunchKernel", (10.0, 5.0), 1);
        fixture.launch("cudaLaunchKernel", (20.0, 5.0), 2);
        fixture.kernel("a", (200.0, 30.0), 1);
        fixture.kernel("b", (250.0, 40.0), 2);
        assert_eq!(launchers(&fixture.tree()), [("aten::sum", vec!["a", "b"], 70.0)]);
    }

    #[test]
    fn python_frames_between_operator_and_launch_change_nothing() {
        let mut fixture = Fixture::new();
        fixture.op("custom", (0.0, 100.0));
        fixture.python("kernel.py(3): launch", (5.0, 80.0));
        fixture.python("<built-in method run>", (6.0, 70.0));
        fixture.launch("cuLaunchKernel", (10.0, 5.0), 1);
        fixture.kernel("k", (200.0, 30.0), 1);
        let with = fixture.tree();
        let expected = [("custom", vec!["k"], 30.0)];
        assert_eq!(launchers(&with), expected);
        assert_eq!(launchers(&TraceTree::build(with.into_trace(), &TreeOptions::default())), expected);
    }

    #[test]
    fn a_call_below_no_operator_is_its_own_launcher() {
        let mut fixture = Fixture::new();
        fixture.python("f", (0.0, 50.0));
        fixture.launch("cudaLaunchKernel", (10.0, 5.0), 1);
        fixture.kernel("k", (200.0, 30.0), 1);
        assert_eq!(launchers(&fixture.tree()), [("cudaLaunchKernel", vec!["k"], 30.0)]);
    }

    #[test]
    fn a_call_below_another_call_is_its_own_launcher() {
        let mut fixture = Fixture::new();
        fixture.op("op", (0.0, 50.0));
        fixture.launch("cudaLaunchKernelExC", (5.0, 20.0), 1);
        fixture.launch("cuLaunchKernelEx", (10.0, 5.0), 2);
        fixture.kernel("k", (200.0, 30.0), 2);
        assert_eq!(launchers(&fixture.tree()), [("cuLaunchKernelEx", vec!["k"], 30.0)]);
    }

    #[test]
    fn excluded_names_do_not_count() {
        let mut fixture = Fixture::new();
        fixture.op("op", (0.0, 100.0));
        fixture.launch("cudaLaunchKernel", (10.0, 5.0), 1);
        fixture.launch("cudaLaunchKernel", (20.0, 5.0), 2);
        fixture.kernel("gemm", (200.0, 30.0), 1);
        fixture.kernel("ncclDevKernel", (250.0, 40.0), 2);
        let tree = fixture.tree();
        let without = tree.kernel_launchers(|name| !name.contains("nccl"));
        assert_eq!(names(&tree, without.device_events(0)), ["gemm"]);
        assert_eq!(launchers(&tree), [("op", vec!["gemm", "ncclDevKernel"], 70.0)]);
        assert!(tree.kernel_launchers(|_| false).is_empty());
    }

    #[test]
    fn all_kernels_of_a_graph_launch_go_to_its_operator() {
        for name in ["cudaGraphLaunch", "hipGraphLaunch"] {
            let mut fixture = Fixture::new();
            fixture.op("replay", (0.0, 100.0));
            fixture.launch(name, (10.0, 5.0), 1);
            fixture.kernel("a", (200.0, 20.0), 1);
            fixture.kernel("b", (230.0, 30.0), 1);
            assert_eq!(launchers(&fixture.tree()), [("replay", vec!["a", "b"], 50.0)]);
        }
    }

    #[test]
    fn execute_passes_its_work_to_the_operator_above() {
        let mut fixture = Fixture::new();
        fixture.op("conv_bn_fused", (0.0, 100.0));
        fixture.op("execute", (5.0, 50.0));
        fixture.launch("hipLaunchKernel", (10.0, 5.0), 1);
        fixture.kernel("conv", (200.0, 20.0), 1);
        assert_eq!(launchers(&fixture.tree()), [("conv_bn_fused", vec!["conv"], 20.0)]);
    }

    #[test]
    fn execute_below_nothing_leaves_the_work_to_the_call() {
        let mut fixture = Fixture::new();
        fixture.op("execute", (5.0, 50.0));
        fixture.launch("hipLaunchKernel", (10.0, 5.0), 1);
        fixture.kernel("conv", (200.0, 20.0), 1);
        assert_eq!(launchers(&fixture.tree()), [("hipLaunchKernel", vec!["conv"], 20.0)]);
    }

    #[test]
    fn siblings_own_their_kernels_and_come_by_start() {
        let mut fixture = Fixture::new();
        fixture.op("parent", (0.0, 100.0));
        fixture.op("second", (50.0, 20.0));
        fixture.op("first", (10.0, 20.0));
        fixture.launch("cudaLaunchKernel", (55.0, 5.0), 2);
        fixture.launch("cudaLaunchKernel", (15.0, 5.0), 1);
        fixture.kernel("of second", (300.0, 20.0), 2);
        fixture.kernel("of first", (200.0, 20.0), 1);
        let expected = [("first", vec!["of first"], 20.0), ("second", vec!["of second"], 20.0)];
        assert_eq!(launchers(&fixture.tree()), expected);
    }

    #[test]
    fn copies_and_fills_count_as_kernels() {
        let mut fixture = Fixture::new();
        let external = EventArguments { external_id: Some(3), ..EventArguments::default() };
        fixture.event(Category::CPU_OP, "aten::copy_", (1, 1), (0.0, 50.0), external);
        fixture.event(Category::CUDA_RUNTIME, "hipMemcpyAsync", (1, 1), (5.0, 5.0), external);
        fixture.event(Category::GPU_MEMCPY, "Memcpy HtoD", (0, 7), (100.0, 4.0), external);
        fixture.event(Category::GPU_MEMSET, "Memset (Device)", (0, 7), (110.0, 6.0), external);
        let expected = [("aten::copy_", vec!["Memcpy HtoD", "Memset (Device)"], 10.0)];
        assert_eq!(launchers(&fixture.tree()), expected);
    }
}
