#!/usr/bin/env python3
"""Runs operators of a recorded trace again and times them. Needs PyTorch and nothing else.

Each operator gets arguments of the recorded shapes, strides and types. What the tensors held is not recorded: real
numbers are drawn from a normal distribution, indices from what they point into, masks are half true. Operators whose
work depends on the data (sparse ones, routing of experts) may take another time than they did.

Written by tracelens (https://github.com/tracelens/tracelens).
"""

import argparse
import csv
import importlib
import json
import os
import statistics
import sys
import tempfile
import time

import torch

# Names of element types, as profilers record them, in PyTorch.
DTYPES = {}  # filled in

# The operators: name, arguments, and what the trace says of them. Times are in microseconds.
OPERATIONS = []  # filled in

COLUMNS = [
    "op_name",
    "overload",
    "arguments",
    "status",
    "count",
    "trace_us",
    "replay_us",
    "replay_min_us",
    "host_us",
    "replay_over_trace",
    "trace_total_ms",
    "replay_total_ms",
    "kernel_us",
    "kernels",
    "detail",
]


class NotReplayable(Exception):
    """Why an operator cannot run here."""


def dtype_of(spec):
    dtype = getattr(torch, DTYPES.get(spec["dtype"], ""), None)
    if dtype is None:
        raise NotReplayable(f"this PyTorch ({torch.__version__}) has no element type {spec['dtype']!r}")
    return dtype


def storage_length(spec):
    """Elements from the first to the last one of a tensor."""
    if 0 in spec["shape"]:
        return 0
    return 1 + sum((extent - 1) * stride for extent, stride in zip(spec["shape"], spec["strides"]))


def is_tensor(value):
    return isinstance(value, dict) and "shape" in value


def tensors_in(value):
    if is_tensor(value):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from tensors_in(item)


def bytes_of(operation):
    return sum(
        storage_length(spec) * torch.empty((), dtype=dtype_of(spec)).element_size()
        for argument in arguments_of(operation)
        for spec in tensors_in(argument["value"])
    )


def arguments_of(operation):
    return operation["replay_ir"]["list_pos_args"] + operation["replay_ir"]["list_kwargs"]


def fill(flat, spec):
    """Fills the storage of a tensor with what its operator can use."""
    init = spec.get("init")
    if init is None or flat.numel() == 0:
        return
    dtype = flat.dtype
    if init == "zeros":
        flat.view(torch.uint8).zero_() if dtype.itemsize == 1 else flat.zero_()
    elif init == "bernoulli":
        flat.copy_(torch.empty(flat.shape, device=flat.device).bernoulli_(0.5))
    elif init == "integers":
        # Not every integer type has random_.
        values = torch.randint(spec["low"], spec["high"], flat.shape, device=flat.device)
        flat.copy_(values.to(dtype))
    elif init == "offsets":
        values = torch.linspace(spec["from"], spec["to"], flat.numel(), dtype=torch.float64)
        flat.copy_(values.round().to(dtype))
    elif init == "positive":
        flat.copy_(torch.empty(flat.shape, device=flat.device).uniform_(0.5, 1.5).to(dtype))
    elif init == "probabilities":
        flat.copy_(torch.empty(flat.shape, device=flat.device).uniform_(0, 1).to(dtype))
    elif init != "normal":
        raise NotReplayable(f"unknown contents {init!r}")
    elif dtype == getattr(torch, "float4_e2m1fn_x2", None):
        flat.view(torch.uint8).random_(0, 256)
    elif not (dtype.is_floating_point or dtype.is_complex):
        raise NotReplayable(f"normal numbers of the type {dtype}")
    elif dtype.itemsize == 1 or dtype == torch.complex32:
        wide = torch.complex64 if dtype.is_complex else torch.float32
        flat.copy_(torch.empty(flat.shape, device=flat.device, dtype=wide).normal_().to(dtype))
    else:
        flat.normal_()


class Tensors:
    """The tensors of a call, which can get their contents again."""

    def __init__(self, device):
        self.device = device
        self.made = []

    def make(self, spec):
        device = torch.device(spec.get("device", self.device))
        pinned = bool(spec.get("pinned")) and self.device.type == "cuda"
        layout = {"dtype": dtype_of(spec), "device": device, "pin_memory": pinned}
        tensor = torch.empty_strided(spec["shape"], spec["strides"], **layout)
        # All of its storage. The tensor itself is no view, as some operators refuse these.
        flat = torch.as_strided(tensor, (storage_length(spec),), (1,))
        fill(flat, spec)
        self.made.append((flat, spec))
        return tensor

    def refill(self):
        for flat, spec in self.made:
            fill(flat, spec)


