"""Classes of TraceLens whose work is done by a call of another form."""

from __future__ import annotations

from typing import Any


class _Elsewhere:
    """Says on construction what to call instead."""

    _instead: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} is not part of pytracelens.compat; use {self._instead}")


class TraceFuse(_Elsewhere):
    """Use ``tracelens fuse``."""

    _instead = "the command `tracelens fuse`"


class EventReplayer(_Elsewhere):
    """Use ``tracelens replay``."""

    _instead = "the command `tracelens replay`"


class JaxNcclAnalyser(_Elsewhere):
    """Use ``pytracelens.read_many``."""

    _instead = "pytracelens.read_many(paths), whose tables have the collectives of the hosts"


class JaxTreePerfAnalyzer(_Elsewhere):
    """Use ``pytracelens.read``."""

    _instead = "pytracelens.read(path), whose tables have the operators and rooflines of the profile"


def refuse(given: dict[str, Any], instead: dict[str, str]) -> None:
    """Raises for the first argument that is set though nothing here can honour it."""
    for name, value in given.items():
        if value:
            raise NotImplementedError(f"{name} is not part of pytracelens.compat; {instead[name]}")
