"""Tests a guessed operator for a recurrence: compares normal forms and results.

Their normal forms must be the same: the operator's is that of its expansion by recurrent-to-scan.
Then both run in float64 on random numbers with 0, 1 and 5 items; data alone would not be a proof.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treadle.ir import (
    Block,
    Constant,
    DType,
    Literal,
    Loop,
    Model,
    Shape,
    Step,
    Symbol,
    Tensor,
    Value,
    reads,
)
from treadle.passes.precision import convert_dtype
from treadle.passes.rewrites.named.options import RewriteOptions, Run
from treadle.passes.rewrites.named.recurrent.constants import Constants
from treadle.passes.rewrites.named.recurrent.normal_form import Row, Unreadable
from treadle.passes.rewrites.named.recurrent.recurrence import (
    Recurrence,
    Surroundings,
    float_states,
    recurrence_of,
)
from treadle.passes.rewrites.named.recurrent.to_scan import recurrent_to_scan
from treadle.passes.rewrites.writer import Writer
from treadle.passes.simplify.captures import (
    all_steps,
    closure_convert,
    free_reads,
    replaced,
    to_implicit_captures,
)
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.names import with_own_names

_TRIPS = (0, 1, 5)
_SEQUENCES = 3
_CLOSE: Mapping[DType, tuple[float, float]] = {
    DType.FLOAT16: (2e-2, 2e-2),
    DType.FLOAT32: (1e-3, 1e-4),
    DType.FLOAT64: (1e-6, 1e-7),
}
"""The relative and absolute differences that rounding sums of biases once or twice causes."""
_OLDEST_IR = 8
OTHER = "its step is not one of an RNN, GRU or LSTM"
"""The reason where no guess fits; any other reason says more."""
_REPEATED = "it repeats the last output behind a sequence's end, where the operators give zeros"
_STACKED = "it stacks a value of every iteration that is not the output of the operator"


@dataclass(frozen=True, slots=True)
class Trial:
    """The inputs of one recurrence: `params` change from run to run, `constants` do not."""

    found: Recurrence
    params: Mapping[Value, Value]
    constants: Mapping[Value, np.ndarray]
    opset: int

    def model(
        self, steps: Sequence[Step], constants_given: Sequence[Constant], results: Sequence[Value]
    ) -> Model:
        """A model of open steps over the inputs of the recurrence."""
        by: dict[Value, Value | None] = dict(self.params)
        constants = list(constants_given)
        for value, array in self.constants.items():
            new = Value(f"held_{value.name}")
            by[value] = new
            constants.append(Constant(new, Literal.of(array)))
        block = Block((), tuple(constants), tuple(steps), tuple(results), name="main")
        main = closure_convert(with_own_names(_over(replaced(block, by), self.params)))
        return Model(main, opsets={"": self.opset}, ir_version=_OLDEST_IR)

    def feeds(self, trips: int) -> Mapping[str, np.ndarray]:
        """Random values of the params."""
        rng = np.random.default_rng(trips)
        loop, lengths = self.found.loop, self.found.lengths
        made = {}
        for value, param in self.params.items():
            assert isinstance(param.declared, Tensor)
            shape = [_extent(dim, trips) for dim in param.declared.shape or ()]
            if value is loop.trip:
                array = np.full(shape, trips)
            elif value is lengths:
                array = rng.integers(0, trips + 1, shape)
            else:
                array = rng.standard_normal(shape)
            made[param.name] = array.astype((param.declared.dtype or self.found.dtype).numpy)
        return made


def _over(block: Block, params: Mapping[Value, Value]) -> Block:
    return Block(tuple(params.values()), block.constants, block.steps, block.results, name="main")


def _extent(dim: object, trips: int) -> int:
    if isinstance(dim, Symbol):
        return trips if dim.name == "T" else _SEQUENCES
    assert isinstance(dim, int)
    return dim


def trial_of(found: Recurrence, around: Surroundings) -> Trial:
    """The trial of a recurrence; raises Unreadable if its inputs cannot be generated."""
    types = _types(found, around)
    steps: list[Step] = [*(step for item in found.items for step in item.maps), found.loop]
    made = {value for step in steps for value in step.results}
    params: dict[Value, Value] = {}
    constants: dict[Value, np.ndarray] = {}
    for value in (*types, *(v for step in steps for v in _outer(step))):
        if value in made or value in params or value in constants:
            continue
        array = around.constants.array(value)
        if value in types:
            params[value] = Value(f"in_{len(params)}", types[value])
        elif array is not None:
            constants[value] = array
        else:
            raise Unreadable(f'it reads "{value.name}", which is computed at run time')
    return Trial(found, params, constants, around.at.opset)


def _outer(step: Step) -> Sequence[Value]:
    read = free_reads(step) if isinstance(step, Loop) else {v for v in reads(step) if v is not None}
    return sorted(read, key=lambda value: value.name)


def _types(found: Recurrence, around: Surroundings) -> Mapping[Value, Tensor]:
    """The types of changing inputs, over T items and B sequences."""
    types: dict[Value, Tensor] = {}

    def add(value: Value | None, axis: int | None = None) -> None:
        shape: Shape | None = around.at.shape(value)
        if value is None or shape is None:
            raise Unreadable("the shape of an input is not known")
        dims = [dim if isinstance(dim, int) else Symbol("B") for dim in shape]
        if axis is not None:
            dims[axis] = Symbol("T")
        types[value] = Tensor(around.at.dtype(value), tuple(dims))

    for item in found.items:
        add(item.root, item.axis)
    for port in found.states:
        if around.constants.array(port.initial) is None:
            add(port.initial)
    for value in (found.lengths, found.loop.trip):
        if value is not None:
            add(value)
    return types


def unlike(
    trial: Trial, writer: Writer, results: Mapping[Value, Value], options: RewriteOptions
) -> str | None:
    """The difference between the operator and the recurrence; None if they are equal.

    `results` has the operator's value for each result of the loop that is read.
    """
    operator = trial.model(writer.steps, writer.constants, tuple(results.values()))
    problem = _unlike_form(trial.found, operator, list(results))
    if problem is not None:
        return problem
    steps = [step for item in trial.found.items for step in item.maps]
    loop = trial.model((*dict.fromkeys(steps), trial.found.loop), (), tuple(results))
    one, other = (_in_float64(model, trial.found.dtype) for model in (loop, operator))
    return _unlike_results(trial, one, other, options.run)


def _in_float64(model: Model, dtype: DType) -> Model:
    """The model in float64, where rounding errors do not grow over repeated steps."""
    return model if dtype is DType.FLOAT64 else convert_dtype(model, dtype, DType.FLOAT64)[0]


def _unlike_form(found: Recurrence, operator: Model, results: Sequence[Value]) -> str | None:
    expanded, _ = recurrent_to_scan(operator, RewriteOptions())
    at = PassContext.of(expanded).trusting()
    steps = list(all_steps(to_implicit_captures(expanded.main)))
    (scan,) = [step for step in steps if isinstance(step, Loop)]
    made = {value: step for step in steps for value in step.results if value is not None}
    around = Surroundings(at, made, (), Constants(made, at))
    wanted = recurrence_of(scan, float_states(scan, at), around, absorbing=False)
    if [row.key for row in wanted.next] != [row.key for row in found.next]:
        return OTHER
    ((_, shown),) = wanted.stacks
    for port, row in found.stacks:
        if port.result not in results:
            continue
        assert isinstance(shown, Row), "the expansion stacks rows"
        if isinstance(row, str):
            return row
        if row.key != shown.key:
            return _REPEATED if row.key == found.next[0].key else _STACKED
    return None


def _unlike_results(trial: Trial, loop: Model, operator: Model, run: Run) -> str | None:
    rtol, atol = _CLOSE[trial.found.dtype]
    for trips in _trips(trial.found):
        feeds = trial.feeds(trips)
        for one, other in zip(run(loop, feeds), run(operator, feeds), strict=True):
            if one.shape != other.shape or not np.allclose(one, other, rtol, atol, equal_nan=True):
                return f"on {trips} random items its results differ"
    return None


def _trips(found: Recurrence) -> Sequence[int]:
    """The numbers of items to try; fixed for a Loop that reads in reverse."""
    if found.loop.trip is None or not found.backwards:
        return _TRIPS
    return found.extents
