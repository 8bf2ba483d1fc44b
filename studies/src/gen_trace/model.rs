//! The models whose training is imitated: a handful of transformer sizes.

use super::random::Random;

/// Sizes of a transformer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Model {
    pub(super) hidden: u64,
    pub(super) heads: u64,
    pub(super) feed_forward: u64,
    pub(super) layers: u64,
    pub(super) vocabulary: u64,
    batch: u64,
    longest_sequence: u64,
}

/// Sizes of published models: GPT-2 medium, BERT large, a 7-billion decoder, a base vision model.
const MODELS: [Model; 4] = [
    Model {
        hidden: 1024,
        heads: 16,
        feed_forward: 4096,
        layers: 24,
        vocabulary: 50_304,
        batch: 8,
        longest_sequence: 1024,
    },
    Model {
        hidden: 1024,
        heads: 16,
        feed_forward: 4096,
        layers: 24,
        vocabulary: 30_528,
        batch: 32,
        longest_sequence: 512,
    },
    Model {
        hidden: 4096,
        heads: 32,
        feed_forward: 11_008,
        layers: 32,
        vocabulary: 32_000,
        batch: 1,
        longest_sequence: 4096,
    },
    Model {
        hidden: 768,
        heads: 12,
        feed_forward: 3072,
        layers: 12,
        vocabulary: 21_842,
        batch: 64,
        longest_sequence: 256,
    },
];

/// The sizes of one training step: the model and the batch at hand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) model: Model,
    pub(super) batch: u64,
    pub(super) sequence: u64,
}

impl Model {
    /// One of the models, with no more than so many layers.
    pub(super) fn choose(random: &mut Random, most_layers: u64) -> Self {
        let model = MODELS[random.between(0, MODELS.len() as u64) as usize];
        Self { layers: model.layers.min(most_layers), ..model }
    }

    /// A batch: its sequences are as long as the longest of them, in blocks of 64.
    pub(super) fn batch(self, random: &mut Random) -> Shape {
        let blocks = self.longest_sequence / 64;
        let sequence = 64 * random.between(blocks.div_ceil(2), blocks + 1);
        Shape { model: self, batch: self.batch, sequence }
    }
}

impl Shape {
    /// Tokens of the batch: rows of every matrix product.
    pub(super) fn tokens(self) -> u64 {
        self.batch * self.sequence
    }

    pub(super) fn head(self) -> u64 {
        self.model.hidden / self.model.heads
    }

    /// Parameters of one layer.
    pub(super) fn layer_parameters(self) -> u64 {
        let Model { hidden, feed_forward, .. } = self.model;
        4 * hidden * hidden + 2 * hidden * feed_forward + 9 * hidden + feed_forward
    }
}
