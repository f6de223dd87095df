"""Rooms whose names are imported on first use."""

import os
import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest

ROOMS = (
    "treadle.delegate",
    "treadle.jit",
    "treadle.passes",
    "treadle.report",
    "treadle.tracing",
)
FILES = {"surgery"}
"""Names of rooms that are files."""
UNUSED = (
    "treadle.delegate.baseline",
    "treadle.jit.kernel.parser",
    "treadle.jit.library",
    "treadle.jit.runtime.background",
    "treadle.jit.runtime.clocks",
    "treadle.passes.fixes",
    "treadle.passes.simplify",
    "treadle.report",
    "treadle.tracing.recorder",
)
FIRST_CALL = """
import sys
import numpy as np
import treadle
session = treadle.InferenceSession('''
<ir_version: 10, opset_import: ["": 21]>
m (int64 n, float[4] x) => (float[4] y) {
  yes = Constant<value = bool {1}> ()
  y = Loop (n, yes, x) <body = b (int64 i, bool c, float[4] s) => (bool go, float[4] t) {
    go = Identity (c)
    t = Add (s, x)
  }>
}
''')
session.run(None, {"n": np.array(3), "x": np.ones(4, np.float32)})
print(*sys.modules, *(region.engine for region in session.plan.main.regions))
"""


@pytest.mark.parametrize("room", ROOMS)
def test_every_name_of_a_room_is_found(room: str) -> None:
    module = import_module(room)
    for name in set(module.__all__) - FILES:
        assert not isinstance(getattr(module, name), ModuleType), name


def test_a_name_that_a_room_lacks_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'unknown'"):
        import_module("treadle.report").unknown  # noqa: B018


def test_importing_a_file_does_not_replace_the_function_of_its_name() -> None:
    code = (
        "import treadle.report.compare, treadle.passes.simplify.pipeline\n"
        "from treadle.passes import simplify, surgery\n"
        "from treadle.report import compare\n"
        "print(type(compare).__name__, type(simplify).__name__, type(surgery).__name__)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["function", "function", "module"]


def test_a_first_call_imports_what_it_needs() -> None:
    environment = {key: value for key, value in os.environ.items() if key != "TREADLE_DEBUG"}
    command = [sys.executable, "-c", FIRST_CALL]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    seen = set(done.stdout.split())
    assert {"jit", "treadle.jit.codegen.kernel"} <= seen
    assert not seen & set(UNUSED)
