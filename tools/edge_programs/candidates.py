"""Rows whose elements are the best of a few candidates, which are cut and joined, and counts."""

from __future__ import annotations

import numpy as np

from tools.edge_programs.lines import COMPARISONS, Lines, numbers

_WIDTHS = (1, 2, 4, 8, 9, 15, 16, 17, 33, 64, 100, 129)
_TRIPS = (0, 1, 2, 3, 5, 9, 20)


def candidates(lines: Lines) -> tuple[dict[str, np.ndarray], dict[str, int | tuple[str, int]]]:
    """A row of numbers and one of whole numbers; each next one is that of up to three changes."""
    chance, body = lines.chance, lines.inner()
    width, trips = chance.choice(_WIDTHS), chance.choice(_TRIPS)
    places = np.random.default_rng(chance.randrange(2**32)).integers(-2, width + 2, trips + 1)
    feeds = {
        "n": np.array(trips, np.int64),
        "x": numbers(chance, trips + 1, width),
        "at": places if chance.random() < 0.5 else np.clip(places, 0, width),
        "s0": numbers(chance, width),
        "c0": numbers(chance, width).astype(np.int64),
    }
    if chance.random() < 0.5:  # a constant: its numbers are known
        row = ",".join(map(str, feeds.pop("c0")))
        lines.written.append(f"c0 = Constant <value = int64[{width}] {{{row}}}> ()")
    body.written += [
        "on = Identity (go)",
        "item = Gather <axis = 0> (x, i)",
        "place = Gather (at, i)",
        "cut = Unsqueeze (place, zero)",
    ]
    value, count, positions = "s", "c", list[str]()
    for _ in range(chance.choice((1, 2, 2, 3))):
        form = chance.choice(("best", "best", "cut", "short", "count", "count", "near", "ranked",
                             "pooled"))  # fmt: skip
        if form == "best":
            value, found = _best(body, value, count, width)
            positions += found
        elif form == "ranked":
            value, found = _ranked(body, value, count, width)
            positions += found
        elif form == "cut":
            value = _cut(body, value)
        elif form == "short":
            value = _short_loop(body, value, width)
        elif form == "pooled":
            value = _pooled(body, value)
        elif form == "near":
            value = _added_around(body, value, width)
        else:
            count = _counted(body, count, value)
    after = [body.add(f"Identity ({each})") for each in (value, count)]
    stacks = [body.add(f"Identity ({each})") for each in positions]
    is_declared = chance.random() < 0.7
    given, left = ((str(width),) * 2 if is_declared else ("P", "Q")), after
    text = f"float[{given[0]}] s, int64[{given[0]}] c"
    ends = f"float[{given[1]}] {left[0]}, int64[{given[1]}] {left[1]}"
    rows = "".join(f", int64[{width}] {each}" for each in stacks)
    names = [f"y{number}" for number, _ in enumerate(stacks)]
    lines.written.append(
        f'{", ".join(("last", "counts", *names))} = Loop (n, "", s0, c0) <body = f (int64 i,'
        f" bool go, {text}) => (bool on, {ends}{rows}) {{\n  {body}\n  }}>"
    )
    results: dict[str, int | tuple[str, int]] = {"last": 1, "counts": ("int64", 1)}
    return feeds, results | {name: ("int64", 2) for name in names}


def _best(body: Lines, value: str, count: str, width: int) -> tuple[str, list[str]]:
    """The least or the greatest of stacked rows, and perhaps which one it was."""
    chance = body.chance
    number, axis = chance.choice((2, 3, 3, 4, 5)), chance.choice(("zero", "zero", "one"))
    rows = [value, body.shifted(value, "zero"), "item", body.shifted(value, "zero")]
    rows.append(body.add(f"Cast <to = 1> ({count})") if chance.random() < 0.5 else "item")
    chance.shuffle(rows)
    stacked = [body.add(f"Unsqueeze ({row}, {axis})") for row in rows[:number]]
    place = 0 if axis == "zero" else 1
    whole = body.add(f"Concat <axis = {place}> ({', '.join(stacked)})")
    if chance.random() < 0.5:
        extents = f"{number},1" if axis == "zero" else f"1,{number}"
        weights = ",".join(str(chance.randrange(-2, 3)) for _ in range(number))
        weights = body.add(f"Constant <value = float[{extents}] {{{weights}}}> ()")
        whole = body.add(f"{chance.choice(('Add', 'Mul', 'Sub'))} ({whole}, {weights})")
    word = chance.choice(("Min", "Max", "Min", "Max", "Sum"))
    found = body.bounded(body.add(f"Reduce{word} <keepdims = 0> ({whole}, {axis})"))
    if chance.random() < 0.5:
        return found, []
    which = f"Arg{chance.choice(('Min', 'Max'))} <axis = {place}, keepdims = 0> ({whole})"
    return found, [body.add(which)]


def _pooled(body: Lines, value: str) -> str:
    """The greatest of the elements in windows around each of them, less than that one."""
    chance = body.chance
    before, behind = chance.choice(((1, 1), (1, 0), (0, 1), (2, 1), (0, 3), (2, 2)))
    grid = body.add(f"Unsqueeze ({body.add(f'Unsqueeze ({value}, zero)')}, zero)")
    size = f"kernel_shape = [{before + behind + 1}], pads = [{before}, {behind}]"
    most = body.add(f"Reshape ({body.add(f'MaxPool <{size}> ({grid})')}, minus1)")
    return body.bounded(body.add(f"Sub ({chance.choice(('item', most))}, {most})"))


