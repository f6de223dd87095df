"""The public names, and what importing treadle costs."""

import json
import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest

import treadle

PUBLIC = [
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

ROOMS = sorted(room.name for room in pkgutil.iter_modules(treadle.__path__) if room.ispkg)
LAZY = ("llvmlite", "onnxruntime", "onnx.reference", "click", "rich")
MEASURE = """
import json, sys, time
start = time.process_time()
import treadle
print(json.dumps([time.process_time() - start, sorted(sys.modules)]))
"""


def test_the_public_names_are_these() -> None:
    assert sorted(treadle.__all__) == PUBLIC
    assert all(hasattr(treadle, name) for name in PUBLIC)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_the_names_it_lists(room: str) -> None:
    module = import_module(f"treadle.{room}")
    assert module.__doc__
    assert len(set(module.__all__)) == len(module.__all__)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_importing_treadle_is_quick_and_leaves_heavy_packages_alone() -> None:
    runs = [_measure() for _ in range(3)]
    assert [name for name in LAZY if name in runs[0][1]] == []
    assert (
        min(seconds for seconds, _ in runs) < 1.0
    )  # 0.3 s on an idle machine; this one may not be


def _measure() -> tuple[float, list[str]]:
    command = [sys.executable, "-c", MEASURE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, modules = json.loads(done.stdout)
    return seconds, modules
