"""A region made ready: a kernel for every signature seen, and how a call of one goes."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treadle.errors import RunError
from treadle.jit import emit, machine
from treadle.jit.building import Declined
from treadle.jit.kernel_ir import Extent, Kernel, Node, Part, extents
from treadle.jit.specialise import (
    Known,
    Lengths,
    Signature,
    conditions,
    signature,
    specialise,
    trips,
)
from treadle.plan import Refused, Region, RunContext

_FAILURES = {
    1: "an index is out of range",
    2: "there is not enough memory for a stacked result",
    3: "the trip count is over the length of what is sliced",
}


@dataclass(frozen=True, eq=False, slots=True)
class Compiled:
    """A kernel as machine code, and the inputs its open extents are found in."""

    kernel: Kernel
    code: emit.Code
    machine: machine.Machine
    trips: dict[Extent, int]


@dataclass(eq=False, slots=True)
class Native:
    """The Runnable of a region."""

    region: Region
    lengths: Lengths
    holding: frozenset[int] = frozenset()
    known: Known = field(default_factory=dict)
    made: dict[Signature, Compiled | str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, inputs: Sequence[object], context: RunContext) -> Sequence[object]:
        """Run it; Refused where there is no kernel for this data, or the kernel failed."""
        try:
            key = signature(inputs, self.lengths)
            if not all(np.all(inputs[position]) for position in self.holding):
                raise Declined("a loop whose condition is false from the start")
        except Declined as why:
            raise self._refused(str(why)) from why
        found = self.made.get(key)
        if found is None:
            found = self._compiled(key)
        if isinstance(found, str):
            raise self._refused(found)
        return self._run(found, inputs, context)

    def _compiled(self, key: Signature) -> Compiled | str:
        with self._lock:
            if key not in self.made:
                try:
                    self.made[key] = compile_region(self.region, key, self.lengths, self.known)
                except Declined as why:
                    self.made[key] = str(why)
            return self.made[key]

    def _refused(self, why: str) -> Refused:
        return Refused(RunError(f"the native engine has no code for it: {why}", self.region.path))

    def _run(
        self, found: Compiled, inputs: Sequence[Any], context: RunContext
    ) -> Sequence[object]:
        arrays = [np.ascontiguousarray(array) for array in inputs]
        lengths = self._lengths(found, arrays)
        results = [self._result(node, lengths) for node in found.kernel.results]
        slots = (ctypes.c_int64 * len(found.code.slots))()
        kept: list[Any] = [arrays]
        outs: dict[tuple[str, Any], int] = {}
        for number, slot in enumerate(found.code.slots):
            match slot.kind:
                case "given":
                    slots[number] = _address(arrays[slot.which])
                case "extent":
                    slots[number] = lengths[slot.which]
                case "result":
                    slots[number] = _address(results[slot.which])
                case "array":
                    slots[number] = _address(slot.which)
                case "workspace":
                    kept.append(np.empty(found.code.workspace + 64, np.uint8))
                    slots[number] = -(-_address(kept[-1]) // 64) * 64
                case "poll":
                    kept.append(_poll(context, self.region.path))
                    slots[number] = id(kept[-1])
                case kind:
                    outs[kind, slot.which] = number
        try:
            status = found.machine.call(ctypes.addressof(slots))
            if status:
                raise Refused(RunError(_FAILURES[status], self.region.path))
            for number, node in enumerate(found.kernel.results):
                if node in found.code.grown:
                    results[number] = self._grown(node, slots, outs)
        finally:
            for (kind, _), number in outs.items():
                if kind == "grown" and slots[number]:
                    _free(slots[number])
        del kept
        return results

    def _lengths(self, found: Compiled, arrays: Sequence[np.ndarray]) -> dict[Extent, int]:
        lengths: dict[Extent, int] = {}
        for (position, axis), extent in self.lengths.open.items():
            length = arrays[position].shape[axis]
            if lengths.setdefault(extent, length) != length:
                raise self._refused("sliced values of several lengths")
        for extent, position in found.trips.items():
            lengths[extent] = max(int(arrays[position].item()), 0)
        return lengths

    def _result(self, node: Node, lengths: dict[Extent, int]) -> np.ndarray | None:
        shape = [lengths.get(e, -1) if isinstance(e, Extent) else e for e in node.shape]
        if -1 in shape:
            return None
        if not node.is_static and 0 in shape:
            raise self._refused("a stacked result of no iterations")
        try:
            return np.empty(shape, node.dtype.numpy)
        except (MemoryError, ValueError) as error:
            raise self._refused("a result that does not fit into memory") from error

    def _grown(self, node: Node, slots: Any, outs: dict[tuple[str, Any], int]) -> np.ndarray:
        axis = next(k for k, e in enumerate(node.shape) if isinstance(e, Extent))
        extent = node.shape[axis]
        count = slots[outs["count", extent]]
        if not count:
            raise self._refused("a stacked result of no iterations")
        rest = tuple(e for e in node.shape if isinstance(e, int))
        result = np.empty((count, *rest), node.dtype.numpy)
        if result.nbytes:
            ctypes.memmove(_address(result), slots[outs["grown", node]], result.nbytes)
        return np.ascontiguousarray(np.moveaxis(result, 0, axis)) if axis else result


def compile_region(region: Region, key: Signature, lengths: Lengths, known: Known) -> Compiled:
    """The kernel of a region for a signature, as machine code."""
    kernel = specialise(region, key, lengths, known)
    found = trips(kernel)
    code = emit.emit_kernel(kernel, {*lengths.open.values(), *found})
    return Compiled(kernel, code, machine.compiled(code.text), found)


def _address(array: Any) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _poll(context: RunContext, path: str) -> Callable[[], None]:
    return lambda: context.poll(path)


def _free(address: int) -> None:
    _libc().free(ctypes.c_void_p(address))


def _libc() -> Any:
    return ctypes.CDLL(None)


__all__ = ["Compiled", "Native", "Part", "compile_region", "extents"]
