"""Lowerings of operators over the component arrays of sequences and optionals.

Positions out of range, elements that do not fit each other, and reads of an empty optional fail a
guard: the interpreter then reports the error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from treadle import ops
from treadle.ir import DType, Leaf, Tensor
from treadle.jit.host.sequence_layout import KNOWN, PACK, UNPACK, elements, nothing, tensors
from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import BOXED_DOMAIN, Empty, HostCall, Kind, Node
from treadle.jit.lowering.boxing import OBJECT, box_call
from treadle.jit.lowering.operators.axes import nonnegative_axis
from treadle.jit.lowering.operators.gather_scatter import steps
from treadle.jit.lowering.operators.reduce import reduced
from treadle.jit.lowering.sequences.ragged import (
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
from treadle.jit.lowering.sequences.uniform import moved, place_in

Nodes = Sequence[Node]
Operands = Sequence[Node | None]


def lower_parts(builder: KernelBuilder, leaf: Leaf, operands: Operands) -> Nodes:
    """The results of a step of the domain PARTS."""
    made = _TABLE[leaf.op](builder, leaf, operands)
    return made[:3] if isinstance(made, Ragged) else made


def _apart(builder: KernelBuilder, leaf: Leaf, operands: Operands) -> Nodes:
    """Split an incoming value into its parts."""
    (node,) = operands
    assert node is not None
    types = tensors(leaf.results)
    if node in builder.objects:
        own = Leaf(BOXED_DOMAIN, UNPACK, 1, leaf.operands, leaf.results, leaf.attributes)
        kinds = tuple(map(_kind, types))
        op = HostCall(own, (True,), kinds, (True,), (False,) * len(kinds))
        return [part for part in box_call(builder, op, [node]) if part is not None]
    there = [builder.scalar(True, DType.BOOL)] if len(types) in (2, 4) else []
    if len(types) < 3:
        return [*there, node]
    (dtype, rank), known = elements(leaf.results), _known(leaf)
    if isinstance(node.op, Empty) or node.shape[0] == 0:
        return [*there, *none(builder, dtype, rank, known)[:3]]
    if (node.dtype, len(node.shape)) != (dtype, rank + 1):
        raise Declined("a sequence whose elements do not have its declared type")
    return [*there, *alike(builder, node, known)[:3]]


def _together(builder: KernelBuilder, leaf: Leaf, operands: Operands) -> Nodes:
    """Join a result to a Python list or optional."""
    present = [node for node in operands if node is not None]
    own = Leaf(BOXED_DOMAIN, PACK, 1, leaf.operands, leaf.results)
    given, takes = (True,) * len(present), (False,) * len(present)
    made = box_call(builder, HostCall(own, given, (OBJECT,), takes, (True,)), present)
    return [node for node in made if node is not None]


def _kind(type_: Tensor) -> Kind:
    assert type_.dtype is not None
    assert type_.shape is not None
    return type_.dtype, tuple(dim if isinstance(dim, int) else None for dim in type_.shape)


def _empty(builder: KernelBuilder, leaf: Leaf, _: Operands) -> Ragged:
    return none(builder, *elements(leaf.results), _known(leaf))


def _construct(builder: KernelBuilder, leaf: Leaf, operands: Operands) -> Ragged:
    """SequenceConstruct: the operands in order."""
    return chained(
        builder, [one(builder, node, _known(leaf)) for node in operands if node is not None]
    )


def _insert(builder: KernelBuilder, leaf: Leaf, operands: Operands) -> Ragged:
    """SequenceInsert: an element after the others, or before a position."""
    items, (x, position) = _list(leaf, operands), (*operands[3:], None)[:2]
    assert x is not None
    new = one(builder, x, items.known)
    if position is None:
        return chained(builder, [items, new])
    index = place_in(builder, position, items.length, items.length)
    rest = some(builder, items, index, builder.minus(items.length, index))
    return chained(builder, [some(builder, items, 0, index), new, rest])


def _erase(builder: KernelBuilder, leaf: Leaf, operands: Operands) -> Ragged:
    """SequenceErase: removes one element, by default the last."""
    items, position = _list(leaf, operands), (*operands[3:], None)[0]
    count = items.length
    builder.expect(builder.compare("greater", count, 0))
    most = builder.minus(count, 1)
    if position is None:
        return some(builder, items, 0, most)
    index = place_in(builder, position, count, most)
    behind = builder.plus(index, 1)
    return chained(
        builder,
        [
            some(builder, items, 0, index),
            some(builder, items, behind, builder.minus(count, behind)),
        ],
    )


def _at(builder: KernelBuilder, leaf: Leaf, operands: Operands) -> Nodes:
    """SequenceAt: one element; a negative position counts from the end."""
    items, position = _list(leaf, operands), operands[3]
    assert position is not None
    builder.expect(builder.compare("greater", items.length, 0))
    index = place_in(builder, position, items.length, builder.minus(items.length, 1))
    return [element(builder, items, index)]


def _length(builder: KernelBuilder, leaf: Leaf, operands: Operands) -> Nodes:
    """SequenceLength: the number of elements."""
    return [builder.dim(_list(leaf, operands).length)]


def _concat(builder: KernelBuilder, leaf: Leaf, operands: Operands) -> Nodes:
    """ConcatFromSequence: along an axis, or along a new one."""
    items, attributes = _list(leaf, operands), _attributes(leaf)
    is_new = bool(attributes["new_axis"])
    axis = nonnegative_axis(attributes["axis"], items.rank + is_new)
    return [
        moved(builder, stacked(builder, items), axis)
        if is_new
        else concatenated(builder, items, axis)
    ]


def _split(builder: KernelBuilder, leaf: Leaf, operands: Operands) -> Ragged:
    """SplitToSequence: equal pieces (the last may be smaller), given sizes, or single items."""
    x, sizes = (*operands, None)[:2]
    assert x is not None
    attributes = _attributes(leaf)
    axis, known = nonnegative_axis(attributes["axis"], len(x.shape)), _known(leaf)
    extent = x.shape[axis]
    if sizes is None:
        ones = builder.expand(builder.scalar(1, DType.INT64), (extent,))
        return pieces(builder, x, axis, ones, known, keep=bool(attributes["keepdims"]))
    if len(sizes.shape) > 1:
        raise Declined("a list of sizes with more than one axis")
    lengths = builder.cast(sizes, DType.INT64)
    if not lengths.shape:
        builder.expect(builder.map("greater", lengths, builder.scalar(0, DType.INT64)))
        lengths = builder.map("min", lengths, builder.dim(builder.most(extent, 1)))
        before = builder.map(
            "sub", builder.map("add", builder.dim(extent), lengths), builder.scalar(1, DType.INT64)
        )
        count = builder.number(builder.map("div", before, lengths))
        begun = builder.map("mul", steps(builder, 1, 0, count), lengths)
        lengths = builder.map("min", builder.map("sub", builder.dim(extent), begun), lengths)
        return pieces(builder, x, axis, lengths, known)
    below = builder.map("less", lengths, builder.scalar(0, DType.INT64))
    total, wrong = (
        reduced(builder, "add", each, [0], keep=False)
        for each in (lengths, builder.cast(below, DType.INT64))
    )
    builder.expect(builder.map("equal", total, builder.dim(extent)))
    builder.expect(builder.map("equal", wrong, builder.scalar(0, DType.INT64)))
    return pieces(builder, x, axis, lengths, known)


def _optional(builder: KernelBuilder, leaf: Leaf, operands: Operands) -> Nodes:
    """Optional: its element; an empty one has arbitrary parts of the kind."""
    present = [node for node in operands if node is not None]
    if present:
        return [builder.scalar(True, DType.BOOL), *present]
    there = builder.scalar(False, DType.BOOL)
    if len(leaf.results) > 2:
        return [there, *_empty(builder, leaf, ())[:3]]
    return [there, builder.constant(nothing(tensors(leaf.results)[1]))]


def _has_element(builder: KernelBuilder, leaf: Leaf, operands: Operands) -> Nodes:
    """OptionalHasElement; true for a value that is not optional."""
    present = [node for node in operands if node is not None]
    return present or [builder.scalar(True, DType.BOOL)]


def _get_element(builder: KernelBuilder, leaf: Leaf, operands: Operands) -> Nodes:
    """OptionalGetElement."""
    there, *parts = [node for node in operands if node is not None]
    builder.expect(there)
    return parts


def _same(builder: KernelBuilder, leaf: Leaf, operands: Operands) -> Nodes:
    return [node for node in operands if node is not None]


def _list(leaf: Leaf, operands: Operands) -> Ragged:
    flat, ends, shapes = operands[:3]
    assert flat is not None
    assert ends is not None
    assert shapes is not None
    return Ragged(flat, ends, shapes, _known(leaf))


def _known(leaf: Leaf) -> Sequence[int]:
    """The common extents of all elements, -1 for varying ones."""
    known = leaf.attributes.get(KNOWN)
    return () if known is None else ops.attributes_of({KNOWN: known})[KNOWN]


def _attributes(leaf: Leaf) -> dict[str, Any]:
    return ops.defaults_of("", leaf.op, leaf.version) | ops.attributes_of(leaf.attributes)


_TABLE: Mapping[str, Callable[[KernelBuilder, Leaf, Operands], Nodes | Ragged]] = {
    UNPACK: _apart,
    PACK: _together,
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
