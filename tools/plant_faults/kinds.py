"""The kinds of faults: each changes one thing of a model and names its step."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from treadle.ir import (
    Block,
    Branch,
    Constant,
    DType,
    Info,
    Leaf,
    Literal,
    Loop,
    Model,
    Step,
    Tensor,
    Value,
    attribute,
    bodies,
    map_bodies,
    ports,
    reads,
    step_path,
    walk_block,
)


class Planted(NamedTuple):
    """A model with a fault, and the paths that name its culprit rightly."""

    model: Model
    culprits: frozenset[str]


Plant = Callable[[Model, random.Random], Planted | None]

_SWAPPED = {
    "Add": "Sub", "Sub": "Add", "Mul": "Add", "Div": "Mul", "Max": "Min", "Min": "Max",
    "Tanh": "Sigmoid", "Sigmoid": "Tanh", "Relu": "Neg", "Exp": "Neg", "Neg": "Abs", "Sqrt": "Abs",
    "Less": "Greater", "Greater": "Less", "And": "Or", "Or": "And", "Cos": "Sin", "Sin": "Cos",
    "LessOrEqual": "Greater", "GreaterOrEqual": "Less", "Abs": "Neg", "Floor": "Ceil",
    "ReduceSum": "ReduceMax", "ReduceMax": "ReduceMin", "ArgMax": "ArgMin", "Softplus": "Relu",
}  # fmt: skip
_INDEXED = {"Gather": (1,), "GatherElements": (1,), "GatherND": (1,), "Slice": (1,),
            "SequenceAt": (1,), "ScatterND": (1,), "ScatterElements": (1,)}  # fmt: skip


def placed(model: Model) -> Model:
    """The model whose steps say where they are, so that an added step moves no other."""

    def of(block: Block, path: str) -> Block:
        steps = []
        for position, step in enumerate(block.steps):
            here = step_path(path, step, position)
            inner = map_bodies(step, lambda name, body, here=here: of(body, f"{here}.{name}"))
            steps.append(replace(inner, info=replace(inner.info, path=here)))
        return replace(block, steps=tuple(steps))

    return replace(model, main=of(model.main, "main"))


def _changed(model: Model, path: str, change: Callable[[Step], tuple[Step, ...]]) -> Model:
    """The model with the step at a path changed into several."""

    def of(block: Block) -> Block:
        steps: list[Step] = []
        for step in block.steps:
            inner = map_bodies(step, lambda _, body: of(body))
            steps += change(inner) if step.info.path == path else (inner,)
        return replace(block, steps=tuple(steps))

    return replace(model, main=of(model.main))


def _leaves(model: Model, rng: random.Random, inside: bool = True) -> list[tuple[str, Leaf, Block]]:
    found = [
        (visit.path, visit.step, visit.block)
        for visit in walk_block(model.main)
        if isinstance(visit.step, Leaf) and (visit.depth or not inside)
    ]
    rng.shuffle(found)
    return found


def _value_of(block: Block, value: Value | None) -> np.ndarray | None:
    """The tensor that a constant of the block is, however it is written."""
    for constant in block.constants:
        if constant.value is value:
            return constant.array
    for step in block.steps:
        if isinstance(step, Leaf) and step.op == "Constant" and value in step.results:
            held = step.attributes.get("value")
            if held is not None and isinstance(held.value, Literal):
                return held.value.array
            whole = step.attributes.get("value_int")
            return None if whole is None else np.array(whole.value)
    return None


def _tensors(model: Model) -> Iterator[tuple[Block, Constant]]:
    blocks = {id(v.block): v.block for v in walk_block(model.main)}
    for block in blocks.values():
        for constant in block.constants:
            if isinstance(constant.data, Literal):
                yield block, constant


def _weights(model: Model, rng: random.Random) -> Planted | None:
    found = [
        (block, constant)
        for block, constant in _tensors(model)
        if constant.array.dtype.kind == "f" and constant.array.size
    ]
    rng.shuffle(found)
    for block, constant in found:
        culprit = _first_reader(block, constant.value)
        if culprit is None:
            continue
        array = constant.array.copy()
        at = rng.randrange(array.size)
        array.reshape(-1)[at] = array.reshape(-1)[at] * 1.5 + 0.5
        literal = Literal.of(array)

        main = _with_data(model.main, constant, literal)
        return Planted(replace(model, main=main), frozenset(culprit))
    return None


def _with_data(block: Block, constant: Constant, literal: Literal) -> Block:
    """The block, bodies included, with another tensor as a constant."""
    steps = [
        map_bodies(step, lambda _, body: _with_data(body, constant, literal))
        for step in block.steps
    ]
    kept = [replace(c, data=literal) if c is constant else c for c in block.constants]
    return replace(block, constants=tuple(kept), steps=tuple(steps))


def _first_reader(block: Block, value: Value) -> set[str] | None:
    """The path of the step that reads the value first, inside bodies too."""
    for step in block.steps:
        if value not in reads(step):
            continue
        if isinstance(step, Loop):
            captured = [p.param for p in ports(step).invariants if p.operand is value]
            is_own = list(reads(step)).count(value) > len(captured)
            inner = [_first_reader(step.body, param) for param in captured]
            return {step.info.path} if is_own else set().union(*(each or set() for each in inner))
        if isinstance(step, Branch):
            found: set[str] = {step.info.path} if step.condition is value else set()
            for _, body in bodies(step):
                for param, operand in zip(body.params, step.operands, strict=True):
                    if operand is value:
                        found |= _first_reader(body, param) or set()
            return found or None
        return {step.info.path}
    return None


def _operators(model: Model, rng: random.Random) -> Planted | None:
    for path, leaf, _ in _leaves(model, rng):
        other = _SWAPPED.get(leaf.op)
        if other is not None and not leaf.domain:

            def change(step: Step, other: str = other) -> tuple[Step, ...]:
                return (replace(step, op=other, info=replace(step.info, op=other)),)

            return Planted(_changed(model, path, change), frozenset({path}))
    return None


def _attributes(model: Model, rng: random.Random) -> Planted | None:
    for path, leaf, _ in _leaves(model, rng):
        numbers = [
            (name, a.value)
            for name, a in leaf.attributes.items()
            if isinstance(a.value, int | float) and name not in ("to", "keepdims", "dtype", "seed")
        ]
        numbers += [
            (name, a.value)
            for name, a in leaf.attributes.items()
            if name in ("value_float", "perm") and leaf.op != "Constant"
        ]
        if leaf.op == "Constant" or not numbers:
            continue
        name, value = rng.choice(numbers)
        assert isinstance(value, int | float)
        new = value + rng.choice([-1, 1]) if isinstance(value, int) else value * 1.5 + 0.25

        def change(step: Step, name: str = name, new: float = new) -> tuple[Step, ...]:
            assert isinstance(step, Leaf)
            return (replace(step, attributes={**step.attributes, name: attribute(name, new)}),)

        return Planted(_changed(model, path, change), frozenset({path}))
    return None


def _own_operand(model: Model, path: str, number: int, array: np.ndarray, value: Value) -> Model:
    """The model in which one step reads another tensor as one of its operands."""
    constant = Value("planted", Tensor(Literal.of(array).dtype, array.shape))
    held = {"value": attribute("value", array)}
    made = Leaf("", "Constant", 13, (), (constant,), held, info=Info(op="Constant", path="planted"))

    def change(step: Step) -> tuple[Step, ...]:
        if isinstance(step, Loop):
            return (made, replace(step, trip=constant))
        assert isinstance(step, Leaf)
        operands = list(step.operands)
        operands[number] = constant
        return (made, replace(step, operands=tuple(operands)))

    return _changed(model, path, change)


def _indices(model: Model, rng: random.Random) -> Planted | None:
    for path, leaf, block in _leaves(model, rng):
        for number in _INDEXED.get(leaf.op, ()):
            operand = leaf.operands[number] if number < len(leaf.operands) else None
            array = _value_of(block, operand)
            if operand is not None and array is not None and array.dtype.kind == "i" and array.size:
                new = np.asarray(array + rng.choice([-1, 1]), array.dtype)
                return Planted(_own_operand(model, path, number, new, operand), frozenset({path}))
            if operand is not None and array is None:
                return Planted(_moved_index(model, path, number, rng), frozenset({path}))
    return None


def _moved_index(model: Model, path: str, number: int, rng: random.Random) -> Model:
    """The model in which one step reads at the next index."""
    one, moved = Value("planted_one"), Value("planted")
    held = {"value": attribute("value", np.array(rng.choice([-1, 1])))}
    constant = Leaf(
        "", "Constant", 13, (), (one,), held, info=Info(op="Constant", path="planted_0")
    )

    def change(step: Step) -> tuple[Step, ...]:
        assert isinstance(step, Leaf)
        operands = list(step.operands)
        add = Leaf(
            "",
            "Add",
            14,
            (operands[number], one),
            (moved,),
            {},
            info=Info(op="Add", path="planted_1"),
        )
        operands[number] = moved
        return (constant, add, replace(step, operands=tuple(operands)))

    return _changed(model, path, change)


def _branches(model: Model, rng: random.Random) -> Planted | None:
    found = [v for v in walk_block(model.main) if isinstance(v.step, Branch)]
    if not found:
        return None
    visit = rng.choice(found)

    def change(step: Step) -> tuple[Step, ...]:
        assert isinstance(step, Branch)
        return (replace(step, then=step.otherwise, otherwise=step.then),)

    return Planted(_changed(model, visit.path, change), frozenset({visit.path}))


def _trips(model: Model, rng: random.Random) -> Planted | None:
    found = [v for v in walk_block(model.main) if isinstance(v.step, Loop) and v.step.trip]
    rng.shuffle(found)
    for visit in found:
        assert isinstance(visit.step, Loop)
        trip = _value_of(visit.block, visit.step.trip)
        if trip is None or trip.size != 1 or trip > 10**6:
            continue
        more = np.asarray(trip + rng.choice([-1, 1]), trip.dtype)
        assert visit.step.trip is not None
        changed = _own_operand(model, visit.path, 0, more, visit.step.trip)
        return Planted(changed, frozenset({visit.path}))
    return None


def _carried(model: Model, rng: random.Random) -> Planted | None:
    found = [v for v in walk_block(model.main) if isinstance(v.step, Loop)]
    rng.shuffle(found)
    for visit in found:
        assert isinstance(visit.step, Loop)
        view = ports(visit.step)
        kinds = [(p.param.type, k) for k, p in enumerate(view.carried)]
        pairs = [(i, j) for a, i in kinds for b, j in kinds if i < j and a == b and a is not None]
        if not pairs:
            continue
        first, second = rng.choice(pairs)

        def change(step: Step, first: int = first, second: int = second) -> tuple[Step, ...]:
            assert isinstance(step, Loop)
            results = list(step.body.results)
            results[1 + first], results[1 + second] = results[1 + second], results[1 + first]
            return (replace(step, body=replace(step.body, results=tuple(results), claims=())),)

        return Planted(_changed(model, visit.path, change), frozenset({visit.path}))
    return None


def _casts(model: Model, rng: random.Random) -> Planted | None:
    from treadle import ops

    for path, leaf, _ in _leaves(model, rng):
        floats = [
            k
            for k, operand in enumerate(leaf.operands)
            if operand is not None
            and isinstance(operand.type, Tensor)
            and operand.type.dtype in (DType.FLOAT32, DType.FLOAT64)
        ]
        if not floats or leaf.domain or leaf.op in ("Cast", "CastLike", "Identity"):
            continue
        number = rng.choice(floats)
        operand = leaf.operands[number]
        assert operand is not None
        assert isinstance(operand.type, Tensor)
        assert operand.type.dtype is not None
        names = Value("planted_half"), Value("planted")
        to = (DType.FLOAT16, operand.type.dtype)
        paths = (f"{path.rpartition('/')[0]}/planted_0", f"{path.rpartition('/')[0]}/planted_1")
        casts = [
            Leaf("", "Cast", 13, (source,), (made,),
                 {"to": attribute("to", ops.element_to_proto(dtype))},
                 info=Info(op="Cast", path=where))
            for source, made, dtype, where in zip(
                (operand, names[0]), names, to, paths, strict=True
            )
        ]  # fmt: skip

        def change(
            step: Step, number: int = number, casts: list[Leaf] = casts, made: Value = names[1]
        ) -> tuple[Step, ...]:
            assert isinstance(step, Leaf)
            operands = list(step.operands)
            operands[number] = made
            return (*casts, replace(step, operands=tuple(operands)))

        return Planted(_changed(model, path, change), frozenset({path, *paths}))
    return None


KINDS: Mapping[str, Plant] = {
    "weight": _weights,
    "operator": _operators,
    "attribute": _attributes,
    "index": _indices,
    "branch": _branches,
    "trip": _trips,
    "carried order": _carried,
    "dtype cast": _casts,
}
