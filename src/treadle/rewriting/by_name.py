"""`treadle.rewrite`: applies named rewrites."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, overload

import numpy as np

from treadle import checks, passes
from treadle.arguments import expect_member, names_of
from treadle.boundary import public
from treadle.errors import InputError
from treadle.ir import Model
from treadle.limits import LoadLimits, making
from treadle.passes import Report
from treadle.rewriting.border import Rewritten, expect_count, given, globs_of, standard_function
from treadle.session import InferenceSession
from treadle.sources import valid


@overload
def rewrite(
    source: object,
    *names: str,
    paths: str | Iterable[str] = "*",
    capacity: int | None = None,
    portable: Collection[str] = (),
    with_report: Literal[False] = False,
    limits: LoadLimits | None = None,
) -> Model: ...
@overload
def rewrite(
    source: object,
    *names: str,
    paths: str | Iterable[str] = "*",
    capacity: int | None = None,
    portable: Collection[str] = (),
    with_report: Literal[True],
    limits: LoadLimits | None = None,
) -> tuple[Model, Report]: ...
@public
def rewrite(
    source: object,
    *names: str,
    paths: str | Iterable[str] = "*",
    capacity: int | None = None,
    portable: Collection[str] = (),
    with_report: bool = False,
    limits: LoadLimits | None = None,
) -> Rewritten:
    """Apply the rewrites of these names, one after the other.

        treadle.rewrite("model.onnx", "sequence-to-tensor", "loop-to-scan")

    `treadle rewrite --list` describes each. `paths` are globs over the paths of the steps to
    rewrite. `capacity`: the number of items in the buffers of static-cache. `portable`: runtimes
    that must accept the result and run it correctly, as in `check`.

    Raises Unsupported, with every obstacle, if a selected step has no such form or a runtime is
    known to reject the result; InputError for an unknown name.
    """
    if not names:
        raise InputError(f"name a rewrite: {', '.join(passes.REWRITES)}")
    for name in names:
        expect_member(name, passes.REWRITES, "the rewrite")
    expect_count(capacity, "capacity", 1)
    if "static-cache" in names and capacity is None:
        raise InputError("static-cache wants a capacity: how many items its buffers hold")
    runtimes = names_of(portable, checks.RUNTIMES, "portable")
    options = passes.RewriteOptions(
        globs_of(paths, "paths"), standard_function, _run_on_interp, capacity
    )
    report = Report()
    with making(limits):
        model = valid(source, "rewritten")
        for name in names:
            model, done = passes.rewrite(model, name, options)
            report += done
        _expect_taken(model, runtimes)
    return given((model, report), with_report)


def _expect_taken(model: Model, runtimes: Collection[str]) -> None:
    """Raise Unsupported with everything these runtimes are known to reject or answer wrongly."""
    if not runtimes:
        return
    everywhere = {(found.code, found.path) for found in checks.check(model, ())}
    obstacles = passes.Obstacles("rewrite")
    for found in checks.check(model, runtimes):
        if found.severity != "advice" and (found.code, found.path) not in everywhere:
            obstacles.add(found.path, f"{found.code}: {found.message}", found.hint, found.clause)
    obstacles.refuse()


def _run_on_interp(model: Model, feeds: Mapping[str, np.ndarray]) -> Sequence[np.ndarray]:
    """The outputs of a small model on the interpreter."""
    return InferenceSession(model, engines=("interp",)).run(None, dict(feeds))