def _ranked(body: Lines, value: str, count: str, width: int) -> tuple[str, list[str]]:
    """The row less one of its greatest or least elements, and the place of that one."""
    chance, number = body.chance, body.chance.choice((1, 2, 3, 5, 16))
    number = min(number, width)
    wanted = body.add(f"Constant <value = int64[1] {{{number}}}> ()")
    best, places = (body.add(f"Identity ({each})") for each in (value, count))
    call = f"TopK <axis = 0, largest = {chance.randrange(2)}> ({value}, {wanted})"
    body.written[-2:] = [f"{best}, {places} = {call}"]
    far = chance.choice(("zero", "minus1"))
    span = "zero, one" if far == "zero" else "minus1, end"
    element, place = (body.add(f"Slice ({each}, {span})") for each in (best, places))
    row = body.add(f"Add ({body.add(f'Mul ({count}, zero)')}, {place})")
    return body.bounded(body.add(f"Sub ({value}, {element})")), [row] * (chance.random() < 0.7)


def _cut(body: Lines, value: str) -> str:
    """The row in two parts, one of them changed, or the other way round."""
    chance = body.chance
    below = body.add(f"Slice ({value}, zero, cut)")
    above = body.add(f"Slice ({value}, cut, end)")
    form = chance.choice(("below", "above", "both", "turned", "rotated"))
    if form in ("below", "both"):
        below = body.add(f"Neg ({below})")
    if form in ("above", "both"):
        above = body.bounded(body.add(f"Sub ({above}, half)"))
    if form == "turned":
        above = body.add(f"Slice ({above}, minus1, {body.add('Neg (end)')}, zero, minus1)")
    parts = (above, below) if form == "rotated" else (below, above)
    return body.add(f"Concat <axis = 0> ({', '.join(parts)})")


def _short_loop(body: Lines, value: str, width: int) -> str:
    """The row after a few iterations of an inner loop that change one element each."""
    chance, inner = body.chance, body.inner()
    trips = min(width, chance.choice((1, 2, 5, 9, 16, 17)))
    first = body.add(f"Constant <value = int64 {{{trips - 1}}}> ()")
    count = body.add(f"Constant <value = int64 {{{trips}}}> ()")
    place = chance.choice(("j", inner.add(f"Sub ({first}, j)")))
    element = inner.add(f"Gather (r, {place})")
    number = chance.choice(("h", inner.add(f"Neg ({element})")))
    carried = inner.bounded(inner.add(f"Sub ({number}, {element})"))
    row = inner.add(f"Unsqueeze ({carried}, zero)")
    at = inner.add(f"Unsqueeze ({chance.choice((place, 'j'))}, zero)")
    changed = inner.add(f"ScatterElements (r, {at}, {row})")
    start = body.add("ReduceMax <keepdims = 0> (item)")
    kind = f"float[{width}]"
    made = body.add(
        f'Loop ({count}, "", {start}, {value}) <body = h{changed} (int64 j, bool more, float h,'
        f" {kind} r) => (bool on{changed}, float {carried}, {kind} {changed}) {{\n  on{changed} ="
        f" Identity (more)\n  {inner}\n  }}>"
    )
    body.written[-1] = body.written[-1].replace(f"{made} =", f"w{made}, {made} =", 1)
    return made


def _added_around(body: Lines, value: str, width: int) -> str:
    """The row with numbers added at up to three places beside each other, or at one twice."""
    chance, number = body.chance, min(width, body.chance.choice((1, 2, 3)))
    offsets = [chance.choice((k, k, 0)) for k in range(number)]
    steps = body.add(f"Constant <value = int64[{number}] {{{','.join(map(str, offsets))}}}> ()")
    room = body.add(f"Constant <value = int64 {{{width - number + 1}}}> ()")
    places = body.add(f"Add ({body.add(f'Mod (i, {room})')}, {steps})")
    updates = body.add(f"Slice (item, zero, {body.add(f'Shape ({steps})')})")
    added = body.add(f'ScatterElements <reduction = "add"> ({value}, {places}, {updates})')
    return body.bounded(added)


def _counted(body: Lines, count: str, value: str) -> str:
    """The whole numbers, larger by a few, or the least or greatest of neighbours and them."""
    chance = body.chance
    form = chance.choice(("step", "step", "neighbour", "choice", "sum", "number"))
    if form == "neighbour":
        parts = [body.add(f"Slice ({count}, {span})") for span in ("one, end", "zero, one")]
        other = body.add(f"Concat <axis = 0> ({', '.join(parts)})")
        return body.add(f"{chance.choice(('Min', 'Max'))} ({count}, {other})")
    if form == "sum":
        return body.add(f"Add ({count}, {count})")
    if form == "number":
        return body.add(f"{chance.choice(('Add', 'Sub', 'Max', 'Mod'))} ({count}, two)")
    other = body.add(f"Add ({count}, {chance.choice(('one', 'two', 'minus1', 'i'))})")
    if form == "step":
        return other
    truth = body.add(f"{chance.choice(COMPARISONS)} ({value}, item)")
    sides = [count, other]
    chance.shuffle(sides)
    return body.add(f"Where ({truth}, {', '.join(sides)})")
