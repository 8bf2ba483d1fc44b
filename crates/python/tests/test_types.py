"""The package says truly what its types are."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pytracelens

pytest.importorskip("mypy", reason="mypy is not installed: the types were not checked")

PACKAGE = Path(pytracelens.__file__).parent


def run(folder: Path, *arguments: str) -> None:
    """Runs a module of Python in a folder, where mypy leaves its cache."""
    out = subprocess.run([sys.executable, "-m", *arguments], cwd=folder, capture_output=True, text=True)
    assert out.returncode == 0, out.stdout + out.stderr


def test_the_package_is_typed_strictly(tmp_path: Path) -> None:
    # mypy takes no files from where packages are installed.
    copy = shutil.copytree(PACKAGE, tmp_path / "pytracelens", ignore=shutil.ignore_patterns("*.so", "*.pyd"))
    run(tmp_path, "mypy", "--strict", str(copy))


def test_types_are_those_of_what_runs(tmp_path: Path) -> None:
    # Libraries without types, which are imported for their types alone.
    allowed = tmp_path / "allowed"
    allowed.write_text(r"pytracelens\._table\.pyarrow")
    run(tmp_path, "mypy.stubtest", "pytracelens", "--allowlist", str(allowed), "--ignore-unused-allowlist")
