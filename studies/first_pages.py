#!/usr/bin/env python3
"""Hold every claim of the first page of `tracelens report` against figures taken from the raw file.

Run:  python3 studies/first_pages.py [--program target/release/tracelens] [--out /tmp/first_pages] RECORDING...
      python3 studies/first_pages.py --corpus ../shared/corpus --own testdata/recorded

The figures are computed here with plain rules and share nothing with the program: busy time is the union of
intervals, communication is told by a list of substrings of names, a launch is a host call with the same
correlation. The page is read as `-v` prints it; without `-v` it must have at most 40 lines of 100 columns (but
for lines `wrote …`) and the same findings. Idle time is held against launches that ended after the device ran
dry, a finding that names calls against the time of these calls. Prints a Markdown table, marks deviations
above 1% with `!`, ends with 1 if a claim deviates. Nothing is written beside a recording: the sheets go to a
folder below --out. Not read here: rocpd databases (the corpus has none), zstd.
"""

import argparse, glob, json, os, re, statistics, subprocess, sys
from collections import Counter, defaultdict

from printed_page import TIME, UNIT, Page, duration, number
from raw_recordings import Gaps, is_communication, reader, timeline, total, union


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


def check(name, text, short, answer, recording):
    page, ledger = Page(text), Ledger(name)
    for share in re.findall(r"(?<![\d.])(\d+(?:\.\d+)?) ?%", text):
        if float(share) > 100.05:
            ledger.claim("a percentage above 100", float(share), 100.0, bound=True, unit="%")
    if recording.kind == "metal":
        return check_metal(page, ledger, recording)
    lines = [line for line in short.rstrip("\n").split("\n") if not line.startswith("wrote ")]
    ledger.claim("lines of the page", len(lines), 40, 0, bound=True)
    ledger.claim("columns of the page", max(map(len, lines)), 100, 0, bound=True)
    ledger.claim("findings that -v tells otherwise", len(set(Page(short).findings) - set(page.findings)), 0)
    for word, value in (("events", recording.events), *recording.counts.items()):
        found = re.search(rf"([\d,]+)\s+{word}", page.head)
        if found and value is not None:
            ledger.claim(word, number(found[1]), value, 0)
    by_device = defaultdict(list)
    for work in recording.work:
        by_device[work[0]].append(work)
    devices = {device: timeline(work) for device, work in by_device.items()}
    names = check_timelines(page, ledger, devices)
    check_launches(page, ledger, answer, recording)
    check_tables(page, ledger, recording)
    check_rest(page, ledger, recording)
    if devices:
        gaps = {d: Gaps(work, recording) for d, work in by_device.items()}
        check_headline(page, ledger, recording, devices, gaps)
        check_findings(page, ledger, answer, recording, names, devices, gaps)
    return ledger


def check_timelines(page, ledger, devices):
    """The names that the page gives the devices -> the devices."""
    left, names = dict(devices), {}
    if page.spans:
        ledger.claim("devices with a timeline", len(page.spans), len(devices), 0)
    elif devices:
        ledger.unchecked.append("the page shows no timeline of a device")
    for (label, span, busy, idle, unknown), share in zip(page.spans, page.shares):
        if not left:
            break
        # A page names devices in its own way: the device whose figures are nearest is meant.
        names[label] = min(left, key=lambda d: abs(left[d]["span"] - span) + abs(left[d]["busy"] - busy))
        own = left.pop(names[label])
        ledger.claim(f"{label} span", span, own["span"], unit="ns")
        ledger.claim(f"{label} busy", busy, own["busy"], unit="ns")
        ledger.claim(f"{label} idle + not recorded", idle + unknown, own["idle"], unit="ns", absolute=own["span"] * 5e-4)
        for part, words in (("computation", "computation"), ("comm", "exposed comm"), ("copies", "exposed copies")):
            ledger.claim(f"{label} {words}", share[part], 100 * own[part] / own["span"], unit="%", absolute=0.06)
        ledger.claim(f"{label} share idle", share["idle"], 100 * idle / span, unit="%", absolute=0.06)
    return names


