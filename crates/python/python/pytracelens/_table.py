"""Tables as Arrow, without a copy of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow  # type: ignore[import-untyped]

    from . import _native


class Table:
    """Rows of a sheet. Libraries that read the Arrow C stream interface take it as it is: ``polars.DataFrame(table)``."""

    def __init__(self, native: _native.Table) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """Name of the sheet."""
        return self._native.name

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return [name for name, _, _ in self._native.described()]

    @property
    def units(self) -> dict[str, str | None]:
        """Unit of each column; None where its cells are no quantities."""
        return {name: unit for name, unit, _ in self._native.described()}

    @property
    def descriptions(self) -> dict[str, str]:
        """Meaning of each column."""
        return {name: description for name, _, description in self._native.described()}

    def __len__(self) -> int:
        return len(self._native)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._native.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pyarrow.Table:
        """A table of pyarrow, which has to be installed."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> polars.DataFrame:
        """A DataFrame of polars, which has to be installed."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame of pandas, which has to be installed with pyarrow."""
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame

    def __repr__(self) -> str:
        return f"<Table {self.name}: {len(self)} rows, {len(self.columns)} columns>"

    def _repr_html_(self) -> str:
        from ._html import table

        return table(self)
