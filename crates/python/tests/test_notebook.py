"""The example notebook runs."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")
pytest.importorskip("polars")
nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def test_the_first_look_runs_and_is_kept_without_outputs() -> None:
    notebook = nbformat.read(EXAMPLES / "first-look.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(EXAMPLES)}}).execute()
    assert sum("image/png" in output.get("data", {}) for cell in code for output in cell.outputs) == 2
