"""Events and their tree, as notebooks of TraceLens walk them. Times are in µs."""

from __future__ import annotations

import pprint
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload
from weakref import ref

from .. import _native

GPU_CATEGORIES = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})


class Event(dict[str, Any]):
    """An event of a recording: the recorder's fields, and those of its place in the tree, which are UIDs.

    ``UID ph cat name pid tid ts dur t_end args``, and where there are any ``parent children gpu_events fwd_event bwd_events``.
    What is written into it stays: whoever looks the event up again gets the same object.

    It begins with what costs little, for those who search the names of all events, and has the rest once it is asked for
    that: arguments, and its place in the tree.
    """

    __slots__ = ("__weakref__", "_uid", "_events", "_is_whole")

    def __init__(self, fields: dict[str, Any], events: Events) -> None:
        super().__init__(fields)
        self._uid: int = fields["UID"]
        self._events = events
        self._is_whole = False

    def _fill(self) -> None:
        if not self._is_whole:
            self._is_whole = True
            super().update(self._events._native.event(self._uid))

    def _change(self) -> None:
        self._fill()
        self._events._written[self._uid] = self

    def __missing__(self, key: str) -> Any:
        if self._is_whole:
            raise KeyError(key)
        self._fill()
        return self[key]

    def get(self, key: str, default: Any = None) -> Any:
        return super().get(key, default) if super().__contains__(key) else self._whole_get(key, default)

    def _whole_get(self, key: str, default: Any) -> Any:
        self._fill()
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        if super().__contains__(key):
            return True
        self._fill()
        return super().__contains__(key)

    def __iter__(self) -> Iterator[str]:
        self._fill()
        return super().__iter__()

    def __reversed__(self) -> Iterator[str]:
        self._fill()
        return super().__reversed__()

    def __len__(self) -> int:
        self._fill()
        return super().__len__()

    def __eq__(self, other: object) -> bool:
        self._fill()
        if isinstance(other, Event):
            other._fill()
        return super().__eq__(other)

    __hash__ = None

    def __repr__(self) -> str:
        self._fill()
        return super().__repr__()

    def __or__(self, other: Any) -> Any:
        return dict(self) | other

    def __ror__(self, other: Any) -> Any:
        return other | dict(self)

    def keys(self) -> Any:
        self._fill()
        return super().keys()

    def values(self) -> Any:
        self._fill()
        return super().values()

    def items(self) -> Any:
        self._fill()
        return super().items()

    def copy(self) -> dict[str, Any]:
        return dict(self)

    def __setitem__(self, key: str, value: Any) -> None:
        self._change()
        super().__setitem__(key, value)

    def __delitem__(self, key: str) -> None:
        self._change()
        super().__delitem__(key)

    def setdefault(self, key: str, default: Any = None) -> Any:
        self._change()
        return super().setdefault(key, default)

    def update(self, *args: Any, **fields: Any) -> None:
        self._change()
        super().update(*args, **fields)

    def __ior__(self, other: Any) -> Event:  # type: ignore[override]
        self.update(other)
        return self

    def pop(self, *args: Any) -> Any:
        self._change()
        return super().pop(*args)

    def popitem(self) -> tuple[str, Any]:
        self._change()
        return super().popitem()

    def clear(self) -> None:
        self._change()
        super().clear()

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        return dict, (dict(self),)


# Else `pprint`, which notebooks call on events, would write them into one line: it knows dictionaries by their `__repr__`.
_printers: Any = getattr(pprint.PrettyPrinter, "_dispatch", {})
if dict.__repr__ in _printers:
    _printers[Event.__repr__] = _printers[dict.__repr__]


