"""`treadle.unroll`: writes the iterations of loops as straight-line code."""

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
    """Write the iterations of loops as straight-line code.

        treadle.unroll("decoder.onnx", loops="main/loop_3*", most=20)

    `loops` is one glob or several over the paths of loops; a Scan is a loop too. A step of
    iteration k has the metadata `treadle.source_path` and `treadle.iteration`; names of its values
    contain the loop's name and k.

    A loop with a fixed number of iterations needs no options. One that may end earlier becomes
    `most` iterations, or as many as its trip count allows. An iteration past the end repeats the
    last one, so it fails only if the loop does. Stacked outputs are cut to the number of
    iterations; `padded=True` leaves `most` rows and adds the int64 output `PATH@trips`. A `most`
    below the loop's proven maximum needs `truncate=True`, which adds the bool output
    `PATH@unfinished`. If the loop has no known maximum, `most` is a promise: without `truncate` a
    run that needs more iterations fails.

    `by=k` merges k iterations into one of a loop, followed by the remaining iterations as
    straight-line code, or as a second loop if their number is unknown.

    Raises Unsupported, with every obstacle, for loops of an unknown number of iterations without
    `most`, random operators, carried values that are not tensors or change to unknown shapes, a
    loop that may not run and whose body could fail on the initial values, and results of more than
    `max_nodes` nodes. Raises InputError for a glob that matches no loop.
    """
    expect(max_nodes, int, "max_nodes", "a whole number")
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
    """Raise Unsupported if a reader of a shortened result becomes invalid."""
    found = [each for each in checks.infer_with_findings(model)[1] if each.blocks]
    if found:
        raise Unsupported.of("unroll", "with so few iterations shapes do not fit:", found)
