"""Reductions: unrolled over registers, else as loops with an accumulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, cast

import numpy as np
from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.emit import scalars
from treadle.jit.emit.emitter import Emitter
from treadle.jit.emit.pace import ADDED, per_read
from treadle.jit.emit.place import Place
from treadle.jit.emit.shared import shared, spread
from treadle.jit.emit.types import I32, in_register, is_float, literal
from treadle.jit.emit.writer import Index, word
from treadle.jit.kernel_ir import Node, Reduce, extents

_AT_ONCE = 8
_GUESS = 16
_WIDE = 8
"""From so many elements on a sum is vectorised along the axis, not across the results."""


def neutral(function: str, dtype: DType) -> Any:
    """The element that changes nothing."""
    if function in ("add", "mul"):
        return literal(dtype, 0 if function == "add" else 1)
    if is_float(dtype):
        return llvm.Constant(in_register(dtype), -np.inf if function == "max" else np.inf)
    if dtype is DType.BOOL:
        return literal(dtype, function == "min")
    limits: Any = np.iinfo(cast(Any, dtype.numpy))
    return literal(dtype, limits.min if function == "max" else limits.max)


def combine(e: Emitter, function: str, dtype: DType, left: Any, right: Any) -> Any:
    """One more element; sums of floats may be reordered."""
    if is_float(dtype) and function in ("add", "mul"):
        operation = e.w.builder.fadd if function == "add" else e.w.builder.fmul
        return operation(left, right, flags=("reassoc",))
    return scalars.apply(e.w, function, (dtype, dtype), dtype, left, right)


def emit_reduce(e: Emitter, node: Node) -> None:
    """The reduction, into registers or memory."""
    op, t = node.op, e.t
    assert isinstance(op, Reduce)
    if t.place(node) is Place.REGISTERS:
        indices = product(*map(range, extents(node)))
        t.keep(node, [_one(e, node, op, index) for index in indices])
        return
    buffer = e.allocate(node)
    operand = node.operands[0]
    rank = len(operand.shape)
    if rank - 1 in op.axes:
        with spread(e, t.shape(node), _cost(e, node, op)) as index:
            t.store(buffer, index, _one(e, node, op, index))
    else:
        _by_rows(e, node, op, buffer)
    t.buffers[node] = buffer


def _cost(e: Emitter, node: Node, op: Reduce) -> float:
    """About how many nanoseconds an element of the result takes."""
    operand = node.operands[0]
    over = [operand.shape[axis] for axis in op.axes]
    count = prod(extent if isinstance(extent, int) else _GUESS for extent in over)
    return count * (per_read(e.t, operand) + ADDED)


def _source_index(
    node: Node, op: Reduce, kept: Sequence[Index], over: Sequence[Index]
) -> tuple[Index, ...]:
    """The operand's index of an element of the result and one of the axes reduced."""
    operand = node.operands[0]
    keeps_rank = len(node.shape) == len(operand.shape)
    left, right = iter(kept), iter(over)
    index = []
    for axis in range(len(operand.shape)):
        if axis in op.axes:
            index.append(next(right))
            if keeps_rank:
                next(left)
        else:
            index.append(next(left))
    return tuple(index)


def _one(e: Emitter, node: Node, op: Reduce, kept: Sequence[Index]) -> Any:
    operand = node.operands[0]
    t, function, dtype = e.t, op.function, node.dtype
    if t.place(operand) is Place.REGISTERS and all(isinstance(each, int) for each in kept):
        return _unrolled(e, node, op, kept, [extents(operand)[axis] for axis in op.axes])
    over = [t.extent(operand.shape[axis]) for axis in op.axes]
    total = e.w.variable(in_register(dtype), neutral(function, dtype))
    is_wide = bool(over) and (not isinstance(over[-1], int) or over[-1] >= _WIDE)
    hints = ("unroll.disable",) if is_wide else ()
    with e.w.nest(over, hints) as inner, t.scope():
        element = t.read(operand, _source_index(node, op, kept, inner))
        before = e.w.builder.load(total, typ=in_register(dtype))
        e.w.builder.store(combine(e, function, dtype, before, element), total)
    return e.w.builder.load(total, typ=in_register(dtype))


