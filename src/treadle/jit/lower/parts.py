"""Operators over the parts of lists and optionals: see jit/parts for what those are.

Positions out of range are refused, as are elements that do not fit each other, and an empty
optional whose element is asked for: the interpreter says what is wrong with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from treadle import ops
from treadle.ir import DType, Leaf, Tensor
from treadle.jit.building import Building
from treadle.jit.kernel_ir import HOLDER, Empty, Escape, Kind, Node
from treadle.jit.lower.held import OBJECT, call
from treadle.jit.lower.index import positive, steps
from treadle.jit.lower.ragged import (
    Ragged,
    alike,
    chained,
    concatenated,
    element,
    none,
    one,
    pieces,
    some,
    stacked,
)
from treadle.jit.lower.reduce import reduced
from treadle.jit.lower.sequence import moved, place_in
from treadle.jit.nodes import Declined
from treadle.jit.parts import APART, KNOWN, TOGETHER, elements, nothing, tensors

Nodes = Sequence[Node]
Operands = Sequence[Node | None]


def lower_parts(b: Building, leaf: Leaf, operands: Operands) -> Nodes:
    """The results of a step of the domain PARTS."""
    made = _TABLE[leaf.op](b, leaf, operands)
    return made[:3] if isinstance(made, Ragged) else made


def _apart(b: Building, leaf: Leaf, operands: Operands) -> Nodes:
    """The parts of what came in."""
    (node,) = operands
    assert node is not None
    types = tensors(leaf.results)
    if node in b.objects:
        own = Leaf(HOLDER, APART, 1, leaf.operands, leaf.results, leaf.attributes)
        kinds = tuple(map(_kind, types))
        op = Escape(own, (True,), kinds, (True,), (False,) * len(kinds))
        return [part for part in call(b, op, [node]) if part is not None]
    there = [b.scalar(True, DType.BOOL)] if len(types) in (2, 4) else []
    if len(types) < 3:
        return [*there, node]
    (dtype, rank), known = elements(leaf.results), _known(leaf)
    if isinstance(node.op, Empty) or node.shape[0] == 0:
        return [*there, *none(b, dtype, rank, known)[:3]]
    if (node.dtype, len(node.shape)) != (dtype, rank + 1):
        raise Declined("a sequence of other elements than its type tells")
    return [*there, *alike(b, node, known)[:3]]


def _together(b: Building, leaf: Leaf, operands: Operands) -> Nodes:
    """A result, as a list or an optional is outside."""
    present = [node for node in operands if node is not None]
    own = Leaf(HOLDER, TOGETHER, 1, leaf.operands, leaf.results)
    given, takes = (True,) * len(present), (False,) * len(present)
    made = call(b, Escape(own, given, (OBJECT,), takes, (True,)), present)
    return [node for node in made if node is not None]


def _kind(type_: Tensor) -> Kind:
    assert type_.dtype is not None
    assert type_.shape is not None
    return type_.dtype, tuple(dim if isinstance(dim, int) else None for dim in type_.shape)


def _empty(b: Building, leaf: Leaf, _: Operands) -> Ragged:
    return none(b, *elements(leaf.results), _known(leaf))


def _construct(b: Building, leaf: Leaf, operands: Operands) -> Ragged:
    """The operands in order."""
    return chained(b, [one(b, node, _known(leaf)) for node in operands if node is not None])


def _insert(b: Building, leaf: Leaf, operands: Operands) -> Ragged:
    """With one more element: behind the others, or before a position."""
    items, (x, position) = _list(leaf, operands), (*operands[3:], None)[:2]
    assert x is not None
    new = one(b, x, items.known)
    if position is None:
        return chained(b, [items, new])
    place = place_in(b, position, items.length, items.length)
    rest = some(b, items, place, b.minus(items.length, place))
    return chained(b, [some(b, items, 0, place), new, rest])


def _erase(b: Building, leaf: Leaf, operands: Operands) -> Ragged:
    """Without one element, the last by default."""
    items, position = _list(leaf, operands), (*operands[3:], None)[0]
    count = items.length
    b.expect(b.compare("greater", count, 0))
    most = b.minus(count, 1)
    if position is None:
        return some(b, items, 0, most)
    place = place_in(b, position, count, most)
    behind = b.plus(place, 1)
    return chained(b, [some(b, items, 0, place), some(b, items, behind, b.minus(count, behind))])


def _at(b: Building, leaf: Leaf, operands: Operands) -> Nodes:
    """One element; a negative position counts from the end."""
    items, position = _list(leaf, operands), operands[3]
    assert position is not None
    b.expect(b.compare("greater", items.length, 0))
    place = place_in(b, position, items.length, b.minus(items.length, 1))
    return [element(b, items, place)]


def _length(b: Building, leaf: Leaf, operands: Operands) -> Nodes:
    """How many elements."""
    return [b.dim(_list(leaf, operands).length)]


def _concat(b: Building, leaf: Leaf, operands: Operands) -> Nodes:
    """The elements joined along an axis, a new one if asked for."""
    items, attributes = _list(leaf, operands), _attributes(leaf)
    is_new = bool(attributes["new_axis"])
    axis = positive(attributes["axis"], items.rank + is_new)
    return [moved(b, stacked(b, items), axis) if is_new else concatenated(b, items, axis)]


def _split(b: Building, leaf: Leaf, operands: Operands) -> Ragged:
    """Pieces of one length, the last maybe less, or of these, or of 1 and without the axis."""
    x, sizes = (*operands, None)[:2]
    assert x is not None
    attributes = _attributes(leaf)
    axis, known = positive(attributes["axis"], len(x.shape)), _known(leaf)
    extent = x.shape[axis]
    if sizes is None:
        ones = b.expand(b.scalar(1, DType.INT64), (extent,))
        return pieces(b, x, axis, ones, known, keep=bool(attributes["keepdims"]))
    if len(sizes.shape) > 1:
        raise Declined("a list of sizes with more than one axis")
    lengths = b.cast(sizes, DType.INT64)
    if not lengths.shape:
        b.expect(b.map("greater", lengths, b.scalar(0, DType.INT64), dtype=DType.BOOL))
        lengths = b.map("min", lengths, b.dim(b.most(extent, 1)))
        before = b.map("sub", b.map("add", b.dim(extent), lengths), b.scalar(1, DType.INT64))
        count = b.number(b.map("div", before, lengths))
        begun = b.map("mul", steps(b, 1, 0, count), lengths)
        lengths = b.map("min", b.map("sub", b.dim(extent), begun), lengths)
        return pieces(b, x, axis, lengths, known)
    below = b.map("less", lengths, b.scalar(0, DType.INT64), dtype=DType.BOOL)
    total, wrong = (
        reduced(b, "add", each, [0], keep=False) for each in (lengths, b.cast(below, DType.INT64))
    )
    b.expect(b.map("equal", total, b.dim(extent), dtype=DType.BOOL))
    b.expect(b.map("equal", wrong, b.scalar(0, DType.INT64), dtype=DType.BOOL))
    return pieces(b, x, axis, lengths, known)


def _optional(b: Building, leaf: Leaf, operands: Operands) -> Nodes:
    """What it holds; of an empty one anything of the kind."""
    present = [node for node in operands if node is not None]
    if present:
        return [b.scalar(True, DType.BOOL), *present]
    there = b.scalar(False, DType.BOOL)
    if len(leaf.results) > 2:
        return [there, *_empty(b, leaf, ())[:3]]
    return [there, b.constant(nothing(tensors(leaf.results)[1]))]


def _has_element(b: Building, leaf: Leaf, operands: Operands) -> Nodes:
    """Whether it holds something; what is no optional does."""
    present = [node for node in operands if node is not None]
    return present or [b.scalar(True, DType.BOOL)]


def _get_element(b: Building, leaf: Leaf, operands: Operands) -> Nodes:
    """What it holds."""
    there, *parts = [node for node in operands if node is not None]
    b.expect(there)
    return parts


def _same(b: Building, leaf: Leaf, operands: Operands) -> Nodes:
    return [node for node in operands if node is not None]


def _list(leaf: Leaf, operands: Operands) -> Ragged:
    flat, ends, shapes = operands[:3]
    assert flat is not None
    assert ends is not None
    assert shapes is not None
    return Ragged(flat, ends, shapes, _known(leaf))


def _known(leaf: Leaf) -> Sequence[int]:
    """The extents that all elements have, -1 for others."""
    known = leaf.attributes.get(KNOWN)
    return () if known is None else ops.attributes_of({KNOWN: known})[KNOWN]


def _attributes(leaf: Leaf) -> dict[str, Any]:
    return ops.defaults_of("", leaf.op, leaf.version) | ops.attributes_of(leaf.attributes)


_TABLE: Mapping[str, Callable[[Building, Leaf, Operands], Nodes | Ragged]] = {
    APART: _apart,
    TOGETHER: _together,
    "Identity": _same,
    "SequenceEmpty": _empty,
    "SequenceConstruct": _construct,
    "SequenceInsert": _insert,
    "SequenceErase": _erase,
    "SequenceAt": _at,
    "SequenceLength": _length,
    "ConcatFromSequence": _concat,
    "SplitToSequence": _split,
    "Optional": _optional,
    "OptionalHasElement": _has_element,
    "OptionalGetElement": _get_element,
}
