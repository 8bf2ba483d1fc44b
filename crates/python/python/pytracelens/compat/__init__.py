"""Lets notebooks written for TraceLens run on this package.

>>> import pytracelens.compat
>>> pytracelens.compat.install()                                     # doctest: +SKIP
True
>>> from TraceLens.TreePerf import TreePerfAnalyzer                  # doctest: +SKIP
>>> analyzer = TreePerfAnalyzer.from_file("trace.json.gz")           # doctest: +SKIP
>>> analyzer.get_df_kernel_launchers()                               # doctest: +SKIP

Frames are pandas, which has to be installed. Figures are those of this package, or with ``parity=True`` those of TraceLens.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

from ._analyzer import TreePerfAnalyzer
from ._diff import TraceDiff
from ._nccl import NcclAnalyser
from ._perf_model import GEMM, SDPA
from ._report import (
    build_sheet_category_to_op_names,
    dict_cat2names,
    generate_perf_report_pytorch,
    op_to_perf_model_class_map,
)
from ._timeline import DataLoader, GPUEventAnalyser, merge_intervals
from ._tree import Event, Events, Tree
from ._unsupported import EventReplayer, JaxNcclAnalyser, JaxTreePerfAnalyzer, TraceFuse

__all__ = [
    "DataLoader",
    "Event",
    "EventReplayer",
    "Events",
    "GEMM",
    "GPUEventAnalyser",
    "JaxNcclAnalyser",
    "JaxTreePerfAnalyzer",
    "NcclAnalyser",
    "SDPA",
    "TraceDiff",
    "TraceFuse",
    "Tree",
    "TreePerfAnalyzer",
    "build_sheet_category_to_op_names",
    "dict_cat2names",
    "generate_perf_report_pytorch",
    "install",
    "merge_intervals",
    "op_to_perf_model_class_map",
]

NAME = "TraceLens"

_CLASSES: dict[str, object] = {
    "DataLoader": DataLoader,
    "EventReplayer": EventReplayer,
    "GPUEventAnalyser": GPUEventAnalyser,
    "JaxNcclAnalyser": JaxNcclAnalyser,
    "JaxTreePerfAnalyzer": JaxTreePerfAnalyzer,
    "NcclAnalyser": NcclAnalyser,
    "TraceDiff": TraceDiff,
    "TraceFuse": TraceFuse,
    "TraceToTree": Tree,
    "TreePerfAnalyzer": TreePerfAnalyzer,
}

_MODELS: dict[str, object] = {
    "build_sheet_category_to_op_names": build_sheet_category_to_op_names,
    "dict_cat2names": dict_cat2names,
    "op_to_perf_model_class_map": op_to_perf_model_class_map,
}

_CONTENTS: dict[str, dict[str, object]] = {
    NAME: _CLASSES,
    f"{NAME}.TreePerf": {
        "GPUEventAnalyser": GPUEventAnalyser,
        "JaxTreePerfAnalyzer": JaxTreePerfAnalyzer,
        "TreePerfAnalyzer": TreePerfAnalyzer,
    },
    f"{NAME}.NcclAnalyser": {"NcclAnalyser": NcclAnalyser},
    f"{NAME}.NcclAnalyser.nccl_analyser": {"NcclAnalyser": NcclAnalyser},
    f"{NAME}.PerfModel": {"GEMM": GEMM, "SDPA": SDPA, **_MODELS},
    f"{NAME}.PerfModel.perf_model": {"GEMM": GEMM, "SDPA": SDPA},
    f"{NAME}.PerfModel.torch_op_mapping": _MODELS,
    f"{NAME}.Reporting": {},
    f"{NAME}.Reporting.generate_perf_report_pytorch": {"generate_perf_report_pytorch": generate_perf_report_pytorch},
    f"{NAME}.TraceDiff": {"TraceDiff": TraceDiff},
    f"{NAME}.util": {"DataLoader": DataLoader, "merge_intervals": merge_intervals},
}


class _Module(ModuleType):
    """A module that ``install`` made."""


def _is_real() -> bool:
    present = sys.modules.get(NAME)
    if present is not None:
        return not isinstance(present, _Module)
    return importlib.util.find_spec(NAME) is not None


def install(force: bool = False) -> bool:
    """Makes ``import TraceLens`` and its modules mean this package, in this process; whether it did.

    A TraceLens that is really installed is left alone, unless ``force`` says to take its place.
    """
    if not force and _is_real():
        return False
    for name in [name for name in sys.modules if name == NAME or name.startswith(f"{NAME}.")]:
        del sys.modules[name]
    for name, contents in _CONTENTS.items():
        module = _Module(name, "Stands in for the module of TraceLens of this name.")
        is_package = any(other.startswith(f"{name}.") for other in _CONTENTS)
        module.__spec__ = ModuleSpec(name, None, is_package=is_package)
        if is_package:
            module.__path__ = []
        module.__dict__.update(contents)
        sys.modules[name] = module
        parent, _, last = name.rpartition(".")
        # TraceLens has classes of the name of their module.
        if parent and last not in _CONTENTS[parent]:
            setattr(sys.modules[parent], last, module)
    return True
