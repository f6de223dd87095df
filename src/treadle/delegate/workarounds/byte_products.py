"""Products of uint8 by int8, whose sums onnxruntime saturates on machines without VNNI.

Measured on onnxruntime 1.32, AVX2: pairs of products are added in 16 bits, so that
255 * 127 + 255 * 127 is 32,767. Products of uint8 by uint8 are right there, and as fast; of int8 by
int8 they are right, and 30 times slower. The exported model has the second factor as uint8, 128
more, with a zero point that is 128 more.

onnxruntime fuses MatMul and Conv with DequantizeLinear into such products. With the session entry
`EXACT_BYTES` it computes those of a graph's own constants exactly. Other int8 operands of
DequantizeLinear become uint8, unless a step of the same block makes them. Of ConvInteger,
onnxruntime saturates int8 by uint8.

Whether this machine saturates is asked of onnxruntime, once a process.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np

from treadle.delegate.export_scope import ExportScope
from treadle.formats.onnx import to_bytes
from treadle.ir import Block, Declaration, DType, Leaf, Model, Operands, Tensor, Value

EXACT_BYTES: Mapping[str, str] = {"session.x64quantprecision": "1"}
"""Constants of int8 in products with uint8 become uint8 where the machine saturates."""
_INT32, _UINT8 = 6, 2
_MIDDLE = 128
_VERSION, _OPSET = 10, 13
_SCALE = 1
_UNSIGNED: Mapping[str, tuple[int, int]] = {
    "ConvInteger": (0, 2),
    "DequantizeLinear": (0, 2),
    "MatMulInteger": (1, 3),
    "QLinearConv": (3, 5),
    "QLinearMatMul": (3, 5),
}
"""The positions of the factor that becomes uint8, and of its zero point."""
_UNSIGNED_FACTOR: Mapping[str, int] = {
    "ConvInteger": 1, "MatMulInteger": 0, "QLinearConv": 0, "QLinearMatMul": 0
}  # fmt: skip
"""The position of the factor that is uint8."""


def with_unsigned_bytes(draft: ExportScope, step: Leaf, operands: Operands) -> Operands:
    """The operands of a product of uint8 by int8, with uint8 for int8; others unchanged."""
    if step.domain or step.op not in _UNSIGNED:
        return operands
    factor, zero = _UNSIGNED[step.op]
    if _dtype(step, factor) is not DType.INT8 or not saturates():
        return operands
    if not _may_saturate(draft, step, operands):
        return operands
    made = [*operands, None, None][: max(len(operands), zero + 1)]
    given, origin = made[factor], made[zero]
    assert given is not None
    made[factor] = _as_uint8(draft, given)
    if origin is not None:
        made[zero] = _as_uint8(draft, origin)
    elif step.op == "DequantizeLinear":
        scale = made[_SCALE]
        assert scale is not None
        made[zero] = draft.leaf("Expand", _zero_point(draft), draft.leaf("Shape", scale))
    else:
        made[zero] = _zero_point(draft)
    return tuple(made)


def _may_saturate(draft: ExportScope, step: Leaf, operands: Operands) -> bool:
    """Whether a step is such a product, or onnxruntime may fuse its result into one."""
    if step.op != "DequantizeLinear":
        return _dtype(step, _UNSIGNED_FACTOR[step.op]) is DType.UINT8
    given, _, zero = (*operands, None)[:3]
    assert given is not None
    if draft.known(given) is None:
        return not any(given in made.results for made in reversed(draft.steps))
    is_own = any(constant.value.name == given.name for constant in draft.constants)
    return not is_own or (zero is not None and draft.known(zero) is None)


def _dtype(step: Leaf, position: int) -> DType | None:
    value = step.operands[position]
    type_ = value.type if value is not None else None
    return type_.dtype if isinstance(type_, Tensor) else None


def _zero_point(draft: ExportScope) -> Value:
    return draft.array(np.uint8(_MIDDLE), DType.UINT8)


def _as_uint8(draft: ExportScope, value: Value) -> Value:
    """An int8 value plus 128, as uint8; each block has one such value for all readers."""
    found = draft.unsigned.get(value.name)
    if found is None:
        found = draft.unsigned[value.name] = _plus_128(draft, value)
    return found


def _plus_128(draft: ExportScope, value: Value) -> Value:
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

    given = Value("a", Tensor(DType.UINT8, (1, 8))), Value("b", Tensor(DType.INT8, (8, 16)))
    result = Tensor(DType.INT32, (1, 16))
    y = Value("y", result)
    product = Leaf("", "MatMulInteger", _VERSION, given, (y,), {})
    block = Block(given, (), (product,), (y,), (Declaration(result),), "product")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        to_bytes(Model(block, {}, {"": _OPSET}, 8)), options, ["CPUExecutionProvider"]
    )
    feeds = {"a": np.full((1, 8), 255, np.uint8), "b": np.full((8, 16), 127, np.int8)}
    (found,) = session.run(None, feeds)
    return bool((found != 8 * 255 * 127).any())