def check_launches(page, ledger, answer, recording):
    linked = [w for w in recording.work if w[5] in recording.calls]
    lost = [w for w in recording.work if w[5] not in recording.calls]
    time = sum(w[2] - w[1] for w in recording.work)
    trust = answer.get("trust") or {}
    if trust.get("device_events"):
        ledger.claim("device events (JSON)", trust["device_events"], len(recording.work), 0)
        if recording.kind in ("kineto", "nsys") and trust.get("linked_pct_of_time") is not None:
            share = 100 * sum(w[2] - w[1] for w in linked) / (time or 1)
            ledger.claim("linked share of device time (JSON)", trust["linked_pct_of_time"], share, unit="%", absolute=0.06)
        else:
            ledger.unchecked.append("links to launches")
    found = re.search(r"^performance models cover ([\d.]+)% of device time(?:; not covered: (.*))?", page.flat, re.M)
    if found:
        parts = {m[1]: float(m[2]) for m in re.finditer(r"([a-z ]+?) ([\d.]+)%", found[2] or "")}
        # The page has the reasons that fit its line.
        ledger.claim("covered and not covered", float(found[1]) + sum(parts.values()), 100, 0, absolute=0.5, unit="%", bound=True)
        own = {"communication": sum(w[2] - w[1] for w in recording.work if is_communication(w[3]))}
        if recording.kind in ("kineto", "nsys"):
            own["unlinked"] = sum(w[2] - w[1] for w in lost)
        for part in parts.keys() & own.keys():
            ledger.claim(f"not covered: {part}", parts[part], 100 * own[part] / (time or 1), unit="%", absolute=0.1)
    found = re.search(rf"([\d,]+) device events \({TIME}\) without a launch", page.flat)
    if found:
        ledger.claim("without a launch", number(found[1]), len(lost), 0)
        ledger.claim("device time without a launch", duration(found[2], found[3]), sum(w[2] - w[1] for w in lost), unit="ns")


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
        bound = re.search(r"largest(?: known class)?: (\S+?),? ([\d.]+)% of device time", page.headline)
        if first == "category" and bound:
            known = [share for row, share in zip(rows, percent) if row[0] != "other"] or percent
            ledger.claim("share of the largest category", float(bound[2]), max(known), unit="%", absolute=0.01)
            row = next((share for row, share in zip(rows, percent) if row[0] == bound[1]), -1)
            ledger.claim(f"{bound[1]} in headline and table", float(bound[2]), row, unit="%", absolute=0.01)


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
    if not fitting or re.search(r"steps? of \d+ processes|between two profiler cycles", page.flat):
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
            if launched[index] or "have no recorded device work" not in page.flat:
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
    ledger.claim("step, median (5%)", median, statistics.median(best), 0.05, unit="ns")


def check_headline(page, ledger, recording, devices, gaps):
    line, own = page.headline, list(devices.values())
    span, idle, busy = (sum(d[part] for d in own) for part in ("span", "idle", "busy"))
    cycle = re.search(rf"excluding the {TIME} between two profiler cycles", line)
    cut = duration(cycle[1], cycle[2]) if cycle else 0
    unknown = sum(s[4] for s in page.spans)
    if cut:
        ledger.claim("gap between two cycles", cut, max(d["gap"] for d in own), unit="ns")
        unknown = cut
    found = re.search(r"idle ([\d.]+)%(?: to ([\d.]+)%)? of (?:the|its) (?:span|window)(?:, ([\d.]+)% on average)?", line)
    if found:
        ledger.claim("headline: idle", float(found[3] or found[1]), 100 * (idle - unknown) / (span - cut), unit="%", absolute=0.1)
    if found and found[2]:
        shares = sorted(100 * (s[3] / s[1]) for s in page.spans)
        for what, on_page, share in (("least", found[1], shares[0]), ("most", found[2], shares[-1])):
            ledger.claim(f"headline: {what} idle", float(on_page), share, unit="%", absolute=0.06)
    for what, part in (("communication", "comm"), ("copies", "copies")):
        found = re.search(rf"bound by {what}: exposed for ([\d.]+)%", line)
        if found:
            ledger.claim(f"headline: exposed {what}", float(found[1]), 100 * sum(d[part] for d in own) / busy, unit="%", absolute=0.1)
    says = re.search("starved|caused by the profiler|for reasons not recorded|is not recorded|run one at a time", line)
    if not says:
        ledger.claim("headline without idle time: idle", 100 * (idle - unknown) / (span - cut), 50, unit="%", bound=True, absolute=0.1)
    elif not recording.calls:
        ledger.unchecked.append("what the headline says devices wait for: no calls read")
    elif says[0] in ("starved", "caused by the profiler", "for reasons not recorded"):
        late, profiler = sum(g.late for g in gaps.values()), sum(g.profiler for g in gaps.values())
        share, of_profiler = 100 * late / (idle - unknown), 100 * profiler / (idle - unknown)
        if says[0] == "starved":
            ledger.claim("headline: host, at least half of idle time", 50, share, 0, unit="%", bound=True)
            ledger.claim("headline: host more than profiler", of_profiler, share - of_profiler, 0, unit="%", bound=True)
        elif says[0] == "caused by the profiler":
            ledger.claim("headline: profiler, at least half of idle time", 50, of_profiler, 0, unit="%", bound=True)
        else:
            ledger.claim("headline: host, less than half of idle time", share, 50, 0, unit="%", bound=True)


