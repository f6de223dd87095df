"""Prevents OpenVINO from folding a Loop of constants while it compiles the model.

OpenVINO folds a layer whose operands are all constant, and fails for control flow in the body of a
Loop (`m_pMemDesc->isDefined()`, measured on OpenVINO 2026.4.1). The condition of such a Loop is
made dependent on a Parameter: true or the parameter's value, which is always true.
"""

from __future__ import annotations

import numpy as np

from treadle.formats.openvino.write.control import Feeding
from treadle.formats.openvino.write.net_builder import BodyBuilder, Wire
from treadle.ir import Block, Branch, DType, Loop, Tensor

_BROADCAST = {"auto_broadcast": "numpy"}
_CONDITION = 1


def prevent_folding(draft: BodyBuilder, feeding: Feeding, body: Block) -> None:
    """Make the condition of such a Loop non-constant.

    A body without Parameters has none to depend on.
    """
    constant = all(wire.array is not None for wire in feeding.wires)
    nests = any(isinstance(step, Branch | Loop) for step in body.steps)
    if constant and nests and draft.parameters:
        feeding.wires[_CONDITION] = _hanging(draft, feeding.wires[_CONDITION])


def _hanging(draft: BodyBuilder, condition: Wire) -> Wire:
    """The condition, which is true, made dependent on a Parameter."""
    truth = Tensor(DType.BOOL, ())
    whole, front = draft.constant(np.array([-1])), draft.constant(np.array([0]))
    (flat,) = draft.layer(
        "Reshape-1",
        (draft.parameters[0], whole),
        (Tensor(draft.parameters[0].type.dtype, (None,)),),
        {"special_zero": False},
    )
    number = Tensor(DType.FLOAT32, (None,))
    (numbers,) = draft.layer("Convert-1", (flat,), (number,), {"destination_type": "f32"})
    (largest,) = draft.layer(
        "ReduceMax-1", (numbers, front), (Tensor(DType.FLOAT32, ()),), {"keep_dims": False}
    )
    zero = draft.constant(np.array(0, np.float32))
    (found,) = draft.layer("Greater-1", (largest, zero), (truth,), _BROADCAST)
    return draft.layer("LogicalOr-1", (condition, found), (condition.type,), _BROADCAST)[0]
