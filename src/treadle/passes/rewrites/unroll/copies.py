"""Copies the steps of a body for one iteration, over new values.

A block is open here (`simplify/captures.py`): its bodies read outer values directly, so one map of
replaced values serves the steps and their bodies. The metadata of every copy hold the original
path, `treadle.source_path`, and the iteration, `treadle.iteration`: the numbers of the enclosing
loops, outermost first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

from treadle.ir import (
    Block,
    Constant,
    Info,
    Leaf,
    Loop,
    Metadata,
    Step,
    Value,
    map_bodies,
    substitute,
    with_operands,
    with_results,
)
from treadle.passes.rewrites.paths import marked_path

SOURCE_PATH = "treadle.source_path"
ITERATION = "treadle.iteration"

Known = dict[Value, Value | None]


class Where(NamedTuple):
    """An iteration: its number, and those of the unrolled loops around its loop."""

    number: str
    outer: str = ""

    @classmethod
    def of(cls, loop: Loop, number: int | str) -> Where:
        """An iteration of a loop, which may itself be in a copied iteration."""
        return cls(str(number), dict(loop.info.metadata).get(ITERATION, ""))


def copy_steps(
    steps: Iterable[Step], known: Known, new: Callable[[Value], Value], where: Where
) -> list[Step]:
    """Copy the steps with operands from `known` and results made by `new`; extends `known`."""
    return [_copy(step, known, new, where, keeps_name=False) for step in steps]


def _copy(
    step: Step, known: Known, new: Callable[[Value], Value], where: Where, *, keeps_name: bool
) -> Step:
    for value in step.results:
        if value is not None:
            known[value] = new(value)
    info = _placed(step.info, marked_path(step), where, keeps_name=keeps_name)
    if isinstance(step, Leaf) and not step.blocks:
        operands, results = substitute(step.operands, known), substitute(step.results, known)
        return Leaf(
            step.domain, step.op, step.version, operands, results, step.attributes, info=info
        )
    read = map_bodies(with_operands(step, known), lambda _, body: _body(body, known, where))
    return replace(with_results(read, known), info=info)


def _body(block: Block, known: Known, where: Where) -> Block:
    """Copy the body of a copied step, over values of the same names."""

    def new(value: Value) -> Value:
        return replace(value)

    def defined(value: Value) -> Value:
        made = known[value] = new(value)
        return made

    params = tuple(map(defined, block.params))
    constants: list[Constant] = []
    for constant in block.constants:
        is_param = constant.value in block.params
        value = known[constant.value] if is_param else defined(constant.value)
        assert value is not None, "a value of the body was just made"
        constants.append(replace(constant, value=value))
    steps = tuple(_copy(step, known, new, where, keeps_name=True) for step in block.steps)
    results = substitute(block.results, known)
    return replace(block, params=params, constants=tuple(constants), steps=steps, results=results)


def _placed(info: Info, path: str, where: Where, *, keeps_name: bool) -> Info:
    metadata = iteration_metadata(info.metadata, path, where)
    return replace(info, name=info.name if keeps_name else "", metadata=metadata, path="")


def iteration_metadata(metadata: Metadata, path: str, where: Where) -> Metadata:
    """The metadata of a copied step; a step that was copied before keeps its original path."""
    known = dict(metadata)
    inner = known.get(ITERATION, "").removeprefix(where.outer).removeprefix(",")
    known.setdefault(SOURCE_PATH, path)
    known[ITERATION] = ",".join(part for part in (where.outer, where.number, inner) if part)
    return tuple(known.items())
