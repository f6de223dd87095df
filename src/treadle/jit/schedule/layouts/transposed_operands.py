"""Products whose right operand is a transposed matrix that they read as it is stored."""

from __future__ import annotations

from treadle.ir import DType
from treadle.jit.kernel.ir import CarriedArg, Concat, Input, Node, View

_DOT_DTYPES = (DType.FLOAT32, DType.FLOAT64)
_MOST_DOT_ROWS, _FEWEST_DOT_TERMS = 3, 32


def stored_transpose(product: Node) -> Node | None:
    """The matrices whose rows are the columns of the right operand; None if it is transposed.

    Few rows times a transposed input are dot products with its rows, as are those times an array
    that grows, like the keys of attention. With more rows, and for a constant, which is transposed
    once, a transposed copy is faster.
    """
    left, right = product.operands
    if not isinstance(right.op, View) or product.dtype not in _DOT_DTYPES:
        return None
    (matrix,), rank = right.operands, len(right.shape)
    is_kept = isinstance(matrix.op, Input | CarriedArg) or (
        isinstance(matrix.op, Concat) and isinstance(matrix.operands[0].op, CarriedArg)
    )
    swapped = [*range(rank - 2), rank - 1, rank - 2]
    axes = [(axis.offset, axis.terms) for axis in right.op.axes]
    is_swapped = axes == [(0, ((axis, 1),)) for axis in swapped]
    if not is_kept or not is_swapped or matrix.shape != tuple(right.shape[k] for k in swapped):
        return None
    *batch, inner, columns = right.shape
    if [*left.shape[:-2]] != batch or not all(isinstance(each, int) for each in batch):
        return None
    if isinstance(matrix.op, Input) and not isinstance(columns, int):
        return None
    rows = left.shape[-2]
    is_few = isinstance(rows, int) and rows <= _MOST_DOT_ROWS
    is_long = isinstance(inner, int) and inner >= _FEWEST_DOT_TERMS
    return matrix if is_few and is_long else None
