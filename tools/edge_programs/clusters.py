"""Rows of an unchanged matrix, each compared with a few that are carried, and gathered by these."""

from __future__ import annotations

import numpy as np

from tools.edge_programs.lines import TRIPS, Lines, numbers

_POINTS, _CENTRES, _COORDINATES = (1, 7, 8, 33, 64, 70, 130), (1, 2, 3, 8, 9, 17), (1, 2, 3, 9)


def clusters(lines: Lines) -> tuple[dict[str, np.ndarray], dict[str, int | tuple[str, int]]]:
    """Distances of all points from all centres, the best of a point, and the points of a centre."""
    chance, body = lines.chance, lines.inner()
    points, centres = chance.choice(_POINTS), chance.choice(_CENTRES)
    size = chance.choice(_COORDINATES)
    feeds = {
        "n": np.array(chance.choice((*TRIPS, 9, 12)), np.int64),
        "c": numbers(chance, centres, size),
        "x": numbers(chance, points, size),
        "b": numbers(chance, points, 1),
        "k": numbers(chance, centres),
        "m": numbers(chance, points, centres),
    }
    far = _distances(body)
    for _ in range(chance.choice((0, 1, 2))):
        kind = chance.choice(("Add", "Sub", "Max", "Min"))
        far = body.bounded(body.add(f"{kind} ({far}, {chance.choice(('b', 'k', 'm', 'half'))})"))
    best, hot = _chosen(body, far)
    if chance.random() < 0.7:
        turned = body.add(f"Transpose <perm = [1, 0]> ({hot})")
        total = body.add(f"MatMul ({turned}, x)")
    else:
        total = body.add(f"Unsqueeze ({body.add(f'ReduceSum <keepdims = 0> ({hot}, zero)')}, one)")
    after = body.bounded(body.add(f"Add ({total}, cs)"))
    extra = chance.choice((best, best, far, hot))
    made = body.add(f"Neg ({extra})")
    kind, rank = f"float[{centres},{size}]", 1 if extra is best else 2
    shape = points if rank == 1 else f"{points},{centres}"
    given, left = f"int64 i, bool go, {kind} cs", f"bool on, {kind} {after}, float[{shape}] {made}"
    lines.written.append(
        f'o, y = Loop (n, "", c) <body = f ({given}) => ({left}) {{\n    on = Identity (go)'
        f"\n  {body}\n  }}>"
    )
    return feeds, {"o": 2, "y": 1 + rank}


def _distances(body: Lines) -> str:
    """A number for each point and each centre."""
    if body.chance.random() < 0.2:
        flipped = body.add("Transpose <perm = [1, 0]> (cs)")
        return body.bounded(body.add(f"MatMul (x, {flipped})"))
    each, centre = body.add("Unsqueeze (x, one)"), body.add("Unsqueeze (cs, zero)")
    apart = body.bounded(body.add(f"Sub ({each}, {centre})"))
    apart = body.add(f"Mul ({apart}, {apart})") if body.chance.random() < 0.5 else apart
    word = body.chance.choice(("Sum", "Sum", "Max", "Min"))
    return body.bounded(body.add(f"Reduce{word} <keepdims = 0> ({apart}, two)"))


def _chosen(body: Lines, far: str) -> tuple[str, str]:
    """The best of a row, or its place, and which of the row it is."""
    chance = body.chance
    word = chance.choice(("Max", "Min"))
    if chance.random() < 0.5:
        best = body.add(f"Reduce{word} ({far}, one)")
        hot = body.add(f"Cast <to = 1> ({body.add(f'Equal ({far}, {best})')})")
        return body.add(f"Squeeze ({best}, one)"), hot
    keep = chance.choice((0, 1))
    place = body.add(f"Arg{word} <axis = 1, keepdims = {keep}> ({far})")
    if keep:
        place = body.add(f"Squeeze ({place}, one)")
    if chance.random() < 0.3:
        place = body.add(f"Sub ({place}, number2)")
    width = body.add(f"Gather ({body.add(f'Shape ({far})')}, number1)")
    values = body.add("Constant <value = float[2] {0, 1}> ()")
    hot = body.add(f"OneHot <axis = 1> ({place}, {width}, {values})")
    return body.add(f"Cast <to = 1> ({place})"), hot
