"""Builds the steps a pass adds: leaves of the model's opset, and their constants."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treadle.ir import Block, Constant, Info, Leaf, Literal, Step, Value, attribute
from treadle.passes.simplify.context import PassContext


class StepBuilder:
    """Collects steps for one block, in order, and new constants."""

    def __init__(self, at: PassContext) -> None:
        self.at = at
        self.steps: list[Step] = []
        self.constants: list[Constant] = []

    def constant(
        self, array: np.ndarray, name: str = "constant", value: Value | None = None
    ) -> Value:
        """Define a constant: `value`, or a new value of this name."""
        made = value if value is not None else Value(name)
        if self.at.literals:
            self.constants.append(Constant(made, Literal.of(array)))
        else:
            attributes = {"value": array}
            self.leaf("Constant", result=made, **attributes)
        return made

    def leaf(
        self, op: str, *operands: Value, result: Value | None = None, **attributes: object
    ) -> Value:
        """Add a leaf with one result, `result` or a new value."""
        version = self.at.version(op)
        assert version is not None, f"opset {self.at.opset} has no {op}"
        made = result if result is not None else Value(op.lower())
        named = {name: attribute(name, value) for name, value in attributes.items()}
        info = Info(op=op, version=version)
        self.steps.append(Leaf("", op, version, operands, (made,), named, info=info))
        return made

    def into(self, block: Block) -> Block:
        """The block with the new constants; the caller places the steps."""
        return replace(block, constants=(*block.constants, *self.constants))
