"""Loops whose next value is read within the iteration that makes it: by products and reductions."""

from __future__ import annotations

import numpy as np

from tools.edge_programs.lines import TRIPS, Lines, numbers

_TAPS = (1, 2, 3, 4, 5, 8, 9, 16, 17, 33, 64, 65)
_WIDTHS = (1, 1, 2, 3, 4, 8, 16, 17, 40)
_AXES = ("zero", "one")


def registers(lines: Lines) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """A shift register along either axis, or a sum; its next value is multiplied and reduced."""
    chance, body, axis = lines.chance, lines.inner(), lines.chance.choice((0, 1))
    taps, width = chance.choice(_TAPS), chance.choice(_WIDTHS)
    shape = (taps, width) if axis == 0 else (width, taps)
    trips = chance.choice((*TRIPS[1:], 17, 33, 70))
    feeds = {"s": numbers(chance, *shape), "x": numbers(chance, trips, width)}
    read = [_entered(body, "d", "xi", axis, shape)]
    states = ["d", "e"][: chance.choice((1, 1, 1, 2))]
    if "e" in states:
        feeds["s2"] = numbers(chance, *shape)
        entering = "xi"
        if chance.random() < 0.5:
            entering = body.bounded(
                body.add(f"ReduceSum <keepdims = 0> ({read[0]}, {_AXES[axis]})")
            )
        read.append(_entered(body, "e", entering, axis, shape))
    values = [_number(lines, body, chance.choice((*read, *states)), shape, feeds)
              for _ in range(chance.choice((1, 2, 3)))]  # fmt: skip
    out = body.mixed([*values, "total"], 3)
    stacked = [(out, "float")]
    if chance.random() < 0.3:
        stacked.append((chance.choice((*read, "d")), _kind(shape)))
    yielded = [(out, "float"), *((each, _kind(shape)) for each in read), *stacked]
    ends = [f"{kind} {body.add(f'Identity ({name})')}" for name, kind in yielded]
    given = ["float total", *(f"{_kind(shape)} {name}" for name in states)]
    names = ["last", *(f"o{each}" for each in states), *("y", "z")[: len(stacked)]]
    starts = ["none", *(name for name in feeds if name in ("s", "s2"))]
    if chance.random() < 0.6:
        lines.written.append(_scan(lines, body, names, starts, given, ends, width))
    else:
        feeds["n"] = np.array(chance.randrange(trips + 1), np.int64)
        lines.written.append(
            f'{", ".join(names)} = Loop (n, "", {", ".join(starts)})'
            f" <body = b (int64 i, bool go, {', '.join(given)}) => (bool on, {', '.join(ends)})"
            f" {{\n  on = Identity (go)\n  xi = Gather <axis = 0> (x, i)\n  {body}\n  }}>"
        )
    ranks = {"last": 0, "od": 2, "oe": 2, "y": 1, "z": 3}
    return feeds, {name: ranks[name] for name in names}


def _scan(
    lines: Lines, body: Lines, names: list[str], starts: list[str], given: list[str],
    ends: list[str], width: int,
) -> str:  # fmt: skip
    """A Scan over the rows of x, in either direction and along either axis."""
    chance = lines.chance
    flags = ", scan_input_directions = [1]" if chance.random() < 0.2 else ""
    is_turned = chance.random() < 0.2
    source = lines.add("Transpose <perm = [1, 0]> (x)") if is_turned else "x"
    flags += ", scan_input_axes = [1]" if is_turned else ""
    return (
        f"{', '.join(names)} = Scan <num_scan_inputs = 1{flags}, body = b ({', '.join(given)},"
        f" float[{width}] xi) => ({', '.join(ends)}) {{\n  {body}\n  }}>"
        f" ({', '.join([*starts, source])})"
    )


def _kind(shape: tuple[int, ...]) -> str:
    return f"float[{','.join(map(str, shape))}]"


def _entered(body: Lines, state: str, row: str, axis: int, shape: tuple[int, ...]) -> str:
    """The state with a row that enters at either end, in the ways that exporters write it."""
    chance, place = body.chance, _AXES[axis]
    column = body.add(f"Unsqueeze ({row}, {place})")
    form = chance.choice(("kept", "kept", "cut", "moved", "summed"))
    if form == "summed":
        return body.bounded(body.add(f"Add ({state}, {column})"))
    is_front = chance.random() < 0.5
    if form == "cut":
        parts = (column, state) if is_front else (state, column)
        longer = body.add(f"Concat <axis = {axis}> ({', '.join(parts)})")
        first, last = ("zero", "minus1") if is_front else ("one", "end")
        return body.add(f"Slice ({longer}, {first}, {last}, {place})")
    kept = ("zero", "minus1") if is_front else ("one", "end")
    rest = body.add(f"Slice ({state}, {kept[0]}, {kept[1]}, {place})")
    if form == "moved" and shape[axis] > 1:  # the rows that stay are changed on the way
        rest = body.bounded(body.add(f"Sub ({rest}, half)"))
        rest = body.add(f"Ceil ({rest})")
    parts = (column, rest) if is_front else (rest, column)
    return body.add(f"Concat <axis = {axis}> ({', '.join(parts)})")


def _number(
    lines: Lines, body: Lines, x: str, shape: tuple[int, ...], feeds: dict[str, np.ndarray]
) -> str:
    """A number made of all elements of a matrix, or of some rows, by products and reductions."""
    chance, (rows, columns) = body.chance, shape
    form = chance.choice(("right", "left", "turned", "reduced", "row", "element"))
    if form == "element":
        at = body.add(f"Constant <value = int64 {{{chance.randrange(rows)}}}> ()")
        row = body.add(f"Gather <axis = 0> ({x}, {at})")
        return body.add(f"ReduceMax <keepdims = 0> ({row}, zero)")
    made, name = x, f"m{len(feeds)}"
    if form == "right":
        feeds[name] = np.sign(numbers(chance, columns, chance.choice(_WIDTHS)))
        made = body.add(f"MatMul ({x}, {name})")
    elif form == "left":
        feeds[name] = np.sign(numbers(chance, chance.choice(_WIDTHS), rows))
        made = body.add(f"MatMul ({name}, {x})")
    elif form == "turned":
        feeds[name] = np.sign(numbers(chance, rows, chance.choice(_WIDTHS)))
        made = body.add(f"Gemm <transA = 1> ({x}, {name})")
    elif form == "row":
        row = body.add(f"Slice ({x}, {chance.choice(('zero, one', 'minus1, end'))}, zero)")
        feeds[name] = np.sign(numbers(chance, columns, 1))
        made = body.add(f"MatMul ({row}, {name})")
    words = [chance.choice(("ReduceSum", "ReduceMax", "ReduceMin")) for _ in range(2)]
    axes = chance.choice((("zero", "zero"), ("one", "zero")))
    for word, axis in zip(words, axes, strict=True):
        made = body.add(f"{word} <keepdims = 0> ({made}, {axis})")
    return body.bounded(made)
