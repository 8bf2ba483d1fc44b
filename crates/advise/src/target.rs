//! What good kernels reach: the time that a call of its size takes where its kernel is in order.

use perf_models::{ComputeSpec, ComputeUnit, DataPath};

use crate::facts::{LeastTime, Machine};

/// Share of a data sheet's matrix peak that the best library kernels reach with large operands: clocks fall under the load.
const OF_NOMINAL_MATRIX_PEAK: f64 = 0.70;
/// Share of a measured peak that good kernels reach with operands that are not the best ones.
const OF_MEASURED_PEAK: f64 = 0.90;
/// Of those shares what attention reaches, whose softmax runs between its products.
const OF_PRODUCTS_IN_ATTENTION: f64 = 0.70;
/// Share of a data sheet's memory bandwidth that streaming kernels reach.
pub(crate) const OF_BANDWIDTH: f64 = 0.85;
/// Share of a link's rate that copies reach.
const OF_LINK: f64 = 0.80;
/// What a kernel takes before and after its work, in µs: its blocks start, its last ones run alone.
const KERNEL_US: f64 = 2.0;

/// The time in µs that a good kernel takes for the work of a call that ran as `kernels` kernels.
#[must_use]
pub(crate) fn target_us(least: &LeastTime, machine: &Machine, kernels: usize) -> f64 {
    let of_arithmetic = match least.spec {
        Some(ComputeSpec { unit: ComputeUnit::Matrix, .. }) if machine.is_nominal => OF_NOMINAL_MATRIX_PEAK,
        _ => OF_MEASURED_PEAK,
    };
    let of_data = match least.path {
        DataPath::Memory => OF_BANDWIDTH,
        DataPath::Link => OF_LINK,
    };
    let quantisation = least.quantisation.unwrap_or(1.0).max(0.01);
    let compute = match least.measured_compute_us {
        Some(measured) => (measured / OF_MEASURED_PEAK).max(least.compute_us),
        None => least.compute_us / of_arithmetic,
    };
    let compute = match least.is_attention {
        true => compute / OF_PRODUCTS_IN_ATTENTION,
        false => compute / quantisation,
    };
    compute.max(least.memory_us / of_data) + KERNEL_US * kernels.max(1) as f64
}

#[cfg(test)]
mod tests {
    use perf_models::Precision;

    use super::*;

    fn h100() -> Machine {
        Machine {
            name: "H100".into(),
            bytes_per_us: 3.35e6,
            matrix_flops_per_us: vec![(Precision::Bf16, 989.4e6)],
            units: None,
            is_nominal: true,
        }
    }

    fn product(flops: f64, bytes: f64) -> LeastTime {
        LeastTime {
            compute_us: flops / 989.4e6,
            measured_compute_us: None,
            memory_us: bytes / 3.35e6,
            path: DataPath::Memory,
            flops,
            spec: Some(ComputeSpec { unit: ComputeUnit::Matrix, precision: Precision::Bf16 }),
            quantisation: None,
            is_attention: false,
        }
    }

    #[test]
    fn an_ordinary_large_product_is_in_order() {
        // 8192 x 8192 x 8192 at 65 % of the peak.
        let least = product(2.0 * 8192_f64.powi(3), 3.0 * 2.0 * 8192_f64.powi(2));
        let ordinary = least.compute_us / 0.65;
        assert!(ordinary < 1.1 * target_us(&least, &h100(), 1));
    }

    #[test]
    fn a_small_product_takes_the_time_of_a_kernel() {
        let least = product(2.0 * 64_f64.powi(3), 3.0 * 2.0 * 64_f64.powi(2));
        assert!((target_us(&least, &h100(), 2) - 4.0).abs() < 0.1);
    }

    #[test]
    fn rounds_that_do_not_fit_make_the_target_longer() {
        let whole = product(1e12, 1e6);
        let half = LeastTime { quantisation: Some(0.5), ..whole };
        let [whole, half] = [whole, half].map(|least| target_us(&least, &h100(), 1) - KERNEL_US);
        assert!((half / whole - 2.0).abs() < 1e-9);
    }
}
