"""Carried values that the body transposes or widens at its end, and turns back where it reads them.

    s = transpose(f(transpose(t)))         carried as f(...), in the order that it is computed in
    s = float64(f(float32(t)))             carried as float32

The value that is carried needs no copy, and can be updated in place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from treadle.ir import DType
from treadle.jit.kernel.element_types import is_exact_in
from treadle.jit.kernel.ir import (
    Axis,
    CarriedArg,
    Constant,
    Elementwise,
    Loop,
    Node,
    View,
    op_of,
)
from treadle.jit.kernel.traversal import readers_of
from treadle.jit.schedule.carried_rewrite import CarriedForm, CarriedForms

_Readers = Mapping[Node, Sequence[Node]]


def turned_forms(loops: Sequence[Node], nodes: Sequence[Node]) -> CarriedForms:
    """The forms of such values in these loops of a kernel with these nodes."""
    found = {}
    readers: _Readers | None = None
    for loop in loops:
        op = op_of(loop, Loop)
        for state, after in zip(op.states, op.nexts, strict=True):
            is_cast = after.op == Elementwise("cast")
            is_turned = (
                isinstance(after.op, View) and state.is_static and state.shape == after.shape
            )
            if not (is_cast or is_turned) or isinstance(after.operands[0].op, CarriedArg):
                continue
            readers = readers_of(nodes) if readers is None else readers
            form = (_narrow if is_cast else _turned)(loop, state, after, readers)
            if form is not None:
                found[state] = form
    return found


def _turned(_: Node, state: Node, after: Node, readers: _Readers) -> CarriedForm | None:
    """The order of the axes in which the next value is computed, if all reads are in that order."""
    (given,) = after.operands
    kept = _axis_of_each(given, after)
    if kept is None or _in_order(kept):
        return None
    for reader in readers.get(state, ()):
        if not isinstance(reader.op, View) or not _in_order(_read_axes(reader, kept)):
            return None
    return CarriedForm((given.shape,), kept=kept)


def _axis_of_each(given: Node, after: Node) -> tuple[int | None, ...] | None:
    """The axis of the next value that each axis of the value it is a view of is; None: of one."""
    kept = list[int | None]()
    for extent, at in zip(given.shape, op_of(after, View).axes, strict=True):
        if extent == 1:
            kept.append(None)
        elif at.offset != 0 or len(at.terms) != 1 or at.terms[0][1] != 1:
            return None
        else:
            kept.append(at.terms[0][0])
    long = [axis for axis in kept if axis is not None]
    wanted = [axis for axis, extent in enumerate(after.shape) if extent != 1]
    are_alike = all(
        given.shape[k] == after.shape[axis] for k, axis in enumerate(kept) if axis is not None
    )
    return tuple(kept) if sorted(long) == wanted and are_alike else None


def _read_axes(reader: Node, kept: Sequence[int | None]) -> list[int | None]:
    """The axis of a reader that runs along each axis of the value in its new order."""
    axes = op_of(reader, View).axes
    runs = (Axis() if axis is None else axes[axis] for axis in kept)
    return [at.terms[0][0] if at.terms else None for at in runs]


def _in_order(axes: Sequence[int | None]) -> bool:
    found = [axis for axis in axes if axis is not None]
    return found == sorted(found)


def _narrow(loop: Node, state: Node, after: Node, readers: _Readers) -> CarriedForm | None:
    """The type in which the next value is computed, if what is carried first has it too."""
    narrow = after.operands[0].dtype
    if narrow is DType.BOOL or not is_exact_in(narrow, state.dtype):
        return None
    op = op_of(loop, Loop)
    number = op_of(state, CarriedArg).number
    same = tuple(range(len(state.shape)))
    if _is_exact(loop.operands[op.heads + number], narrow):
        return CarriedForm((state.shape,), kept=same, dtype=narrow)
    are_casts = all(
        each.op == Elementwise("cast") and each.dtype is narrow for each in readers.get(state, ())
    )
    if not are_casts or op.extent is None or not state.is_static:
        return None
    return CarriedForm((state.shape,), kept=same, dtype=narrow, begins_wider=True)


def _is_exact(initial: Node, narrow: DType) -> bool:
    """Whether the elements certainly are numbers of a narrower type."""
    if isinstance(initial.op, Constant):
        array = initial.op.array
        with np.errstate(all="ignore"):
            back = array.astype(narrow.numpy).astype(array.dtype)
        return back.tobytes() == array.tobytes()
    if isinstance(initial.op, View):
        return _is_exact(initial.operands[0], narrow)
    return initial.op == Elementwise("cast") and initial.operands[0].dtype is narrow
