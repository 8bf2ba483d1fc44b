#!/usr/bin/env python3
"""Hold every claim of the first page of `tracelens report` against figures taken from the raw file.

Run:  python3 studies/first_pages.py [--program target/release/tracelens] [--out /tmp/first_pages] RECORDING...
      python3 studies/first_pages.py --corpus ../shared/corpus --own testdata/recorded

The figures are computed here with plain rules and share nothing with the program: busy time is the union of
intervals, communication is told by a list of substrings of names, a launch is a host call with the same
correlation. Prints a Markdown table, marks deviations above 1 % with `!`, ends with 1 if a claim deviates.
Nothing is written beside a recording: the sheets go to a folder below --out.

Not read here: rocpd databases (the corpus has none), zstd, counter passes.
"""

import argparse, glob, os, re, statistics, subprocess, sys
from collections import defaultdict

from raw_recordings import covered_gaps, idle_before_launches, reader, timeline, total, union

UNIT = {"ns": 1, "µs": 1e3, "μs": 1e3, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 6e10}
TIME = r"(<?[\d,.]+) (ns|µs|μs|ms|s)\b"


def duration(value, unit):
    return float(value.replace(",", "").lstrip("<")) * UNIT[unit]


def number(text):
    return float(text.replace(",", "").replace("<", ""))


class Page:
    """The first page in pieces: spans, tables, findings, sentences."""

    def __init__(self, text):
        self.text = text
        joined = re.sub(r"\n {2,}", " ", text)
        self.flat = joined
        self.spans = [
            (m[1], duration(m[2], m[3]), duration(m[4], m[5]), duration(m[6], m[7]), duration(m[8], m[9]) if m[8] else 0)
            for m in re.finditer(
                rf"^(.*?) span {TIME} \(first start to last end\): busy {TIME}, idle {TIME}" rf"(?:, not recorded {TIME})?", joined, re.M
            )
        ]
        self.shares = [
            {"computation": float(m[1]), "comm": float(m[2]), "copies": float(m[3]), "idle": float(m[4])}
            for m in re.finditer(r"█ computation ([\d.]+)%  ▓ exposed comm ([\d.]+)%  ▒ exposed copies ([\d.]+)%  ░ idle ([\d.]+)%", text)
        ]
        self.findings = [
            (duration(m[1], m[2]), float(m[3]), duration(m[4], m[5]), m[6])
            for m in re.finditer(
                rf"(?:^fix first:\s*|(?<=\s)){TIME} \(([\d.]+)%\) (?:(?!recoverable).)*?up to {TIME} recoverable \[([A-Z0-9-]+)\]", joined
            )
        ]
        self.tables = self.read_tables(text.split("\n"))

    @staticmethod
    def read_tables(lines):
        """Tables as (columns, rows, rest in percent)."""
        tables = []
        for index, line in enumerate(lines[1:], 1):
            if not line.startswith("────"):
                continue
            columns, rows, rest = re.split(r"\s{2,}", lines[index - 1].strip()), [], 0.0
            for row in lines[index + 1 :]:
                cells, more = re.split(r"\s{2,}", row.strip()), re.match(r"… and .* with ([\d.]+)% of", row)
                rest = float(more[1]) if more else rest
                if len(cells) == len(columns):
                    rows.append(cells)
                elif not re.match(r"kernel [mµ]?s|… and", row):
                    break
            tables.append((columns, rows, rest))
        return tables


class Ledger:
    def __init__(self, name):
        self.name, self.lines, self.unchecked = name, [], []

    def claim(self, what, page, script, tolerance=0.01, absolute=0.0, unit="", bound=False):
        """Equal within the tolerance; with bound: the page's figure must not be above the script's."""
        difference = page - script
        wrong = difference > abs(script) * tolerance + absolute if bound else abs(difference) > abs(script) * tolerance + absolute
        self.lines.append(
            (
                what,
                shown(page, unit),
                ("<= " if bound else "") + shown(script, unit),
                f"{difference / script:+.1%}" if script else shown(difference, unit),
                wrong,
            )
        )


def shown(value, unit):
    return f"{value / 1e6:.4f} ms" if unit == "ns" else f"{value:.1f}%" if unit == "%" else f"{value:,.6g}"