class Events(Sequence[Event]):
    """The events of a recording in the order of the file, made when they are looked at.

    An event's position is not its UID, which counts all entries of the file: look UIDs up in ``by_uid``.
    """

    # So many are made at once by those who look at all.
    _AT_ONCE = 1024

    def __init__(self, native: _native.NativeAnalysis) -> None:
        self._native = native
        self._uids = native.uids()
        # Plain references: those of a WeakValueDictionary, which leave it when they die, take longer than the events.
        self._alive: dict[int, ref[Event]] = {}
        self._written: dict[int, Event] = {}

    def _of(self, uid: int, fields: dict[str, Any] | None) -> Event:
        known = self._alive.get(uid)
        event = None if known is None else known()
        if event is None:
            event = Event(fields or self._native.briefs([uid])[0], self)
            self._alive[uid] = ref(event)
        return event

    def uid(self, uid: int) -> Event:
        """The event of this UID; ``KeyError`` where there is none."""
        return self._of(uid, None)

    @property
    def by_uid(self) -> Mapping[int, Event]:
        """The events by their UID."""
        return _ByUid(self)

    def __len__(self) -> int:
        return len(self._uids)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> list[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | list[Event]:
        if isinstance(index, slice):
            return list(self._all(self._uids[index]))
        return self.uid(self._uids[index])

    def __iter__(self) -> Iterator[Event]:
        return self._all(self._uids)

    def _all(self, uids: list[int]) -> Iterator[Event]:
        for begin in range(0, len(uids), self._AT_ONCE):
            some = uids[begin : begin + self._AT_ONCE]
            yield from map(self._of, some, self._native.briefs(some))


class _ByUid(Mapping[int, Event]):
    def __init__(self, events: Events) -> None:
        self._events = events

    def __getitem__(self, uid: int) -> Event:
        return self._events.uid(uid)

    def __iter__(self) -> Iterator[int]:
        return iter(self._events._uids)

    def __len__(self) -> int:
        return len(self._events)


class Tree:
    """Host calls and below them the device events that they launched."""

    def __init__(self, native: _native.NativeAnalysis) -> None:
        self._native = native
        self.events = Events(native)

    @property
    def events_by_uid(self) -> Mapping[int, Event]:
        """The events by their UID."""
        return self.events.by_uid

    @property
    def cpu_root_nodes(self) -> list[int]:
        """UIDs of the operators that no other operator encloses, in the order of time."""
        return self._native.operator_roots()

    def get_UID2event(self, UID: int) -> Event:
        """The event of this UID; ``KeyError`` where there is none."""
        return self.events.uid(UID)

    def _all(self, uids: Iterable[int]) -> list[Event]:
        return [self.events.uid(uid) for uid in uids]

    def get_parent_event(self, event: Mapping[str, Any]) -> Event | None:
        """The event that this one ran in; for a device event its launch. None for a root."""
        parent = event.get("parent")
        return None if parent is None else self.events.uid(parent)

    def get_children_events(self, event: Mapping[str, Any]) -> list[Event]:
        """The events directly below."""
        return self._all(event.get("children", ()))

    def get_gpu_events(self, event: Mapping[str, Any]) -> list[Event]:
        """All device events below, in the order of the file."""
        return self._all(event.get("gpu_events", ()))

    def traverse_subtree_and_print(
        self,
        node: Mapping[str, Any],
        prune_non_gpu: bool = True,
        cpu_op_fields: Sequence[str] = (),
        include_bwd: bool = False,
    ) -> None:
        """Prints an event and what is below it, with these arguments of operators."""
        print(self._native.subtree_text(node["UID"], prune_non_gpu, list(cpu_op_fields), include_bwd), end="")

    def traverse_parents_and_print(
        self, node: Mapping[str, Any], cpu_op_fields: Sequence[str] = (), follow_fwd_link: bool = False
    ) -> Event:
        """Prints an event and what is above it; the topmost of these. ``follow_fwd_link`` goes on from a backward event
        with the forward one."""
        print(self._native.parents_text(node["UID"], list(cpu_op_fields), follow_fwd_link), end="")
        root = self.events.uid(self._native.root(node["UID"]))
        if follow_fwd_link and "parent" not in node and "fwd_event" in node:
            root = self.events.uid(self._native.root(node["fwd_event"]))
        return root

    def _needs_modules(self) -> None:
        if not self._native.python_frames:
            raise ValueError("the tree has no frames of Python: TreePerfAnalyzer.from_file(…, add_python_func=True) reads them")

    def get_nn_module_children(self, nn_module_event: Event) -> list[int]:
        """UIDs of the nearest modules below; they are kept on the event, and it on them."""
        self._needs_modules()
        if "nn_module_children" not in nn_module_event:
            children = self._native.child_modules(nn_module_event["UID"])
            nn_module_event["nn_module_children"] = children
            for child in self._all(children):
                child["nn_module_parent"] = nn_module_event["UID"]
        found: list[int] = nn_module_event["nn_module_children"]
        return found

    def get_nn_module_parent(self, nn_module_event: Event) -> int | None:
        """UID of the nearest module above; None where there is none."""
        self._needs_modules()
        if "nn_module_parent" not in nn_module_event:
            nn_module_event["nn_module_parent"] = self._native.parent_module(nn_module_event["UID"])
        found: int | None = nn_module_event["nn_module_parent"]
        return found
