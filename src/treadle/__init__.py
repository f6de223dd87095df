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
from treadle.errors import Finding, TreadleError
from treadle.options import ExecutionMode, GraphOptimizationLevel, RunOptions, SessionOptions
from treadle.session import InferenceSession
from treadle.single import Operator
from treadle.tracing import Recorder

__version__ = "0.1.0"

__all__ = [
    "ExecutionMode",
    "Finding",
    "GraphOptimizationLevel",
    "InferenceSession",
    "Operator",
    "Recorder",
    "RunOptions",
    "SessionOptions",
    "TreadleError",
    "check",
    "get_available_providers",
    "infer",
    "load",
    "operator",
    "optimize",
    "repair",
    "save",
]