def check(name, text, recording):
    page, ledger = Page(text), Ledger(name)
    for share in re.findall(r"(?<![\d.])(\d+(?:\.\d+)?) ?%", text):
        if float(share) > 100.05:
            ledger.claim("a percentage above 100", float(share), 100.0, bound=True, unit="%")
    if recording.kind == "metal":
        return check_metal(page, ledger, recording)
    head = page.flat.split("\n")[0]
    for word, value in (("events", recording.events), *recording.counts.items()):
        found = re.search(rf"([\d,]+)\s+{word}", head)
        if found and value is not None:
            ledger.claim(word, number(found[1]), value, 0)
    by_device = defaultdict(list)
    for work in recording.work:
        by_device[work[0]].append(work)
    devices = {device: timeline(work) for device, work in by_device.items()}
    check_timelines(page, ledger, devices)
    check_launches(page, ledger, recording)
    check_tables(page, ledger, recording)
    check_rest(page, ledger, recording)
    if devices:
        check_findings(page, ledger, recording, by_device, devices)
    return ledger


def check_timelines(page, ledger, devices):
    left = dict(devices)
    if page.spans:
        ledger.claim("devices with a timeline", len(page.spans), len(devices), 0)
    elif devices:
        ledger.unchecked.append("the page shows no timeline of a device")
    for (label, span, busy, idle, unknown), share in zip(page.spans, page.shares):
        if not left:
            break
        # A page names devices in its own way: the device whose figures are nearest is meant.
        own = left.pop(min(left, key=lambda d: abs(left[d]["span"] - span) + abs(left[d]["busy"] - busy)))
        ledger.claim(f"{label} span", span, own["span"], unit="ns")
        ledger.claim(f"{label} busy", busy, own["busy"], unit="ns")
        ledger.claim(f"{label} idle + not recorded", idle + unknown, own["idle"], unit="ns", absolute=own["span"] * 5e-4)
        for part, words in (("computation", "computation"), ("comm", "exposed comm"), ("copies", "exposed copies")):
            ledger.claim(f"{label} {words}", share[part], 100 * own[part] / own["span"], unit="%", absolute=0.06)
        ledger.claim(f"{label} share idle", share["idle"], 100 * idle / span, unit="%", absolute=0.06)


def check_launches(page, ledger, recording):
    linked = [w for w in recording.work if w[5] in recording.calls]
    lost = [w for w in recording.work if w[5] not in recording.calls]
    time = sum(w[2] - w[1] for w in recording.work)
    found = re.search(r"([\d,]+) of ([\d,]+) device events linked to their launch \(([\d.]+)% of device time\)", page.flat)
    if found:
        ledger.claim("device events", number(found[2]), len(recording.work), 0)
        if recording.kind in ("kineto", "nsys"):
            share = 100 * sum(w[2] - w[1] for w in linked) / (time or 1)
            ledger.claim("linked to a launch", number(found[1]), len(linked), 0)
            ledger.claim("linked share of device time", float(found[3]), share, unit="%", absolute=0.06)
        else:
            ledger.unchecked.append("links to launches")
    found = re.search(rf"([\d,]+) device events \({TIME}\) without a launch", page.flat)
    if found:
        ledger.claim("without a launch", number(found[1]), len(lost), 0)
        ledger.claim("device time without a launch", duration(found[2], found[3]), sum(w[2] - w[1] for w in lost), unit="ns")
    found = re.search(r"(?:starts|begin) kernels ([\d.]+) µs\s+after (?:their launch|the call)", page.flat)
    kernels = [w for w in linked if w[4] == "kernel"]
    if found and kernels:
        # From the end of the call, and never below zero.
        after = statistics.median(max(0, w[1] - recording.calls[w[5]][1]) for w in kernels)
        begin = statistics.median(w[1] - recording.calls[w[5]][0] for w in kernels)
        ledger.claim("launch delay from the end of the call, µs", float(found[1]), after / 1e3, absolute=0.06)
        if len(kernels) < 0.5 * len(recording.work) or begin > 2 * after + 5000:
            ledger.unchecked.append(f"delay of {len(kernels)} of {len(recording.work)}; from the call's start {begin / 1e3:.1f} µs")


