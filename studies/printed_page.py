"""Reader of the first page of `tracelens report -v` for first_pages.py: spans, shares, findings and tables as figures."""

import re

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
                rf"^(.*?) (?:span|window) {TIME} \(first start to last end[^)]*\): busy {TIME}, idle {TIME}" rf"(?:, not recorded {TIME})?", joined, re.M
            )
        ]
        self.shares = [
            {"computation": float(m[1]), "comm": float(m[2]), "copies": float(m[3]), "idle": float(m[4])}
            for m in re.finditer(r"█ computation ([\d.]+)%  ▓ exposed comm ([\d.]+)%  ▒ exposed copies ([\d.]+)%  ░ idle ([\d.]+)%", text)
        ]
        lines = joined.split("\n")
        self.head, self.headline = lines[0], lines[1] if len(lines) > 1 else ""
        self.findings = self.read_findings(text)
        self.tables = self.read_tables(text.split("\n"))

    @staticmethod
    def read_findings(text):
        """Two lines each: amount, share, gain and rule; where and what to do. Of a device, if the place ends with one."""
        findings, block = [], re.search(r"^fix first\n((?: .*\n)+)", text, re.M)
        for one in re.split(r"^  (?=\S)", block[1], flags=re.M)[1:] if block else []:
            found = re.match(
                rf"{TIME} \(([\d.]+)%\) (.*?)(?:, up to {TIME} recoverable)? \[([A-Z0-9-]+)[^\]]*\] (.*)", re.sub(r"\s+", " ", one)
            )
            where = found[8].split(" → ")[0]
            device = re.search(r", on (\S+ \d+|/device:\S+)", where)
            gain = duration(found[5], found[6]) if found[5] else None
            findings.append((duration(found[1], found[2]), float(found[3]), gain, found[7], where, device and device[1].strip()))
        return findings

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
