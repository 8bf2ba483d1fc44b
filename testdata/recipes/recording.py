"""One profiled step, or several marked ones, written as a sanitised, byte-reproducible `.json.gz`.

Every recipe builds a model, calls `record` or `record_loop`, and nothing else: what is profiled, for how long and
what is cut from the file is decided here, so that the traces differ only in the work they show.
"""

import argparse
import os
import pathlib
import tempfile

import torch
from torch.profiler import ProfilerActivity, profile, schedule

import sanitise

SEED = 20250101
WARM_UP_STEPS = 3


def parser(description, gpu_only=False):
    """Options shared by the recipes: `--out DIR` and `--device cuda|cpu`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="directory to write into")
    parser.add_argument("--device", choices=["cuda"] if gpu_only else ["cuda", "cpu"], default="cuda")
    parser.add_argument(
        "--nsys", action="store_true", help="mark the step for Nsight Systems, which runs this program (record_nsys.sh)"
    )
    return parser


def arguments(description, gpu_only=False):
    """What the command line says, where a recipe has no options of its own."""
    options = parser(description, gpu_only).parse_args()
    prepare()
    return options


def prepare():
    """Fixed seed, one thread: called before a recipe builds its model."""
    torch.manual_seed(SEED)
    # One worker thread on the CPU: pool threads would add rows that carry no information.
    torch.set_num_threads(1)


def synchronise(device):
    if device == "cuda":
        torch.cuda.synchronize()


def record(name, step, options, **profiler_options):
    """Warm `step` up, profile one call of it, write `<out>/<name>.json.gz`."""
    for _ in range(WARM_UP_STEPS):
        step()
    synchronise(options.device)
    if options.nsys:
        mark_for_nsys(step)
        return

    # acc_events only silences a warning about cycles; there is a single cycle here.
    with profile(
        activities=activities(options), record_shapes=True, acc_events=True, **profiler_options
    ) as profiler:
        step()
        synchronise(options.device)
    write(profiler, name, options)


def mark_for_nsys(step):
    """One call of `step` between the marks of the CUDA profiler, its operators as NVTX ranges with their shapes."""
    torch.cuda.profiler.start()
    with torch.autograd.profiler.emit_nvtx(record_shapes=True):
        step()
        torch.cuda.synchronize()
    torch.cuda.profiler.stop()


def record_loop(name, iterate, iterations, options, warm_up=1, **profiler_options):
    """Profile `iterations` calls of `iterate(number)`, each in its `ProfilerStep#N`; write `<out>/<name>.json.gz`.

    `warm_up` calls come before them, so the first recorded step is `ProfilerStep#<warm_up>`. With none, the first
    step shows what only a program's first step does. Nothing waits for the device between iterations.
    """
    with profile(
        activities=activities(options),
        schedule=schedule(wait=0, warmup=warm_up, active=iterations, repeat=1),
        on_trace_ready=lambda profiler: write(profiler, name, options),
        record_shapes=True,
        acc_events=True,
        **profiler_options,
    ) as profiler:
        for number in range(warm_up + iterations):
            iterate(number)
            profiler.step()


def activities(options):
    if options.device == "cuda":
        return [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    return [ProfilerActivity.CPU]


def write(profiler, name, options):
    """Write what was recorded, sanitised."""
    # The exporter writes the path it was given into the trace as `traceName`.
    with tempfile.TemporaryDirectory() as scratch:
        raw = os.path.join(scratch, f"{name}.json")
        profiler.export_chrome_trace(raw)
        text = pathlib.Path(raw).read_text()
    options.out.mkdir(parents=True, exist_ok=True)
    target = options.out / f"{name}.json.gz"
    sanitise.write_gzip(target, sanitise.kineto(text).encode())
    print(f"{target} {target.stat().st_size} bytes; {environment(options.device)}")


def environment(device):
    """The versions and the device a trace was recorded with, for the table in the README."""
    parts = [f"torch {torch.__version__}"]
    if device == "cuda":
        parts += [
            f"CUDA {torch.version.cuda}",
            f"cuDNN {torch.backends.cudnn.version()}",
            f"NCCL {'.'.join(map(str, torch.cuda.nccl.version()))}",
            torch.cuda.get_device_name(),
        ]
    else:
        parts.append(f"CPU {torch.backends.cpu.get_cpu_capability()}")
    return ", ".join(parts)
