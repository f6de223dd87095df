"""What of a model could leave Python, and what holds the rest back; nothing is compiled for it."""

from __future__ import annotations

from dataclasses import dataclass

from treadle.build.kernels import leaving
from treadle.plan import Plan, whole_region

__all__ = ["Outlook", "outlook", "show_outlook"]


@dataclass(frozen=True, slots=True)
class Outlook:
    """What could leave Python.

    `library_reasons`: why the model is no C library, () where it can be one. `operators` of its
    native regions can be operators of onnxruntime; `region_reasons`: why the others cannot.
    """

    library_reasons: tuple[str, ...]
    regions: int
    operators: int
    region_reasons: tuple[str, ...]


def outlook(plan: Plan) -> Outlook:
    """What `build` would make of the model of a plan, as far as its types tell."""
    regions = [region for region in plan.main.regions if region.engine == "jit"]
    found = [leaving(region).reasons for region in regions]
    return Outlook(
        leaving(whole_region(plan.model)).reasons,
        len(regions),
        sum(not reasons for reasons in found),
        tuple(dict.fromkeys(reason for reasons in found for reason in reasons)),
    )


def show_outlook(seen: Outlook) -> str:
    """The outlook in words."""
    if not seen.library_reasons:
        return "outside Python: the whole model can be a C library (treadle build)"
    lines = ["outside Python: no C library, since"]
    lines += [f"  {reason}" for reason in seen.library_reasons]
    if not seen.regions:
        return "\n".join(lines)
    lines.append(
        f"  {seen.operators} of {seen.regions} native regions can be operators of onnxruntime"
        " (treadle build --as ort)"
    )
    if seen.operators < seen.regions:
        lines += [f"    {reason}" for reason in seen.region_reasons]
    return "\n".join(lines)
