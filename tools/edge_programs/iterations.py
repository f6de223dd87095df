"""Loops whose iterations are alike: windows, maps, conditions, and arrays that change extents."""

from __future__ import annotations

import numpy as np

from tools.edge_programs.lines import TRIPS, Lines, numbers, trip_count

Feeds = dict[str, np.ndarray]
Kinds = dict[str, int | tuple[str, int]]


def windows(lines: Lines) -> tuple[Feeds, Kinds]:
    """The last rows in a state, moved by one each iteration: a delay line with taps."""
    chance, body = lines.chance, lines.inner()
    taps, width = chance.choice((1, 2, 3, 5, 8, 16, 17, 20, 33)), chance.choice((0, 0, 1, 4, 17))
    trips = chance.choice((*TRIPS[1:], 33, 70, 200))
    item = [width] if width else []
    feeds = {"s": numbers(chance, taps, *item), "x": numbers(chance, trips, *item)}
    feeds["taps"] = np.sign(numbers(chance, taps, *[1] * len(item)))
    is_front = chance.random() < 0.5
    row = body.add("Unsqueeze (xi, zero)")
    rest = ("zero", "minus1") if is_front else ("one", "end")
    kept = body.add(f"Slice (d, {rest[0]}, {rest[1]}, zero)")
    after = body.add(f"Concat <axis = 0> ({', '.join((row, kept) if is_front else (kept, row))})")
    read = chance.choice((after, after, "d"))
    summed = body.add(f"{chance.choice(('ReduceSum', 'ReduceMax'))} <keepdims = 0>"
                      f" ({body.add(f'Mul ({read}, taps)')}, zero)")  # fmt: skip
    values = [summed, "xi"]
    for _ in range(chance.choice((0, 1, 2))):
        number = body.add(f"Constant <value = int64 {{{chance.randrange(taps)}}}> ()")
        values.append(body.add(f"Gather <axis = 0> ({chance.choice((after, 'd'))}, {number})"))
    out = body.mixed(values, 2)
    if chance.random() < 0.2:
        after = body.bounded(body.add(f"Add ({after}, {out})"))
    extents = ",".join(map(str, item))
    kind = f"float[{extents}]" if item else "float"
    state = f"float[{','.join(map(str, [taps, *item]))}]"
    backward = ", scan_input_directions = [1]" if chance.random() < 0.2 else ""
    lines.written.append(
        f"o, y = Scan <num_scan_inputs = 1{backward}, body = b ({state} d, {kind} xi) =>"
        f" ({state} {after}, {kind} {out}) {{\n  {body}\n  }}> (s, x)"
    )
    return feeds, {"o": 1 + len(item), "y": 1 + len(item)}


def maps(lines: Lines) -> tuple[Feeds, Kinds]:
    """Values of the iteration's number and of elements, and their sums."""
    chance, body = lines.chance, lines.inner()
    trips = chance.choice((*TRIPS, 33, 64, 70, 200, 1000))
    feeds = {"n": np.array(trips, np.int64), "x": numbers(chance, max(trips, 1)),
             "s": numbers(chance), "k": np.array(chance.randrange(-3, 4), np.int64)}  # fmt: skip
    divisor = chance.choice((1, 2, 3, 5, 7, 64))
    number = body.add(f"Constant <value = int64 {{{divisor}}}> ()")
    part = body.add(f"Mod ({chance.choice(('i', body.add('Add (i, k)')))}, {number})")
    wanted = body.add(f"Constant <value = int64 {{{chance.randrange(divisor)}}}> ()")
    met = body.add(f"{chance.choice(('Equal', 'Less', 'Greater'))} ({part}, {wanted})")
    element = body.add("Gather <axis = 0> (x, i)")
    value = body.add(f"Where ({met}, {element}, {body.add(f'Cast <to = 1> ({part})')})")
    one, none = (body.add(f"Constant <value = int64 {{{each}}}> ()") for each in (1, 0))
    counted = body.add(f"Where ({met}, {one}, {none})")
    count = body.add(f"{chance.choice(('Add', 'Max', 'Sub'))} (c, {counted})")
    before = body.add("Identity (b)")
    joined = chance.choice(("Add", "Max", "Min", "last"))
    total = body.add(f"Identity ({value})" if joined == "last" else f"{joined} (t, {value})")
    if joined == "Add":
        total = body.add(f"{chance.choice(('Identity', 'Neg'))} ({total})")
    out = body.add(f"Sub ({value}, {before})")
    moved, told = body.add(f"Identity ({element})"), body.add(f"Identity ({part})")
    lines.written.append(
        'count, total, shifted, y, z = Loop (n, "", k, s, s) <body = f (int64 i, bool go, int64 c,'
        f" float t, float b) => (bool on, int64 {count}, float {total}, float {moved},"
        f" float {out}, int64 {told}) {{\n    on = Identity (go)\n  {body}\n  }}>"
    )
    kinds: Kinds = {"count": ("int64", 0), "total": 0, "shifted": 0, "y": 1, "z": ("int64", 1)}
    return feeds, kinds


