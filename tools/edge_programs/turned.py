"""Carried matrices that products read transposed, or as they are, and outer products change."""

from __future__ import annotations

import numpy as np

from tools.edge_programs.lines import TRIPS, Lines, numbers

_EXTENTS = (1, 3, 15, 16, 17, 32, 33, 48)


def turned(lines: Lines) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """A matrix, or one for each head: read, changed by elements, and read again."""
    chance, body = lines.chance, lines.inner()
    heads = chance.choice(((), (), (1,), (2,)))
    rows, columns, trips = chance.choice(_EXTENTS), chance.choice(_EXTENTS), chance.choice(TRIPS)
    count = chance.choice((1, 1, 1, 2, 4))
    feeds = {
        "k": numbers(chance, trips, *heads, count, columns),
        "v": numbers(chance, trips, *heads, count, rows),
        "s": numbers(chance, *heads, rows, columns),
        "b": numbers(chance, *chance.choice(((), (columns,), (rows, 1), (rows, columns)))),
    }
    order = [*range(len(heads)), len(heads) + 1, len(heads)]

    def product(matrix: str) -> str:
        way = chance.choice(("turned", "turned", "turned", "plain"))
        if way == "plain" and rows == columns:
            return body.bounded(body.add(f"MatMul (ki, {matrix})"))
        flipped = body.add(f"Transpose <perm = {order}> ({matrix})")
        return body.bounded(body.add(f"MatMul (ki, {flipped})"))

    error = body.add(f"Sub (vi, {product('m')})")
    column = body.add(f"Transpose <perm = {order}> ({error})")
    outer = body.add(f"MatMul ({column}, ki)")
    if count == 1 and chance.random() < 0.7:
        outer = body.add(f"Mul ({column}, ki)")
    after = chance.choice((f"Add (m, {outer})", f"Sub ({outer}, m)", f"Max ({outer}, m)"))
    after = body.bounded(body.add(after))
    if chance.random() < 0.5:
        after = body.bounded(body.add(f"Add ({after}, b)"))
    out = product(chance.choice((after, after, "m")))
    end, made = body.add(f"Identity ({after})"), body.add(f"Identity ({out})")
    many = "".join(f"{extent}," for extent in heads)
    kinds = f"float[{many}{rows},{columns}]", f"float[{many}{count},{rows}]"
    given = f"{kinds[0]} m, float[{many}{count},{columns}] ki, {kinds[1]} vi"
    lines.written.append(
        f"o, y = Scan <num_scan_inputs = 2, body = f ({given}) => ({kinds[0]} {end},"
        f" {kinds[1]} {made}) {{\n  {body}\n  }}> (s, k, v)"
    )
    return feeds, {"o": 2 + len(heads), "y": 3 + len(heads)}
