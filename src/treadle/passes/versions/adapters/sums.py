"""Adapters for cumulative sums and products, and Einsum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treadle import ops
from treadle.ir import (
    BlockBuilder,
    Carried,
    DType,
    Leaf,
    Sliced,
    Stacked,
    Value,
)
from treadle.passes.versions.adapters.steps import first, two
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import Adapted, NoForm, down


@down("CumSum", 11)
@down("CumProd", 26)
def running(at: Rewriter, step: Leaf) -> Adapted:
    """A Scan along the axis that carries the sum so far."""
    x, axis = two(step)
    array, rank = at.array(axis), at.rank(x)
    if array is not None:
        return _along(at, step, int(array.item()) % rank)
    index = at.cast(axis, DType.INT64)
    index = at.op(
        "Where", at.op("Less", index, at.ints(0)), at.op("Add", index, at.ints(rank)), index
    )
    made = _along(at, step, 0)
    for k in range(1, rank):
        made = at.op("Where", at.op("Equal", index, at.ints(k)), _along(at, step, k), made)
    return made


def _along(at: Rewriter, step: Leaf, axis: int) -> Value:
    x, given = first(step), at.attributes(step)
    op, start = ("Add", 0) if step.op == "CumSum" else ("Mul", 1)
    dtype = at.dtype(x)
    row = at.op("Gather", at.shape_of(x), at.ints(*(k for k in range(at.rank(x)) if k != axis)))
    if at.rank(x) == 1:
        initial = at.const(np.array(start), dtype)
    else:
        initial = at.op("ConstantOfShape", row, value=np.array([start], dtype.numpy))
    inner = BlockBuilder("running")
    so_far = inner.param(at.names.fresh(f"{at.prefix}/so_far"))
    item = inner.param(at.names.fresh(f"{at.prefix}/item"))
    version = ops.since_version("", op, at.opset) or 1
    new = inner.leaf(op, version, so_far, item, result=at.names.fresh(f"{at.prefix}/new"))
    shown = so_far if given["exclusive"] else new
    copy = inner.leaf("Identity", 1, shown, result=at.names.fresh(f"{at.prefix}/shown"))
    body, way = inner.build(None, new, copy), bool(given["reverse"])
    roles = (Carried(), Sliced(axis, way))
    return at.loop(None, body, roles, (initial, x), (Stacked(axis, way),))[1]


@down("Einsum", 12)
def einsum(at: Rewriter, step: Leaf) -> Adapted:
    """Products of two operands at a time, as batched matrix products; then sums and a Transpose."""
    equation = str(at.attributes(step)["equation"]).replace(" ", "")
    inputs, arrow, output = equation.partition("->")
    terms = inputs.split(",")
    values = [value for value in step.operands if value is not None]
    terms, rest = _dots(at, terms, values)
    if arrow:
        output = output.replace("...", rest)
    else:
        letters = "".join(terms)
        output = rest + "".join(
            sorted(c for c in set(letters) if letters.count(c) == 1 and c not in rest)
        )
    pairs = [_diagonal(at, v, t) for v, t in zip(values, terms, strict=True)]
    made, letters = pairs[0]
    for position, (value, term) in enumerate(pairs[1:], 1):
        later = "".join(t for _, t in pairs[position + 1 :]) + output
        made, letters = _product(at, made, letters, value, term, later)
    return _arranged(at, made, letters, output)


def _dots(at: Rewriter, terms: Sequence[str], values: Sequence[Value]) -> tuple[list[str], str]:
    """The terms with letters instead of the ellipsis, aligned at their ends."""
    free = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in "".join(terms)]
    counts = [
        at.rank(v) - len(t.replace("...", "")) if "..." in t else 0
        for t, v in zip(terms, values, strict=True)
    ]
    most = max(counts, default=0)
    letters = "".join(free[:most])
    return [
        t.replace("...", letters[most - n :]) for t, n in zip(terms, counts, strict=True)
    ], letters


def _diagonal(at: Rewriter, x: Value, term: str) -> tuple[Value, str]:
    """The operand with one axis for each letter."""
    twice = next((c for c in term if term.count(c) > 1), None)
    if twice is None:
        return x, term
    i, j = (k for k, c in enumerate(term) if c == twice and term[:k].count(c) < 2)
    extent = at.dim(x, i)
    if not isinstance(extent, int):
        raise NoForm("a diagonal whose length is not known", "fix the extent")
    order = [k for k in range(len(term)) if k not in (i, j)] + [i, j]
    rest = "".join(term[k] for k in order[:-2])
    moved = at.op("Transpose", x, perm=order)
    eye = at.const(np.eye(extent), at.dtype(x))
    summed = at.reduce("ReduceSum", at.op("Mul", moved, eye), [len(rest) + 1], keepdims=False)
    return _diagonal(at, summed, rest + twice)


def _product(
    at: Rewriter, a: Value, of_a: str, b: Value, of_b: str, later: str
) -> tuple[Value, str]:
    """The product of two operands, summed over letters that are not used later."""
    a, of_a = _summed(at, a, of_a, of_b + later)
    b, of_b = _summed(at, b, of_b, of_a + later)
    batch = [c for c in of_a if c in of_b and c in later]
    inner = [c for c in of_a if c in of_b and c not in later]
    rows, columns = ([c for c in t if c not in batch + inner] for t in (of_a, of_b))
    a = _spread(at, a, of_a, [*batch, *rows, *[""] * len(columns), *inner])
    b = _spread(at, b, of_b, [*batch, *[""] * len(rows), *columns, *inner])
    letters = "".join([*batch, *rows, *columns])
    if not inner:
        return at.op("Mul", a, b), letters
    if len(inner) == len(rows) == len(columns) == 1:
        left = at.squeeze(a, len(batch) + 1)
        right = at.squeeze(b, len(batch))
        order = [*range(len(batch)), len(batch) + 1, len(batch)]
        return at.op("MatMul", left, at.op("Transpose", right, perm=order)), letters
    axes = list(range(len(letters), len(letters) + len(inner)))
    return at.reduce("ReduceSum", at.op("Mul", a, b), axes, keepdims=False), letters


def _summed(at: Rewriter, x: Value, letters: str, kept: str) -> tuple[Value, str]:
    axes = [k for k, c in enumerate(letters) if c not in kept]
    if not axes:
        return x, letters
    left = "".join(c for c in letters if c in kept)
    return at.reduce("ReduceSum", x, axes, keepdims=False), left


def _spread(at: Rewriter, x: Value, letters: str, wanted: Sequence[str]) -> Value:
    """Arrange the operand's axes in this order; "" is an axis of extent 1."""
    order = [letters.index(c) for c in wanted if c]
    if order != sorted(order):
        x = at.op("Transpose", x, perm=order)
    return at.unsqueeze(x, *(k for k, c in enumerate(wanted) if not c))


def _arranged(at: Rewriter, x: Value, letters: str, output: str) -> Value:
    x, letters = _summed(at, x, letters, output)
    order = [letters.index(c) for c in output]
    return at.op("Transpose", x, perm=order) if order != sorted(order) else x
