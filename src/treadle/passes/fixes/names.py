"""CF103: renames values of bodies that shadow an outer one.

Names carry no meaning in a closed block, so nothing else changes. Declines for the graphs of
operators that bind their inputs by name. Needs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from treadle import ops
from treadle.ir import (
    Block,
    FreshNames,
    Leaf,
    Model,
    Step,
    Value,
    bodies,
    captures,
    clone_with_new_values,
    step_path,
)
from treadle.passes.fixes.fix import Fix, all_names


@dataclass(slots=True)
class _Renaming:
    free: FreshNames
    names: dict[Value, str]
    done: list[Fix]


def rename_shadowed(model: Model) -> tuple[Model, list[Fix]]:
    """Rename so that no name of a body shadows a visible outer name."""
    state = _Renaming(all_names(model), {}, [])
    _look(state, model.main, "main", set(), set())
    for identity, function in model.functions.items():
        _look(state, function.block, str(identity), set(), set())
    if not state.done:
        return model, []

    def named(value: Value) -> Value:
        return replace(value, name=state.names.get(value, value.name))

    functions = {
        k: replace(f, block=clone_with_new_values(f.block, named))
        for k, f in model.functions.items()
    }
    return replace(
        model, main=clone_with_new_values(model.main, named), functions=functions
    ), state.done


def _look(
    state: _Renaming, block: Block, path: str, outside: set[str], captured: set[Value]
) -> None:
    here = set(outside)

    def define(value: Value | None, at: str) -> None:
        if value is None or value in captured or value in state.names:
            return
        if value.name in outside:
            state.names[value] = state.free.fresh(f"{value.name}_inner")
            done = f'renamed "{value.name}" to "{state.names[value]}"'
            state.done.append(Fix("CF103", at, done))
        here.add(state.names.get(value, value.name))

    for value in (*block.params, *(constant.value for constant in block.constants)):
        define(value, path)
    for position, step in enumerate(block.steps):
        at = step_path(path, step, position)
        own = set()
        for outer, param in captures(step):
            own.add(param)
            if outer is not None and outer in state.names:
                state.names[param] = state.names[outer]
        for name, body in bodies(step):
            _look(state, body, f"{at}.{name}", set() if _is_apart(step) else here, own)
        for result in step.results:
            define(result, at)


def _is_apart(step: Step) -> bool:
    return isinstance(step, Leaf) and (step.domain, step.op) in ops.GENERATION
