"""Processor time of each rewrite alone, on models of 20,000 and 40,000 nodes.

    python -m tools.rewrite_growth [NAME ...]

Flat models, and models of bodies of 100 nodes. Loading, inference and saving are left out; both
sizes run by turns, and the least of three runs counts, of nine where three are over. Exit code 1
where a rewrite takes more than 3 s for 20,000 nodes, or more than 2.2 times as long for 40,000.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import treadle
from treadle import surgery
from treadle.ir import Model
from treadle.passes import REWRITES

SIZES = (20_000, 40_000)
_BODY = 100
_MOST_SECONDS, _MOST_GROWTH = 3.0, 2.2
_ROUNDS, _MOST_ROUNDS = 3, 9
_INFERENCE = ("certain_facts", "infer")


def flat(nodes: int) -> str:
    """The text of a chain of nodes."""
    return _text(_chain("x", "v", nodes), f"v{nodes - 1}")


def nested(nodes: int) -> str:
    """The text of loops with bodies of 100 nodes."""
    loops, current = [], "x"
    for number in range(nodes // _BODY):
        steps = _chain("s", "b", _BODY - 2)
        loops.append(
            f'l{number} = Loop (k, "", {current}) <body = f (int64 i, bool g, float[T] s)'
            f" => (bool o, float[T] r) {{ o = Identity (g) {steps} r = Neg (b{_BODY - 3}) }}>"
        )
        current = f"l{number}"
    return _text("\n".join(loops), current)


def _chain(first: str, name: str, nodes: int) -> str:
    reads = (first, *(f"{name}{k}" for k in range(nodes)))
    return "\n".join(
        f"{name}{k} = {'Add' if k % 2 else 'Mul'} ({reads[k]}, w)" for k in range(nodes)
    )


def _text(steps: str, last: str) -> str:
    return (
        '<ir_version: 8, opset_import: ["" : 17]>\n'
        "g (float[T] x, float[T] w) => (float[T] y) {\n k = Constant <value = int64 {1}> ()\n"
        f"{steps}\n y = Identity ({last})\n}}"
    )


def _named(name: str) -> Callable[[Model], object]:
    options: dict[str, Any] = {"capacity": 8} if name == "static-cache" else {}
    return lambda model: treadle.rewrite(model, name, **options)


ALL: Mapping[str, Callable[[Model], object]] = {
    "unroll": lambda model: treadle.unroll(model, max_nodes=10**6),
    "unroll by=2": lambda model: treadle.unroll(model, by=2, max_nodes=10**6),
    "specialize": lambda model: treadle.specialize(model, dims={"T": 3}),
    "reroll": treadle.reroll,
    "convert_version": lambda model: treadle.convert_version(model, 11),
    "convert_dtype": lambda model: treadle.convert_dtype(model, "float16"),
    "surgery.rename": lambda model: surgery.rename(model, {"x": "xx"}, prefix="p/"),
    "surgery.extract": lambda model: surgery.extract(model, inputs=["x", "w"], outputs=["y"]),
    "surgery.merge": lambda model: surgery.merge(
        model, surgery.rename(model, {}, prefix="q/"), {"y": "q/x"}
    ),
    "surgery.inline": surgery.inline,
    **{name: _named(name) for name in REWRITES},
}


class _Inference:
    """Counts the processor time of inference, which is not a rewrite's own."""

    def __init__(self) -> None:
        self.seconds = 0.0
        infer = importlib.import_module("treadle.infer")
        for name in _INFERENCE:
            plain = getattr(infer, name)
            for module in [m for key, m in sys.modules.items() if key.startswith("treadle.")]:
                if getattr(module, name, None) is plain:
                    setattr(module, name, self._counted(plain))

    def _counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: Any, **named: Any) -> Any:
            start = time.process_time()
            try:
                return function(*given, **named)
            finally:
                self.seconds += time.process_time() - start

        return counted


def seconds(rewrite: Callable[[Model], object], text: str, inference: _Inference) -> float:
    """The processor time of one run of the rewrite alone."""
    model = treadle.load(text)
    gc.collect()
    inference.seconds, start = 0.0, time.process_time()
    with contextlib.suppress(treadle.Unsupported):  # a refusal takes its time too
        rewrite(model)
    return time.process_time() - start - inference.seconds


def measured(
    rewrite: Callable[[Model], object], kind: Callable[[int], str], inference: _Inference
) -> tuple[float, float]:
    """The least seconds for each size, of more rounds where they are over the bounds."""
    texts = [kind(size) for size in SIZES]
    best = [float("inf")] * len(SIZES)
    for done in range(1, _MOST_ROUNDS + 1):
        found = (seconds(rewrite, text, inference) for text in texts)
        best = [min(pair) for pair in zip(best, found, strict=True)]
        if done >= _ROUNDS and not is_over(*best):
            break
    small, large = best
    return small, large


def is_over(small: float, large: float) -> bool:
    """Whether a rewrite is slow, or grows faster than its models."""
    return small > _MOST_SECONDS or large > _MOST_GROWTH * small


def main() -> int:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ALL))
    given = parser.parse_args()
    inference, slow = _Inference(), 0
    print(f"{'':24}{SIZES[0]:>10}{SIZES[1]:>10}{'times':>8}")
    for kind in (flat, nested):
        for name in given.names or ALL:
            small, large = measured(ALL[name], kind, inference)
            is_slow = is_over(small, large)
            slow += is_slow
            told = f"{kind.__name__} {name}"
            line = f"{told:24}{small:>10.2f}{large:>10.2f}{large / small:>8.2f}"
            print(line, "over" if is_slow else "", flush=True)
    return int(slow > 0)


if __name__ == "__main__":
    raise SystemExit(main())
