"""Generates smaller cases from a case; the first one that still fails replaces it.

outputs       one output, or half of them; an earlier value as the only output
values        some steps' results replaced by the constants they were in the first iteration
branches      an If replaced by one branch
trips         a loop that runs once, twice, half as often
clean         the optimized model: loops that run once become straight-line code
extents       half of the inputs' extent along one symbol
elements      an input's numbers replaced by zeros or ones
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from treadle import passes
from treadle.errors import TreadleError
from treadle.execution import prepare
from treadle.formats import schema_function
from treadle.infer import infer
from treadle.ir import (
    Block,
    Branch,
    Constant,
    DType,
    Literal,
    Loop,
    Model,
    SlicedPort,
    Step,
    Symbol,
    Tensor,
    Value,
    bodies,
    dtype_of,
    map_bodies,
    ports,
    step_path,
    substitute,
    walk,
    with_operands,
)
from treadle.plan import RunContext, plan
from treadle.tracing import ValueMade

Feeds = Mapping[str, object]
Place = tuple[str, str]
"""A block's path and the name of a value in it."""


@dataclass(frozen=True, eq=False, slots=True)
class Case:
    """A model and its inputs."""

    model: Model
    feeds: Feeds

    @property
    def weight(self) -> int:
        """The measure that may shrink at equal size: trips, constants, elements except 0 and 1."""
        blocks = [self.model.main, *(b for v in walk(self.model) for _, b in bodies(v.step))]
        loops = ((block, step) for block in blocks for step in block.steps)
        trips = (_constant_trips(b, step) or 0 for b, step in loops if isinstance(step, Loop))
        arrays = [np.asarray(value) for value in self.feeds.values()]
        plain = (a for a in arrays if a.dtype.kind in "biuf")
        constants = sum(c.array.size for block in blocks for c in block.constants)
        return int(constants + sum(trips) + sum(map(_weight, plain)))

    @property
    def size(self) -> tuple[int, int, int]:
        """The measure to shrink: steps, outputs, elements fed."""
        steps = sum(1 for _ in walk(self.model))
        elements = sum(np.asarray(value).size for value in self.feeds.values())
        return steps, len(self.model.main.results), elements


def _weight(array: np.ndarray) -> int:
    return int(np.count_nonzero(array) + np.count_nonzero(array != 1))


Candidate = tuple[str, Case]


def candidates(case: Case) -> Iterator[Candidate]:
    """Candidates for smaller cases, the largest reductions first."""
    seen = _recorded(case)
    yield from _fewer_outputs(case)
    yield from _earlier_outputs(case)
    yield from _frozen(case, seen)
    yield from _one_branch(case)
    yield from _bypassed(case)
    yield from _fewer_trips(case)
    yield from _fewer_items(case)
    yield from _cleaned(case)
    yield from _smaller_extents(case)
    yield from _plain_elements(case)


def _recorded(case: Case) -> dict[Place, np.ndarray]:
    """The first value of each name in an interpreted run, as far as the run gets."""
    seen: dict[Place, np.ndarray] = {}

    def hear(event: object) -> None:
        if isinstance(event, ValueMade) and isinstance(event.value, np.ndarray):
            seen.setdefault((event.path, event.name), event.value)

    try:
        model = infer(passes.prepare(case.model))
        program = prepare(
            plan(model, ()), lambda step, types: schema_function(step, types, model.opsets)
        )
        inputs = [case.feeds.get(value.name) for value in model.main.params]
        program(inputs, RunContext(listener=hear))
    except TreadleError:
        pass  # values computed before the failure are known
    return seen


def _fewer_outputs(case: Case) -> Iterator[Candidate]:
    main = case.model.main
    for part in _parts(len(main.results), smallest=1):
        chosen = tuple(main.results[k] for k in part)
        if len(chosen) < len(main.results):
            yield "fewer outputs", _with_outputs(case, chosen)


