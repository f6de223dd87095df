"""Loops whose iterations move rows by numbers that they compute."""

from __future__ import annotations

import numpy as np

from tools.edge_programs.lines import EXTENTS, TRIPS, Lines, numbers

_CONCAT = "Concat <axis = {}> ({}, {})"


def shifts(lines: Lines) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """A matrix that is turned, shifted or padded by fed, counted and computed numbers."""
    chance, body = lines.chance, lines.inner()
    axis = chance.choice((0, 1))
    shape = (chance.choice(EXTENTS), chance.choice(EXTENTS))
    trips = chance.choice(TRIPS)
    places = np.array([chance.randrange(shape[axis] + 1) for _ in range(trips)], np.int64)
    feeds = {"s": numbers(chance, *shape), "x": numbers(chance, trips, *shape), "at": places}
    extent = body.add(f"Constant <value = int64[1] {{{shape[axis]}}}> ()")
    values = ["s0", "xi"]
    shared = _count(body, extent)
    for _ in range(chance.choice((1, 1, 2, 3))):
        count = shared if chance.random() < 0.5 else _count(body, extent)
        values.append(_moved(body, chance.choice(values), count, extent, axis))
        if chance.random() < 0.3:
            values.append(body.mixed(values[-2:], 2))
    after = body.mixed([*values[2:], "s0"], 3)
    given = ", ".join(f"float[{shape[0]},{shape[1]}] {name}" for name in ("s0", "xi"))
    made = [body.add(f"Identity ({each})") for each in (after, chance.choice((after, values[-1])))]
    kind = f"float[{shape[0]},{shape[1]}]"
    lines.written.append(
        f"last, y = Scan <num_scan_inputs = 2, body = b ({given}, int64 k) =>"
        f" ({kind} {made[0]}, {kind} {made[1]}) {{\n  {body}\n  }}> (s, x, at)"
    )
    return feeds, {"last": 2, "y": 3}


def _count(body: Lines, extent: str) -> str:
    """A number of rows, of one element: fed, what it leaves, or the places of a state."""
    form = body.chance.choice(("fed", "fed", "rest", "state"))
    fed = body.add("Unsqueeze (k, zero)")
    if form == "rest":
        return body.add(f"Sub ({extent}, {fed})")
    if form == "state":
        number = body.add("ReduceMax <keepdims = 0> (s0)")
        whole = body.add(f"Cast <to = 7> ({body.add(f'Unsqueeze ({number}, zero)')})")
        return body.add(f"Min ({body.add(f'Abs ({whole})')}, {extent})")
    return fed


def _moved(body: Lines, x: str, count: str, extent: str, axis: int) -> str:
    """X with its rows moved by a computed number of rows, which stay, leave or are others."""
    form, place = (
        body.chance.choice(("turned", "padded", "filled", "filled")),
        ("zero", "one")[axis],
    )
    rest = body.add(f"Sub ({extent}, {count})")
    if form == "turned":
        parts = [body.add(f"Slice ({x}, {bounds}, {place})")
                 for bounds in (f"{count}, end", f"zero, {count}")]  # fmt: skip
        return body.add(_CONCAT.format(axis, *_changed(body, parts)))
    kept = body.add(f"Slice ({x}, zero, {rest}, {place})")
    if body.chance.random() < 0.7:
        (kept,) = _changed(body, [kept])
    if form == "padded":
        ends = [count if k == axis else "zero" for k in (0, 1)]
        pads = body.add(f"Concat <axis = 0> ({ends[0]}, {ends[1]}, zero, zero)")
        return body.add(f"Pad ({kept}, {pads}, half)")
    other = body.add(f"Slice (xi, zero, {count}, {place})")
    parts = [other, kept] if body.chance.random() < 0.6 else [kept, other]
    return body.add(_CONCAT.format(axis, *parts))


def _changed(body: Lines, parts: list[str]) -> list[str]:
    """The parts, some of them negated or larger by a whole number."""
    forms = ("{}", "Neg ({})", "Abs ({})", "Add ({}, high)")
    chosen = [body.chance.choice(forms) for _ in parts]
    return [
        each if form == "{}" else body.bounded(body.add(form.format(each)))
        for form, each in zip(chosen, parts, strict=True)
    ]
