"""Propagates the elements of small integer tensors through Shape, Gather, Concat, Reshape ...

Every rule returns the content of a leaf's only result, or None if it is unknown. An entry is a Dim,
or None if that element is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from treadle.infer.dim_arithmetic import at_least, differ, product, quotient, total
from treadle.infer.facts import LONGEST_CONTENT, WHOLE, Content, Fact
from treadle.ir import (
    Attribute,
    Dim,
    DType,
    Leaf,
    Literal,
    Shape,
    Tensor,
    Type,
    add_dims,
    multiply_dims,
    subtract_dims,
)

Rule = Callable[[Leaf, Sequence[Fact]], Content | None]


def content_of(leaf: Leaf, facts: Sequence[Fact], type_: Type | None) -> Content | None:
    """The elements of the leaf's result of this type, as far as its operands determine them."""
    rule = _RULES.get(leaf.op) if leaf.domain == "" else None
    if rule is None or not isinstance(type_, Tensor) or type_.dtype not in WHOLE:
        return None
    if type_.shape is None or len(type_.shape) > 1 or not _is_short(type_.shape):
        return None
    content = rule(leaf, facts)
    if content is None or len(content) != (type_.shape[0] if type_.shape else 1):
        return None
    entries = tuple(_held(entry, type_.dtype) for entry in content)
    return entries if not entries or any(entry is not None for entry in entries) else None


def _is_short(shape: Shape) -> bool:
    return not shape or (isinstance(shape[0], int) and shape[0] <= LONGEST_CONTENT)


def _held(entry: Dim, dtype: DType) -> Dim:
    """The entry if the dtype can represent it; else None, since integers would wrap around."""
    if dtype is DType.BOOL:
        return entry if entry in (0, 1) else None
    if isinstance(entry, int):
        bounds = np.iinfo(dtype.value)
        return entry if bounds.min <= entry <= bounds.max else None
    return entry if dtype in (DType.INT64, DType.INT32) else None


def attribute_value(leaf: Leaf, name: str) -> object:
    """The value of an attribute, or None."""
    attribute: Attribute | None = leaf.attributes.get(name)
    return None if attribute is None else attribute.value


def whole_attribute(leaf: Leaf, name: str, default: int) -> int:
    """The value of an attribute that is one whole number."""
    value = attribute_value(leaf, name)
    return value if isinstance(value, int) else default


def length(fact: Fact) -> int | None:
    """The number of elements of a tensor of rank 0 or 1."""
    match fact.type:
        case Tensor(shape=()):
            return 1
        case Tensor(shape=(int() as extent,)):
            return extent
    return None


def entries(fact: Fact) -> Content | None:
    """The content, or as many unknown entries as the shape allows."""
    if fact.content is not None:
        return fact.content
    count = length(fact)
    return None if count is None or count > LONGEST_CONTENT else (None,) * count


def wholes(fact: Fact) -> tuple[int, ...] | None:
    """The content if every entry is a number."""
    content = fact.content
    if content is None or not all(isinstance(entry, int) for entry in content):
        return None
    return tuple(entry for entry in content if isinstance(entry, int))


def _same(leaf: Leaf, facts: Sequence[Fact]) -> Content | None:
    return facts[0].content


def _shape(leaf: Leaf, facts: Sequence[Fact]) -> Content | None:
    match facts[0].type:
        case Tensor(shape=tuple() as shape):
            start = whole_attribute(leaf, "start", 0)
            return shape[start : whole_attribute(leaf, "end", len(shape))]
    return None


def _size(leaf: Leaf, facts: Sequence[Fact]) -> Content | None:
    match facts[0].type:
        case Tensor(shape=tuple() as shape):
            return (product(shape),)
    return None


def _gather(leaf: Leaf, facts: Sequence[Fact]) -> Content | None:
    content, indices = facts[0].content, wholes(facts[1])
    if content is None or indices is None:
        return None
    if not all(-len(content) <= index < len(content) for index in indices):
        return None
    return tuple(content[index] for index in indices)


