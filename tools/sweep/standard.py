"""Decides where engines differ: exact integers, else onnx.reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx.reference import ReferenceEvaluator

from tools.sweep.parties import model_of
from tools.sweep.questions import Question

Exact = Callable[..., Any]


def opinion(question: Question, operands: Sequence[np.ndarray]) -> list[Any] | None:
    """What the standard means; None where nothing here can tell."""
    exact = _EXACT.get(question.op)
    if exact is not None and operands[0].dtype.kind in "iu":
        wide = [each.astype(object) for each in operands]
        try:
            found = exact(*wide, **question.attributes)
        except (TypeError, ValueError):
            return None
        return [_wrapped(np.asarray(found, object), operands[0].dtype)]
    try:
        return list(
            ReferenceEvaluator(model_of(question, operands)).run(None, _feed(question, operands))
        )
    except Exception:  # noqa: BLE001 - onnx.reference raises anything
        return None


def _feed(question: Question, operands: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    names = [each.name for each in model_of(question, operands).graph.input]
    return dict(zip(names, operands, strict=True))


def _wrapped(found: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Whole numbers in the ring of the type."""
    bits = 8 * dtype.itemsize
    size = 2**bits
    signed = dtype.kind == "i"
    made = [
        (int(n) + size // 2) % size - size // 2 if signed else int(n) % size for n in found.flat
    ]
    return np.array(made, dtype).reshape(found.shape)


def _reduced(total: Exact) -> Exact:
    def reduction(x: np.ndarray, axes: Any = None, **named: Any) -> Any:
        along = named.get("axes", None if axes is None else axes.tolist())
        keeps = bool(named.get("keepdims", 1))
        if not along and named.get("noop_with_empty_axes"):
            return total(x[None], 0, False)
        return total(x, tuple(map(int, along)) if along else None, keeps)

    return reduction


def _sum(x: np.ndarray, axes: Any, keeps: bool) -> Any:
    return np.sum(x, axis=axes, keepdims=keeps)


def _clip(x: np.ndarray, low: Any = None, high: Any = None, **_: Any) -> Any:
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def _modulo(x: np.ndarray, y: np.ndarray, fmod: int = 0) -> Any:
    found = [
        (abs(a) % abs(b)) * (-1 if a < 0 else 1) if fmod else a % b for a, b in np.broadcast(x, y)
    ]
    return np.array(found, object).reshape(np.broadcast_shapes(x.shape, y.shape))


def _fold(function: Any) -> Exact:
    def folded(*operands: np.ndarray, **_: Any) -> Any:
        found = operands[0]
        for each in operands[1:]:
            found = function(found, each)
        return found

    return folded


_EXACT: Mapping[str, Exact] = {
    "Add": _fold(np.add), "Sub": _fold(np.subtract), "Mul": _fold(np.multiply),
    "Max": _fold(np.maximum), "Min": _fold(np.minimum), "Sum": _fold(np.add),
    "Neg": np.negative, "Abs": np.abs, "Clip": _clip, "Mod": _modulo,
    "Sign": lambda x: np.array([(n > 0) - (n < 0) for n in x.flat], object).reshape(x.shape),
    "ReduceSum": _reduced(_sum),
    "ReduceL1": _reduced(lambda x, axes, keeps: _sum(np.abs(x), axes, keeps)),
    "ReduceSumSquare": _reduced(lambda x, axes, keeps: _sum(x * x, axes, keeps)),
    "ReduceProd": _reduced(lambda x, axes, keeps: np.prod(x, axis=axes, keepdims=keeps)),
    "ReduceMax": _reduced(lambda x, axes, keeps: np.max(x, axis=axes, keepdims=keeps)),
    "ReduceMin": _reduced(lambda x, axes, keeps: np.min(x, axis=axes, keepdims=keeps)),
    "MatMul": lambda x, y: np.matmul(x, y), "Pow": _fold(np.power),
}  # fmt: skip