def unwrapped(kind):
    """A type of a schema without `Optional`, and whether it was optional."""
    if kind.kind() == "OptionalType":
        return kind.getElementType(), True
    return kind, False


NUMBERS = {
    "IntType": int,
    "SymIntType": int,
    "FloatType": (int, float),
    "NumberType": (bool, int, float),
    "ComplexType": (bool, int, float),
    "BoolType": bool,
}


def is_number(value, kind):
    if isinstance(value, str):
        return kind in ("FloatType", "NumberType")  # inf, nan
    if isinstance(value, bool) and kind not in ("BoolType", "NumberType", "ComplexType"):
        return False
    # Of other tools, which write all numbers as floats.
    whole = isinstance(value, float) and value.is_integer() and kind in ("IntType", "SymIntType")
    return isinstance(value, NUMBERS.get(kind, ())) or whole


def fits(parameter, value):
    """Whether a recorded value can be that of a parameter of a schema."""
    kind, optional = unwrapped(parameter.type)
    if value is None:
        # Values of these kinds are not recorded.
        unrecorded = kind.kind() in ("StringType", "DeviceObjType", "GeneratorType")
        return optional or parameter.has_default_value() or unrecorded
    if kind.kind() == "ListType":
        item, optional_items = unwrapped(kind.getElementType())
        if not isinstance(value, list):
            return False
        if item.kind() == "TensorType":
            return all(is_tensor(one) or (one is None and optional_items) for one in value)
        return all(is_number(one, item.kind()) for one in value)
    if kind.kind() == "TensorType":
        return is_tensor(value)
    return not isinstance(value, (dict, list)) and is_number(value, kind.kind())


def matched(schema, values):
    """The values for the parameters of a schema, as far as they were given; None where they do not fit."""
    parameters = schema.arguments
    while len(values) > len(parameters) and values[-1] is None:
        values = values[:-1]  # of parameters that a later PyTorch has
    if len(values) > len(parameters) or not all(map(fits, parameters, values)):
        return None
    defaults = all(parameter.has_default_value() for parameter in parameters[len(values):])
    return values if defaults else None


def find_overload(operation):
    """The operator with its schema and values: the recorded overload if it takes the arguments, else one that does."""
    name = operation["op_name"]
    values = [argument["value"] for argument in arguments_of(operation)]

    def likeness(schema):
        return (schema.overload_name == operation.get("overload"), len(schema.arguments) == len(values))

    schemas = torch._C._jit_get_schemas_for_operator(name)
    for schema in sorted(schemas, key=likeness, reverse=True):
        fitting = matched(schema, values)
        if fitting is not None:
            namespace, operator = name.split("::", 1)
            packet = getattr(getattr(torch.ops, namespace), operator)
            return getattr(packet, schema.overload_name or "default"), schema, fitting
    if schemas:
        raise NotReplayable(f"no overload of {name} in PyTorch {torch.__version__} takes these arguments")
    hint = "" if name.startswith("aten::") else "; import the library that registers it with --import"
    raise NotReplayable(f"PyTorch {torch.__version__} has no operator {name}{hint}")


def argument_value(parameter, value, tensors):
    kind, _ = unwrapped(parameter.type)
    if is_tensor(value):
        return tensors.make(value)
    if isinstance(value, list):
        return [tensors.make(one) if is_tensor(one) else one for one in value]
    if isinstance(value, str):
        return float(value)
    if isinstance(value, float) and kind.kind() in ("IntType", "SymIntType"):
        return int(value)
    return value


def build_call(operation, device):
    """The operator with its arguments as a function, and its tensors."""
    overload, schema, values = find_overload(operation)
    tensors = Tensors(device)
    has_tensors = any(True for value in values for _ in tensors_in(value))
    positional, by_name = [], {}
    for parameter, value in zip(schema.arguments, values):
        kind, optional = unwrapped(parameter.type)
        if value is None and kind.kind() == "DeviceObjType" and not (optional and has_tensors):
            value = device  # of operators that make tensors
        elif value is None and not optional:
            if not parameter.has_default_value():
                raise NotReplayable(f"the value of {parameter.name} was not recorded")
            value = parameter.default_value
        else:
            value = argument_value(parameter, value, tensors)
        if parameter.kwarg_only:
            by_name[parameter.name] = value
        else:
            positional.append(value)
    return lambda: overload(*positional, **by_name), tensors, schema


