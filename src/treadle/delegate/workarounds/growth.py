"""Predicts the bytes of results that may be much larger than the inputs of a region.

The sum of a column and a row has as many elements as both extents multiplied, and onnxruntime asks
nobody before it allocates them. The extents of a call tell how large each result will be: the types
of the region's values are inferred for them, as for a model with these extents. It is done for
regions with a step that may grow alone, where a bound that needs no inference (`size_bounds.py`)
does not suffice, and only for extents beyond those of earlier calls: the rest of the calls compare
extents. Those that the model declares are looked at as the session is made, by the types that are
inferred already. An extent that grows from call to call is looked at up to the next power of two.

Only steps are looked at that a result depends on which may be large: one that has more than
`_MOST_GAIN` times the elements of an input, or more elements, or wider ones, than such a result;
or one whose kernel fills memory beside it (`temporaries.py`); or one that follows from constants
and is not folded. An If has the gain of its branches, unless a value may grow inside of them; a
loop is always looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import inf, prod
from operator import le
from typing import Any

from treadle import machine
from treadle.delegate.folded import unfolded
from treadle.delegate.workarounds.gains import gain_of, known_shape, static_shape
from treadle.delegate.workarounds.size_bounds import bound_of_bytes
from treadle.delegate.workarounds.temporaries import has_temporaries, temporary_bytes
from treadle.infer import block_facts
from treadle.ir import (
    Block,
    Branch,
    Leaf,
    Model,
    Operands,
    Step,
    Tensor,
    Type,
    Value,
    bodies,
    reachable,
    reads,
    walk_block,
)
from treadle.plan import Region

__all__ = ["Growth", "growth_of"]

_MOST_GAIN = 4096
_MOST_SEEN = 8
"""The sets of extents that are remembered."""

Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class _Size:
    """The bytes of the largest value for inputs of these shapes, or a bound of them."""

    shapes: Shapes
    size: float
    is_exact: bool = True


@dataclass(frozen=True, eq=False, slots=True)
class Growth:
    """The steps of a region that may grow, and the bytes of the largest value by extents.

    Of extents for which no value is large it may be a bound, without inference.
    """

    block: Block
    model: Model
    names: tuple[str, ...]
    seen: list[_Size] = field(default_factory=list)

    def exceeds(self, feed: Mapping[str, Any], most: float) -> bool:
        """Whether a result of a call with this feed has more bytes than `most`."""
        shapes = tuple([getattr(feed[name], "shape", ()) for name in self.names])
        for known in tuple(self.seen):
            if shapes == known.shapes and known.is_exact:
                return known.size > most
            if known.size <= most and _are_within(shapes, known.shapes):
                return False
        if any(map(callable, shapes)):
            return False  # an OrtValue tells its shape when it is asked
        found = self._size(shapes, most)
        if self.seen and found.size <= most:
            further = _further(shapes, self.seen[0].shapes)
            reached = found if further == shapes else self._size(further, most)
            found = reached if reached.size <= most else found
        self.seen[:] = [found, *self.seen[: _MOST_SEEN - 1]]
        return found.size > most

    @property
    def is_large(self) -> bool:
        """Whether a call had a result that is held against the memory that is left."""
        return bool([known for known in self.seen if known.size > machine.LARGE])

    def _size(self, shapes: Shapes, most: float) -> _Size:
        """The bytes of the largest value; if they are few, a bound of them."""
        bound = bound_of_bytes(self.block, shapes)
        if bound <= min(most, machine.LARGE):
            return _Size(shapes, bound, is_exact=False)
        return _Size(shapes, self._largest(shapes))

    def _largest(self, shapes: Shapes) -> float:
        pairs = zip(self.block.params, shapes, strict=True)
        given = [_typed(*pair) for pair in pairs]
        facts = block_facts(self.model, self.block, given)
        types = {value: fact.type for value, fact in facts.items()}
        types.update(zip(self.block.params, given, strict=True))
        largest = max((_size(fact.type) for fact in facts.values()), default=0.0)
        return max(largest, _temporaries(self.block, types))


def growth_of(region: Region, model: Model, names: Sequence[str]) -> Growth | None:
    """The prediction for a region; None if no step of it may grow much."""
    grown = [] if _is_small(region) else _grown(region)
    if not grown:
        return None
    makers = {value: step for step in region.steps for value in step.results if value is not None}
    read = reachable(grown, lambda value: reads(makers[value]) if value in makers else ())
    steps = tuple(step for step in region.steps if not read.isdisjoint(step.results))
    constants = tuple(constant for constant in region.constants if constant.value in read)
    block = Block(region.inputs, constants, steps, tuple(grown))
    return Growth(block, model, tuple(names), list(_declared(block)))


def _is_small(region: Region) -> bool:
    """Whether all results have known extents and so few elements that none of them has grown."""
    for visit in walk_block(region.block()):
        if isinstance(visit.step, Leaf) and has_temporaries(visit.step):
            return False
        for value in visit.step.results:
            shape = () if value is None else static_shape(value)
            if shape is None or prod(shape) > _MOST_GAIN:
                return False
    return True


@dataclass(frozen=True, slots=True)
class _Walk:
    """What is known of the values before a step: gains, constants, and which may be large.

    `unfolded` are large values that follow from constants, and that each run computes.
    """

    gains: dict[Value, float]
    known: set[Value]
    unfolded: frozenset[Value] = frozenset()
    large: set[Value] = field(default_factory=set)

    def enter(self, body: Block, operands: Operands) -> None:
        """Give the parameters of a body what is known of the values they stand for."""
        self.known.update(constant.value for constant in body.constants)
        for value, param in zip(operands, body.params, strict=True):
            self.gains[param] = 1.0 if value is None else self.gains.get(value, 1.0)
            self.known.update({param} if value in self.known else ())
            self.large.update({param} if value in self.large else ())


def _grown(region: Region) -> list[Value]:
    """The results that may have many more elements than an input, or more than one of these."""
    inputs, constants = dict.fromkeys(region.inputs, 1.0), (c.value for c in region.constants)
    walk = _Walk(inputs, set(constants), frozenset(unfolded(region)))
    return _grown_of(region.steps, walk)


def _grown_of(steps: Iterable[Step], walk: _Walk) -> list[Value]:
    grown: list[Value] = []
    for step in steps:
        results = [value for value in step.results if value is not None]
        gain = _gain_of_step(step, walk)
        fed = [value for value in _sources(step) if value in walk.large]
        if gain > (1.0 if fed else _MOST_GAIN) or (fed and _is_wider(results, fed)):
            grown += results
            gain = 1.0
            walk.large.update(results)
        elif fed:
            walk.large.update(results)
        elif isinstance(step, Leaf) and has_temporaries(step):
            grown += results
        walk.gains.update(dict.fromkeys(results, gain))
    return grown


def _gain_of_step(step: Step, walk: _Walk) -> float:
    """The gain of a step's results; infinite for one with a body in which a value may grow."""
    if isinstance(step, Leaf):
        gain = gain_of(step, walk.gains, walk.known)
        return gain if walk.unfolded.isdisjoint(step.results) else inf
    if not isinstance(step, Branch):
        return inf
    for _, body in bodies(step):
        walk.enter(body, step.operands)
        if _grown_of(body.steps, walk):
            return inf
    return max((walk.gains.get(value, 1.0) for value in _sources(step)), default=1.0)


