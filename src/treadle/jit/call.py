"""One call of a kernel: its slots filled, its results made before or taken over afterwards."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.errors import KernelError, RunError
from treadle.jit.building import Declined
from treadle.jit.kernel_ir import Extent, Kernel, Node
from treadle.jit.machine import Machine
from treadle.jit.outside import outside
from treadle.plan import Refused, RunContext

if TYPE_CHECKING:
    from treadle.jit.emit import Code

_ALIGNED = 64
_FAILURES = {
    1: "an index is out of range",
    2: "there is not enough memory for a stacked result",
    3: "the trip count is over the length of what is sliced",
}


@dataclass(frozen=True, eq=False, slots=True)
class Compiled:
    """A kernel as machine code.

    `trips` are the inputs open extents are found in; `template` holds the slots that never change,
    `varying` the others: (number, kind, which).
    """

    kernel: Kernel
    code: Code
    machine: Machine
    trips: Mapping[Extent, int]
    template: bytes
    varying: tuple[tuple[int, str, Any], ...]
    escapes: tuple[Callable[[int], None], ...] = ()

    @classmethod
    def of(
        cls, kernel: Kernel, code: Code, machine: Machine, trips: Mapping[Extent, int]
    ) -> Compiled:
        """With its slots sorted."""
        fixed = np.zeros(len(code.slots), np.int64)
        varying = []
        escapes = []
        for number, slot in enumerate(code.slots):
            if slot.kind == "array":
                fixed[number] = address(slot.which)
            elif slot.kind == "escape":
                escapes.append(outside(slot.which))
                fixed[number] = id(escapes[-1])
            else:
                varying.append((number, slot.kind, slot.which))
        made = fixed.tobytes(), tuple(varying), tuple(escapes)
        return cls(kernel, code, machine, trips, *made)


def run(
    compiled: Compiled,
    arrays: Sequence[np.ndarray],
    lengths: Mapping[Extent, int],
    context: RunContext,
    path: str,
) -> list[Any]:
    """The results for these arrays, row-major ones; `lengths` are those of the axes left open.

    Raises Refused where the kernel fails, Declined where it has no way to give these results.
    """
    if compiled.trips:
        counts = {e: max(int(arrays[k].item()), 0) for e, k in compiled.trips.items()}
        lengths = {**lengths, **counts}
    results = [_result(node, lengths) for node in compiled.kernel.results]
    workspace = np.empty(compiled.code.workspace + _ALIGNED, np.uint8)

    def poll() -> None:
        context.poll(path)

    slots = (ctypes.c_int64 * len(compiled.code.slots)).from_buffer_copy(compiled.template)
    outs: dict[tuple[str, Any], int] = {}
    for number, kind, which in compiled.varying:
        match kind:
            case "given":
                slots[number] = address(arrays[which])
            case "result":
                slots[number] = address(results[which])
            case "extent":
                slots[number] = lengths[which]
            case "poll":
                slots[number] = id(poll)
            case "workspace":
                slots[number] = -(-address(workspace) // _ALIGNED) * _ALIGNED
            case _:
                outs[kind, which] = number
    _call(compiled, results, slots, outs, path)
    return results


def _call(
    compiled: Compiled,
    results: list[Any],
    slots: Any,
    outs: Mapping[tuple[str, Any], int],
    path: str,
) -> None:
    try:
        status = compiled.machine.call(ctypes.addressof(slots))
        if status:
            raise Refused(RunError(_FAILURES[status], path))
        _take_grown(compiled, results, slots, outs)
    except KernelError as error:
        raise Refused(RunError(str(error), path)) from error
    finally:
        for (kind, _), number in outs.items():
            if kind == "grown" and slots[number]:
                _free(slots[number])


def _result(node: Node, lengths: Mapping[Extent, int]) -> np.ndarray | None:
    """The array a result is written into; None for one whose length nobody knows."""
    if node.is_static:
        return _empty(node, [e for e in node.shape if isinstance(e, int)])
    shape = [lengths.get(e, -1) if isinstance(e, Extent) else e for e in node.shape]
    if -1 in shape:
        return None
    if 0 in shape:
        raise Declined("a stacked result of no iterations")
    return _empty(node, shape)


def _empty(node: Node, shape: Sequence[int]) -> np.ndarray:
    try:
        return np.empty(shape, node.dtype.numpy)
    except (MemoryError, ValueError) as error:
        raise Declined("a result that does not fit into memory") from error


def _take_grown(
    compiled: Compiled, results: list[Any], slots: Any, outs: Mapping[tuple[str, Any], int]
) -> None:
    for number, node in enumerate(compiled.kernel.results):
        if node in compiled.code.grown:
            results[number] = _grown(node, slots, outs)


def _grown(node: Node, slots: Any, outs: Mapping[tuple[str, Any], int]) -> np.ndarray:
    axis = next(k for k, extent in enumerate(node.shape) if isinstance(extent, Extent))
    count = slots[outs["count", node.shape[axis]]]
    if not count:
        raise Declined("a stacked result of no iterations")
    result = _empty(node, [count, *(e for e in node.shape if isinstance(e, int))])
    if result.nbytes:
        ctypes.memmove(address(result), slots[outs["grown", node]], result.nbytes)
    return np.ascontiguousarray(np.moveaxis(result, 0, axis)) if axis else result


def address(array: Any) -> int:
    """Where the elements of an array are."""
    found: int = array.__array_interface__["data"][0]
    return found


@cache
def _library() -> Any:
    library = ctypes.CDLL(None)
    library.free.argtypes = [ctypes.c_void_p]
    library.free.restype = None
    return library


def _free(place: int) -> None:
    _library().free(place)
