//! How many scores of an attention matrix a mask keeps.

/// Which scores of an attention matrix are computed.
///
/// The default keeps all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttentionMask {
    /// No query sees a key after its own position.
    pub causal: bool,
    /// Which key stands at a query's own position when there are more keys than queries or fewer.
    pub alignment: MaskAlignment,
    /// How many keys before its own position a query sees; `None` for all.
    pub window_left: Option<u64>,
    /// How many keys after its own position a query sees; `None` for all.
    pub window_right: Option<u64>,
}

/// Where the diagonal of a mask lies in a matrix that is not square.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MaskAlignment {
    /// The last query stands at the last key: flash-attention from 2.1 on, flash-attention 3, aiter, and
    /// PyTorch's flash backend, which `scaled_dot_product_attention` never calls with unequal lengths
    /// itself and which `torch.nn.attention.bias.causal_lower_right` calls for this alignment.
    #[default]
    BottomRight,
    /// The first query stands at the first key: `is_causal` of PyTorch's `scaled_dot_product_attention`,
    /// so its memory-efficient and cuDNN backends.
    TopLeft,
}

impl AttentionMask {
    /// The number of scores that the mask keeps of `queries` by `keys`.
    ///
    /// Every query's visible keys are counted, except under a causal mask without a window over as many
    /// queries as keys: that counts as half of the matrix, as the benchmarks of flash-attention do
    /// ([Dao 2023](https://arxiv.org/abs/2307.08691), section 4.1), which leaves out half of the diagonal.
    #[must_use]
    pub fn kept_scores(&self, queries: f64, keys: f64) -> f64 {
        if !(queries > 0.0 && keys > 0.0) {
            return 0.0;
        }
        // A window as long as the sequence hides nothing.
        let left = self.window_left.map(|left| left as f64).filter(|&left| left < keys);
        let right = if self.causal {
            Some(0.0)
        } else {
            self.window_right.map(|right| right as f64).filter(|&right| right < keys)
        };
        if self.causal && left.is_none() && queries == keys {
            return queries * keys / 2.0;
        }
        let diagonal = match self.alignment {
            MaskAlignment::BottomRight => keys - queries,
            MaskAlignment::TopLeft => 0.0,
        };
        let before_end =
            right.map_or(queries * keys, |right| keys_before(diagonal + right + 1.0, queries, keys));
        let before_start = left.map_or(0.0, |left| keys_before(diagonal - left, queries, keys));
        (before_end - before_start).max(0.0)
    }
}

/// The sum over the queries `i` of the number of keys whose index is below `i + shift`.
fn keys_before(shift: f64, queries: f64, keys: f64) -> f64 {
    // The first query that sees a key, and the first that sees them all.
    let first = (-shift).clamp(0.0, queries);
    let all = (keys - shift).clamp(first, queries);
    let rising = (all - first) * (first + all - 1.0 + 2.0 * shift) / 2.0;
    rising.max(0.0) + (queries - all) * keys
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CAUSAL: AttentionMask = AttentionMask {
        causal: true,
        alignment: MaskAlignment::BottomRight,
        window_left: None,
        window_right: None,
    };

    #[test]
    fn masks_keep_the_scores_of_their_documentation() {
        let top_left = AttentionMask { alignment: MaskAlignment::TopLeft, ..CAUSAL };
        let window =
            |left, right| AttentionMask { causal: false, window_left: left, window_right: right, ..CAUSAL };
        let cases = [
            ("no mask", AttentionMask::default(), 3.0, 5.0, 15.0),
            ("square causal is half", CAUSAL, 4.0, 4.0, 8.0),
            // The two matrices in flash-attention's documentation of its change of alignment.
            ("2 queries end at 5 keys", CAUSAL, 2.0, 5.0, 9.0),
            ("5 queries end at 2 keys", CAUSAL, 5.0, 2.0, 3.0),
            ("2 queries start at 5 keys", top_left, 2.0, 5.0, 3.0),
            ("5 queries start at 2 keys", top_left, 5.0, 2.0, 9.0),
            ("one query of a decode step sees all", CAUSAL, 1.0, 100.0, 100.0),
            ("window of one key before", AttentionMask { window_left: Some(1), ..CAUSAL }, 4.0, 4.0, 7.0),
            (
                "window as long as the sequence",
                AttentionMask { window_left: Some(4), ..CAUSAL },
                4.0,
                4.0,
                8.0,
            ),
            ("window on both sides", window(Some(1), Some(1)), 4.0, 4.0, 10.0),
            ("window after only", window(None, Some(0)), 4.0, 4.0, 10.0),
            ("own position only", window(Some(0), Some(0)), 4.0, 4.0, 4.0),
            ("nothing", CAUSAL, 0.0, 5.0, 0.0),
        ];
        for (what, mask, queries, keys, kept) in cases {
            assert_eq!(mask.kept_scores(queries, keys), kept, "{what}");
        }
    }

    fn counted(mask: &AttentionMask, queries: i64, keys: i64) -> i64 {
        let diagonal = if mask.alignment == MaskAlignment::TopLeft { 0 } else { keys - queries };
        let right = if mask.causal { Some(0) } else { mask.window_right };
        (0..queries)
            .flat_map(|query| (0..keys).map(move |key| key - query - diagonal))
            .filter(|&ahead| right.is_none_or(|right| ahead <= right as i64))
            .filter(|&ahead| mask.window_left.is_none_or(|left| -ahead <= left as i64))
            .count() as i64
    }

    proptest! {
        #[test]
        fn kept_scores_are_those_that_counting_finds(
            causal: bool,
            top_left: bool,
            window_left in proptest::option::of(0..40_u64),
            window_right in proptest::option::of(0..40_u64),
            queries in 0..30_i64,
            keys in 0..30_i64,
        ) {
            let alignment = if top_left { MaskAlignment::TopLeft } else { MaskAlignment::BottomRight };
            let mask = AttentionMask { causal, alignment, window_left, window_right };
            let kept = mask.kept_scores(queries as f64, keys as f64);
            let hides_nothing_else = window_left.is_none_or(|left| left as i64 >= keys);
            if causal && queries == keys && hides_nothing_else {
                prop_assert_eq!(kept, (queries * keys) as f64 / 2.0);
            } else if window_right.is_some_and(|right| right as i64 >= keys) && !causal {
                // Wider than the sequence, which the kernels take as no window.
                let unbounded = AttentionMask { window_right: None, ..mask };
                prop_assert_eq!(kept, unbounded.kept_scores(queries as f64, keys as f64));
            } else if hides_nothing_else {
                let unbounded = AttentionMask { window_left: None, ..mask };
                prop_assert_eq!(kept, counted(&unbounded, queries, keys) as f64);
            } else {
                prop_assert_eq!(kept, counted(&mask, queries, keys) as f64);
            }
        }

        #[test]
        fn kept_scores_lie_between_none_and_all(
            causal: bool,
            window_left in proptest::option::of(any::<u64>()),
            window_right in proptest::option::of(any::<u64>()),
            queries in 0.0..1e18_f64,
            keys in 0.0..1e18_f64,
        ) {
            let mask = AttentionMask { causal, window_left, window_right, ..AttentionMask::default() };
            let kept = mask.kept_scores(queries.floor(), keys.floor());
            prop_assert!(kept >= 0.0);
            prop_assert!(kept <= queries.floor() * keys.floor() * (1.0 + 1e-9) + 1.0);
        }
    }
}