def check_tables(page, ledger, recording):
    everything = sum(w[2] - w[1] for w in recording.work)
    of_kernels = sum(w[2] - w[1] for w in recording.work if w[4] == "kernel")
    for names, rows, rest in page.tables:
        column = next((i for i, n in enumerate(names) if re.match(r"kernel (ns|µs|ms|s)$", n)), None)
        if column is None or not rows:
            continue
        first, unit, percent = names[0], UNIT[names[column].split()[-1]], [number(row[-1]) for row in rows]
        # XProf and XLA have no kernels of their own: there copies are in the whole.
        without_copies = "kernel time" in names[-1] and recording.kind in ("nsys", "rocprof")
        whole = of_kernels if without_copies else everything
        shown_part = of_kernels if first == "kernel" and recording.kind in ("kineto", "ascend") else whole
        if "kernel time" in names[-1] and recording.kind == "xprof":
            whole = shown_part = of_kernels
        ledger.claim(
            f"{first} table: sum of percent",
            sum(percent) + rest,
            100 * shown_part / (whole or 1),
            unit="%",
            absolute=0.06 * (len(rows) + 1),
        )
        ledger.claim(
            f"{first} table: first row, percent", percent[0], 100 * number(rows[0][column]) * unit / (whole or 1), unit="%", absolute=0.06
        )
        if first == "category" and not rest:
            ledger.claim(
                "category table: total", sum(number(r[column]) for r in rows) * unit, whole, unit="ns", absolute=unit * 0.001 * len(rows)
            )
        if first == "kernel" and names[1] == "calls":
            check_kernels(ledger, rows, column, unit, recording.work)
        bound = re.search(r"^bound by (\S+): ([\d.]+)% of device time", page.text)
        if first == "category" and bound:
            ledger.claim("share of the largest category", float(bound[2]), max(percent), unit="%", absolute=0.01)


def plain(name):
    return re.sub(r"[^A-Za-z0-9_]", "", re.sub(r"^void |\.kd$|<unnamed>|\(anonymous namespace\)", "", name))


def check_kernels(ledger, rows, column, unit, work):
    """A row is of the kernels of one name, or of all that share the name without parameters and template arguments."""
    groups = defaultdict(lambda: [0, 0])
    for _, start, end, name, kind, _ in work:
        bare = re.split(r"[<(]", re.sub(r"^void ", "", name).replace("(anonymous namespace)::", ""))[0]
        for key in {("whole", name), ("bare", bare), ("last", bare.split("::")[-1])} if kind == "kernel" else ():
            groups[key][0] += 1
            groups[key][1] += end - start
    for row in rows:
        calls, time, begin = number(row[1]), number(row[column]) * unit, plain(row[0].partition("…")[0])
        fitting = [g for (_, name), g in groups.items() if plain(name).startswith(begin[:60])]
        if not fitting:
            ledger.unchecked.append(f"kernel {row[0][:40]}: name not found")
            continue
        nearest = min(fitting, key=lambda g: abs(g[0] - calls) * 1e3 + abs(g[1] - time) / (time or 1))
        ledger.claim(f"kernel {row[0][:28]} calls", calls, nearest[0], 0)
        ledger.claim(f"kernel {row[0][:28]} time", time, nearest[1], unit="ns", absolute=unit * 0.0006)


def check_rest(page, ledger, recording):
    found = re.search(r"memory: peak ([\d.]+) ([KMGT]?i?B)", page.flat)
    device = [size for key, size in recording.memory.items() if key[0] not in (0, "0")]
    if found and device:
        ledger.claim("memory peak, bytes", number(found[1]) * 1024 ** "BKMGT".index(found[2][0]), max(device))
    found = re.search(rf"profiler itself took {TIME}", page.flat)
    if found and recording.overhead:
        ledger.claim("time of the profiler", duration(found[1], found[2]), total(union(recording.overhead)), unit="ns")
    found = re.search(
        rf"^([\d,]+) ((?:\w+ )*?(?:steps?|runs?)\b)[^(\n]*\(by recorded steps\): {TIME}" rf"(?: each \(median of (\d+); {TIME} to {TIME})?",
        page.flat,
        re.M,
    )
    if found:
        check_steps(page, ledger, recording, found)
    elif re.search(r"(steps?|runs?)[^(\n]* \(by", page.flat):
        ledger.unchecked.append("steps that the program detected itself")
    if re.search(r"^FLOPs and bytes", page.flat, re.M):
        ledger.unchecked.append("FLOPs, bytes, rooflines")


