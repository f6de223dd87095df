"""Rules for operators that read a cache with room behind its valid items.

A Grown value has the cache's extent along one axis, of which the first `length` items are valid.
`zero`: those behind are zeros. Each rule returns the results, or why the operator would read
invalid items. Softmax along the axis gets a mask; a product that sums over the axis has zeros on
both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treadle.ir import Leaf, Value
from treadle.ops import attributes_of, defaults_of
from treadle.passes.rewrites.writer import Writer
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.operators import operand


@dataclass(frozen=True, slots=True)
class Length:
    """The number of valid items, [1]; `valid`: a mask over the capacity, [capacity], or None."""

    count: Value
    valid: Value | None = None


@dataclass(frozen=True, slots=True)
class Grown:
    """A value with room behind its valid items along an axis."""

    axis: int
    length: Length
    zero: bool


class Unmasked(Exception):
    """A reader would use invalid items; holds the reason."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One step that reads grown values; `to` takes the replacing steps."""

    step: Leaf
    grown: Mapping[Value, Grown]
    at: PassContext
    to: Writer

    def attribute(self, name: str) -> object:
        """The plain value of an attribute, or its default."""
        step = self.step
        given = defaults_of("", step.op, step.version) | attributes_of(step.attributes)
        return given.get(name)

    def rank(self, value: Value | None) -> int:
        """The rank of a value."""
        shape = self.at.shape(value)
        if shape is None:
            raise Unmasked("the rank of an operand is not known")
        return len(shape)

    def only(self, position: int = 0) -> tuple[Value, Grown]:
        """The operand at a position, which must be the only grown one."""
        value = self.step.operands[position]
        others = [v for k, v in enumerate(self.step.operands) if k != position]
        if value is None or any(v in self.grown for v in others if v is not None):
            raise Unmasked("it reads the cache in an unsupported position")
        return value, self.grown[value]

    def keep(self, made: Grown) -> Mapping[Value, Grown]:
        """Keep the step; its first result is grown like this."""
        self.to.steps.append(self.step)
        result = self.step.results[0]
        return {} if result is None else {result: made}


Rule = Callable[[Reading], Mapping[Value, Grown]]


def read(at: Reading) -> Mapping[Value, Grown]:
    """Write the step over grown values; raises Unmasked if it would read invalid items."""
    if at.step.domain or at.step.op not in _RULES:
        raise Unmasked("it reads more than the valid items of the cache")
    return _RULES[at.step.op](at)


def _elementwise(at: Reading) -> Mapping[Value, Grown]:
    ranks = [at.rank(value) for value in at.step.operands if value is not None]
    found: set[tuple[int, Length]] = set()
    zeros = []
    for value in at.step.operands:
        if value is None:
            continue
        grown, behind = at.grown.get(value), max(ranks) - at.rank(value)
        if grown is not None:
            found.add((grown.axis + behind - max(ranks), grown.length))
            zeros.append(grown.zero)
    ((axis, length), *others) = found
    if others:
        raise Unmasked("caches of different lengths are combined")
    for value in at.step.operands:
        shape = at.at.shape(value)
        if value is None or value in at.grown or shape is None or len(shape) < -axis:
            continue
        if shape[axis] != 1:
            raise Unmasked("it combines the cache with a tensor that has as many items")
    return at.keep(Grown(axis + max(ranks), length, all(zeros) and _stays_zero(at)))


def _stays_zero(at: Reading) -> bool:
    """Whether zeros of the grown operands give zeros."""
    op, others = at.step.op, [v for v in at.step.operands if v is not None and v not in at.grown]
    arrays = [at.at.array(value) for value in others]
    if op in ("Add", "Sub", *_ODD) and not others:
        return True
    if op not in ("Mul", "Div") or any(array is None for array in arrays):
        return False
    is_finite = all(np.all(np.isfinite(array)) for array in arrays if array is not None)
    divides = op == "Div" and at.step.operands[0] in at.grown
    return is_finite and (op == "Mul" or (divides and all(map(np.all, arrays))))


def _transpose(at: Reading) -> Mapping[Value, Grown]:
    value, grown = at.only()
    order = at.attribute("perm") or [*range(at.rank(value))][::-1]
    assert isinstance(order, Sequence)
    return at.keep(replace(grown, axis=list(order).index(grown.axis)))


def _unsqueeze(at: Reading) -> Mapping[Value, Grown]:
    _, grown = at.only()
    rank = at.rank(at.step.results[0])
    new = {axis % rank for axis in _axes(at)}
    kept = [axis for axis in range(rank) if axis not in new]
    return at.keep(replace(grown, axis=kept[grown.axis]))


def _squeeze(at: Reading) -> Mapping[Value, Grown]:
    value, grown = at.only()
    rank = at.rank(value)
    gone = {axis % rank for axis in _axes(at)}
    if grown.axis in gone:
        raise Unmasked("it removes the axis of the cache")
    return at.keep(replace(grown, axis=grown.axis - sum(axis < grown.axis for axis in gone)))


def _axes(at: Reading) -> Sequence[int]:
    said = operand(at.step, 1)
    array = at.at.array(said) if said is not None else at.attribute("axes")
    if array is None:
        raise Unmasked("its axes are not known")
    return [int(axis) for axis in np.asarray(array).reshape(-1)]


