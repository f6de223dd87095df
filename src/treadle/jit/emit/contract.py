"""Products of matrices.

Unrolled where all is in registers. Where the right operand has its columns side by side in memory,
blocks of rows and columns are kept in vector registers; what remains, element by element.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from treadle.ir import DType
from treadle.jit.emit import ahead
from treadle.jit.emit.buffer import Buffer
from treadle.jit.emit.emitter import Emitter
from treadle.jit.emit.matrix import MOST_ROWS, Product, multiply
from treadle.jit.emit.pace import per_product
from treadle.jit.emit.place import Place
from treadle.jit.emit.shared import spread
from treadle.jit.emit.types import I1, NARROW, in_register, is_float, literal
from treadle.jit.emit.writer import Index
from treadle.jit.kernel_ir import Node, extents

_NEAR = 24_576
_SLOWER, _GUESS = 2, 16
_APART = (DType.BOOL, *NARROW)
"""Dtypes that are something else in memory than in a register."""


def emit_contract(e: Emitter, node: Node) -> None:
    """The product, into registers or memory."""
    t = e.t
    inner = t.extent(node.operands[0].shape[-1])
    if t.place(node) is Place.REGISTERS:
        t.keep(node, [_dot(e, node, index, inner) for index in product(*map(range, extents(node)))])
        return
    shape, right = t.shape(node), node.operands[1]
    is_wide = isinstance(node.shape[-1], int) and node.shape[-1] > 1
    has_rows = node.dtype not in _APART and is_wide and t.has_rows(right)
    is_known = node.is_static and right.is_static
    between = ahead.sliced(e, node) if has_rows and is_known and len(shape) == 2 else ()
    if between:
        _emit_ahead(e, node, between)
        return
    buffer = e.allocate(node)
    cost = per_product(node.dtype, shape[-2]) * _known(inner)
    if has_rows:
        each = cost * _known(shape[-2]) * _known(shape[-1])
        with spread(e, shape[:-2], each) as batch:
            multiply(e, _product(e, node, buffer, batch))
    else:
        with spread(e, shape, cost * _SLOWER) as index:
            t.store(buffer, index, _looped(e, node, index, inner))
    t.buffers[node] = buffer


def _known(extent: Index) -> int:
    """The extent, or about what it may be."""
    return extent if isinstance(extent, int) else _GUESS


def _emit_ahead(e: Emitter, node: Node, between: tuple[Node, ...]) -> None:
    """The products of many iterations where it is time; that of this one is among them."""
    left, right = node.operands
    made = ahead.Ahead(e, node, between)
    with e.w.builder.if_then(made.is_due()), e.t.scope():
        multiply(e, Product(
            node.dtype, made.count(), extents(left)[-1], extents(node)[-1],
            lambda row, k: made.left(left, row, k),
            lambda k, column: e.t.located(right, (k, column)),
            lambda row, column: e.t.address(made.all, (row, column)),
            (e.t.scope_of(right), made.all.scope),
        ))  # fmt: skip
    e.t.buffers[node] = made.own(node)


def _product(e: Emitter, node: Node, buffer: Buffer, batch: Sequence[Index]) -> Product:
    left, right = node.operands
    rows, columns = e.t.extent(node.shape[-2]), node.shape[-1]
    assert isinstance(columns, int)
    return Product(
        node.dtype, rows, e.t.extent(left.shape[-1]), columns,
        lambda row, k: e.t.read(left, (*_batch(left, batch), row, k)),
        lambda k, column: e.t.located(right, (*_batch(right, batch), k, column)),
        lambda row, column: e.t.address(buffer, (*batch, row, column)),
        (e.t.scope_of(right), buffer.scope), _turns(e, node),
    )  # fmt: skip


def _turns(e: Emitter, node: Node) -> Any:
    """Whether this iteration goes backward: weights that do not fit are still there at one end."""
    right = node.operands[1]
    is_invariant = node.home.is_loop and right.home.depth < node.home.depth
    if not right.is_static or not node.is_static:
        return None
    is_large = right.size * right.dtype.numpy.itemsize > _NEAR
    if not is_invariant or not is_large or extents(node)[-2] > MOST_ROWS:
        return None
    return e.w.builder.trunc(e.w.index(e.t.counters[node.home]), I1)


def _pair(node: Node, index: Sequence[Index], k: Index) -> tuple[Any, Any]:
    """The indices of the two factors of a term."""
    *batch, row, column = index
    left, right = node.operands
    return (*_batch(left, batch), row, k), (*_batch(right, batch), k, column)


def _batch(operand: Node, batch: Sequence[Index]) -> list[Index]:
    given = operand.shape[:-2]
    own = batch[len(batch) - len(given) :]
    return [0 if extent == 1 else i for extent, i in zip(given, own, strict=True)]


def _term(e: Emitter, node: Node, index: Sequence[Index], k: Index) -> Any:
    first, second = _pair(node, index, k)
    left, right = e.t.read(node.operands[0], first), e.t.read(node.operands[1], second)
    if is_float(node.dtype):
        return e.w.builder.fmul(left, right, flags=("contract",))
    return e.w.builder.mul(left, right)


def _dot(e: Emitter, node: Node, index: Sequence[Index], inner: int) -> Any:
    result = None
    for k in range(inner):
        term = _term(e, node, index, k)
        result = term if result is None else _sum(e, node, result, term, ("contract",))
    return literal(node.dtype, 0) if result is None else result


def _sum(e: Emitter, node: Node, left: Any, right: Any, flags: Sequence[str]) -> Any:
    if is_float(node.dtype):
        return e.w.builder.fadd(left, right, flags=flags)
    return e.w.builder.add(left, right)


def _looped(e: Emitter, node: Node, index: Sequence[Index], inner: Index) -> Any:
    type_ = in_register(node.dtype)
    total = e.w.variable(type_, literal(node.dtype, 0))
    with e.w.range(inner) as k, e.t.scope():
        before = e.w.builder.load(total, typ=type_)
        term = _term(e, node, index, k)
        e.w.builder.store(_sum(e, node, before, term, ("contract", "reassoc")), total)
    return e.w.builder.load(total, typ=type_)
