//! What the name of a matrix multiplication kernel says of it, and how well its tiles fit.

/// What the name of a matrix multiplication kernel tells.
///
/// Operands are named as BLAS sees them, column by column: its `A` is the second matrix of a PyTorch
/// call and its `m` that call's `N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GemmKernel {
    /// Whether `A` is transposed, if the name says.
    pub transpose_a: Option<bool>,
    /// Whether `B` is transposed, if the name says.
    pub transpose_b: Option<bool>,
    /// Part of the result that one workgroup computes, if the name says.
    pub macro_tile: Option<MacroTile>,
}

/// The part of the result that one workgroup computes at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacroTile {
    /// Extent along BLAS's `m`.
    pub m: u64,
    /// Extent along BLAS's `n`.
    pub n: u64,
    /// Steps of the inner dimension that are taken at a time.
    pub depth_u: u64,
}

/// How well a result divides into tiles and tiles into rounds over the compute units.
///
/// Kernels that also split the inner dimension (Stream-K, Split-K) are not described by it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DimensionEfficiency {
    /// Tiles that cover the result.
    pub tiles: f64,
    /// Rounds in which the compute units work off the tiles.
    pub rounds: f64,
    /// Share of the tiles' area that is part of the result.
    pub tile: f64,
    /// Share of the compute units that have a tile, over all rounds.
    pub wave_quantization: f64,
}

impl DimensionEfficiency {
    /// Both shares together.
    #[must_use]
    pub fn overall(&self) -> f64 {
        self.tile * self.wave_quantization
    }
}

impl MacroTile {
    /// How well a result of `m` by `n` (as BLAS sees it) divides among `compute_units`.
    ///
    /// `None` where an extent or the number of units is zero.
    #[must_use]
    pub fn efficiency(self, m: u64, n: u64, compute_units: u64) -> Option<DimensionEfficiency> {
        if [m, n, compute_units, self.m, self.n].contains(&0) {
            return None;
        }
        let (tiles_m, tiles_n) = (m.div_ceil(self.m) as f64, n.div_ceil(self.n) as f64);
        let (tiles, units) = (tiles_m * tiles_n, compute_units as f64);
        let rounds = (tiles / units).ceil();
        let covered = tiles_m * self.m as f64 * (tiles_n * self.n as f64);
        Some(DimensionEfficiency {
            tiles,
            rounds,
            tile: m as f64 * n as f64 / covered,
            wave_quantization: tiles / (rounds * units),
        })
    }
}

/// Rows and columns of BLAS's result that one block of a matrix kernel computes at a time, as names of several libraries tell
/// it: `MT128x256x64` (Tensile), `_128x64_` (nvjet and CUTLASS), `tilesize128x128x64` (cuBLAS). `None` of other names.
///
/// ```
/// use perf_models::tile_of_gemm;
///
/// assert_eq!(tile_of_gemm("nvjet_tst_128x64_64x8_1x2_h_bz_TNT"), Some((128, 64)));
/// assert_eq!(tile_of_gemm("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64_cublas"), Some((128, 256)));
/// assert_eq!(tile_of_gemm("Cijk_Alik_Bljk_BBS_BH_MT64x16x64_MI16x16x1"), Some((64, 16)));
/// assert_eq!(tile_of_gemm("void at::native::elementwise_kernel<128, 4>"), None);
/// ```
#[must_use]
pub fn tile_of_gemm(name: &str) -> Option<(u64, u64)> {
    if let Some(tile) = tensile(name).and_then(|kernel| kernel.macro_tile) {
        return Some((tile.m, tile.n));
    }
    let is_gemm = ["nvjet", "xmma_gemm", "cutlass"].iter().any(|text| name.contains(text));
    let extents = |part: &str| {
        let mut extents =
            part.strip_prefix("tilesize").unwrap_or(part).split('x').map(|extent| extent.parse::<u64>().ok());
        let tile = (extents.next()??, extents.next()??);
        // Smaller ones are parts of blocks and clusters.
        (tile.0 >= 16 && tile.1 >= 16).then_some(tile)
    };
    name.split('_').filter(|_| is_gemm).find_map(extents)
}

impl GemmKernel {
    /// Reads the name of a kernel of Tensile (rocBLAS, hipBLASLt) or of cuBLAS's `nvjet` family.
    ///
    /// `None` for every other name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        tensile(name).or_else(|| nvjet(name))
    }
}

/// `Cijk_Alik_Bljk_..._MT64x16x64_...`: the order of its indices says whether an operand is transposed.
fn tensile(name: &str) -> Option<GemmKernel> {
    if !name.as_bytes().windows("Cijk_Alik_Bljk".len()).any(names_indices) {
        return None;
    }
    let first_found = |plain: &str, transposed: &str| {
        if name.contains(plain) { Some(false) } else { name.contains(transposed).then_some(true) }
    };
    Some(GemmKernel {
        transpose_a: first_found("_Ailk_", "_Alik_"),
        transpose_b: first_found("_Bljk_", "_Bjlk_"),
        macro_tile: name.match_indices("MT").find_map(|(start, tag)| macro_tile(&name[start + tag.len()..])),
    })
}

/// Whether these characters are `C..._A..._B...` with three lower-case letters each.
fn names_indices(text: &[u8]) -> bool {
    let pattern = b"C..._A..._B...";
    text.iter().zip(pattern).all(|(&character, &expected)| match expected {
        b'.' => character.is_ascii_lowercase(),
        _ => character == expected,
    })
}

