"""Decides whether a call waits for its code, where code is compiled in the background.

It waits if onnxruntime is expected to take longer for the call than compiling does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from treadle import ops
from treadle.ir import Leaf, Loop, Step, Tensor, Value, bodies, ports
from treadle.jit.kernel import costs
from treadle.jit.policy.profitability import saved_per_iteration
from treadle.plan import Region

_MOST_TRIPS = 2**31 - 1
"""From here on a trip count means a loop that only its condition ends."""


def pays_to_wait(region: Region, arrays: Sequence[np.ndarray]) -> bool:
    """Whether onnxruntime is expected to work longer on these inputs than compiling takes."""
    given = dict(zip(region.inputs, arrays, strict=True)) | dict(_constants(region))
    loops = [step for step in region.steps if isinstance(step, Loop)]
    work = sum(_trips(loop, given) * _iteration_ns(loop) for loop in loops)
    return work > costs.COMPILING + costs.COMPILING_STEP * sum(1 for _ in _steps(region.steps))


def _steps(steps: Sequence[Step]) -> Iterator[Step]:
    for step in steps:
        yield step
        for _, body in bodies(step):
            yield from _steps(body.steps)


def _constants(region: Region) -> Iterator[tuple[Value, np.ndarray]]:
    """The tensors known before the run."""
    for constant in region.constants:
        yield constant.value, constant.array
    for step in region.steps:
        if isinstance(step, Leaf) and step.op == "Constant" and step.results[0] is not None:
            found = ops.bind_kernel(step)(())[0]
            if isinstance(found, np.ndarray):
                yield step.results[0], found


def _trips(loop: Loop, given: dict[Value, np.ndarray]) -> int:
    """The trip count, or the length of what is sliced, if the inputs tell it."""
    count = None if loop.trip is None else given.get(loop.trip)
    if count is not None and count.size == 1 and count.dtype.kind == "i":
        trips = max(int(count.item()), 0)
        return costs.ASSUMED_TRIPS if trips >= _MOST_TRIPS else trips
    for port in ports(loop).sliced:
        array = None if port.operand is None else given.get(port.operand)
        if array is not None and -array.ndim <= port.role.axis < array.ndim:
            return int(array.shape[port.role.axis])
    return costs.ASSUMED_TRIPS


def _iteration_ns(loop: Loop) -> float:
    """What onnxruntime spends on an iteration: its overhead, and the elements of known shapes."""
    sizes = (_size(value) for step in _steps(loop.body.steps) for value in _results(step))
    return saved_per_iteration(loop) + costs.OTHER_ELEMENT * sum(sizes)


def _results(step: Step) -> Sequence[Value | None]:
    return step.results if isinstance(step, Leaf) else ()


def _size(value: Value | None) -> int:
    type_ = None if value is None else value.type
    if not isinstance(type_, Tensor) or type_.shape is None:
        return 0
    extents = [dim if isinstance(dim, int) else 1 for dim in type_.shape]
    return int(np.prod(extents, dtype=np.int64))
