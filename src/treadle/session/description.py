"""Descriptions of a session's inputs and outputs."""

from __future__ import annotations

from treadle import checks
from treadle.feeds import NodeArg, node_arg
from treadle.ir import Declaration, Model, Type


def defaults(model: Model) -> set[str]:
    """The names of inputs that have a default."""
    params = set(model.main.params)
    return {c.value.name for c in model.main.constants if c.value in params}


def inputs(model: Model, *, overridable: bool) -> list[NodeArg]:
    """The inputs that have a default and may be fed, or those that must be fed."""
    named = defaults(model)
    params = (v for v in model.main.params if (v.name in named) is overridable)
    return [node_arg(v.name, v.type) for v in params]


def output_types(model: Model, planned: Model) -> list[tuple[str, Type | None]]:
    """Name and type of each output: declared, unless inference contradicts the declaration.

    `planned` is the model as it is run, whose values have inferred types.
    """
    names = [value.name if value else "" for value in model.main.results]
    claims = model.main.claims or (Declaration(),) * len(names)
    types = [
        _believed(claim.type, None if value is None else value.type)
        for value, claim in zip(planned.main.results, claims, strict=True)
    ]
    return list(zip(names, types, strict=True))


def _believed(declared: Type | None, known: Type | None) -> Type | None:
    """The declared type, unless inference knows another kind or element type."""
    return known if declared is None or checks.kinds_contradict(declared, known) else declared