def _earlier_outputs(case: Case) -> Iterator[Candidate]:
    """All results of one step as the only outputs; later steps are removed."""
    main = case.model.main
    count = len(main.steps)
    for position in dict.fromkeys((count // 4, count // 2, 3 * count // 4, *range(count - 1))):
        if position < count - 1:
            results = tuple(value for value in main.steps[position].results if value is not None)
            yield f"ends at step {position}", _with_outputs(case, results)


def _with_outputs(case: Case, results: Sequence[Value | None]) -> Case:
    main = replace(case.model.main, results=tuple(results), claims=())
    return Case(replace(case.model, main=main), case.feeds)


def _parts(count: int, *, smallest: int) -> Iterator[range]:
    """Slices of a range of numbers: halves, quarters and so on, down to single ones."""
    size = count // 2
    while size >= smallest:
        for start in range(0, count, size):
            yield range(start, min(start + size, count))
        size //= 2


def _frozen(case: Case, seen: Mapping[Place, np.ndarray]) -> Iterator[Candidate]:
    """Replace results of steps by constants, in groups of decreasing size."""
    steps = [(visit.path, visit.step) for visit in walk(case.model)]
    for part in (range(len(steps)), *_parts(len(steps), smallest=1)):
        paths = {steps[k][0] for k in part}
        main = _freeze(case.model.main, "main", paths, seen)
        if main is not case.model.main:
            yield f"{len(paths)} steps as constants", _with_main(case, main)


def _freeze(block: Block, path: str, paths: set[str], seen: Mapping[Place, np.ndarray]) -> Block:
    steps: list[Step] = []
    constants = list(block.constants)
    for position, step in enumerate(block.steps):
        step_location = step_path(path, step, position)
        made = [value for value in step.results if value is not None]
        held = [seen.get((path, value.name)) for value in made]
        if step_location in paths and all(
            array is not None and _is_literal(array) for array in held
        ):
            literals = [Literal.of(array) for array in held if array is not None]
            constants += [Constant(v, data) for v, data in zip(made, literals, strict=True)]
            continue
        steps.append(map_bodies(step, partial(_frozen_body, step_location, paths, seen)))
    same = len(steps) == len(block.steps) and all(
        new is old for new, old in zip(steps, block.steps, strict=True)
    )
    return block if same else replace(block, steps=tuple(steps), constants=tuple(constants))


def _frozen_body(
    step_location: str, paths: set[str], seen: Mapping[Place, np.ndarray], name: str, body: Block
) -> Block:
    return _freeze(body, f"{step_location}.{name}", paths, seen)


def _is_literal(array: np.ndarray) -> bool:
    return dtype_of(array.dtype) is not None and array.dtype.kind != "O"


def _with_main(case: Case, main: Block) -> Case:
    return Case(replace(case.model, main=main), case.feeds)


def _one_branch(case: Case) -> Iterator[Candidate]:
    for path in [visit.path for visit in walk(case.model) if isinstance(visit.step, Branch)]:
        for name in ("then", "otherwise"):

            def chosen(step: Step, at: str, path: str = path, name: str = name) -> Block | None:
                if at != path or not isinstance(step, Branch):
                    return None
                body: Block = getattr(step, name)
                return replace(body, params=(Value("condition"), *body.params))

            main = passes.inline_blocks(case.model.main, chosen)
            if main is not case.model.main:
                yield f"{path} is its branch {name}", _with_main(case, main)


def _bypassed(case: Case) -> Iterator[Candidate]:
    """Replace the only result of a step by one of its operands."""
    for visit in walk(case.model):
        made = [value for value in visit.step.results if value is not None]
        read = [value for value in visit.step.operands if value is not None]
        for operand in read if len(made) == 1 else ():
            main = _map_block(case.model.main, visit.block, partial(_without, visit.step, operand))
            yield f"{visit.path} is its operand {operand.name}", _with_main(case, main)


def _without(step: Step, operand: Value, block: Block) -> Block:
    by = {value: operand for value in step.results if value is not None}
    steps = tuple(with_operands(each, by) for each in block.steps if each is not step)
    return replace(block, steps=steps, results=substitute(block.results, by))


def _map_block(block: Block, wanted: Block, change: Callable[[Block], Block]) -> Block:
    """The block with one nested block, itself or a body at any depth, changed."""
    if block is wanted:
        return change(block)
    steps = tuple(
        map_bodies(step, lambda _, body: _map_block(body, wanted, change)) for step in block.steps
    )
    same = all(new is old for new, old in zip(steps, block.steps, strict=True))
    return block if same else replace(block, steps=steps)


def _fewer_items(case: Case) -> Iterator[Candidate]:
    """Keep only the first items of constants that loops of the main graph slice."""
    main = case.model.main
    constants = {constant.value: constant for constant in main.constants}
    for position, step in enumerate(main.steps):
        view = ports(step) if isinstance(step, Loop) else None
        sliced = [p for p in view.sliced if p.operand in constants] if view is not None else []
        if not sliced or view is None or len(sliced) < len(view.sliced):
            continue
        extent = max(constants[p.operand].array.shape[p.role.axis] for p in sliced if p.operand)
        for items in dict.fromkeys((1, 2, extent // 2)):
            if items < extent:
                path = step_path("main", step, position)
                yield f"{path} iterates over {items} items", _with_items(case, sliced, items)


def _with_items(case: Case, sliced: Sequence[SlicedPort], items: int) -> Case:
    axes = {port.operand: port.role.axis for port in sliced}
    constants = []
    for constant in case.model.main.constants:
        if constant.value in axes:
            array = constant.array
            chosen = np.take(array, range(items), axes[constant.value])
            data = Literal.of(np.ascontiguousarray(chosen), constant.value.name)
            declared = Tensor(dtype_of(array.dtype), chosen.shape)
            constant = Constant(replace(constant.value, declared=declared), data)
        constants.append(constant)
    new = {c.value.name: c.value for c in constants}
    old = {c.value: new[c.value.name] for c in case.model.main.constants}
    main = case.model.main
    steps = tuple(with_operands(step, old) for step in main.steps)
    results = substitute(main.results, old)
    return _with_main(case, replace(main, constants=tuple(constants), steps=steps, results=results))


def _fewer_trips(case: Case) -> Iterator[Candidate]:
    """Loops with a smaller constant trip count."""
    for path in [visit.path for visit in walk(case.model) if isinstance(visit.step, Loop)]:
        for trips in (1, 2, 3):
            main = _with_trips(case.model.main, "main", path, trips)
            if main is not case.model.main:
                yield f"{path} runs {trips} times", _with_main(case, main)


def _with_trips(block: Block, at: str, path: str, trips: int) -> Block:
    steps: list[Step] = []
    constants = list(block.constants)
    for position, step in enumerate(block.steps):
        step_location = step_path(at, step, position)
        if step_location == path and isinstance(step, Loop) and step.trip is not None:
            if _constant_trips(block, step) == trips:
                return block
            count = Value(f"{path}.trips", declared=Tensor(DType.INT64, ()))
            constants.append(Constant(count, Literal.of(np.array(trips, np.int64))))
            steps.append(replace(step, trip=count))
            continue
        if path.startswith(f"{step_location}."):
            step = map_bodies(step, partial(_body_with_trips, step_location, path, trips))
        steps.append(step)
    if all(new is old for new, old in zip(steps, block.steps, strict=True)):
        return block
    return replace(block, steps=tuple(steps), constants=tuple(constants))


def _body_with_trips(step_location: str, path: str, trips: int, name: str, body: Block) -> Block:
    return _with_trips(body, f"{step_location}.{name}", path, trips)


def _constant_trips(block: Block, loop: Loop) -> int | None:
    constants = next((c.array for c in block.constants if c.value is loop.trip), None)
    return None if constants is None else int(constants.reshape(-1)[0])


def _cleaned(case: Case) -> Iterator[Candidate]:
    better, report = passes.simplify(case.model)
    if report.done:
        yield "cleaned", Case(better, case.feeds)


def _smaller_extents(case: Case) -> Iterator[Candidate]:
    """Halve the extents of all axes that share a symbol, or an extent if they have none."""
    axes: dict[object, list[tuple[str, int]]] = {}
    for value in case.model.main.params:
        array = case.feeds.get(value.name)
        shape = value.declared.shape if isinstance(value.declared, Tensor) else None
        if not isinstance(array, np.ndarray) or shape is None:
            continue
        for axis, dim in enumerate(shape):
            if isinstance(dim, Symbol | None):
                key: object = dim if dim is not None else (value.name, axis)
                axes.setdefault(key, []).append((value.name, axis))
    for key, places in axes.items():
        extent = max(np.asarray(case.feeds[name]).shape[axis] for name, axis in places)
        for smaller in dict.fromkeys((0, 1, 2, extent // 2)):
            if smaller < extent:
                yield f"{key} is {smaller}", _cut(case, places, smaller)


def _cut(case: Case, places: Sequence[tuple[str, int]], extent: int) -> Case:
    feeds = dict(case.feeds)
    for name, axis in places:
        array = feeds[name]
        assert isinstance(array, np.ndarray)
        feeds[name] = array[(*(slice(None),) * axis, slice(extent))]
    return Case(case.model, feeds)


_ELEMENTS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "zeros": np.zeros_like,
    "ones": np.ones_like,
}


def _plain_elements(case: Case) -> Iterator[Candidate]:
    for name, value in case.feeds.items():
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf":
            continue
        if value.size and not (np.all(value == 0) or np.all(value == 1)):
            for word, make in _ELEMENTS.items():
                yield f"{name} is {word}", Case(case.model, {**case.feeds, name: make(value)})
