"""The kernels of a region, or every reason why it cannot leave Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treadle import jit
from treadle.build.shapes import Shape, told_types, types_of_data
from treadle.ir import Tensor, Type, Value, show_type
from treadle.jit import Declined, FreeKernel
from treadle.plan import Region

__all__ = ["Leaving", "border_reasons", "leaving"]


@dataclass(frozen=True, eq=False, slots=True)
class Leaving:
    """What becomes of a region outside Python: its kernels, or why there are none."""

    kernels: tuple[FreeKernel, ...]
    reasons: tuple[str, ...] = ()


def leaving(
    region: Region,
    shapes: Sequence[Mapping[str, Shape]] = ({},),
    data: Mapping[str, np.ndarray] | None = None,
) -> Leaving:
    """The kernels of a region, one for each of the shapes."""
    reasons = [*border_reasons(region), *_operator_reasons(region)]
    if reasons:
        return Leaving((), tuple(reasons))
    kernels = []
    for each in shapes:
        types = told_types(region.inputs, each)
        if data is not None:
            types = types_of_data(region.inputs, types, data, each)
        try:
            kernels.append(jit.free_kernel(region, types))
        except Declined as why:
            return Leaving((), (_declined(region.inputs, types, str(why)),))
    return Leaving(tuple(kernels))


def _declined(inputs: Sequence[Value], types: Sequence[Type | None], why: str) -> str:
    """Why no kernel could be made; where extents are open, that others may have one."""
    named = [
        value.name
        for value, known in zip(inputs, types, strict=True)
        if isinstance(known, Tensor)
        and not all(isinstance(dim, int) for dim in known.shape or (None,))
    ]
    if not named:
        return why
    return f"{why}; perhaps once the shapes are told of {', '.join(named)}"


def border_reasons(region: Region) -> Iterator[str]:
    """The inputs and outputs that have no form outside."""
    for role, values in (("input", region.inputs), ("output", region.outputs)):
        for value in values:
            if why := _border_reason(value.type):
                yield f'{role} "{value.name}" {why}'


def _border_reason(known: Type | None) -> str:
    if known is None:
        return "has a type that nothing tells"
    if not isinstance(known, Tensor):
        return f"is {show_type(known)}: only tensors cross the border"
    if known.dtype is None:
        return "has an element type that nothing tells"
    if known.dtype not in jit.NATIVE:
        return f"has elements of {known.dtype}, which native code does not have"
    return ""


def _operator_reasons(region: Region) -> Iterator[str]:
    for operator in dict.fromkeys(jit.operators_without_code(region)):
        yield f"{operator} has no native code"
