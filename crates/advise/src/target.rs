//! What good kernels reach: the time that a call of its size takes where its kernel is in order.

use perf_models::{ComputeSpec, ComputeUnit, DataPath};

use crate::facts::{AttentionSpeed, LeastTime, Machine};

/// Share of a data sheet's matrix peak that the best library kernels reach with large operands: clocks fall under the load.
const NOMINAL_MATRIX_PEAK_SHARE: f64 = 0.70;
/// Share of a measured peak that good kernels reach with operands that are not the best ones.
const MEASURED_PEAK_SHARE: f64 = 0.90;
/// Of those shares what the best attention kernels reach with long sequences, whose softmax runs between the products, by
/// elements of a head: the exponentials weigh the more the smaller the head. From the measurements of FlashAttention-3 on
/// an H100 (arXiv:2407.08608, figures 5 and 6: 497, 648 and 756 TFLOP/s forward, of products' 690).
const ATTENTION_SHARES: [(f64, f64); 3] = [(64.0, 0.72), (128.0, 0.93), (256.0, 1.0)];
/// Of that what the gradient reaches (there: 561 of 648 TFLOP/s).
const ATTENTION_BACKWARD_SHARE: f64 = 0.87;
/// Keys whose time goes into the beginning and the end of a row of scores: at 512 keys two thirds of the speed are left.
const STARTUP_KEYS: f64 = 256.0;
/// Share of a data sheet's memory bandwidth that streaming kernels reach.
pub(crate) const BANDWIDTH_SHARE: f64 = 0.85;
/// Share of a link's rate that copies reach.
const LINK_SHARE: f64 = 0.80;
/// What a kernel takes before and after its work, in µs: its blocks start, its last ones run alone.
const KERNEL_US: f64 = 2.0;

/// The time in µs that a good kernel takes for the work of a call that ran as `kernels` kernels.
#[must_use]
pub(crate) fn target_us(least: &LeastTime, machine: &Machine, kernels: usize) -> f64 {
    let peak_share = match least.spec {
        Some(ComputeSpec { unit: ComputeUnit::Matrix, .. }) if machine.is_nominal => {
            NOMINAL_MATRIX_PEAK_SHARE
        }
        _ => MEASURED_PEAK_SHARE,
    };
    let bandwidth_share = match least.path {
        DataPath::Memory => BANDWIDTH_SHARE,
        DataPath::Link => LINK_SHARE,
    };
    let quantisation = least.quantisation.unwrap_or(1.0).max(0.01);
    let compute = match least.measured_compute_us {
        Some(measured) => (measured / MEASURED_PEAK_SHARE).max(least.compute_us),
        None => least.compute_us / peak_share,
    };
    let compute = match &least.attention {
        Some(attention) => compute / attention_share(attention),
        None => compute / quantisation,
    };
    compute.max(least.memory_us / bandwidth_share) + KERNEL_US * kernels.max(1) as f64
}

/// Share of the speed of a product that attention reaches; what is not known is taken as common: heads of 128, 2048 keys.
fn attention_share(attention: &AttentionSpeed) -> f64 {
    let head_dim = attention.head_dim.unwrap_or(128.0);
    let [(smallest, smallest_share), .., (_, largest_share)] = ATTENTION_SHARES;
    let head_share = ATTENTION_SHARES
        .windows(2)
        .find(|two| (two[0].0..two[1].0).contains(&head_dim))
        .map(|two| two[0].1 + (two[1].1 - two[0].1) * (head_dim - two[0].0) / (two[1].0 - two[0].0));
    let head_share = head_share.unwrap_or(match head_dim < smallest {
        true => smallest_share * head_dim.max(1.0) / smallest,
        false => largest_share,
    });
    let keys = attention.keys.unwrap_or(2048.0).max(1.0);
    let direction_share = if attention.is_backward { ATTENTION_BACKWARD_SHARE } else { 1.0 };
    head_share * direction_share * keys / (keys + STARTUP_KEYS)
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
            attention: None,
        }
    }

    #[test]
    fn an_ordinary_large_product_is_in_order() {
        // 8192 x 8192 x 8192 at 65% of the peak.
        let least = product(2.0 * 8192_f64.powi(3), 3.0 * 2.0 * 8192_f64.powi(2));
        let ordinary = least.compute_us / 0.65;
        assert!(ordinary < 1.1 * target_us(&least, &h100(), 1));
    }

    #[test]
    fn attention_is_as_fast_as_it_was_measured() {
        // TFLOP/s of an H100 for forward and backward of 16 Ki keys, and forward of 1 Ki, from the paper's figures.
        for (head_dim, keys, is_backward, measured) in [
            (128.0, 16384.0, false, 648.0),
            (64.0, 16384.0, false, 497.0),
            (256.0, 16384.0, false, 756.0),
            (128.0, 16384.0, true, 561.0),
        ] {
            let attention = AttentionSpeed { head_dim: Some(head_dim), keys: Some(keys), is_backward };
            let least = LeastTime { attention: Some(attention), ..product(1e12, 1e6) };
            let reached = 1e12 / (target_us(&least, &h100(), 1) - KERNEL_US) / 1e6;
            assert!((reached / measured - 1.0).abs() < 0.1, "{head_dim} {keys} {is_backward}: {reached}");
        }
        let of = |keys| attention_share(&AttentionSpeed { keys: Some(keys), ..AttentionSpeed::default() });
        assert!((of(512.0) / of(1e9) - 2.0 / 3.0).abs() < 1e-6);
        let of = |head_dim| {
            attention_share(&AttentionSpeed { head_dim: Some(head_dim), ..AttentionSpeed::default() })
        };
        assert!(of(32.0) < of(64.0) && of(64.0) < of(96.0) && of(96.0) < of(128.0) && of(512.0) == of(256.0));
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
