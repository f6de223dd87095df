"""Stacked LSTMs with one thread and with two: python -m benchmarks.stacks.

Four layers over 500 steps, written as four Scans and as four Loops, plain and with a linear layer,
an activation and a residual between them. Calls of both sessions take turns; the least wall time of
each counts, since other programs use the machine too. The answers must have the same bits.
"""

from __future__ import annotations

import argparse
import os
import re
import time
from collections.abc import Callable, Sequence

import numpy as np

import treadle
from benchmarks.models.recurrent import lstm_step
from benchmarks.registry import random, uniform

LAYERS, STEPS, SIZES = 4, 500, (128, 256)


def scan(k: int, size: int) -> str:
    """Layer k as a Scan."""
    state = f"float[1, {size}]"
    return f"""h{k}, c{k}, y{k} = Scan <num_scan_inputs = 1, body = cell{k}
      ({state} h, {state} c, {state} xt) => ({state} ho, {state} co, {state} y) {{
        {lstm_step(k)}
      }}> (zero, zero, x{k})"""


def loop(k: int, size: int) -> str:
    """Layer k as a Loop that gathers its item."""
    state = f"float[1, {size}]"
    return f"""h{k}, c{k}, y{k} = Loop <body = cell{k}
      (int64 t, bool go, {state} h, {state} c)
      => (bool on, {state} ho, {state} co, {state} y) {{
        on = Identity (go)
        xt = Gather <axis = 0> (x{k}, t)
        {lstm_step(k)}
      }}> (trips, , zero, zero)"""


FORMS: dict[str, Callable[[int, int], str]] = {"Scans": scan, "Loops": loop}


def model(form: str, size: int, layers: int = LAYERS, between: bool = False) -> str:
    """Stacked LSTMs; `between`: a linear layer, Relu and a residual follow each but the last."""
    wide, lines = 4 * size, []
    given = [f"float[T, 1, {size}] x0", f"float[1, {size}] zero"]
    for k in range(layers):
        given += [f"float[{size}, {wide}] {name}{k}" for name in "WR"] + [f"float[{wide}] B{k}"]
        lines.append(FORMS[form](k, size))
        if k + 1 == layers:
            break
        if between:
            given.append(f"float[{size}, {size}] L{k}")
            lines += [f"l{k} = MatMul (y{k}, L{k})", f"r{k} = Relu (l{k})",
                      f"x{k + 1} = Add (r{k}, x{k})"]  # fmt: skip
    body = "\n      ".join(lines)
    if not between:
        body = re.sub(r"\bx([1-9])", lambda found: f"y{int(found[1]) - 1}", body)
    return f"""<ir_version: 10, opset_import: ["" : 22]>
    g ({", ".join(given)}) => (float[T, 1, {size}] y{layers - 1}) {{
      zeroth = Constant <value = int64 {{0}}> ()
      shape = Shape (x0)
      trips = Gather <axis = 0> (shape, zeroth)
      {body}
    }}"""


def feed(
    size: int, steps: int, layers: int = LAYERS, between: bool = False
) -> dict[str, np.ndarray]:
    """The inputs of such a model."""
    made, scale = random(11), 1 / np.sqrt(size)
    found = {"x0": uniform(made, steps, 1, size), "zero": np.zeros((1, size), np.float32)}
    for k in range(layers):
        found[f"W{k}"] = uniform(made, size, 4 * size, scale=scale)
        found[f"R{k}"] = uniform(made, size, 4 * size, scale=scale)
        found[f"B{k}"] = uniform(made, 4 * size)
        if between and k + 1 < layers:
            found[f"L{k}"] = uniform(made, size, size, scale=scale)
    return found


def seconds(
    text: str, given: dict[str, np.ndarray], threads: Sequence[int], rounds: int
) -> list[float]:
    """The least wall time of a call with each number of threads, in turn; the bits are equal."""
    calls = []
    for count in threads:
        options = treadle.SessionOptions(intra_op_num_threads=count)
        calls.append(treadle.InferenceSession(text, options))
    wanted = calls[0].run(None, given)
    least = [float("inf")] * len(calls)
    for _ in range(rounds):
        for number, session in enumerate(calls):
            started = time.perf_counter()
            found = session.run(None, given)
            least[number] = min(least[number], time.perf_counter() - started)
            assert all(a.tobytes() == b.tobytes() for a, b in zip(found, wanted, strict=True))
    return least


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure every form and size, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args(arguments)
    for size in options.sizes:
        for form in FORMS:
            for between in (False, True):
                given = feed(size, STEPS, between=between)
                text = model(form, size, between=between)
                one, more = seconds(text, given, (1, options.threads), options.rounds)
                name = f"{LAYERS} {form} of {size}{' and layers between' * between}"
                print(f"{name:<38} {one * 1e3:7.2f} ms, {options.threads} threads "
                      f"{more * 1e3:7.2f} ms: {one / more:.2f} times; "
                      f"load {os.getloadavg()[0]:.1f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
