"""The order of the passes, which only this file knows."""

from __future__ import annotations

from collections.abc import Callable, Collection

from treadle.ir import Leaf, Model
from treadle.passes.decompose_ops import decompose_ops
from treadle.passes.expand_functions import Expand, expand_functions
from treadle.passes.expand_scan8 import expand_scan8
from treadle.passes.ignore_omitted_condition import ignore_omitted_condition
from treadle.passes.inline_functions import inline_functions
from treadle.passes.resolve_default_inputs import resolve_default_inputs


def prepare(
    model: Model,
    *,
    expand: Expand | None = None,
    overridden: Collection[str] = (),
    omitted_condition: str = "stop",
) -> Model:
    """Prepare the model for engines: fed inputs become params, and calls become steps.

    `expand` returns the function by which the standard defines an operator, `overridden` are the
    inputs with a default that are fed anyway. Returns the same model if nothing changes.
    """
    model = resolve_default_inputs(model, overridden)
    model = inline_functions(model)
    if omitted_condition == "ignore":  # before calls are expanded: their loops are not the file's
        model = ignore_omitted_condition(model)
    model = expand_scan8(model)
    return model if expand is None else expand_functions(model, expand)


def lower(model: Model, expand: Expand, lacks: Callable[[Leaf], bool]) -> Model:
    """Lower the model for a format with its own operators: no calls, and no leaves it `lacks`.

    They are replaced by the standard's definition, if there is one. Defaults of inputs stay.
    """
    model = expand_scan8(inline_functions(model))
    return decompose_ops(expand_functions(model, expand), expand, lacks)
