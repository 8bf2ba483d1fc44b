"""The two-layer decoder that several recipes record: small enough to read its trace by eye."""

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY, WIDTH, HEADS, TOKENS, BATCH, LAYERS = 512, 128, 4, 64, 2, 2


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.projection = nn.Linear(WIDTH, WIDTH)
        self.mlp_norm = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        batch, tokens, _ = x.shape
        qkv = self.qkv(self.attention_norm(x)).view(batch, tokens, 3, HEADS, WIDTH // HEADS)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.projection(mixed.transpose(1, 2).reshape(batch, tokens, WIDTH))
        return x + self.mlp(self.mlp_norm(x))


class Transformer(nn.Module):
    """`run_block(block, x)` says how a block is called: directly, or under activation checkpointing."""

    def __init__(self, run_block=lambda block, x: block(x)):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.run_block = run_block

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = self.run_block(block, x)
        return self.head(self.norm(x))


def batch(device):
    """Random token ids and the ids to predict."""
    tokens = torch.randint(VOCABULARY, (BATCH, TOKENS + 1), device=device)
    return tokens[:, :-1], tokens[:, 1:]


def loss(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())