def check_steps(page, ledger, recording, found):
    """Marks of one name with other numbers. A step lasts from the end of the device work before it to that of its own, of
    the first from its start on the host; without device work as long as its mark."""
    groups, launched = defaultdict(list), defaultdict(list)
    for name, start, end in recording.marks:
        if re.search(r"\d", name):
            groups[re.sub(r"\d+", "#", name)].append((start, end))
    count, median = number(found[1]), duration(found[3], found[4])
    fitting = [sorted(set(g)) for g in groups.values() if len(set(g)) == count]
    if not fitting or re.search(r"steps? of \d+ processes|between two cycles", page.flat):
        ledger.unchecked.append(f"{found[2]}: {'no' if not fitting else 'several processes or cycles have'} {count:.0f} marks")
        return
    best = None
    for marks in fitting:
        launched.clear()
        for work in recording.work:
            call = recording.calls.get(work[5])
            inside = [i for i, (s, e) in enumerate(marks) if call and s <= call[0] < e]
            if inside:
                launched[inside[0]].append(work[2])
        # The first step waits from its start on the host, unless its work is queued behind work of before the recording.
        lead = min(recording.work, key=lambda w: w[1], default=None)
        queued = lead and lead[5] in recording.calls and lead[1] - recording.calls[lead[5]][0] > 0.5 * (lead[1] - marks[0][0])
        times, before = [], min(lead[1], marks[0][0]) if lead and lead[5] not in recording.calls else lead[1] if queued else marks[0][0]
        for index, (start, end) in enumerate(marks):
            if launched[index] or "have no device work" not in page.flat:
                times.append(max(launched[index]) - before if launched[index] else end - start)
            before = max([before, *launched[index]])
        if best is None or abs(statistics.median(times) - median) < abs(statistics.median(best) - median):
            best = times
    ledger.claim("steps", count, len(fitting[0]), 0)
    if found[5] and int(found[5]) < len(best):
        # Some steps are said to be odd: the others lie between the limits that the page gives.
        low, high = duration(found[6], found[7]) * 0.99, duration(found[8], found[9]) * 1.01
        within = [t for t in best if low <= t <= high]
        ledger.claim("steps within the range", int(found[5]), len(within), 0, bound=True)
        best = within or best
    elif not found[5]:
        best = [min(best, key=lambda t: abs(t - median))]
    ledger.claim("step, median (5 %)", median, statistics.median(best), 0.05, unit="ns")


def check_findings(page, ledger, recording, by_device, devices):
    window = max(d["last"] for d in devices.values()) - min(d["first"] for d in devices.values())
    comm, idle = max(d["comm"] for d in devices.values()), max(d["idle"] for d in devices.values())
    sums = defaultdict(float)
    for amount, share, gain, code in page.findings:
        ledger.claim(f"[{code}] gain <= amount", gain, amount, bound=True, unit="ns")
        of = min([window, *(d["span"] for d in devices.values())], key=lambda w: abs(100 * amount / w - share))
        ledger.claim(f"[{code}] share of the window", share, 100 * amount / of, unit="%", absolute=0.1)
        sums["idle" if code.startswith("IDLE") else code] += amount
    if sums["idle"]:
        ledger.claim("sum of idle findings <= idle", sums["idle"], idle, bound=True, unit="ns")
        if recording.calls:
            before = max(idle_before_launches(w, recording.calls) for w in by_device.values())
            ledger.claim("idle findings <= idle before launches", sums["idle"], before, 0.03, bound=True, unit="ns")
    host = sum(f[0] for f in page.findings if f[3] == "IDLE-HOST")
    if host and recording.calls and len(devices) == 1:
        # "outside of recorded calls": not where one call, operator or piece of the profiler covers the gap.
        covers = [c[:2] for c in recording.calls.values() if c[1] - c[0] > 500_000] + recording.overhead + recording.operators
        time, covered = covered_gaps(recording.work, covers)
        ledger.claim("IDLE-HOST <= gaps that no recorded event covers", host, time - covered, 0.05, bound=True, unit="ns")
    if sums["COMM-EXPOSED"]:
        ledger.claim("COMM-EXPOSED <= exposed comm", sums["COMM-EXPOSED"], comm, bound=True, unit="ns")
    if page.findings:
        ledger.claim("sum of gains <= window", sum(f[2] for f in page.findings), window, bound=True, unit="ns")
    found = re.search(rf"GPU \d+ is idle for {TIME} of {TIME}.*?the longest gap, {TIME} at", page.flat)
    if found:
        own = min(devices.values(), key=lambda d: abs(d["idle"] - duration(found[1], found[2])))
        ledger.claim("idle in words", duration(found[1], found[2]), own["idle"], unit="ns")
        ledger.claim("longest gap", duration(found[5], found[6]), own["gap"], unit="ns")
    found = re.search(r"\(by recorded steps\).*?; 0 is warm-up \(" + TIME, page.flat)
    if found and recording.calls:
        lost = sum(w[2] - w[1] for w in recording.work if w[5] not in recording.calls)
        first = duration(found[1], found[2])
        ledger.claim("warm-up holds no work of before (<= half)", min(lost, first), first / 2, bound=True, unit="ns")
    if len(devices) > 1 and page.findings:
        worst = max(d["idle"] / d["span"] for d in devices.values())
        ledger.unchecked.append(f"of {100 * worst:.0f} % idle of one device the findings tell {100 * sums['idle'] / window:.0f} %")


