"""Loops that count: carried counters, choices by them, collected rows, computed indices."""

from __future__ import annotations

import numpy as np

from tools.edge_programs.lines import EXTENTS, TRIPS, Lines, numbers, trip_count

Feeds = dict[str, np.ndarray]
Kinds = dict[str, int | tuple[str, int]]
_TYPES = {"int64": 7, "int32": 6, "int8": 3, "uint8": 2}
_COMPARISONS = ("Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal")


def counted(lines: Lines) -> tuple[Feeds, Kinds]:
    """A state that counters choose, in rows that are stacked, put together or written in place."""
    chance, body = lines.chance, lines.inner()
    trips = chance.choice((*TRIPS, 33, 300))
    feeds = {"n": np.array(trips, np.int64), "first": np.array(chance.randrange(-2, 4), np.int64),
             "s": numbers(chance, chance.choice((4, 4, 4, 1))), "w": numbers(chance, 4),
             "x": numbers(chance, max(trips, 1), 4)}  # fmt: skip
    kind = chance.choice(("int64", "int64", *_TYPES))
    start = chance.choice((0, 0, 1, 5, 120)), chance.choice((0, 1))
    begin, is_set = lines.add(_constant(start[0], kind)), lines.add(_constant(start[1], "bool"))
    begin = chance.choice((begin, "first")) if kind == "int64" else begin
    step = body.add(_constant(chance.choice((1, 1, 2, 3)), kind))
    moved = body.add(f"{chance.choice(('Add', 'Add', 'Sub'))} (c, {step})")
    flag = body.add(_constant(chance.choice((0, 0, 1)), "bool"))
    chosen = body.add(f"Where ({_condition(body, kind)}, {chance.choice('sw')}, a)")
    after = body.bounded(body.add(f"Add ({chosen}, {chance.choice('wa')})"))
    empty = lines.add("Slice (x, zero, zero, zero)")
    rows, given = _collected(body, after, kind), chance.choice(("x", empty))
    kept = body.add(f"Identity ({rows})")
    form = chance.choice(("all", "all", "ends", "while"))
    go = {
        "all": "go", "ends": _condition(body, kind), "while": body.add("Less (i, n)")
    }[form]  # fmt: skip
    end, out = body.add(f"Identity ({go})"), body.add(f"Identity ({chance.choice((after, 'a'))})")
    trip = '""' if form == "while" else "n"
    lines.written.append(
        f'o, count, last, rows, y = Loop ({trip}, "", {chance.choice("sw")}, {begin}, {is_set},'
        f" {given}) <body = f (int64 i, bool go, float[A] a, {kind} c, bool set, float[P,4] r) =>"
        f" (bool {end}, float[B] {after}, {kind} {moved}, bool {flag}, float[Q,4] {kept},"
        f" float[C] {out}) {{\n  {body}\n  }}>"
    )
    lines.written.append("counted = Cast <to = 7> (count)")
    kinds: Kinds = {"o": 1, "counted": ("int64", 0), "last": ("bool", 0), "rows": 2, "y": 2}
    return feeds, {name: kind for name, kind in kinds.items() if chance.random() < 0.7} or {"o": 1}


def _constant(number: int, kind: str) -> str:
    return f"Constant <value = {kind} {{{number}}}> ()"


def _condition(body: Lines, kind: str, depth: int = 0) -> str:
    """A condition of the iteration number, the counter and the flag."""
    chance = body.chance
    form = chance.choice(
        ("compare", "compare", "set", "not", "both") if depth < 2 else ("compare",)
    )
    if form == "set":
        return "set"
    if form == "not":
        return body.add(f"Not ({_condition(body, kind, depth + 1)})")
    if form == "both":
        sides = [_condition(body, kind, depth + 1) for _ in range(2)]
        return body.add(f"{chance.choice(('And', 'Or'))} ({', '.join(sides)})")
    name, own = chance.choice((("i", "int64"), ("c", kind)))
    if chance.random() < 0.2:
        own = chance.choice(tuple(_TYPES))
        name = body.add(f"Cast <to = {_TYPES[own]}> ({name})")
    for operator in chance.choice(((), (), ("Add",), ("Sub",), ("BitwiseAnd",))):
        name = body.add(f"{operator} ({name}, {body.add(_constant(chance.randrange(1, 4), own))})")
    sides = [name, body.add(_constant(chance.choice((0, 0, 1, 3, 8)), own))]
    chance.shuffle(sides)
    return body.add(f"{chance.choice(_COMPARISONS)} ({', '.join(sides)})")


def _collected(body: Lines, row: str, kind: str) -> str:
    """The rows so far with this one: behind them, in front, or at a number that counts."""
    chance, wide = body.chance, body.add(f"Unsqueeze ({row}, zero)")
    form = chance.choice(("behind", "front", "place", "same"))
    if form == "same":
        return "r"
    if form != "place":
        parts = ["r", wide] if form == "behind" else [wide, "r"]
        return body.add(f"Concat <axis = 0> ({', '.join(parts)})")
    number = chance.choice(("i", "c")) if kind == "int64" else "i"
    place = body.add(f"Unsqueeze ({body.add(f'Unsqueeze ({number}, zero)')}, zero)")
    return body.add(f"ScatterND (r, {place}, {wide})")