def _sources(step: Step) -> list[Value]:
    """The values that a result may be as large as: of an If the results of its branches too."""
    made = (value for _, body in bodies(step) for value in body.results)
    read = (*reads(step), *made) if isinstance(step, Branch) else reads(step)
    return [value for value in read if value is not None]


def _temporaries(block: Block, types: Mapping[Value, Type | None]) -> float:
    """The most bytes that a step of the block fills beside its results."""

    def shape(value: Value | None) -> tuple[int, ...] | None:
        return () if value is None else known_shape(types.get(value, value.inferred))

    steps = [step for step in block.steps if isinstance(step, Leaf) and has_temporaries(step)]
    sizes = (
        temporary_bytes(step, [*map(shape, step.operands)], shape(step.results[0]))
        for step in steps
    )
    return max(sizes, default=0.0)


def _is_wider(results: Sequence[Value], fed: Sequence[Value]) -> bool:
    """Whether an element of a result may have more bytes than one of these operands."""
    return max(map(_width, results), default=0.0) > min(map(_width, fed))


def _width(value: Value) -> float:
    type_ = value.inferred
    if not isinstance(type_, Tensor) or type_.dtype is None:
        return inf
    return float(type_.dtype.numpy.itemsize)


def _declared(block: Block) -> Iterator[_Size]:
    """The extents that the model declares, and the largest value for them, if all are known.

    They are those of a first call, which then infers nothing.
    """
    shapes = [static_shape(value) for value in block.params]
    if None in shapes:
        return
    made = (value for visit in walk_block(block) for value in visit.step.results if value)
    fixed = (constant.value for constant in block.constants)
    largest = 0.0
    for value in chain(block.params, fixed, made):
        size = _known_size(value)
        if size is None:
            return
        largest = max(largest, size)
    known = tuple(shape for shape in shapes if shape is not None)
    yield _Size(known, max(largest, _temporaries(block, {})))


def _known_size(value: Value) -> float | None:
    """The bytes of a value of known type and extents."""
    type_ = value.inferred
    is_known = (
        isinstance(type_, Tensor) and type_.dtype is not None and static_shape(value) is not None
    )
    return _size(type_) if is_known else None


def _further(shapes: Shapes, known: Shapes) -> Shapes:
    """Extents beyond both: those that have grown, to a power of two, since they may grow again."""
    if [*map(len, shapes)] != [*map(len, known)]:
        return shapes
    return tuple(
        tuple(
            before if extent <= before else 1 << (extent - 1).bit_length()
            for extent, before in zip(one, other, strict=True)
        )
        for one, other in zip(shapes, known, strict=True)
    )


def _are_within(shapes: Shapes, known: Shapes) -> bool:
    for one, other in zip(shapes, known, strict=True):
        if len(one) != len(other) or not all(map(le, one, other)):
            return False
    return True


def _typed(value: Value, shape: tuple[int, ...]) -> Type | None:
    """The type of an input that has this shape."""
    type_ = value.type
    return Tensor(type_.dtype, shape) if isinstance(type_, Tensor) else type_


def _size(type_: Type | None) -> float:
    shape = known_shape(type_)
    if shape is None or not isinstance(type_, Tensor) or type_.dtype is None:
        return 0.0
    return float(prod(shape) * type_.dtype.numpy.itemsize)
