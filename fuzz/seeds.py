"""Cuts the repository's test data into seeds for the fuzz targets: a fuzzer wants many small inputs.

    python3 seeds.py TESTDATA CORPUS
"""

import gzip
import io
import json
import pathlib
import sqlite3
import struct
import sys
import tempfile
import zipfile
import zlib

# Files of a CSV profile in one input: ASCII's record separator, in the order of `CSV_FILES` of the probes.
SEPARATOR = b"\x1e"
# A range of an operator, and the payload of a collective of NCCL: header, communicator, bytes.
NVTX_OPERATOR = b"aten::addmm, seq = 12, op_id = 345, sizes = [[4096], [8, 4], []], input_op_ids = [(340,0)]"
NCCL_PAYLOAD = struct.pack("<6Q", 1, 16777220, 16, 32, 0xA1B2C3D4E5F60718, 4 << 20)
CSV_FILES = [
    "agent_info",
    "kernel_trace",
    "memory_copy_trace",
    "memory_allocation_trace",
    "scratch_memory_trace",
    "hip_api_trace",
    "marker_api_trace",
    "pc_sampling_host_trap",
    "counter_collection",
]


def main(testdata, corpus):
    kineto = [*testdata.glob("recorded/cpu/*.json.gz"), *testdata.glob("generated/*.json.gz")]
    for path in sorted(kineto):
        seed_kineto(path, corpus / "kineto")
    for form in ("run.k1.pftrace.gz", "run.k2.pftrace", "run.k3.pftrace"):
        packets = gzip.decompress((testdata / "generated" / "pftrace" / form).read_bytes())
        put(corpus / "kineto", form.removesuffix(".gz"), trimmed_message(packets, 24))
    run = testdata / "generated" / "rocprof"
    put(corpus / "rocprof_json", "run", trimmed_json(gzip.decompress((run / "run_results.json.gz").read_bytes()), 3))
    put(corpus / "rocprof_json", "chrome", chrome_of_rocprof())
    for keep in (1, 3):
        packets = gzip.decompress((run / "run_results.pftrace.gz").read_bytes())
        packets = trimmed_message(packets, 8 * keep)
        put(corpus / "pftrace", f"run_{keep}", packets)
        put(corpus / "pftrace", f"packed_{keep}", packed(packets))
        plane = (testdata / "recorded" / "cpu" / "jax_step.xplane.pb").read_bytes()
        put(corpus / "xplane", f"jax_{keep}", trimmed_message(plane, keep))
        for number, program in enumerate(programs(plane)):
            put(corpus / "hlo_program", f"jax_{keep}_{number}", trimmed_message(program, 4 * keep))
        database = trimmed_database(run / "run_results.db", keep)
        put(corpus / "rocpd", f"run_{keep}", database)
        put(corpus / "rocpd", f"statements_{keep}", statements(database))
        database = trimmed_database(testdata / "generated" / "nsys" / "run.sqlite", keep)
        put(corpus / "nsys", f"run_{keep}", database)
        put(corpus / "nsys", f"statements_{keep}", statements(database))
    put(corpus / "nvtx_text", "operator", NVTX_OPERATOR)
    put(corpus / "nvtx_text", "payload", NCCL_PAYLOAD)
    put(corpus / "nvtx_text", "digits", NCCL_PAYLOAD.hex().encode())
    seed_rocprof_csv(run / "csv", corpus / "rocprof_csv")
    ops = (testdata / "generated" / "metal_ops.csv").read_bytes().splitlines(keepends=True)
    put(corpus / "metal_ops", "one", b"".join(ops[:6]))
    put(corpus / "metal_ops", "two", b"".join(ops[:3]) + SEPARATOR + b"".join(ops[:1] + ops[3:5]))


def put(directory, name, content):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / name).write_bytes(content)


def seed_kineto(path, corpus):
    """The head of a trace and a few events of each category."""
    name = path.name.split(".")[0]
    trace = json.loads(gzip.decompress(path.read_bytes()))
    seen = {}
    events = []
    for event in trace["traceEvents"]:
        kind = (event.get("ph"), event.get("cat"), tuple(sorted(event.get("args", {}))))
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= 1 and len(seen) <= 40:
            events.append(event)
    text = json.dumps({**trace, "traceEvents": events}, indent=1).encode()
    put(corpus, name, text)
    if name == "compiled_cpp":
        put(corpus, "list", json.dumps(events).encode())
        put(corpus, "gzip", gzip.compress(text, mtime=0))
        put(corpus, "zstd", stored_as_zstd(text))
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as members:
            members.writestr("readme.txt", "no trace")
            members.writestr("trace.json", text)
        put(corpus, "zip", archive.getvalue())


def stored_as_zstd(text):
    """A frame of Zstandard with one block that is not compressed, which the fuzzer can make one that is."""
    header = (len(text) << 3) | 1
    return b"\x28\xb5\x2f\xfd\xa0" + len(text).to_bytes(4, "little") + header.to_bytes(3, "little") + text


