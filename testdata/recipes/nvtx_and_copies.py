"""NVTX ranges of all kinds, copies from pageable and pinned memory, an NCCL communicator and a worker thread.

For Nsight Systems alone (record_nsys.sh): a range that begins on one thread and ends on another, marks, NCCL's own
domain, waits of several kinds.
"""

import os
import tempfile
import threading

import torch
import torch.distributed as dist

import recording

STEPS = 4
SIZE = 1024
nvtx = torch.cuda.nvtx


def multiply(values, weights, range_id):
    """What the worker thread does: it ends a range that the main thread began."""
    with nvtx.range("worker"):
        values @ weights
    nvtx.range_end(range_id)


def steps():
    values = torch.ones(SIZE, SIZE, device="cuda")
    weights = torch.ones(SIZE, SIZE, device="cuda")
    gathered = torch.empty(SIZE, SIZE, device="cuda")
    pageable = torch.ones(SIZE, SIZE)
    pinned = pageable.pin_memory()
    stream = torch.cuda.Stream()

    def step():
        for number in range(STEPS):
            with nvtx.range(f"step {number}"):
                range_id = nvtx.range_start("multiply elsewhere")
                thread = threading.Thread(target=multiply, args=(values, weights, range_id))
                thread.start()
                values.copy_(pageable)
                with torch.cuda.stream(stream):
                    gathered.copy_(pinned, non_blocking=True)
                torch.cuda.current_stream().wait_stream(stream)
                dist.all_reduce(values)
                dist.all_gather_into_tensor(gathered, values)
                dist.reduce_scatter_tensor(values, gathered)
                dist.broadcast(values, src=0)
                thread.join()
                stream.synchronize()
                gathered.sum().item()
            nvtx.mark(f"end of step {number}")

    return step


if __name__ == "__main__":
    options = recording.arguments(__doc__, gpu_only=True)
    with tempfile.TemporaryDirectory() as scratch:
        dist.init_process_group(
            "nccl",
            init_method=f"file://{os.path.join(scratch, 'store')}",
            rank=0,
            world_size=1,
            device_id=torch.device("cuda", 0),
        )
        recording.record("nvtx_and_copies", steps(), options)
        dist.destroy_process_group()
