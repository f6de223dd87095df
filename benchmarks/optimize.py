"""Times `treadle optimize`'s models in onnxruntime alone: python -m benchmarks.optimize.

Models with one kind of waste each, an exporter's selective scan at three lengths, and every
exporter's model: onnxruntime, one thread, on the model and on the saved optimized one, the answers
compared, calls interleaved, medians of processor time. `--write docs/optimizing.md` renews the
table there.
"""

from __future__ import annotations

import argparse
import functools
import math
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime

import treadle
from benchmarks import show
from benchmarks.columns import Call
from benchmarks.page import put
from benchmarks.timing import CLOCKS, interleave
from tests.conformance.data import EXPORTED, exported
from tests.passes.simplify.models import ITS_ERRORS
from tests.values import assert_same
from treadle.ir import Model

BEGIN, END = "<!-- table -->\n", "<!-- end of table -->\n"
HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
SCAN = "torch_script_mamba_256x16"
LENGTHS = (128, 512, 2048)
Feeds = Mapping[str, object]


@dataclass(frozen=True)
class Row:
    """Seconds of a call before and after."""

    title: str
    before: float
    after: float

    @property
    def ratio(self) -> float:
        """How many times as long it took before."""
        return self.before / self.after


HOISTED = """g (int64 n, float[256,256] a, float[256,256] b, float[256,256] s0)
    => (float[256,256] s) {
    s = Loop (n, "", s0) <body = step (int64 i, bool c, float[256,256] v)
        => (bool d, float[256,256] v2) {
        d = Identity (c) p = MatMul (a, b) v2 = Add (v, p) }> }"""
CARRIED = """g (int64 n, float[512,512] w, float[512] s0) => (float[512,512] w1, float[512] s) {
    w1, s = Loop (n, "", w, s0) <body = step (int64 i, bool c, float[512,512] v, float[512] t)
        => (bool d, float[512,512] v2, float[512] t2) {
        d = Identity (c) v2 = Identity (v) k = Constant <value_int = 0> ()
        r = Gather (v, k) t2 = Add (t, r) }> }"""
LISTED = """g (int64 n, float[64] r) => (float[p,64] y) {
    l0 = SequenceEmpty ()
    l = Loop (n, "", l0) <body = step (int64 i, bool c, seq(float[64]) v)
        => (bool d, seq(float[64]) v2) {
        d = Identity (c) f = Cast <to = 1> (i) e = Add (r, f) v2 = SequenceInsert (v, e) }>
    y = ConcatFromSequence <axis = 0, new_axis = 1> (l) }"""
APPENDED = """g (int64 n, float[0,64] x, float[1,64] r) => (float[p,64] y) {
    y = Loop (n, "", x) <body = step (int64 i, bool c, float[p,64] v)
        => (bool d, float[q,64] v2) {
        d = Identity (c) f = Cast <to = 1> (i) e = Add (r, f) v2 = Concat <axis = 0> (v, e) }> }"""
WRITTEN = """g (float[1000,256] x, float[1,256] r) => (float[1000,256] y) {
    n = Constant <value_int = 1000> () one = Constant <value_ints = [1, 1]> ()
    y = Loop (n, "", x) <body = step (int64 i, bool c, float[1000,256] v)
        => (bool d, float[1000,256] v2) {
        d = Identity (c) f = Cast <to = 1> (i) e = Add (r, f)
        at = Reshape (i, one) v2 = ScatterND (v, at, e) }> }"""
READ = """g (float[1000,64] x, float[1000,64] y, float[1000,64] z, float[64] s0)
    => (float[64] s, float[1000,64] all) {
    n = Constant <value_int = 1000> ()
    s, all = Loop (n, "", s0) <body = step (int64 i, bool c, float[64] v)
        => (bool d, float[64] v2, float[64] e) {
        d = Identity (c) p = Gather (x, i) q = Gather (y, i) r = Gather (z, i)
        m = Mul (v, p) v2 = Add (m, q) e = Mul (v2, r) }> }"""


def some(*shape: int) -> np.ndarray:
    """Numbers from 0 to 1, the same for the same shape."""
    return np.random.default_rng(1).random(shape, np.float32)


