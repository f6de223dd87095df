"""The order of execution of values, from the model and the numbers of iterations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from treadle.ir import Block, Branch, Loop, Model, Step, bodies, operator_of, step_path

Key = tuple[int, ...]
_ITERATION = -1
_TAKEN, _INSIDE, _TRIPS, _RESULT = range(4)
_STAGES = 4
_PARAMS = -1


@dataclass(frozen=True, slots=True)
class OutputPosition:
    """The position at which a value is computed: the step, the block, and a template of its key.

    `template` has numbers, and -1 for the number of the next loop's iteration. `owner` is the path
    of the loop or branch whose body the block is, "" for the main block.
    """

    step: str
    path: str
    owner: str
    template: tuple[int, ...]
    operator: str = ""
    operands: Sequence[str] = field(default=())

    def key(self, iterations: Sequence[int]) -> Key:
        """The position of the value in this iteration; keys sort in the order of execution."""
        numbers = iter(iterations)
        return tuple(next(numbers, 0) if n == _ITERATION else n for n in self.template)


def order_of(model: Model) -> Mapping[str, OutputPosition]:
    """The position of every value of the model, by path and name; of `LOOP@trips` too."""
    return dict(_of_block(model.main, "main", "", ()))


def _of_block(
    block: Block, path: str, owner: str, prefix: tuple[int, ...]
) -> Iterator[tuple[str, OutputPosition]]:
    for param in block.params:
        entry = OutputPosition(owner, path, owner, (*prefix, 0), "")
        yield f"{path}/{param.name}", entry
    for position, step in enumerate(block.steps):
        yield from _of_step(step, step_path(path, step, position), path, owner, prefix, position)


def _of_step(
    step: Step, here: str, path: str, owner: str, prefix: tuple[int, ...], position: int
) -> Iterator[tuple[str, OutputPosition]]:
    def at(stage: int) -> tuple[int, ...]:
        return (*prefix, (position + 1) * _STAGES + stage)

    operator = operator_of(step)
    read = (*_operands(step),)
    made = OutputPosition(here, path, owner, at(_RESULT), operator, read)
    for value in step.results:
        if value is not None:
            yield f"{path}/{value.name}", made
    if isinstance(step, Loop):
        yield f"{here}@trips", OutputPosition(here, path, owner, at(_TRIPS), operator, read)
        yield from _of_block(step.body, f"{here}.body", here, (*at(_INSIDE), _ITERATION))
    elif isinstance(step, Branch):
        yield f"{here}@taken", OutputPosition(here, path, owner, at(_TAKEN), operator, read)
        for number, (name, body) in enumerate(bodies(step)):
            yield from _of_block(body, f"{here}.{name}", here, (*at(_INSIDE), number))


def _operands(step: Step) -> Iterator[str]:
    from treadle.ir import reads

    return (value.name for value in reads(step) if value is not None)
