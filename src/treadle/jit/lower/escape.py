"""Operators without native code: a call out of the kernel, where their results have known ranks.

The standard's own rule tells the shapes. Where it does not, the operator is tried on zeros and on
ones: what has one shape on both is taken to have it always, which every call checks. An extent that
is not the same on both is told by the call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from treadle import ops
from treadle.errors import InvalidModel, KernelError, Unsupported
from treadle.ir import DType, Leaf, Symbol, Tensor, dtype_of
from treadle.jit.building import Building
from treadle.jit.kernel_ir import Constant, Dim, Escape, Extent, Kind, Node, Number, Part
from treadle.jit.nodes import NATIVE, Declined

_SIZES = (2, 3)
LISTS = frozenset(
    (
        "SequenceEmpty", "SequenceConstruct", "SequenceInsert", "SequenceErase", "SequenceAt",
        "SequenceLength", "ConcatFromSequence", "SplitToSequence", "Optional",
        "OptionalGetElement", "OptionalHasElement",
    )
)  # fmt: skip
"""Operators of sequences and optionals: natively a sequence is a tensor, elsewhere a list."""


def escapes(leaf: Leaf) -> bool:
    """Whether a call out of native code can run it, as far as the operator alone tells."""
    if leaf.blocks or leaf.op in LISTS:
        return False
    return ops.kernel(leaf.domain, leaf.op, leaf.version) is not None


def lower_escape(b: Building, leaf: Leaf, operands: Sequence[Node | None]) -> Sequence[Node | None]:
    """The results of a call; Declined where their ranks are not known beforehand."""
    if not escapes(leaf):
        raise Declined(f"no native code for {leaf.op}-{leaf.version}")
    present = [node for node in operands if node is not None]
    kinds = _ruled(leaf, operands) or _tried(leaf, operands)
    for kind in kinds:
        if kind is not None and kind[0] not in NATIVE:
            raise Declined(f"no native code for {kind[0]}")
    wanted = [
        None if value is None else kind for value, kind in zip(leaf.results, kinds, strict=True)
    ]
    op = Escape(leaf, tuple(node is not None for node in operands), tuple(wanted))
    node = b.add(op, DType.BOOL, (), *present)
    return [None if kind is None else _part(b, node, k, kind) for k, kind in enumerate(wanted)]


def _part(b: Building, call: Node, number: int, kind: Kind) -> Node:
    """One result of a call, with the extents that the call tells."""
    shape = tuple(
        b.number(b.add(Dim(number, axis), DType.INT64, (), call)) if extent is None else extent
        for axis, extent in enumerate(kind[1])
    )
    return b.add(Part(number), kind[0], shape, call)


def _ruled(leaf: Leaf, operands: Sequence[Node | None]) -> list[Kind | None] | None:
    """What the standard's rule says of the results; None where it does not say all ranks."""
    open_ = {e for n in operands if n is not None for e in n.shape if isinstance(e, Extent)}
    symbols = {extent: Symbol(f"extent {k}") for k, extent in enumerate(open_)}
    types = [None if n is None else Tensor(n.dtype, _dims(n, symbols)) for n in operands]
    arrays = [n.op.array if n is not None and isinstance(n.op, Constant) else None
              for n in operands]  # fmt: skip
    try:
        found = ops.result_types(leaf, types, arrays)
    except InvalidModel as why:
        raise Declined(str(why)) from why
    back = {symbol: extent for extent, symbol in symbols.items()}
    kinds = [_kind(type_, back) for type_ in found]
    missing = [v for v, kind in zip(leaf.results, kinds, strict=True) if v is not None and not kind]
    return None if missing else kinds


def _dims(node: Node, symbols: Mapping[Extent, Symbol]) -> tuple[int | Symbol, ...]:
    return tuple(e if isinstance(e, int) else symbols[e] for e in node.shape)


def _kind(type_: Any, back: Mapping[Symbol, Extent]) -> Kind | None:
    if not isinstance(type_, Tensor) or type_.dtype is None or type_.shape is None:
        return None
    shape: list[Number | None] = [
        dim if isinstance(dim, int) else back.get(dim) if isinstance(dim, Symbol) else None
        for dim in type_.shape
    ]
    return type_.dtype, tuple(shape)


def _tried(leaf: Leaf, operands: Sequence[Node | None]) -> list[Kind | None]:
    """What the operator gives on zeros and on ones alike; open extents differ in these, too."""
    try:
        run = ops.prepare(leaf)
        tries = [run([_sample(n, *each) for n in operands]) for each in enumerate(_SIZES)]
    except (KernelError, Unsupported) as why:
        raise Declined(f"{leaf.op}-{leaf.version}, whose shape nothing tells: {why}") from why
    first, second = ([_given(value) for value in made] for made in tries)
    return [_both(leaf, *kinds) for kinds in zip(first, second, strict=True)]


def _both(leaf: Leaf, one: Kind | None, other: Kind | None) -> Kind | None:
    """What both kinds are; an extent in which they differ is the call's to tell."""
    if one is None or other is None:
        if one is other:
            return None
        raise Declined(f"{leaf.op}-{leaf.version}, whose results depend on the data")
    if (one[0], len(one[1])) != (other[0], len(other[1])):
        raise Declined(f"{leaf.op}-{leaf.version}, whose rank depends on the data")
    pairs = zip(one[1], other[1], strict=True)
    return one[0], tuple(left if left == right else None for left, right in pairs)


def _sample(node: Node | None, fill: int, size: int) -> np.ndarray | None:
    if node is None:
        return None
    if isinstance(node.op, Constant):
        return node.op.array
    shape = [extent if isinstance(extent, int) else size for extent in node.shape]
    return np.full(shape, fill, node.dtype.numpy)


def _given(value: Any) -> Kind | None:
    if value is None:
        return None
    dtype = dtype_of(value.dtype) if isinstance(value, np.ndarray) else None
    if dtype is None:
        raise Declined("a result that is no tensor")
    return dtype, value.shape
