"""The ranks and extents that the standard requires of operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class _Ranks:
    """Ranks from `least` to `most`; `is_first`: the same rank as operand 0."""

    least: int = 0
    most: int | None = None
    is_first: bool = False


_AS_FIRST = _Ranks(is_first=True)


def _exactly(rank: int) -> _Ranks:
    return _Ranks(rank, rank)


_TABLE: Mapping[str, Sequence[_Ranks]] = {
    **dict.fromkeys(("AveragePool", "LpPool", "MaxPool"), (_Ranks(3),)),
    **dict.fromkeys(("GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool"), (_Ranks(3),)),
    **dict.fromkeys(("Conv", "ConvInteger", "ConvTranspose"), (_Ranks(2), _AS_FIRST)),
    **dict.fromkeys(("DepthToSpace", "SpaceToDepth"), (_exactly(4),)),
    **dict.fromkeys(("GRU", "LSTM", "RNN"), (_exactly(3),) * 3),
    "AffineGrid": (_exactly(3), _exactly(1)),
    "Col2Im": (_exactly(3), _exactly(1), _exactly(1)),
    "DeformConv": (_exactly(4),) * 3,
    **dict.fromkeys(("Gather", "GatherND", "ScatterND"), (_Ranks(1),)),
    **dict.fromkeys(("GatherElements", "Scatter", "ScatterElements"), (_Ranks(1), _AS_FIRST)),
    **dict.fromkeys(("MatMul", "MatMulInteger"), (_Ranks(1), _Ranks(1))),
    "Concat": (_Ranks(1),),
    "Slice": (_Ranks(1), _exactly(1), _exactly(1), _exactly(1), _exactly(1)),
    "Det": (_Ranks(2),),
    "EyeLike": (_exactly(2),),
    "Gemm": (_exactly(2), _exactly(2)),
    "GridSample": (_Ranks(3), _AS_FIRST),
    "GroupNormalization": (_Ranks(2), _exactly(1), _exactly(1)),
    "InstanceNormalization": (_Ranks(3), _exactly(1), _exactly(1)),
    "LRN": (_Ranks(2),),
    "MaxRoiPool": (_exactly(4), _exactly(2)),
    "MaxUnpool": (_Ranks(3), _AS_FIRST),
    "NonMaxSuppression": (_exactly(3), _exactly(3)),
    "ReverseSequence": (_Ranks(2), _exactly(1)),
    "RoiAlign": (_exactly(4), _exactly(2), _exactly(1)),
    "Trilu": (_Ranks(2),),
}


_CHANNELS = 2
_KERNEL = ("kernel_shape", 1)
_REPEATED: Mapping[str, tuple[str, int]] = {
    **dict.fromkeys(("Conv", "ConvInteger", "ConvTranspose", "DeformConv"), _KERNEL),
    **dict.fromkeys(("GRU", "LSTM", "RNN"), ("hidden_size", 2)),
    "QLinearConv": ("kernel_shape", 3),
}
"""An attribute that repeats all but the first two extents of an operand, and its position."""


def repeated_extents(op: str, attributes: Mapping[str, Any]) -> tuple[int, Sequence[int] | None]:
    """The position of an operand, and its extents after the second as an attribute repeats them.

    None if the attribute is absent.
    """
    if op not in _REPEATED:
        return 0, None
    name, position = _REPEATED[op]
    value = attributes.get(name)
    return position, (value,) if isinstance(value, int) else value


def extent_fault(
    op: str, attributes: Mapping[str, Any], shapes: Sequence[Sequence[object] | None]
) -> str:
    """Which attribute contradicts an operand's extents; "" if none does.

    None for an operand that is absent, no tensor, or of unknown rank; an extent that is no int is
    unknown.
    """
    position, wanted = repeated_extents(op, attributes)
    shape = shapes[position] if position < len(shapes) else None
    if wanted is None or shape is None:
        return ""
    found = [extent if isinstance(extent, int) else "?" for extent in shape[_CHANNELS:]]
    if len(found) == len(wanted) and all(
        extent in (number, "?") for extent, number in zip(found, wanted, strict=True)
    ):
        return ""
    known = ", ".join(map(str, found))
    name = _REPEATED[op][0]
    said = wanted[0] if isinstance(attributes[name], int) else [*wanted]
    return f"its {name} is {said}, operand {position} has [{known}] after two other extents"


def rank_fault(op: str, ranks: Sequence[int | None]) -> str:
    """Why the ranks of a standard operator's operands are wrong; "" if they are not.

    None for an operand that is absent or no tensor.
    """
    for position, (wanted, rank) in enumerate(zip(_TABLE.get(op, ()), ranks, strict=False)):
        if rank is None:
            continue
        least = (ranks[0] or 0) if wanted.is_first else wanted.least
        most = least if wanted.is_first else wanted.most
        if rank < least or (most is not None and rank > most):
            words = f"{least}" if least == most else f"{least} or more"
            as_first = ", as operand 0 has" if wanted.is_first else ""
            return f"operand {position} has rank {rank}, wanted {words}{as_first}"
    return ""


def has_wanted_shapes(op: str) -> bool:
    """Whether `rank_fault` or `extent_fault` has a rule for the operator."""
    return op in _TABLE or op in _REPEATED
