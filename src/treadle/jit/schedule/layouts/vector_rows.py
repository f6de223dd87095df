"""Rows that stay vectors where products read them, though registers could hold their elements.

Taken apart into registers, the operands and results of the products, and what is computed of them,
would be put together again and again: a WaveNet with rows of 16 channels takes a third of the time
with its rows in memory.
"""

from __future__ import annotations

from treadle.jit.kernel.element_types import is_float
from treadle.jit.kernel.ir import MatMul, Node, Result, static_shape

MIN_ROW = 8
"""The elements of a row from which it is computed in vectors."""


def is_product_of_rows(node: Node) -> bool:
    """Whether it is a product of a row and a matrix whose result is a row."""
    return isinstance(node.op, MatMul) and is_row(node) and is_row(node.operands[0])


def is_row(node: Node) -> bool:
    """Whether a value is a row: all its elements are floats, and lie along one axis.

    A result of a loop or branch has the storage that the values have there.
    """
    if isinstance(node.op, Result) or not node.is_static or not is_float(node.dtype):
        return False
    return MIN_ROW <= node.size == max(static_shape(node), default=0)
