"""One product of two matrices in vector registers.

A block of rows and columns stays in registers while the inner axis runs. How wide a vector is and
how many there are is the processor's; where a block has few of them, several steps of the inner
axis go side by side, so that one need not wait for the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.emit.emitter import Emitter
from treadle.jit.emit.pace import per_product
from treadle.jit.emit.shared import items
from treadle.jit.emit.types import I1, I32, VOID, in_register, is_float
from treadle.jit.emit.writer import Index, word
from treadle.jit.machine import vector_bytes

MOST_ROWS = 4
_TOTALS = {64: 16, 32: 8, 16: 8}
_SIDE_BY_SIDE = 8


@dataclass(frozen=True, eq=False, slots=True)
class Product:
    """result[row, column] = sum of left(row, k) * right[k, column] over `inner`.

    `left` gives an element, `right` and `result` where a row goes on from a column; `scopes` say
    which memory these two are. Where `is_backward` holds when it runs, all goes from the last to
    the first.
    """

    dtype: DType
    rows: Index
    inner: Index
    columns: int
    left: Callable[[Index, Index], Any]
    right: Callable[[Index, Index], Any]
    result: Callable[[Index, Index], Any]
    scopes: tuple[str, str]
    is_backward: Any = None

    def turned(self, e: Emitter, number: Index, count: Index) -> Index:
        """The number, or the one as far from the end."""
        if self.is_backward is None or (isinstance(number, int) and count == 1):
            return number
        b, one = e.w.builder, e.w.index(1)
        last = b.sub(e.w.index(count), one)
        first = b.select(self.is_backward, last, e.w.index(0))
        step = b.select(self.is_backward, e.w.index(-1), one)
        return b.add(first, b.mul(step, e.w.index(number)))


@dataclass(frozen=True, slots=True)
class _Block:
    """Rows from `row`, and `count` vectors from `column`; the last has `tail` columns."""

    row: Index
    height: int
    column: Index
    count: int
    tail: int


def multiply(e: Emitter, p: Product) -> None:
    """The product, into memory: several threads have panels of columns of it, or blocks of rows."""
    most = min(p.rows, MOST_ROWS) if isinstance(p.rows, int) else MOST_ROWS
    if not most:
        return
    for column, count, tail in _panels(e, p, _TOTALS[vector_bytes()] // most):
        for row, height in _rows(e, p, most, count):
            _block(e, p, _Block(row, height, column, count, tail))


def _lanes(p: Product) -> int:
    """Of one vector; fewer where there are fewer columns."""
    lanes = vector_bytes() // p.dtype.numpy.itemsize
    while lanes >= 2 * p.columns:
        lanes //= 2
    return lanes


def _rows(e: Emitter, p: Product, most: int, vectors: int) -> Iterator[tuple[Index, int]]:
    """(first row, height) of blocks that cover all rows, inside the loops they need."""
    full, rest = e.w.split(p.rows, most)
    if full != 0:
        size = (full, most * vectors * _lanes(p), p.inner)
        with items(e, full, per_product(p.dtype, p.rows), size=size) as number:
            yield e.w.multiply(number, most), most
    done = e.w.multiply(full, most)
    if not isinstance(rest, int):
        with e.w.range(rest) as number:
            yield e.w.add(done, number), 1
    elif rest:
        yield done, rest


def _panels(e: Emitter, p: Product, most: int) -> Iterator[tuple[Index, int, int]]:
    """(first column, vectors, columns of the last) of panels that cover all columns, much alike."""
    lanes, (alike, wide) = _lanes(p), _alike(p, most)
    vectors = -(-p.columns // lanes)
    tail = p.columns - (vectors - 1) * lanes
    if alike:
        size = (p.rows, p.inner, alike * wide * lanes)
        with items(e, alike, per_product(p.dtype, p.rows), size=size, turned=p.turned) as panel:
            yield e.w.multiply(panel, wide * lanes), wide, lanes
    first = alike * wide
    while first < vectors:
        count = min(vectors - first, most)
        yield first * lanes, count, tail if first + count == vectors else lanes
        first += count


def _alike(p: Product, most: int) -> tuple[int, int]:
    """How many panels are alike, and how many vectors each of them has."""
    lanes = _lanes(p)
    vectors = -(-p.columns // lanes)
    number = -(-vectors // most)
    wide = vectors // number
    tail = p.columns - (vectors - 1) * lanes
    return number - 1 if tail < lanes or vectors % number else number, wide


def _block(e: Emitter, p: Product, block: _Block) -> None:
    b = e.w.builder
    vector = llvm.VectorType(in_register(p.dtype), _lanes(p))
    zero = llvm.Constant(vector, None)
    steps = _steps(p, block)
    totals = [
        [[e.w.variable(vector, zero) for _ in range(block.count)] for _ in range(block.height)]
        for _ in range(steps)
    ]
    full, rest = e.w.split(p.inner, steps)
    if full != 0:
        with e.w.range(full) as number:
            for step, own in enumerate(totals):
                _add(e, p, block, e.w.add(e.w.multiply(number, steps), step), vector, own)
    for step in range(rest):
        _add(e, p, block, full * steps + step, vector, totals[step])
    for row, each in enumerate(zip(*totals, strict=True)):
        for column, parts in enumerate(zip(*each, strict=True)):
            total = b.load(parts[0], typ=vector)
            for part in parts[1:]:
                total = _sum(e, p.dtype, total, b.load(part, typ=vector))
            place = p.result(e.w.add(block.row, row), _column(e, block, column, vector.count))
            e.t.aliases.mark(_store(e, p, block, column, total, place), p.scopes[1])


def _load(e: Emitter, p: Product, block: _Block, number: int, place: Any, vector: Any) -> Any:
    """A vector of the right operand, only as many columns as there are."""
    if number < block.count - 1 or block.tail == vector.count:
        return e.w.builder.load(place, typ=vector, align=p.dtype.numpy.itemsize)
    return _masked(e, p, block, "load", vector, place, llvm.Constant(vector, None))


def _store(e: Emitter, p: Product, block: _Block, number: int, total: Any, place: Any) -> Any:
    if number < block.count - 1 or block.tail == total.type.count:
        return e.w.builder.store(total, place, align=p.dtype.numpy.itemsize)
    return _masked(e, p, block, "store", VOID, place, total)


def _masked(
    e: Emitter, p: Product, block: _Block, what: str, result: Any, place: Any, vector: Any
) -> Any:
    """A load or a store of the columns there are."""
    mask = _mask(block.tail, vector.type)
    align = llvm.Constant(I32, p.dtype.numpy.itemsize)
    operands = [place, align, mask, vector] if what == "load" else [vector, place, align, mask]
    name = f"llvm.masked.{what}.{word(vector.type)}.p0"
    return e.w.builder.call(e.w.external(name, result, *(o.type for o in operands)), operands)


def _mask(count: int, vector: Any) -> Any:
    return llvm.Constant(
        llvm.VectorType(I1, vector.count), [k < count for k in range(vector.count)]
    )


def _steps(p: Product, block: _Block) -> int:
    """How many steps of the inner axis go side by side."""
    if not isinstance(p.inner, int):
        return 1
    return max(min(_SIDE_BY_SIDE // (block.height * block.count), p.inner, 4), 1)


def _column(e: Emitter, block: _Block, number: int, lanes: int) -> Index:
    return e.w.add(block.column, number * lanes)


def _add(e: Emitter, p: Product, block: _Block, k: Index, vector: Any, totals: Any) -> None:
    """One step of the inner axis."""
    b, k = e.w.builder, p.turned(e, k, p.inner)
    with e.t.scope():
        columns = []
        for number in range(block.count):
            place = p.right(k, _column(e, block, number, vector.count))
            loaded = _load(e, p, block, number, place, vector)
            e.t.aliases.mark(loaded, p.scopes[0])
            columns.append(loaded)
        for row, own in enumerate(totals):
            factor = splat(e, p.left(e.w.add(block.row, row), k), vector)
            for total, column in zip(own, columns, strict=True):
                before = b.load(total, typ=vector)
                b.store(_product(e, p.dtype, factor, column, before), total)


def _product(e: Emitter, dtype: DType, left: Any, right: Any, before: Any) -> Any:
    if is_float(dtype):
        return e.w.intrinsic("llvm.fma", before.type, left, right, before)
    return e.w.builder.add(e.w.builder.mul(left, right), before)


def _sum(e: Emitter, dtype: DType, left: Any, right: Any) -> Any:
    return (e.w.builder.fadd if is_float(dtype) else e.w.builder.add)(left, right)


def splat(e: Emitter, value: Any, vector: Any) -> Any:
    """A vector of one element many times."""
    b, nothing = e.w.builder, llvm.Constant(vector, llvm.Undefined)
    first = b.insert_element(nothing, value, llvm.Constant(I32, 0))
    if vector.count == 1:
        return first
    mask = llvm.Constant(llvm.VectorType(I32, vector.count), None)
    return b.shuffle_vector(first, nothing, mask)
