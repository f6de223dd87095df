"""treadle runs, checks, explains and rewrites the control flow of neural-network graphs."""

from treadle.api import (
    check,
    get_available_providers,
    infer,
    load,
    operator,
    optimize,
    repair,
    save,
)
from treadle.errors import (
    ComparisonError,
    DataError,
    Finding,
    InputError,
    InputTypeError,
    InvalidModel,
    KernelError,
    LimitExceeded,
    LoadError,
    RunError,
    Terminated,
    TreadleError,
    Unsupported,
)
from treadle.options import ExecutionMode, GraphOptimizationLevel, RunOptions, SessionOptions
from treadle.session import InferenceSession
from treadle.single import Operator
from treadle.tracing import Recorder

__version__ = "0.1.0"

__all__ = [
    "ComparisonError",
    "DataError",
    "ExecutionMode",
    "Finding",
    "GraphOptimizationLevel",
    "InferenceSession",
    "InputError",
    "InputTypeError",
    "InvalidModel",
    "KernelError",
    "LimitExceeded",
    "LoadError",
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
]
