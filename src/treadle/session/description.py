"""A session's inputs, outputs and listener, as its model and options give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from treadle import checks
from treadle.arguments import expect_listener
from treadle.boundary import Callback
from treadle.errors import InputError, did_you_mean
from treadle.feeds import NodeArg, node_arg
from treadle.ir import Declaration, Model, Type
from treadle.messages import visible
from treadle.plan import Plan
from treadle.profiling import Profile, Timed, locations_of
from treadle.tracing import Listener


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


def with_adapters(model: Model, feed: Mapping[str, object], options: Any) -> Mapping[str, object]:
    """The feeds, with those of the options' adapters."""
    known = {value.name for value in model.main.params}
    given = [each.parameters for each in getattr(options, "adapters", ())]
    added = {name: p[name] for p in given for name in p if name in known}
    return {**added, **feed} if added else feed


def output_position(names: Sequence[str], name: str) -> int:
    """The position of an output; InputError where the model has none of this name."""
    if name in names:
        return names.index(name)
    fault = f'the model has no output "{name}", {did_you_mean(name, names)}'
    raise InputError(visible(fault))


def heard_by(listener: Listener | None, profile: Profile | None, plan: Plan) -> Listener | None:
    """The listener of a run: the caller's, or the one that times it for a profile."""
    if listener is not None:
        expect_listener(listener)
        return Callback(listener)
    if profile is None or profile.is_ended:
        return None
    return Timed(profile, locations_of(plan))
