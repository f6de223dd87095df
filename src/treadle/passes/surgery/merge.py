"""Merges two models: outputs of the first feed inputs of the second.

Names are made unique over all scopes, captures included. Inputs and outputs keep their names;
declines if two of them are equal, if types contradict, if the models import different versions of a
domain, and if functions of the same name differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from treadle.errors import InputError, did_you_mean
from treadle.infer import infer
from treadle.ir import (
    Block,
    Declaration,
    Model,
    Value,
    show_function,
    show_type,
    substitute,
    verified,
    with_operands,
)
from treadle.passes.obstacles import Obstacles
from treadle.passes.simplify.captures import closure_convert, to_implicit_captures
from treadle.passes.simplify.names import with_own_names, with_own_step_names
from treadle.passes.surgery.blocks import contradict

NAME = "merge"


@verified
def merge(first: Model, second: Model, pairs: Mapping[str, str]) -> Model:
    """Merge the models; `pairs` maps outputs of the first to inputs of the second: {"y": "x"}."""
    told = Obstacles(NAME)
    known = {value.name: value for value in infer(first).main.results if value is not None}
    _expect_names(first, second, pairs)
    _expect_agreement(first, second, told)
    for output, name in pairs.items():
        wanted = next(param for param in second.main.params if param.name == name)
        if contradict(known[output].type, wanted.declared):
            what = f"{output} is {show_type(known[output].type)}, {name} is"
            told.add("main", f"{what} {show_type(wanted.declared)}", "connect values of one type")
    told.refuse()
    main = _joined(first.main, second.main, pairs)
    named = closure_convert(with_own_names(to_implicit_captures(main)))
    return replace(
        first,
        main=with_own_step_names(named),
        functions={**first.functions, **second.functions},
        opsets={**first.opsets, **second.opsets},
        ir_version=max(first.ir_version, second.ir_version),
    )


def _joined(first: Block, second: Block, pairs: Mapping[str, str]) -> Block:
    results = {value.name: value for value in first.results if value is not None}
    made = {name: results[output] for output, name in pairs.items()}
    by: dict[Value, Value | None] = {
        param: made[param.name] for param in second.params if param.name in made
    }
    kept = [k for k, value in enumerate(first.results) if value and value.name not in pairs]
    rest = tuple(param for param in second.params if param not in by)
    defaults = tuple(constant for constant in second.constants if constant.value not in by)
    return replace(
        first,
        params=(*first.params, *rest),
        constants=(*first.constants, *defaults),
        steps=(*first.steps, *(with_operands(step, by) for step in second.steps)),
        results=(*(first.results[k] for k in kept), *substitute(second.results, by)),
        claims=(*(_claims(first)[k] for k in kept), *_claims(second)),
    )


def _claims(block: Block) -> tuple[Declaration, ...]:
    if block.claims:
        return block.claims
    return tuple(Declaration(value.declared if value else None) for value in block.results)


def _expect_names(first: Model, second: Model, pairs: Mapping[str, str]) -> None:
    outputs = [value.name for value in first.main.results if value is not None]
    inputs = [param.name for param in second.main.params]
    for output, name in pairs.items():
        for given, names, what in (
            (output, outputs, "the first model has no output"),
            (name, inputs, "the second model has no input"),
        ):
            if given not in names:
                raise InputError(f"{what} {given!r}, {did_you_mean(given, names)}")
    if len(set(pairs.values())) < len(pairs):
        raise InputError("an input of the second model is connected twice")
    free = {name for name in inputs if name not in pairs.values()}
    given_ = {value.name for value in second.main.results if value is not None}
    mine = {param.name for param in first.main.params} | {o for o in outputs if o not in pairs}
    clash = sorted((free | given_) & mine)
    if clash:
        listed = ", ".join(clash)
        raise InputError(f"both models have inputs or outputs called {listed}: rename them")


def _expect_agreement(first: Model, second: Model, told: Obstacles) -> None:
    for domain, version in second.opsets.items():
        mine = first.opsets.get(domain, version)
        if mine != version:
            what = f"the models import opsets {mine} and {version} of {domain or 'ai.onnx'}"
            told.add("main", what, "bring both to one by convert_version")
    for identity, function in second.functions.items():
        other = first.functions.get(identity)
        if other is not None and show_function(other) != show_function(function):
            what = "the models' functions of this name differ"
            told.add(str(identity), what, "rename or inline one")
