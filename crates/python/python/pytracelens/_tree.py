"""The call tree of a trace: host calls, and below each the device events that it launched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, overload

from ._public import Public
from ._table import Table

if TYPE_CHECKING:
    from . import _native


class Node(Public):
    """A host call or a device event. Two nodes are equal if they stand for the same event of the same recording."""

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
        """Duration of the event in µs; for a host call, its time on the host."""
        return self._native.node(self.uid)[2]

    @property
    def us(self) -> float:
        """Sum of the durations of the device events launched by this node or its descendants, in µs."""
        return self._native.node(self.uid)[3]

    @property
    def parent(self) -> Node | None:
        """The enclosing call; for a device event, its launch."""
        parent = self._native.parent(self.uid)
        return None if parent is None else Node(self._native, parent)

    @property
    def children(self) -> list[Node]:
        """The nodes directly below this one."""
        return [Node(self._native, uid) for uid in self._native.children(self.uid)]

    @property
    def kernels(self) -> list[Node]:
        """The device events launched by this node and its descendants, in file order."""
        return [Node(self._native, uid) for uid in self._native.kernels(self.uid)]

    @property
    def args(self) -> dict[str, Any]:
        """The arguments, under the recorder's names."""
        return self._native.arguments(self.uid)

    def walk(self) -> Iterator[Node]:
        """This node and its descendants, each node before its own descendants."""
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


class Tree(Public):
    """The call tree of a trace."""

    def __init__(self, report: _native.NativeReport) -> None:
        self._report = report
        self._native = report.analysis()

    @property
    def roots(self) -> list[Node]:
        """The outermost host calls, in order of time."""
        return [Node(self._native, uid) for uid in self._native.roots()]

    @overload
    def find(self, name: str, *, uid: None = None) -> list[Node]: ...
    @overload
    def find(self, name: None = None, *, uid: int) -> Node: ...
    def find(self, name: str | None = None, *, uid: int | None = None) -> Node | list[Node]:
        """The nodes with this name, in file order, or the node of this event; raises ``KeyError`` if the tree has no such event."""
        if (name is None) == (uid is None):
            raise TypeError("find takes either a name or a uid")
        if name is not None:
            return [Node(self._native, found) for found in self._native.named(name)]
        assert uid is not None
        self._native.node(uid)
        return Node(self._native, uid)

    def __repr__(self) -> str:
        return f"<Tree: {len(self._native.roots()):,} roots>"

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

        Starts at all calls of one name, at one event, or at the roots.
        """
        return Table(self._report.tree(uid, name, callers, depth, min_us, top))
