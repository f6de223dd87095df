"""Decides where engines differ: exact integers, else onnx.reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx.reference import ReferenceEvaluator

from tools.sweep.edges import WHOLE
from tools.sweep.parties import model_of
from tools.sweep.questions import Question

Exact = Callable[..., Any]

_SUMS = (
    "Attention", "AveragePool", "Conv", "ConvTranspose", "DeformConv", "Det", "Einsum", "GRU",
    "Gemm", "GlobalAveragePool", "GlobalLpPool", "GroupNormalization", "InstanceNormalization",
    "LRN", "LSTM", "LayerNormalization", "LinearAttention", "LpPool", "MatMul", "Mean",
    "MeanVarianceNormalization", "NegativeLogLikelihoodLoss", "RMSNormalization", "RNN",
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "ReduceSum",
    "ReduceSumSquare", "RotaryEmbedding", "SVMClassifier", "SVMRegressor",
    "SoftmaxCrossEntropyLoss", "Sum",
)  # fmt: skip
_ROUNDED = ("2**24", "2**53", "greatest", "least")
_OPEN = {
    ("DynamicQuantizeLinear", "denormal"): "the scale is 0",
    ("DynamicQuantizeLinear", "inf"): "the scale is infinite",
    ("SVMClassifier", "nan"): "no score is the greatest",
    ("OneHotEncoder", "nan"): "NaN is cast to a whole number",
}
_OF_FLOAT32 = ("Gelu", "GroupNormalization")
"""Operators whose function in the standard has constants of float32, also for float64."""


def leaves_open(question: Question, edge: str) -> bool:
    """Whether the standard leaves the result open: the order in which a sum is rounded, and others.

    Whole numbers are added exactly in any order.
    """
    if (question.op, edge) in _OPEN:
        return True
    if question.dtype == "float64" and question.op in _OF_FLOAT32:
        return True
    return question.op in _SUMS and edge in _ROUNDED and question.dtype not in WHOLE


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
    if question.op == "MaxPool" and operands[0].dtype.kind == "f":
        return _pooled(question, operands)
    if question.op == "DynamicQuantizeLinear" and np.isnan(operands[0]).any():
        return _quantized(operands[0])
    return _reference(question, operands)


def _quantized(x: np.ndarray) -> list[Any]:
    """The scale is of a maximum that is NaN; a whole number made of NaN is 0 here."""
    return [np.zeros(x.shape, np.uint8), np.array(np.nan, np.float32), np.array(0, np.uint8)]


def _reference(question: Question, operands: Sequence[np.ndarray]) -> list[Any] | None:
    try:
        return list(
            ReferenceEvaluator(model_of(question, operands)).run(None, _feed(question, operands))
        )
    except Exception:  # noqa: BLE001 - onnx.reference raises anything
        return None


def _pooled(question: Question, operands: Sequence[np.ndarray]) -> list[Any] | None:
    """NaN in every window that holds one; onnx.reference has it for some attributes only."""
    (x,) = operands
    is_nan = np.isnan(x)
    if not is_nan.any():
        return _reference(question, operands)
    made, found = (
        _reference(question, [each.astype(x.dtype)]) for each in (np.where(is_nan, 0, x), is_nan)
    )
    if made is None or found is None or len(made) > 1:
        return None
    return [np.where(found[0] > 0, np.nan, made[0]).astype(x.dtype)]


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
