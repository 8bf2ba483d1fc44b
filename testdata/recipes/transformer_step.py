"""One bf16 training step of a two-layer transformer: forward, loss, backward, AdamW; no stacks."""

import torch

import recording
import tiny_transformer

options = recording.arguments(__doc__)
model = tiny_transformer.Transformer().to(options.device, torch.bfloat16)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
tokens, targets = tiny_transformer.batch(options.device)


def step():
    with torch.profiler.record_function("forward"):
        loss = tiny_transformer.loss(model(tokens), targets)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


recording.record("transformer_step", step, options)
