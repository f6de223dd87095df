"""Rewrites a loop to pass its targets on: it stacks tensors, carries slots, and counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from treadle.ir import (
    Block,
    Carried,
    Info,
    Invariant,
    Iteration,
    Loop,
    Role,
    Stacked,
    Value,
    ports,
)
from treadle.passes.exposing.inside import Inside, own_result
from treadle.passes.exposing.running import STATISTICS
from treadle.passes.exposing.targets import Target
from treadle.passes.exposing.writer import Writer


def write_loop(
    inside: Inside,
    loop: Loop,
    here: str,
    is_asked: bool,
    hand_out: Callable[[Inside, Block], None],
) -> None:
    """Write the loop at the path `here`, with its extras, into the enclosing block.

    `hand_out` writes its body.
    """
    writer = inside.writer
    slots = inside.wanted.slots(f"{here}.body")
    needs_numbers = any(slot.kind not in STATISTICS for slot in slots)
    clocks, params, roles = _clocks(inside, loop) if needs_numbers else ([], [], [])
    own = inside.body(f"{here}.body", clocks, slots)
    state = [*own.state.values()]
    hand_out(own, loop.body)
    carried = [own.state[slot] for slot in slots]
    initial = [inside.state[slot] for slot in slots]
    if is_asked:
        state.append(writer.value("exposed_count"))
        carried.append(own.writer.leaf("Add", state[-1], own.writer.constant(np.array(1))))
        initial.append(writer.constant(np.array(0)))
    elements = _elements(own, loop.body)
    body = _body(loop, own, (*params, *state), carried, elements)
    results = [writer.value("exposed_loop") for _ in carried]
    stacks = {target: _stack(writer, inside.path, target) for target in own.tensors}
    split = len(ports(loop).carried)
    passed = inside.clocks if needs_numbers else ()
    made = replace(
        loop,
        roles=(*loop.roles, *roles, *[Carried()] * len(carried)),
        operands=(*loop.operands, *passed, *initial),
        body=body,
        stacks=(*loop.stacks, *[Stacked()] * len(stacks)),
        results=(*loop.results[:split], *results, *loop.results[split:], *stacks.values()),
        fixed_state=loop.fixed_state and not needs_numbers,
        info=_as_loop(loop.info, writer) if needs_numbers else _without_stacks(loop.info),
    )
    writer.add(made)
    inside.state.update(zip(slots, results, strict=False))
    inside.tensors |= stacks
    if is_asked:
        inside.extras[here, "trips"] = results[-1]
        inside.extras[here, "ended"] = _ended(writer, loop, results[-1])


def _clocks(inside: Inside, loop: Loop) -> tuple[list[Value], list[Value], list[Role]]:
    """The iteration numbers in the body, the added params for them, and their roles."""
    writer = inside.writer
    outer = [writer.value(clock.name) for clock in inside.clocks]
    number = ports(loop).iteration
    if number is not None:
        return [*outer, number], outer, [Invariant() for _ in outer]
    number = writer.value("exposed_iteration")
    return [*outer, number], [number, *outer], [Iteration(), *[Invariant() for _ in outer]]


def _elements(own: Inside, body: Block) -> list[Value]:
    """The body's result for each tensor, each defined by a step of its own."""
    taken: set[Value | None] = {*body.results}
    found: list[Value] = []
    for value in own.tensors.values():
        found.append(own_result(own.writer, value, taken))
        taken.add(found[-1])
    return found


def _body(
    loop: Loop, own: Inside, params: Sequence[Value], carried: list[Value], elements: list[Value]
) -> Block:
    first = 1 + len(ports(loop).carried)
    old = loop.body.results
    taken = {*old, *elements}
    carried = [own_result(own.writer, value, taken) for value in carried]
    results = (*old[:first], *carried, *old[first:], *elements)
    return own.finished(loop.body, params, results)


def _as_loop(info: Info, writer: Writer) -> Info:
    """The origin of a Scan rewritten as a Loop, since a Scan cannot carry sequences."""
    if info.op != "Scan":
        return info
    version = writer.version("Loop")
    return Info(info.name, info.doc, info.metadata, op="Loop", version=version, path=info.path)


def _without_stacks(info: Info) -> Info:
    """The origin without the attributes that have one entry per stacked output."""
    kept = {k: a for k, a in info.attributes.items() if not k.startswith("scan_output_")}
    return replace(info, attributes=kept)


def _stack(writer: Writer, path: str, target: Target) -> Value:
    """The stacked result: the output itself if the loop is in the main graph."""
    return writer.value(target.output if path == "main" else "exposed_stack")


def _ended(writer: Writer, loop: Loop, trips: Value) -> Value:
    """Compute whether the condition, and not the trip count, ended the loop."""
    view = ports(loop)
    if loop.condition is None and view.next_condition is None:
        return writer.constant(np.array(False))
    if loop.trip is None and not view.sliced:
        return writer.constant(np.array(True))
    return writer.leaf("Less", trips, _most(writer, loop))


def _most(writer: Writer, loop: Loop) -> Value:
    if loop.trip is not None:
        return writer.scalar(loop.trip)
    port = ports(loop).sliced[0]
    assert port.operand is not None, "what is sliced is there"
    axis = writer.constant(np.array(port.role.axis))
    return writer.leaf("Gather", writer.leaf("Shape", port.operand), axis)
