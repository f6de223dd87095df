"""The maximum or minimum of a value and a bound that no iteration of the loop around it changes.

The processor's instructions return the second operand where either is NaN: with the bound first,
NaN in the value propagates. Whether the bound is NaN is asked once, outside the loop. That shortens
a chain of iterations to 0.7 of its time where it has one of each, which are asked about together:
LLVM writes a loop for each question. In vectors a mask for the bound
takes a register of few; there a number is added that is NaN, or the zero that changes nothing
(four of these over 1,000 boxes: 0.82 of the time).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.kernel.element_types import is_float
from treadle.jit.kernel.ir import Elementwise, Node

_SIGNS = {"max": ">", "min": "<"}


def bounded(builder: FunctionBuilder, node: Node, args: Sequence[Any]) -> Any:
    """The element of a Max or Min of which one operand is a bound; None for other nodes."""
    if not isinstance(node.op, Elementwise) or node.op.function not in _SIGNS:
        return None
    bounds = [_is_bound(operand, node) for operand in node.operands]
    if bounds.count(True) != 1 or not is_float(node.dtype):
        return None
    bound, value = args if bounds[0] else reversed(args)
    b = builder.builder
    inner, value = _parts(value) if node.is_single else (None, value)
    found = b.select(b.fcmp_ordered(_SIGNS[node.op.function], bound, value), bound, value)
    is_nan = b.fcmp_unordered("uno", bound, bound if inner is None else inner)
    if node.is_single:
        return b.select(is_nan, bound if inner is None else b.fadd(bound, inner), found)
    return b.fadd(found, b.select(is_nan, bound, llvm.Constant(bound.type, -0.0)))


def _parts(value: Any) -> tuple[Any, Any]:
    """The bound that is the value if it is NaN, and the value otherwise; else None, and the value.

    select(isnan(bound), bound, found) -> bound, found
    """
    if not isinstance(value, llvm.SelectInstr):
        return None, value
    is_nan, bound, found = value.operands
    is_such = isinstance(is_nan, llvm.FCMPInstr) and is_nan.op == "uno"
    is_such = is_such and all(operand is bound for operand in is_nan.operands)
    return (bound, found) if is_such else (None, value)


def _is_bound(operand: Node, node: Node) -> bool:
    """Whether it is the same number in all iterations of the loop, or for all elements."""
    if node.is_single:
        return node.home.is_loop and operand.home is not node.home
    return operand.is_single
