//! FLOPs and bytes of scaled dot-product attention.

use super::mask::AttentionMask;
use crate::tensor::count_value;
use crate::{ComputeSpec, Figure, Parameter, PerfModel, Undefined, Value, element_size};

/// Scaled dot-product attention, forward or as the forward of a backward.
///
/// Scores `Q Kᵀ` and output `P V` are a multiply-add per kept score and head dimension each; the softmax
/// is not counted. The backward pass has the four products dV, dP, dQ and dK, and a fifth where the
/// kernel recomputes the scores instead of loading them
/// ([Dao et al. 2022](https://arxiv.org/abs/2205.14135), appendix B.2); with fewer heads of keys than of
/// queries, dK and dV are sums over the queries' heads.
///
/// ```
/// use perf_models::{Attention, AttentionMask, PerfModel};
///
/// let attention = Attention {
///     batch: 2,
///     query_length: 4096,
///     query_heads: 32,
///     key_length: 4096,
///     key_heads: 8,
///     head_dim: 128,
///     value_head_dim: 128,
///     mask: AttentionMask { causal: true, ..AttentionMask::default() },
///     query_type: "c10::BFloat16".into(),
///     key_type: "c10::BFloat16".into(),
///     ..Attention::default()
/// };
/// assert_eq!(attention.flops(), Ok(274_877_906_944.0));
/// assert_eq!(attention.bytes(), Ok(167_772_160.0));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attention {
    /// Sequences, or 1 with `packed`.
    pub batch: u64,
    /// Queries of a sequence, or of all with `packed`.
    pub query_length: u64,
    /// Heads of the queries.
    pub query_heads: u64,
    /// Keys of a sequence, or of all with `packed`.
    pub key_length: u64,
    /// Heads of keys and values.
    pub key_heads: u64,
    /// Elements of a query and of a key in one head.
    pub head_dim: u64,
    /// Elements of a value in one head.
    pub value_head_dim: u64,
    /// Which scores are computed.
    pub mask: AttentionMask,
    /// Lengths of sequences that lie one after the other in one batch.
    pub packed: Option<PackedSequences>,
    /// The backward pass computes the scores again instead of loading them.
    pub recomputes_scores: bool,
    /// Element type of queries, as PyTorch names it.
    pub query_type: String,
    /// Element type of keys, and of values unless `value_type` says another.
    pub key_type: String,
    /// Element type of values where it is not that of keys; else empty.
    pub value_type: String,
}

/// Lengths of sequences that lie one after the other in one batch ("varlen").
///
/// A call records how many there are and the longest; the rest are taken to be equally long.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PackedSequences {
    /// Sequences of queries.
    pub query_sequences: u64,
    /// Sequences of keys.
    pub key_sequences: u64,
    /// Queries of the longest sequence.
    pub longest_query: u64,
    /// Keys of the longest sequence.
    pub longest_key: u64,
}

/// Sequences of one length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sequences {
    pub(crate) count: f64,
    pub(crate) queries: f64,
    pub(crate) keys: f64,
}

impl PackedSequences {
    /// The longest sequence, and the others, which share the remaining tokens equally.
    pub(crate) fn lengths(&self, queries: f64, keys: f64) -> Vec<Sequences> {
        let (longest_query, longest_key) = (self.longest_query as f64, self.longest_key as f64);
        let mut lengths = vec![Sequences { count: 1.0, queries: longest_query, keys: longest_key }];
        if self.query_sequences > 1 {
            let others = self.query_sequences as f64 - 1.0;
            let share = |total: f64, longest: f64, others: f64| ((total - longest) / others).floor().max(0.0);
            lengths.push(Sequences {
                count: others,
                queries: share(queries, longest_query, others),
                keys: if self.key_sequences > 1 {
                    share(keys, longest_key, self.key_sequences as f64 - 1.0)
                } else {
                    longest_key
                },
            });
        }
        lengths
    }

    /// What of [`lengths`](Self::lengths) is not recorded.
    pub(crate) fn assumption(&self, queries: u64, keys: u64) -> Option<String> {
        let equal = |count: u64, longest: u64, total: u64| count.checked_mul(longest) == Some(total);
        if self.query_sequences <= 1 {
            None
        } else if self.key_sequences <= 1 {
            Some("assumed that all query sequences attend to the one key sequence".to_owned())
        } else if equal(self.query_sequences, self.longest_query, queries)
            && equal(self.key_sequences, self.longest_key, keys)
        {
            None
        } else {
            Some("assumed equal lengths for all sequences but the longest".to_owned())
        }
    }
}

impl Attention {
    fn sequences(&self) -> Vec<Sequences> {
        let (queries, keys) = (self.query_length as f64, self.key_length as f64);
        match &self.packed {
            None => vec![Sequences { count: self.batch as f64, queries, keys }],
            Some(packed) => packed.lengths(queries, keys),
        }
    }

    fn kept_scores(&self) -> f64 {
        self.sequences().iter().map(|s| s.count * self.mask.kept_scores(s.queries, s.keys)).sum()
    }

