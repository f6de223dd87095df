"""Random models for the rewrites that few random programs of `tests/strategies` are for.

Each has feeds for any number of trips: recurrent operators with any options, Scans of opset 8,
Loops that gather one item an iteration, Ifs that cannot fail, and caches that grow by Concat.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import treadle
from tests.passes.rewrites.recurrent.operators import ACTIVATIONS, operator
from treadle.ir import Model

Feeds = Mapping[str, np.ndarray]
_UNARY = ("Abs", "Neg", "Tanh", "Sigmoid", "Sin", "Relu", "Identity")
_BINARY = ("Add", "Sub", "Mul", "Max", "Min")
_WIDTH = 3


class Drawn(NamedTuple):
    """A model, the feeds of a number of trips, and a text for messages."""

    model: Model
    feeds: Callable[[int], Feeds]
    text: str


def drawn(form: str, count: int, number: int) -> Sequence[Drawn]:
    """Models of a form, the same for the same number."""
    rng = np.random.default_rng([number, *form.encode()])
    return [FORMS[form](rng) for _ in range(count)]


def _of_text(text: str, feeds: Callable[[int], Feeds]) -> Drawn:
    return Drawn(treadle.load(text), feeds, text)


def _pick(rng: np.random.Generator, options: Sequence[Any]) -> Any:
    return options[rng.integers(len(options))]


def _numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return (rng.standard_normal(shape) * 0.7).astype(np.float32)


def _steps(rng: np.random.Generator, known: Sequence[str], prefix: str) -> tuple[str, list[str]]:
    """A few steps of one shape over the known values, and all values."""
    values, lines = list(known), []
    for k in range(rng.integers(1, 5)):
        name, op = f"{prefix}{k}", _pick(rng, _UNARY + _BINARY)
        given = [_pick(rng, values) for _ in range(1 + (op in _BINARY))]
        lines.append(f"{name} = {op} ({', '.join(given)})")
        values.append(name)
    return " ".join(lines), values


def _recurrent(rng: np.random.Generator) -> Drawn:
    op = _pick(rng, ("RNN", "GRU", "LSTM"))
    direction = _pick(rng, ("forward", "reverse", "bidirectional"))
    batch, layout = int(rng.integers(1, 3)), int(rng.integers(2))
    options: dict[str, Any] = {
        "direction": direction, "batch": batch, "features": int(rng.integers(1, 4)),
        "hidden": int(rng.integers(1, 4)), "biases": bool(rng.integers(2)),
        "initial": bool(rng.integers(2)), "layout": layout, "constants": bool(rng.integers(2)),
    }  # fmt: skip
    if op == "LSTM":
        options |= {"peepholes": bool(rng.integers(2)), "input_forget": int(rng.integers(2))}
    if op == "GRU":
        options["linear_before_reset"] = int(rng.integers(2))
    if rng.integers(3) == 0:
        options["clip"] = 0.8
    if rng.integers(3) == 0:
        plain = [name for name, alphas, betas in ACTIVATIONS if not alphas and not betas]
        each = {"RNN": 1, "GRU": 2, "LSTM": 3}[op] * (2 if direction == "bidirectional" else 1)
        options["activations"] = [_pick(rng, plain) for _ in range(each)]
    has_lengths = bool(rng.integers(2))
    trips = _pick(rng, (1, 2, 5))
    lengths = rng.integers(0, trips + 1, batch).tolist() if has_lengths else None
    model, feeds = operator(op, trips=trips, lengths=lengths, opset=17, **options)
    return Drawn(model, lambda _: feeds, f"{op} {trips} {lengths} {options}")


def _scan8(rng: np.random.Generator) -> Drawn:
    lines, values = _steps(rng, ("h", "e"), "t")
    following, row = (_pick(rng, values[2:]) for _ in range(2))
    batch = int(rng.integers(1, 4))
    text = f"""<ir_version: 3, opset_import: ["" : 8]>
g (float[{batch},{_WIDTH}] s, float[{batch},T,{_WIDTH}] x)
    => (float[{batch},{_WIDTH}] y, float[{batch},T,{_WIDTH}] rows) {{
  y, rows = Scan <num_scan_inputs = 1, directions = [{rng.integers(2)}],
      body = b (float[{_WIDTH}] h, float[{_WIDTH}] e) => (float[{_WIDTH}] k, float[{_WIDTH}] r) {{
    {lines} u = Tanh ({following}) k = Identity (u) r = Identity ({row}) }}> ("", s, x)
}}"""
    state, rows = _numbers(rng, batch, _WIDTH), _numbers(rng, batch, 5, _WIDTH)
    return _of_text(text, lambda trips: {"s": state, "x": rows[:, :trips]})


def _gathering(rng: np.random.Generator) -> Drawn:
    lines, values = _steps(rng, ("h", "e", "w"), "t")
    following, row = (_pick(rng, values[3:]) for _ in range(2))
    trips, backwards = _pick(rng, (1, 2, 5)), bool(rng.integers(2))
    place = "j = Sub (last, i)" if backwards else "j = Identity (i)"
    text = f"""<ir_version: 8, opset_import: ["" : {_pick(rng, (11, 13, 17, 21))}]>
