"""Tensors made from attributes or sizes: Constant, ConstantOfShape, Range, EyeLike."""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle.ir import SparseArray
from treadle.ops.elements import element_from_proto
from treadle.ops.kernels.common import whole
from treadle.ops.kernels.registry import Attributes, Body, Operands, Results, evaluates, maker

_CONSTANTS: dict[str, Any] = {
    "value": None,
    "value_float": np.float32,
    "value_floats": np.float32,
    "value_int": np.int64,
    "value_ints": np.int64,
    "value_string": object,
    "value_strings": object,
}


@maker("Constant", 1, 9, 11, 12, 13, 19, 21, 23, 24, 25)
def bind_constant(attributes: Attributes, outputs: int) -> Body:
    """Constant: the one attribute that is given; a sparse value becomes dense."""
    constant = constant_of(attributes).view()
    constant.flags.writeable = False  # every run returns the same array: the caller must copy it
    results = (constant,)

    def body(inputs: Operands) -> Results:
        return results

    return body


def constant_of(attributes: Attributes) -> np.ndarray:
    """The tensor of a Constant's attributes."""
    given = {name: each for name, each in attributes.items() if each is not None}
    if len(given) != 1:
        raise ValueError(f"Constant wants exactly one of its attributes, not {sorted(given)}")
    ((name, value),) = given.items()
    if isinstance(value, SparseArray):
        return value.dense()
    return np.array(value, _CONSTANTS[name]) if _CONSTANTS[name] else np.asarray(value)


@evaluates("ConstantOfShape", 9, 20, 21, 23, 24, 25)
def constant_of_shape(shape: np.ndarray, *, value: np.ndarray | None = None) -> Any:
    """A tensor of this shape full of one value, 0.0 by default."""
    if value is None:
        return np.zeros(shape.tolist(), np.float32)
    return np.full(shape.tolist(), value.reshape(()), value.dtype)


@evaluates("Range", 11, 27)
def range_(
    start: np.ndarray, limit: np.ndarray, delta: np.ndarray, *, stash_type: int = 1
) -> np.ndarray:
    """Start + i * delta for i below ceil((limit - start) / delta).

    The quotient of floats is one of float64, as in onnx's shape inference (`defs/generator`); the
    text does not say. Range(0, 0.3, 0.1) of float32 has four elements.
    """
    dtype = start.dtype
    if dtype.kind in "iu":
        return np.arange(whole(start), whole(limit), whole(delta)).astype(dtype)
    stash = element_from_proto(stash_type)
    assert stash is not None
    wide = dtype if dtype.itemsize >= 4 else stash.numpy
    first, last, step = (each.reshape(()).astype(wide) for each in (start, limit, delta))
    quotient = np.float64(last - first) / np.float64(step)
    if not np.isfinite(quotient):
        raise ValueError(
            f"from {first} to {last} by {step} there is no number of elements: "
            "delta must not be 0, and no operand NaN"
        )
    count = max(int(np.ceil(quotient)), 0)
    return np.asarray(first + np.arange(count).astype(wide) * step).astype(dtype)


@evaluates("EyeLike", 9, 22)
def eye_like(x: np.ndarray, *, dtype: int | None = None, k: int) -> Any:
    """Ones on a diagonal of a matrix of this shape."""
    found = None if dtype is None else element_from_proto(dtype)
    return np.eye(x.shape[0], x.shape[1], k).astype(x.dtype if found is None else found.numpy)
