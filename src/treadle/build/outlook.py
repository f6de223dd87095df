"""Predicts which parts of a model can run without Python, without compiling."""

from __future__ import annotations

from dataclasses import dataclass

from treadle.build.kernels import leaving
from treadle.build.partition import partition_of
from treadle.plan import Plan, whole_region

__all__ = ["Outlook", "outlook", "show_outlook"]


@dataclass(frozen=True, slots=True)
class Outlook:
    """The parts of a model that can run without Python.

    `library_reasons`: why the model cannot be a C library, () if it can. `operators`: the number of
    parts that can be operators of onnxruntime; `region_reasons`: why other loops cannot.
    """

    library_reasons: tuple[str, ...]
    operators: int
    region_reasons: tuple[str, ...]


def outlook(plan: Plan) -> Outlook:
    """The prediction for the model of a plan, as far as its types show."""
    model = plan.model
    declared = {value.name: value.type for value in model.main.params}
    parts = partition_of(model, [lambda value: value.type], declared)
    return Outlook(
        leaving(whole_region(model)).reasons,
        len(parts.leaving),
        parts.reasons,
    )


def show_outlook(seen: Outlook) -> str:
    """The prediction as text."""
    if not seen.library_reasons:
        return "outside Python: the whole model can be a C library (treadle build)"
    lines = ["outside Python: no C library, since"]
    lines += [f"  {reason}" for reason in seen.library_reasons]
    parts = {0: "no part", 1: "one part"}.get(seen.operators, f"{seen.operators} parts")
    verb = "can be operators" if seen.operators > 1 else "can be an operator"
    lines.append(f"  {parts} of it {verb} of onnxruntime (treadle build --as ort)")
    lines += [f"    {reason}" for reason in seen.region_reasons]
    return "\n".join(lines)
