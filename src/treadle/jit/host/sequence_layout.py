"""The layout of ragged sequences and of optionals as arrays.

    sequence   flat, ends, shapes    the elements one after the other, T[N]; where each begins and
                                     the last one ends, int64[n + 1]; their shapes, int64[n, rank]
    optional   there, *parts         whether it has an element, bool; the element, or its parts, of
                                     any value where it has none

A leaf of the domain PARTS works on parts, under the name of the standard's operator, each value
replaced by its parts; others take them apart and put them together. See `apart` and lower/parts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treadle import ir
from treadle.ir import DType, Operands, Tensor
from treadle.jit.host.sequence_marshal import LISTS

PARTS_DOMAIN = "treadle.parts"
UNPACK, PACK = "Unpack", "Pack"
KNOWN = "known_extents"
OPERATORS = LISTS | {"Identity"}
"""Those of the standard that parts are known in."""


def tensors(parts: Operands) -> list[Tensor]:
    """The types of parts."""
    types = [part.type for part in parts if part is not None]
    found = [type_ for type_ in types if isinstance(type_, Tensor)]
    assert len(found) == len(parts), "parts are tensors"
    return found


def elements(parts: Operands) -> tuple[DType, int]:
    """The dtype and the rank of the elements of a list of which those are the parts."""
    *_, flat, _, shapes = tensors(parts)
    rank = shapes.shape[1] if shapes.shape is not None else None
    assert flat.dtype is not None
    assert isinstance(rank, int)
    return flat.dtype, rank


def nothing(type_: Tensor) -> np.ndarray:
    """What an empty optional has for the part of this type; of extents nobody knows none."""
    assert type_.dtype is not None
    shape = [dim if isinstance(dim, int) else 0 for dim in type_.shape or ()]
    return np.zeros(shape, type_.dtype.numpy)


@dataclass(frozen=True, slots=True)
class SequenceLayout:
    """What a list or an optional is made of: elements of a dtype and shape; None: not known."""

    is_list: bool
    element: Tensor

    @property
    def parts(self) -> dict[str, Tensor]:
        """What there is for an element, or for a list of them, by name."""
        dtype, shape = self.element.dtype, self.element.shape
        if not self.is_list:
            return {"value": Tensor(dtype, shape)}
        rank = len(shape or ())
        whole = DType.INT64
        return {
            "flat": Tensor(dtype, (None,)),
            "ends": Tensor(whole, (None,)),
            "shapes": Tensor(whole, (None, rank)),
        }


def known_layout(kind: SequenceLayout) -> dict[str, ir.Attribute]:
    """The extents of the elements of a list as an attribute, -1 for one that is not known."""
    extents = [dim if isinstance(dim, int) else -1 for dim in kind.element.shape or ()]
    return {KNOWN: ir.attribute(KNOWN, extents)} if kind.is_list and extents else {}
