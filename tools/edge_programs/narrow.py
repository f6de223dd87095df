"""Whole numbers of 64 bits at the borders of fewer: masks, remainders, counts, and what wraps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tools.edge_programs.lines import COMPARISONS, TRIPS, Lines

_EXTENTS = (1, 16, 63, 64, 64, 65, 100, 100, 257)
_EDGES = (
    0,
    1,
    2,
    3,
    7,
    127,
    128,
    255,
    256,
    2**15 - 1,
    2**15,
    2**16,
    2**31 - 1,
    2**31,
    2**32,
    2**62,
    2**63 - 1,
)
_MASKS = (
    0,
    1,
    15,
    126,
    127,
    128,
    255,
    2**15 - 2,
    2**15 - 1,
    2**16 - 1,
    2**30 - 1,
    2**31 - 1,
    2**31,
    2**32 - 1,
    -1,
    -256,
    -(2**31),
)
_DIVISORS = (1, 2, 3, 7, 9, 256, 65521, 2**31 - 1, 2**31, 2**31 + 1, -1, -3, 0)
_STEPS = (
    *("Add", "Sub", "Mul", "Div", "Max", "Min", "Where", "BitwiseAnd", "BitwiseOr", "BitwiseXor"),
    *("near", "near", "Abs", "Neg"),
)


def narrow(lines: Lines) -> tuple[dict[str, np.ndarray], dict[str, int | tuple[str, int]]]:
    """Values of few bits beside values of many, carried, joined, reduced, compared and stacked."""
    chance, body = lines.chance, lines.inner()
    width, trips = chance.choice(_EXTENTS), chance.choice(TRIPS)
    rng = np.random.default_rng(chance.randrange(2**32))
    edges = np.array(_EDGES, np.int64)
    wild = rng.choice(np.concatenate([edges, -edges, -edges - 1]), (max(trips, 1), width))
    feeds = {
        "n": np.array(trips, np.int64),
        "b": rng.random(width) < 0.5,
        "x": wild,
        "y": rng.integers(-3, 4, (max(trips, 1), width)).astype(np.float32),
    }

    def number(value: int) -> str:
        return body.add(f"Constant <value = int64 {{{value}}}> ()")

    wide = body.add("Gather <axis = 0> (x, i)")
    above = body.add(f"Greater ({body.add('Gather <axis = 0> (y, i)')}, none)")
    bit, told = body.add(f"Cast <to = 7> ({above})"), body.add("Cast <to = 7> (b)")
    masked = body.add(f"BitwiseAnd ({wide}, {number(chance.choice(_MASKS))})")
    rest = body.add(f"Mod ({wide}, {number(chance.choice(_DIVISORS))})")
    small = body.add(f"Cast <to = {chance.choice((2, 3, 5, 6))}> ({masked})")
    values = [bit, told, masked, rest, body.add(f"Cast <to = 7> ({small})")]
    values = chance.sample(values, chance.choice((1, 2, 3, 5)))
    values += chance.sample(["i", wide, "s"], chance.choice((0, 0, 0, 1, 3)))
    values += [number(chance.choice((1, 2, -1, 3, 127, -128, 1000, 2**31 - 1, -(2**31), 2**40)))]
    values += ["s"] * chance.choice((0, 1))
    found = chance.choice([bit, told, masked, "s"])
    for _ in range(chance.choice((2, 5, 9))):
        other = chance.choice(values)
        found = body.step(chance.choice(_STEPS), found, other)
        values.append(found)
    after = _kept(body, chance.choice((found, found, *values)), found, number)
    hit = body.add(f"{chance.choice(COMPARISONS)} ({chance.choice(values)}, {found})")
    row = body.add(f"Add ({told}, {after})")  # with the width of the state
    chosen = body.add(f"Where ({hit}, {row}, {chance.choice((told, bit, 's'))})")
    reduced = body.add(f"Reduce{chance.choice(('Sum', 'Max', 'Min'))} <keepdims = 0> ({row}, zero)")
    first = chance.choice(("Cast <to = 7> (b)", "BitwiseAnd (x0, few)", "Identity (x0)"))
    lines.written += [
        "few = Constant <value = int64 {255}> ()",
        "none0 = Constant <value = int64 {0}> ()",
        "x0 = Gather <axis = 0> (x, none0)",
        f"s0 = {first}",
        f'o, p, q = Loop (n, "", s0) <body = f (int64 i, bool go, int64[{width}] s) => (bool on,'
        f" int64[{width}] {row}, int64[{width}] {chosen}, int64 {reduced}) {{\n"
        f"    on = Identity (go)\n  {body}\n  }}>",
    ]
    return feeds, {"o": ("int64", 1), "p": ("int64", 2), "q": ("int64", 1)}


def _kept(body: Lines, one: str, other: str, number: Callable[[int], str]) -> str:
    """A value that is bounded, or not."""
    kind = body.chance.choice(("mask", "mod", "clip", "bits", "plain"))
    if kind == "mask":
        return body.add(f"BitwiseAnd ({one}, {number(body.chance.choice(_MASKS))})")
    if kind == "mod":
        return body.add(f"Mod ({one}, {number(body.chance.choice(_DIVISORS))})")
    if kind == "clip":
        most = body.chance.choice(
            (1, 100, 126, 127, 128, 2**15 - 1, 2**15, 2**31 - 2, 2**31 - 1, 2**31)
        )
        low = number(
            body.chance.choice(
                (0, -1, -127, -128, -129, -(2**15), -(2**31), 1 - 2**31, -(2**31) - 1)
            )
        )
        return body.add(f"Max ({body.add(f'Min ({one}, {number(most)})')}, {low})")
    if kind == "bits":
        return body.add(f"Cast <to = 7> ({body.add(f'Greater ({one}, {other})')})")
    return body.add(f"Identity ({one})")
