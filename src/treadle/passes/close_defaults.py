"""Fixes the inputs that have a default: constants, but for those that are fed this time."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from treadle.ir import Model


def close_defaults(model: Model, overridden: Collection[str] = ()) -> Model:
    """The model whose only params are those without a default and the overridden ones."""
    params = set(model.main.params)
    defaults = {c.value for c in model.main.constants if c.value in params}
    if not defaults:
        return model
    fed = {value for value in defaults if value.name in overridden}
    main = replace(
        model.main,
        params=tuple(v for v in model.main.params if v not in defaults or v in fed),
        constants=tuple(c for c in model.main.constants if c.value not in fed),
    )
    return replace(model, main=main)
