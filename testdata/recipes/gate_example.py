"""Makes the recordings of the example in docs/src/guides/gates.md: python3 testdata/recipes/gate_example.py FOLDER

`main_1` to `main_3` are the generated training step three times in a row, each device event up to 1% longer or shorter;
in `patch` CUTLASS kernels take 30% longer, too. What follows a longer event on stream 7 moves with it.
"""

import gzip
import json
import random
import sys
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "generated/cuda_training_step.json.gz"
NUMBERS = ("External id", "correlation", "Ev Idx", "Sequence number", "Python id", "Python parent id")
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
TIMES = 3


def repeated(trace):
    """The events several times in a row, each time with numbers of its own."""
    events = trace["traceEvents"]
    timed = [event for event in events if "dur" in event]
    ends = [float(event["ts"]) + float(event["dur"]) for event in timed]
    span = max(ends) - min(float(event["ts"]) for event in timed) + 1000
    arguments = [event.get("args", {}) for event in events]
    numbers = [args[name] for args in arguments for name in NUMBERS if isinstance(args.get(name), int)]
    step = 1 + max(numbers + [event["id"] for event in events if isinstance(event.get("id"), int)])
    for time in range(TIMES):
        for event in events:
            if time > 0 and event.get("ph") == "M":
                continue
            event = json.loads(json.dumps(event))
            if "ts" in event:
                event["ts"] = float(event["ts"]) + time * span
            args = event.get("args", {})
            for name in NUMBERS:
                if isinstance(args.get(name), int) and args[name] > 0:
                    args[name] += time * step
            if isinstance(event.get("id"), int):
                event["id"] += time * step
            yield event


def write(path, seed, factor):
    with gzip.open(SOURCE, "rt") as file:
        trace = json.load(file)
    trace["traceEvents"] = list(repeated(trace))
    chance, shift = random.Random(seed), 0.0
    for event in sorted((event for event in trace["traceEvents"] if "ts" in event), key=lambda event: event["ts"]):
        event["ts"] = round(event["ts"] + shift, 3)
        if event.get("cat") in DEVICE:
            before = float(event["dur"])
            longer = before * chance.uniform(0.99, 1.01) * (factor if "cutlass" in event["name"].lower() else 1)
            event["dur"] = round(longer, 3)
            shift += longer - before if event["args"]["stream"] == 7 else 0
    with gzip.open(path, "wt") as file:
        json.dump(trace, file)


folder = Path(sys.argv[1])
for number in (1, 2, 3):
    write(folder / f"main_{number}.json.gz", number, 1.0)
write(folder / "patch.json.gz", 9, 1.3)
