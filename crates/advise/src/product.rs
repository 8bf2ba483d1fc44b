//! How well the extents of a matrix product fit a device: its result is computed in tiles, and tiles in rounds over the
//! compute units, the last of which may be almost empty (Osama et al., *Stream-K*, PPoPP 2023, describe both losses).

/// A matrix product of `m` by `k` and `k` by `n`, `batch` of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Product {
    /// Rows of the result.
    pub m: u64,
    /// Columns of the result.
    pub n: u64,
    /// Inner extent.
    pub k: u64,
    /// How many.
    pub batch: u64,
}

/// Rows and columns of the result that a block computes at a time.
pub type Tile = (u64, u64);

/// Tiles that libraries have, with the share of the best one's speed that each reaches: small ones read their operands
/// more often.
const TILES: [(Tile, f64); 7] = [
    ((256, 128), 1.0),
    ((128, 256), 1.0),
    ((256, 256), 1.0),
    ((128, 128), 0.95),
    ((128, 64), 0.8),
    ((64, 128), 0.8),
    ((64, 64), 0.65),
];
/// Parts into which libraries cut the inner extent where there are few tiles, with what putting them together costs.
const SPLITS: [(u64, f64); 4] = [(1, 1.0), (2, 0.95), (4, 0.9), (8, 0.85)];
/// Steps of the inner extent that a block needs until its pipeline is full.
const FILL: u64 = 128;

impl Product {
    /// The share of the units' arithmetic that goes into the result with one tile.
    #[must_use]
    pub fn fit(self, tile: Tile, units: u64) -> f64 {
        self.fit_of_parts(tile, 1, units)
    }

    fn fit_of_parts(self, (rows, columns): Tile, parts: u64, units: u64) -> f64 {
        let tiles =
            self.m.div_ceil(rows.max(1)) * self.n.div_ceil(columns.max(1)) * self.batch.max(1) * parts;
        let rounds = tiles.div_ceil(units.max(1));
        let inner = self.k.div_ceil(parts) + FILL;
        let done = rounds as f64 * units as f64 * (rows * columns) as f64 * inner as f64;
        if done > 0.0 { self.elements() * self.k as f64 / done } else { 0.0 }
    }

    /// The same with the tile that suits the product best.
    #[must_use]
    pub fn best_fit(self, units: u64) -> f64 {
        let fits = TILES.iter().flat_map(|&(tile, speed)| {
            SPLITS.iter().map(move |&(parts, kept)| self.fit_of_parts(tile, parts, units) * speed * kept)
        });
        fits.fold(0.0, f64::max)
    }

    /// A product with at most a tenth less rows or columns that fits much better than this one, if there is any.
    pub(crate) fn better_neighbour(self, units: u64) -> Option<(Product, f64)> {
        let smaller = |extent: u64| {
            [64, 128, 256]
                .into_iter()
                .flat_map(move |step| {
                    (0..=extent / 10 / step).map(move |less| extent / step * step - less * step)
                })
                .filter(move |&other| other > 0 && other < extent && 10 * other >= 9 * extent)
        };
        let narrower = smaller(self.n).map(|n| Product { n, ..self });
        let shorter = smaller(self.m).map(|m| Product { m, ..self });
        let fits = narrower.chain(shorter).map(|other| (other, other.best_fit(units)));
        fits.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    pub(crate) fn elements(self) -> f64 {
        self.m as f64 * self.n as f64 * self.batch.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_tile_more_than_units_is_half_lost() {
        let product = |columns: u64| Product { m: 256, n: columns * 128, k: 4096, batch: 1 };
        let [whole, more] = [132, 133].map(|tiles| product(tiles).fit((256, 128), 132));
        assert!(whole > 0.95 && (0.45..0.5).contains(&more), "{whole} {more}");
    }

    #[test]
    fn the_best_tile_is_no_worse_than_any() {
        for (m, n) in [(4096, 4096), (4096, 768), (100, 100), (1, 4096)] {
            let product = Product { m, n, k: 4096, batch: 1 };
            assert!(product.best_fit(132) >= 0.95 * product.fit((128, 128), 132), "{product:?}");
        }
    }

    #[test]
    fn a_large_even_product_has_no_better_neighbour() {
        let product = Product { m: 8192, n: 8192, k: 8192, batch: 1 };
        let (_, fit) = product.better_neighbour(132).unwrap();
        assert!(fit < 1.1 * product.best_fit(132));
    }

    #[test]
    fn products_without_extent_fit_nothing() {
        let product = Product { m: 0, n: 0, k: 0, batch: 0 };
        assert_eq!((product.fit((128, 128), 132), product.best_fit(0)), (0.0, 0.0));
        assert_eq!(product.better_neighbour(132), None);
    }
}
