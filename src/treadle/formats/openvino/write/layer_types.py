"""The element types of a layer's outputs, and attributes that are implied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treadle.formats.openvino.elements import element_type
from treadle.formats.openvino.write.net_builder import Wire
from treadle.ir import DType, Tensor

_TRUTH_WORDS = (
    "Equal NotEqual Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr LogicalXor LogicalNot"
    " IsNaN IsInf IsFinite ReduceLogicalAnd ReduceLogicalOr"
)
_BROADCASTING_WORDS = (
    "Add Subtract Multiply Divide Maximum Minimum Power Mod FloorMod SquaredDifference Equal"
    " NotEqual Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr LogicalXor BitwiseAnd"
    " BitwiseOr BitwiseXor BitwiseLeftShift BitwiseRightShift Select FakeQuantize"
)
_TRUTHS = frozenset(_TRUTH_WORDS.split())
_BROADCASTING = frozenset(_BROADCASTING_WORDS.split())
_SAID = {
    "Convert": ("destination_type",),
    "ShapeOf": ("output_type",),
    "Range": ("output_type",),
    "Eye": ("output_type",),
    "NonZero": ("output_type",),
    "TopK": ("", "index_element_type"),
    "MaxPool": ("", "index_element_type"),
    "Unique": ("", "index_element_type", "index_element_type", "count_element_type"),
    "NonMaxSuppression": ("output_type", "", "output_type"),
}
"""The attribute with an output's element type; "" for that of the first input."""
_OF_INPUT = {"Select": 1, "OneHot": 2, "ConvertLike": 1}


def layer_types(
    type_: str, inputs: Sequence[Wire], data: Mapping[str, object], count: int
) -> tuple[tuple[Tensor, ...], dict[str, object]]:
    """The types of a layer's outputs, as far as its type determines them, and full attributes."""
    said = dict(data)
    if type_ in _BROADCASTING:
        said.setdefault("auto_broadcast", "numpy")
    given = inputs[_OF_INPUT.get(type_, 0)].type.dtype if inputs else None
    if type_ in _TRUTHS:
        return (Tensor(DType.BOOL),) * count, said
    words = [str(said[name]) if name else "" for name in _SAID.get(type_, ())]
    kinds = [element_type(word) if word else None for word in words]
    found = [Tensor(kind.dtype if kind else given) for kind in kinds]
    found += [Tensor(given)] * (count - len(found))
    return tuple(found[:count]), said
