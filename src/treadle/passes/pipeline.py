"""The order of the passes; nothing else knows one."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Literal

from treadle.infer import infer
from treadle.ir import Call, Model, walk_block
from treadle.passes.expand_calls import Expand, expand_calls
from treadle.passes.expand_scan8 import expand_scan8
from treadle.passes.ignore_omitted_condition import ignore_omitted_condition
from treadle.passes.inline_functions import inline_functions
from treadle.passes.settle_defaults import settle_defaults


def prepare(
    model: Model,
    *,
    expand: Expand | None = None,
    overridden: AbstractSet[str] = frozenset(),
    omitted_condition: Literal["stop", "ignore"] = "stop",
) -> Model:
    """The model as engines take it: what is fed is a param, and calls are steps.

    `expand` gives the function the standard defines an operator by, `overridden` are the inputs
    with a default that are fed all the same.
    """
    model = settle_defaults(model, overridden)
    model = inline_functions(model)
    if omitted_condition == "ignore":  # before calls are expanded: their loops are not the file's
        model = ignore_omitted_condition(model)
    model = expand_scan8(model)
    if expand is not None and _has_calls(model):
        model = expand_calls(infer(model), expand)
    return model


def _has_calls(model: Model) -> bool:
    return any(isinstance(visit.step, Call) for visit in walk_block(model.main))
