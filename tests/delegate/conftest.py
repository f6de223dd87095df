"""Runs a text model as one region of onnxruntime, or shows why onnxruntime does not take it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from treadle.delegate import Onnxruntime
from treadle.formats import read
from treadle.ir import Model
from treadle.plan import Plan, Region, RunContext, plan


@dataclass(frozen=True)
class Whole:
    """A model whose main block is one region of onnxruntime."""

    model: Model
    region: Region

    def __call__(self, *inputs: object, context: RunContext | None = None) -> Sequence[object]:
        """The model's results for inputs in the order of its params."""
        held = dict(zip(self.model.main.params, inputs, strict=True))
        assert self.region.runnable is not None
        given = self.region.runnable([held[v] for v in self.region.inputs], context or RunContext())
        held.update(zip(self.region.outputs, given, strict=True))
        return [held[v] for v in self.model.main.results if v is not None]


def load(text: str, opset: int = 17) -> Model:
    model, findings = read(f'<ir_version: 10, opset_import: ["" : {opset}]>\n{text}')
    assert model is not None, findings
    return model


@pytest.fixture
def model_of() -> Callable[..., Model]:
    return load


@pytest.fixture
def planned() -> Callable[..., Plan]:
    def make(text: str, opset: int = 17, *, inside: bool = False) -> Plan:
        return plan(load(text, opset), [Onnxruntime()], inside=inside)

    return make


@pytest.fixture
def whole() -> Callable[..., Whole]:
    def make(text: str, opset: int = 17) -> Whole:
        model = load(text, opset)
        regions = plan(model, [Onnxruntime()]).main.regions
        assert [r.engine for r in regions] == ["onnxruntime"], [r.reason for r in regions]
        return Whole(model, regions[0])

    return make


@pytest.fixture
def same() -> Callable[[object, object], None]:
    """Fails unless both are of one dtype and shape and equal to the last bit."""

    def check(found: object, wanted: object) -> None:
        assert isinstance(found, np.ndarray)
        wanted = np.asarray(wanted)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_array_equal(found, wanted)

    return check