def trimmed_json(text, keep):
    """A text with at most `keep` elements in every list of objects."""

    def trim(value):
        if isinstance(value, dict):
            return {key: trim(member) for key, member in value.items()}
        if isinstance(value, list):
            is_records = value and all(isinstance(element, dict) for element in value)
            return [trim(element) for element in (value[:keep] if is_records else value)]
        return value

    return json.dumps(trim(json.loads(text))).encode()


def chrome_of_rocprof():
    """What Perfetto's converter makes of a trace of the profiler."""
    args = {
        "begin_ns": 1000,
        "end_ns": 3000,
        "delta_ns": 2000,
        "kind": 11,
        "agent": 1,
        "corr_id": 5,
        "queue": 1,
        "tid": 7,
        "kernel_id": 2,
        "workgroup_size": 64,
        "grid_size": 256,
    }
    events = [
        {"ph": "M", "pid": 7, "name": "process_name", "args": {"name": "train"}},
        {"ph": "X", "pid": 7, "tid": 7, "ts": 1.0, "dur": 2.0, "cat": "kernel_dispatch", "name": "add", "args": args},
        {"ph": "X", "pid": 7, "tid": 7, "ts": 0.5, "dur": 0.25, "cat": "hip_api", "name": "hipLaunchKernel", "args": args},
    ]
    return json.dumps({"traceEvents": events}).encode()


def seed_rocprof_csv(directory, corpus):
    parts = []
    for kind in CSV_FILES:
        files = sorted(directory.glob(f"*_{kind}.csv"))
        lines = files[0].read_bytes().splitlines(keepends=True)[:5] if files else []
        parts.append(b"".join(lines))
        if lines:
            put(corpus, kind, b"".join(lines))
    put(corpus, "run", SEPARATOR.join(parts))


def trimmed_database(path, keep):
    """A database with at most `keep` rows in a table, in small pages."""
    with tempfile.TemporaryDirectory() as directory:
        small = pathlib.Path(directory) / "small.db"
        small.write_bytes(path.read_bytes())
        database = sqlite3.connect(small, isolation_level=None)
        database.execute("PRAGMA foreign_keys = OFF")
        database.execute("PRAGMA journal_mode = DELETE")
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        for (table,) in tables.fetchall():
            # Names are kept: nearly every record refers to some.
            if "string" not in table.lower():
                kept = f'SELECT rowid FROM "{table}" ORDER BY rowid LIMIT {keep}'
                database.execute(f'DELETE FROM "{table}" WHERE rowid NOT IN ({kept})')
        database.execute("PRAGMA page_size = 512")
        database.execute("VACUUM")
        database.close()
        return small.read_bytes()


def statements(content):
    """The statements that make a database, one in a line."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "small.db"
        path.write_bytes(content)
        database = sqlite3.connect(path)
        lines = [line.replace("\n", " ") for line in database.iterdump()]
        database.close()
    return "\n".join(line for line in lines if not line.startswith(("BEGIN", "COMMIT"))).encode()


def packed(packets):
    """A trace of one packet that holds all others in deflate's stored blocks, where the fuzzer can reach them."""

    def field(number, content):
        return encoded(number << 3 | 2) + encoded(len(content)) + content

    return field(1, field(50, zlib.compress(packets, 0)))


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("no varint")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def encoded(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def fields(data):
    """Number, tag, encoded scalar or payload of every field of a protobuf message; ValueError if it is none."""
    at = 0
    found = []
    while at < len(data):
        start = at
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise ValueError("field 0")
        if wire == 0:
            _, at = varint(data, at)
            found.append((number, data[start:at], None))
        elif wire in (1, 5):
            at += 8 if wire == 1 else 4
            found.append((number, data[start:at], None))
        elif wire == 2:
            length, begin = varint(data, at)
            at = begin + length
            found.append((number, encoded(tag), data[begin:at]))
        else:
            raise ValueError("unknown wire type")
        if at > len(data):
            raise ValueError("cut off")
    return found


def programs(profile):
    """The compiled programs of an XPlane profile: the bytes in stats of kinds of events."""
    messages = [profile]
    for wanted in (1, 4, 2, 5, 6):
        messages = [
            payload
            for message in messages
            for number, _, payload in fields(message)
            if number == wanted and payload is not None
        ]
    return messages


def trimmed_message(data, keep):
    """A protobuf message, of any type, in which every repeated field has at most `keep` messages of one shape."""
    seen = {}
    out = bytearray()
    for number, head, payload in fields(data):
        if payload is None:
            out += head
            continue
        shape = number
        try:
            if len(payload) > 24:
                shape = (number, tuple(sorted({field for field, *_ in fields(payload)})))
                payload = trimmed_message(payload, keep)
        except ValueError:
            payload = payload[:512]
        seen[shape] = seen.get(shape, 0) + 1
        if seen[shape] <= keep:
            out += head + encoded(len(payload)) + payload
    return bytes(out)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]))