/// `64x16x64...` after `MT`.
fn macro_tile(text: &str) -> Option<MacroTile> {
    let (m, rest) = leading_number(text)?;
    let (n, rest) = leading_number(rest.strip_prefix('x')?)?;
    let (depth_u, _) = leading_number(rest.strip_prefix('x')?)?;
    Some(MacroTile { m, n, depth_u })
}

fn leading_number(text: &str) -> Option<(u64, &str)> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = text.split_at(digits);
    Some((number.parse().ok()?, rest))
}

/// `nvjet_..._TNT`: the first two letters of the last part are `T` for a transposed operand.
fn nvjet(name: &str) -> Option<GemmKernel> {
    if !name.starts_with("nvjet") {
        return None;
    }
    let mut letters = name.rsplit('_').next()?.chars();
    let transposed = (letters.next()? == 'T', letters.next()? == 'T');
    Some(GemmKernel { transpose_a: Some(transposed.0), transpose_b: Some(transposed.1), macro_tile: None })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn kernel_names_tell_transposes_and_tile() {
        let (yes, no) = (Some(true), Some(false));
        let cases = [
            ("Cijk_Alik_Bljk_BBS_BH_MT64x16x64_MI16x16x1", Some((yes, no, Some((64, 16, 64))))),
            ("Cijk_Ailk_Bjlk_HHS_BH_MT256x144x32", Some((no, yes, Some((256, 144, 32))))),
            ("Custom_Cijk_Alik_Bjlk_F8BS_BH", Some((yes, yes, None))),
            ("Cijk_Alik_Bljk_AMTx_MT8x_MT16x16x8", Some((yes, no, Some((16, 16, 8))))),
            ("Cijk_Aijk_Bjkl_MT1x2x3", Some((None, None, Some((1, 2, 3))))),
            ("Cijk_Alik_Bljk_MT99999999999999999999999x1x1", Some((yes, no, None))),
            ("nvjet_tst_128x64_64x8_1x2_h_bz_TNT", Some((yes, no, None))),
            ("nvjet_hsh_256x128_64x4_2x1_v_bz_NTN", Some((no, yes, None))),
            ("nvjet_tst_T", None),
            ("nvjet_", None),
            ("Cij_Alik_Bljk_MT64x16x64", None),
            ("CIJK_Alik_Bljk_MT64x16x64", None),
            ("cutlass_80_tensorop_bf16_s16816gemm_64x64_nn", None),
            ("", None),
        ];
        for (name, expected) in cases {
            let found = GemmKernel::parse(name).map(|kernel| {
                let tile = kernel.macro_tile.map(|tile| (tile.m, tile.n, tile.depth_u));
                (kernel.transpose_a, kernel.transpose_b, tile)
            });
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn efficiency_counts_tiles_and_rounds() {
        let cases = [
            // m, n, tile, tiles, rounds, tile share, unit share
            (10240, 2048, (256, 64), 1280.0, 5.0, 1.0, 0.842_105_263),
            (2048, 10240, (256, 144), 576.0, 2.0, 0.987_654_321, 0.947_368_421),
            (1, 1, (256, 256), 1.0, 1.0, 1.525_878_9e-5, 0.003_289_474),
        ];
        for (m, n, (tile_m, tile_n), tiles, rounds, tile, wave_quantization) in cases {
            let found = MacroTile { m: tile_m, n: tile_n, depth_u: 32 }.efficiency(m, n, 304).unwrap();
            assert_eq!((found.tiles, found.rounds), (tiles, rounds), "{m} x {n}");
            assert!((found.tile - tile).abs() < 1e-9, "{m} x {n}: {found:?}");
            assert!((found.wave_quantization - wave_quantization).abs() < 1e-9, "{m} x {n}: {found:?}");
        }
        let second = MacroTile { m: 256, n: 144, depth_u: 32 }.efficiency(2048, 10240, 304).unwrap();
        assert!((second.overall() - 0.935_672_515).abs() < 1e-9);
    }

    #[test]
    fn efficiency_of_nothing_is_unknown() {
        let tile = MacroTile { m: 256, n: 64, depth_u: 32 };
        for (tile, m, n, units) in [
            (tile, 0, 1, 1),
            (tile, 1, 0, 1),
            (tile, 1, 1, 0),
            (MacroTile { m: 0, ..tile }, 1, 1, 1),
            (MacroTile { n: 0, ..tile }, 1, 1, 1),
        ] {
            assert_eq!(tile.efficiency(m, n, units), None);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(name in ".*", tail in "[A-Z]{0,3}") {
            let _ = GemmKernel::parse(&name);
            let kernel = GemmKernel::parse(&format!("nvjet_{tail}"));
            prop_assert_eq!(kernel.is_some(), tail.len() >= 2);
        }

        #[test]
        fn efficiencies_are_shares(m in 1_u64.., n in 1_u64.., tile_m in 1_u64.., tile_n in 1_u64.., units in 1_u64..) {
            let found = MacroTile { m: tile_m, n: tile_n, depth_u: 1 }.efficiency(m, n, units).unwrap();
            for share in [found.tile, found.wave_quantization, found.overall()] {
                prop_assert!((0.0..=1.0 + 1e-9).contains(&share), "{:?}", found);
            }
        }
    }
}
