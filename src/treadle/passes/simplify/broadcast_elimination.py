"""Removes an Expand whose readers broadcast by themselves.

    Mul(Expand(b, [6, 4]), a)        Mul(b, a)        if a is already [6, 4]

Declines if a reader is not elementwise or would return another shape without it, or if a shape is
unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from treadle.ir import Block, Leaf, Step, Value, bodies, operator_of, reads, step_path
from treadle.passes.simplify.captures import map_implicit_captures, replaced
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.operators import broadcast
from treadle.passes.simplify.speculation import is_speculatable

NAME = "broadcasts eliminated"
_BROADCASTING = frozenset(
    {
        "Add", "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal", "Greater",
        "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Mean", "Min", "Mod", "Mul", "Or", "Pow",
        "Sub", "Sum", "Where", "Xor",
    }
)  # fmt: skip


def eliminate_broadcasts(block: Block, at: PassContext) -> Block:
    """Remove each Expand before operators that broadcast."""
    by: dict[Value, Value | None] = {}

    def change(inner: Block, path: str, owner: Step | None) -> Block:
        expansions = [(k, step) for k, step in enumerate(inner.steps) if _is_expansion(step)]
        readers_of = _readers(inner) if expansions else {}
        for position, step in expansions:
            result, given = step.results[0], step.operands[0]
            if result is None or given is None or result in inner.results:
                continue
            readers = readers_of.get(result, ())
            if not readers or not is_speculatable(step, at):
                continue
            if all(_gives_the_same(reader, result, given, by, at) for reader in readers):
                by[result] = given
                at.note(NAME, step_path(path, step, position), operator_of(step))
        return inner

    return replaced(map_implicit_captures(block, change), by)


def _is_expansion(step: Step) -> TypeGuard[Leaf]:
    return isinstance(step, Leaf) and not step.domain and step.op == "Expand"


def _readers(block: Block) -> Mapping[Value | None, Sequence[Step | None]]:
    """The steps that read each value, inside bodies too; None if a body returns it."""
    found: dict[Value | None, list[Step | None]] = {}

    def look(inner: Block) -> None:
        for step in inner.steps:
            for value in dict.fromkeys(reads(step)):
                found.setdefault(value, []).append(step)
            for _, body in bodies(step):
                for value in dict.fromkeys(body.results):
                    found.setdefault(value, []).append(None)
                look(body)

    look(block)
    return found


def _gives_the_same(
    reader: Step | None,
    result: Value,
    given: Value,
    by: dict[Value, Value | None],
    at: PassContext,
) -> bool:
    if not isinstance(reader, Leaf) or reader.domain or reader.op not in _BROADCASTING:
        return False
    made = at.extents(reader.results[0])
    operands = [by.get(v, v) if v is not None else None for v in reader.operands]
    shapes = [at.shape(given if value is result else value) for value in operands]
    return made is not None and reader.version >= 7 and broadcast(shapes) == made