def indexed(lines: Lines) -> tuple[Feeds, Kinds]:
    """An array whose elements are read and written at numbers that the iterations compute."""
    chance, body = lines.chance, lines.inner()
    extent = chance.choice((*EXTENTS, 200))
    feeds = {"n": trip_count(chance), "a0": numbers(chance, extent), "x": numbers(chance, extent),
             "k": np.array(chance.randrange(-1, 4), np.int64)}  # fmt: skip
    if chance.random() < 0.5:
        feeds["n"] = np.array(max(extent - chance.choice((0, 0, 1, 3)), 0), np.int64)
    now = "a"
    for _ in range(chance.choice((1, 1, 2, 3))):
        sources = (now, now, "x", "a")
        read = [
            body.add(f"Gather <axis = 0> ({chance.choice(sources)}, {_index(body)})")
            for _ in range(2)
        ]
        number = body.add(f"Unsqueeze ({body.mixed(read, 2)}, zero)")
        place = body.add(f"Unsqueeze ({_index(body)}, zero)")
        now = body.add(f"ScatterElements <axis = 0> ({now}, {place}, {number})")
    out = body.add(f"Gather <axis = 0> ({chance.choice((now, 'a'))}, {_index(body)})")
    lines.written.append(
        f'o, y = Loop (n, "", a0) <body = f (int64 i, bool go, float[N] a) => (bool on,'
        f" float[N] {now}, float {out}) {{\n    on = Identity (go)\n  {body}\n  }}>"
    )
    return feeds, {"o": 1, "y": 1}


def _index(body: Lines, steps: int = 2) -> str:
    """The iteration number, moved, turned, multiplied or limited."""
    chance, name = body.chance, "i"
    for _ in range(chance.randrange(steps + 1)):
        operator = chance.choice(("Add", "Add", "Sub", "Max", "Min", "Mul", "Mod", "k", "back"))
        constant = body.add(_constant(chance.choice((1, 1, 2, 3)), "int64"))
        if operator == "back":
            name = body.add(f"Sub ({constant}, {name})")
        else:
            calls = {"k": f"Add ({name}, k)"}
            name = body.add(calls.get(operator, f"{operator} ({name}, {constant})"))
    return name


_PLACES = (
    ("Mul ({j}, {j})", lambda i, j: j * j), ("Add ({i}, {j})", lambda i, j: i + j),
    ("Abs ({d})", lambda i, j: abs(i - j)), ("Mul ({d}, {d})", lambda i, j: (i - j) ** 2),
    ("Add ({j2}, {i})", lambda i, j: 2 * j + i), ("Sub ({far}, {j})", lambda i, j: 200 - j),
    ("Mod ({j2}, {three})", lambda i, j: 2 * j % 3), ("Max ({i}, {j})", np.maximum),
)  # fmt: skip


def picked(lines: Lines) -> tuple[Feeds, Kinds]:
    """A loop in a loop whose cells read a table at numbers made of both counters.

    The table has as many elements as are read, or one less.
    """
    chance, outer, inner = lines.chance, lines.inner(), lines.inner()
    rows, columns = chance.choice((*TRIPS[1:], 33)), chance.choice((*EXTENTS, 64, 90))
    place, formula = chance.choice(_PLACES)
    most = int(formula(*np.indices((rows, columns))).max())
    feeds = {
        "above": numbers(chance, columns), "left": numbers(chance),
        "table": numbers(chance, most + chance.choice((1, 1, 1, 1, 0))),
    }  # fmt: skip
    places = {
        "i": "i", "j": "j", "d": inner.add("Sub (i, j)"), "j2": inner.add("Mul (j, number2)"),
        "far": inner.add(_constant(200, "int64")), "three": inner.add(_constant(3, "int64")),
    }  # fmt: skip
    at = inner.add(place.format(**places))
    row = chance.choice(("row", outer.shifted("row", "zero")))
    values = [inner.add(f"Gather (table, {at})"), inner.add(f"Gather ({row}, j)"), "w"]
    after = inner.mixed(values, chance.choice((3, 5)))
    go, on = (body.add(f"Identity ({name})") for body, name in ((inner, "go"), (outer, "on")))
    cell = inner.add(f"Identity ({after})")
    trips = [lines.add(_constant(number, "int64")) for number in (rows, columns)]
    outer.written.append(
        f'last, made = Loop ({trips[1]}, "", left) <body = c (int64 j, bool go, float w) =>'
        f" (bool {go}, float {after}, float {cell}) {{\n  {inner}\n  }}>"
    )
    out = outer.add("Identity (made)")
    lines.written.append(
        f'o, y = Loop ({trips[0]}, "", above) <body = b (int64 i, bool on, float[{columns}] row)'
        f" => (bool {on}, float[{columns}] made, float[{columns}] {out}) {{\n  {outer}\n  }}>"
    )
    return feeds, {"o": 1, "y": 2}
