"""A prepared plan, which many threads can run at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from treadle import ops, passes
from treadle.boundary import is_callers
from treadle.errors import RunError
from treadle.execution.block import prepare_block_plan
from treadle.execution.named_call import call_by_name
from treadle.execution.ownership import owned, returns_fresh_arrays
from treadle.interp import Define, Executable
from treadle.ir import Block, Call, Function, Leaf, Type
from treadle.plan import BlockPlan, NamedCall, Plan, RunContext

Expand = Callable[[Leaf | Call, Sequence[Type | None]], Function | None]
"""Returns the function by which the standard defines a step, for operands of these types, or None.

Its params are one for each operand, absent ones included, then one for each capture.
"""


def prepare(plan: Plan | BlockPlan, expand: Expand | None = None) -> Program:
    """Prepare the plan: returns an implementation of `plan.Runnable` with its kernels bound.

    Raises Unsupported for an operator that has neither a kernel in `ops` nor a definition by
    `expand`.
    """
    main = plan.main if isinstance(plan, Plan) else plan
    has_kernels = any(region.runnable is None for region in main.regions)
    action = prepare_block_plan(main, None if expand is None else _bound(expand))
    is_fresh = returns_fresh_arrays(main)
    direct = call_by_name(main) if is_fresh else None
    checks = direct is not None and _checks_feeds(main)
    return Program(main.path, action, has_kernels, is_fresh, direct, checks)


def _checks_feeds(main: BlockPlan) -> bool:
    """Whether the call by name of the only region checks the types of all params."""
    region = main.regions[0]
    is_all = len(region.inputs) == len(main.block.params)
    return is_all and region.runnable is not None and region.runnable.traits.by_name_checks_feeds


def _bound(expand: Expand) -> Define:
    """The definitions, with the attributes of the step bound and only the results it takes."""

    def define(step: Leaf | Call, types: Sequence[Type | None]) -> Block | None:
        function = expand(step, types)
        if function is None:
            return None
        block = passes.bind_attributes(function, step.attributes)
        return replace(block, results=block.results[: len(step.results)])

    return define


@dataclass(frozen=True, slots=True)
class Program:
    """A prepared block, which may be run many times.

    No result shares memory with an input, a constant or another result, so the caller may write to
    it. `has_kernels`: numpy runs parts of it, with its warnings switched off.
    `returns_fresh_arrays`: one engine runs all of it and keeps this promise itself. `direct` then
    calls that engine with inputs by name, for runs without a listener, bounds or cancellation; it
    may raise FallbackRequired. `direct_checks_feeds`: it returns None for feeds of other types.
    """

    path: str
    action: Executable
    has_kernels: bool = True
    returns_fresh_arrays: bool = False
    direct: NamedCall | None = None
    direct_checks_feeds: bool = False

    def __call__(self, inputs: Sequence[object], context: RunContext) -> list[Any]:
        """One value per result, for one value per param."""
        try:
            return self._results(inputs, context)
        except MemoryError:
            pass  # release the values before formatting the message needs memory
        except RecursionError as error:
            if is_callers(error):
                raise
            reason = "bodies are nested deeper than Python's recursion limit allows"
            raise RunError(reason, self.path) from error
        raise RunError("there is not enough memory", self.path)

    def _results(self, inputs: Sequence[object], context: RunContext) -> list[Any]:
        if self.returns_fresh_arrays:
            results = self.action(inputs, context, ())
            return owned(results, inputs) if context.outputs_may_alias else list(results)
        if not self.has_kernels:
            return owned(self.action(inputs, context, ()), inputs)
        with ops.ignore_fp_warnings():
            return owned(self.action(inputs, context, ()), inputs)
