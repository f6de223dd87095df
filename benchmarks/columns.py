"""The columns of the table: each prepares a model and returns a function that runs it."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx.parser
import onnxruntime

import treadle
from benchmarks import native
from benchmarks.registry import Arrays, Benchmark, Instance
from treadle import report

ENGINES = ("jit", "onnxruntime", "interp")
"""What treadle runs the suite on."""

Call = Callable[[], Arrays]


def onnxruntime_call(instance: Instance, threads: int) -> Call:
    """onnxruntime with this number of threads, 0 for all; its threads do not spin after a call."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    options.add_session_config_entry("session.force_spinning_stop", "1")
    data = onnx.parser.parse_model(instance.model).SerializeToString()
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return functools.partial(session.run, None, instance.feed)


def treadle_session(instance: Instance) -> treadle.InferenceSession:
    """A session on the engines of the suite."""
    return treadle.InferenceSession(instance.model, engines=ENGINES)


def treadle_call(instance: Instance, session: treadle.InferenceSession | None = None) -> Call:
    """A call of such a session, a new one unless one is given."""
    return functools.partial((session or treadle_session(instance)).run, None, instance.feed)


def code_size(session: treadle.InferenceSession) -> int:
    """The bytes of machine code made for the data that came, as `explain` tells them."""
    return _code_size(report.plan_data(session.plan)["regions"])


def _code_size(regions: Any) -> int:
    return sum(
        sum(made.get("bytes", 0) for made in region["made"])
        + sum(_code_size(body["regions"]) for body in region["bodies"].values())
        for region in regions
    )


def c_call(benchmark: Benchmark, instance: Instance, wanted: Arrays) -> Call | None:
    """The twin in C, where there is one and a compiler."""
    if not (native.compiler() and native.has_twin(benchmark)):
        return None
    return native.prepare(benchmark, instance, wanted)


def jax_call(benchmark: Benchmark, instance: Instance) -> Call | None:
    """The twin in JAX, where there is one and JAX is installed."""
    if importlib.util.find_spec("jax") is None:
        return None
    from benchmarks import xla

    return xla.prepare(benchmark.twin, instance.feed)


def other_calls(benchmark: Benchmark, instance: Instance, wanted: Arrays) -> dict[str, Call]:
    """Every column beside treadle that can run the model."""
    made = {
        "onnxruntime, 1 thread": onnxruntime_call(instance, 1),
        "onnxruntime, all threads": onnxruntime_call(instance, 0),
        "C": c_call(benchmark, instance, wanted),
        "JAX": jax_call(benchmark, instance),
    }
    return {name: call for name, call in made.items() if call is not None}


TOLERANCES = {"float32": (1e-4, 1e-5), "float64": (1e-9, 1e-10)}
"""Relative and absolute; other dtypes are compared exactly."""


def fault(benchmark: Benchmark, found: Arrays, wanted: Arrays) -> str:
    """What is wrong with outputs, "" if nothing."""
    if len(found) != len(wanted):
        return f"{len(found)} outputs, not {len(wanted)}"
    for place, (one, other) in enumerate(zip(found, wanted, strict=True)):
        value = np.asarray(one)
        if (value.dtype, value.shape) != (other.dtype, other.shape):
            said = f"{value.dtype}{list(value.shape)}, not {other.dtype}{list(other.shape)}"
            return f"output {place} is {said}"
        tolerance = TOLERANCES.get(str(value.dtype), (0.0, 0.0))
        if value.dtype.kind == "f" and benchmark.tolerance:
            tolerance = benchmark.tolerance
        wrong = ~np.isclose(value, other, *tolerance)
        if wrong.mean() > benchmark.outliers:
            at = tuple(int(k) for k in np.argwhere(wrong)[0])
            return f"output {place}{list(at)} is {value[at]}, not {other[at]}"
    return ""
