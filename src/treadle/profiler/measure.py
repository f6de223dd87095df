"""The public function `profile`: measures where the time of a run is spent."""

from __future__ import annotations

import gc
import os
import tempfile
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from treadle.arguments import expect
from treadle.boundary import public
from treadle.errors import InputError
from treadle.ir import operator_of, walk
from treadle.plan import Plan, RunContext
from treadle.profiler.costs import LoopCost, OperatorCost, RegionCost
from treadle.profiler.in_onnxruntime import operator_costs
from treadle.profiler.native import measured_kernels, native_costs
from treadle.profiler.result import RunProfile
from treadle.profiler.sampling import sampled
from treadle.profiler.stopwatch import Span, Stopwatch
from treadle.profiler.watched import Watched
from treadle.report import engine_counts, seconds_compiling
from treadle.session import InferenceSession, Program, Programs
from treadle.variants import PLAIN

__all__ = ["profile"]

_MOST_SECONDS = 2.0
_MOST_REPLANNED = 8
_ORT_RUNS = 6


@public
def profile(model: object, feeds: Mapping[str, object], *, runs: int = 20) -> RunProfile:
    """Measure where the time of a run is spent.

        found = treadle.profile("decoder.onnx", feeds)
        print(found)
        found.write_trace("trace.json")

    `model` is an InferenceSession, whose engines and options are used, or any source of
    `treadle.load`; `feeds` are as for `session.run`. The model is compiled again, with clocks in
    its native code, and run once; the times are means over `runs` further runs, or fewer if these
    take more than two seconds. The session itself is not changed. Regions of onnxruntime are then
    run again with its own profiler, which measures each operator.

    In native code loops are measured, their first, steady and last iterations if one takes 20
    nanoseconds or more, and loop nests and calls of a microsecond or more; what is shorter and
    inside a loop is measured in one of eight runs. Steps below a microsecond are sampled in further
    runs, of 0.2 seconds in all: a timer interrupts the thread (SIGPROF), and the address of the
    code says which steps they are. That takes x86-64 Linux; on processors other than x86-64 only
    regions are measured. Raises the errors of loading and running.
    """
    expect(runs, int, "runs", "a whole number")
    expect(feeds, Mapping, "feeds", "a dict of inputs by name")
    if runs < 1:
        raise InputError(f"runs is {runs}, wanted 1 or more")
    name = _name(model._source if isinstance(model, InferenceSession) else model)
    session = model if isinstance(model, InferenceSession) else InferenceSession(model)
    program, first = _compiled(session._programs.profiled(("jit",), ""), feeds)
    ran, seconds = _watched(program, feeds, runs)
    watch = ran.watch
    kernels = measured_kernels(program.plan)
    samples = sampled(ran, dict(feeds), seconds) if kernels else None
    loops, nests, calls = native_costs(kernels, samples, ran.count)
    spans = watch.all_spans()
    operators = _on_interp(spans, program.plan, ran.count)
    if "onnxruntime" in engine_counts(program.plan):
        operators += _in_onnxruntime(session, program.plan, feeds)
    return RunProfile(
        name,
        seconds,
        ran.count,
        first,
        seconds_compiling(program.plan),
        _regions(spans, ran.count),
        [*loops, *_interpreted(watch, ran.count)],
        nests,
        operators,
        calls,
        [span for span in spans if span.start >= ran.last],
    )


def _compiled(programs: Programs, feeds: Mapping[str, object]) -> tuple[Program, float]:
    """The program, run once and planned again if engines declined; and the compile time."""
    program = programs.of(PLAIN)
    started = time.perf_counter()
    for _ in range(_MOST_REPLANNED):
        declined = _run(program, feeds).declined
        if not declined:
            break
        with programs.lock:
            program = programs.replanned(PLAIN, program, declined) or program
    return program, time.perf_counter() - started


def _watched(program: Program, feeds: Mapping[str, object], runs: int) -> tuple[Watched, float]:
    """Run it several times under a watch; returns the watch, and the seconds of a run."""
    given, ran = dict(feeds), Watched(program)
    began = time.perf_counter()
    while ran.count < runs and (not ran.count or time.perf_counter() - began < _MOST_SECONDS):
        ran.run(given)
    return ran, (time.perf_counter() - began) / ran.count


def _run(program: Program, feeds: Mapping[str, object]) -> RunContext:
    context = RunContext()
    program.run(program.bind(dict(feeds)), context)
    return context


def _regions(spans: Collection[Span], runs: int) -> list[RegionCost]:
    sums: dict[Any, list[int]] = {}
    for span in spans:
        times = sums.setdefault(span.place, [0, 0])
        times[0] += span.end - span.start
        times[1] += 1
    return [
        RegionCost(
            location.path, location.engine, location.operators, ns / runs / 1e9, count / runs
        )
        for location, (ns, count) in sums.items()
        if location.engine != "interp"
    ]


def _on_interp(spans: Collection[Span], plan: Plan, runs: int) -> list[OperatorCost]:
    bodies = {visit.path for visit in walk(plan.model) if not _is_leaf(visit.step)}
    sums: dict[Any, list[int]] = {}
    for span in spans:
        if span.place.engine == "interp" and span.place.path not in bodies:
            times = sums.setdefault(span.place, [0, 0])
            times[0] += span.end - span.start
            times[1] += 1
    return [
        OperatorCost(location.path, location.operators, "interp", ns / runs / 1e9, count / runs)
        for location, (ns, count) in sums.items()
    ]


def _is_leaf(step: Any) -> bool:
    return not getattr(step, "blocks", True)


def _interpreted(watch: Stopwatch, runs: int) -> list[LoopCost]:
    """The loops on interp."""
    costs = []
    for path, times in watch.loops.items():
        first = times.first_ns / times.several / 1e9 if times.several else None
        last = times.last_ns / times.several / 1e9 if times.several else None
        between = times.iterations - 2 * times.several
        rest = times.ns - times.first_ns - times.last_ns
        steady = rest / between / 1e9 if between > 0 else None
        costs.append(LoopCost(
            path, "interp", times.ns / runs / 1e9, times.entries / runs, times.iterations / runs,
            first, steady, last,
        ))  # fmt: skip
    return costs


def _in_onnxruntime(
    session: InferenceSession, plan: Plan, feeds: Mapping[str, object]
) -> list[OperatorCost]:
    """The results of onnxruntime's profiler, which writes when its sessions are destroyed."""
    operators = {visit.path: operator_of(visit.step) for visit in walk(plan.model)}
    with tempfile.TemporaryDirectory() as folder:
        programs = session._programs.profiled(("onnxruntime",), folder)
        for _ in range(_ORT_RUNS):
            _run(programs.of(PLAIN), feeds)
        del programs
        gc.collect()
        return operator_costs(Path(folder), _ORT_RUNS, operators)


def _name(model: object) -> str:
    path = os.fsdecode(model) if isinstance(model, str | os.PathLike) else ""
    return "the model" if not path or "\n" in path else os.path.basename(path)
