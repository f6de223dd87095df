"""Products of uint8 by int8, whose sums onnxruntime saturates on machines without VNNI.

Measured on onnxruntime 1.32, AVX2: pairs of products are added in 16 bits, so that
255 * 127 + 255 * 127 is 32,767. Products of uint8 by uint8 are right there, and as fast; of int8 by
int8 they are right, and 30 times slower. The exported model has the second factor as uint8, 128
more, with a zero point that is 128 more.

onnxruntime makes such products itself, of MatMul and Conv beside DequantizeLinear. Those of a
graph's own constants are right with the entry `EXACT_BYTES` of a session; outer constants that a
body reads are uint8.

Whether this machine saturates is asked of onnxruntime, once a process.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np

from treadle.delegate.export_scope import ExportScope
from treadle.ir import DType, Leaf, Operands, Tensor, Value

EXACT_BYTES: Mapping[str, str] = {"session.x64quantprecision": "1"}
"""Constants of int8 in products with uint8 become uint8 where the machine saturates."""
_INT32, _UINT8 = 6, 2
_MIDDLE = 128
_SCALE = 1
_UNSIGNED: Mapping[str, tuple[int, int]] = {
    "DequantizeLinear": (0, 2),
    "MatMulInteger": (1, 3),
    "QLinearConv": (3, 5),
    "QLinearMatMul": (3, 5),
}
"""The positions of the factor that becomes uint8, and of its zero point."""


def with_unsigned_bytes(draft: ExportScope, step: Leaf, operands: Operands) -> Operands:
    """The operands of a product of uint8 by int8, the second factor as uint8; others unchanged."""
    if step.domain or not _is_concerned(draft, step, operands) or not saturates():
        return operands
    factor, zero = _UNSIGNED[step.op]
    made = [*operands, None, None][: max(len(operands), zero + 1)]
    given, origin = made[factor], made[zero]
    assert given is not None
    shape: tuple[int, ...] = ()
    if step.op == "DequantizeLinear":
        scale = made[_SCALE]
        known = None if scale is None else draft.known(scale)
        if known is None:
            return operands
        shape = known.shape
    middle = np.full(shape, _MIDDLE, np.uint8)
    made[factor] = _moved(draft, given)
    made[zero] = draft.array(middle, DType.UINT8) if origin is None else _moved(draft, origin)
    return tuple(made)


def _is_concerned(draft: ExportScope, step: Leaf, operands: Operands) -> bool:
    """Whether a step is such a product, or in a body makes a factor of one of an outer constant."""
    if step.op not in _UNSIGNED:
        return False
    factor = _UNSIGNED[step.op][0]
    if _dtype(step, factor) is not DType.INT8:
        return False
    if step.op != "DequantizeLinear":
        return _dtype(step, 0) is DType.UINT8
    (given, *_) = operands
    assert given is not None
    is_own = any(constant.value.name == given.name for constant in draft.constants)
    return draft.known(given) is not None and not is_own


def _dtype(step: Leaf, position: int) -> DType | None:
    value = step.operands[position]
    type_ = value.type if value is not None else None
    return type_.dtype if isinstance(type_, Tensor) else None


def _moved(draft: ExportScope, value: Value) -> Value:
    """Bytes that are 128 more, as uint8."""
    known = draft.known(value)
    if known is not None:
        return draft.array(known.view(np.uint8) ^ np.uint8(_MIDDLE), DType.UINT8)
    wide = draft.leaf("Cast", value, to=_INT32)
    more = draft.leaf("Add", wide, draft.array(np.int32(_MIDDLE), DType.INT32))
    return draft.leaf("Cast", more, to=_UINT8)


@cache
def saturates() -> bool:
    """Whether onnxruntime saturates sums of products of uint8 by int8 on this machine."""
    import onnxruntime
    from onnx import TensorProto, helper

    tensor = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["a", "b"], ["y"])],
        "product",
        [tensor("a", TensorProto.UINT8, [1, 8]), tensor("b", TensorProto.INT8, [8, 16])],
        [tensor("y", TensorProto.INT32, [1, 16])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, ["CPUExecutionProvider"]
    )
    feeds = {"a": np.full((1, 8), 255, np.uint8), "b": np.full((8, 16), 127, np.int8)}
    (found,) = session.run(None, feeds)
    return bool((found != 8 * 255 * 127).any())
