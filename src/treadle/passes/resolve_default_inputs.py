"""Decides for each input with a default whether it is an input or a constant.

fed: an input without a default      not fed: a constant, known before the run
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from treadle.ir import Model, verified


@verified
def resolve_default_inputs(model: Model, overridden: Collection[str] = ()) -> Model:
    """Make the params exactly the inputs that a run feeds; `overridden` are the defaults fed."""
    block = model.main
    defaults = {constant.value for constant in block.constants} & set(block.params)
    if not defaults:
        return model
    fed = {value for value in defaults if value.name in overridden}
    params = tuple(value for value in block.params if value not in defaults or value in fed)
    constants = tuple(constant for constant in block.constants if constant.value not in fed)
    return replace(model, main=replace(block, params=params, constants=constants))
