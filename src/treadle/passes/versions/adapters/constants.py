"""Adapters for Constant, and for operands that were attributes: TopK, Dropout, Upsample, Gemm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treadle.ir import (
    Attribute,
    DType,
    Kind,
    Leaf,
    Literal,
    Optional,
    SparseArray,
    Value,
    attribute,
)
from treadle.passes.versions.adapters.computed_places import largest
from treadle.passes.versions.adapters.orders import ordered
from treadle.passes.versions.adapters.steps import first, having, operand, without
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import Adapted, NoForm, down, up

_PLAIN = {
    "value_int": np.int64,
    "value_ints": np.int64,
    "value_float": np.float32,
    "value_floats": np.float32,
    "value_string": object,
    "value_strings": object,
}
_SMALL_INTS = (DType.INT8, DType.INT16, DType.UINT8, DType.UINT16, DType.INT32, DType.UINT32)


@down("Constant", 12)
def constant_as_tensor(at: Rewriter, step: Leaf) -> Adapted:
    """Turn a plain number, text or list into a tensor."""
    given = at.attributes(step)
    name = next((name for name in _PLAIN if name in given), None)
    if name is None:
        return step
    array = np.array(given[name], _PLAIN[name])
    dtype = DType.STRING if array.dtype == object else None
    literal = Literal.of(array) if dtype is None else Literal(array, dtype)
    return replace(step, attributes={"value": Attribute("value", Kind.TENSOR, literal)})


@down("Constant", 11)
def dense_constant(at: Rewriter, step: Leaf) -> Adapted:
    """Turn a sparse tensor into a dense one."""
    sparse = at.attributes(step).get("sparse_value")
    if not isinstance(sparse, SparseArray):
        return step
    return replace(step, attributes={"value": attribute("value", sparse.dense())})


@up("TopK", 10)
def count_to_input(at: Rewriter, step: Leaf) -> Adapted:
    """Turn the attribute `k` into an input."""
    count = at.ints(at.attributes(step)["k"])
    return replace(without(step, "k"), operands=(first(step), count))


@down("TopK", 10)
def count_to_attribute(at: Rewriter, step: Leaf) -> Adapted:
    """Turn the input K into an attribute, if it is constant."""
    if at.array(operand(step, 1)) is None:
        return largest(at, step)
    count = int(at.constant_of(operand(step, 1), "K").item())
    return having(replace(step, operands=(first(step),)), k=count)


@down("TopK", 11)
def largest_only(at: Rewriter, step: Leaf) -> Adapted:
    """The smallest are the largest of the negated operand; integers are cast to double."""
    x, given = first(step), at.attributes(step)
    dtype, plain = at.dtype(x), without(step, "largest", "sorted")
    axis = given["axis"]
    if axis < -1:
        plain = having(plain, axis=axis % at.rank(x))
    floats = dtype in (DType.FLOAT16, DType.FLOAT32, DType.FLOAT64)
    if floats and given["largest"]:
        return plain
    if not floats and dtype not in _SMALL_INTS:
        return ordered(at, step)
    wide = x if floats else at.cast(x, DType.FLOAT64)
    turned = wide if given["largest"] else at.op("Neg", wide)
    values, indices = at.ops(
        "TopK", 2, turned, operand(step, 1), axis=axis if axis >= -1 else axis % at.rank(x)
    )
    values = values if given["largest"] else at.op("Neg", values)
    return values if floats else at.cast(values, dtype), indices


@up("Dropout", 12)
def ratio_to_input(at: Rewriter, step: Leaf) -> Adapted:
    """Ignore the ratio, which has no effect in inference, the only mode of older versions."""
    return without(step, "ratio")


@up("Dropout", 10)
def mask_of_bools(at: Rewriter, step: Leaf) -> Adapted:
    """The mask became bool; before, it had the dtype of the operand."""
    return _identity_and_mask(at, step, at.dtype(first(step)))


@down("Dropout", 12)
def inference_only(at: Rewriter, step: Leaf) -> Adapted:
    """The operand itself, unless in training; a ratio of 0 changes nothing either."""
    training, ratio = operand(step, 2), operand(step, 1)
    is_off = training is None or not bool(at.constant_of(training, "training_mode").item())
    none = at.array(ratio)
    if not is_off and (none is None or none.item() != 0):
        raise NoForm("Dropout in training draws numbers, which older versions do not say")
    return _identity_and_mask(at, step, DType.BOOL)


def _identity_and_mask(at: Rewriter, step: Leaf, dtype: DType) -> Adapted:
    x = first(step)
    made: list[Value | None] = [at.op("Identity", x)]
    if len(step.results) > 1 and step.results[1] is not None:
        made.append(at.full_like(x, True, dtype))
    return made


@down("Gemm", 11)
def bias_of_zero(at: Rewriter, step: Leaf) -> Adapted:
    """Before opset 11 C is required: add a zero."""
    if operand(step, 2) is not None:
        return step
    x = first(step)
    return replace(step, operands=(*step.operands[:2], at.scalar_like(x, 0)))


@up("Scatter", 11)
def renamed_scatter(at: Rewriter, step: Leaf) -> Adapted:
    """Rename Scatter to ScatterElements."""
    return at.op("ScatterElements", *step.operands, axis=at.attributes(step)["axis"])


@up("Upsample", 9)
def scales_to_input(at: Rewriter, step: Leaf) -> Adapted:
    """Turn the attribute `scales` into an input."""
    scales = at.const(np.array(at.attributes(step)["scales"], np.float32))
    return replace(without(step, "scales"), operands=(first(step), scales))


@up("Upsample", 10)
def renamed_upsample(at: Rewriter, step: Leaf) -> Adapted:
    """Rename Upsample to Resize."""
    return at.op("Resize", *step.operands, mode=at.attributes(step)["mode"])


@down("OptionalHasElement", 18)
def known_to_be_there(at: Rewriter, step: Leaf) -> Adapted:
    """A value that is not optional is always present; an absent one never is."""
    x = operand(step, 0)
    if x is not None and isinstance(at.fact(x).type, Optional | None):
        return step
    return at.op("Identity", at.const(np.array(x is not None)))


@down("CastLike", 15)
def cast_to_type(at: Rewriter, step: Leaf) -> Adapted:
    """A Cast to the type of the second operand."""
    x, like = first(step), at.dtype(operand(step, 1))
    return at.cast(x, like) if at.dtype(x) is not like else at.op("Identity", x)
