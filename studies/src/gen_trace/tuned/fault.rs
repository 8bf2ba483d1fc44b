//! What a program can do badly, and how badly it does it.

use std::collections::BTreeMap;

/// One thing that a program does badly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Fault {
    /// Python takes its time before each operator.
    SlowHost,
    /// `.item()` in the middle of the step, then some Python.
    Item,
    /// `torch.cuda.synchronize()` in the middle of the step, then some Python.
    SynchronizeDevice,
    /// A large tensor goes to pageable memory of the host, which waits for it.
    PageableReadback,
    /// Many small tensors go to the host, one after the other.
    TinyReadbacks,
    /// The loader of the data is late.
    LateLoader,
    /// Python collects garbage between two steps.
    GarbageCollection,
    /// Small parameters are updated one by one, by several kernels each.
    OptimizerLoop,
    /// The program waits for gradients as soon as it sends them.
    ExposedCollectives,
    /// One collective is far below the bandwidth of the others.
    SlowCollective,
    /// A large tensor comes from pageable memory, in order with the computation.
    PageableUpload,
    /// Tensors are copied within the device for no use.
    DeviceCopies,
    /// A matrix product runs at a part of its speed, in all layers.
    SlowProduct,
    /// The same in two layers only.
    SlowInstances,
    /// A memory-bound kernel at a part of the bandwidth.
    SlowMemory,
    /// Normalization as a chain of elementwise kernels.
    UnfusedChain,
    /// Bias and scale in kernels of their own behind the product.
    UnfusedEpilogue,
    /// Attention as products and softmax.
    UnfusedAttention,
    /// Heads are laid out anew before attention.
    Transposes,
    /// Conversions to 32 bits and back around normalization.
    Casts,
    /// Matrix products in 32 bits.
    WideProducts,
    /// Sizes that do not divide among tiles and compute units.
    OddSizes,
    /// Layers that run again in the backward pass.
    Recomputation,
    /// A product of which some instances take many times as long.
    UnevenKernel,
    /// A first step that loads modules.
    ColdStart,
    /// A kernel of a library that nobody knows.
    ForeignKernel,
    /// An engine's decode steps without captured graphs.
    UncapturedDecode,
    /// An engine that schedules only after it has read the last tokens.
    LateScheduler,
    /// Shapes were not recorded.
    NoShapes,
    /// Stacks were not recorded.
    NoStacks,
    /// The file ends in the middle.
    CutFile,
}

impl Fault {
    pub(crate) const ALL: [Fault; 31] = [
        Fault::SlowHost,
        Fault::Item,
        Fault::SynchronizeDevice,
        Fault::PageableReadback,
        Fault::TinyReadbacks,
        Fault::LateLoader,
        Fault::GarbageCollection,
        Fault::OptimizerLoop,
        Fault::ExposedCollectives,
        Fault::SlowCollective,
        Fault::PageableUpload,
        Fault::DeviceCopies,
        Fault::SlowProduct,
        Fault::SlowInstances,
        Fault::SlowMemory,
        Fault::UnfusedChain,
        Fault::UnfusedEpilogue,
        Fault::UnfusedAttention,
        Fault::Transposes,
        Fault::Casts,
        Fault::WideProducts,
        Fault::OddSizes,
        Fault::Recomputation,
        Fault::UnevenKernel,
        Fault::ColdStart,
        Fault::ForeignKernel,
        Fault::UncapturedDecode,
        Fault::LateScheduler,
        Fault::NoShapes,
        Fault::NoStacks,
        Fault::CutFile,
    ];
}

/// The faults of a program, each with an amount above 0 and up to 1: the share of places that have it, or how far it
/// goes on the way from hardly noticeable to very bad.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Faults(BTreeMap<Fault, f64>);

impl Faults {
    pub(crate) fn plant(&mut self, fault: Fault, amount: f64) {
        self.0.insert(fault, amount);
    }

    pub(crate) fn without(&self, fault: Fault) -> Faults {
        let mut rest = self.clone();
        rest.0.remove(&fault);
        rest
    }

    pub(crate) fn has(&self, fault: Fault) -> bool {
        self.0.contains_key(&fault)
    }

    /// A number that grows from `low` to `high` in equal factors with the amount; `None` without the fault.
    pub(super) fn between(&self, fault: Fault, low: f64, high: f64) -> Option<f64> {
        self.0.get(&fault).map(|amount| low * (high / low).powf(*amount))
    }

    /// A factor on a duration, from hardly above 1 to `1 + most`; 1 without the fault.
    pub(super) fn slowdown(&self, fault: Fault, most: f64) -> f64 {
        1.0 + self.between(fault, 0.02, most).unwrap_or(0.0)
    }

    /// Whether the place `index` of `places` has the fault; with the amount ever more of them do, spread over the
    /// program.
    pub(super) fn covers(&self, fault: Fault, index: usize, places: usize) -> bool {
        let Some(amount) = self.0.get(&fault) else { return false };
        let stride =
            [7, 11, 13, 5, 3].into_iter().find(|stride| !places.is_multiple_of(*stride)).unwrap_or(1);
        let rank = index * stride % places.max(1);
        rank < ((amount * places as f64).round() as usize).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_added_one_by_one() {
        for places in [1, 7, 24, 35, 77] {
            let covered = |amount: f64| {
                let mut faults = Faults::default();
                faults.plant(Fault::Casts, amount);
                (0..places).map(|index| faults.covers(Fault::Casts, index, places)).collect::<Vec<_>>()
            };
            let mut before = covered(0.0);
            assert_eq!(before.iter().filter(|&&is| is).count(), 1);
            for count in 1..=places {
                let now = covered(count as f64 / places as f64);
                assert_eq!(now.iter().filter(|&&is| is).count(), count, "{places}");
                assert!(before.iter().zip(&now).all(|(&before, &now)| now || !before));
                before = now;
            }
        }
        assert!(!Faults::default().covers(Fault::Casts, 0, 3));
    }
}
