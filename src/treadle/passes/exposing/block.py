"""Rewrites blocks so that they pass targets outwards: as stacked results, and through slots.

tensor     each enclosing loop stacks it: one axis per loop
slots      loops carry them, branches take and return them
"""

from __future__ import annotations

from dataclasses import replace

from treadle.ir import Block, Branch, Loop, Value, bodies, step_path
from treadle.passes.exposing.collect import collect
from treadle.passes.exposing.inside import Inside, own_result
from treadle.passes.exposing.loops import write_loop
from treadle.passes.exposing.targets import Form, Target


def hand_out(inside: Inside, block: Block) -> None:
    """Write the steps of the block, and those that pass its targets to its end."""
    for position, step in enumerate(block.steps):
        here = step_path(inside.path, step, position)
        placed = replace(step, info=replace(step.info, path=here))
        has_inside = any(f"{here}.{name}" in inside.wanted.below for name, _ in bodies(step))
        is_asked = inside.wanted.asks(inside.path, here)
        if isinstance(placed, Branch) and is_asked:
            inside.extras[here, "taken"] = inside.writer.scalar(placed.condition)
        if isinstance(placed, Loop) and (has_inside or is_asked):
            write_loop(inside, placed, here, is_asked, hand_out)
        elif isinstance(placed, Branch) and has_inside:
            _write_branch(inside, placed, here)
        else:
            inside.writer.add(placed)
    values = {t: _value(t, inside) for t in inside.wanted.here.get(inside.path, ())}
    collect(inside.writer, values, inside.clocks, inside.state, inside.wanted.capacity)
    inside.tensors |= {t: v for t, v in values.items() if t.form is Form.TENSOR}


def _value(target: Target, inside: Inside) -> Value:
    return target.value or inside.extras[target.step, target.extra]


def _write_branch(inside: Inside, branch: Branch, here: str) -> None:
    slots = inside.wanted.slots(f"{here}.then_branch", f"{here}.else_branch")

    def body(name: str, block: Block) -> Block:
        clocks = [inside.writer.value(clock.name) for clock in inside.clocks]
        own = inside.body(f"{here}.{name}", clocks, slots)
        state, taken = tuple(own.state.values()), {*own.state.values()}
        hand_out(own, block)
        given = [own_result(own.writer, own.state[slot], taken) for slot in slots]
        return own.finished(block, (*clocks, *state), (*block.results, *given))

    results = [inside.writer.value("exposed_if") for _ in slots]
    made = replace(
        branch,
        then=body("then_branch", branch.then),
        otherwise=body("else_branch", branch.otherwise),
        operands=(*branch.operands, *inside.clocks, *(inside.state[slot] for slot in slots)),
        results=(*branch.results, *results),
    )
    inside.writer.add(made)
    inside.state.update(zip(slots, results, strict=True))