def _concat(leaf: Leaf, facts: Sequence[Fact]) -> Content | None:
    parts = [entries(fact) for fact in facts]
    return None if None in parts else tuple(e for part in parts if part is not None for e in part)


def _slice(leaf: Leaf, facts: Sequence[Fact]) -> Content | None:
    content = facts[0].content
    bounds = slice_bounds(leaf, facts)
    if content is None or bounds is None or len(bounds) != 1:
        return None
    _, start, end, step = bounds[0]
    if not (isinstance(start, int) and isinstance(end, int) and step):
        return None
    return tuple(content[position] for position in cut(start, end, step, len(content)))


def cut(start: int, end: int, step: int, extent: int) -> range:
    """The positions that a Slice selects on an axis; bounds count from the end and are clamped."""
    begin = start + extent if start < 0 else start
    stop = end + extent if end < 0 else end
    low, high = (0, extent) if step > 0 else (-1, extent - 1)
    return range(min(max(begin, 0), high), min(max(stop, low), high), step)


def slice_bounds(leaf: Leaf, facts: Sequence[Fact]) -> list[tuple[int, Dim, Dim, int]] | None:
    """List (axis, start, end, step) for each axis a Slice cuts, in any version; None if unknown."""
    if leaf.version < 10:
        lists = [attribute_value(leaf, name) for name in ("starts", "ends", "axes")]
        starts, ends, axes = (v if isinstance(v, tuple) else None for v in lists)
        steps = None
    else:
        starts, ends = (entries(fact) for fact in facts[1:3])
        axes, steps = (_optional(facts, position) for position in (3, 4))
    if starts is None or ends is None or len(starts) != len(ends):
        return None
    axes = tuple(range(len(starts))) if axes is None else axes
    steps = (1,) * len(starts) if steps is None else steps
    if len(axes) != len(starts) or len(steps) != len(starts):
        return None
    known = [a for a in (*axes, *steps) if isinstance(a, int)]
    if len(known) != 2 * len(axes):
        return None
    return list(zip(known[: len(axes)], starts, ends, known[len(axes) :], strict=True))


def _optional(facts: Sequence[Fact], position: int) -> Content | None:
    """The content of an optional operand: unknown entries if it is present but unknown."""
    if len(facts) <= position or facts[position].type is None:
        return None
    return entries(facts[position]) or (None,)


def _elementwise(
    operation: Callable[..., Dim], leaf: Leaf, facts: Sequence[Fact]
) -> Content | None:
    parts = [entries(fact) for fact in facts]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    count = max(map(len, known))
    if any(len(part) not in (1, count) for part in known):
        return None
    full = [part * count if len(part) == 1 else part for part in known]
    return tuple(operation(*items) for items in zip(*full, strict=True))


def _divided(left: Dim, right: Dim) -> Dim:
    if isinstance(left, int) and isinstance(right, int) and right:
        return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    return quotient(left, right) if at_least(right, 1) else None


def _mod(left: Dim, right: Dim) -> Dim:
    if isinstance(left, int) and isinstance(right, int) and left >= 0 and right > 0:
        return left % right
    return None


def _larger(*dims: Dim) -> Dim:
    return next((d for d in dims if all(at_least(subtract_dims(d, e), 0) for e in dims)), None)


def _smaller(*dims: Dim) -> Dim:
    return next((d for d in dims if all(at_least(subtract_dims(e, d), 0) for e in dims)), None)


def _equal(left: Dim, right: Dim) -> Dim:
    if left is not None and left == right:
        return 1
    return 0 if differ(left, right) else None


def _greater(left: Dim, right: Dim) -> Dim:
    if at_least(subtract_dims(left, right), 1):
        return 1
    return 0 if at_least(subtract_dims(right, left), 0) else None


def _not(dim: Dim) -> Dim:
    return 1 - dim if isinstance(dim, int) else None


def _and(left: Dim, right: Dim) -> Dim:
    if 0 in (left, right):
        return 0
    return 1 if left == right == 1 else None


