//! How long kernels take on the devices that the traces name, by what they compute and move.
//!
//! A good library on a device at its usual clock reaches two thirds to three quarters of an H100's nominal matrix rate
//! and about half of an MI300X's (AMD measured at most 708 of 1,307 TFLOPS in bf16); kernels that stream reach 78% to
//! 90% of the memory's bandwidth.

use crate::gen_trace::flavour::{Call, Flavour};
use crate::gen_trace::kernels::{self, kernel};
use crate::gen_trace::placed::{hash, mixed};
use crate::gen_trace::plan::Kernel;
use crate::gen_trace::random::Random;

/// Shortest kernel, in nanoseconds, and what filling and draining the device adds to every one.
const SHORTEST_NS: u64 = 1_800;
const RAMP_NS: u64 = 900;

/// A device that runs this program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Device {
    pub(super) flavour: Flavour,
    /// The same kernel of the same size takes the same time in the whole program, and another in another one.
    pub(super) seed: u64,
}

/// Units that multiply matrices, by the elements that they take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Precision {
    Bf16,
    Tf32,
    Fp32,
}

impl Precision {
    pub(super) fn bytes(self) -> u64 {
        if self == Precision::Bf16 { 2 } else { 4 }
    }
}

/// The part of a result that one block computes: rows and columns as PyTorch has them.
pub(super) type Tile = (u64, u64);

/// Tiles of a library, with the share of the best one's rate that each reaches when the device is full.
const TILES: [(Tile, f64); 7] = [
    ((256, 128), 1.0),
    ((128, 256), 1.0),
    ((256, 256), 1.0),
    ((128, 128), 0.95),
    ((128, 64), 0.82),
    ((64, 128), 0.82),
    ((64, 64), 0.65),
];

/// Parts into which a library cuts the inner dimension where there are few tiles.
const SPLITS: [u64; 5] = [1, 2, 3, 4, 8];

impl Device {
    /// Multiprocessors or compute units.
    pub(super) fn units(self) -> u64 {
        match self.flavour {
            Flavour::Cuda => 132,
            Flavour::Rocm => 304,
        }
    }

    /// Nominal operations per nanosecond, and the shares of them that large products reach.
    fn matrix_rate(self, precision: Precision) -> (f64, [f64; 2]) {
        match (self.flavour, precision) {
            (Flavour::Cuda, Precision::Bf16) => (989_400.0, [0.68, 0.76]),
            (Flavour::Cuda, Precision::Tf32) => (494_700.0, [0.62, 0.72]),
            (Flavour::Cuda, Precision::Fp32) => (66_900.0, [0.78, 0.88]),
            (Flavour::Rocm, Precision::Bf16) => (1_307_400.0, [0.47, 0.54]),
            (Flavour::Rocm, Precision::Tf32) => (653_700.0, [0.42, 0.5]),
            (Flavour::Rocm, Precision::Fp32) => (163_400.0, [0.65, 0.8]),
        }
    }

    /// Bytes per nanosecond.
    fn bandwidth(self) -> f64 {
        match self.flavour {
            Flavour::Cuda => 3_350.0,
            Flavour::Rocm => 5_300.0,
        }
    }

    /// A number between two others that belongs to this key.
    fn draw(self, [low, high]: [f64; 2], key: u64) -> f64 {
        low + (high - low) * Random::new(mixed(self.seed, key)).unit()
    }

    /// Time to stream so many bytes in a kernel of this name.
    pub(super) fn streaming(self, name: &str, bytes: u64) -> u64 {
        let share = self.draw([0.78, 0.9], hash(name));
        SHORTEST_NS.max(RAMP_NS + (bytes as f64 / (share * self.bandwidth())) as u64)
    }

    /// A kernel that streams so many bytes.
    pub(super) fn streams(self, kernel: Kernel, bytes: u64) -> Kernel {
        let duration = self.streaming(&kernel.name, bytes);
        Kernel { duration, ..kernel }
    }

