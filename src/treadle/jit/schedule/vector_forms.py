"""Which scalar functions have a vector form, for strategies that compute several elements at once.

`codegen/scalar/vector_forms.py` emits them.
"""

from __future__ import annotations

from treadle.ir import DType
from treadle.jit.kernel.element_types import SIXTEEN_BIT_FLOATS, is_float
from treadle.jit.kernel.ir import Elementwise, Node

_PLAIN = frozenset((
    "abs", "add", "sub", "mul", "min", "max", "neg", "not", "and", "or", "xor", "where", "equal",
    "not_equal", "less", "less_equal", "greater", "greater_equal", "sqrt",
))  # fmt: skip


def has_vector_form(node: Node) -> bool:
    """Whether the function of an Elementwise has a vector form for the types of its operands."""
    dtypes, op = [operand.dtype for operand in node.operands], node.op
    assert isinstance(op, Elementwise)
    if any(dtype in SIXTEEN_BIT_FLOATS for dtype in (*dtypes, node.dtype)):
        return False
    if op.function == "cast":
        return _can_cast(dtypes[0], node.dtype)
    return op.function in _PLAIN or (op.function == "div" and is_float(node.dtype))


def _can_cast(source: DType, target: DType) -> bool:
    if is_float(source):
        return is_float(target)
    return target is not DType.BOOL
