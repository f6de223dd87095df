"""Decides which values are exposed, in which form, and why others cannot be."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from treadle.ir import (
    DType,
    Model,
    Optional,
    Sequence,
    Tensor,
    Type,
    Value,
    show_type,
)
from treadle.passes.exposing.fixed import BlockScope, Fixed, fixed, places
from treadle.passes.exposing.running import has_statistics
from treadle.tracing import EXTRAS, Kind, Selectable, Selector, selectables

OLDEST = 9
"""The opset from which integers can be compared, and constants need not be inputs (IR 4)."""


class Form(Enum):
    """The form of a value as an output; docs/seeing-inside.md has the rules."""

    TENSOR = "tensor"
    SEQUENCE = "sequence"
    PADDED = "padded"
    STATISTICS = "statistics"


@dataclass(frozen=True, eq=False, slots=True)
class Target:
    """One exposed item: the value `name` of the block at `path`, inside `depth` loops.

    `step` is the path of the step that defines it. `extra` is `trips`, `ended` or `taken` for an
    extra of that step, a loop or branch; `value` is None then. The output is called `output`.
    """

    path: str
    name: str
    depth: int
    form: Form
    type: Type | None
    value: Value | None = None
    extra: str = ""
    step: str = ""

    @property
    def output(self) -> str:
        """The name of the output: `main/loop_0.body/h`, `main/loop_0@trips`."""
        return f"{self.step}@{self.extra}" if self.extra else f"{self.path}/{self.name}"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A value that was selected and cannot be exposed."""

    name: str
    reason: str
    help: str = ""


_VALUES = (Kind.MADE, Kind.CARRIED, Kind.SLICED)
_NAMED_ONLY = (Kind.ITERATION, Kind.CONDITION)
_EXTRA_TYPES = {
    "trips": Tensor(DType.INT64, ()),
    "ended": Tensor(DType.BOOL, ()),
    "taken": Tensor(DType.BOOL, ()),
}


def chosen(model: Model, selector: Selector) -> frozenset[tuple[str, str]]:
    """The selected values: the path of the block, and the name."""
    found = (item for item in selectables(model) if item.kind not in EXTRAS)
    return frozenset((i.path, i.name) for i in found if _is_meant(i, selector))


def targets(
    model: Model,
    selector: Selector,
    capacity: int | None,
    summarized: Collection[str] = frozenset(),
) -> tuple[list[Target], list[Refusal]]:
    """The targets that the selector picks in a model without functions, and the refusals."""
    where = places(model)
    known = fixed(model, where)
    given = _Given(known, where, model.opsets.get("", 0), capacity, summarized)
    found: list[Target] = []
    refused: list[Refusal] = []
    for made in _picked(model, selector, given):
        (found if isinstance(made, Target) else refused).append(made)  # type: ignore[arg-type]
    return found, refused


@dataclass(frozen=True, slots=True)
class _Given:
    known: Fixed
    where: Mapping[str, BlockScope]
    opset: int
    capacity: int | None
    summarized: Collection[str]


def _picked(model: Model, selector: Selector, given: _Given) -> Iterator[Target | Refusal]:
    for item in selectables(model):
        if item.kind in EXTRAS:
            for extra in EXTRAS[item.kind]:
                if selector.picks_extra(item.path, extra):
                    yield _extra(item, extra, given)
        elif item.path in given.where and _is_meant(item, selector):
            yield _value(item, given)


def _is_meant(item: Selectable, selector: Selector) -> bool:
    if item.kind in _VALUES:
        return selector.picks(item)
    is_asked = selector.names(item) or "role:condition" in selector.patterns
    return item.kind in _NAMED_ONLY and is_asked and selector.picks(item)


def _extra(item: Selectable, extra: str, given: _Given) -> Target | Refusal:
    path = item.block
    scope = given.where[path]
    type_ = _EXTRA_TYPES[extra]
    name = f"{item.path}@{extra}"
    form = _form(type_, scope, True, given)
    if isinstance(form, str):
        return Refusal(name, form)
    return Target(path, name, len(scope.loops), form, type_, extra=extra, step=item.path)


def _value(item: Selectable, given: _Given) -> Target | Refusal:
    assert item.value is not None, "only loops and branches have none"
    scope = given.where[item.path]
    proved = given.known.types.get(item.value)
    if proved is None or not (scope.loops or scope.branched):
        proved = item.value.type
    form = _form(proved, scope, given.known.has_one_shape(item.value), given)
    if isinstance(form, str):
        return Refusal(item.full_name, form)
    return Target(item.path, item.name, len(scope.loops), form, proved, item.value, step=item.step)


def _form(type_: Type | None, scope: BlockScope, has_one_shape: bool, given: _Given) -> Form | str:
    """The form of a value of this type, or the reason why it has none."""
    element = _element(type_)
    if given.opset < OLDEST:
        return f"the model has opset {given.opset}, and exposing needs {OLDEST}"
    if element is None:
        return f"its type is {show_type(type_)}, wanted a tensor, a sequence or an optional of them"
    in_main = not scope.loops and not scope.branched
    needed = _sequences_since(type_, scope)
    if in_main and (_has_rank(type_) or (isinstance(type_, Sequence) and given.opset >= 14)):
        return Form.TENSOR
    if (
        isinstance(type_, Tensor)
        and has_statistics(type_.dtype)
        and _in_any(scope, given.summarized)
    ):
        return Form.STATISTICS
    same_trips = all(loop in given.known.trips for loop in scope.loops[1:])
    if isinstance(type_, Tensor) and has_one_shape and same_trips and not scope.branched:
        return Form.TENSOR
    if given.capacity is not None:
        return _padded(type_)
    if given.opset < needed:
        return (
            "it is not computed in every iteration with one shape, and a sequence of it needs opset"
            f" {needed}; the model has opset {given.opset}"
        )
    if element.dtype is None:
        return "its element type is not known"
    return Form.SEQUENCE


def _in_any(scope: BlockScope, steps: Collection[str]) -> bool:
    """Whether one of these loops and branches encloses the block."""
    return any(each in steps for each in scope.steps)


def _sequences_since(type_: Type | None, scope: BlockScope) -> int:
    """The opset from which a sequence of such values can be passed to the main graph."""
    if isinstance(type_, Optional):
        return 18  # OptionalHasElement and OptionalGetElement also for values that are not optional
    if scope.branched:
        return 14  # a branch that is not taken returns the sequence by Identity-14
    is_in_loop = scope.loops or isinstance(type_, Sequence)
    return 13 if is_in_loop else 11  # Loop-13 carries sequences, SequenceInsert-11 makes one


def _has_rank(type_: Type | None) -> bool:
    return isinstance(type_, Tensor) and type_.shape is not None


def _padded(type_: Type | None) -> Form | str:
    if not isinstance(type_, Tensor):
        return f"it is {show_type(type_)}, and only tensors can be padded"
    if type_.shape is None or not all(isinstance(dim, int) for dim in type_.shape):
        return f"it is {show_type(type_)}, and only tensors of a fixed shape can be padded"
    return Form.PADDED


def _element(type_: Type | None) -> Tensor | None:
    """The tensor type of a value, or of the elements of a sequence or an optional."""
    while isinstance(type_, Sequence | Optional):
        type_ = type_.element
    return type_ if isinstance(type_, Tensor) else None