    /// Additions that sum the gradients of the heads of queries that share a key, per key and dimension.
    fn shared_heads(&self) -> f64 {
        self.query_heads.checked_div(self.key_heads).map_or(0.0, |group| group.saturating_sub(1) as f64)
    }

    /// Bytes of an element of queries, keys, values and the output.
    fn sizes(&self) -> Result<[f64; 4], Undefined> {
        let query = element_size(&self.query_type)?;
        let key = element_size(&self.key_type)?;
        let value = if self.value_type.is_empty() { key } else { element_size(&self.value_type)? };
        // No kernel writes an output of eight bits: attention in FP8 and INT8 returns sixteen.
        Ok([query, key, value, query.max(2.0)])
    }

    /// Bytes of Q, K and V, and of the output.
    fn tensor_bytes(&self) -> Result<[f64; 2], Undefined> {
        let [query, key, value, output] = self.sizes()?;
        let [q, k, v, o] = self.elements();
        Ok([q * query + k * key + v * value, o * output])
    }

    /// Elements of Q, K, V and the output.
    fn elements(&self) -> [f64; 4] {
        let queries = self.batch as f64 * self.query_length as f64 * self.query_heads as f64;
        let keys = self.batch as f64 * self.key_length as f64 * self.key_heads as f64;
        let (head, value) = (self.head_dim as f64, self.value_head_dim as f64);
        [queries * head, keys * head, keys * value, queries * value]
    }

    /// Parameters up to the head dimensions.
    pub(super) fn shape_parameters(&self) -> Vec<Parameter> {
        vec![
            ("B", count_value(self.batch)),
            ("N_Q", count_value(self.query_length)),
            ("H_Q", count_value(self.query_heads)),
            ("N_KV", count_value(self.key_length)),
            ("H_KV", count_value(self.key_heads)),
            ("d_h_qk", count_value(self.head_dim)),
            ("d_h_v", count_value(self.value_head_dim)),
        ]
    }

    pub(super) fn types_parameter(&self) -> Parameter {
        let types = [&self.query_type, &self.key_type].map(|name| name.as_str().into());
        ("dtype_A_B", Value::Tuple(types.to_vec()))
    }

    /// Lengths of packed sequences; the window, where there is one.
    pub(super) fn length_parameters(&self) -> Vec<Parameter> {
        let mut parameters = Vec::new();
        if let Some(packed) = &self.packed {
            parameters.extend([
                ("num_seqs_q", count_value(packed.query_sequences)),
                ("num_seqs_kv", count_value(packed.key_sequences)),
                ("max_seqlen_q", (packed.longest_query as f64).into()),
                ("max_seqlen_kv", (packed.longest_key as f64).into()),
            ]);
        }
        if self.mask.window_left.is_some() || self.mask.window_right.is_some() {
            let side = |keys: Option<u64>| keys.map_or(Value::Int(-1), count_value);
            let window = [side(self.mask.window_left), side(self.mask.window_right)];
            parameters.push(("window_size", Value::Tuple(window.to_vec())));
        }
        parameters
    }
}

impl PerfModel for Attention {
    /// `2·(head_dim + value_head_dim)` for each kept score of each head.
    fn flops(&self) -> Figure {
        let per_score = 2.0 * (self.head_dim as f64 + self.value_head_dim as f64);
        Ok(self.kept_scores() * self.query_heads as f64 * per_score)
    }

    /// Queries, keys and values read, the output written.
    fn bytes(&self) -> Figure {
        let [inputs, output] = self.tensor_bytes()?;
        Ok(inputs + output)
    }

    fn backward_flops(&self) -> Figure {
        let (head, value) = (self.head_dim as f64, self.value_head_dim as f64);
        let recomputation = if self.recomputes_scores { 2.0 * head } else { 0.0 };
        let per_score = self.query_heads as f64 * (recomputation + 4.0 * value + 4.0 * head);
        let flops = self.sequences().into_iter().map(|s| {
            let kept = self.mask.kept_scores(s.queries, s.keys);
            let scores = s.queries * s.keys;
            // The sums over heads shrink with the mask like the products that they follow.
            let kept_share = if scores > 0.0 { kept / scores } else { 0.0 };
            s.count * (kept * per_score + kept_share * s.keys * (head + value) * self.shared_heads())
        });
        Ok(flops.sum())
    }

    /// Reads Q, K, V and the output's gradient; writes dQ, dK and dV.
    fn backward_bytes(&self) -> Figure {
        let [inputs, output] = self.tensor_bytes()?;
        Ok(2.0 * inputs + output)
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::matrix(&self.query_type)
    }

    fn parameters(&self) -> Vec<Parameter> {
        let mut parameters = self.shape_parameters();
        parameters.push(("causal", self.mask.causal.into()));
        parameters.push(("flash_impl", self.recomputes_scores.into()));
        parameters.push(self.types_parameter());
        parameters.extend(self.length_parameters());
        parameters
    }

    fn assumption(&self) -> Option<String> {
        self.packed.and_then(|packed| packed.assumption(self.query_length, self.key_length))
    }
}
