"""Makes selected values of bodies outputs of the main graph, for any runtime.

    main/loop_0.body/h        a tensor with one axis per loop, outermost first, if every iteration
                              provably computes it with one shape, and inner loops have a fixed
                              trip count; otherwise a flat sequence in the order of execution
    main/loop_0.body/h@at     for a sequence, int64[n, depth]: the iteration numbers of each element
    main/loop_0.body/h@lengths   for a value that is itself a sequence, int64[n]: the number of
                              elements of each

The original outputs stay, and come first. A Scan that passes sequences becomes a Loop. Values of
the main graph become outputs unchanged.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treadle.errors import InputError, Unsupported
from treadle.infer import infer
from treadle.ir import (
    Block,
    FreshNames,
    Model,
    Step,
    Value,
    clone_with_new_values,
    map_bodies,
    map_steps,
    step_path,
    verified,
)
from treadle.passes.expand_functions import Expand, expand_functions
from treadle.passes.expand_scan8 import expand_scan8
from treadle.passes.exposing.block import hand_out
from treadle.passes.exposing.collect import Slots, initial
from treadle.passes.exposing.fixed import places
from treadle.passes.exposing.inside import Inside, Wanted
from treadle.passes.exposing.targets import OLDEST, Form, Refusal, Target, targets
from treadle.passes.exposing.writer import Writer, names_of
from treadle.passes.inline_functions import inline_functions
from treadle.passes.obstacles import Obstacles
from treadle.passes.uniquify_names import uniquify_names
from treadle.passes.versions import convert_version, in_standard_operators
from treadle.tracing import Selector


@dataclass(frozen=True, slots=True)
class Exposure:
    """An exposed model, a description of its new outputs, and the values left out.

    `names` are the outputs of each target by kind: `values`, and `at`, `lengths`, `count` if
    present.
    """

    model: Model
    names: Mapping[Target, Mapping[str, str]]
    refused: Sequence[Refusal] = ()


@verified
def expose(
    model: Model,
    selector: Selector,
    expand: Expand | None,
    capacity: int | None = None,
    *,
    summarized: Collection[str] = frozenset(),
) -> Exposure:
    """Add the selected values to the outputs; raises InputError if nothing is selected.

    Of numbers inside the `summarized` loops and branches, by path, the outputs are statistics.
    Functions and Scan-8 are expanded first, so that values are named by the path of their call.
    """
    model = expanded(model, expand)
    selector.expect_match(model)
    model = infer(_recent_enough(model, expand))
    found, refused = targets(model, selector, capacity, summarized)
    if not found and not refused:
        raise InputError(
            f'values: "{selector}" picks only constants, captures and inputs, which are the same in'
            " every iteration; wanted results of steps, or values that a loop carries or slices"
        )
    if not found:
        return Exposure(model, {}, refused)
    where = places(model)
    writer = Writer(names_of(model), model.opsets.get("", 0))
    wanted = Wanted.of(found, {t: where[t.path].outer for t in found}, capacity or 0)
    state = {
        slot: initial(slot, target, writer, capacity or 0)
        for target in reversed(found)
        for slot in Slots.of(target).by_kind.values()
    }
    main = Inside("main", wanted, writer, (), state)
    hand_out(main, model.main)
    outputs = _Outputs(main)
    names = {target: outputs.of(target) for target in found}
    block = main.finished(model.main, (), (*model.main.results, *outputs.values))
    named = clone_with_new_values(block, outputs.named)
    made = replace(
        model, main=with_own_step_names(named), ir_version=max(model.ir_version, _OLDEST_IR)
    )
    typed = infer(uniquify_names(in_standard_operators(made)))
    return Exposure(typed, names, refused)


def expanded(model: Model, expand: Expand | None) -> Model:
    """The model without functions, Scan-8 and calls: its paths are those at run time."""
    model = expand_scan8(inline_functions(model))
    return model if expand is None else expand_functions(model, expand)


def _recent_enough(model: Model, expand: Expand | None) -> Model:
    """The model in an opset that exposing supports; unchanged if it has no form there."""
    if model.opsets.get("", 0) >= OLDEST or expand is None:
        return model
    try:
        return convert_version(_with_paths(model), _EVERY_FORM, expand)[0]
    except Unsupported:
        return model


def _with_paths(model: Model) -> Model:
    """The model whose steps say where they are, so that steps put between them move no path."""

    def placed(block: Block, path: str) -> Block:
        return replace(
            block, steps=tuple(at(step_path(path, s, k), s) for k, s in enumerate(block.steps))
        )

    def at(path: str, step: Step) -> Step:
        inside = map_bodies(step, lambda name, body: placed(body, f"{path}.{name}"))
        return replace(inside, info=replace(inside.info, path=path))

    return replace(model, main=placed(model.main, "main"))


def refuse(exposure: Exposure) -> None:
    """Raise Unsupported, naming every value that was asked for and cannot be exposed."""
    obstacles = Obstacles("expose")
    for each in exposure.refused:
        obstacles.add(each.name, each.reason, each.help)
    obstacles.refuse()


_EVERY_FORM = 18
"""The opset from which every form of exposed values can be expressed."""
_OLDEST_IR = 4
"""The IR version from which constants need not be inputs."""

_SUFFIXES = {"values": "", "buffer": "", "at": "@at", "padded_at": "@at"}
_KINDS = {"buffer": "values", "padded_at": "at"}


class _Outputs:
    """The outputs of the targets: values of the main graph, with their names."""

    def __init__(self, main: Inside) -> None:
        self.main, self.values = main, list[Value]()
        self._names: dict[Value, str] = {}

    def of(self, target: Target) -> Mapping[str, str]:
        """The names of a target's outputs by kind."""
        if target.form is Form.TENSOR:
            return {"values": self._output(self.main.tensors[target], target.output, shared=True)}
        names = {}
        for kind, slot in Slots.of(target).by_kind.items():
            value, suffix = self.main.state[slot], _SUFFIXES.get(kind, f"@{kind}")
            is_cut = kind in _KINDS
            name = f"{target.output}{suffix}"
            names[_KINDS.get(kind, kind)] = self._output(
                self._cut(value) if is_cut else value, name
            )
        return names

    def named(self, value: Value) -> Value:
        """The value with the name of its output."""
        return replace(value, name=self._names.get(value, value.name))

    def _output(self, value: Value, name: str, *, shared: bool = False) -> str:
        """Make a value an output of this name, through a copy if it already is an output."""
        is_called = value.name == name
        if not is_called and (shared or value in self._names):
            value = self.main.writer.leaf("Identity", value)
        if not is_called:
            self._names[value] = name = self.main.writer.names.fresh(name)
        self.values.append(value)
        return name

    def _cut(self, rows: Value) -> Value:
        """The rows without the last one, which collects values beyond the capacity."""
        writer = self.main.writer
        bounds = [[0], [self.main.wanted.capacity], [0]]
        return writer.leaf("Slice", rows, *(writer.constant(np.array(each)) for each in bounds))


def with_own_step_names(block: Block) -> Block:
    """Rename steps so that no two steps of the block and its bodies have the same name.

    The steps of a function that is called twice keep the names they have in the file.
    """
    names = FreshNames()

    def own(step: Step) -> Step:
        name = names.fresh(step.info.name) if step.info.name else ""
        return step if name == step.info.name else replace(step, info=replace(step.info, name=name))

    return map_steps(block, own)
