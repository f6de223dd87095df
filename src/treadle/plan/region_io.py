"""The inputs, constants and outputs of a region."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from treadle.ir import Block, Branch, Constant, Loop, Step, Value, bodies, ports, reads

Known = Mapping[Value, Constant]
"""Values of a block with known content."""


@dataclass(frozen=True, slots=True)
class RegionIO:
    """The values that a region reads from outside and provides to others."""

    inputs: tuple[Value, ...]
    constants: tuple[Constant, ...]
    outputs: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class UseMap:
    """The readers of each value of a block: positions of its steps, and whether it is a result."""

    readers: Mapping[Value, Sequence[int]]
    results: frozenset[Value]

    @classmethod
    def of(cls, block: Block) -> UseMap:
        """Collect the uses of every value of the block."""
        readers: dict[Value, list[int]] = {}
        for position, step in enumerate(block.steps):
            for value in reads(step):
                if value is not None:
                    readers.setdefault(value, []).append(position)
        return cls(readers, frozenset(value for value in block.results if value is not None))

    def is_read_outside(self, value: Value, inside: frozenset[int]) -> bool:
        """Whether anything but the steps at these positions reads the value."""
        if value in self.results:
            return True
        return any(position not in inside for position in self.readers.get(value, ()))


def region_io(block: Block, positions: Iterable[int], uses: UseMap, known: Known) -> RegionIO:
    """The inputs and outputs of the steps at these positions, which are in order."""
    chosen = tuple(positions)
    inside = frozenset(chosen)
    steps = [block.steps[position] for position in chosen]
    made = {value: None for step in steps for value in step.results if value is not None}
    read = {value: None for step in steps for value in reads(step) if value is not None}
    outer = [value for value in read if value not in made]
    return RegionIO(
        tuple(value for value in outer if value not in known),
        tuple(known[value] for value in outer if value in known),
        tuple(value for value in made if uses.is_read_outside(value, inside)),
    )


def constants_in_scope(block: Block, outer: Known) -> Known:
    """The constants of the block and those passed to it from outside.

    A constant that is also a parameter is that input's default, and so not known.
    """
    params = set(block.params)
    own = {c.value: c for c in block.constants if c.value not in params}
    return {**outer, **own}


def constants_in_body(step: Step, attribute: str, known: Known) -> Known:
    """The constants that a body of the step receives from outside, by its parameters."""
    body = dict(bodies(step))[attribute]
    match step:
        case Loop():
            pairs = [(port.operand, port.param) for port in ports(step).invariants]
        case Branch():
            pairs = list(zip(step.operands, body.params, strict=True))
        case _:
            captured = body.params[len(body.params) - len(step.captures) :]
            pairs = list(zip(step.captures, captured, strict=True))
    return {
        param: Constant(param, known[outer].data)
        for outer, param in pairs
        if outer is not None and outer in known
    }
