"""Compiles the kernels of a region for other programs, or collects the reasons against it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treadle import jit
from treadle.ir import Tensor, Type, Value, show_type
from treadle.jit import Declined, FreeKernel
from treadle.plan import Region

__all__ = ["Leaving", "border_reasons", "fits_always", "leaving", "why_loses"]

_NODE_NS, _CHOICE_NS = 500, 2000
"""onnxruntime's overhead of an operator, and of the choice between it and the original steps."""


@dataclass(frozen=True, eq=False, slots=True)
class Leaving:
    """A region outside Python: its kernels, or the reasons why there are none."""

    kernels: tuple[FreeKernel, ...]
    reasons: tuple[str, ...] = ()


def leaving(region: Region, typings: Sequence[Sequence[Type | None]] | None = None) -> Leaving:
    """The kernels of a region: one per typing of its inputs, or one for its own types."""
    reasons = [*border_reasons(region), *_operator_reasons(region)]
    if reasons:
        return Leaving((), tuple(reasons))
    kernels = []
    for types in typings or [[value.type for value in region.inputs]]:
        try:
            kernels += jit.free_kernels(region, types)
        except Declined as why:
            return Leaving((), (_declined(region.inputs, types, str(why)),))
    return Leaving(tuple(kernels))


def _declined(inputs: Sequence[Value], types: Sequence[Type | None], why: str) -> str:
    """Why no kernel could be made, with a hint if extents are unknown."""
    named = [
        value.name
        for value, known in zip(inputs, types, strict=True)
        if isinstance(known, Tensor)
        and not all(isinstance(dim, int) for dim in known.shape or (None,))
    ]
    if not named:
        return why
    return f"{why}; giving the shapes may help: of {', '.join(named)}"


def border_reasons(region: Region) -> Iterator[str]:
    """The inputs and outputs that have no form outside Python."""
    for role, values in (("input", region.inputs), ("output", region.outputs)):
        for value in values:
            if why := _border_reason(value.type):
                yield f'{role} "{value.name}" {why}'


def _border_reason(known: Type | None) -> str:
    if known is None:
        return "has an unknown type"
    if not isinstance(known, Tensor):
        return f"is {show_type(known)}: only tensors can be passed"
    if known.dtype is None:
        return "has an unknown element type"
    if known.dtype not in jit.NATIVE:
        return f"has elements of {known.dtype}, which native code does not have"
    return ""


def _operator_reasons(region: Region) -> Iterator[str]:
    for operator in dict.fromkeys(jit.operators_without_code(region.steps)):
        yield f"{operator} has no native code"


def fits_always(kernel: FreeKernel, declared: Sequence[Type | None]) -> bool:
    """Whether the kernels match all inputs of these types."""
    if kernel.true_inputs or len(set(kernel.open_axes.values())) < len(kernel.open_axes):
        return False
    return all(_fits(kernel, position, known) for position, known in enumerate(declared))


def _fits(kernel: FreeKernel, position: int, known: Type | None) -> bool:
    dtype, shape = kernel.signature[position]
    if not isinstance(known, Tensor) or known.dtype is not dtype or known.shape is None:
        return False
    return len(known.shape) == len(shape) and all(
        extent == dim if extent >= 0 else (position, axis) in kernel.looped
        for axis, (extent, dim) in enumerate(zip(shape, known.shape, strict=True))
    )


def why_loses(region: Region, found: Leaving, *, is_certain: bool) -> tuple[str, ...]:
    """Why onnxruntime would be slower with an operator than with the original steps."""
    cost = _NODE_NS if is_certain else _CHOICE_NS
    reasons = (jit.why_library_loses(region.steps, each, cost) for each in found.kernels)
    return tuple(dict.fromkeys(filter(None, reasons)))