def check_findings(page, ledger, answer, recording, names, devices, gaps):
    cycle = re.search(rf"excluding the {TIME} between two profiler cycles", page.headline)
    cut = duration(cycle[1], cycle[2]) if cycle else 0
    window = max(d["last"] for d in devices.values()) - min(d["first"] for d in devices.values()) - cut
    for amount, share, gain, code, where, device in page.findings:
        own = devices[names[device]] if device in names else None
        if device and not own:
            ledger.unchecked.append(f"[{code}] of {device}, which has no span")
        elif not device and len(devices) > 1:
            ledger.unchecked.append(f"[{code}] names none of {len(devices)} devices")
        own = own or max(devices.values(), key=lambda d: d["span"])
        ledger.claim(f"[{code}] share of the span", share, 100 * amount / (own["span"] - cut), unit="%", absolute=0.1)
        if gain is not None:
            ledger.claim(f"[{code}] gain <= amount", gain, amount, bound=True, unit="ns")
        if code[:5] in ("COMM-", "COPY-") and gain:
            beside = own["computation"] + own["idle"] + (own["comm"] if code[:5] == "COPY-" else 0)
            ledger.claim(f"[{code}] gain <= what can hide it", gain, beside, bound=True, unit="ns")
        found = re.match(r"(.*?) \((\d[\d,]*) calls?\)", where)
        if found and recording.names and "…" not in found[1]:
            # Taken away, calls bring forward what follows by the time that they hold the host, not by more.
            called = [v for name, v in recording.names.items() if re.sub(r"_v\d+(_ptsz)?$", "", name) == found[1]]
            ledger.claim(f"[{code}] calls of {found[1][:40]}", number(found[2]), sum(v[0] for v in called), 0, bound=True)
            ledger.claim(f"[{code}] <= time of {found[1][:40]}", amount, sum(v[1] for v in called), 0.02, bound=True, unit="ns")
        found = re.match(r"(\d[\d,]*) copies", where)
        if found:
            ledger.claim(f"[{code}] copies", number(found[1]), sum(w[4] != "kernel" for w in recording.work), 0, bound=True)
    check_sums(page, ledger, answer, recording, names, devices, gaps)
    gains = sum(f[2] or 0 for f in page.findings)
    if gains:
        ledger.claim("sum of gains <= window", gains, window, bound=True, unit="ns")
    found = re.search(rf"GPU \d+ is idle for {TIME} of {TIME}.*?the longest gap, {TIME} at", page.flat)
    if found:
        said = duration(found[1], found[2])
        own = min(page.spans, key=lambda s: abs(s[3] - said))
        ledger.claim("idle in words as in the timeline", said, own[3], unit="ns")
        own = min(devices.values(), key=lambda d: abs(d["idle"] - said))
        ledger.claim("longest gap", duration(found[5], found[6]), own["gap"], unit="ns")
    found = re.search(r"\(by recorded steps\).*?; 0 is warm-up \(" + TIME, page.flat)
    if found and recording.calls:
        lost = sum(w[2] - w[1] for w in recording.work if w[5] not in recording.calls)
        first = duration(found[1], found[2])
        ledger.claim("warm-up holds no work of before (<= half)", min(lost, first), first / 2, bound=True, unit="ns")


