"""A region with inputs of unknown type: prepared for the types of the first call.

Results of onnxruntime's own operators, or of custom operators, may have types that no rule of the
standard determines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from treadle.errors import RunError, Unsupported
from treadle.infer import infer
from treadle.ir import Model, Tensor, Type, Value, dtype_of, with_operands
from treadle.ir import Sequence as SequenceType
from treadle.plan import FallbackRequired, Pending, Region, RunContext, Runnable, RunnableTraits

Types = tuple[Type | None, ...]
_MOST_KEPT = 64


@dataclass(frozen=True, slots=True)
class Late:
    """The Runnable of such a region; `prepare` makes a session for given input types."""

    prepare: Callable[[Region], Runnable]
    region: Region
    made: dict[Types, Runnable] = field(default_factory=dict)

    def __call__(self, inputs: Sequence[object], context: RunContext) -> Sequence[object] | Pending:
        """Run the session for inputs of these types; raises FallbackRequired if there is none."""
        types = tuple(map(_known, self.region.inputs, inputs))
        run = self.made.get(types)
        if run is None:
            if len(self.made) >= _MOST_KEPT:
                self.made.clear()
            run = self.made[types] = self._prepared(types)
        return run(inputs, context)

    @property
    def traits(self) -> RunnableTraits:
        """All results are new arrays."""
        return RunnableTraits(returns_fresh_arrays=True)

    def _prepared(self, types: Types) -> Runnable:
        try:
            return self.prepare(_with_types(self.region, types))
        except Unsupported as refusal:
            raise FallbackRequired(RunError(refusal.why, self.region.path)) from refusal


def _known(value: Value, given: object) -> Type | None:
    """The type of a run-time input: the known one, else its element type and rank."""
    if isinstance(given, np.ndarray):
        return Tensor(dtype_of(given.dtype), (None,) * given.ndim)
    if isinstance(given, list) and given and isinstance(given[0], np.ndarray):
        return SequenceType(Tensor(dtype_of(given[0].dtype)))
    return value.type


def _with_types(region: Region, types: Types) -> Region:
    declared = {
        value: replace(value, declared=type_, inferred=None)
        for value, type_ in zip(region.inputs, types, strict=True)
    }
    steps = tuple(with_operands(step, declared) for step in region.steps)
    block = replace(region.block(), params=tuple(declared.values()), steps=steps)
    main = infer(Model(block)).main
    outputs = tuple(value for value in main.results if value is not None)
    return replace(
        region, inputs=main.params, steps=main.steps, outputs=outputs, constants=main.constants
    )