class Clock:
    """Times calls by events of the device where it has them, else by the host's clock."""

    def __init__(self, device, flush_bytes):
        self.device = device
        module = getattr(torch, device.type, None)
        self.module = module if device.type != "cpu" and hasattr(module, "Event") else None
        if self.module is not None and device.index is not None:
            self.module.set_device(device)
        self.flushed = None
        if self.module is not None and flush_bytes:
            self.flushed = torch.empty(flush_bytes, dtype=torch.uint8, device=device)

    def synchronize(self):
        if self.module is not None:
            self.module.synchronize()

    def times(self, call, runs, before_each):
        """Microseconds of each call on the device, and those that the host took to issue it."""
        on_host, events = [], []
        self.synchronize()
        for _ in range(runs):
            before_each()
            if self.flushed is not None:
                # Evicts the inputs from the caches, and keeps the device busy until the call is queued.
                self.flushed.zero_()
            if self.module is not None:
                begin, end = (self.module.Event(enable_timing=True) for _ in range(2))
                begin.record()
            start = time.perf_counter_ns()
            call()
            on_host.append((time.perf_counter_ns() - start) / 1e3)
            if self.module is not None:
                end.record()
                events.append((begin, end))
        self.synchronize()
        on_device = [begin.elapsed_time(end) * 1e3 for begin, end in events]
        return on_device or on_host, on_host


def profiled(device):
    activities = [torch.profiler.ProfilerActivity.CPU]
    if device.type != "cpu" and hasattr(torch.profiler.ProfilerActivity, device.type.upper()):
        activities.append(getattr(torch.profiler.ProfilerActivity, device.type.upper()))
    return torch.profiler.profile(activities=activities, record_shapes=True)


