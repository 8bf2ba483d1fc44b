"""Collectives and a DistributedDataParallel step: NCCL with one rank on a GPU, Gloo with two on a CPU."""

import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch import nn

import recording

ELEMENTS = 1 << 16


def worker(rank, ranks, store, options):
    torch.manual_seed(recording.SEED)
    torch.set_num_threads(1)
    on_gpu = options.device == "cuda"
    # A file store: a TCP store would leave the host's address in the trace's thread names.
    dist.init_process_group(
        "nccl" if on_gpu else "gloo",
        init_method=f"file://{store}",
        rank=rank,
        world_size=ranks,
        device_id=torch.device("cuda", 0) if on_gpu else None,
    )
    values = torch.ones(ELEMENTS, device=options.device)
    gathered = torch.empty(ranks * ELEMENTS, device=options.device)
    model = nn.parallel.DistributedDataParallel(
        nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64)).to(options.device)
    )
    inputs = torch.randn(32, 64, device=options.device)

    def step():
        dist.all_reduce(values)
        dist.all_gather_into_tensor(gathered, values)
        dist.reduce_scatter_tensor(values, gathered)
        dist.broadcast(values, src=0)
        model(inputs).square().mean().backward()
        model.zero_grad()

    name = "nccl_collectives" if on_gpu else f"gloo_collectives_rank{rank}"
    recording.record(name, step, options)
    dist.destroy_process_group()


if __name__ == "__main__":
    options = recording.arguments(__doc__)
    ranks = 1 if options.device == "cuda" else 2
    with tempfile.TemporaryDirectory() as scratch:
        store = os.path.join(scratch, "store")
        if ranks == 1:
            worker(0, ranks, store, options)
        else:
            multiprocessing.spawn(worker, (ranks, store, options), nprocs=ranks)
