"""python -m benchmarks.lowering: what lowering by attempts takes of first calls.

A loop's body is lowered again where an extent of a carried value changes, and a region where
sequences become their parts; an operator that declines becomes a host call, whose result may be
tried on zeros and ones. For each model: the first call, lowering in it, what of that is dropped,
and how long inference of the region with the run's shapes takes instead. Processor time, without
the disk cache, the least of --rounds; --forms measures all forms of the suite's models too.
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

if __name__ == "__main__":
    os.environ["TREADLE_CACHE_DIR"] = ""
    os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"

import treadle
from benchmarks.forms import WRITTEN, drafts
from benchmarks.models import BENCHMARKS
from benchmarks.subjects import subjects
from treadle.infer import infer
from treadle.ir import Model, Tensor
from treadle.jit.lowering import block, host_call, loop
from treadle.jit.runtime import compilation, specialize

_COUNTED = ("loops", "attempts", "declined", "tried", "scalarized")


@dataclass
class Taken:
    """Seconds of a first call and parts of it, and how often each kind of attempt was made."""

    call: float = 0.0
    lowering: float = 0.0
    dropped: float = 0.0
    trials: float = 0.0
    inference: float = 0.0
    loops: int = 0
    attempts: int = 0
    declined: int = 0
    tried: int = 0
    scalarized: int = 0


taken = Taken()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure every model and print those that drop something, and the sums."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lowering", description=__doc__)
    parser.add_argument("--forms", action="store_true", help="all forms of the suite's models")
    parser.add_argument("--match", default="", help="only models whose name has this in it")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured")
    options = parser.parse_args(arguments)
    _watch()
    found: dict[str, Taken] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model, feed in _models(forms=options.forms):
            if options.match in name:
                try:
                    found[name] = _least(options.rounds, model, feed)
                except treadle.TreadleError:
                    continue
    _print(found)
    return 0


def _models(*, forms: bool) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    for name, benchmark in BENCHMARKS.items():
        made = benchmark.make(benchmark.n)
        yield name, made.model, made.feed
        for form, draft in drafts(made.model, made.feed, None).items() if forms else ():
            inputs = {value.name for value in draft.model.graph.input}
            feed = {key: value for key, value in draft.feed.items() if key in inputs}
            if form != WRITTEN:
                yield f"{name}, {form}", draft.model.SerializeToString(), feed
    for subject in subjects(["exporters"]):
        yield subject.name, subject.model, subject.feed


def _least(rounds: int, model: Any, feed: Mapping[str, Any]) -> Taken:
    runs = [_first_call(model, feed) for _ in range(rounds)]
    fields = ("call", "lowering", "dropped", "trials", "inference")
    return replace(runs[0], **{name: min(getattr(run, name) for run in runs) for name in fields})


def _first_call(model: Any, feed: Mapping[str, Any]) -> Taken:
    global taken
    taken = Taken()
    compilation._recent.clear()
    start = time.process_time()
    session = treadle.InferenceSession(model, treadle.SessionOptions(intra_op_num_threads=1))
    session.run(None, feed)
    found = replace(taken, call=time.process_time() - start)
    for runnable in (region.runnable for region in session.plan.main.regions):
        for signature in getattr(getattr(runnable, "cache", None), "compiled", ()):
            found.inference += _inference(runnable.region, signature)
    return found


def _inference(region: Any, signature: Sequence[Any]) -> float:
    """The seconds of inference of a region for the types of a run."""
    types = [
        None if dtype is None else Tensor(dtype, tuple(n if n >= 0 else None for n in shape))
        for dtype, shape, *_ in signature
    ]
    own = region.block()
    params = tuple(
        value if type_ is None else replace(value, declared=type_, inferred=None)
        for value, type_ in zip(own.params, types, strict=True)
    )
    start = time.process_time()
    infer(Model(replace(own, params=params)))
    return time.process_time() - start


def _watch() -> None:
    """Have the functions of lowering say how long they take."""
    specialize.specialize = _timed(specialize.specialize, "lowering")
    from treadle.jit.runtime import region_compiler

    region_compiler.specialize = specialize.specialize
    specialize.scalarize_sequences = _timed(specialize.scalarize_sequences, "", "scalarized")
    block.lower_loop = _timed(block.lower_loop, "", "loops")
    loop._write = _attempted(loop._write)
    block._called = _timed(block._called, "", "declined")
    host_call._tried = _timed(host_call._tried, "trials", "tried")


def _timed(function: Callable[..., Any], sum_: str, count: str = "") -> Callable[..., Any]:
    """The function, which adds its seconds and calls to the numbers of these names."""

    @functools.wraps(function)
    def timed(*given: Any, **named: Any) -> Any:
        start = time.process_time()
        try:
            return function(*given, **named)
        finally:
            if sum_:
                setattr(taken, sum_, getattr(taken, sum_) + time.process_time() - start)
            if count:
                setattr(taken, count, getattr(taken, count) + 1)

    return timed


def _attempted(write: Callable[..., Any]) -> Callable[..., Any]:
    """Lowering of a body, which counts as dropped once the same loop is lowered again."""
    last: dict[Any, tuple[float, float]] = {}

    @functools.wraps(write)
    def attempted(builder: Any, made: Any, step: Any, *rest: Any) -> Any:
        taken.attempts += 1
        key = id(taken), builder.block, step.info.path
        if key in last:
            before, seconds = last[key]
            taken.dropped = before + seconds
        before, start = taken.dropped, time.process_time()
        try:
            return write(builder, made, step, *rest)
        finally:
            last[key] = before, time.process_time() - start

    return attempted


def _print(found: Mapping[str, Taken]) -> None:
    words = " ".join(f"{word:>10}" for word in _COUNTED)
    print(f"{'model':44} {'call':>7} {'lower':>6} {'drop':>6} {'try':>6} {'infer':>6} {words}")
    rows = sorted(found.items(), key=lambda each: -(each[1].dropped + each[1].trials))
    for name, each in rows:
        if each.dropped or each.tried or each.scalarized:
            print(_row(name, each))
    total = Taken(
        **{name: sum(getattr(each, name) for each in found.values()) for name in vars(Taken())}
    )
    print(_row(f"sum of {len(found)} models", total))
    lowered = [each.lowering / each.call for each in found.values()]
    lost = [(each.dropped + each.trials) / each.call for each in found.values()]
    print(
        f"lowering is {np.median(lowered):.1%} of a first call in the median; what is dropped or"
        f" tried {np.mean(lost):.2%} in the mean and {max(lost):.1%} at most"
    )


def _row(name: str, each: Taken) -> str:
    seconds = (each.call, each.lowering, each.dropped, each.trials, each.inference)
    counts = " ".join(f"{getattr(each, word):10}" for word in _COUNTED)
    return (
        f"{name:44.44} {seconds[0] * 1e3:7.1f} "
        + " ".join(f"{each * 1e3:6.2f}" for each in seconds[1:])
        + f" {counts}"
    )


if __name__ == "__main__":
    sys.exit(main())
