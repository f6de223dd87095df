"""Arrays of which each iteration changes the elements behind a place, before it, or at it."""

from __future__ import annotations

import numpy as np

from tools.edge_programs.lines import COMPARISONS, Lines, numbers

_SHAPES = ((300,), (257,), (256,), (17, 16), (16, 33), (20, 40), (40, 7), (3, 5, 40), (1, 270))
_TRIPS = (0, 1, 2, 3, 5, 9, 20, 45)


def positions(lines: Lines) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """An array that is changed where its positions are as a number of the iteration says."""
    chance, body = lines.chance, lines.inner()
    shape = chance.choice(_SHAPES)
    trips = chance.choice(_TRIPS)
    feeds = {
        "s": numbers(chance, *shape),
        "x": numbers(chance, trips, *shape[chance.choice((0, -1)) :]),
        "k": np.array(chance.randrange(-2, max(shape) + 3), np.int64),
        "m": np.array(chance.randrange(-2, 50), np.int64),
    }
    for axis, extent in enumerate(shape):
        if chance.random() < 0.7:
            first = chance.choice((0, 0, 0, 1, -3))
            row = ",".join(map(str, range(first, first + extent)))
            lines.written.append(f"at{axis} = Constant <value = int64[{extent}] {{{row}}}> ()")
        else:
            feeds[f"at{axis}"] = np.arange(extent, dtype=np.int64)
    after = "a"
    if len(shape) == 2 and chance.random() < 0.4:
        after = _swapped(lines, body, shape)
    for _ in range(chance.choice((1, 1, 2))):
        after = _changed(body, after, len(shape))
    if chance.random() < 0.25:
        after = _in_branch(body, len(shape))
    moved = body.add(f"Add (c, {chance.choice(('number1', 'number2'))})")
    dims = ",".join(map(str, shape))
    kind, item = f"float[{dims}]", ",".join(map(str, feeds["x"].shape[1:]))
    made = body.add(f"{chance.choice(('Neg', 'Identity'))} ({chance.choice((after, after, 'a'))})")
    rank = chance.choice((0, 0, len(shape)))
    made = made if rank else body.add(f"ReduceSum <keepdims = 0> ({made})")
    stacked = f"{kind} {made}" if rank else f"float {made}"
    given = f"int64 c, {kind} a, float[{item}] xi"
    left = f"int64 {moved}, {kind} {after}, {stacked}"
    lines.written.append(
        f"o1, o, y = Scan <num_scan_inputs = 1, body = f ({given}) => ({left}) {{\n  {body}\n  }}>"
        " (k, s, x)"
    )
    return feeds, {"o": len(shape), "y": 1 + rank}


def _swapped(lines: Lines, body: Lines, shape: tuple[int, ...]) -> str:
    """The matrix with rows in other places: two that change places, or more that are moved."""
    chance, count = body.chance, shape[0]
    row = ",".join(map(str, range(count)))
    lines.written.append(f"here = Constant <value = int64[{count}] {{{row}}}> ()")
    lines.written.append(f"last = Constant <value = int64 {{{count - 1}}}> ()")
    lines.written.append("first = Constant <value = int64 {0}> ()")
    column = body.add("Gather <axis = 1> (a, number1)")
    numbers = [
        body.add(f"Max ({body.add('Min (c, last)')}, first)"),
        body.add(f"ArgMax <axis = 0, keepdims = 0> ({column})"),
        body.add(f"ArgMin <axis = 0, keepdims = 0> ({column})"),
    ]
    order = "here"
    one, other = chance.sample(numbers, 2)
    moves = [(one, other), (other, one)]
    if chance.random() < 0.3:
        moves = [(chance.choice(numbers), chance.choice(numbers)) for _ in range(3)]
    for place, row in moves:
        is_it = body.add(f"Equal (here, {place})")
        order = body.add(f"Where ({is_it}, {row}, {order})")
    return body.add(f"Gather <axis = 0> (a, {order})")


def _changed(body: Lines, x: str, rank: int) -> str:
    """The array with another value where its positions satisfy a condition."""
    chance = body.chance
    condition = _condition(body, rank)
    for _ in range(chance.choice((0, 0, 1, 2))):
        word = chance.choice(("And", "And", "Or"))
        condition = body.add(f"{word} ({condition}, {_condition(body, rank)})")
        if chance.random() < 0.3:
            condition = body.add(f"Not ({condition})")
    other = body.bounded(body.add(f"{chance.choice(('Add', 'Sub', 'Max'))} ({x}, xi)"))
    sides = (other, x) if chance.random() < 0.7 else (x, other)
    return body.add(f"Where ({condition}, {', '.join(sides)})")


def _in_branch(body: Lines, rank: int) -> str:
    """The array changed in one side of an If, or as it is."""
    inner, condition = body.inner(), body.add("Less (c, m)")
    changed = inner.add(f"Identity ({_changed(inner, 'a', rank)})")
    kind = f"float[{','.join('ijk'[:rank])}]"
    return body.add(
        f"If ({condition}) <then_branch = t () => ({kind} {changed}) {{\n  {inner}\n  }},"
        f" else_branch = e () => ({kind} as_it_is) {{ as_it_is = Identity (a) }}>"
    )


def _condition(body: Lines, rank: int) -> str:
    """A comparison of the positions along an axis with a number, or of two numbers."""
    chance = body.chance
    number = chance.choice(("c", "c", "c", "m", body.add("Sub (m, c)")))
    word = chance.choice(COMPARISONS)
    if chance.random() < 0.15:
        return body.add(f"{word} (c, m)")
    axis = chance.randrange(rank)
    at = f"at{axis}"
    for _ in range(rank - 1 - axis):
        at = body.add(f"Unsqueeze ({at}, minus1)")
    pair = (at, number) if chance.random() < 0.7 else (number, at)
    return body.add(f"{word} ({', '.join(pair)})")