def check_sums(page, ledger, answer, recording, names, devices, gaps):
    """All findings, also those behind the first three, against the device that the page names."""
    label = next((f[5] for f in page.findings if f[5]), None)
    key = names.get(label, max(devices, key=lambda d: devices[d]["idle"]))
    own, gap, sums = devices[key], gaps[key], Counter()
    alone = len(devices) == 1 or label
    for finding in answer.get("findings") or ():
        code, amount, title = finding["rule"], (finding.get("amount_us") or 0) * 1e3, finding["title"]
        if code.startswith("IDLE"):
            sums["idle"] += amount
            sums["late"] += amount if code != "IDLE-UNEXPLAINED" else 0
        sums["unnamed"] += amount if code == "IDLE-HOST" and "cause not recorded" in title else 0
        sums["unlinked"] += amount if code == "IDLE-UNEXPLAINED" and "without a recorded launch" in title else 0
        sums["waited"] += amount if code == "IDLE-UNEXPLAINED" and "already launched" in title else 0
        sums[code[:5]] += amount if code.startswith(("COMM-EXPOSED", "COPY-H2D", "COPY-D2")) else 0
    limits = [("sum of idle findings <= idle", "idle", own["idle"], 0.01)]
    limits += [("COMM-EXPOSED <= exposed comm", "COMM-", own["comm"], 0.01), ("COPY <= exposed copies", "COPY-", own["copies"], 0.01)]
    if recording.calls:
        limits.append(("idle findings of the host <= idle before launches", "late", gap.late + gap.slack, 0.03))
        limits.append(("the same without the profiler", "late", gap.late + gap.slack - gap.profiler, 0.03))
        limits.append(("IDLE-UNEXPLAINED, not linked", "unlinked", gap.unlinked, 0.01))
        limits.append(("IDLE-UNEXPLAINED, already launched", "waited", gap.waited, 0.01))
        limits.append(("IDLE-HOST, cause not recorded <= gaps that nothing covers", "unnamed", gap.bare, 0.05))
    for what, part, limit, tolerance in limits:
        if sums[part] and alone:
            ledger.claim(what, sums[part], limit, tolerance, bound=True, unit="ns")
        elif sums[part]:
            ledger.claim(what, sums[part], sum(d["span"] for d in devices.values()), bound=True, unit="ns")
    told = 100 * sums["idle"] / own["idle"] if own["idle"] else 100
    if own["idle"] > 0.2 * own["span"] and told < 70 and not page.spans[0][4]:
        ledger.unchecked.append(f"findings tell {told:.0f}% of {100 * own['idle'] / own['span']:.0f}% idle of {label or key}")


def check_metal(page, ledger, recording):
    rows = recording.rows
    ledger.claim("rows", number(re.search(r"([\d,]+) rows", page.text)[1]), len(rows), 0)
    found = re.search(r"│\s*│ +100\.0% .*?│ ([\d,]+) device ops, .*? signposts\s*│\s*│\s*([\d,]+) μs │\s*([\d,]+) μs", page.text)
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


class NoPage(Exception):
    pass


def printed(program, path, *options):
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    ran = subprocess.run([program, "report", path, *options], capture_output=True, text=True, env=environment, timeout=300)
    if ran.returncode:
        raise NoPage(ran.stderr.split("\n")[0][-90:])
    return ran.stdout


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
    paths = [os.path.abspath(path) for path in paths]
    common = os.path.commonpath(paths) if len(paths) > 1 else os.path.dirname(paths[0])
    print("| recording | claim | page | script | difference |\n| --- | --- | --- | --- | --- |")
    summary, wrong = [], 0
    for path in paths:
        name = os.path.relpath(path, common)
        folder = os.path.join(given.out, name.replace("/", "__") + ".d")
        os.makedirs(given.out, exist_ok=True)
        try:
            text, short, answer = (
                printed(given.program, path, *how)
                for how in (("-v", "--output_csvs_dir", folder), ("--output_csvs_dir", folder), ("--json",))
            )
            ledger = check(name, text, short, json.loads(answer), reader(path)(path))
        except NoPage as problem:
            summary.append((name, 0, 0, [f"no page: {problem}"]))
            continue
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
