"""`treadle.bench`: times each contender in its own process, then all of them in turn here."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from treadle import report
from treadle.arguments import expect, expect_member
from treadle.bench.cold import cold_start
from treadle.bench.contenders import TREADLE, OpenContender, expect_contenders, open_contender
from treadle.bench.result import Benchmark, Timing
from treadle.bench.warm import warm_calls
from treadle.boundary import public
from treadle.errors import RunError, TreadleError
from treadle.formats.onnx import to_bytes
from treadle.options import COMPILE_MODES, CompileMode
from treadle.passes import to_onnx_loops
from treadle.sources import loaded

__all__ = ["bench"]

_CACHED = ("treadle", "jit")


@public
def bench(
    model: object,
    feeds: Mapping[str, object],
    *,
    against: Sequence[str] | str = ("onnxruntime",),
    threads: int = 0,
    seconds: float = 2.0,
    compile: CompileMode = "first_run",  # noqa: A002  as in SessionOptions
) -> Benchmark:
    """Time treadle and other contenders on a model.

    `model` is any source of `treadle.load`, `feeds` are as for `session.run`. `against` names
    "onnxruntime" (alone, without treadle), "jit" or "interp" (treadle with that engine first).
    `threads` is `intra_op_num_threads` of all of them, 0 for their defaults; `compile` is that of
    treadle's SessionOptions, on which the time of the first call depends. Each is loaded and called
    once in a new process without a cache, treadle also in one with its cache; then all are called
    in turn for `seconds` in this process. Outputs are compared with treadle's.

    A contender that rejects the model has no times, but the reason. If treadle itself fails, its
    error is raised.
    """
    names = expect_contenders(against)
    expect(seconds, (int, float), "seconds", "a number of seconds")
    expect(threads, int, "threads", "a number of threads, or 0")
    expect_member(compile, COMPILE_MODES, "compile")
    data = to_bytes(to_onnx_loops(loaded(model)[0]))
    opened, timings = _opened(names, data, feeds, threads, compile)
    calls = {name: each.call for name, each in opened.items()}
    warm = warm_calls(calls, feeds, seconds)
    timings = {n: replace(each, warm=warm.get(n)) for n, each in timings.items()}
    for name in opened:
        timings[name] = _with_starts(timings[name], data, feeds, threads, compile)
    return Benchmark(_name(model), _machine(), threads, tuple(timings.values()))


def _opened(
    names: Sequence[str],
    data: bytes,
    feeds: Mapping[str, object],
    threads: int,
    compile_mode: CompileMode,
) -> tuple[dict[str, OpenContender], dict[str, Timing]]:
    """The contenders that load and run the model, and the results for all of them so far."""
    opened, timings = {}, {}
    expected: dict[str, object] = {}
    for name in names:
        try:
            made = open_contender(name, data, threads, compile_mode)
            if compile_mode == "background":
                made.warm_up(feeds)
            outputs = dict(enumerate(_called(name, made, feeds)))
        except TreadleError as error:
            if name == TREADLE:
                raise
            timings[name] = Timing(name, why_not=str(error))
            continue
        given = {f"output {number}": value for number, value in outputs.items()}
        expected = expected or given
        found = report.compare(given, expected)
        differs = (
            f"outputs differ from treadle's: {report.show_differences(found)}" if found else ""
        )
        opened[name], timings[name] = made, Timing(name, differs=differs)
    return opened, timings


def _called(name: str, made: OpenContender, feeds: Mapping[str, object]) -> list[Any]:
    try:
        return made.call(feeds)
    except TreadleError:
        raise
    except Exception as error:  # onnxruntime raises several kinds of errors
        if name == TREADLE:
            raise
        raise RunError(str(error).strip().partition("\n")[0] or type(error).__name__) from error


def _with_starts(
    timing: Timing,
    data: bytes,
    feeds: Mapping[str, object],
    threads: int,
    compile_mode: CompileMode,
) -> Timing:
    started = partial(cold_start, timing.name, data, feeds, threads, compile_mode)
    try:
        cold = started(cached=False)
        cached = None
        if timing.name in _CACHED:
            cached = started(cached=True)
    except RunError as error:
        return replace(timing, why_not=str(error))
    return replace(timing, cold=cold, cached=cached)


def _name(model: object) -> str:
    path = os.fsdecode(model) if isinstance(model, str | os.PathLike) else ""
    return "the model" if not path or "\n" in path else os.path.basename(path)


def _machine() -> str:
    """The processor's name, if the system reports it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            lines = (line.partition(":") for line in file)
            return next(value.strip() for name, _, value in lines if name.strip() == "model name")
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
