"""treadle runs, checks, explains and rewrites the control flow of neural-network graphs."""

from typing import Any

from treadle import parity
from treadle.adapters import LoraAdapter
from treadle.api import (
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
from treadle.feeds import NodeArg
from treadle.limits import LoadLimits
from treadle.options import (
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    RunOptions,
    SessionOptions,
)
from treadle.ort_session import ModelMetadata
from treadle.session import InferenceSession
from treadle.single_operator import Operator
from treadle.tracing import Recorder

__version__ = "0.1.0"

__all__ = [
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
    "Recorder",
    "RunError",
    "RunOptions",
    "SessionOptions",
    "Terminated",
    "TreadleError",
    "Unsupported",
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
]


def __getattr__(name: str) -> Any:
    """What onnxruntime has besides; loaded when it is asked for, as onnxruntime is."""
    if name == "IOBinding":
        from treadle.iobinding import IOBinding

        return IOBinding
    if name not in parity.SHARED:
        raise parity.missing(parity.MODULE, name)
    from treadle import delegate

    return delegate.of_onnxruntime(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *parity.SHARED, "IOBinding"})
