"""Measures what the README says of speed and memory.

    python crates/python/benches/figures.py TRACE --program target/release/tracelens

Needs pytracelens, pandas, polars and pyarrow installed. TRACE is a recording of PyTorch's profiler. Large traces are written to a
temporary folder.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

EVENTS = 1_000_000
RUNS = 7


def median_ms(work: Callable[[], object], runs: int = RUNS) -> float:
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        work()
        times.append((time.perf_counter() - started) * 1e3)
    return statistics.median(times)


def write_trace(path: Path, events: int) -> None:
    """A trace in which each second event is a kernel, launched by the one before."""
    with path.open("w") as file:
        file.write('{"schemaVersion": 1, "traceEvents": [\n')
        for number in range(events // 2):
            call = {"External id": number, "correlation": number}
            at = number * 10
            events = [
                {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at, "dur": 4, "args": call},
                {
                    "ph": "X",
                    "cat": "kernel",
                    "name": f"kernel_{number % 100}",
                    "pid": 0,
                    "tid": 7,
                    "ts": at + 5,
                    "dur": 4.5,
                    "args": {**call, "device": 0, "stream": 7},
                },
            ]
            file.write(",\n" * (number > 0) + ",\n".join(map(json.dumps, events)))
        file.write("\n]}\n")


def resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def frames(large: Path) -> None:
    import pandas
    import polars
    import pyarrow

    import pytracelens as tl

    gc.collect()
    before = resident_mb()
    trace = tl.read(large, python_frames=False)
    columns = ["uid", "name", "start_us", "duration_us", "device"]
    made = median_ms(lambda: trace.timeline.events(columns), 3)
    table = trace.timeline.events(columns)
    print(f"{len(table):,} events, {len(columns)} columns")
    print(f"  timeline.events(columns)         {made:8.1f} ms")
    print(f"  pyarrow.table(table)             {median_ms(lambda: pyarrow.table(table)):8.1f} ms")
    print(f"  pandas.DataFrame.from_arrow      {median_ms(lambda: pandas.DataFrame.from_arrow(table)):8.1f} ms")
    print(f"  table.to_pandas()                {median_ms(table.to_pandas):8.1f} ms")
    print(f"  polars.DataFrame(table)          {median_ms(lambda: polars.DataFrame(table)):8.1f} ms")
    held = resident_mb()
    del trace, table
    gc.collect()
    kept = resident_mb()
    # glibc keeps what is freed until it is asked to give it back.
    ctypes.CDLL(None).malloc_trim(0)
    print(
        f"resident: {before:.0f} MB before reading, {held:.0f} MB with the trace and its events, {kept:.0f} MB after del, "
        f"{resident_mb():.0f} MB after malloc_trim"
    )


def against_program(trace: Path, program: str) -> None:
    """Whole processes in turn, and the call alone."""
    import pytracelens as tl

    code = "import sys, pytracelens; pytracelens.read(sys.argv[1], python_frames=sys.argv[2] == 'True').report()"
    commands = {
        "tracelens report --json": [program, "report", str(trace), "--json"],
        "python, frames of Python read": [sys.executable, "-W", "ignore", "-c", code, str(trace), "True"],
        "python, frames skipped": [sys.executable, "-W", "ignore", "-c", code, str(trace), "False"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(RUNS):
        for name, command in commands.items():
            started = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
            times[name].append((time.perf_counter() - started) * 1e3)
    print(f"{trace.name}, {trace.stat().st_size / 1e6:.1f} MB")
    base = statistics.median(times["tracelens report --json"])
    for name, of_command in times.items():
        median = statistics.median(of_command)
        print(f"  {name:<32} {median:8.0f} ms  {median / base:5.2f} ×")
    for is_read in (True, False):
        alone = median_ms(lambda: tl.read(trace, python_frames=is_read).report())
        print(f"  read(…, python_frames={is_read!s:<5}).report() {alone:6.0f} ms  {alone / base:5.2f} ×")


def other_threads(large: Path, program: str) -> None:
    """A thread that counts: alone, beside the program, which takes its cores but not the interpreter's lock, and while the same
    trace is read here."""
    import pytracelens as tl

    counted = 0
    done = threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.is_set():
            counted += 1

    def speed(work: Callable[[], object]) -> float:
        started, before = time.perf_counter(), counted
        work()
        return (counted - before) / (time.perf_counter() - started)

    def beside(threads: int) -> object:
        command = [program, "report", str(large), "--json", "--threads", str(threads)]
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)

    thread = threading.Thread(target=count)
    thread.start()
    for threads in [1, 2] + [threads for threads in (4, 8, 16) if threads < (os.cpu_count() or 1)]:
        shares = []
        for _ in range(RUNS):
            alone = speed(lambda: time.sleep(0.5))
            beside_program = speed(lambda: beside(threads))
            reading = speed(lambda: tl.read(large, python_frames=False, threads=threads))
            shares.append((100 * reading / alone, 100 * reading / beside_program))
        of_alone, of_beside = (statistics.median(share) for share in zip(*shares))
        print(
            f"a counting thread keeps {of_alone:.0f}% of its speed alone while read(…, threads={threads}), "
            f"{of_beside:.0f}% of that beside the program"
        )
    done.set()
    thread.join()


def interrupted(large: Path) -> None:
    import pytracelens as tl

    delays = []
    for _ in range(RUNS):
        sent = [0.0]

        def interrupt() -> None:
            sent[0] = time.perf_counter()
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(0.1, interrupt)
        timer.start()
        try:
            tl.read(large, python_frames=False)
        except KeyboardInterrupt:
            delays.append((time.perf_counter() - sent[0]) * 1e3)
        timer.cancel()
    if delays:
        print(f"Ctrl-C ends reading in {statistics.median(delays):.0f} ms (longest of {len(delays)}: {max(delays):.0f} ms)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", type=Path)
    parser.add_argument("--program", default="tracelens")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        large = Path(folder) / "large.json"
        write_trace(large, EVENTS)
        imported = [sys.executable, "-X", "importtime", "-c", "import pytracelens"]
        lines = subprocess.run(imported, capture_output=True, text=True, check=True).stderr.splitlines()
        print(f"import pytracelens: {int(lines[-1].split('|')[1]) / 1e3:.1f} ms")
        against_program(given.trace, given.program)
        frames(large)
        other_threads(large, given.program)
        interrupted(large)


if __name__ == "__main__":
    main()
