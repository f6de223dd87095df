"""Leaves that onnxruntime has kernels for and gets wrong; each was measured on release 1.31.

DFT, STFT             off by 1e-4 where the transform is zero
MaxUnpool             with output_shape: the indices are taken as those of the smaller output
Attention             masked entries of qk_matmul_output are the lowest number, not -inf
Dropout               in training: another generator of random numbers than the standard's cases
BatchNormalization    in training, over float16: the running mean and variance are written into the
                      session's own constants, so that every run begins where the last one ended
Resize, align_corners the resized length is rounded before the corners are aligned
Einsum, ReduceMean .. int32 and int64 are added as float64: 2**53 + 1 is 2**53, and a sum that is
                      too large is the largest number instead of wrapping around
Mod, fmod=1           64-bit numbers are divided as float64

What it gets wrong of ReduceSum, Max, Slice and others over whole numbers is in `exact.py`: they are
written in other words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from treadle.ir import DType, Leaf, Tensor, Value

_Rule = Callable[[Leaf], bool]

_SUMS = ("Einsum", "ReduceMean", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp")
_OUTPUT_SHAPE, _TRAINING_MODE, _QK_OUTPUT = 2, 2, 3


def mistake(step: Leaf) -> str:
    """What onnxruntime gets wrong about the leaf; "" if nothing."""
    rule, reason = _RULES.get((step.domain, step.op), (_never, ""))
    return f"onnxruntime {reason}" if rule(step) else ""


def _always(step: Leaf) -> bool:
    return True


def _never(step: Leaf) -> bool:
    return False


def _has_output_shape(step: Leaf) -> bool:
    return _operand(step, _OUTPUT_SHAPE) is not None


def _may_train(step: Leaf) -> bool:
    return _operand(step, _TRAINING_MODE) is not None


def _trains_narrow(step: Leaf) -> bool:
    value, training = step.operands[0], step.attributes.get("training_mode")
    type_ = value.type if value is not None else None
    is_wide = isinstance(type_, Tensor) and type_.dtype in (DType.FLOAT32, DType.FLOAT64)
    return training is not None and bool(training.value) and not is_wide


def _shows_masked(step: Leaf) -> bool:
    shown = len(step.results) > _QK_OUTPUT and step.results[_QK_OUTPUT] is not None
    causal = step.attributes.get("is_causal")
    return shown and causal is not None and bool(causal.value)


def _counts(step: Leaf) -> bool:
    value = step.operands[0]
    type_ = value.type if value is not None else None
    return isinstance(type_, Tensor) and type_.dtype in (DType.INT32, DType.INT64)


def _divides_as_float(step: Leaf) -> bool:
    value, fmod = step.operands[0], step.attributes.get("fmod")
    type_ = value.type if value is not None else None
    is_wide = isinstance(type_, Tensor) and type_.dtype in (DType.INT64, DType.UINT64)
    return fmod is not None and bool(fmod.value) and is_wide


def _operand(step: Leaf, position: int) -> Value | None:
    return step.operands[position] if len(step.operands) > position else None


_RULES: Mapping[tuple[str, str], tuple[_Rule, str]] = {
    ("", "DFT"): (_always, "is off by 1e-4 where the transform is zero"),
    ("", "STFT"): (_always, "is off by 1e-4 where the transform is zero"),
    ("", "MaxUnpool"): (_has_output_shape, "misplaces the maxima when output_shape is given"),
    ("", "Attention"): (_shows_masked, "gives masked entries of qk_matmul_output as -3.4e38"),
    ("", "BatchNormalization"): (_trains_narrow, "writes running means into its constants"),
    **{("", op): (_counts, "adds whole numbers as float64") for op in _SUMS},
    ("", "Mod"): (_divides_as_float, "divides whole numbers as float64 where fmod is 1"),
    ("", "Dropout"): (_may_train, "draws other random numbers in training than the standard"),
}
