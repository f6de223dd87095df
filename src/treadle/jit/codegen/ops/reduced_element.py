"""One element of a reduction: a step of it, and all of its terms written out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from typing import Any, cast

import numpy as np
from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.codegen.function_builder import FunctionBuilder, Index
from treadle.jit.codegen.llvm_types import literal, register_type
from treadle.jit.codegen.scalar import functions
from treadle.jit.kernel.element_types import is_float
from treadle.jit.kernel.ir import Node, Reduce, op_of

_FUSED = "contract"
"""LLVM's flag of products and sums that it may compute by one instruction."""


def neutral(function: str, dtype: DType) -> Any:
    """The neutral element of the function."""
    if function in ("add", "mul"):
        return literal(dtype, 0 if function == "add" else 1)
    if is_float(dtype):
        return llvm.Constant(register_type(dtype), -np.inf if function == "max" else np.inf)
    if dtype is DType.BOOL:
        return literal(dtype, function == "min")
    limits: Any = np.iinfo(cast(Any, dtype.numpy))
    return literal(dtype, limits.min if function == "max" else limits.max)


def combine(builder: FunctionBuilder, function: str, dtype: DType, left: Any, right: Any) -> Any:
    """Combine with one more element; sums of floats may be reordered."""
    if is_float(dtype) and function == "add":
        return fused_sum(builder, left, right, ("reassoc",))
    if is_float(dtype) and function == "mul":
        return builder.builder.fmul(left, right, flags=("reassoc",))
    return functions.apply(builder, function, (dtype, dtype), dtype, left, right)


def fused_sum(builder: FunctionBuilder, left: Any, right: Any, flags: Sequence[str] = ()) -> Any:
    """A sum of floats whose terms may be products that are not rounded before they are added.

    A filter of 16 taps takes 0.75 of the time (Emerald Rapids). Other readers of such a product
    read it rounded.
    """
    for term in (left, right):
        is_product = isinstance(term, llvm.Instruction) and term.opname == "fmul"
        if is_product and _FUSED not in term.flags:
            term.flags = [*term.flags, _FUSED]
    return builder.builder.fadd(left, right, flags=(*flags, _FUSED))


def reduced_element(
    builder: FunctionBuilder,
    node: Node,
    index: Sequence[Index],
    read: Callable[[Node, tuple[Index, ...]], Any],
) -> Any:
    """The element of a reduction over few elements at an index, each term read by `read`."""
    op, (source,) = op_of(node, Reduce), node.operands
    over = [range(cast(int, source.shape[axis])) for axis in op.axes]
    terms = [read(source, source_index(node, index, each)) for each in product(*over)]
    return reduce(lambda left, right: combine(builder, op.function, node.dtype, left, right), terms)


def source_index(node: Node, kept: Sequence[Index], over: Sequence[Index]) -> tuple[Index, ...]:
    """The operand's index for an element of the result and an index of the reduced axes."""
    op, (source,) = op_of(node, Reduce), node.operands
    keeps_rank = len(node.shape) == len(source.shape)
    left, right = iter(kept), iter(over)
    index = []
    for axis in range(len(source.shape)):
        if axis in op.axes:
            index.append(next(right))
            if keeps_rank:
                next(left)
        else:
            index.append(next(left))
    return tuple(index)