def ended(lines: Lines) -> tuple[Feeds, Kinds]:
    """A loop that ends at a sum, an element or a number of its own."""
    chance, body = lines.chance, lines.inner()
    width, trips = chance.choice((0, 1, 4, 17)), chance.choice((*TRIPS, 64, 70))
    item = [width] if width else []
    kind = f"float[{width}]" if item else "float"
    feeds = {"n": np.array(trips, np.int64), "c": np.array(chance.random() < 0.9),
             "s": numbers(chance, *item), "x": numbers(chance, max(trips, 1), *item)}  # fmt: skip
    element = body.add("Gather <axis = 0> (x, i)")
    after = body.mixed(["a", element], 2)
    scalar = body.add(f"ReduceSum <keepdims = 0> ({chance.choice((after, element))})")
    limit = body.add(f"Constant <value = float {{{chance.choice((-9, -2, 2, 9, 30))}}}> ()")
    form = chance.choice(("sum", "number", "both"))
    conditions = [body.add(f"{chance.choice(('Less', 'GreaterOrEqual'))} ({scalar}, {limit})")]
    if form != "sum":
        number = body.add(f"Constant <value = int64 {{{chance.choice((0, 1, 2, 7, 40))}}}> ()")
        conditions.append(body.add(f"Less (i, {number})"))
    end = body.add(f"And ({', '.join(conditions)})") if form == "both" else conditions[-1]
    is_while = form == "number" and chance.random() < 0.3
    out = body.add(f"{chance.choice(('Neg', 'Identity'))} ({chance.choice((after, 'a', element))})")
    (final,) = [body.add(f"Identity ({after})")]
    trip = '""' if is_while and trips > 41 else "n"
    lines.written.append(
        f"o, y = Loop ({trip}, c, s) <body = f (int64 i, bool go, {kind} a) => (bool {end},"
        f" {kind} {final}, {kind} {out}) {{\n  {body}\n  }}>"
    )
    return feeds, {"o": len(item), "y": len(item) + 1}


def resized(lines: Lines) -> tuple[Feeds, Kinds]:
    """Rows that are added, dropped or picked in each iteration."""
    chance, body = lines.chance, lines.inner()
    rows, width = chance.choice((0, 1, 2, 5, 17)), chance.choice((1, 4))
    feeds = {"n": trip_count(chance), "s": numbers(chance, rows, width)}
    form = chance.choice(("grow", "shrink", "pick", "both"))
    made = "a"
    if form in ("grow", "both"):
        first = body.add("ReduceSum (a, zero)")
        made = body.add(f"Concat <axis = 0> (a, {body.bounded(first)})")
    if form in ("shrink", "both"):
        made = body.add(f"Slice ({made}, {chance.choice(('zero', 'one'))}, minus1, zero)")
    if form == "pick":
        sums = body.add("ReduceSum <keepdims = 0> (a, one)")
        limit = body.add(f"Cast <to = 1> ({body.add('Sub (i, number2)')})")
        made = body.add(f"Compress <axis = 0> (a, {body.add(f'Greater ({sums}, {limit})')})")
    after = body.add(f"Neg ({made})" if chance.random() < 0.5 else f"Add (half, {made})")
    after = body.bounded(after)
    joined = body.add("Concat <axis = 0> (a, row)")
    out = body.add(f"ReduceMax <keepdims = 0> ({joined}, zero)")
    zeros = ",".join(["0"] * width)
    lines.written.append(f"row = Constant <value = float[1,{width}] {{{zeros}}}> ()")
    lines.written.append(
        f'o, y = Loop (n, "", s) <body = f (int64 i, bool go, float[P,{width}] a) => (bool on,'
        f" float[Q,{width}] {after}, float[{width}] {out}) {{\n    on = Identity (go)\n  {body}\n"
        "  }>"
    )
    return feeds, {"o": 2, "y": 2}
