"""Tensors out of a few numbers: ConstantOfShape and Range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from treadle import ops
from treadle.ir import DType
from treadle.jit.building import Building
from treadle.jit.kernel_ir import Iota, Node, Number
from treadle.jit.lower.layout import extent_of
from treadle.jit.lower.registry import NARROW, lowers
from treadle.jit.nodes import Declined

_WHOLE = (DType.INT16, DType.INT32, DType.INT64)
_FLOATS = (DType.FLOAT32, DType.FLOAT64)


@lowers("ConstantOfShape", 9, 20, 21, 23, 24, 25)
def constant_of_shape(b: Building, operands: Sequence[Node], attributes: Mapping[str, Any]) -> Node:
    """One value everywhere, 0.0 by default."""
    shape = [extent_of(b, each) for each in b.elements(operands[0], "a shape")]
    value = attributes.get("value")
    array = np.zeros((), np.float32) if value is None else np.asarray(value).reshape(())
    return b.expand(b.constant(array), shape)


@lowers("Range", 11, 27)
def range_(b: Building, operands: Sequence[Node], attributes: Mapping[str, Any]) -> Node:
    """Start + i * delta; of 16-bit floats in the type that `stash_type` names."""
    given = operands[0].dtype
    stash = ops.element_from_proto(attributes.get("stash_type", 1))
    wide = stash if given in NARROW else given
    if wide not in (*_WHOLE, *_FLOATS):
        raise Declined(f"a Range of {given} by way of {wide}")
    start, limit, delta = (b.cast(b.resolved(operand), wide) for operand in operands)
    count = _count(b, start, limit, delta)
    numbers = b.add(Iota(), DType.INT64, (count,))
    steps = b.map("mul", b.cast(numbers, start.dtype), delta)
    return b.cast(b.map("add", steps, start), given)


def _count(b: Building, start: Node, limit: Node, delta: Node) -> Number:
    """How many numbers there are: ceil((limit - start) / delta), or none."""
    if start.dtype in _FLOATS:
        apart = b.map("div", b.map("sub", limit, start), delta)
        most = b.scalar(2.0**47, start.dtype)
        b.expect(b.map("less", apart, most, dtype=DType.BOOL))
        whole = b.cast(b.map("ceil", apart), DType.INT64)
        return b.extent(b.dim(b.most(b.number(whole), 0)))
    first, last, step = (b.number(each) for each in (start, limit, delta))
    zero = b.scalar(0, DType.INT64)
    b.expect(b.map("not_equal", b.dim(step), zero, dtype=DType.BOOL))
    apart = b.map("sub", b.dim(last), b.dim(first))
    is_down = b.map("less", b.dim(step), zero, dtype=DType.BOOL)
    one = b.scalar(1, DType.INT64)
    inward = b.map("add", b.dim(step), one), b.map("sub", b.dim(step), one)
    less = b.map("where", is_down, *inward, dtype=DType.INT64)
    rounded = b.map("div", b.map("add", apart, less), b.dim(step))
    return b.extent(b.dim(b.most(b.number(rounded), 0)))
