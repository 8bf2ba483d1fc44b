"""Progress of reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Union

Call = Callable[[int, int], object]
Progress = Union[Call, bool]


@contextmanager
def told(progress: Progress | None) -> Iterator[Call | None]:
    """The function to call with the bytes read and the total bytes; for True, one that updates a tqdm bar (needs tqdm)."""
    if not isinstance(progress, bool):
        if progress is not None and not callable(progress):
            raise TypeError(f"progress is a callable or True, not {progress!r}")
        yield progress
        return
    if not progress:
        yield None
        return
    from tqdm.auto import tqdm  # type: ignore[import-untyped]

    with tqdm(unit="B", unit_scale=True, unit_divisor=1024) as bar:

        def move(read: int, total: int) -> None:
            bar.total = total
            bar.update(read - bar.n)

        yield move
