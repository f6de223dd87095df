"""`treadle.unroll`: loops as straight lines of their iterations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, overload

from treadle import checks, passes
from treadle.arguments import expect
from treadle.boundary import public
from treadle.errors import InputError, Unsupported
from treadle.ir import Model
from treadle.limits import LoadLimits, making
from treadle.passes import Report, Unrolling
from treadle.rewriting.border import Rewritten, expect_count, given, globs_of
from treadle.sources import valid


@overload
def unroll(
    source: object,
    *,
    loops: str | Iterable[str] = "*",
    most: int | None = None,
    by: int | None = None,
    padded: bool = False,
    truncate: bool = False,
    max_nodes: int = 100_000,
    with_report: Literal[False] = False,
    limits: LoadLimits | None = None,
) -> Model: ...
@overload
def unroll(
    source: object,
    *,
    loops: str | Iterable[str] = "*",
    most: int | None = None,
    by: int | None = None,
    padded: bool = False,
    truncate: bool = False,
    max_nodes: int = 100_000,
    with_report: Literal[True],
    limits: LoadLimits | None = None,
) -> tuple[Model, Report]: ...
@public
def unroll(
    source: object,
    *,
    loops: str | Iterable[str] = "*",
    most: int | None = None,
    by: int | None = None,
    padded: bool = False,
    truncate: bool = False,
    max_nodes: int = 100_000,
    with_report: bool = False,
    limits: LoadLimits | None = None,
) -> Rewritten:
    """The model whose loops are straight lines of their iterations.

        treadle.unroll("decoder.onnx", loops="main/loop_3*", most=20)

    `loops` is a glob over the paths of loops, or several; a Scan is a loop too. A step of iteration
    k has the metadata `treadle.source_path` and `treadle.iteration`, its values the loop's name and
    k in their names.

    A loop that always runs equally often needs nothing else. One that may end earlier becomes
    `most` iterations, or as many as its trip count admits. An iteration past the end computes the
    last one that ran again, so it fails only where the loop did. Stacked outputs are cut to the
    number of iterations; `padded=True` leaves `most` rows and adds the int64 output `PATH@trips`. A
    `most` below what the loop can be proven to reach needs `truncate=True`, which adds the bool
    output `PATH@unfinished`. Where nothing bounds the loop, `most` is a promise: without `truncate`
    a run that needs more iterations fails.

    `by=k` makes k iterations one of a loop, and a straight line of the iterations that are left, or
    a second loop where their number is not certain.

    Raises Unsupported, with every obstacle, for loops of an unknown number of iterations without
    `most`, random operators, carried values that are no tensors or change to shapes that nothing
    tells, a loop that may not begin whose body could fail on the initial values, and results of
    more than `max_nodes` nodes. Raises InputError for a glob that matches no loop.
    """
    for value, what in ((most, "most"), (by, "by"), (max_nodes, "max_nodes")):
        expect_count(value, what, 2 if what == "by" else 1)
    for flag, what in ((padded, "padded"), (truncate, "truncate")):
        expect(flag, bool, what, "True or False")
    if by is not None and (most is not None or padded or truncate):
        raise InputError("by goes without most, padded and truncate: it keeps the loop")
    how = Unrolling(globs_of(loops, "loops"), most, padded, truncate, max_nodes, by)
    with making(limits):
        result = passes.unroll(valid(source, "unrolled"), how)
        if truncate:
            _expect_valid(result[0])
    return given(result, with_report)


def _expect_valid(model: Model) -> None:
    """Raise Unsupported where what reads a shortened result cannot do with it."""
    found = [each for each in checks.infer_with_findings(model)[1] if each.blocks]
    if found:
        raise Unsupported.of("unroll", "with so few iterations shapes do not fit:", found)
