"""The engine: a plan becomes something that runs, by many threads at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from treadle import ops
from treadle.errors import RunError
from treadle.interp.block import prepare_block
from treadle.interp.executable import Executable, Expand
from treadle.ir import Value
from treadle.plan import (
    BlockPlan,
    NamedCall,
    Plan,
    ReturnsFreshArrays,
    RunContext,
    SupportsNamedInputs,
)


def prepare(plan: Plan | BlockPlan, expand: Expand | None = None) -> Program:
    """The plan ready to run: an implementation of `plan.Runnable`, kernels bound once.

    `expand` gives the function the standard defines an operator by. Raises Unsupported for an
    operator that has neither a kernel here nor such a definition.
    """
    main = plan.main if isinstance(plan, Plan) else plan
    has_kernels = any(region.runnable is None for region in main.regions)
    action, gives_own = prepare_block(main, expand), _gives_own(main)
    return Program(main.path, action, has_kernels, gives_own, _direct(main) if gives_own else None)


def _direct(main: BlockPlan) -> NamedCall | None:
    """A call of the one region by the names of the params, where that is all there is to do."""
    region, block = main.regions[0], main.block
    is_all = {*region.inputs} <= {*block.params} and {*region.outputs} >= {*block.results}
    runnable = region.runnable if is_all else None
    if not isinstance(runnable, SupportsNamedInputs):
        return None
    names = [value.name for value in region.inputs]
    call = runnable.direct(names)
    if call is not None and len(names) < len(block.params):
        call = partial(_with_some, call, names)
    if call is not None and region.outputs != block.results:
        made: list[Value | None] = [*region.outputs]
        call = partial(_in_order, call, [made.index(result) for result in block.results])
    return call


def _with_some(call: NamedCall, names: Sequence[str], feed: dict[str, object]) -> list[Any]:
    return call({name: feed[name] for name in names})


def _in_order(call: NamedCall, places: Sequence[int], feed: dict[str, object]) -> list[Any]:
    made = call(feed)
    return [made[place] for place in places]


def _gives_own(main: BlockPlan) -> bool:
    """Whether all that comes out is a region's, once each, in memory that nobody else has."""
    results = main.block.results
    runnable = main.regions[0].runnable if len(main.regions) == 1 else None
    if (
        runnable is None
        or not isinstance(runnable, ReturnsFreshArrays)
        or not runnable.returns_fresh_arrays
    ):
        return False
    return len({*results}) == len(results) and {*results} <= {*main.regions[0].outputs}


@dataclass(frozen=True, slots=True)
class Program:
    """A block that is ready, with what holds at the outer border of a run.

    No array that comes out shares memory with one that went in, a constant, or another that comes
    out: whoever gets it may write to it. `has_kernels`: numpy runs some of it, whose warnings are
    off meanwhile. `gives_own`: an engine runs all of it, and sees to that itself.
    `direct` then asks it by the params' names, where it can: for runs that nobody listens to,
    bounds or may stop; may raise Refused.
    """

    path: str
    action: Executable
    has_kernels: bool = True
    returns_fresh_arrays: bool = False
    direct: NamedCall | None = None

    def __call__(self, inputs: Sequence[object], context: RunContext) -> list[Any]:
        """One value per result, for one value per param."""
        try:
            return self._results(inputs, context)
        except MemoryError:
            pass  # what it held is let go before the message needs memory
        except RecursionError as error:
            reason = "bodies are nested deeper than Python's recursion limit allows"
            raise RunError(reason, self.path) from error
        raise RunError("there is not enough memory", self.path)

    def _results(self, inputs: Sequence[object], context: RunContext) -> list[Any]:
        if self.returns_fresh_arrays:
            results = self.action(inputs, context, ())
            return _owned(results, inputs) if context.outputs_may_alias else list(results)
        if not self.has_kernels:
            return _owned(self.action(inputs, context, ()), inputs)
        with ops.ignore_fp_warnings():
            return _owned(self.action(inputs, context, ()), inputs)


def _owned(results: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    taken = {id(_owner(array)) for array in _arrays(inputs)}
    return [_own(result, taken) for result in results]


def _own(value: Any, taken: set[int]) -> Any:
    """The value, or a copy of it where something else may write to its memory."""
    if isinstance(value, list):
        return [_own(item, taken) for item in value]
    if not isinstance(value, np.ndarray):
        return value
    owner = value if value.base is None else _owner(value)
    if id(owner) in taken or not value.flags.writeable:
        return value.copy()
    taken.add(id(owner))
    return value


def _owner(array: Any) -> Any:
    """What the memory of the array belongs to."""
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


def _arrays(values: Sequence[Any]) -> list[np.ndarray]:
    """The arrays among the values, those inside lists included."""
    found: list[np.ndarray] = []
    for value in values:
        if isinstance(value, np.ndarray):
            found.append(value)
        elif isinstance(value, list):
            found += _arrays(value)
    return found
