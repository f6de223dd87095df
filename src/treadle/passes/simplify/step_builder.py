"""Steps a clean pass writes: leaves of the model's opset, and the constants they read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treadle.ir import Block, Constant, Info, Leaf, Literal, Step, Value, attribute
from treadle.passes.simplify.context import PassContext


class StepBuilder:
    """Collects steps that go into one block, in order, and its new constants."""

    def __init__(self, at: PassContext) -> None:
        self.at = at
        self.steps: list[Step] = []
        self.constants: list[Constant] = []

    def constant(
        self, array: np.ndarray, name: str = "constant", value: Value | None = None
    ) -> Value:
        """A constant; it is `value`, or a new one of this name."""
        made = value if value is not None else Value(name)
        if self.at.literals:
            self.constants.append(Constant(made, Literal.of(array)))
        else:
            held = {"value": array}
            self.leaf("Constant", result=made, **held)
        return made

    def leaf(
        self, op: str, *operands: Value, result: Value | None = None, **attributes: object
    ) -> Value:
        """A leaf with one result, a new one or `result`."""
        version = self.at.version(op)
        assert version is not None, f"opset {self.at.opset} has no {op}"
        made = result if result is not None else Value(op.lower())
        named = {name: attribute(name, value) for name, value in attributes.items()}
        info = Info(op=op, version=version)
        self.steps.append(Leaf("", op, version, operands, (made,), named, info=info))
        return made

    def into(self, block: Block) -> Block:
        """The block with the new constants; its steps are the caller's to place."""
        return replace(block, constants=(*block.constants, *self.constants))
