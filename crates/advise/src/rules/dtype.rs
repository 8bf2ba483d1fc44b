use std::collections::BTreeMap;

use perf_models::{Category, ComputeSpec, ComputeUnit, Precision as Of};
use sheets::numbers::counted;

use crate::facts::{Call, LeastTime, Program};
use crate::finding::Confidence;
use crate::rule::{Claim, Inspection, Part, Rule};
use crate::target::target_us;

/// FP32 matmuls and convolutions in a program that otherwise uses 16 bits, and in any program those that FP32 without
/// TF32 keeps off the matrix units.
pub(super) struct Precision;

/// FP32 is the exception from this share of matmul FLOPs in 16 bits.
const NARROW_FROM: f64 = 0.3;

#[derive(Default)]
struct Group {
    parts: Vec<Part>,
    calls: usize,
    /// Time by operator.
    operators: BTreeMap<u32, i64>,
}

impl Rule for Precision {
    fn id(&self) -> &'static str {
        "DTYPE"
    }

    fn what(&self) -> &'static str {
        "FP32 matmuls and convolutions"
    }

    fn remedy(&self, _: Program) -> &'static str {
        "run these in TF32 or 16 bits, unless they need FP32: torch.set_float32_matmul_precision(\"high\"), \
         torch.backends.cudnn.allow_tf32 = True for convolutions, autocast; look for operands created without an \
         explicit dtype"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let facts = look.facts;
        let Some(machine) = &facts.machine else { return Vec::new() };
        let spec_of = |call: &Call| {
            let operator = &facts.operators[call.operator as usize];
            let is_convolution =
                matches!(operator.kind, Some(Category::ConvForward | Category::ConvBackward));
            call.least.filter(|_| is_convolution || operator.product.is_some())?.spec
        };
        // By FLOPs: FP32 takes most of the time even where it is the exception.
        let mut flops: BTreeMap<Of, f64> = BTreeMap::new();
        for call in &facts.calls {
            if let (Some(spec), Some(least)) = (spec_of(call), call.least) {
                *flops.entry(spec.precision).or_default() += least.flops;
            }
        }
        let all: f64 = flops.values().sum();
        let share = |precision: Of| flops.get(&precision).map_or(0.0, |flops| flops / all);
        let narrow = if share(Of::Bf16) >= share(Of::Fp16) { Of::Bf16 } else { Of::Fp16 };
        let is_exception = share(narrow) >= NARROW_FROM;
        let mut groups: BTreeMap<(ComputeSpec, Of), Group> = BTreeMap::new();
        for (call, position) in facts.calls.iter().zip(0..) {
            let (Some(least), Some(kernels)) = (call.least, look.kernels(position)) else { continue };
            let Some(spec) = spec_of(call) else { continue };
            let (precision, bytes) = match spec {
                ComputeSpec { precision: Of::Fp32 | Of::Tf32 | Of::Fp64, .. } if is_exception => {
                    (narrow, 0.5)
                }
                ComputeSpec { unit: ComputeUnit::Vector, precision: Of::Fp32 } => (Of::Tf32, 1.0),
                _ => continue,
            };
            let Some(peak) = machine.matrix(precision) else { continue };
            let narrowed = LeastTime {
                compute_us: least.flops / peak,
                measured_compute_us: None,
                memory_us: least.memory_us * bytes,
                spec: Some(ComputeSpec { unit: ComputeUnit::Matrix, precision }),
                ..least
            };
            let excess = call.time - facts.units(target_us(&narrowed, machine, kernels.len()));
            if excess > 0 {
                let group = groups.entry((spec, precision)).or_default();
                group.parts.extend(look.divided(kernels, excess));
                group.calls += 1;
                *group.operators.entry(call.operator).or_default() += call.time;
            }
        }
        let claims = groups.into_iter().map(|((spec, precision), group)| {
            let most =
                group.operators.iter().max_by_key(|(_, time)| **time).map_or(0, |(&operator, _)| operator);
            let most = &facts.operators[most as usize];
            let name = facts.name(most.name);
            let scope_phrase = if group.operators.len() > 1 { "mostly in " } else { "" };
            Claim::new(format!("{scope_phrase}{name} {}", most.arguments), group.parts)
                .with_range(0.6, 1.1)
                .with_confidence(Confidence::Medium)
                .with_evidence(format!(
                    "{} of {} in {spec}, compared with {}; {:.0}% of matmul and convolution FLOPs are in {}",
                    counted(group.calls, "call", "calls"),
                    counted(group.operators.len(), "operator signature", "operator signatures"),
                    precision.as_str(),
                    share(narrow) * 100.0,
                    narrow.as_str()
                ))
                .with_row(facts.sheets.operators, name)
        });
        claims.collect()
    }
}
