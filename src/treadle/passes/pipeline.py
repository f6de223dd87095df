"""The order of the passes that make a model ready to run."""

from __future__ import annotations

from collections.abc import Collection

from treadle.ir import Model
from treadle.passes.close_defaults import close_defaults
from treadle.passes.expand_calls import Expand, expand_calls
from treadle.passes.expand_scan8 import expand_scan8
from treadle.passes.ignore_omitted_condition import ignore_omitted_condition
from treadle.passes.inline_functions import inline_functions


def prepare(
    model: Model,
    *,
    expand: Expand,
    overridden: Collection[str] = (),
    omitted_condition: str = "stop",
) -> Model:
    """The model with one Loop form and no call left that can be expanded before it runs."""
    model = close_defaults(model, overridden)
    model = inline_functions(model)
    if omitted_condition == "ignore":  # before SequenceMap's own loops come in
        model = ignore_omitted_condition(model)
    model = expand_scan8(model)
    return expand_calls(model, expand)
