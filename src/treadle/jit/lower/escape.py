"""Operators without native code: a call out of the kernel, where their results have known shapes.

The standard's own rule tells the shapes. Where it does not, the operator is tried on zeros and on
ones: what has one shape on both is taken to have it always, which every call checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from treadle import ops
from treadle.errors import InvalidModel, KernelError, Unsupported
from treadle.ir import DType, Leaf, Tensor, dtype_of
from treadle.jit.building import Building, extents_of
from treadle.jit.kernel_ir import Constant, Escape, Node, Part
from treadle.jit.nodes import NATIVE, Declined

Kind = tuple[DType, tuple[int, ...]]
_BY_DATA = frozenset(("NonZero", "Compress", "Unique", "NonMaxSuppression", "StringSplit"))
LISTS = frozenset(
    (
        "SequenceEmpty", "SequenceConstruct", "SequenceInsert", "SequenceErase", "SequenceAt",
        "SequenceLength", "ConcatFromSequence", "SplitToSequence", "Optional",
        "OptionalGetElement", "OptionalHasElement",
    )
)  # fmt: skip
"""Operators of sequences and optionals: natively a sequence is a tensor, elsewhere a list."""


def by_data(op: str) -> bool:
    """Whether the data of its operands tell the shape of a result."""
    return op in _BY_DATA or op in LISTS


def escapes(leaf: Leaf) -> bool:
    """Whether a call out of native code can run it, as far as the operator alone tells."""
    if leaf.blocks or by_data(leaf.op):
        return False
    return ops.kernel(leaf.domain, leaf.op, leaf.version) is not None


def lower_escape(b: Building, leaf: Leaf, operands: Sequence[Node | None]) -> Sequence[Node | None]:
    """The results of a call; Declined where their shapes are not known beforehand."""
    if not escapes(leaf):
        raise Declined(f"no native code for {leaf.op}-{leaf.version}")
    present = [node for node in operands if node is not None]
    shapes = [extents_of(node) for node in present]
    kinds = _ruled(leaf, operands) or _tried(leaf, operands)
    assert len(shapes) == len(present)
    for kind in kinds:
        if kind is not None and kind[0] not in NATIVE:
            raise Declined(f"no native code for {kind[0]}")
    wanted = [
        None if value is None else kind for value, kind in zip(leaf.results, kinds, strict=True)
    ]
    op = Escape(leaf, tuple(node is not None for node in operands), tuple(wanted))
    node = b.add(op, DType.BOOL, (), *present)
    return [
        None if kind is None else b.add(Part(number), *kind, node)
        for number, kind in enumerate(wanted)
    ]


def _ruled(leaf: Leaf, operands: Sequence[Node | None]) -> list[Kind | None] | None:
    """What the standard's rule says of the results; None where it does not say it all."""
    types = [None if n is None else Tensor(n.dtype, extents_of(n)) for n in operands]
    arrays = [n.op.array if n is not None and isinstance(n.op, Constant) else None
              for n in operands]  # fmt: skip
    try:
        found = ops.result_types(leaf, types, arrays)
    except InvalidModel as why:
        raise Declined(str(why)) from why
    kinds = [_kind(type_) for type_ in found]
    missing = [v for v, kind in zip(leaf.results, kinds, strict=True) if v is not None and not kind]
    return None if missing else kinds


def _kind(type_: Any) -> Kind | None:
    if not isinstance(type_, Tensor) or type_.dtype is None or type_.shape is None:
        return None
    shape = tuple(extent for extent in type_.shape if isinstance(extent, int))
    return (type_.dtype, shape) if len(shape) == len(type_.shape) else None


def _tried(leaf: Leaf, operands: Sequence[Node | None]) -> list[Kind | None]:
    """What the operator gives on zeros and on ones alike."""
    try:
        run = ops.prepare(leaf)
        first, second = (run([_sample(n, fill) for n in operands]) for fill in (0, 1))
    except (KernelError, Unsupported) as why:
        raise Declined(f"{leaf.op}-{leaf.version}, whose shape nothing tells: {why}") from why
    kinds = [_given(value) for value in first]
    if kinds != [_given(value) for value in second]:
        raise Declined(f"{leaf.op}-{leaf.version}, whose shape depends on the data")
    return kinds


def _sample(node: Node | None, fill: int) -> np.ndarray | None:
    if node is None:
        return None
    if isinstance(node.op, Constant):
        return node.op.array
    return np.full(extents_of(node), fill, node.dtype.numpy)


def _given(value: Any) -> Kind | None:
    if value is None:
        return None
    dtype = dtype_of(value.dtype) if isinstance(value, np.ndarray) else None
    if dtype is None:
        raise Declined("a result that is no tensor")
    return dtype, value.shape
