"""Who is told how far reading has come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Union

Call = Callable[[int, int], object]
Progress = Union[Call, bool]


@contextmanager
def told(progress: Progress | None) -> Iterator[Call | None]:
    """The callable that is told bytes read and bytes in all; for True one that moves a bar of tqdm, which has to be installed."""
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
