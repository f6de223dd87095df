"""A model as one region."""

from __future__ import annotations

from treadle.ir import Model
from treadle.plan.regions import Region


def whole_region(model: Model) -> Region:
    """All steps of the model's main block; its inputs are the model's that have no default."""
    block = model.main
    defaults = {constant.value for constant in block.constants}
    return Region(
        path="main",
        engine="",
        reason="",
        steps=block.steps,
        inputs=tuple(value for value in block.params if value not in defaults),
        outputs=tuple(value for value in block.results if value is not None),
        constants=block.constants,
    )
