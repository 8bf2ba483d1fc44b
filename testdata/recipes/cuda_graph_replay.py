"""A captured CUDA graph replayed three times between eager operations."""

import torch
from torch import nn

import recording

REPLAYS = 3

options = recording.arguments(__doc__, gpu_only=True)
model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.LayerNorm(512), nn.Linear(512, 256)).cuda().half()
static_input = torch.randn(64, 256, device="cuda", dtype=torch.half)

# Capture needs the libraries' lazy set-up done, on a stream other than the default one.
side_stream = torch.cuda.Stream()
side_stream.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side_stream), torch.no_grad():
    model(static_input)
torch.cuda.current_stream().wait_stream(side_stream)

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph), torch.no_grad():
    static_output = model(static_input)


@torch.no_grad()
def step():
    for _ in range(REPLAYS):
        static_input.copy_(torch.rand_like(static_input))
        graph.replay()
    return torch.softmax(static_output, dim=-1)


recording.record("cuda_graph_replay", step, options)
