"""The options of a session and of a run, with onnxruntime's fields and a few of ours."""

from treadle.options.options import (
    COMPILE_MODES,
    CompileMode,
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    RunOptions,
    SessionOptions,
)

__all__ = [
    "COMPILE_MODES",
    "CompileMode",
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "RunOptions",
    "SessionOptions",
]
