"""What a reader of the package's objects sees of them."""

from __future__ import annotations

from collections.abc import Iterable


class Public:
    """Lists no private names, which notebooks would offer to complete."""

    __slots__ = ()

    def __dir__(self) -> Iterable[str]:
        return [name for name in super().__dir__() if name.startswith("__") or not name.startswith("_")]