def kernels_of(call, clock):
    """Runs a call under PyTorch's profiler: names of what the device did, and the time of that in microseconds."""
    with profiled(clock.device) as profiler:
        call()
        clock.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(path)
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
    kernels = [event for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    return [event["name"] for event in kernels], sum(event["dur"] for event in kernels)


def write_trace(operations, clock, path):
    """Writes a trace with a call of each operator in a range of its number."""
    with profiled(clock.device) as profiler:
        for position, operation in operations:
            torch.manual_seed(0)
            call, _, _ = build_call(operation, clock.device)
            with torch.profiler.record_function(f"replay#{position}"):
                call()
                clock.synchronize()
    profiler.export_chrome_trace(path)


def difference(recorded, replayed):
    """What is to be said of the kernels of a replay: that they are the recorded ones, or which are not."""
    missing, other = sorted(set(recorded) - set(replayed)), sorted(set(replayed) - set(recorded))
    if not missing and not other:
        return "same"
    parts = [("only in the trace", missing), ("only here", other)]
    return "; ".join(f"{where}: {', '.join(names)}" for where, names in parts if names)


def in_short(value):
    if is_tensor(value):
        return f"{DTYPES.get(value['dtype'], value['dtype'])}{value['shape']}"
    if isinstance(value, list) and any(map(is_tensor, value)):
        return f"{len(value)} x {in_short(next(filter(is_tensor, value)))}"
    return str(value)


def run(operation, clock, options):
    """Replays an operator: a row of the report."""
    device = clock.device
    arguments = ", ".join(in_short(argument["value"]) for argument in arguments_of(operation))
    row = {"op_name": operation["op_name"], "overload": operation.get("overload"), "arguments": arguments}
    row["count"] = operation.get("count")
    # On a device, the time of the device; on the host, that of the host if the trace has no device.
    recorded = operation.get("median_us")
    if device.type == "cpu":
        recorded = operation.get("host_median_us") if recorded is None else None
    row["trace_us"] = recorded
    needed = bytes_of(operation)
    if options.max_bytes is not None and needed > options.max_bytes:
        return row | {"status": "skipped", "detail": f"{needed} bytes, more than --max-bytes"}
    torch.manual_seed(0)
    call, tensors, schema = build_call(operation, device)
    row["overload"] = schema.overload_name
    call()
    if clock.module is not None:
        clock.synchronize()
    if options.runs > 0:
        before_each = tensors.refill if options.refill else lambda: None
        clock.times(call, options.warm_up, before_each)
        on_device, on_host = clock.times(call, options.runs, before_each)
        median = statistics.median(on_device)
        row |= {"replay_us": median, "replay_min_us": min(on_device), "host_us": statistics.median(on_host)}
        if row["count"] is not None:
            row["replay_total_ms"] = median * row["count"] / 1e3
            row["trace_total_ms"] = recorded * row["count"] / 1e3 if recorded is not None else None
        if recorded:
            row["replay_over_trace"] = median / recorded
    if options.verify:
        kernels, row["kernel_us"] = kernels_of(call, clock)
        if operation.get("kernels"):
            row["kernels"] = difference(operation["kernels"], kernels)
    return row | {"status": "ok"}


def shown(number):
    return "" if number is None else f"{number:,.2f}"


def printable(text):
    """A text of the recording without what a terminal would obey."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def print_row(number, of, row, verbose):
    times = [shown(row.get(name)) for name in ("trace_us", "replay_us", "host_us", "replay_over_trace")]
    arguments = row["arguments"]
    if len(arguments) > 60 and not verbose:
        arguments = arguments[:57] + "..."
    print(f"{number}/{of} {printable(row['op_name'])}({printable(arguments)})")
    if row["status"] == "ok":
        named = zip(("trace", "replay", "host", "replay/trace"), times)
        units = {"replay/trace": ""}
        parts = [f"{name} {value}{units.get(name, ' µs')}" for name, value in named if value]
        print("    " + (", ".join(parts) or "ran"))
    else:
        print(f"    {row['status']}: {printable(row['detail'])}")
    if row.get("kernels"):
        print(f"    kernels: {printable(row['kernels'])}")


def device(text):
    try:
        return torch.device(text)
    except RuntimeError as error:
        raise argparse.ArgumentTypeError(str(error).split("\n")[0]) from error


def count(text):
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{number} is below 0")
    return number


def parse_arguments():
    parser = argparse.ArgumentParser(description="Runs operators of a recorded trace again and times them.")
    parser.add_argument("file", nargs="?", help="JSON file of operators in place of those in this program")
    parser.add_argument("--device", type=device, help="device of the tensors [cuda where there is one, else cpu]")
    parser.add_argument("--runs", type=count, default=100,
                        help="timed calls of each operator; 0 only tries it [%(default)s]")
    parser.add_argument("--warm-up", type=count, default=50, help="calls before those [%(default)s]")
    parser.add_argument("--warm-cache", action="store_true", help="leave the device's caches alone between calls")
    parser.add_argument("--refill", action="store_true", help="give the tensors new contents before each call")
    parser.add_argument("--op-filter", metavar="TEXT", help="only operators with this text in their name")
    parser.add_argument("--op-limit", type=count, metavar="N", help="only the first N of those")
    parser.add_argument("--max-bytes", type=count, metavar="N", help="skip operators whose tensors need more")
    parser.add_argument("--import", dest="modules", action="append", default=[], metavar="MODULE",
                        help="import a module that registers operators")
    parser.add_argument("--verify", action="store_true", help="compare the kernels with those of the trace")
    parser.add_argument("--trace", metavar="FILE", help="write a trace with another call of each operator that ran")
    parser.add_argument("--csv", metavar="FILE", help="write the rows as CSV")
    parser.add_argument("--json", metavar="FILE", help="write the rows as JSON")
    parser.add_argument("--stop-on-error", action="store_true", help="stop at the first operator that fails")
    parser.add_argument("--verbose", action="store_true", help="print arguments in full, and where errors come from")
    return parser.parse_args()


def chosen_operations(options):
    operations = OPERATIONS
    if options.file is not None:
        with open(options.file, encoding="utf-8") as file:
            operations = json.load(file)
    if options.op_filter is not None:
        operations = [operation for operation in operations if options.op_filter in operation["op_name"]]
    return operations[: options.op_limit]


def main():
    options = parse_arguments()
    try:
        for module in options.modules:
            importlib.import_module(module)
        operations = chosen_operations(options)
    except (ImportError, OSError, ValueError) as error:
        sys.exit(f"replay: {error}")
    target = options.device or torch.device("cuda" if torch.cuda.is_available() else "cpu")
    # More than the last level of caches of any GPU of today.
    clock = Clock(target, 0 if options.warm_cache else 512 << 20)
    print(f"PyTorch {torch.__version__} on {target}; operators: {len(operations)}; runs of each: {options.runs}")
    rows = []
    with torch.no_grad():
        for position, operation in enumerate(operations):
            try:
                row = run(operation, clock, options)
            except Exception as error:  # whatever an operator raises, the others run
                if options.verbose:
                    import traceback

                    traceback.print_exc()
                arguments = ", ".join(in_short(argument["value"]) for argument in arguments_of(operation))
                detail = (str(error).strip().split("\n")[0] or type(error).__name__)[:200]
                row = {"op_name": operation["op_name"], "arguments": arguments, "status": "error", "detail": detail}
            rows.append(row)
            print_row(position + 1, len(operations), row, options.verbose)
            if row["status"] == "error" and options.stop_on_error:
                break
    if options.trace is not None:
        again = [(at, operations[at]) for at, row in enumerate(rows) if row["status"] == "ok"]
        with torch.no_grad():
            write_trace(again, clock, options.trace)
    ran, failed, skipped = (sum(row["status"] == status for row in rows) for status in ("ok", "error", "skipped"))
    print(f"{len(rows)} of {len(operations)} tried: {ran} ran, {failed} failed, {skipped} skipped")
    if options.csv is not None:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)
    if options.json is not None:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
