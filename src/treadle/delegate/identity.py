"""Minimal models: sessions that return their input, or make one value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from treadle.formats.onnx import to_bytes
from treadle.ir import (
    Attribute,
    Block,
    Constant,
    Declaration,
    DType,
    Leaf,
    Model,
    Tensor,
    Type,
    Value,
)

_OPSET = 17
FED, GIVEN = "x", "y"
"""The names of the input and the output of `identity`."""


def identity(type_: Type | None = None) -> bytes:
    """A model that returns its input; one float unless another type is given."""
    kind = type_ or Tensor(DType.FLOAT32, (1,))
    return _file("Identity", [Value(FED, kind)], kind)


@lru_cache(maxsize=64)
def identity_session(type_: Type) -> Any:
    """A session of the identity model."""
    return _session(identity(type_))


def made_by(
    op: str,
    result: Type,
    fed: Sequence[Any] = (),
    element: Type | None = None,
    attributes: Mapping[str, Attribute] | None = None,
) -> Any:
    """Compute an OrtValue from OrtValues, all of the type `element`, by an operator."""
    inputs = [Value(f"{FED}{number}", element) for number in range(len(fed))]
    session = _session(_file(op, inputs, result, attributes))
    feeds = {value.name: each for value, each in zip(inputs, fed, strict=True)}
    return session.run_with_ort_values(None, feeds)[0]


def constant(value: Constant, type_: Type) -> Any:
    """The OrtValue of a constant."""
    session = _session(_file("Identity", [], type_, None, value))
    return session.run_with_ort_values(None, {})[0]


def _file(
    op: str,
    inputs: Sequence[Value],
    result: Type,
    attributes: Mapping[str, Attribute] | None = None,
    content: Constant | None = None,
) -> bytes:
    constants = (content,) if content is not None else ()
    operands = (*inputs, *(constant.value for constant in constants))
    y = Value(GIVEN, result)
    step = Leaf("", op, _OPSET, operands, (y,), attributes or {})
    block = Block(tuple(inputs), constants, (step,), (y,), (Declaration(result),), "g")
    return to_bytes(Model(block, {}, {"": _OPSET}, 8))


def _session(data: bytes) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    return onnxruntime.InferenceSession(data, options, ["CPUExecutionProvider"])
