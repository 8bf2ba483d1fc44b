"""Events over time, and where the time of the devices went."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import TYPE_CHECKING, Literal, Union

from ._public import Public
from ._table import Table

if TYPE_CHECKING:
    from . import _native

Window = Union[int, tuple[float, float], Literal["steady"]]


class Timeline(Public):
    """The events of a trace."""

    def __init__(self, native: _native.NativeAnalysis) -> None:
        self._native = native

    def __repr__(self) -> str:
        return f"<Timeline: {len(self._native.uids()):,} events>"

    def breakdown(self, window: Window | None = None) -> Table:
        """Where the time of each device went, in µs, from the start of its first event in the window to the end of its last.

        ``computation_us``, ``exposed_communication_us``, ``exposed_memcpy_us`` and ``idle_us`` add up to ``total_us``. The
        window is the index of a step, a time range as (start, end) in µs after the recording's first event, or ``"steady"`` for
        the steady steps; None means the whole recording.
        """
        is_stretch = isinstance(window, tuple) and len(window) == 2 and all(isinstance(time, Real) for time in window)
        if not (window is None or is_stretch or isinstance(window, (Integral, str))):
            raise TypeError(f'a window is a step, (start, end) in µs, "steady" or None, not {window!r}')
        return Table(self._native.device_times(window))

    def events(self, columns: Iterable[str] | None = None) -> Table:
        """All events in file order, with these columns; by default, with all columns:

        ``uid name category start_us duration_us process thread device stream correlation external_id parent sequence_number``;
        texts are dictionary-encoded.
        """
        return Table(self._native.events(None if columns is None else list(columns)))
