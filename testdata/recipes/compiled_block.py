"""Forward and backward of a torch.compile'd MLP with norm: Triton kernels on a GPU, C++ on a CPU."""

import torch
from torch import nn

import recording

options = recording.arguments(__doc__)
model = nn.Sequential(nn.LayerNorm(256), nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256), nn.RMSNorm(256))
compiled = torch.compile(model.to(options.device))
inputs = torch.randn(128, 256, device=options.device)


def step():
    compiled(inputs).square().mean().backward()
    model.zero_grad()


recording.record("compiled_triton" if options.device == "cuda" else "compiled_cpp", step, options)
