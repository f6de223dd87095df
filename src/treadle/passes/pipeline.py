"""The order of the passes; nothing else knows one."""

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
    """The model as engines take it: what is fed is a param, and calls are steps.

    `expand` gives the function the standard defines an operator by, `overridden` are the inputs
    with a default that are fed all the same. The model itself comes back where it is so already.
    """
    model = resolve_default_inputs(model, overridden)
    model = inline_functions(model)
    if omitted_condition == "ignore":  # before calls are expanded: their loops are not the file's
        model = ignore_omitted_condition(model)
    model = expand_scan8(model)
    return model if expand is None else expand_functions(model, expand)


def lower(model: Model, expand: Expand, lacks: Callable[[Leaf], bool]) -> Model:
    """The model for a format of its own operators: no calls, and no leaves it `lacks`.

    The standard's definition takes their place, where there is one. Defaults of inputs stay.
    """
    model = expand_scan8(inline_functions(model))
    return decompose_ops(expand_functions(model, expand), expand, lacks)
