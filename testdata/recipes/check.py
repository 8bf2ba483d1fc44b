"""Say what a recorded Kineto trace holds and fail where it lacks what its recipe promises.

    python3 check.py ../recorded/*/*.json.gz
"""

import collections
import gzip
import json
import pathlib
import sys

GPU = {"kernel", "gpu_memcpy", "gpu_memset"}
RUNTIME = {"cuda_runtime", "cuda_driver"}


def category(event):
    return event.get("cat") or event["ph"]


def gpu_link_faults(events):
    """GPU events without correlation, and those whose correlation no runtime event carries."""
    launched = {e["args"].get("correlation") for e in events if e.get("cat") in RUNTIME}
    for event in events:
        if event.get("cat") in GPU:
            correlation = event["args"].get("correlation")
            if correlation is None:
                yield f"{event['name']}: no correlation"
            elif correlation not in launched:
                yield f"{event['name']}: correlation {correlation} has no runtime event"


def has_frame(events, *parts):
    return any(e.get("cat") == "python_function" and all(p in e["name"] for p in parts) for e in events)


def kernels_per_graph_launch(events):
    launches = {e["args"]["correlation"] for e in events if e["name"] == "cudaGraphLaunch"}
    return collections.Counter(
        e["args"]["correlation"] for e in events if e.get("cat") in GPU and e["args"]["correlation"] in launches
    )


def overlapping_copy(events):
    """Whether a copy runs while a kernel of another stream does."""

    def spans(cat):
        return [(e["ts"], e["ts"] + e["dur"], e["tid"]) for e in events if e.get("cat") == cat]

    kernels = spans("kernel")
    return any(a < d and c < b and s != t for a, b, s in spans("gpu_memcpy") for c, d, t in kernels)


# Marked iterations of the loops that are kept, and what they show beside them.
ITERATIONS = {
    "iterations_diffusion": (3, "aten::conv_transpose2d", 24),
    "iterations_evaluation": (6, "Optimizer.step#SGD.step", 6),
    "iterations_images": (10, "aten::conv2d", 20),
    "iterations_slow_first": (5, "Optimizer.step#AdamW.step", 5),
}


def step_durations(events):
    """Duration of each marked step on the host, in the order of their numbers."""
    steps = [e for e in events if e["name"].startswith("ProfilerStep#") and e.get("cat") == "user_annotation"]
    return [e["dur"] for e in sorted(steps, key=lambda e: int(e["name"].partition("#")[2]))]


def promises(name, on_gpu, trace):
    """(what, whether it holds) for the trace called `name`."""
    events = trace["traceEvents"]
    names = collections.Counter(e["name"] for e in events)
    yield "no environment dump", not trace.get("metadata")
    yield "trace name without directory", "/" not in trace["traceName"]
    if on_gpu:
        yield "kernels", any(e.get("cat") == "kernel" for e in events)
    if name in ("transformer_step", "stacks_modules", "conv_net_step"):
        yield "forward and backward share sequence numbers", any(
            n.startswith("autograd::engine::evaluate_function") for n in names
        )
    if name in ITERATIONS:
        steps, inside, calls = ITERATIONS[name]
        yield f"{steps} marked steps", len(step_durations(events)) == steps
        # Kineto repeats an annotation on the device when kernels belong to it.
        called = sum(e["name"] == inside and e.get("cat") != "gpu_user_annotation" for e in events)
        yield f"{calls} calls of {inside}", called == calls
    if name == "iterations_evaluation":
        yield "more forward passes than backward ones", names["aten::conv2d"] == 2 * 6 + 2 * 2 * 3
    if name == "iterations_slow_first":
        first, *others = step_durations(events)
        yield "a first step as long as all others together", first > sum(others)
    if name == "transformer_fp8":
        yield "fp8 products", names["aten::_scaled_mm"] == 8
    if name == "conv_net_step" and on_gpu:
        yield "a copy overlapping kernels", overlapping_copy(events)
    if name == "compiled_triton":
        yield "Triton kernels", any(n.startswith("triton_") for n in names)
    if name == "compiled_attention":
        yield "attention kernels of Triton", any(n.startswith("triton_tem_fused_flex_attention") for n in names)
        # Were it autograd that calls the operator, its node would be there, too.
        yield "a backward operator that the compiled program calls", any(
            n.startswith("aten::_scaled_dot_product_") and n.endswith("_backward") for n in names
        ) and not any(n.startswith("ScaledDotProduct") for n in names)
    if name == "experts_step":
        # Two forward; the gradients of both weights and of what lies between them.
        yield "five products in groups", names["aten::_grouped_mm"] == 5
    if name == "cuda_graph_replay":
        counts = kernels_per_graph_launch(events)
        yield "three replays of several kernels", len(counts) == 3 and min(counts.values()) > 1
    if name == "stacks_modules":
        yield "module frames", has_frame(events, "nn.Module: Block_")
        yield "recompute frames", has_frame(events, "torch/utils/checkpoint.py", "recompute_fn")
    if "collectives" in name:
        yield "distributedInfo", "distributedInfo" in trace
    if name.startswith("gloo_collectives"):
        yield "Gloo annotations", {"gloo:all_reduce", "gloo:all_gather", "gloo:broadcast"} <= set(names)
    if name == "nccl_collectives":
        # No NCCL kernel is asked for: with one rank NCCL copies, and two ranks cannot share a GPU.
        yield "collective records", names["record_param_comms"] > 0


def main(paths):
    all_faults = []
    for path in map(pathlib.Path, paths):
        trace = json.loads(gzip.decompress(path.read_bytes()))
        events = trace["traceEvents"]
        counts = collections.Counter(map(category, events))
        print(f"{path} {path.stat().st_size} bytes:", ", ".join(f"{c} {n}" for c, n in counts.most_common()))
        on_gpu = bool(trace["deviceProperties"])
        faults = [f"missing: {what}" for what, holds in promises(path.name.split(".")[0], on_gpu, trace) if not holds]
        faults += gpu_link_faults(events)
        for fault in faults:
            print("   ", fault)
        all_faults += faults
    return 1 if all_faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
