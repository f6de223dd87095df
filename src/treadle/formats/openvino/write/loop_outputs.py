"""The layers after a loop: stacks cut to the computed rows, and initial values."""

from __future__ import annotations

import numpy as np

from treadle.formats.openvino.records import PortEntry
from treadle.formats.openvino.write.control import Feeding, Inside, control_layer
from treadle.formats.openvino.write.encoding import word_of
from treadle.formats.openvino.write.net_builder import BodyBuilder, Wire, copy
from treadle.formats.openvino.write.scope import Scope
from treadle.ir import DType, StackedPort, Tensor

_SIDES = ("then_", "else_")
_BROADCAST = {"auto_broadcast": "numpy"}
_WHOLE = Tensor(DType.INT64, ())
_FIRST = -(2**31) + 1


def cut(draft: BodyBuilder, wire: Wire, count: Wire, port: StackedPort) -> Wire:
    """Cut a stack to its computed rows; it may hold rows of an earlier run."""
    zero, one = (draft.constant(np.array([k])) for k in (0, 1))
    return _sliced(draft, wire, port, zero, count, one)


def turned_over(draft: BodyBuilder, wire: Wire, port: StackedPort) -> Wire:
    """Reverse the rows."""
    bounds = (draft.constant(np.array([k])) for k in (-1, _FIRST, -1))
    return _sliced(draft, wire, port, *bounds)


def _sliced(draft: BodyBuilder, wire: Wire, port: StackedPort, *bounds: Wire) -> Wire:
    rank = len(wire.type.shape or ())
    along = draft.constant(np.array([port.role.axis % rank if rank else port.role.axis]))
    draft.origin = f"{port.result.name if port.result else ''}/rows"
    return draft.layer("Slice-8", (wire, *bounds, along), (wire.type,))[0]


def hung_on(draft: BodyBuilder, wire: Wire, unread: Wire) -> Wire:
    """Add a zero computed from another value's size, so that OpenVINO keeps the other value."""
    dtype = wire.type.dtype
    draft.origin = "kept"
    rank = None if unread.type.shape is None else len(unread.type.shape)
    (shape,) = draft.layer(
        "ShapeOf-3", (unread,), (Tensor(DType.INT64, (rank,)),), {"output_type": "i64"}
    )
    front, zero = draft.constant(np.zeros(1, np.int64)), draft.constant(np.array(0))
    (size,) = draft.layer("ReduceProd-1", (shape, front), (_WHOLE,), {"keep_dims": False})
    if dtype is DType.BOOL:
        (never,) = draft.layer("Less-1", (size, zero), (Tensor(DType.BOOL, ()),), _BROADCAST)
        return draft.layer("LogicalXor-1", (wire, never), (wire.type,), _BROADCAST)[0]
    (nothing,) = draft.layer("Minimum-1", (size, zero), (_WHOLE,), _BROADCAST)
    data = {"destination_type": word_of(dtype)}
    (nothing,) = draft.layer("Convert-1", (nothing,), (Tensor(dtype, ()),), data)
    return draft.layer("Subtract-1", (wire, nothing), (wire.type,), _BROADCAST)[0]


def last_or_first(scope: Scope, last: Wire, first: Wire, count: Wire, name: str) -> Wire:
    """The last value if there was an iteration, else the initial one."""
    draft = scope.draft
    draft.origin = f"{name}/any"
    data = {"auto_broadcast": "numpy"}
    zero = draft.constant(np.zeros(1, np.int64))
    (ran,) = draft.layer("Greater-1", (count, zero), (Tensor(DType.BOOL, (1,)),), data)
    feeding = Feeding([ran])
    insides = {}
    for side, wire in zip(_SIDES, (last, first), strict=True):
        inside = insides[side] = Inside(scope.inner(), feeding)
        param = inside.feed(wire, f"{side}value", wire.type)
        inside.scope.draft.origin = f"{side}value/copy"
        (given,) = copy(inside.scope.draft, param)
        inside.outputs.append(PortEntry(0, inside.scope.draft.result(given, "")))
    draft.origin = f"{name}/last"
    return control_layer(draft, "If-8", feeding, (last.type,), insides)[0]
