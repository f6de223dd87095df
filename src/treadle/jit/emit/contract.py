"""Products of matrices.

Unrolled where all is in registers. Else, for floats whose right operand has its columns side by
side in memory, blocks of rows and columns are kept in vector registers while the inner axis runs;
what remains, element by element.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.emit.emitter import Emitter
from treadle.jit.emit.place import Place
from treadle.jit.emit.tensors import Buffer
from treadle.jit.emit.types import I32, in_register, is_float, literal
from treadle.jit.emit.writer import Index
from treadle.jit.kernel_ir import Node, extents

_LANES = {DType.FLOAT32: 16, DType.FLOAT64: 8}
_MOST_VECTORS = 16
_MOST_ROWS = 4


def emit_contract(e: Emitter, node: Node) -> None:
    """The product, into registers or memory."""
    t = e.t
    inner = t.extent(node.operands[0].shape[-1])
    if t.place(node) is Place.REGISTERS:
        t.keep(node, [_dot(e, node, index, inner) for index in product(*map(range, extents(node)))])
        return
    shape = t.shape(node)
    buffer = e.allocate(node)
    right = node.operands[1]
    with e.w.nest(shape[:-2]) as batch:
        if node.dtype in _LANES and _has_rows(e, right) and _is_blocked(node):
            _blocks(e, node, buffer, batch)
        else:
            with e.w.nest(shape[-2:]) as (row, column):
                index = (*batch, row, column)
                t.store(buffer, index, _looped(e, node, index, inner))
    t.buffers[node] = buffer


def _is_blocked(node: Node) -> bool:
    """Whether it has more than one column, and its rows and columns are known."""
    rows, columns = node.shape[-2:]
    return isinstance(rows, int) and isinstance(columns, int) and columns > 1


def _has_rows(e: Emitter, right: Node) -> bool:
    if e.t.place(right) is Place.REGISTERS:
        return False
    if e.t.place(right) is Place.INLINE:
        return False
    return bool(e.t.buffer(right).strides[-1] == 1)


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


def _blocks(e: Emitter, node: Node, buffer: Buffer, batch: Sequence[Index]) -> None:
    rows, columns = node.shape[-2:]
    assert isinstance(rows, int)
    assert isinstance(columns, int)
    for first, height in _cut(rows, _MOST_ROWS):
        widths = _widths(columns, _LANES[node.dtype])
        most = max(_MOST_VECTORS // height, 1)
        while widths:
            count = 1
            while count < min(most, len(widths)) and widths[count][1] == widths[0][1]:
                count += 1
            _block(e, node, buffer, batch, range(first, first + height), widths[:count])
            widths = widths[count:]


def _cut(total: int, most: int) -> list[tuple[int, int]]:
    return [(start, min(most, total - start)) for start in range(0, total, most)]


def _widths(columns: int, lanes: int) -> list[tuple[int, int]]:
    """(first column, width) of vectors that cover all columns, wide ones first."""
    found, start = [], 0
    while start < columns:
        while lanes > columns - start:
            lanes //= 2
        found.append((start, lanes))
        start += lanes
    return found


def _block(
    e: Emitter,
    node: Node,
    buffer: Buffer,
    batch: Sequence[Index],
    rows: range,
    widths: Sequence[tuple[int, int]],
) -> None:
    b, t = e.w.builder, e.t
    left, right = node.operands
    lanes = widths[0][1]
    vector = llvm.VectorType(in_register(node.dtype), lanes)
    zero = llvm.Constant(vector, None)
    totals = [[e.w.variable(vector, zero) for _ in widths] for _ in rows]
    source = t.buffer(right)
    with e.w.range(t.extent(left.shape[-1])) as k, t.scope():
        loaded = [
            _load(e, source, (*_batch(right, batch), k, column), vector) for column, _ in widths
        ]
        for row, own in zip(rows, totals, strict=True):
            factor = _splat(e, t.read(left, (*_batch(left, batch), row, k)), vector)
            for total, column in zip(own, loaded, strict=True):
                before = b.load(total, typ=vector)
                b.store(e.w.intrinsic("llvm.fma", vector, factor, column, before), total)
    for row, own in zip(rows, totals, strict=True):
        for (column, _), total in zip(widths, own, strict=True):
            address = t.address(buffer, (*batch, row, column))
            stored = b.store(b.load(total, typ=vector), address, align=_align(node.dtype))
            t.aliases.mark(stored, buffer.scope)


def _load(e: Emitter, buffer: Buffer, index: Sequence[Index], vector: Any) -> Any:
    address = e.t.address(buffer, tuple(index))
    loaded = e.w.builder.load(address, typ=vector, align=_align(buffer.dtype))
    e.t.aliases.mark(loaded, buffer.scope)
    return loaded


def _align(dtype: DType) -> int:
    return dtype.numpy.itemsize


def _splat(e: Emitter, value: Any, vector: Any) -> Any:
    b = e.w.builder
    if vector.count == 1:
        return b.insert_element(llvm.Constant(vector, llvm.Undefined), value, llvm.Constant(I32, 0))
    first = b.insert_element(llvm.Constant(vector, llvm.Undefined), value, llvm.Constant(I32, 0))
    mask = llvm.Constant(llvm.VectorType(I32, vector.count), None)
    return b.shuffle_vector(first, llvm.Constant(vector, llvm.Undefined), mask)
