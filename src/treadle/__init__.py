"""treadle runs, checks, explains and rewrites the control flow of neural-network graphs.

`import treadle` imports nothing else: a name's room is imported on first use.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treadle.adapters import LoraAdapter
    from treadle.api import (
        build,
        check,
        get_available_providers,
        infer,
        load,
        operator,
        optimize,
        repair,
        save,
        set_default_logger_severity,
        set_seed,
    )
    from treadle.bench import Benchmark, bench
    from treadle.comparing import Comparison
    from treadle.comparing.compare import compare
    from treadle.errors import (
        ComparisonError,
        ConfigurationError,
        DataError,
        Finding,
        InputError,
        InputTypeError,
        InvalidModel,
        KernelError,
        LimitExceeded,
        LoadError,
        LoadLimitExceeded,
        RunError,
        Terminated,
        TreadleError,
        Unsupported,
    )
    from treadle.exposing import expose
    from treadle.feeds import NodeArg
    from treadle.html_report import write_report
    from treadle.limits import LoadLimits
    from treadle.options import (
        ExecutionMode,
        ExecutionOrder,
        GraphOptimizationLevel,
        RunOptions,
        SessionOptions,
    )
    from treadle.ort_session import ModelMetadata
    from treadle.passes import Change, Report
    from treadle.predict import Predictor
    from treadle.profiler import RunProfile
    from treadle.profiler.measure import profile
    from treadle.rewriting import (
        convert_dtype,
        convert_version,
        reroll,
        rewrite,
        specialize,
        unroll,
    )
    from treadle.session import InferenceSession
    from treadle.single_operator import Operator
    from treadle.tracing import Progress, Recorder

__version__ = "0.2.0"

__all__ = [
    "Benchmark",
    "Change",
    "Comparison",
    "ComparisonError",
    "ConfigurationError",
    "DataError",
    "ExecutionMode",
    "ExecutionOrder",
    "Finding",
    "GraphOptimizationLevel",
    "InferenceSession",
    "InputError",
    "InputTypeError",
    "InvalidModel",
    "KernelError",
    "LimitExceeded",
    "LoadError",
    "LoadLimitExceeded",
    "LoadLimits",
    "LoraAdapter",
    "ModelMetadata",
    "NodeArg",
    "Operator",
    "Predictor",
    "Progress",
    "Recorder",
    "Report",
    "RunError",
    "RunOptions",
    "RunProfile",
    "SessionOptions",
    "Terminated",
    "TreadleError",
    "Unsupported",
    "bench",
    "build",
    "check",
    "compare",
    "convert_dtype",
    "convert_version",
    "expose",
    "get_available_providers",
    "infer",
    "load",
    "operator",
    "optimize",
    "profile",
    "repair",
    "reroll",
    "rewrite",
    "save",
    "set_default_logger_severity",
    "set_seed",
    "specialize",
    "unroll",
    "write_report",
]

_HOMES = {
    "adapters": ("LoraAdapter",),
    "api": (
        "build",
        "check",
        "get_available_providers",
        "infer",
        "load",
        "operator",
        "optimize",
        "repair",
        "save",
        "set_default_logger_severity",
        "set_seed",
    ),
    "bench": ("Benchmark", "bench"),
    "comparing": ("Comparison", "compare"),
    "errors": (
        "ComparisonError",
        "ConfigurationError",
        "DataError",
        "Finding",
        "InputError",
        "InputTypeError",
        "InvalidModel",
        "KernelError",
        "LimitExceeded",
        "LoadError",
        "LoadLimitExceeded",
        "RunError",
        "Terminated",
        "TreadleError",
        "Unsupported",
    ),
    "exposing": ("expose",),
    "feeds": ("NodeArg",),
    "html_report": ("write_report",),
    "iobinding": ("IOBinding",),
    "limits": ("LoadLimits",),
    "options": (
        "ExecutionMode",
        "ExecutionOrder",
        "GraphOptimizationLevel",
        "RunOptions",
        "SessionOptions",
    ),
    "ort_session": ("ModelMetadata",),
    "passes": ("Change", "Report"),
    "predict": ("Predictor",),
    "profiler": ("RunProfile", "profile"),
    "rewriting": ("convert_dtype", "convert_version", "reroll", "rewrite", "specialize", "unroll"),
    "session": ("InferenceSession",),
    "single_operator": ("Operator",),
    "tracing": ("Progress", "Recorder"),
}
"""The room of each public name; the imports above repeat it for type checkers."""

_ROOM_OF = {name: room for room, names in _HOMES.items() for name in names}


_PUBLIC_ROOMS = ("ir", "surgery")
"""Rooms with public functions that are not at the top level."""


class _Package(ModuleType):
    """The package: importing the room `treadle.infer` must not replace the function `infer`."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _ROOM_OF and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by name: a function of a notebook that uses `treadle` goes to other processes."""
        return import_module, (__name__,)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    """Import a public name on first use; names that only onnxruntime has come from onnxruntime."""
    if name in _ROOM_OF:
        found = getattr(import_module(f"treadle.{_ROOM_OF[name]}"), name)
        globals()[name] = found
        return found
    if name in _PUBLIC_ROOMS:
        return import_module(f"treadle.{name}")
    parity = import_module("treadle.parity")
    if name not in parity.SHARED:
        raise parity.missing(parity.MODULE, name)
    return import_module("treadle.delegate").of_onnxruntime(name)


def __dir__() -> list[str]:
    return sorted(__all__)
