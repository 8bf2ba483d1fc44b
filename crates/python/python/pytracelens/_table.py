"""Tables as Arrow data: exported data shares the memory of the table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ._public import Public

if TYPE_CHECKING:
    import numpy
    import pandas
    import polars
    import pyarrow  # type: ignore[import-untyped]

    from . import _native


class Column(Public):
    """A column of a table. Libraries that read the Arrow C data interface accept it directly: ``pyarrow.array(column)``."""

    def __init__(self, table: _native.Table, name: str, kind: str, unit: str | None, per: str | None, aggregate: str, description: str) -> None:
        self._native = table
        self.name = name
        self.kind = kind
        """Kind of the column: one of ``text literal flag id count duration size rate share work ratio``."""
        self.unit = unit
        """Unit of the cells, such as ``us``; None if they are not quantities."""
        self.per = per
        """What the figure refers to, such as ``call`` for the mean over the row's calls; None for the whole row."""
        self.aggregate = aggregate
        """How to combine cells when rows are merged: one of ``key sum min max none``."""
        self.description = description

    def __len__(self) -> int:
        return len(self._native)

    def __iter__(self) -> Iterator[Any]:
        """The cells; None where there is no value."""
        return iter(self.to_list())

    def to_list(self) -> list[Any]:
        """The cells; None where there is no value."""
        return self._native.values(self.name)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._native.column_capsules(self.name)

    def __arrow_c_schema__(self) -> object:
        return self._native.column_schema(self.name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray[Any, Any]:
        """A numpy array (needs numpy): numbers, with NaN for missing values, or texts as objects."""
        import numpy

        if copy is False:
            raise ValueError("the cells are copied into an array of numpy; pyarrow shares their memory")
        numbers = self._native.numbers(self.name)
        if numbers is None:
            array = numpy.array(self.to_list(), dtype=object)
        else:
            array = numpy.frombuffer(numbers[1], dtype=numbers[0])
        return array if dtype is None else array.astype(dtype, copy=False)

    def __repr__(self) -> str:
        unit = "" if self.unit is None else f" [{self.unit}]"
        return f"<Column {self.name}{unit}: {len(self)} cells>"


class Table(Public):
    """Rows of a sheet. Libraries that read the Arrow C stream interface accept it directly: ``polars.DataFrame(table)``."""

    def __init__(self, native: _native.Table) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """Name of the sheet."""
        return self._native.name

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return [column[0] for column in self._native.described()]

    @property
    def units(self) -> dict[str, str | None]:
        """Unit of each column, such as ``us``; None if its cells are not quantities."""
        return {name: unit for name, _, unit, _, _, _ in self._native.described()}

    @property
    def descriptions(self) -> dict[str, str]:
        """Meaning of each column."""
        return {column[0]: column[5] for column in self._native.described()}

    def __len__(self) -> int:
        return len(self._native)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows, as dictionaries by column: what ``pandas.DataFrame(table)`` takes. ``to_pandas`` is faster."""
        names = self.columns
        cells = [self._native.values(name) for name in names]
        return (dict(zip(names, row)) for row in zip(*cells))

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __getitem__(self, name: str) -> Column:
        """The column of this name; if there is none, ``UnknownName`` (a ``KeyError``) lists similar names."""
        return Column(self._native, *self._native.described_column(name))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._native.__arrow_c_schema__()

    def to_arrow(self) -> pyarrow.Table:
        """A pyarrow table (needs pyarrow)."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> polars.DataFrame:
        """A polars DataFrame (needs polars)."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas DataFrame (needs pandas and pyarrow)."""
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame

    def __repr__(self) -> str:
        return f"<Table {self.name}: {len(self)} rows, {len(self.columns)} columns>"

    def _repr_html_(self) -> str:
        from ._html import table

        return table(self)
