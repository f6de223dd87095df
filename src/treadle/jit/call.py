"""One call of a kernel: its slots filled, its results made before or taken over afterwards."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.errors import RunError
from treadle.jit.building import Declined
from treadle.jit.kernel_ir import Extent, Kernel, Node
from treadle.jit.machine import Machine
from treadle.plan import Refused, RunContext

if TYPE_CHECKING:
    from treadle.jit.emit import Code

_ALIGNED = 64
_FAILURES = {
    1: "an index is out of range",
    2: "there is not enough memory for a value",
    3: "the trip count is over the length of what is sliced",
    5: "the shapes of this run are not those the code was made for",
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

    @classmethod
    def of(
        cls, kernel: Kernel, code: Code, machine: Machine, trips: Mapping[Extent, int]
    ) -> Compiled:
        """With its slots sorted."""
        fixed = np.zeros(len(code.slots), np.int64)
        varying = []
        for number, slot in enumerate(code.slots):
            if slot.kind == "array":
                fixed[number] = address(slot.which)
            else:
                varying.append((number, slot.kind, slot.which))
        return cls(kernel, code, machine, trips, fixed.tobytes(), tuple(varying))


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
    finally:
        for (kind, _), number in outs.items():
            if kind == "grown" and slots[number]:
                _free(slots[number])


def _result(node: Node, lengths: Mapping[Extent, int]) -> np.ndarray | None:
    """The array a result is written into; None for one whose length nobody knows."""
    if node.is_static:
        return _empty(node, [e for e in node.shape if isinstance(e, int)])
    shape = [lengths.get(e, -1) if isinstance(e, Extent) else e for e in node.shape]
    return None if -1 in shape else _empty(node, shape)


def _empty(node: Node, shape: Sequence[int]) -> np.ndarray:
    try:
        return np.empty(shape, node.dtype.numpy)
    except (MemoryError, ValueError) as error:
        raise Declined("a result that does not fit into memory") from error


def _take_grown(
    compiled: Compiled, results: list[Any], slots: Any, outs: Mapping[tuple[str, Any], int]
) -> None:
    for number in compiled.code.grown:
        node = compiled.kernel.results[number]
        shape = [slots[outs["count", e]] if isinstance(e, Extent) else e for e in node.shape]
        result = _empty(node, shape)
        if result.nbytes:
            ctypes.memmove(address(result), slots[outs["grown", number]], result.nbytes)
        results[number] = result


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
