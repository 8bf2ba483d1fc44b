use std::collections::BTreeMap;

use perf_models::{ComputeSpec, ComputeUnit, Precision as Of};
use sheets::numbers::counted;

use crate::facts::{Call, LeastTime, Program};
use crate::finding::Confidence;
use crate::rule::{Claim, Inspection, Rule};
use crate::target::target_us;

/// Matrix products in FP32 in a program that multiplies in 16 bits elsewhere.
pub(super) struct Precision;

/// Share of the time of matrix products that is in 16 bits, from which on FP32 is the exception.
const NARROW_FROM: f64 = 0.3;

impl Rule for Precision {
    fn id(&self) -> &'static str {
        "DTYPE"
    }

    fn what(&self) -> &'static str {
        "matrix products in FP32 among others in 16 bits"
    }

    fn remedy(&self, _: Program) -> &'static str {
        "see whether these products need FP32: autocast leaves them out, or an operand was made without a type; where they do, \
         allow TF32 (torch.set_float32_matmul_precision(\"high\"))"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let facts = look.facts;
        let Some(machine) = &facts.machine else { return Vec::new() };
        // FP32 is multiplied on the vector units where TF32 is not allowed.
        let of_call = |call: &Call| {
            let is_product = facts.operators[call.operator as usize].product.is_some();
            let spec = call.least.filter(|_| is_product)?.spec?;
            Some(spec.precision)
        };
        let mut times: BTreeMap<Of, i64> = BTreeMap::new();
        for call in &facts.calls {
            if let Some(precision) = of_call(call) {
                *times.entry(precision).or_default() += call.time;
            }
        }
        let all: i64 = times.values().sum();
        let time = |precision: Of| times.get(&precision).copied().unwrap_or(0);
        let narrow = if time(Of::Bf16) >= time(Of::Fp16) { Of::Bf16 } else { Of::Fp16 };
        if (time(narrow) as f64) < NARROW_FROM * all as f64 {
            return Vec::new();
        }
        let Some(peak) = machine.matrix(narrow) else { return Vec::new() };
        let mut by_operator = BTreeMap::new();
        for (call, position) in facts.calls.iter().zip(0..) {
            let (Some(least), Some(kernels)) = (call.least, look.kernels(position)) else { continue };
            if !matches!(of_call(call), Some(Of::Fp32 | Of::Tf32 | Of::Fp64)) {
                continue;
            }
            let narrowed = LeastTime {
                compute_us: least.flops / peak,
                measured_compute_us: None,
                memory_us: least.memory_us / 2.0,
                spec: Some(ComputeSpec { unit: ComputeUnit::Matrix, precision: narrow }),
                ..least
            };
            let excess = call.time - facts.units(target_us(&narrowed, machine, kernels.len()));
            if excess > 0 {
                let found = by_operator.entry(call.operator).or_insert_with(|| (Vec::new(), 0, least.spec));
                found.0.extend(look.divided(kernels, excess));
                found.1 += 1;
            }
        }
        let claims = by_operator.into_iter().map(|(operator, (parts, calls, spec))| {
            let operator = &facts.operators[operator as usize];
            let name = facts.name(operator.name);
            let spec = spec.map(|spec| spec.to_string()).unwrap_or_default();
            Claim::new(format!("{name} {}", operator.arguments), parts)
                .with_range(0.6, 1.1)
                .with_confidence(Confidence::Medium)
                .with_evidence(format!(
                    "{} in {spec}; {:.0}% of the time of matrix products is in {}",
                    counted(calls, "call", "calls"),
                    time(narrow) as f64 / all as f64 * 100.0,
                    narrow.as_str()
                ))
                .with_row(facts.sheets.operators, name)
        });
        claims.collect()
    }
}