def check_metal(page, ledger, recording):
    rows = recording.rows
    ledger.claim("rows", number(re.search(r"([\d,]+) rows", page.text)[1]), len(rows), 0)
    found = re.search(r"│\s*│ 100.0 % .*?│ ([\d,]+) device ops, .*? signposts\s*│\s*│\s*([\d,]+) μs │\s*([\d,]+) μs", page.text)
    # What is reported begins behind a signpost, or with the first row.
    starts = [0] + [i + 1 for i, row in enumerate(rows) if row["OP TYPE"] == "signpost"]
    parts = [[r for r in rows[start:] if r["OP TYPE"] == "tt_dnn_device"] for start in starts]
    # Operations that run on all devices of a mesh are shown once.
    merged = [[r for r in part if r["DEVICE ID"] == part[0]["DEVICE ID"]] for part in parts]
    chosen = min(range(len(parts)), key=lambda i: abs(len(merged[i]) - number(found[1])))
    ledger.claim("device operations", number(found[1]), len(merged[chosen]), 0)
    if len(merged[chosen]) == len(parts[chosen]):
        for what, column, part, group in (
            ("device time", "DEVICE KERNEL DURATION [ns]", parts[chosen], 2),
            ("gaps", "OP TO OP LATENCY [ns]", parts[chosen][1:], 3),
        ):
            ledger.claim(what, number(found[group]) * 1e3, sum(float(r[column] or 0) for r in part), unit="ns", absolute=500)
    else:
        ledger.unchecked.append("device time of merged devices")
    return ledger


SKIPPED = re.compile(
    r"/reference|/xprof/|/execution_|expected|kernel_information|kernel_annot|py_stacks|cuspy|inductor|/communication\.json"
    r"|exported_model|attacks|/stats/|/memory/|/perf-models/|operator_counters|/perf_csvs/"
)
WANTED = re.compile(r"(\.json|\.json\.gz|\.sqlite|\.pb|/ops\.csv|_kernel_trace\.csv)$")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("recordings", nargs="*")
    for name, default in (("--corpus", None), ("--own", None), ("--program", "target/release/tracelens"), ("--out", "/tmp/first_pages")):
        options.add_argument(name, default=default)
    options.add_argument("--deviations", action="store_true", help="print only claims that deviate")
    given = options.parse_args()
    paths = list(given.recordings)
    for root in filter(None, (given.corpus, given.own)):
        found = glob.glob(root + "/**/*", recursive=True)
        paths += sorted(p for p in found if os.path.isfile(p) and WANTED.search(p) and not SKIPPED.search(p))
    common = os.path.commonpath(paths) if len(paths) > 1 else os.path.dirname(paths[0])
    print("| recording | claim | page | script | difference |\n| --- | --- | --- | --- | --- |")
    summary, wrong = [], 0
    for path in paths:
        name = os.path.relpath(path, common)
        folder = os.path.join(given.out, name.replace("/", "__") + ".d")
        os.makedirs(given.out, exist_ok=True)
        ran = subprocess.run(
            [given.program, "report", path, "--output_csvs_dir", folder],
            capture_output=True,
            text=True,
            env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
            timeout=300,
        )
        if ran.returncode:
            summary.append((name, 0, 0, ["no page: " + ran.stderr.split("\n")[0][-90:]]))
            continue
        try:
            ledger = check(name, ran.stdout, reader(path)(path))
        except Exception as problem:  # one recording that the script cannot read must not hide the others
            summary.append((name, 0, 0, [f"the script failed: {type(problem).__name__}: {problem}"]))
            continue
        for what, on_page, own, difference, deviates in ledger.lines:
            if deviates or not given.deviations:
                print(f"| {name} | {what} | {on_page} | {own} | {'! ' if deviates else ''}{difference} |")
        bad = sum(line[-1] for line in ledger.lines)
        wrong += bad
        summary.append((name, len(ledger.lines), bad, ledger.unchecked))
    print("\n| recording | checked | agree | deviate | not checked |\n| --- | --- | --- | --- | --- |")
    for name, checked, bad, unchecked in summary:
        print(f"| {name} | {checked} | {checked - bad} | {bad} | {'; '.join(unchecked)} |")
    print(f"\n{sum(s[1] for s in summary)} claims of {len(summary)} recordings, {wrong} deviate")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
