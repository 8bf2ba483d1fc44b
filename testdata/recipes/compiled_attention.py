"""Forward and backward of a torch.compile'd block of attention, which calls the operators of the backward pass itself, without
autograd's link to the forward ones; beside it flex attention with a sliding window, as Triton kernels."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import recording

BATCH, LENGTH, HEADS, HEAD = 2, 1024, 8, 64
WINDOW = 256

options = recording.arguments(__doc__, gpu_only=True)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.RMSNorm(HEADS * HEAD)
        self.mix = nn.Linear(HEADS * HEAD, 3 * HEADS * HEAD, bias=False)
        self.out = nn.Linear(HEADS * HEAD, HEADS * HEAD, bias=False)

    def forward(self, x):
        mixed = self.mix(self.norm(x)).unflatten(-1, (3, HEADS, HEAD))
        query, key, value = mixed.permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return x + self.out(attended.transpose(1, 2).flatten(-2))


def within_window(batch, head, query, key):
    return (query >= key) & (query - key < WINDOW)


block = torch.compile(Attention().to("cuda", torch.bfloat16))
inputs = torch.randn(BATCH, LENGTH, HEADS * HEAD, device="cuda", dtype=torch.bfloat16)
mask = create_block_mask(within_window, None, None, LENGTH, LENGTH, device="cuda")
flex = torch.compile(flex_attention)
heads = [
    torch.randn(BATCH, HEADS, LENGTH, HEAD, device="cuda", dtype=torch.bfloat16).requires_grad_() for _ in range(3)
]


def step():
    block(inputs).float().square().mean().backward()
    block.zero_grad()
    flex(*heads, block_mask=mask).float().square().mean().backward()
    for tensor in heads:
        tensor.grad = None


recording.record("compiled_attention", step, options)
