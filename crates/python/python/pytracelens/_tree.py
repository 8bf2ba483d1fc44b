"""The call tree of a trace: calls of the host and below them the device events that they launched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, overload

from ._table import Table

if TYPE_CHECKING:
    from . import _native


class Node:
    """A call of the host or a device event. Two are equal that stand for the same event of the same recording."""

    __slots__ = ("_native", "uid")

    def __init__(self, native: _native.NativeAnalysis, uid: int) -> None:
        self._native = native
        self.uid = uid
        """Index of the event in the file's event list."""

    @property
    def name(self) -> str:
        """Name of the event."""
        return self._native.node(self.uid)[0]

    @property
    def kind(self) -> str:
        """Category of the event, as named by the profiler: ``cpu_op``, ``kernel``."""
        return self._native.node(self.uid)[1]

    @property
    def dur_us(self) -> float:
        """Duration of the event in µs; for a call of the host that on the host."""
        return self._native.node(self.uid)[2]

    @property
    def us(self) -> float:
        """Sum of durations of the device events launched by it or its descendants, in µs."""
        return self._native.node(self.uid)[3]

    @property
    def parent(self) -> Node | None:
        """The call that it ran in; of a device event its launch."""
        parent = self._native.parent(self.uid)
        return None if parent is None else Node(self._native, parent)

    @property
    def children(self) -> list[Node]:
        """The nodes directly below."""
        return [Node(self._native, uid) for uid in self._native.children(self.uid)]

    @property
    def kernels(self) -> list[Node]:
        """The device events that it and all below it launched, in the order of the file."""
        return [Node(self._native, uid) for uid in self._native.kernels(self.uid)]

    @property
    def args(self) -> dict[str, Any]:
        """Its arguments, under the recorder's names."""
        return self._native.arguments(self.uid)

    def walk(self) -> Iterator[Node]:
        """This node and all below it, each before those below it."""
        yield self
        for uid in self._native.below(self.uid):
            yield Node(self._native, uid)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self.uid == other.uid and self._native is other._native

    def __hash__(self) -> int:
        return hash((id(self._native), self.uid))

    def __str__(self) -> str:
        return self._native.subtree_text(self.uid, False, [], False).rstrip("\n")

    def __repr__(self) -> str:
        return f"<Node {self.uid} {self.kind} {self.name!r}: {self.us:.3f} µs on devices>"


class Tree:
    """The call tree of a trace."""

    def __init__(self, report: _native.NativeReport) -> None:
        self._report = report
        self._native = report.analysis()

    @property
    def roots(self) -> list[Node]:
        """The calls of the host that ran in no other, in the order of time."""
        return [Node(self._native, uid) for uid in self._native.roots()]

    @overload
    def find(self, name: str, *, uid: None = None) -> list[Node]: ...
    @overload
    def find(self, name: None = None, *, uid: int) -> Node: ...
    def find(self, name: str | None = None, *, uid: int | None = None) -> Node | list[Node]:
        """The nodes of a name in the order of the file, or the node of an event; ``KeyError`` where the tree has no such event."""
        if (name is None) == (uid is None):
            raise TypeError("find takes either a name or a uid")
        if name is not None:
            return [Node(self._native, found) for found in self._native.named(name)]
        assert uid is not None
        self._native.node(uid)
        return Node(self._native, uid)

    def table(
        self,
        name: str | None = None,
        *,
        uid: int | None = None,
        callers: bool = False,
        depth: int = 4,
        min_us: float = 0.0,
        top: int = 1000,
    ) -> Table:
        """What calls launch, or who calls them: uid, depth, name, kind, device_us, calls; identical siblings share one row.

        Starts at the calls of a name, at one event, or at the roots.
        """
        return Table(self._report.tree(uid, name, callers, depth, min_us, top))
