"""Attributes whose text the standard chooses from a list, where an engine takes another text too.

Such a text has no meaning: one engine reads it as one listed text, and another as a second.
"""

from __future__ import annotations

from collections.abc import Mapping

from treadle.ir import Leaf

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


def listed_texts(leaf: Leaf, name: str) -> tuple[str, ...]:
    """The texts that the standard lists for an attribute; none where it may be any text."""
    return () if leaf.domain else _LISTED.get((leaf.op, name), ())
