"""Attributes whose values the standard lists, where an engine takes another value too.

Such a value has no meaning: one engine reads it as one that is listed, and another as a second, or
leaves the result as it was allocated (onnxruntime's Cast, if `saturate` is neither 0 nor 1). An
axis, a count or an element type beyond 32 bits fits no tensor; what reads 32 bits takes another.
"""

from __future__ import annotations

from collections.abc import Mapping

from onnx import TensorProto

from treadle.ir import Attribute, Leaf, Reference

_PADDED = (
    "AveragePool",
    "Conv",
    "ConvInteger",
    "ConvTranspose",
    "LpPool",
    "MaxPool",
    "QLinearConv",
)
_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
_DIRECTIONS = ("forward", "reverse", "bidirectional")
_LOSSES = ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
_SCATTERS = ("ScatterElements", "ScatterND")
_LISTED: Mapping[tuple[str, str], tuple[str, ...]] = {
    **{(op, "auto_pad"): _PADS for op in _PADDED},
    **{(op, "direction"): _DIRECTIONS for op in ("GRU", "LSTM", "RNN")},
    **{(op, "mode"): ("DCR", "CRD") for op in ("DepthToSpace", "SpaceToDepth")},
    **{(op, "reduction"): ("none", "mean", "sum") for op in _LOSSES},
    **{(op, "reduction"): ("none", "add", "mul", "max", "min") for op in _SCATTERS},
    **{(op, "round_mode"): ("up", "down", "nearest") for op in ("Cast", "CastLike")},
    ("Gelu", "approximate"): ("none", "tanh"),
    ("GridSample", "padding_mode"): ("zeros", "border", "reflection"),
    ("RoiAlign", "coordinate_transformation_mode"): ("half_pixel", "output_half_pixel"),
    ("RoiAlign", "mode"): ("avg", "max"),
}


_FLAGS = frozenset((
    "align_corners", "allowzero", "antialias", "broadcast", "ceil_mode", "center_point_box",
    "count_include_pad", "detect_negative", "detect_positive", "exclude_outside", "exclusive",
    "fmod", "input_forget", "interleaved", "inverse", "is_case_sensitive", "is_causal", "is_test",
    "keepdims", "largest", "layout", "linear_before_reset", "new_axis", "noop_with_empty_axes",
    "onesided", "output_sequence", "periodic", "reverse", "saturate", "select_last_index", "sorted",
    "spatial", "storage_order", "training_mode", "transA", "transB", "upper",
))  # fmt: skip
"""Attributes of any operator that are 0 or 1."""
_NARROW = frozenset((
    "axes", "axis", "batch_axis", "batch_dims", "blocksize", "dtype", "group", "hidden_size", "k",
    "kv_num_heads", "num_groups", "num_heads", "num_outputs", "offset_group", "output_datatype",
    "output_dtype", "perm", "q_num_heads", "rotary_embedding_dim", "softmax_precision",
    "stash_type", "time_axis", "to",
))  # fmt: skip
"""Axes, counts and element types."""
_INT32 = range(-(2**31), 2**31)
_PRECISIONS = (
    TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16,
)  # fmt: skip
"""The element types in which `softmax_precision` may have a softmax computed."""


def wanted_value(leaf: Leaf, name: str, attribute: Attribute) -> str:
    """What the standard wants an attribute to be; "" where its value is one it lists."""
    value = attribute.value
    if leaf.domain or value is None or isinstance(value, Reference):
        return ""
    if isinstance(value, bytes):
        listed = _LISTED.get((leaf.op, name), ())
        known = not listed or value in [text.encode() for text in listed]
        return "" if known else f"one of {', '.join(listed)}"
    if name in _FLAGS:
        return "" if value in (0, 1) else "0 or 1"
    if name == "softmax_precision" and value not in _PRECISIONS:
        return f"one of {', '.join(map(str, _PRECISIONS))}"
    numbers = value if isinstance(value, tuple) else (value,)
    if name in _NARROW and any(isinstance(n, int) and n not in _INT32 for n in numbers):
        return "a number of 32 bits"
    return ""
