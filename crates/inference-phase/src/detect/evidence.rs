//! What is known of one step besides annotations and frames.

use perf_models::PhaseWords;

use super::calls::{AttentionCall, Call, Item, NARROWEST_VOCABULARY, What};
use super::vocabulary::Vocabulary;

/// What a step's calls, launches and device events say.
#[derive(Clone, Debug, Default)]
pub(super) struct Evidence {
    /// Most rows of activations that are tokens: embeddings, normalizations, selections, attention.
    pub(super) token_rows: Option<i64>,
    /// Most rows of projections' activations. Low-precision ones pad them, so they count only without the others.
    pub(super) projected_rows: Option<i64>,
    /// Rows that the language-model head reads.
    pub(super) head_rows: Option<i64>,
    /// Rows that tokens are chosen for.
    pub(super) sampled_rows: Option<i64>,
    /// New tokens per request where activations have a dimension of requests.
    pub(super) tokens_per_request: Option<i64>,
    /// Longest queries of attention with a dimension of requests, and the longest keys with them.
    pub(super) lengths: Option<(i64, Option<i64>)>,
    /// The requests of packed attention, of the call with most tokens per request.
    pub(super) packed: Option<Packed>,
    /// Calls of attention over prompts, by name.
    pub(super) context_attention: usize,
    /// Calls of attention of generation, by name.
    pub(super) generation_attention: usize,
    pub(super) graph_launches: usize,
    /// Graph launches that have attention in them.
    pub(super) attending_graphs: usize,
    /// Σ of device time of graph launches.
    pub(super) graph_time: i64,
    /// Attention outside of graphs: operators, and kernels.
    pub(super) eager_attention: usize,
    pub(super) eager_attention_kernels: usize,
    /// Those among them that say nothing of their kind.
    pub(super) plain_attention_kernels: usize,
    /// Σ of device time.
    pub(super) device_time: i64,
    /// Work on images.
    pub(super) images: usize,
    /// Device time under kernels whose names have a word of the prompt's phase, and of generation's.
    pub(super) named_kernel_time: [i64; 2],
    /// The same under operators of engines.
    pub(super) named_operator_calls: [i64; 2],
    /// Host calls with shapes, or launches: whether the host says anything at all.
    pub(super) host_items: usize,
}

/// Requests whose tokens lie one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packed {
    /// New tokens of all of them.
    pub(super) rows: i64,
    pub(super) requests: i64,
    /// Most new tokens of one of them.
    pub(super) longest: Option<i64>,
}

impl Evidence {
    pub(super) fn logit_rows(&self) -> Option<i64> {
        self.head_rows.or(self.sampled_rows)
    }

    /// Rows of the logits that tokens are chosen from: fewer than [`Evidence::logit_rows`] where logits of all tokens were
    /// asked for with their probabilities.
    pub(super) fn chosen_rows(&self) -> Option<i64> {
        let rows = self.logit_rows()?;
        let has_all = self.graph_launches == 0 && self.tokens().is_some_and(|tokens| tokens <= rows);
        Some(self.sampled_rows.filter(|&chosen| chosen < rows && has_all).unwrap_or(rows))
    }

    /// Tokens that the step processes.
    pub(super) fn tokens(&self) -> Option<i64> {
        self.token_rows.or(self.projected_rows)
    }

    /// Whether attention of generation is not all there is: every layer may have prompts' beside it.
    pub(super) fn attends_otherwise(&self) -> bool {
        self.generation_attention > 0
            && self.context_attention == 0
            && self.plain_attention_kernels * 4 > self.generation_attention
    }

    pub(super) fn add(&mut self, item: &Item, vocabulary: &Vocabulary) {
        self.host_items += 1;
        match item.what {
            What::Launch(launch) if launch.is_graph => {
                self.graph_launches += 1;
                self.attending_graphs += usize::from(launch.attention > 0);
                self.graph_time = self.graph_time.saturating_add(launch.device_time);
            }
            What::Launch(_) | What::Named | What::Chooses => {}
            What::Attends => self.eager_attention += 1,
            What::Call(call) => self.add_call(call, vocabulary),
        }
    }

