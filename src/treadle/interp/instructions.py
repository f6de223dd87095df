"""A block: its instructions in order, over an environment of values by identity.

    environment = constants + params
    for instruction in instructions:
        environment[instruction.results] = instruction(environment[instruction.reads])
    results = environment[block.results]

A value is released after the last instruction that reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from treadle.interp.executable import Executable
from treadle.ir import Block, Operands, Value
from treadle.plan import RunContext
from treadle.tracing import Iterations, Listener, ValueMade

Environment = dict[Value | None, Any]


@dataclass(frozen=True, slots=True)
class Instruction:
    """One step of a block, or several that run as one.

    `makers` are the paths of the steps that define the results, one each; `dead_after` are the
    values that nothing reads afterwards.
    """

    path: str
    action: Executable
    reads: Operands
    results: Operands
    makers: tuple[str, ...]
    dead_after: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A prepared block.

    `known` are the constants, `defaults` those that are also params, `shown` the events at the
    start.
    """

    block: Block
    path: str
    instructions: tuple[Instruction, ...]
    known: Environment
    defaults: tuple[Value, ...]
    shown: tuple[Value, ...]


def in_order(block: Block, path: str, instructions: Sequence[Instruction]) -> Executable:
    """Prepare the block: it maps one value per param to one value per result.

    A param that has a default takes it when None comes in.
    """
    known: Environment = {None: None, **{c.value: _read_only(c.array) for c in block.constants}}
    defaults = tuple(value for value in block.params if value in known)
    others = (c.value for c in block.constants if c.value not in defaults)
    shown = (*block.params, *others)
    ready = _with_liveness(block, instructions)
    return partial(_run, _Prepared(block, path, ready, known, defaults, shown))


def _run(
    prepared: _Prepared, operands: Sequence[Any], context: RunContext, iterations: Iterations
) -> Sequence[Any]:
    environment, listener = _begin(prepared, operands), context.listener
    if listener is not None:
        for value in prepared.shown:
            listener(ValueMade(prepared.path, iterations, value.name, environment[value]))
    is_polled = context.may_stop
    for instruction in prepared.instructions:
        if is_polled:
            context.poll(instruction.path, iterations)
        given = [environment[value] for value in instruction.reads]
        made = instruction.action(given, context, iterations)
        for result, value in zip(instruction.results, made, strict=True):
            if result is not None:
                environment[result] = value
        if listener is not None:
            _notify(listener, prepared.path, iterations, instruction, made)
        for value in instruction.dead_after:
            del environment[value]
    return [environment[result] for result in prepared.block.results]


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


def _begin(prepared: _Prepared, operands: Sequence[Any]) -> Environment:
    environment = prepared.known.copy()
    environment.update(zip(prepared.block.params, operands, strict=True))
    for param in prepared.defaults:
        if environment[param] is None:
            environment[param] = prepared.known[param]
    return environment


def _notify(
    listener: Listener,
    path: str,
    iterations: Iterations,
    instruction: Instruction,
    made: Sequence[Any],
) -> None:
    for result, value, maker in zip(instruction.results, made, instruction.makers, strict=True):
        if result is not None:
            listener(ValueMade(path, iterations, result.name, value, maker))


def _with_liveness(block: Block, instructions: Sequence[Instruction]) -> tuple[Instruction, ...]:
    kept = {None, *block.results, *(constant.value for constant in block.constants)}
    backwards = []
    for instruction in reversed(instructions):
        touched = dict.fromkeys((*instruction.reads, *instruction.results))
        dead = tuple(value for value in touched if value is not None and value not in kept)
        kept.update(dead)
        backwards.append(replace(instruction, dead_after=dead))
    return tuple(backwards[::-1])