g (float[5,{_WIDTH}] x, float[{_WIDTH}] s, float[{_WIDTH}] w)
    => (float[{_WIDTH}] y, float[N,{_WIDTH}] rows) {{
  n = Constant <value = int64 {{{trips}}}> () last = Constant <value = int64 {{{trips - 1}}}> ()
  y, rows = Loop (n, "", s) <body = b (int64 i, bool go, float[{_WIDTH}] h)
      => (bool on, float[{_WIDTH}] k, float[{_WIDTH}] r) {{
    on = Identity (go) {place} e = Gather (x, j)
    {lines} k = Tanh ({following}) r = Identity ({row})
  }}>
}}"""
    feeds = {"x": _numbers(rng, 5, _WIDTH), "s": _numbers(rng, _WIDTH), "w": _numbers(rng, _WIDTH)}
    return _of_text(text, lambda _: feeds)


def _choosing(rng: np.random.Generator) -> Drawn:
    sides = []
    for name, prefix in (("then", "a"), ("else", "b")):
        lines, values = _steps(rng, ("x", "w"), prefix)
        out = f"{prefix}_out"
        sides.append(
            f"{name}_branch = {prefix}g () => (float[{_WIDTH}] {out}) "
            f"{{ {lines} {out} = Identity ({_pick(rng, values[2:])}) }}"
        )
    text = f"""<ir_version: 8, opset_import: ["" : {_pick(rng, (13, 17, 21))}]>
g (bool c, float[{_WIDTH}] x, float[{_WIDTH}] w) => (float[{_WIDTH}] y) {{
  y = If (c) <{", ".join(sides)}>
}}"""
    feeds = {"x": _numbers(rng, _WIDTH), "w": _numbers(rng, _WIDTH)}
    return _of_text(text, lambda trips: {**feeds, "c": np.array(trips % 2 == 0)})


def _caching(rng: np.random.Generator) -> Drawn:
    keys, key_values = _steps(rng, ("x",), "k_")
    items, item_values = _steps(rng, ("x",), "v_")
    heads, axis = int(rng.integers(1, 3)), _pick(rng, ("2", "-2"))
    shape = f"float[1,{heads},{{}},4]"
    one, old, new = shape.format(1), shape.format("A"), shape.format("C")
    text = f"""<ir_version: 8, opset_import: ["" : {_pick(rng, (13, 17, 21))}]>
g ({shape.format("L")} k0, {shape.format("L")} v0, {one} q0, int64 n)
    => ({one} q, {shape.format("M")} k, {shape.format("M")} v, float[R,1,{heads},1,4] rows) {{
  yes = Constant <value = bool {{1}}> ()
  q, k, v, rows = Loop (n, yes, q0, k0, v0) <body = b
      (int64 i, bool go, {one} x, {old} kp, {old} vp) => (bool on, {one} y, {new} kn, {new} vn,
       {one} row) {{
    on = Identity (go) {keys} {items}
    kn = Concat <axis = {axis}> (kp, {_pick(rng, key_values)})
    vn = Concat <axis = {axis}> (vp, {_pick(rng, item_values)})
    kt = Transpose <perm = [0, 1, 3, 2]> (kn) s = MatMul (x, kt)
    half = Constant <value = float {{0.5}}> () scaled = Mul (s, half)
    p = Softmax <axis = -1> (scaled) a = MatMul (p, vn) z = Add (a, x) y = Tanh (z)
    row = Identity (y)
  }}>
}}"""
    held = int(rng.integers(0, 4))
    feeds = {name: _numbers(rng, 1, heads, held, 4) for name in ("k0", "v0")}
    feeds["q0"] = _numbers(rng, 1, heads, 1, 4)
    return _of_text(text, lambda trips: {**feeds, "n": np.array(trips)})


FORMS: Mapping[str, Callable[[np.random.Generator], Drawn]] = {
    "recurrent-to-scan": _recurrent,
    "scan-8-to-9": _scan8,
    "loop-to-scan": _gathering,
    "unroll, then reroll": _gathering,
    "if-to-where": _choosing,
    "static-cache": _caching,
    "scan-to-recurrent": _recurrent,
}
"""What is drawn for each rewrite beside the random programs."""
