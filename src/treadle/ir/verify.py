"""The verifier: checks that a program is well formed.

    grammar      the counts of operands, roles, params and results fit each step's form
    dominance    a step reads params, constants and earlier results of its own block
    one writer   a value is defined once, and belongs to one block
    types        inferred types of values that are equal at run time do not contradict

A fault found here is a bug of treadle: of a reader, a pass or a builder. `checks` reports faults of
a user's model.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from treadle.boundary import is_debugging
from treadle.ir.graph import Block, Branch, Call, Leaf, Loop, Model, Step
from treadle.ir.loop import ports
from treadle.ir.roles import Carried, Condition, Iteration
from treadle.ir.types import DType, Tensor, Type, shape_admits, show_type
from treadle.ir.values import Constant, Literal, Value
from treadle.ir.walk import bodies, reads, step_path

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(slots=True)
class _Search:
    """The state of one verification.

    `made` maps every value seen so far to its place; `is_open`: bodies may read outer values.
    """

    is_open: bool
    made: dict[Value, str] = field(default_factory=dict)

    def block(self, block: Block, path: str, outer: frozenset[Value]) -> Iterator[str]:
        known = set(outer) if self.is_open else set[Value]()
        own = set(block.params)
        for value in (*block.params, *(c.value for c in block.constants if c.value not in own)):
            yield from self.make(value, path, known)
        for constant in block.constants:
            if constant.value not in own:  # the default of a parameter, which others may replace
                yield from _constant(constant, path)
        if len(block.claims) not in (0, len(block.results)):
            yield f"{path}: {len(block.claims)} declarations for {len(block.results)} results"
        for position, step in enumerate(block.steps):
            yield from self.step(step, step_path(path, step, position), known)
        yield from _unknown(block.results, known, f"{path} gives")

    def step(self, step: Step, path: str, known: set[Value]) -> Iterator[str]:
        yield from _unknown(reads(step), known, f"{path} reads")
        faults = [f"{path}: {fault}" for fault in _grammar(step)]
        yield from faults
        for name, body in bodies(step):
            yield from self.block(body, f"{path}.{name}", frozenset(known))
        if not faults:
            yield from (f"{path}: {fault}" for fault in _types(step))
        for value in step.results:
            if value is not None:
                yield from self.make(value, path, known)

    def make(self, value: Value, path: str, known: set[Value]) -> Iterator[str]:
        if value in self.made:
            yield f'{path} makes "{value.name}", which {self.made[value]} makes too'
        self.made[value] = path
        known.add(value)


def faults(model: Model, *, is_open: bool = False) -> list[str]:
    """All faults of the program, each with its path; [] if it is well formed.

    `is_open`: bodies may read values of enclosing blocks, as they do inside the simplifier.
    """
    search = _Search(is_open)
    found = list(search.block(model.main, "main", frozenset()))
    for identity, function in model.functions.items():
        found += search.block(function.block, str(identity), frozenset())
    return found


def verify(model: Model, maker: str, *, is_open: bool = False) -> None:
    """Raise AssertionError if the model, made by `maker`, is malformed."""
    found = faults(model, is_open=is_open)
    assert not found, f"{maker} made a malformed program:\n  " + "\n  ".join(found)


def verified(
    function: Callable[Concatenate[Model, P], R],
) -> Callable[Concatenate[Model, P], R]:
    """Decorate a pass so that TREADLE_DEBUG=1 verifies its result.

    The result is a Model, a tuple that begins with one, or a record with one as its `model`.
    """

    @wraps(function)
    def checked(model: Model, /, *args: P.args, **kwargs: P.kwargs) -> R:
        result = function(model, *args, **kwargs)
        made = result[0] if isinstance(result, tuple) else getattr(result, "model", result)
        if made is not model and isinstance(made, Model) and is_debugging():
            verify(made, function.__name__)
        return result

    return checked


def _unknown(values: Collection[Value | None], known: set[Value], what: str) -> Iterator[str]:
    for value in values:
        if value is not None and value not in known:
            yield f'{what} "{value.name}", which is not defined'


def _grammar(step: Step) -> Iterator[str]:
    """Faults in the counts of a step, without those of its bodies."""
    match step:
        case Loop():
            yield from _loop_grammar(step)
        case Branch():
            for name, block in bodies(step):
                yield from _count(f"params of its {name}", block.params, len(step.operands))
                yield from _count(f"results of its {name}", block.results, len(step.results))
        case Leaf() | Call():
            for name, block in step.blocks.items():
                if len(block.params) < len(step.captures):
                    yield f"{len(step.captures)} captures, {len(block.params)} params of its {name}"


def _loop_grammar(loop: Loop) -> Iterator[str]:
    fed = [role for role in loop.roles if not isinstance(role, Iteration | Condition)]
    singles = len(loop.roles) - len(fed)
    carried = len(loop.results) - len(loop.stacks)
    yield from _count("roles", loop.roles, len(loop.body.params))
    yield from _count("operands", loop.operands, len(fed))
    yield from _count("results of its body", loop.body.results, 1 + len(loop.results))
    if singles != len({type(role) for role in loop.roles} & {Iteration, Condition}):
        yield "more than one iteration number or condition"
    states = sum(isinstance(role, Carried) for role in loop.roles)
    if states != carried:
        yield f"{states} carried values, and {carried} results of them"


def _count(what: str, found: Collection[object], wanted: int) -> Iterator[str]:
    if len(found) != wanted:
        yield f"{len(found)} {what}, wanted {wanted}"


def _constant(constant: Constant, path: str) -> Iterator[str]:
    type_, data = constant.value.inferred, constant.data
    if not isinstance(data, Literal) or not isinstance(type_, Tensor):
        return
    is_shape = type_.shape is None or shape_admits(type_.shape, data.array.shape)
    if not is_shape or type_.dtype not in (None, data.dtype):
        shown = show_type(Tensor(data.dtype, data.array.shape))
        yield f'{path}: "{constant.value.name}" is {show_type(type_)}, its data {shown}'


def _types(step: Step) -> Iterator[str]:
    """Values that are equal at run time but have contradicting inferred types."""
    match step:
        case Loop():
            yield from _loop_types(step)
        case Branch():
            for _, block in bodies(step):
                pairs = zip(step.operands, block.params, strict=True)
                for operand, param in pairs:
                    yield from _differ(operand, param, 0)


def _loop_types(loop: Loop) -> Iterator[str]:
    view = ports(loop)
    for value, dtype in ((view.iteration, DType.INT64), (view.condition, DType.BOOL)):
        type_ = None if value is None else value.inferred
        if value is not None and isinstance(type_, Tensor) and type_.dtype not in (None, dtype):
            yield f'"{value.name}" is {show_type(type_)}, wanted {dtype}'
    for invariant in view.invariants:
        yield from _differ(invariant.operand, invariant.param, 0)
    for sliced in view.sliced:
        yield from _differ(sliced.operand, sliced.param, 1)
    for stacked in view.stacked:
        yield from _differ(stacked.result, stacked.element, 1)


def _differ(outer: Value | None, inner: Value | None, axes: int) -> Iterator[str]:
    """A fault if the outer value cannot be the inner one with `axes` more axes."""
    one, other = _inferred(outer), _inferred(inner)
    if outer is None or inner is None or one is None or other is None:
        return
    if _contradict(one, other, axes):
        yield f'"{outer.name}" is {show_type(one)}, "{inner.name}" is {show_type(other)}'


def _inferred(value: Value | None) -> Type | None:
    return None if value is None else value.inferred


def _contradict(one: Type, other: Type, axes: int) -> bool:
    if not isinstance(one, Tensor) or not isinstance(other, Tensor):
        return not axes and type(one) is not type(other)  # `checks` reports a stack of sequences
    if one.dtype is not None and other.dtype is not None and one.dtype is not other.dtype:
        return True
    if one.shape is None or other.shape is None:
        return False
    if len(one.shape) != len(other.shape) + axes:
        return True
    pairs = () if axes else zip(one.shape, other.shape, strict=True)
    return any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs)
