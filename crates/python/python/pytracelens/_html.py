"""How notebooks show tables and reports. Text from recordings is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import Report
    from ._table import Table

MOST_ROWS = 20
LONGEST_CELL = 80
# So many lines of so many characters, escaped, stay below 60 kB.
LONGEST_LINE = 200
MOST_LINES = 10
MOST_DEVICES = 4
MOST_WARNINGS = 5

# Kinds of a device's time, which add up to it, in colours that colour-blind readers can tell apart.
KINDS_OF_TIME = [
    ("computation_us", "computation", "#4477aa"),
    ("exposed_communication_us", "exposed communication", "#ee6677"),
    ("exposed_memcpy_us", "exposed memcpy", "#ccbb44"),
    ("idle_us", "idle", "#bbbbbb"),
]


def _short(text: str, longest: int = LONGEST_LINE) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _unit(unit: str | None, per: str | None) -> str:
    said = " per ".join(word for word in (unit if unit != "1" else None, per) if word)
    return f" <small>{escape(said)}</small>" if said else ""


def _cell(text: str) -> str:
    return f"<td>{escape(_short(text, LONGEST_CELL))}</td>"


def table(shown: Table) -> str:
    """The first rows, with units in the header."""
    native = shown._native
    heads = "".join(
        f'<th title="{escape(meaning)}">{escape(name)}{_unit(unit, per)}</th>' for name, _, unit, per, _, meaning in native.described()
    )
    rows = "".join(
        "<tr>" + "".join(_cell(text) for text in native.texts(row)) + "</tr>" for row in range(min(len(shown), MOST_ROWS))
    )
    more = len(shown) - MOST_ROWS
    rest = f"<p>{more} more {'row' if more == 1 else 'rows'}</p>" if more > 0 else ""
    return f"<table><caption>{escape(shown.name)}</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{rest}"


def report(shown: Report) -> str:
    """The first page: what was recorded, where the time went, the first findings, warnings."""
    result = shown.answer["result"] or {}
    parts = [f"<b>{escape(_short(' · '.join(result.get('head', []))))}</b>"]
    lines = [*result.get("statements", [])[:MOST_LINES], *result.get("program", [])[:MOST_LINES]]
    parts += [_bar(device) for device in result.get("devices", [])[:MOST_DEVICES]]
    for finding in shown.findings[:3]:
        gain = f"{finding.us.mid:.1f} µs: " if finding.us else ""
        lines.append(f"fix first: {gain}{finding.title} [{finding.rule}]")
    warnings = shown.warnings
    lines += [f"warning: {warning.message}" for warning in warnings[:MOST_WARNINGS]]
    if len(warnings) > MOST_WARNINGS:
        lines.append(f"{len(warnings) - MOST_WARNINGS} more warnings")
    parts.append("<ul>" + "".join(f"<li>{escape(_short(line))}</li>" for line in lines) + "</ul>")
    tables = ", ".join(escape(name) for name in shown)
    parts.append(f"<p>tables: {tables}</p>")
    return "".join(parts)


def _bar(device: dict[str, Any]) -> str:
    """Where the time of a device went, as a bar and in words."""
    total = device["total_us"] or 1.0
    shares = [(name, 100 * device[member] / total, colour) for member, name, colour in KINDS_OF_TIME]
    pieces = "".join(
        f'<span title="{name} {share:.1f}%" style="width:{share:.2f}%;background:{colour}"></span>' for name, share, colour in shares
    )
    words = ", ".join(f"{name} {share:.1f}%" for name, share, _ in shares)
    return (
        f"<div>{escape(_short(device['device']))}: {device['total_us'] / 1e3:.3f} ms, of which {words}</div>"
        f'<div style="display:flex;height:1em;max-width:50em">{pieces}</div>'
    )
