"""The runtimes that were measured, and what is known of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from treadle.checks.constants import Known, constant_values
from treadle.checks.runtimes import onnxruntime, openvino
from treadle.errors import Finding
from treadle.ir import Model, Step, walk


class Runtime(NamedTuple):
    """A runtime: the version that was measured, and its rules for a model and for a step."""

    version: str
    of_model: Callable[[Model], Iterator[Finding]]
    of_step: Callable[[Step, str, Known], Iterator[Finding]]


RUNTIMES: Mapping[str, Runtime] = {
    "onnxruntime": Runtime(onnxruntime.VERSION, onnxruntime.of_model, onnxruntime.of_step),
    "openvino": Runtime(openvino.VERSION, openvino.of_model, openvino.of_step),
}


def findings(typed: Model, name: str) -> Iterator[Finding]:
    """What the runtime is known not to load or to answer wrongly of a typed model."""
    runtime = RUNTIMES[name]
    known = constant_values(typed)
    yield from runtime.of_model(typed)
    for path, step, _, _ in walk(typed):
        yield from runtime.of_step(step, path, known)
