"""Describes the model and each loop, branch and call in it for the page."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.ir import Dim, Loop, Model, Symbol, Tensor, Type, dim_symbols, ports, show_dim, walk
from treadle.report import (
    BranchSummary,
    CallSummary,
    LoopSummary,
    ModelSummary,
    Port,
    plural,
    show_bytes,
    summarize_model,
)

Row = tuple[str, str]


def model_rows(summary: ModelSummary) -> list[Row]:
    """The model's inputs, outputs and sizes."""
    sizes = summary.sizes
    deep = f", {sizes.nodes_in_bodies} of them in bodies" if sizes.nodes_in_bodies else ""
    opsets = ", ".join(f"{domain} {version}" for domain, version in summary.opsets.items())
    rows = [
        *(("input", _typed(port)) for port in summary.inputs),
        *(("output", _typed(port)) for port in summary.outputs),
        ("holds", f"{plural(sizes.nodes, 'node')}{deep}, {plural(sizes.tensors, 'tensor')} of "
         f"{show_bytes(sizes.bytes)}"),
        ("opsets", f"{opsets} (IR version {summary.ir_version})"),
    ]  # fmt: skip
    return [("made by", summary.producer), *rows] if summary.producer else rows


def control_flow_rows(model: Model) -> tuple[ModelSummary, dict[str, list[Row]]]:
    """The model's summary, and a description of each loop, branch and call, by its path."""
    summary = summarize_model(model)
    growths = dict(_growths(model))
    rows = {}
    for found in summary.control_flow:
        match found:
            case LoopSummary():
                rows[found.path] = list(_loop(found, growths))
            case BranchSummary():
                rows[found.path] = list(_branch(found))
            case CallSummary():
                rows[found.path] = [("takes", ", ".join(found.operands))]
    return summary, rows


def _loop(loop: LoopSummary, growths: dict[str, str]) -> Iterator[Row]:
    yield "runs", loop.trips.words
    for carry in loop.carries:
        growth = growths.get(f"{loop.path}.body/{carry.port.name}", "")
        last = f"; its last value is {carry.result}" if carry.result != "_" else ""
        yield "carries", f"{_typed(carry.port)}, starts as {carry.port.outer}{last}{growth}"
    for along in loop.slices:
        yield (
            "slices",
            f"{_typed(along.port)} of {along.port.outer}{_along(along.axis)}"
            + (", from the last" if along.reverse else ""),
        )
    for along in loop.stacks:
        yield (
            "stacks",
            f"{_typed(along.port)} into {along.port.outer}{_along(along.axis)}"
            + (", the last first" if along.reverse else ""),
        )
    for port in loop.captures:
        yield "captures", _typed(port)


def _branch(branch: BranchSummary) -> Iterator[Row]:
    yield "decides", branch.decides
    yield from (("captures", _typed(port)) for port in branch.captures)
    yield from (("gives", _typed(port)) for port in branch.results)


def _typed(port: Port) -> str:
    return f"{port.name}: {port.type}"


def _along(axis: int) -> str:
    return f" along axis {axis}" if axis else ""


def _growths(model: Model) -> Iterator[tuple[str, str]]:
    """How the shape of each carried value changes: `; axis 0 is T+2*i`, by path and name."""
    for visit in walk(model):
        if not isinstance(visit.step, Loop):
            continue
        for port in ports(visit.step).carried:
            changes = ", ".join(_changes(port.param.type, visit.path))
            if changes:
                yield f"{visit.path}.body/{port.param.name}", f"; {changes}"


def _changes(type_: Type | None, loop: str) -> Iterator[str]:
    shape = type_.shape if isinstance(type_, Tensor) else None
    for axis, dim in enumerate(shape or ()):
        if any(name.startswith((f"{loop}.", f"{loop}:")) for name in dim_symbols(dim)):
            yield _change(axis, dim, loop)


def _change(axis: int, dim: Dim, loop: str) -> str:
    if isinstance(dim, Symbol) and dim.name.startswith(f"{loop}:"):
        return f"axis {axis} changes from iteration to iteration"
    extent = show_dim(dim).replace(f"{loop}.iteration", "i")
    return f"axis {axis} grows, to {extent} in iteration i"
