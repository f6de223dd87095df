"""Counts how often `treadle.compare` names the step and iteration of a planted fault.

    python -m tools.plant_faults --seed 1 [--each 25] [--got jit] [--wanted interp] [FOLDER]

Faults are planted in the tool's own models with nested loops, and in those of FOLDER, NAME.onnx
beside NAME.npz with inputs as `in:NAME`. A fault that alters no value, or with which the model does
not run, is drawn anew. What is right is told by the events of interp: the first that differs.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import treadle
from tools.exposing import cases
from tools.plant_faults.kinds import KINDS, Planted, placed
from tools.plant_faults.models import MODELS
from treadle.comparing.unequal import Bounds, same
from treadle.errors import TreadleError
from treadle.infer import infer
from treadle.ir import Loop, Model, walk_block
from treadle.tracing import BranchTaken, Kind, LoopEnded, ValueMade, selectables

_TRIES = 60
_LONGEST = 0.1
"""Seconds that a model may run on interp, so that hundreds of faults are looked at in minutes."""


def subjects(folder: Path | None) -> Iterator[tuple[str, Model, Mapping[str, Any]]]:
    """Models with loops and branches that interp runs quickly, with inputs."""
    for name, text, feeds in MODELS:
        yield name, treadle.load(text), feeds
    for name, source, feeds in () if folder is None else cases(folder):
        model = treadle.load(source)
        if not any(isinstance(visit.step, Loop) for visit in walk_block(model.main)):
            continue
        started = time.perf_counter()
        try:
            treadle.InferenceSession(model, engines=["interp"]).run(None, feeds)
        except TreadleError:
            continue
        if time.perf_counter() - started < _LONGEST:
            yield name, model, feeds


def events(model: Model, feeds: Mapping[str, Any]) -> list[Any]:
    """What interp makes of constants and inputs, one event after the other."""
    heard: list[Any] = []
    made = (Kind.MADE, Kind.CARRIED, Kind.SLICED)
    kept = {(item.path, item.name) for item in selectables(model) if item.kind in made}

    def hear(event: object) -> None:
        is_made = isinstance(event, ValueMade) and (event.path, event.name) in kept
        if is_made or isinstance(event, LoopEnded | BranchTaken):
            heard.append(event)

    options = treadle.RunOptions(max_iterations=100_000)
    session = treadle.InferenceSession(model, engines=["interp"])
    session.run(None, feeds, options, listener=hear)
    return heard


def truth(bad: list[Any], good: list[Any]) -> tuple[int, ...] | None:
    """The iterations in which the first event differs; None where none does."""
    ours = [e for e in bad if not _is_planted(e)]
    bounds = Bounds()
    for one, other in zip(ours, good, strict=False):
        if type(one) is not type(other) or one.path != other.path:
            return tuple(other.iterations)
        if one.iterations != other.iterations:
            return min(tuple(one.iterations), tuple(other.iterations))
        if isinstance(one, ValueMade):
            if one.name != other.name or not same(one.value, other.value, bounds):
                return tuple(other.iterations)
        elif one != other:
            return tuple(other.iterations)
    return None if len(ours) == len(good) else tuple(good[-1].iterations)


def _is_planted(event: Any) -> bool:
    return isinstance(event, ValueMade) and event.name.startswith("planted")


def judged(
    planted: Planted, model: Model, feeds: Mapping[str, Any], at: tuple[int, ...], sides: list[str]
) -> tuple[bool, str]:
    """Whether compare names the culprit and the iteration, and what it said."""
    found = treadle.compare((planted.model, sides[0]), (model, sides[1]), feeds).first
    if found is None:
        return False, "nothing"
    is_right = found.path in planted.culprits
    depth = min(len(at), len(found.iterations))
    in_time = tuple(found.iterations[:depth]) == at[:depth]
    said = f"{found.path} {list(found.iterations)}, wanted {sorted(planted.culprits)} {list(at)}"
    return is_right and in_time, said


def main() -> int:
    """Plant and ask; 1 where the rates are too low."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=25)
    parser.add_argument("--got", default="jit")
    parser.add_argument("--wanted", default="interp")
    parser.add_argument("--kind", choices=tuple(KINDS))
    given = parser.parse_args()
    rng = random.Random(given.seed)
    pool = [(n, placed(infer(m)), f) for n, m, f in subjects(given.folder)]
    print(f"{len(pool)} models", flush=True)
    heard = {name: events(model, feeds) for name, model, feeds in pool}
    right: Counter[str] = Counter()
    planted: Counter[str] = Counter()
    for kind in [given.kind] if given.kind else KINDS:
        for _ in range(_TRIES * given.each):
            if planted[kind] == given.each:
                break
            name, model, feeds = rng.choice(pool)
            made = KINDS[kind](model, rng)
            at = None if made is None else _altered(made, feeds, heard[name])
            if made is None or at is None:
                continue
            planted[kind] += 1
            try:
                is_right, said = judged(made, model, feeds, at, [given.got, given.wanted])
            except TreadleError as error:
                is_right, said = False, str(error)[:200]
            right[kind] += is_right
            if not is_right:
                print(f"{kind} in {name}: {said}", flush=True)
    for kind, count in planted.items():
        print(f"{kind:14} {right[kind]:3} of {count}")
    total = sum(planted.values())
    print(f"{'all':14} {sum(right.values()):3} of {total}")
    low = [k for k, count in planted.items() if right[k] < 0.9 * count]
    return int(bool(low) or sum(right.values()) < 0.95 * total)


def _altered(planted: Planted, feeds: Mapping[str, Any], good: list[Any]) -> tuple[int, ...] | None:
    try:
        return truth(events(planted.model, feeds), good)
    except (TreadleError, ValueError):
        return None


if __name__ == "__main__":
    sys.exit(main())