def wasteful() -> list[tuple[str, str, Feeds]]:
    """A title, a text and feeds for each kind of waste."""
    square, items = some(256, 256), {name: some(1000, 64) for name in "xyz"}
    found = [
        (
            "a product of weights in every step, 100 steps",
            HOISTED,
            {"n": np.array(100), "a": square, "b": square, "s0": square},
        ),
        (
            "weights of 1 MB carried unchanged, 1,000 steps",
            CARRIED,
            {"n": np.array(1000), "w": some(512, 512), "s0": some(512)},
        ),
        (
            "a list of 2,000 rows made by SequenceInsert",
            LISTED,
            {"n": np.array(2000), "r": some(64)},
        ),
        (
            "2,000 rows appended by Concat",
            APPENDED,
            {"n": np.array(2000), "x": some(0, 64), "r": some(1, 64)},
        ),
        (
            "1,000 rows of a table of 1 MB written by ScatterND",
            WRITTEN,
            {"x": some(1000, 256), "r": some(1, 256)},
        ),
        ("three tensors read item by item, 1,000 steps", READ, {**items, "s0": some(64)}),
    ]
    return [(title, HEAD + text, feeds) for title, text, feeds in found]


def call_of(model: Model, feeds: Feeds) -> Call:
    """onnxruntime on a model, on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        treadle.save(model, path)
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return functools.partial(session.run, None, dict(feeds))


def measured(title: str, model: Model, feeds: Feeds, seconds: float) -> Row:
    """Both models on the feeds; an assertion that they give the same."""
    calls = {"before": call_of(model, feeds), "after": call_of(treadle.optimize(model), feeds)}
    before, after = (call() for call in calls.values())
    assert_same(after, before, [str(k) for k in range(len(before))])
    return Row(title, **interleave(calls, seconds, CLOCKS["processor"]))


def selective_scan(length: int) -> Feeds:
    """Feeds for the exporter's scan."""
    random = np.random.default_rng(length)
    widths = {"u": 256, "dt": 256, "B": 16, "C": 16}
    return {name: random.random((1, length, width), np.float32) for name, width in widths.items()}


def exporters(seconds: float) -> list[Row]:
    """Every exporter's model that onnxruntime takes and `optimize` changes."""
    rows = []
    for name in EXPORTED:
        path, inputs, _ = exported(name)
        model = treadle.load(path)
        if treadle.optimize(model) is model:
            continue
        try:
            call_of(model, inputs)()
        except ITS_ERRORS as error:
            sys.stderr.write(f"{name}: {str(error)[:100]}\n")
            continue
        rows.append(measured(name, model, inputs, seconds))
    return rows


def mean(rows: Sequence[Row]) -> float:
    """The geometric mean of the ratios."""
    return math.exp(sum(math.log(row.ratio) for row in rows) / len(rows))


def table(rows: Sequence[Row], others: Sequence[Row]) -> str:
    """The figures as Markdown."""
    slowest, *_, fastest = sorted(others, key=lambda row: row.ratio)
    lines = [
        "| model | before | after | times faster |",
        "|---|---:|---:|---:|",
        *(
            f"| {r.title} | {time_of(r.before)} | {time_of(r.after)} | {r.ratio:.1f} |"
            for r in rows
        ),
        "",
        f"The {len(others)} exporters' models it changes, at their small sizes, are",
        f"{mean(others):.2f} times faster in the geometric mean: from {slowest.ratio:.2f}",
        f"(`{slowest.title}`) to",
        f"{fastest.ratio:.2f} (`{fastest.title}`).",
        "",
        ", ".join(f"{key} {value}" for key, value in show.machine().items())
        + "; one thread, processor time.",
    ]
    return "\n".join(lines) + "\n"


def time_of(seconds: float) -> str:
    """Seconds or milliseconds, in words."""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1e3 * seconds:.2f} ms"


def main() -> None:
    """Measure, print or write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.optimize", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="how long to measure a model")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    rows = [
        measured(title, treadle.load(text), feeds, options.seconds)
        for title, text, feeds in wasteful()
    ]
    scan = treadle.load(exported(SCAN)[0])
    for length in LENGTHS:
        title = f"{SCAN}, which slices the whole input in every step, {length} steps"
        rows.append(measured(title, scan, selective_scan(length), options.seconds))
    written = table(rows, exporters(options.seconds / 3))
    put(written, options.write, BEGIN, END)


if __name__ == "__main__":
    main()
