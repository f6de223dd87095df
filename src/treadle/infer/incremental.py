"""Incremental inference for a block under construction: infers its steps as they are added."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.infer.block import infer_block, infer_step
from treadle.infer.context import Inference, Scope
from treadle.infer.facts import Fact, literal_fact
from treadle.infer.functions import function_types
from treadle.infer.model import infer_main
from treadle.ir import Block, FunctionId, Literal, Model, Step, Type, Value


class IncrementalInference:
    """Infers the types of params, constants and the steps added so far.

    types = IncrementalInference() types.know(x, tensor("float32", 2, 3)) types.follow(steps) # the
    steps added since the last call types.of(steps[-1].results[0])
    """

    def __init__(self) -> None:
        self._run = Inference(Model(Block()), infer_block)
        self._followed = 0
        self._contents: dict[Literal, Fact] = {}

    @classmethod
    def of_model(cls, model: Model) -> IncrementalInference:
        """Start from the types that `infer` finds for the model's main block and its bodies."""
        made = cls()
        made._run = infer_main(model)
        return made

    def in_function(self, function: FunctionId) -> IncrementalInference:
        """Start from the types that the function's values have in every call of it."""
        made = IncrementalInference()
        for value, type_ in function_types(self._run).get(function, {}).items():
            made.know(value, type_)
        return made

    def know(self, value: Value, type_: Type | None) -> None:
        """Assume the declared type of a param."""
        self._run.facts[value] = Fact(type_)

    def constant(self, value: Value, data: Literal) -> None:
        """Use a constant's content."""
        if data not in self._contents:
            self._contents[data] = literal_fact(data)
        self._run.facts[value] = self._contents[data]

    def same(self, new: Value, old: Value) -> None:
        """Give a value the fact of another one."""
        if old in self._run.facts:
            self._run.facts[new] = self._run.facts[old]

    def follow(self, steps: Sequence[Step]) -> None:
        """Infer the steps added since the last call."""
        for position in range(self._followed, len(steps)):
            self.add(steps[position], f"step_{position}")
        self._followed = len(steps)

    def add(self, step: Step, path: str) -> None:
        """Infer one more step; no two steps may have the same path."""
        facts = infer_step(self._run, step, Scope(path, path))
        for value, fact in zip(step.results, facts, strict=True):
            if value is not None:
                self._run.facts[value] = fact

    def fact(self, value: Value | None) -> Fact:
        """The complete fact about a value."""
        return self._run.of(value)

    def of(self, value: Value) -> Type | None:
        """The type of a value; None if it is unknown."""
        return self._run.of(value).type
