"""Runs an operator by the function its schema defines it by, for the types at hand."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np

from treadle.errors import Unsupported
from treadle.interp.block import BlockProgram, SlotsOf
from treadle.interp.frame import Action, Frame, Slots
from treadle.ir import Block, Call, Leaf, Tensor, Type, dtype_of, operator_of
from treadle.ir import Sequence as SequenceType

Expand = Callable[[Leaf | Call, Sequence[Type | None]], Block | None]
"""The body of a step for operands of these types: params are its operands, then its captures."""

_KEPT = 256


def compile_call(
    step: Leaf | Call,
    path: str,
    slots: SlotsOf,
    expand: Expand,
    program: Callable[[Block, str], BlockProgram],
) -> Action:
    """The action of a step that is expanded when it is first met with operands of some types."""
    operands = slots.all((*step.operands, *step.captures))
    declared = [None if value is None else value.type for value in step.operands]
    results = slots.all(step.results)
    programs: dict[str, BlockProgram] = {}
    lock = threading.Lock()

    def programmed(types: Sequence[Type | None]) -> BlockProgram:
        key = str([str(type_) for type_ in types])
        with lock:
            if key not in programs:
                block = expand(step, types)
                if block is None:
                    why = f"no kernel and no function evaluates it for {key}"
                    raise Unsupported(operator_of(step), step.version, why, path)
                if len(programs) >= _KEPT:
                    programs.clear()
                programs[key] = program(block, path)
            return programs[key]

    def act(values: Slots, frame: Frame) -> None:
        given = [values[slot] for slot in operands]
        types = [type_of(value, known) for value, known in zip(given, declared, strict=False)]
        made = programmed(types)(given, frame)
        for slot, value in zip(results, made, strict=False):
            if slot:
                values[slot] = value

    return act


def type_of(value: object, known: Type | None) -> Type | None:
    """The type of a run-time value; what is known beforehand where the value does not tell."""
    if isinstance(value, np.ndarray):
        return Tensor(dtype_of(value.dtype), tuple(value.shape))
    if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
        return SequenceType(Tensor(dtype_of(value[0].dtype)))
    return known
