"""Facts: the types, contents and lengths that inference proves, with their join and meet.

    Fact    = (type, content?, literal?, count?)
    Content = the entries of a whole-number or bool tensor of rank 0 or 1, each a Dim
    count   = the number of elements of a sequence, a Dim

`join` describes a value that satisfies either fact (branches, iterations); `meet` describes a value
that satisfies both (a state of fixed shape, lengths that must agree).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from treadle.ir import (
    Constant,
    Dim,
    DType,
    Expression,
    Literal,
    Map,
    Optional,
    Sequence,
    Shape,
    Sparse,
    SparseArray,
    Symbol,
    Tensor,
    Type,
    dim_symbols,
    type_symbols,
)

Content = tuple[Dim, ...]

LONGEST_CONTENT = 128
WHOLE = frozenset(
    {
        DType.INT64, DType.INT32, DType.INT16, DType.INT8, DType.BOOL,
        DType.UINT64, DType.UINT32, DType.UINT16, DType.UINT8,
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fact:
    """A value's type, its few integer elements, its tensor in the file, and its element count.

    Facts are compared field by field, literals by identity.
    """

    type: Type | None = None
    content: Content | None = None
    literal: Literal | SparseArray | None = None
    count: Dim = None


UNKNOWN = Fact()


def constant_fact(constant: Constant) -> Fact:
    """The complete fact about a tensor of the file."""
    return literal_fact(constant.data)


def literal_fact(data: Literal | SparseArray) -> Fact:
    """The type, the content and the tensor of a literal."""
    if isinstance(data, SparseArray):
        return Fact(Tensor(data.values.dtype, tuple(data.shape)), literal=data)
    type_ = Tensor(data.dtype, tuple(data.array.shape))
    return Fact(type_, _content(data), data)


def _content(data: Literal) -> Content | None:
    array = data.array
    if data.dtype not in WHOLE or array.ndim > 1 or array.size > LONGEST_CONTENT:
        return None
    return tuple(int(entry) for entry in array.reshape(-1))


def array_of(fact: Fact) -> np.ndarray | None:
    """The value itself, if every element of it is known."""
    if isinstance(fact.literal, Literal):
        return fact.literal.array
    if isinstance(fact.literal, SparseArray):
        return fact.literal.dense()
    match fact:
        case Fact(Tensor(DType() as dtype, tuple() as shape), tuple() as content) if all(
            isinstance(entry, int) for entry in content
        ):
            return np.array(content, dtype.numpy).reshape(tuple(map(_whole, shape)))
    return None


def _whole(dim: Dim) -> int:
    assert isinstance(dim, int), f"content of a tensor whose shape holds {dim}"
    return dim


def truth(fact: Fact) -> bool | None:
    """The bool held by a one-element tensor; None if it is unknown."""
    array = array_of(fact)
    return bool(array.reshape(-1)[0]) if array is not None and array.size == 1 else None


def join(left: Fact, right: Fact) -> Fact:
    """The strongest fact that follows from either of the two."""
    if left == right:
        return left
    if isinstance(left.type, Sequence) and isinstance(right.type, Sequence):
        return Fact(_join_sequences(left, right), count=join_dims(left.count, right.count))
    type_ = join_types(left.type, right.type)
    literal = left.literal if left.literal is right.literal else None
    return Fact(type_, _join_contents(left, right, type_), literal)


def _join_sequences(left: Fact, right: Fact) -> Type | None:
    # an empty sequence does not constrain the shapes of elements
    if left.count == 0:
        return meet_types(right.type, without_shapes(left.type))
    if right.count == 0:
        return meet_types(left.type, without_shapes(right.type))
    return join_types(left.type, right.type)


def _join_contents(left: Fact, right: Fact, type_: Type | None) -> Content | None:
    a, b = left.content, right.content
    known = isinstance(type_, Tensor) and type_.shape is not None and None not in type_.shape
    if a is None or b is None or not known:
        return None
    joined = tuple(map(join_dims, a, b))
    return joined if any(entry is not None for entry in joined) else None


def join_dims(left: Dim, right: Dim) -> Dim:
    """The dim if both are equal, else unknown."""
    return left if left == right else None


def join_shapes(left: Shape | None, right: Shape | None) -> Shape | None:
    """Join each pair of dims; the rank is unknown if the ranks differ."""
    if left is None or right is None or len(left) != len(right):
        return None
    return tuple(map(join_dims, left, right))


def join_types(left: Type | None, right: Type | None) -> Type | None:
    """The type of a value that has one of the two types; None if the kinds differ.

    A plain value and an optional one join to an optional.
    """
    if left == right:
        return left
    match left, right:
        case (Tensor(a, shape), Tensor(b, other)):
            return Tensor(a if a is b else None, join_shapes(shape, other))
        case (Sparse(a, shape), Sparse(b, other)):
            return Sparse(a if a is b else None, join_shapes(shape, other))
        case (Sequence(one), Sequence(two)):
            return Sequence(join_types(one, two))
        case (Optional(one), Optional(two)):
            return Optional(join_types(one, two))
        case (Map(a, one), Map(b, two)):
            return Map(a if a is b else None, join_types(one, two))
        case (Optional(held), other) | (other, Optional(held)):
            return None if other is None else Optional(join_types(held, other))
    return None


def meet_dims(left: Dim, right: Dim) -> Dim:
    """The more precise dim: a number beats a name, the left name beats the right one."""
    if isinstance(left, int) or right is None:
        return left
    if isinstance(right, int) or not isinstance(left, Symbol | Expression):
        return right
    return left


def meet_shapes(left: Shape | None, right: Shape | None) -> Shape | None:
    """Take the more precise dim of each pair; the left shape if the ranks contradict."""
    if left is None or right is None:
        return right if left is None else left
    return tuple(map(meet_dims, left, right)) if len(left) == len(right) else left


def meet_types(left: Type | None, right: Type | None) -> Type | None:
    """The type of a value that has both types; the left one if they contradict."""
    match left, right:
        case (None, _):
            return right
        case (Tensor(a, shape), Tensor(b, other)):
            return Tensor(a or b, meet_shapes(shape, other))
        case (Sparse(a, shape), Sparse(b, other)):
            return Sparse(a or b, meet_shapes(shape, other))
        case (Sequence(one), Sequence(two)):
            return Sequence(meet_types(one, two))
        case (Optional(one), Optional(two)):
            return Optional(meet_types(one, two))
        case (Map(a, one), Map(b, two)):
            return Map(a or b, meet_types(one, two))
    return left


def without_dims(type_: Type | None) -> Type | None:
    """The type with its rank kept and every dim unknown: the trusted part of a declaration."""
    return map_shapes(type_, lambda shape: None if shape is None else (None,) * len(shape))


def without_shapes(type_: Type | None) -> Type | None:
    """The type with unknown rank everywhere, for shapes that never stop changing."""
    return map_shapes(type_, lambda _: None)


def map_shapes(type_: Type | None, change: Callable[[Shape | None], Shape | None]) -> Type | None:
    """The type with `change` applied to every shape in it."""
    match type_:
        case Tensor() | Sparse():
            return replace(type_, shape=change(type_.shape))
        case Sequence() | Optional() | Map():
            return replace(type_, element=map_shapes(type_.element, change))
    return None


def map_dims(fact: Fact, change: Callable[[Dim], Dim]) -> Fact:
    """The fact with `change` applied to every dim in it."""

    def changed(dims: Shape | None) -> Shape | None:
        return None if dims is None else tuple(map(change, dims))

    type_ = map_shapes(fact.type, changed)
    content = changed(fact.content)
    if content is not None and all(entry is None for entry in content):
        content = None
    return Fact(type_, content, fact.literal, change(fact.count))


def fact_symbols(fact: Fact) -> frozenset[str]:
    """The names of all symbols in the fact."""
    return type_symbols(fact.type).union(*map(dim_symbols, (*(fact.content or ()), fact.count)))