    fn add_call(&mut self, call: Call, vocabulary: &Vocabulary) {
        match call {
            Call::Projection { rows, inner, outer, per_request } => {
                if vocabulary.is_head(inner, outer) {
                    self.head_rows = self.head_rows.max(Some(rows));
                } else if vocabulary.is_hidden(inner) {
                    self.projected_rows = self.projected_rows.max(Some(rows));
                    self.tokens_per_request = self.tokens_per_request.max(per_request);
                }
            }
            Call::Embedding { entries, tokens, per_request, .. } => {
                if entries >= NARROWEST_VOCABULARY {
                    self.token_rows = self.token_rows.max(Some(tokens));
                    self.tokens_per_request = self.tokens_per_request.max(per_request);
                }
            }
            Call::Norm { rows, width } if vocabulary.is_hidden(width) && width >= LEAST_HIDDEN => {
                self.token_rows = self.token_rows.max(Some(rows));
            }
            // A table of embeddings is as wide as activations and as long as the vocabulary.
            Call::Selection { rows, width }
                if vocabulary.is_hidden(width) && width >= LEAST_HIDDEN && !vocabulary.is_logits(rows) =>
            {
                self.token_rows = self.token_rows.max(Some(rows));
            }
            Call::Attention(call) => self.add_attention(call),
            Call::Sampling { rows, width, .. } if vocabulary.is_logits(width) => {
                self.sampled_rows = self.sampled_rows.max(Some(rows));
            }
            Call::Image => self.images += 1,
            Call::Norm { .. } | Call::Selection { .. } | Call::Sampling { .. } | Call::Wide { .. } => {}
        }
    }

    fn add_attention(&mut self, call: AttentionCall) {
        self.eager_attention += 1;
        self.token_rows = self.token_rows.max(call.rows);
        match (call.queries, call.rows, call.requests) {
            (Some(queries), ..) => {
                let (before, keys) = self.lengths.unwrap_or_default();
                self.lengths = Some((before.max(queries), keys.max(call.keys)));
            }
            (None, Some(rows), Some(requests)) if requests > 0 => {
                let more = |other: Packed| {
                    i128::from(rows) * i128::from(other.requests)
                        > i128::from(other.rows) * i128::from(requests)
                };
                if self.packed.is_none_or(more) {
                    self.packed = Some(Packed { rows, requests, longest: call.longest });
                }
            }
            _ => {}
        }
    }

    /// Adds what an operator's name says.
    pub(super) fn add_operator(&mut self, words: PhaseWords) {
        self.context_attention += usize::from(words.context);
        self.generation_attention += usize::from(words.generation);
        if words.engine {
            self.named_operator_calls[0] += i64::from(words.weak_context);
            self.named_operator_calls[1] += i64::from(words.weak_generation);
        }
    }

    /// Adds what a kernel's name says. Kernels of prompts are used for generation too where a graph has them: it was
    /// captured with a batch of one token per request, and some libraries have no better kernel for that.
    pub(super) fn add_kernel(&mut self, words: PhaseWords, duration: i64, in_graph: bool) {
        self.device_time += duration;
        self.eager_attention_kernels += usize::from(words.attention && !in_graph);
        self.plain_attention_kernels += usize::from(words.plain_attention && !in_graph);
        self.context_attention += usize::from(words.context && !in_graph);
        self.generation_attention += usize::from(words.generation);
        if words.weak_context && !in_graph {
            self.named_kernel_time[0] += duration;
        }
        if words.weak_generation {
            self.named_kernel_time[1] += duration;
        }
    }
}

/// Heads of attention are normalized too; no model's activations are as narrow.
const LEAST_HIDDEN: i64 = 512;
