"""pandas, imported when a frame is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas


def frame(rows: list[dict[str, Any]], columns: list[str]) -> pandas.DataFrame:
    """A frame of these rows and columns, in this order."""
    made: pandas.DataFrame = library().DataFrame(rows, columns=columns)
    return made


def library() -> Any:
    """The module pandas."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("pytracelens.compat makes frames of pandas: pip install pandas pyarrow") from error
    return pandas
