"""The layout of ragged sequences and of optionals as arrays.

    sequence   flat, ends, shapes    the elements one after the other, T[N]; the start of each and
                                     the end of the last, int64[n + 1]; shapes, int64[n, rank]
    optional   there, *parts         whether it has an element, bool; the element, or its parts,
                                     with any content if it has none

A leaf of the domain PARTS has the name of a standard operator and works on the parts instead of the
value; other leaves of the domain split and join values. See lowering/sequences/scalarize.py.
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
"""The standard operators that have a form on parts."""


def tensors(parts: Operands) -> list[Tensor]:
    """The types of parts."""
    types = [part.type for part in parts if part is not None]
    found = [type_ for type_ in types if isinstance(type_, Tensor)]
    assert len(found) == len(parts), "parts are tensors"
    return found


def elements(parts: Operands) -> tuple[DType, int]:
    """The dtype and the rank of the elements of a list with these parts."""
    *_, flat, _, shapes = tensors(parts)
    rank = shapes.shape[1] if shapes.shape is not None else None
    assert flat.dtype is not None
    assert isinstance(rank, int)
    return flat.dtype, rank


def nothing(type_: Tensor) -> np.ndarray:
    """An empty optional's value for a part of this type; unknown extents become 0."""
    assert type_.dtype is not None
    shape = [dim if isinstance(dim, int) else 0 for dim in type_.shape or ()]
    return np.zeros(shape, type_.dtype.numpy)


@dataclass(frozen=True, slots=True)
class SequenceLayout:
    """The layout of a list or an optional: element dtype and shape; None: unknown."""

    is_list: bool
    element: Tensor

    @property
    def parts(self) -> dict[str, Tensor]:
        """The named parts of an element, or of a list of them."""
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
    """The extents of a list's elements as an attribute, -1 for unknown ones."""
    extents = [dim if isinstance(dim, int) else -1 for dim in kind.element.shape or ()]
    return {KNOWN: ir.attribute(KNOWN, extents)} if kind.is_list and extents else {}
