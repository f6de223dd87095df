"""Tensors made from few numbers: ConstantOfShape and Range."""

from __future__ import annotations

import numpy as np

from treadle import ops
from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Iota, Node, Number
from treadle.jit.lowering.operators.layout import extent_of
from treadle.jit.lowering.registry import NARROW, Attributes, Operands, lowers

_WHOLE = (DType.INT16, DType.INT32, DType.INT64)
_FLOATS = (DType.FLOAT32, DType.FLOAT64)


@lowers("ConstantOfShape", 9, 20, 21, 23, 24, 25)
def constant_of_shape(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """A tensor filled with one value, 0.0 by default."""
    shape = [extent_of(builder, each) for each in builder.elements(operands[0], "a shape")]
    value = attributes.get("value")
    array = np.zeros((), np.float32) if value is None else np.asarray(value).reshape(())
    return builder.expand(builder.constant(array), shape)


@lowers("Range", 11, 27)
def range_(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """Start + i * delta; 16-bit floats are computed in the type that `stash_type` names."""
    given = operands[0].dtype
    stash = ops.element_from_proto(attributes.get("stash_type", 1))
    wide = stash if given in NARROW else given
    if wide not in (*_WHOLE, *_FLOATS):
        raise Declined(f"a Range of {given} by way of {wide}")
    start, limit, delta = (builder.cast(builder.resolved(operand), wide) for operand in operands)
    count = _count(builder, start, limit, delta)
    numbers = builder.add(Iota(), DType.INT64, (count,))
    steps = builder.map("mul", builder.cast(numbers, start.dtype), delta)
    return builder.cast(builder.map("add", steps, start), given)


def _count(builder: KernelBuilder, start: Node, limit: Node, delta: Node) -> Number:
    """The number of elements: ceil((limit - start) / delta) in float64, at least 0."""
    if start.dtype in _FLOATS:
        wide = (builder.map("sub", limit, start), delta)
        apart = builder.map("div", *(builder.cast(each, DType.FLOAT64) for each in wide))
        most = builder.scalar(2.0**47, DType.FLOAT64)
        builder.expect(builder.map("less", apart, most))
        whole = builder.cast(builder.map("ceil", apart), DType.INT64)
        return builder.extent(builder.dim(builder.most(builder.number(whole), 0)))
    first, last, step = (builder.number(each) for each in (start, limit, delta))
    zero = builder.scalar(0, DType.INT64)
    builder.expect(builder.map("not_equal", builder.dim(step), zero))
    apart = builder.map("sub", builder.dim(last), builder.dim(first))
    is_down = builder.map("less", builder.dim(step), zero)
    one = builder.scalar(1, DType.INT64)
    inward = builder.map("add", builder.dim(step), one), builder.map("sub", builder.dim(step), one)
    less = builder.map("where", is_down, *inward)
    rounded = builder.map("div", builder.map("add", apart, less), builder.dim(step))
    return builder.extent(builder.dim(builder.most(builder.number(rounded), 0)))
