"""Loops that compare all rows of a narrow array with each other, or with other rows."""

from __future__ import annotations

import numpy as np

from tools.edge_programs.lines import TRIPS, Lines, numbers

_LONG, _NARROW = (2, 5, 8, 9, 12, 17, 33), (1, 2, 2, 3, 3, 4, 5)


def pairs(lines: Lines) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """Differences of pairs, weighted by a number of each pair, and summed along an axis."""
    chance, body = lines.chance, lines.inner()
    count, columns = chance.choice(_LONG), chance.choice(_NARROW)
    feeds = {"n": np.array(chance.choice(TRIPS), np.int64), "p": numbers(chance, count, columns)}
    other = "x"
    if chance.random() < 0.3:
        feeds["q"], other = numbers(chance, count, columns), "q"
    pair = [body.add("Unsqueeze (x, one)"), body.add(f"Unsqueeze ({other}, zero)")]
    far = body.add(f"{chance.choice(('Sub', 'Sub', 'Max', 'Add'))} ({', '.join(pair)})")
    if chance.random() < 0.4:
        far = body.add(f"Abs ({far})")
    weight = _weight(lines, body, far, columns)
    moved = body.add(f"{chance.choice(('Mul', 'Add', 'Min'))} ({far}, {weight})")
    axis = chance.choice(("one", "one", "zero"))
    form = chance.choice(("ReduceSum", "ReduceSum", "ReduceMax"))
    after = body.bounded(body.add(f"{form} <keepdims = 0> ({moved}, {axis})"))
    after = body.bounded(body.add(f"Sub (x, {after})"))
    kind, out = f"float[{count},{columns}]", [after]
    names, ranks = ["o", "y"], {"o": 2, "y": 2}
    out.append(body.add(f"ReduceMax <keepdims = 0> ({body.add(f'Add ({weight}, none)')}, two)"))
    if chance.random() < 0.2:
        out.append(body.add(f"Neg ({chance.choice((far, moved))})"))
        names.append("z")
        ranks |= {"z": 4}
    kinds = [kind, f"float[{count},{count}]", "float[a,b,c]"]
    made = ", ".join(f"{each} {name}" for each, name in zip(kinds, out, strict=False))
    lines.written.append(
        f'{", ".join(names)} = Loop (n, "", p) <body = b (int64 i, bool go, {kind} x) => (bool on,'
        f" {made}) {{\n  on = Identity (go)\n  {body}\n  }}>"
    )
    return feeds, ranks


def _weight(lines: Lines, body: Lines, far: str, columns: int) -> str:
    """A number of each pair: of its columns, or of one of them."""
    if body.chance.random() < 0.4:
        at = lines.add(f"Constant <value_ints = [{body.chance.randrange(columns)}]> ()")
        return body.bounded(body.add(f"Gather <axis = 2> ({far}, {at})"))
    square = body.add(f"Mul ({far}, {far})") if body.chance.random() < 0.5 else far
    word = body.chance.choice(("ReduceSum", "ReduceSum", "ReduceMax", "ReduceMin"))
    return body.bounded(body.add(f"{word} <keepdims = 1> ({square}, two)"))