    /// Time of a product with one tile and so many parts of the inner dimension.
    fn product_time(
        self,
        precision: Precision,
        [m, n, k]: [u64; 3],
        ((rows, columns), share): (Tile, f64),
        split: u64,
    ) -> f64 {
        let (rate, shares) = self.matrix_rate(precision);
        let reached = self.draw(shares, mixed(m, mixed(n, k))) * share;
        let tiles = m.div_ceil(rows) * n.div_ceil(columns) * split;
        let rounds = tiles.div_ceil(self.units());
        let inner = k.div_ceil(split);
        // A block first fills its pipeline.
        let tile_time =
            2.0 * (rows * columns * (inner + 128)) as f64 / (rate / self.units() as f64 * reached);
        let parts = if split > 1 { 8.0 * (split * m * n) as f64 / self.bandwidth() } else { 0.0 };
        let traffic = precision.bytes() * (m * k + k * n + m * n);
        let moving = traffic as f64 / (self.draw([0.78, 0.88], mixed(k, mixed(n, m))) * self.bandwidth());
        (rounds as f64 * tile_time + parts).max(moving)
    }

    /// The product `m × n × k` as the library's best kernel for it computes it.
    pub(super) fn product(self, precision: Precision, size: [u64; 3]) -> Kernel {
        let choices = TILES.into_iter().flat_map(|tile| SPLITS.map(|split| (tile, split)));
        let timed =
            choices.map(|(tile, split)| (self.product_time(precision, size, tile, split), tile, split));
        let best = timed.min_by(|one, other| one.0.total_cmp(&other.0));
        let (time, (tile, _), split) = best.unwrap_or((0.0, TILES[0], 1));
        self.product_kernel(precision, size, tile, split, RAMP_NS + time as u64)
    }

    /// The product with one tile, whether it fits or not.
    pub(super) fn product_in(self, size: [u64; 3], tile: Tile) -> Kernel {
        let time = self.product_time(Precision::Bf16, size, (tile, 1.0), 1);
        self.product_kernel(Precision::Bf16, size, tile, 1, RAMP_NS + time as u64)
    }

    fn product_kernel(
        self,
        precision: Precision,
        [m, n, _]: [u64; 3],
        (rows, columns): Tile,
        split: u64,
        duration: u64,
    ) -> Kernel {
        // Libraries count from the columns of the result, as BLAS does.
        let name = match (self.flavour, precision) {
            (Flavour::Cuda, Precision::Bf16) if split > 1 => {
                format!("nvjet_tst_{columns}x{rows}_64x4_1x2_h_bz_splitK_TNT")
            }
            (Flavour::Cuda, Precision::Bf16) => {
                format!("nvjet_tst_{columns}x{rows}_64x4_2x1_v_bz_coopA_TNT")
            }
            (Flavour::Cuda, Precision::Tf32) => format!(
                "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize{columns}x{rows}x32_warpgroupsize2x1x1_execute_segment_\
                 k_off_kernel__5x_cublas"
            ),
            (Flavour::Cuda, Precision::Fp32) => {
                format!("cutlass_80_simt_sgemm_{columns}x{rows}_8x4_tn_align1")
            }
            (Flavour::Rocm, _) => {
                let types = if precision == Precision::Bf16 { "BBS_BH" } else { "S_B" };
                let parts = if split > 1 { "SK3_SKXCCM8_" } else { "SK0_SKXCCM0_" };
                format!(
                    "Cijk_Alik_Bljk_{types}_Bias_HA_S_SAV_UserArgs_MT{columns}x{rows}x64_MI16x16x1_SN_LDSB1_AFC1_AFEM1\
                     _CLR1_CADS0_EPS0_GRVWA8_GRVWB8_GLS0_ISA942_IU1_K1_LRVW8_NTn1_PGR2_PLR1_SIA3_SS1_{parts}SU0_SVW4\
                     _TLDS1_USL1_VWA4_VWB4_WS64_WG64_4_1"
                )
            }
        };
        let grid = [n.div_ceil(columns), m.div_ceil(rows), split];
        let block = if self.flavour == Flavour::Cuda { [384, 1, 1] } else { [256, 1, 1] };
        let mut product = kernel(name, Call::LaunchLibrary, 0, grid, block);
        product.duration = duration.max(SHORTEST_NS);
        product.registers = 168;
        product.shared_memory = if self.flavour == Flavour::Cuda { 213_248 } else { 0 };
        product
    }

