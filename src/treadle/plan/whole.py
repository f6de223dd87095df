"""A model as a single region."""

from __future__ import annotations

from treadle.ir import Model
from treadle.plan.regions import Region


def whole_region(model: Model) -> Region:
    """A region of all steps of the main block.

    Its inputs are the model's inputs without defaults.
    """
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
