"""Inputs of 64 bits that code expects to be small: below, at and above the bounds it expects."""

from __future__ import annotations

import numpy as np

from tools.edge_programs.lines import TRIPS, Lines

_BOUND = 2**30
_SMALL = (-3, -1, 0, 1, 2, 5)
_NEAR = (_BOUND - 2, _BOUND - 1, 1 - _BOUND, 2 - _BOUND)
_FAR = (_BOUND, -_BOUND, 2**31 - 1, -(2**31), 2**40, 2**63 - 1, -(2**63))
_STEPS = ("Add", "Max", "Max", "Min", "Min", "Where", "Where", "Sub", "Neg", "Abs", "Mul")


def expected(lines: Lines) -> tuple[dict[str, np.ndarray], dict[str, int | tuple[str, int]]]:
    """Arrays that a loop changes, or cells of a grid, with numbers of three sizes."""
    chance = lines.chance
    width, trips = chance.choice((16, 33, 64, 70, 150)), chance.choice((*TRIPS, 9, 33))
    rng = np.random.default_rng(chance.randrange(2**32))
    near, far = (*_SMALL, *_NEAR), (*_SMALL, *_NEAR, *_FAR)
    kinds = [_SMALL, _SMALL, _SMALL, near, near, near, near, far]
    counts = (0, 0, 1, 1, 2, 7, 7, 1023, 1023, 1023, 1024, -1, _BOUND)
    feeds = {
        name: rng.choice(np.array(chance.choice(kinds)), shape)
        for name, shape in (("a", width), ("b", width), ("s", trips))
    }
    for name in ("m", "c"):
        feeds[name] = np.array(chance.choice(counts))
    return (_grid if chance.random() < 0.6 else _arrays)(lines, feeds, width, trips)


def _mixed(body: Lines, values: list[str]) -> str:
    found = body.chance.choice(values)
    for _ in range(body.chance.choice((1, 1, 2, 4))):
        found = body.step(body.chance.choice(_STEPS), found, body.chance.choice(values))
    return found


def _grid(
    lines: Lines, feeds: dict[str, np.ndarray], width: int, _: int
) -> tuple[dict[str, np.ndarray], dict[str, int | tuple[str, int]]]:
    outer, inner = lines.inner(), lines.inner()
    up, along, across = (inner.step("Add", name, "m") for name in ("above", "w", "d"))
    cell = inner.step(inner.chance.choice(("Min", "Max")), up, along)
    cell = inner.step(inner.chance.choice(("Min", "Max", "Where")), cell, across)
    if inner.chance.random() < 0.5:
        cell = inner.step("Max", cell, _mixed(inner, ["c", "x", "si", "w", "above", "d"]))
    made = ", ".join(inner.add(f"Identity ({name})") for name in (cell, "above", cell))
    named = ", ".join(f"int64 {name}" for name in made.split(", "))
    outer.written.append(
        "w1, d1, next = Scan <num_scan_inputs = 2, body = f (int64 w, int64 d, int64 above,"
        f" int64 x) => ({named}) {{\n  {inner}\n  }}> (ki, k, row, b)"
    )
    results: dict[str, int | tuple[str, int]] = {"o": ("int64", 1), "q": ("int64", 0)}
    ends = f"int64[{width}] next, int64 ki"
    if inner.chance.random() < 0.5:
        ends += f", int64[{width}] {outer.add('Identity (next)')}"
        results["p"] = ("int64", 2)
    lines.written.append(
        f"{', '.join(results)} = Scan <num_scan_inputs = 1, body = e (int64[{width}] row, int64 k,"
        f" int64 si) => ({ends}) {{\n  ki = Add (k, m)\n  {outer}\n  }}> (a, c, s)"
    )
    return feeds, results


def _arrays(
    lines: Lines, feeds: dict[str, np.ndarray], width: int, trips: int
) -> tuple[dict[str, np.ndarray], dict[str, int | tuple[str, int]]]:
    body = lines.inner()
    wide = body.add("Expand (m, width)")
    after = _mixed(body, ["t", "t", "b", "a", wide, "c"])
    after = body.step(body.chance.choice(("Min", "Max", "Add")), after, "t")
    lines.written += [
        "width = Shape (b)",
        f'o = Loop (n, "", a) <body = f (int64 i, bool go, int64[{width}] t) => (bool on,'
        f" int64[{width}] {after}) {{\n  on = Identity (go)\n  {body}\n  }}>",
    ]
    return {**feeds, "n": np.array(trips)}, {"o": ("int64", 1)}
