"""The public names, and the cost of importing treadle."""

import ast
import inspect
import json
import pickle
import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest

import treadle

PUBLIC = [
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

ROOMS = sorted(room.name for room in pkgutil.iter_modules(treadle.__path__) if room.ispkg)
LAZY = ("llvmlite", "numpy", "onnx", "onnxruntime", "click", "rich")
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
def test_every_name_in_all_exists(room: str) -> None:
    module = import_module(f"treadle.{room}")
    assert module.__doc__
    assert len(set(module.__all__)) == len(module.__all__)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_dir_is_the_public_names() -> None:
    assert dir(treadle) == PUBLIC


def test_type_checkers_see_what_is_imported_when_it_is_used() -> None:
    tree = ast.parse(inspect.getsource(treadle))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(seen) == PUBLIC
    for name, module in seen.items():
        assert getattr(import_module(str(module)), name) is getattr(treadle, name)


def test_a_room_does_not_take_the_place_of_a_public_name() -> None:
    room = import_module("treadle.infer")
    setattr(treadle, "infer", room)  # noqa: B010  as importing the room does
    assert treadle.infer is not room
    assert treadle.infer.__module__ == "treadle.api"


def test_the_package_pickles_by_name() -> None:
    assert pickle.loads(pickle.dumps(treadle)) is treadle


def test_any_file_may_be_the_first_that_is_imported() -> None:
    script = "\n".join(
        f"import treadle.{name}; [sys.modules.pop(m) for m in list(sys.modules) if 'treadle' in m]"
        for name in ("api", "errors", "feeds", "ops", "options", "session", "tracing")
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{script}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_importing_treadle_is_quick_and_imports_no_other_package() -> None:
    runs = [_measure() for _ in range(3)]
    assert [name for name in LAZY if name in runs[0][1]] == []
    assert [name for name in runs[0][1] if name.startswith("treadle.")] == []
    assert min(seconds for seconds, _ in runs) < 0.1  # 3 ms on an idle machine


def _measure() -> tuple[float, list[str]]:
    command = [sys.executable, "-c", MEASURE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, modules = json.loads(done.stdout)
    return seconds, modules
