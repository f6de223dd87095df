"""Comparisons, logic and bits."""

from __future__ import annotations

from treadle.formats.openvino.write.op_context import OpContext
from treadle.formats.openvino.write.operators.aligned import aligned
from treadle.formats.openvino.write.operators.registry import Made, operator, plain, register
from treadle.formats.openvino.write.refusals import Refusal

plain(
    {
        "Not": "LogicalNot-1",
        "IsNaN": "IsNaN-10",
        "BitwiseNot": "BitwiseNot-13",
        "BitwiseAnd": "BitwiseAnd-13",
        "BitwiseOr": "BitwiseOr-13",
        "BitwiseXor": "BitwiseXor-13",
        "Where": "Select-1",
    }
)

_BINARY = {
    "Equal": "Equal-1",
    "Less": "Less-1",
    "LessOrEqual": "LessEqual-1",
    "Greater": "Greater-1",
    "GreaterOrEqual": "GreaterEqual-1",
    "And": "LogicalAnd-1",
    "Or": "LogicalOr-1",
    "Xor": "LogicalXor-1",
}


def _binary(op: str, kind: str) -> None:
    register(op, lambda context: context.layer(kind, *aligned(context)), layer=kind)


for _op, _kind in _BINARY.items():
    _binary(_op, _kind)


@operator("IsInf")
def is_inf(context: OpContext) -> Made:
    """Whether it is infinite, with the requested signs."""
    return context.layer(
        "IsInf-10",
        context[0],
        detect_negative=bool(context.integer("detect_negative")),
        detect_positive=bool(context.integer("detect_positive")),
    )


@operator("BitShift")
def bit_shift(context: OpContext) -> Made:
    """Shift bits left or right."""
    if context.dtype(0).numpy.kind == "i":
        raise Refusal(
            "OpenVINO shifts signed integers differently", "cast them to unsigned integers"
        )
    word = "Left" if context.text("direction") == "LEFT" else "Right"
    return context.layer(f"Bitwise{word}Shift-15", context[0], context[1])
