"""Writes small event traces as recorders of other devices, the autograd profiler and XProf write them.

No such recording was at hand: the files are made from descriptions of the formats (sources of Kineto and of
torch.autograd.profiler_util, documentation of Ascend's profiler, XProf's names of lines) and hold no recorded data. Each has what its reader
has to get right: two operators, what they launched, and rows that repeat work.

    python3 testdata/recipes/other_recorders.py testdata/generated/devices
"""

import json
import pathlib
import sys

HOST = 4242


def span(cat, name, pid, tid, ts, dur, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def named(kind, pid, tid, **args):
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "ts": 0, "args": args}


def operators():
    dims = {"Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"]}
    return [
        span("cpu_op", "aten::mm", HOST, HOST, 1000.0, 50.0, **{"External id": 1}, **dims),
        span("cpu_op", "aten::add", HOST, HOST, 1060.0, 30.0, **{"External id": 2}),
    ]


def kineto(events):
    return {"schemaVersion": 1, "traceEvents": events}


def xpu():
    """Intel's GPUs: the stream is called `sycl queue`, times of submission are texts, metrics repeat kernels."""

    def work(cat, name, ts, dur, correlation, **args):
        queued = {"appended": f"{ts - 9.0:.3f}", "submitted": f"{ts - 6.0:.3f}"}
        ids = {"correlation": correlation, "External id": correlation - 10}
        return span(cat, name, 0, 3, ts, dur, device=0, **{"sycl queue": 3, "l0 queue": 7}, **ids, **queued, **args)

    return kineto(
        operators()
        + [
            span("xpu_runtime", "urEnqueueKernelLaunch", HOST, HOST, 1010.0, 5.0, correlation=11),
            span("xpu_runtime", "urEnqueueUSMMemcpy", HOST, HOST, 1070.0, 5.0, correlation=12),
            span("xpu_driver", "zeCommandListAppendMemoryCopy", HOST, HOST, 1071.0, 2.0, correlation=13),
            span("xpu_sync", "urEventWait", -1, HOST, 1100.0, 60.0),
            work("kernel", "gemm_kernel", 1020.0, 100.0, 11),
            span("kernel", "metrics: gemm_kernel", 0, 3, 1019.999, 100.002, device=0, **{"sycl queue": 3}),
            work("gpu_memcpy", "M2D", 1130.0, 20.0, 12, bytes=4096),
            named("process_labels", 0, 0, labels="XPU 0"),
        ]
    )


def privateuse1():
    """A device that an extension of PyTorch brings: like CUDA, with runtime and driver calls under names of their own."""
    on_device = {"device": 1, "stream": 5}
    return kineto(
        operators()
        + [
            span("privateuse1_runtime", "LaunchKernel", HOST, HOST, 1010.0, 5.0, correlation=11),
            span("privateuse1_driver", "MemcpyAsync", HOST, HOST, 1070.0, 5.0, correlation=12),
            span("kernel", "matmul", 1, 5, 1020.0, 100.0, correlation=11, **on_device),
            span("gpu_memcpy", "Memcpy HtoD", 1, 5, 1130.0, 20.0, correlation=12, bytes=4096, **on_device),
        ]
    )


def hpu():
    """Intel's Gaudi: Kineto has one category for its work. Neither its writer nor a sample was at hand."""
    return kineto(
        operators()
        + [
            span("hpu_op", "gemm", 2, 1, 1020.0, 100.0, stream=1),
            span("hpu_op", "add", 2, 1, 1130.0, 20.0, stream=1),
        ]
    )


def ascend():
    """Ascend's trace_view.json: a list, times as texts, no categories on the device; names of processes tell."""
    python, cann, hardware, overlap = 4343808, 4343840, 4343872 | 3, 4343904 | 3

    def row(name, pid, tid, ts, dur, **args):
        return {"name": name, "ph": "X", "pid": pid, "tid": tid, "ts": f"{ts:.3f}", "dur": dur, "args": args}

    def task(name, ts, dur, connection, kind):
        ids = {"Physic Stream Id": 2, "connection_id": connection, "Task Type": kind}
        return row(name, hardware, 2, ts, dur, **ids)

    events = [
        named("process_name", python, 0, name="Python"),
        named("process_name", cann, 0, name="CANN"),
        named("process_name", hardware, 0, name="Ascend Hardware"),
        named("process_name", overlap, 0, name="Overlap Analysis"),
        named("thread_name", hardware, 2, name="Stream 2"),
    ]
    for operator in operators():
        events.append({**operator, "pid": python, "ts": f"{operator['ts']:.3f}"})
    return events + [
        row("Node@launch", cann, HOST, 1010.0, 5.0, connection_id=11),
        row("MemcopyAsync", cann, HOST, 1070.0, 5.0, connection_id=12),
        task("MatMulV2", 1020.0, 100.0, 11, "AI_CORE"),
        task("MEMCPY_ASYNC", 1130.0, 20.0, 12, "SDMA_SQE"),
        task("EVENT_WAIT", 1150.0, 500.0, 13, "EVENT_WAIT_SQE"),
        row("Computing", overlap, 0, 1020.0, 100.0),
    ]


def autograd():
    """torch.autograd.profiler.profile(...).export_chrome_trace: no categories, processes as texts, arrows from operators."""
    events = []
    host, device = "CPU functions", "CUDA functions"
    work = [("aten::mm", 1000.0, 50.0, "gemm", 1020.0, 100.0), ("aten::add", 1060.0, 30.0, "add", 1130.0, 20.0)]

    def entry(name, ph, ts, tid, pid, **rest):
        return {"name": name, "ph": ph, "ts": ts, "tid": tid, "pid": pid, **rest, "args": {}}

    for number, (operator, ts, dur, kernel, start, length) in enumerate(work):
        arrow = {"id": number, "cat": "cpu_to_cuda"}
        events += [
            entry(operator, "X", ts, 1, host, dur=dur),
            entry(operator, "s", ts, 1, host, **arrow),
            entry(kernel, "f", start, 0, device, **arrow),
            entry(kernel, "X", start, 0, device, dur=length),
        ]
    return events


def xprof():
    """XProf's <host>.trace.json: a view of a profile. Names of processes and threads tell; some threads repeat work."""

    def row(name, pid, tid, ts, dur):
        return {"ph": "X", "pid": pid, "tid": tid, "ts": ts, "dur": dur, "name": name, "args": {}}

    events = [
        named("process_name", 1, 0, name="/device:GPU:0"),
        named("thread_name", 1, 14, name="Stream #14(Compute,MemcpyH2D)"),
        named("thread_name", 1, 100, name="XLA Modules"),
        named("process_name", 701, 0, name="/host:CPU"),
        named("thread_name", 701, 1, name="python"),
        row("PjitFunction(step)", 701, 1, 1000.0, 80.0),
        row("MemcpyH2D", 1, 14, 1010.0, 20.0),
        row("gemm_fusion_dot", 1, 14, 1040.0, 100.0),
        row("jit_step(1)", 1, 100, 1010.0, 130.0),
    ]
    return {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": events}


def main(folder):
    for make in [xpu, privateuse1, hpu, ascend, autograd, xprof]:
        trace = make()
        events = trace if isinstance(trace, list) else trace.pop("traceEvents")
        lines = ",\n".join(json.dumps(event) for event in events)
        text = f"[\n{lines}\n]\n"
        if isinstance(trace, dict):
            text = f'{json.dumps(trace)[:-1]}, "traceEvents": {text}}}\n'
        (pathlib.Path(folder) / f"{make.__name__}.json").write_text(text)


if __name__ == "__main__":
    main(sys.argv[1])