    /// Causal attention of `[batch, heads, sequence, head]` in one kernel.
    pub(super) fn attention(self, heads: [u64; 4]) -> Kernel {
        let mut attention = kernels::attention(self.flavour, heads);
        if self.flavour == Flavour::Cuda {
            attention.name = FLASH_3.into();
        }
        attention.duration = self.attention_time(heads, 4, [[0.58, 0.64], [0.36, 0.42]]);
        attention
    }

    /// Its gradient.
    pub(super) fn attention_backward(self, heads: [u64; 4]) -> [Kernel; 2] {
        let [mut prepare, mut compute] = kernels::attention_backward(self.flavour, heads);
        prepare.duration = self.streaming(&prepare.name, 4 * heads.iter().product::<u64>());
        compute.duration = self.attention_time(heads, 10, [[0.48, 0.54], [0.3, 0.35]]);
        [prepare, compute]
    }

    /// Half of the pairs of a query and a key count, each with so many operations for an element of a head.
    fn attention_time(
        self,
        [batch, heads, sequence, head]: [u64; 4],
        operations: u64,
        shares: [[f64; 2]; 2],
    ) -> u64 {
        let (rate, _) = self.matrix_rate(Precision::Bf16);
        let [cuda, rocm] = shares;
        let shares = if self.flavour == Flavour::Cuda { cuda } else { rocm };
        let elements = batch * heads * sequence * head;
        let work = (operations * elements * sequence / 2) as f64 / (rate * self.draw(shares, operations));
        // Four tensors of two bytes forward; eight backward. Short sequences are bound by memory.
        let tensors = if operations == 4 { 4 } else { 8 };
        let moving = self.streaming("attention", 2 * tensors * elements);
        moving.max(RAMP_NS + work as u64)
    }

    /// An exchange of so many bytes between the ranks.
    pub(super) fn all_reduce(self, bytes: u64) -> u64 {
        let rate = match self.flavour {
            Flavour::Cuda => 265.0,
            Flavour::Rocm => 175.0,
        };
        18_000 + (bytes as f64 / rate) as u64
    }
}

const FLASH_3: &str = "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::\
     CollectiveMainloopFwdSm90<2, cute::tuple<cute::C<1>, cute::C<1>, cute::C<1>>, cute::tuple<cute::C<128>, \
     cute::C<176>, cute::C<128>>, 128, cutlass::bfloat16_t, float, cutlass::arch::Sm90, true>>>>";

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(device: Device, [m, n, k]: [u64; 3]) -> f64 {
        let rate = device.matrix_rate(Precision::Bf16).0;
        (2 * m * n * k) as f64 / device.product(Precision::Bf16, [m, n, k]).duration as f64 / rate
    }

    #[test]
    fn large_products_reach_what_good_libraries_do_and_small_ones_less() {
        for seed in 0..20 {
            for (flavour, [low, high]) in [(Flavour::Cuda, [0.55, 0.76]), (Flavour::Rocm, [0.38, 0.54])] {
                let device = Device { flavour, seed };
                for size in [[4096, 12_288, 4096], [8192, 16_384, 2048], [4096, 4096, 11_008], [8192; 3]] {
                    let share = reached(device, size);
                    assert!((low..high).contains(&share), "{flavour:?} {size:?} {share}");
                }
                // A few rows: the weights have to come from memory.
                let few = device.product(Precision::Bf16, [32, 4096, 4096]).duration as f64;
                let least = (2 * 4096 * 4096) as f64 / device.bandwidth();
                assert!((least..2.0 * least).contains(&few), "{few} {least}");
            }
        }
    }

    #[test]
    fn one_tile_more_than_units_takes_twice_as_long() {
        let device = Device { flavour: Flavour::Cuda, seed: 3 };
        let time = |columns| device.product_in([256, columns, 4096], (256, 128)).duration as f64;
        let ratio = time(133 * 128) / time(132 * 128);
        assert!((1.8..2.2).contains(&ratio), "{ratio}");
    }
}