def _unrolled(
    e: Emitter, node: Node, op: Reduce, kept: Sequence[Index], over: Sequence[int]
) -> Any:
    result = None
    indices = (_source_index(node, op, kept, inner) for inner in product(*map(range, over)))
    elements = [e.t.read(node.operands[0], index) for index in indices]
    if len(elements) >= _WIDE and op.function == "add" and is_float(node.dtype):
        return _added(e, elements)
    for element in elements:
        args = (node.dtype, node.dtype), node.dtype, result, element
        result = element if result is None else scalars.apply(e.w, op.function, *args)
    return neutral(op.function, node.dtype) if result is None else result


def _added(e: Emitter, elements: Sequence[Any]) -> Any:
    """The sum, in any order, of the elements as one vector."""
    b, type_ = e.w.builder, elements[0].type
    vector = llvm.VectorType(type_, len(elements))
    whole: Any = llvm.Constant(vector, llvm.Undefined)
    for number, element in enumerate(elements):
        whole = b.insert_element(whole, element, llvm.Constant(I32, number))
    add = e.w.external(f"llvm.vector.reduce.fadd.{word(vector)}", type_, type_, vector)
    return b.call(add, [llvm.Constant(type_, -0.0), whole], fastmath=("reassoc",))


def _by_rows(e: Emitter, node: Node, op: Reduce, buffer: Any) -> None:
    """The axes reduced outside, the result's inside: whole rows are added, some at a time.

    Several threads have each a part of the result.
    """
    shape = e.t.shape(node)
    wide = (k for k, extent in enumerate(shape) if not isinstance(extent, int) or extent >= _WIDE)
    axis = next(wide, 0)
    with shared(e, shape[axis], _cost(e, node, op), size=shape) as (first, count):
        part = _Part(axis, first, (*shape[:axis], count, *shape[axis + 1 :]))
        _add_all(e, node, op, buffer, part)


@dataclass(frozen=True, eq=False, slots=True)
class _Part:
    """The part of a result that is written: along an axis from `first` on."""

    axis: int
    first: Index
    shape: Sequence[Index]

    def place(self, e: Emitter, index: Sequence[Index]) -> tuple[Index, ...]:
        """Where an index of the part is in the whole."""
        own = e.w.add(self.first, index[self.axis])
        return (*index[: self.axis], own, *index[self.axis + 1 :])


def _add_all(e: Emitter, node: Node, op: Reduce, buffer: Any, part: _Part) -> None:
    *outer, last = [e.t.extent(node.operands[0].shape[axis]) for axis in op.axes]
    with e.w.nest(part.shape) as index:
        e.t.store(buffer, part.place(e, index), neutral(op.function, node.dtype))
    full, rest = e.w.split(last, _AT_ONCE)
    with e.w.nest(outer) as around:
        if full != 0:
            with e.w.range(full) as number:
                first = e.w.multiply(number, _AT_ONCE)
                rows = [(*around, e.w.add(first, k)) for k in range(_AT_ONCE)]
                _add_rows(e, node, op, buffer, part, rows)
        if not isinstance(rest, int):
            done = e.w.multiply(full, _AT_ONCE)
            with e.w.range(rest) as number:
                _add_rows(e, node, op, buffer, part, [(*around, e.w.add(done, number))])
        elif rest:
            rows = [(*around, full * _AT_ONCE + k) for k in range(rest)]
            _add_rows(e, node, op, buffer, part, rows)


def _add_rows(
    e: Emitter, node: Node, op: Reduce, buffer: Any, part: _Part, rows: Sequence[Any]
) -> None:
    t, args = e.t, (op.function, node.dtype)
    with e.w.nest(part.shape) as own, t.scope():
        index = part.place(e, own)
        values = [t.read(node.operands[0], _source_index(node, op, index, row)) for row in rows]
        while len(values) > 1:
            pairs = zip(values[::2], values[1::2], strict=False)
            values = [combine(e, *args, *pair) for pair in pairs] + values[len(values) & ~1 :]
        t.store(buffer, index, combine(e, *args, t.load(buffer, index), values[0]))
