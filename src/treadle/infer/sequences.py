"""Facts of sequences: the common type of their elements, and their number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from treadle.infer.data_propagation import whole_attribute
from treadle.infer.facts import Fact, join_types
from treadle.ir import Dim, DType, Leaf, Tensor, Type, add_dims, multiply_dims, subtract_dims
from treadle.ir import Sequence as SequenceType

Rule = Callable[[Leaf, Sequence[Fact]], Fact | None]


def sequence_fact(leaf: Leaf, facts: Sequence[Fact]) -> Fact | None:
    """The fact of the only result; None if the standard's own rules are as precise."""
    rule = _RULES.get(leaf.op) if leaf.domain == "" else None
    return None if rule is None or len(leaf.results) != 1 else rule(leaf, facts)


def sequence_count(leaf: Leaf, facts: Sequence[Fact]) -> Dim:
    """The number of elements of the only result, for operators typed by the standard's rules."""
    if leaf.op == "SequenceEmpty":
        return 0
    if leaf.op == "SequenceErase":
        return subtract_dims(facts[0].count, 1)
    return _extent(facts[0], leaf, 0) if leaf.op == "SplitToSequence" and len(facts) < 2 else None


def _construct(leaf: Leaf, facts: Sequence[Fact]) -> Fact | None:
    types = [fact.type for fact in facts]
    if not _agree(types):
        return None
    return Fact(SequenceType(reduce(join_types, types)), count=len(types))


def _insert(leaf: Leaf, facts: Sequence[Fact]) -> Fact | None:
    sequence, inserted = facts[0], facts[1].type
    if not isinstance(sequence.type, SequenceType) or not _agree([sequence.type.element, inserted]):
        return None
    element = inserted if sequence.count == 0 else join_types(sequence.type.element, inserted)
    return Fact(SequenceType(element), count=add_dims(sequence.count, 1))


def _length(leaf: Leaf, facts: Sequence[Fact]) -> Fact | None:
    if facts[0].count is None:
        return None
    return Fact(Tensor(DType.INT64, ()), (facts[0].count,))


def _concatenated(leaf: Leaf, facts: Sequence[Fact]) -> Fact | None:
    match facts[0]:
        case Fact(SequenceType(Tensor(dtype, tuple() as shape)), count=count):
            rank = len(shape) + whole_attribute(leaf, "new_axis", 0)
            axis = whole_attribute(leaf, "axis", 0)
            if not -rank <= axis < rank:
                return None
            at = axis % rank
            if rank > len(shape):
                return Fact(Tensor(dtype, (*shape[:at], count, *shape[at:])))
            extent = multiply_dims(count, shape[at])
            return Fact(Tensor(dtype, (*shape[:at], extent, *shape[at + 1 :])))
    return None


def _agree(types: Sequence[Type | None]) -> bool:
    """Whether all operands are tensors of one known dtype.

    Otherwise the standard's rule reports the fault.
    """
    dtypes = {type_.dtype if isinstance(type_, Tensor) else None for type_ in types}
    return len(dtypes) == 1 and None not in dtypes


def _extent(fact: Fact, leaf: Leaf, default: int) -> Dim:
    axis = whole_attribute(leaf, "axis", default)
    match fact.type:
        case Tensor(_, shape) if shape is not None and -len(shape) <= axis < len(shape):
            return shape[axis]
    return None


_RULES: dict[str, Rule] = {
    "SequenceConstruct": _construct,
    "SequenceInsert": _insert,
    "SequenceLength": _length,
    "ConcatFromSequence": _concatenated,
}
