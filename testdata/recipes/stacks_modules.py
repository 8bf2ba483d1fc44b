"""Transformer step with Python stacks, module hierarchy and activation checkpointing.

The first block is checkpointed without, the second with re-entrant autograd: only the former goes
through `recompute_fn`, the frame by which recomputed work is told from the first computation.
"""

import torch
from torch.utils.checkpoint import checkpoint

import recording
import tiny_transformer

options = recording.arguments(__doc__)


def run_checkpointed(block, x):
    return checkpoint(block, x, use_reentrant=block is model.blocks[1])


model = tiny_transformer.Transformer(run_checkpointed).to(options.device, torch.bfloat16)
tokens, targets = tiny_transformer.batch(options.device)


def step():
    tiny_transformer.loss(model(tokens), targets).backward()
    model.zero_grad()


recording.record("stacks_modules", step, options, with_stack=True, with_modules=True)
