"""Cuts out the part of a model between values: the steps from inputs to outputs.

    cut(inputs=["a"], outputs=["y"])     the steps that y depends on, up to a

Outputs are values of one block; inputs are of that block or of enclosing blocks, whose steps are
included if y needs them. A cut across iterations is refused: a carried or sliced value that y
depends on must be an input itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from treadle.errors import InputError, did_you_mean
from treadle.infer import infer
from treadle.ir import (
    Block,
    Branch,
    Constant,
    Loop,
    Model,
    Step,
    Value,
    bodies,
    step_path,
    substitute,
    verified,
    with_operands,
)
from treadle.passes.obstacles import Obstacles
from treadle.passes.simplify.captures import (
    closure_convert,
    free_reads,
    replaced,
    to_implicit_captures,
)
from treadle.passes.simplify.names import with_own_names
from treadle.passes.surgery.blocks import claim, declared, distinct_results

NAME = "extract"


class _Home(NamedTuple):
    """The origin of a value: its block, and the step or the literal that defines it."""

    path: str
    depth: int
    place: int
    step: Step | None = None
    constant: Constant | None = None


Homes = Mapping[Value, _Home]


@verified
def cut(model: Model, inputs: Iterable[str], outputs: Iterable[str]) -> Model:
    """The model between values; `path/name` selects one of several values of a name."""
    typed = infer(model)
    block = to_implicit_captures(typed.main)
    homes = _homes(block, "main", 0)
    given = [_named(name, homes) for name in inputs]
    wanted = [_named(name, homes) for name in outputs]
    _expect_one_block(wanted, homes)
    taken = _needed(wanted, set(given), homes)
    makers = {id(homes[value].step): homes[value] for value in taken if homes[value].step}
    steps = sorted(makers.values(), key=_order)
    constants = [homes[v].constant for v in taken if homes[v].constant is not None]
    params = {value: declared(value) for value in given}
    made = Block(
        params=tuple(params.values()),
        constants=tuple(constant for constant in constants if constant is not None),
        steps=tuple(with_operands(home.step, params) for home in steps if home.step is not None),
        results=substitute(tuple(wanted), params),
        claims=tuple(map(claim, wanted)),
        name=model.main.name,
    )
    inner = replaced(distinct_results(made, model.opsets.get("", 1)), params)
    main = closure_convert(with_own_names(inner))
    return infer(replace(model, main=main, doc="", metadata=(), kept={}))


def _order(home: _Home) -> tuple[int, int]:
    return home.depth, home.place


def _homes(block: Block, path: str, depth: int) -> dict[Value, _Home]:
    homes = {value: _Home(path, depth, -1) for value in block.params}
    homes |= {c.value: _Home(path, depth, -1, None, c) for c in block.constants}
    for index, step in enumerate(block.steps):
        homes |= {v: _Home(path, depth, index, step) for v in step.results if v is not None}
        at = step_path(path, step, index)
        if isinstance(step, Loop | Branch):
            for name, body in bodies(step):
                homes |= _homes(body, f"{at}.{name}", depth + 1)
    return homes


def _named(text: str, homes: Homes) -> Value:
    path, _, name = text.rpartition("/")
    exact = [value for value in homes if value.name == text]
    found = exact or [v for v, home in homes.items() if v.name == name and home.path == path]
    if not found:
        known = {value.name for value in homes}
        raise InputError(f"the model has no value {text!r}, {did_you_mean(text, sorted(known))}")
    if len(found) > 1:
        where = ", ".join(f"{homes[value].path}/{value.name}" for value in found)
        raise InputError(f"several values are called {text!r}: say which of {where}")
    return found[0]


def _expect_one_block(wanted: Sequence[Value], homes: Homes) -> None:
    places = {homes[value].path for value in wanted}
    if len(places) != 1:
        listed = ", ".join(sorted(places))
        raise InputError(f"outputs have to be of one block, these are of {listed}")


def _needed(wanted: Iterable[Value], given: set[Value], homes: Homes) -> list[Value]:
    told = Obstacles(NAME)
    todo, found = list(wanted), dict[Value, None]()
    while todo:
        value = todo.pop()
        if value in given or value in found:
            continue
        home = homes[value]
        if home.step is None and home.constant is None:
            what = f"{value.name} is needed, and "
            is_input = home.path == "main"
            what += "is an input of the model" if is_input else "comes from another iteration"
            told.add(home.path, what, "name it among the inputs")
            continue
        found[value] = None
        if home.step is not None:
            todo += [each for each in free_reads(home.step) if each in homes]
    told.refuse()
    return list(found)
