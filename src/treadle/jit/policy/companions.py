"""Small operators around a loop that join its region.

How many that are is known from the types, or when data comes: a region with more is declined, and
its loops are tried alone. Of what computes much for an element the types must tell it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod

from treadle.ir import Leaf, Optional, Sequence, Step, Tensor, Value, reads
from treadle.jit.kernel.ir import Node
from treadle.jit.kernel.node_builder import NATIVE, Declined
from treadle.jit.lowering import lowering
from treadle.plan import is_compute_heavy

_DEAR = frozenset(("Einsum", "GRU", "Gemm", "LSTM", "MatMul", "RNN"))
_OF_LISTS = frozenset(("SequenceEmpty", "SequenceLength", "SequenceAt", "ConcatFromSequence"))
_OF_SHAPES = frozenset(("Shape", "Size"))
_MAX_ELEMENTS = 65536
"""Elements of a value in an operator that joins the region of a loop."""


def may_be_small(step: Step) -> bool:
    """Whether the step is worth taking along: native, cheap, of few elements as far as is known."""
    if not isinstance(step, Leaf) or step.op in _DEAR or not _is_native(step):
        return False
    if lowering(step.domain, step.op, step.version) is None:
        return False
    if step.op in _OF_LISTS:
        return True
    sizes = [_size(value) for value in _looked_at(step)]
    if None in sizes and is_compute_heavy(step):
        return False
    return all(size is None or size <= _MAX_ELEMENTS for size in sizes)


def expect_small(steps: Iterable[Step], nodes: Mapping[Value, Node | None]) -> None:
    """Declined where a step that came along has more elements than was hoped."""
    for step in steps:
        for value in _looked_at(step):
            node = nodes.get(value)
            if node is not None and node.is_static and node.size > _MAX_ELEMENTS:
                raise Declined(f"{value.name} beside a loop has {node.size} elements")


def _looked_at(step: Step) -> Iterable[Value]:
    """The values that say how much a step is to compute."""
    assert isinstance(step, Leaf), "only leaves come along"
    values = step.results if step.op in _OF_SHAPES else (*step.operands, *step.results)
    return () if step.op in _OF_LISTS else [value for value in values if value is not None]


def _size(value: Value) -> int | None:
    """How many elements it has; None where the type does not tell."""
    shape = value.type.shape if isinstance(value.type, Tensor) else None
    if shape is None:
        return None
    extents = tuple(extent for extent in shape if isinstance(extent, int))
    return prod(extents) if len(extents) == len(shape) else None


def _is_native(step: Step) -> bool:
    """Whether what it reads and gives has a native form, as far as types tell."""
    for value in (*step.results, *reads(step)):
        type_ = value.type if value is not None else None
        while isinstance(type_, Optional | Sequence):
            type_ = type_.element
        if type_ is not None and not isinstance(type_, Tensor):
            return False
        if isinstance(type_, Tensor) and type_.dtype is not None and type_.dtype not in NATIVE:
            return False
    return True
