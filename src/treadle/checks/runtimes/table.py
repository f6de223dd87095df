"""The measured runtimes and the rules for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from treadle.checks.constants import Known, constant_values
from treadle.checks.runtimes import onnxruntime, openvino
from treadle.errors import Finding
from treadle.ir import Model, Step, walk


class Runtime(NamedTuple):
    """A runtime: the measured version, and its rules for a model and for a step."""

    version: str
    of_model: Callable[[Model], Iterator[Finding]]
    of_step: Callable[[Step, str, Known], Iterator[Finding]]


RUNTIMES: Mapping[str, Runtime] = {
    "onnxruntime": Runtime(onnxruntime.VERSION, onnxruntime.of_model, onnxruntime.of_step),
    "openvino": Runtime(openvino.VERSION, openvino.of_model, openvino.of_step),
}


def findings(typed: Model, name: str) -> Iterator[Finding]:
    """Report the models the runtime fails to load or answers wrongly; `model` is typed."""
    runtime = RUNTIMES[name]
    known = constant_values(typed)
    yield from runtime.of_model(typed)
    for path, step, _, _ in walk(typed):
        yield from runtime.of_step(step, path, known)
