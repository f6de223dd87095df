"""The storage of the values that a loop carries from one iteration to the next.

registers        one LLVM value for each element
window           a shift register: a window over its history, which is in memory before the loop
grows            an array that gains rows at its end, in memory with spare rows
resizable        an array of other changing extents: reallocated in each iteration
sliding window   an array from which rows leave at one end while others enter at the other
double buffer    an array whose next value reads other elements than the one it replaces
buffer           any other array: updated in place if its old value is not read any more when
                 the next one is written, else copied
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from treadle.jit.kernel.ir import (
    Concat,
    DimOf,
    Elementwise,
    Loop,
    Node,
    SymbolicDim,
)
from treadle.jit.schedule.access import composed, identity
from treadle.jit.schedule.layouts.sliding_windows import SlidingWindow, sliding_window_of
from treadle.jit.schedule.layouts.windows import Window, window_of
from treadle.jit.schedule.op_accesses import accesses_of
from treadle.jit.schedule.storage import Storage, StorageMap

_MIN_DOUBLE_BUFFER_BYTES = 4096
"""The least size in bytes: smaller values are copied faster than a function is called."""
_FIRST_ROWS = 16
"""The least rows for which an array that gains rows has room once it grows."""


@dataclass(frozen=True, slots=True)
class Registers:
    """One LLVM value for each element."""


@dataclass(frozen=True, slots=True)
class Resizable:
    """An array that changes its extents along `axes`; `appended`: it gains rows along this one.

    Its memory then has room for at least `rows`, and doubles when it is full.
    """

    axes: tuple[int, ...]
    appended: int | None = None
    rows: int = 0


@dataclass(frozen=True, slots=True)
class DoubleBuffer:
    """An array in two buffers that are swapped."""


@dataclass(frozen=True, slots=True)
class SingleBuffer:
    """An array in one buffer."""


CarriedStorage = Registers | Window | SlidingWindow | Resizable | DoubleBuffer | SingleBuffer


def carried_storage(loop: Loop, storage: StorageMap) -> tuple[CarriedStorage, ...]:
    """The storage of each carried value, if the loop runs as a whole."""
    return tuple(_storage(loop, number, storage) for number in range(len(loop.states)))


def replaced_arrays(
    loop: Loop, storage: StorageMap, carried: Sequence[CarriedStorage]
) -> dict[Node, Node]:
    """The carried array in one buffer that each next value replaces, if a nest computes it."""
    return {
        after: state
        for state, after, kept in zip(loop.states, loop.nexts, carried, strict=True)
        if storage.storage_of[after] is Storage.NEST
        and isinstance(kept, SingleBuffer)
        and after.home is loop.body
        and loop.nexts.count(after) == 1
    }


def in_one_buffer(found: tuple[CarriedStorage, ...]) -> tuple[CarriedStorage, ...]:
    """The storage in a loop that runs for one tile at a time."""
    moving = DoubleBuffer | SlidingWindow
    return tuple(SingleBuffer() if isinstance(s, moving) else s for s in found)


def show_storage(storage: CarriedStorage) -> str:
    """A storage in words."""
    match storage:
        case Window(is_forward=is_forward, axis=axis):
            along = f" along axis {axis}" if axis else ""
            return f"window{along}, rows enter at its {'end' if is_forward else 'start'}"
        case SlidingWindow(axis, rows, spare, is_forward):
            end = "end" if is_forward else "start"
            enters = f"{rows} rows enter" if rows > 1 else "a row enters"
            return f"sliding window along axis {axis}, {enters} at its {end}, {spare} spare rows"
        case Resizable(_, None):
            return "resizable"
        case Resizable(_, axis, rows):
            return f"grows along axis {axis}, with room for {rows} rows at least"
    return _WORDS[type(storage)]


_WORDS: Mapping[type, str] = {
    Registers: "registers",
    DoubleBuffer: "double buffer",
    SingleBuffer: "buffer",
}


def _storage(loop: Loop, number: int, storage: StorageMap) -> CarriedStorage:
    state = loop.states[number]
    window = window_of(loop, number)
    if window is not None:
        return window
    axes = changing_axes(state, number)
    if axes:
        appended = _appended_axis(loop, number, axes)
        return Resizable(axes, appended, 0 if appended is None else _FIRST_ROWS)
    if storage.storage_of[state] is Storage.REGISTERS:
        return Registers()
    sliding = sliding_window_of(loop, number)
    if sliding is not None and storage.storage_of[loop.nexts[number]] is Storage.BUFFER:
        return sliding
    is_double = _is_double_buffered(loop, number, storage)
    return DoubleBuffer() if is_double else SingleBuffer()


def changing_axes(state: Node, number: int) -> tuple[int, ...]:
    """The axes of a carried value along which its extent changes."""
    sources = [each.source if isinstance(each, SymbolicDim) else None for each in state.shape]
    return tuple(
        axis
        for axis, source in enumerate(sources)
        if source is not None and source.home is state.home and source.op == DimOf(number, axis)
    )


def _appended_axis(loop: Loop, number: int, axes: tuple[int, ...]) -> int | None:
    """The axis along which the next value is the old one plus appended rows."""
    state, after = loop.states[number], loop.nexts[number]
    if not isinstance(after.op, Concat) or after.home is not loop.body:
        return None
    is_alone = loop.nexts.count(after) == 1 and after.operands.count(state) == 1
    is_append = after.operands[0] is state and set(axes) == {after.op.axis}
    return after.op.axis if is_alone and is_append else None


def _is_double_buffered(loop: Loop, number: int, storage: StorageMap) -> bool:
    state, after = loop.states[number], loop.nexts[number]
    if not state.is_static or state.size * state.dtype.numpy.itemsize < _MIN_DOUBLE_BUFFER_BYTES:
        return False
    if after.home is not loop.body or loop.nexts.count(after) > 1:
        return False
    storage_of = storage.storage_of
    if isinstance(after.op, Concat):
        return storage_of[after] is Storage.BUFFER
    if storage_of[after] is not Storage.NEST:
        return False
    nexts = [n for n in loop.nexts if n.shape == after.shape and storage_of[n] is Storage.NEST]
    return any(_nest_reads_elsewhere(each, state, storage) for each in nexts)


def _nest_reads_elsewhere(after: Node, state: Node, storage: StorageMap) -> bool:
    """Whether the nest of a next value reads elements of the state at other indices than its own.

    What is computed earlier than the nest is read from its own memory.
    """
    start = identity(len(after.shape))
    waiting, seen = [(after, start)], {(after, start)}
    while waiting:
        node, access = waiting.pop()
        for operand, step in zip(node.operands, accesses_of(node), strict=True):
            read = operand, composed(access, step)
            is_own_index = read[1] == start and operand.shape == after.shape
            if operand is state and not is_own_index:
                return True
            if read not in seen and _is_in_nest(operand, state, is_own_index, storage):
                seen.add(read)
                waiting.append(read)
    return False


def _is_in_nest(node: Node, state: Node, is_own_index: bool, storage: StorageMap) -> bool:
    """Whether a value is computed in the nest that reads it, with no earlier use."""
    if node.home is not state.home:
        return False
    storage_class = storage.storage_of[node]
    if storage_class is not Storage.NEST or not is_own_index:
        return storage_class is Storage.INLINE
    return all(
        r.home is not node.home or (isinstance(r.op, Elementwise) and r.shape == node.shape)
        for r in storage.readers.get(node, ())
    )