def _or(left: Dim, right: Dim) -> Dim:
    return _not(_and(_not(left), _not(right)))


def _where(condition: Dim, then: Dim, otherwise: Dim) -> Dim:
    if condition is None:
        return then if then == otherwise else None
    return then if condition else otherwise


def _negated(dim: Dim) -> Dim:
    return multiply_dims(dim, -1)


def _sum(*dims: Dim) -> Dim:
    return total(dims)


def _cast(leaf: Leaf, facts: Sequence[Fact]) -> Content | None:
    match facts[0].type:
        case Tensor(dtype) if dtype in WHOLE:
            content = facts[0].content
            to_bool = whole_attribute(leaf, "to", 0) == _BOOL
            return content and tuple(map(_truth if to_bool else _itself, content))
    return None


_BOOL = 9


def _itself(dim: Dim) -> Dim:
    return dim


def _truth(dim: Dim) -> Dim:
    if isinstance(dim, int):
        return int(dim != 0)
    return 1 if at_least(dim, 1) else None


def _reduced(operation: Callable[..., Dim], leaf: Leaf, facts: Sequence[Fact]) -> Content | None:
    content = entries(facts[0])
    match facts[0].type:
        case Tensor(shape=(_,)) if content is not None and length(facts[0]) is not None:
            return (operation(*content),)
    return None


def _filled(leaf: Leaf, facts: Sequence[Fact]) -> Content | None:
    shape = wholes(facts[0])
    value = attribute_value(leaf, "value")
    fill = 0
    if isinstance(value, Literal) and value.dtype in WHOLE:
        fill = int(value.array.reshape(-1)[0])
    return None if shape is None else (fill,) * int(np.prod(shape))


def _range(leaf: Leaf, facts: Sequence[Fact]) -> Content | None:
    bounds = [wholes(fact) for fact in facts]
    if not all(bound and len(bound) == 1 for bound in bounds):
        return None
    start, limit, step = (bound[0] for bound in bounds if bound)
    return tuple(range(start, limit, step)) if step else None


def _expanded(leaf: Leaf, facts: Sequence[Fact]) -> Content | None:
    content, shape = facts[0].content, wholes(facts[1])
    if content is None or shape is None:
        return None
    count = int(np.prod(shape))
    return content * count if len(content) == 1 else content


def _product(*dims: Dim) -> Dim:
    return product(dims)


_RULES: dict[str, Rule] = {
    "Identity": _same,
    "Reshape": _same,
    "Squeeze": _same,
    "Unsqueeze": _same,
    "Flatten": _same,
    "Shape": _shape,
    "Size": _size,
    "Gather": _gather,
    "Concat": _concat,
    "Slice": _slice,
    "Cast": _cast,
    "Range": _range,
    "Expand": _expanded,
    "ConstantOfShape": _filled,
    "Add": partial(_elementwise, add_dims),
    "Sub": partial(_elementwise, subtract_dims),
    "Mul": partial(_elementwise, multiply_dims),
    "Div": partial(_elementwise, _divided),
    "Mod": partial(_elementwise, _mod),
    "Neg": partial(_elementwise, _negated),
    "Max": partial(_elementwise, _larger),
    "Min": partial(_elementwise, _smaller),
    "Sum": partial(_elementwise, _sum),
    "Equal": partial(_elementwise, _equal),
    "Greater": partial(_elementwise, _greater),
    "Less": partial(_elementwise, lambda left, right: _greater(right, left)),
    "GreaterOrEqual": partial(_elementwise, lambda left, right: _not(_greater(right, left))),
    "LessOrEqual": partial(_elementwise, lambda left, right: _not(_greater(left, right))),
    "Not": partial(_elementwise, _not),
    "And": partial(_elementwise, _and),
    "Or": partial(_elementwise, _or),
    "Where": partial(_elementwise, _where),
    "ReduceProd": partial(_reduced, _product),
    "ReduceSum": partial(_reduced, _sum),
    "ReduceMax": partial(_reduced, _larger),
    "ReduceMin": partial(_reduced, _smaller),
}  # fmt: skip
