"""Times two forms of one loop in onnxruntime: python -m benchmarks.alternatives.

A Loop that gathers item i of its tensors, or a Scan that slices them; an If in a loop, or both
branches and a Where. One thread, answers compared, calls interleaved, medians of processor time.
`--write docs/optimizing.md` renews the table there.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import treadle
from benchmarks.optimize import HEAD, Feeds, Row, call_of, time_of
from benchmarks.page import put
from benchmarks.timing import CLOCKS, interleave
from tests.values import assert_same

BEGIN, END = "<!-- alternatives -->\n", "<!-- end of alternatives -->\n"
ITEMS = ((1, 16), (3, 16), (3, 256), (3, 1024), (1, 4096), (3, 4096), (3, 16384))
BRANCHES = ((0, 1), (0, 1024), (1, 1), (1, 1024), (3, 1), (3, 16384))
STEPS = 500


def items(count: int, size: int) -> tuple[str, str, Feeds]:
    """A loop over `count` tensors of items of this size: as Loop and as Scan."""
    names = [f"x{k}" for k in range(count)]
    tensors = ", ".join(f"float[{STEPS},{size}] {name}" for name in names)
    sums = " ".join(f"a{k + 1} = Add (a{k}, r{k})" for k in range(count))
    work = f"a0 = Mul (v, v) {sums} w = Sin (a{count}) e = Neg (w)"
    gathers = " ".join(f"r{k} = Gather ({name}, i)" for k, name in enumerate(names))
    rows = ", ".join(f"float[{size}] r{k}" for k in range(count))
    state, made = f"float[{size}] v", f"float[{size}] w, float[{size}] e"
    head = f"{HEAD}g ({tensors}, float[{size}] s0) => (float[{size}] s, float[{STEPS},{size}] z)"
    loop = f"""{head} {{ n = Constant <value_int = {STEPS}> ()
        s, z = Loop (n, "", s0) <body = b (int64 i, bool c, {state}) => (bool d, {made}) {{
            d = Identity (c) {gathers} {work} }}> }}"""
    scan = f"""{head} {{ s, z = Scan (s0, {", ".join(names)}) <num_scan_inputs = {count},
        body = b ({state}, {rows}) => ({made}) {{ {work} }}> }}"""
    random = np.random.default_rng(size)
    feeds = {name: random.random((STEPS, size), np.float32) for name in names}
    return loop, scan, {**feeds, "s0": random.random(size, np.float32)}


def branches(steps: int, size: int) -> tuple[str, str, Feeds]:
    """A loop that chooses between two sequences of steps, by If and by Where."""

    def way(op: str, last: str) -> str:
        names = ["v", *(f"{last}{k}" for k in range(1, steps)), last]
        lines = [f"{b} = {op} ({a}, q)" for a, b in itertools.pairwise(names)]
        return " ".join(lines) if steps else f"{last} = Identity (v)"

    tensor = f"float[{size}]"
    head = f"""{HEAD}g ({tensor} s0, {tensor} q) => ({tensor} s) {{
        n = Constant <value_int = {STEPS}> () two = Constant <value_int = 2> ()
        s = Loop (n, "", s0) <body = b (int64 i, bool c, {tensor} v) => (bool d, {tensor} w) {{
            d = Identity (c) m = Mod (i, two) t = Cast <to = 9> (m)"""
    one, other = way("Add", "kept"), way("Sub", "other") if steps else "other = Identity (q)"
    chosen = f"""{head} w = If (t) <then_branch = a () => ({tensor} kept) {{ {one} }},
        else_branch = e () => ({tensor} other) {{ {other} }}> }}> }}"""
    where = f"{head} {one} {other} w = Where (t, kept, other) }}> }}"
    random = np.random.default_rng(size)
    return chosen, where, {name: random.random(size, np.float32) for name in ("s0", "q")}


def compared(title: str, first: str, second: str, feeds: Feeds, seconds: float) -> Row:
    """Both forms on the feeds; an assertion that they give the same."""
    calls = {
        name: call_of(treadle.load(text), feeds)
        for name, text in (("before", first), ("after", second))
    }
    one, other = (call() for call in calls.values())
    assert_same(other, one, [str(k) for k in range(len(one))])
    return Row(title, **interleave(calls, seconds, CLOCKS["processor"]))


def rows(seconds: float) -> Iterator[Row]:
    """Every pair, measured."""
    for count, size in ITEMS:
        title = f"Loop, or Scan over {count} x {size} floats a step"
        yield compared(title, *items(count, size), seconds)
    for steps, size in BRANCHES:
        title = f"If, or Where after {steps} steps in each branch, {size} floats"
        yield compared(title, *branches(steps, size), seconds)


def main() -> None:
    """Measure, print or write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.alternatives", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="how long to measure a pair")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    lines = ["| form, or other form | form | other | times faster |", "|---|---:|---:|---:|"]
    for row in rows(options.seconds):
        times = f"{time_of(row.before)} | {time_of(row.after)}"
        lines.append(f"| {row.title} | {times} | {row.ratio:.2f} |")
    written = "\n".join(lines) + "\n"
    put(written, options.write, BEGIN, END)


if __name__ == "__main__":
    main()
