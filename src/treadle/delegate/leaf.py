"""Leaves onnxruntime has kernels for and answers otherwise than the standard: they stay with interp.

Measured on onnxruntime 1.31 over onnx's backend suite, whose data are the standard's own:

    DFT, STFT              errors of 1e-4 where the values are 1e2: a naive sum in float32
    Dropout, training      other draws than the standard's data for the same seed
    Bernoulli              the same, and a seeded one draws anew at each call
    MaxUnpool, 3 inputs    indices taken against the unpooled shape, not the output shape
    Resize, align_corners  by scales: the corner of the rounded extent, not of the scaled one
    Attention, 4 results   qk_matmul_output before the mask or softmax it is to follow
    Attention, float16     one rounding a step more than the standard's function has
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from treadle.ir import DType, Leaf, Tensor

_SCALES, _SIZES = 2, 3


def leaf_mistake(leaf: Leaf) -> str:
    """What onnxruntime gets wrong about the leaf; "" where nothing is known."""
    rule = _RULES.get(leaf.op) if not leaf.domain else None
    return rule(leaf) if rule is not None else ""


def _always(reason: str) -> Callable[[Leaf], str]:
    return lambda leaf: reason


def _has(leaf: Leaf, position: int) -> bool:
    return len(leaf.operands) > position and leaf.operands[position] is not None


def _dropout(leaf: Leaf) -> str:
    in_training = _has(leaf, _SCALES)
    return "onnxruntime draws other numbers in training" if in_training else ""


def _max_unpool(leaf: Leaf) -> str:
    return "onnxruntime misreads indices with an output shape" if _has(leaf, _SCALES) else ""


def _resize(leaf: Leaf) -> str:
    mode = leaf.attributes.get("coordinate_transformation_mode")
    by_scales = _has(leaf, _SCALES) and not _has(leaf, _SIZES)
    if mode is None or mode.value != b"align_corners" or not by_scales:
        return ""
    return "onnxruntime aligns corners of another extent"


def _attention(leaf: Leaf) -> str:
    wants_scores = len(leaf.results) > _SIZES and leaf.results[_SIZES] is not None
    if wants_scores:
        return "onnxruntime gives qk_matmul_output of another stage"
    first = leaf.operands[0] if leaf.operands else None
    type_ = first.type if first is not None else None
    if isinstance(type_, Tensor) and type_.dtype is DType.FLOAT16:
        return "onnxruntime rounds float16 otherwise"
    return ""


_DRAWS = "onnxruntime draws other numbers for the same seed"
_RULES: Mapping[str, Callable[[Leaf], str]] = {
    "Attention": _attention,
    "Bernoulli": _always(_DRAWS),
    "DFT": _always("onnxruntime's sum is less exact"),
    "Dropout": _dropout,
    "MaxUnpool": _max_unpool,
    "Resize": _resize,
    "STFT": _always("onnxruntime's sum is less exact"),
}