def _reshape(at: Reading) -> Mapping[Value, Grown]:
    """Reshape: axes before the cache's stay, and its own is copied or the remaining one."""
    value, grown = at.only()
    target, shape = at.at.array(at.step.operands[1]), at.at.shape(value)
    if target is None or shape is None or at.attribute("allowzero"):
        raise Unmasked("it reshapes the cache to a computed shape")
    wanted = [int(n) for n in target]
    axis = grown.axis
    copied = [shape[k] if n == 0 and k < len(shape) else n for k, n in enumerate(wanted)]
    same = len(wanted) > axis and all(
        wanted[k] == 0 or (isinstance(shape[k], int) and copied[k] == shape[k]) for k in range(axis)
    )
    rest, behind = shape[axis + 1 :], copied[axis + 1 :]
    certain = all(isinstance(dim, int) and dim > 0 for dim in (*rest, *behind))
    if not same or wanted[axis] not in (0, -1) or not certain:
        raise Unmasked("it reshapes the cache's axis")
    if np.prod([int(str(dim)) for dim in rest]) != np.prod([int(str(dim)) for dim in behind]):
        raise Unmasked("it reshapes the cache's axis")
    return at.keep(grown)


def _shape(at: Reading) -> Mapping[Value, Grown]:
    """The shape with the number of valid items in it."""
    value, grown = at.only()
    rank, result = at.rank(value), at.step.results[0]
    if at.attribute("end") is not None or at.attribute("start"):
        raise Unmasked("it reads a part of the cache's shape")
    whole = at.to.leaf("Shape", value)
    marks = at.to.constant(np.arange(rank) == grown.axis, "of_cache")
    at.to.leaf("Where", marks, grown.length.count, whole, result=result)
    return {}


def _softmax(at: Reading) -> Mapping[Value, Grown]:
    value, grown = at.only()
    rank, axis = at.rank(value), at.attribute("axis")
    assert isinstance(axis, int)
    if at.step.version < _SOFTMAX_OF_ONE_AXIS and axis % rank != rank - 1:
        raise Unmasked("it is a Softmax over several axes")
    if axis % rank != grown.axis:
        return at.keep(replace(grown, zero=False))
    if grown.length.valid is None:
        raise Unmasked("it is a Softmax over items that may be empty")
    dtype = at.at.dtype(value)
    if dtype is None:
        raise Unmasked("its element type is not known")
    valid = grown.length.valid
    if grown.axis != rank - 1:
        valid = at.to.leaf("Reshape", valid, at.to.ints(-1, *[1] * (rank - 1 - grown.axis)))
    masked = at.to.leaf("Where", valid, value, at.to.number(-np.inf, dtype))
    at.to.steps.append(replace(at.step, operands=(masked,)))
    result = at.step.results[0]
    return {} if result is None else {result: replace(grown, zero=True)}


def _product(at: Reading) -> Mapping[Value, Grown]:
    left, right = at.step.operands
    assert left is not None
    assert right is not None
    one, other = at.grown.get(left), at.grown.get(right)
    ranks = at.rank(left), at.rank(right)
    if min(ranks) < _MATRIX:
        raise Unmasked("it is a product with a vector")
    summed = one is not None and one.axis == ranks[0] - 1
    if summed != (other is not None and other.axis == ranks[1] - _MATRIX):
        raise Unmasked("it sums over the cache and another tensor with as many items")
    if summed:
        assert one is not None
        assert other is not None
        if one.length != other.length or not (one.zero and other.zero):
            raise Unmasked("it sums over items of the cache that no mask has made zero")
        at.to.steps.append(at.step)
        return {}
    if one is not None and other is not None:
        raise Unmasked("it is a product of two caches along other axes")
    rank = max(ranks)
    grown, own = (one, ranks[0]) if one is not None else (other, ranks[1])
    assert grown is not None
    axis = grown.axis + rank - own
    shape = at.at.shape(right if one is not None else left)
    if axis < rank - _MATRIX and shape is not None:
        index = axis - (rank - len(shape))
        if index >= 0 and shape[index] != 1:
            raise Unmasked("it combines the cache with a tensor that has as many items")
    return at.keep(Grown(axis, grown.length, zero=False))


def _attention(at: Reading) -> Mapping[Value, Grown]:
    """Attention over a cache of keys and one of values, with a mask of the valid items."""
    query, key, value = at.step.operands[:3]
    others = at.step.operands[3:]
    found = [at.grown.get(v) if v is not None else None for v in (key, value)]
    keys, values = found
    if keys is None or values is None or keys.length != values.length or query in at.grown:
        raise Unmasked("its keys and values are not two caches of equal growth")
    if any(others) or at.attribute("is_causal") or any(at.step.results[1:]):
        raise Unmasked("it has a mask or a cache of its own")
    if not values.zero or {keys.axis - at.rank(key), values.axis - at.rank(value)} != {-_MATRIX}:
        raise Unmasked("its axis of items is not that of the cache")
    valid = keys.length.valid
    if valid is None:
        raise Unmasked("it attends to items that may be empty")
    mask = at.to.leaf("Reshape", valid, at.to.ints(1, 1, 1, -1))
    at.to.steps.append(replace(at.step, operands=(query, key, value, mask)))
    return {}


_MATRIX = 2
_SOFTMAX_OF_ONE_AXIS = 13
_ODD = ("Abs", "Cast", "Identity", "Neg", "Relu", "Sqrt", "Tanh")
"""Operators of one operand that map zero to zero."""
_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(
        (
            "Abs", "Add", "Cast", "Div", "Erf", "Exp", "Gelu", "Identity", "Mul", "Neg", "Pow",
            "Relu", "Sigmoid", "Sqrt", "Sub", "Tanh", "Where",
        ),
        _elementwise,
    ),
    "Attention": _attention,
    "MatMul": _product,
    "Reshape": _reshape,
    "Shape": _shape,
    "Softmax": _softmax,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}  # fmt: skip
