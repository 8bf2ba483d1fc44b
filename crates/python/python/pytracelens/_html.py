"""How notebooks show tables and reports. Text of recordings is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import Report
    from ._table import Table

MOST_ROWS = 20
LONGEST_CELL = 80


def _cell(text: str) -> str:
    short = text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"
    return f"<td>{escape(short)}</td>"


def table(shown: Table) -> str:
    """The first rows, with units in the header."""
    native = shown._native
    heads = "".join(
        f'<th title="{escape(meaning)}">{escape(name)}{f" <small>{escape(unit)}</small>" if unit and unit != "1" else ""}</th>'
        for name, unit, meaning in native.described()
    )
    rows = "".join(
        "<tr>" + "".join(_cell(text) for text in native.texts(row)) + "</tr>" for row in range(min(len(shown), MOST_ROWS))
    )
    rest = f"<p>{len(shown) - MOST_ROWS} more rows</p>" if len(shown) > MOST_ROWS else ""
    return f"<table><caption>{escape(shown.name)}</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{rest}"


def report(shown: Report) -> str:
    """The first page: what was recorded, where the time went, the first findings, warnings."""
    result = shown.answer["result"] or {}
    parts = [f"<b>{escape(' · '.join(result.get('head', [])))}</b>"]
    lines = [*result.get("statements", []), *result.get("program", [])]
    for device in result.get("devices", []):
        total = device["total_us"] or 1.0
        shares = ", ".join(
            f"{name.removesuffix('_us').replace('_', ' ')} {100 * device[name] / total:.1f} %"
            for name in ("computation_us", "exposed_communication_us", "exposed_memcpy_us", "idle_us")
        )
        lines.append(f"{device['device']}: {device['total_us'] / 1e3:.3f} ms, of which {shares}")
    for finding in shown.findings[:3]:
        gain = f"{finding['us']['mid']:.1f} µs: " if finding["us"] else ""
        lines.append(f"fix first: {gain}{finding['title']} [{finding['rule']}]")
    lines += [f"warning: {warning['message']}" for warning in shown.warnings]
    parts.append("<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>")
    tables = ", ".join(escape(name) for name in shown)
    parts.append(f"<p>tables: {tables}</p>")
    return "".join(parts)
