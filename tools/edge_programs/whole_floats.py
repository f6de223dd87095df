"""Floats that are whole numbers beside others: truths that are counted, -0, NaN, large numbers."""

from __future__ import annotations

import numpy as np

from tools.edge_programs.lines import COMPARISONS, TRIPS, Lines

_EXTENTS = (1, 63, 64, 65, 100, 257)
_NUMBERS = ("0", "-0.0", "1", "-1", "2", "3", "0.5", "127", "128", "-128", "32768", "16777216")
_PAIRS = ("Add", "Add", "Sub", "Mul", "Where")


def whole_floats(lines: Lines) -> tuple[dict[str, np.ndarray], dict[str, int | tuple[str, int]]]:
    """Counts in floats, carried, joined, reduced, compared and stacked."""
    chance, body = lines.chance, lines.inner()
    width, trips = chance.choice(_EXTENTS), chance.choice(TRIPS)
    rng = np.random.default_rng(chance.randrange(2**32))
    wild = np.array([0, -0.0, 1, -1, 2.5, 2.0**24, 2.0**24 + 2, 3e38, np.inf, np.nan], np.float32)
    feeds = {
        "n": np.array(trips, np.int64),
        "b": rng.random(width) < 0.5,
        "x": rng.choice(wild, (max(trips, 1), width)),
    }

    def number(value: str) -> str:
        return body.add(f"Constant <value = float {{{value}}}> ()")

    row = body.add("Gather <axis = 0> (x, i)")
    bit = body.add(f"Cast <to = 1> ({body.add(f'Greater ({row}, none)')})")
    told = body.add("Cast <to = 1> (b)")
    tells_zeros = chance.random() < 0.5  # the greatest of -0 and 0 is either
    pairs = _PAIRS if tells_zeros else (*_PAIRS, "Max", "Min")
    values = chance.sample([bit, told], chance.choice((1, 2)))
    values += [number(chance.choice(_NUMBERS)) for _ in range(chance.choice((1, 2)))]
    values += chance.sample([row, "s"], chance.choice((0, 0, 1, 2)))
    found = chance.choice([bit, told, "s"])
    for _ in range(chance.choice((2, 4, 8))):
        kind = chance.choice((*pairs, "near", "Abs", "Neg"))
        found = body.step(kind, found, chance.choice(values))
        values.append(found)
    hit = body.add(f"{chance.choice(COMPARISONS)} ({found}, {chance.choice(values)})")
    wide = body.add(f"And ({hit}, {body.add('Or (b, yes)')})")  # with the width of the state
    counted = body.add(f"Cast <to = 1> ({wide})")
    after = body.add(f"Mul ({found}, {counted})") if chance.random() < 0.5 else counted
    kind = chance.choice(("Sum", "Max", "Min"))
    reduced = body.add(f"Reduce{kind} <keepdims = 0> ({counted}, zero)")
    first = chance.choice(("Cast <to = 1> (b)", "Gather <axis = 0> (x, at)"))
    lines.written += [
        "at = Constant <value = int64 {0}> ()",
        "yes = Constant <value = bool {1}> ()",
        f"s0 = {first}",
        f'last, p, q = Loop (n, "", s0) <body = f (int64 i, bool go, float[{width}] s) => (bool on,'
        f" float[{width}] {after}, bool[{width}] {wide}, float {reduced}) {{\n"
        f"    on = Identity (go)\n  {body}\n  }}>",
        f"inverse = {'Reciprocal' if tells_zeros else 'Identity'} (last)",
        "is_nan = IsNaN (inverse)",
        "o = Where (is_nan, low, inverse)",
    ]
    return feeds, {"o": ("float", 1), "p": ("bool", 2), "q": ("float", 1)}
