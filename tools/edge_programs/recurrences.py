"""Loops with carried arrays, which they read at their own places and at others."""

from __future__ import annotations

import numpy as np

from tools.edge_programs.lines import EXTENTS, TRIPS, Lines, numbers, trip_count


def stencil(lines: Lines) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """States that read themselves at shifts of 0, 1 and 2."""
    chance = lines.chance
    shape = [chance.choice(EXTENTS) for _ in range(chance.choice((1, 1, 2)))]
    states = chance.choice((1, 1, 2))
    feeds = {f"s{k}": numbers(chance, *shape) for k in range(states)}
    body, axes = lines.inner(), ["zero", "one"][: len(shape)]
    read = [f"b{k}" for k in range(states)]
    for _ in range(chance.choice((1, 2, 3))):
        read.append(body.shifted(chance.choice(read), chance.choice(axes)))
    nexts = [body.mixed(read) for _ in range(states)]
    kind = f"float[{','.join(map(str, shape))}]"
    stack = chance.random() < 0.3
    given = ", ".join(f"{kind} b{k}" for k in range(states))
    made = ", ".join(f"{kind} {name}" for name in _apart(body, nexts))
    rows = f", {kind} {body.add(f'Identity ({chance.choice(read)})')}" if stack else ""
    names = [f"o{k}" for k in range(states)] + ["rows"] * stack
    lines.written.append(
        f'{", ".join(names)} = Loop (n, "", {", ".join(feeds)}) <body = f (int64 i, bool go,'
        f" {given}) => (bool on, {made}{rows}) {{\n    on = Identity (go)\n  {body}\n  }}>"
    )
    ranks = {f"o{k}": len(shape) for k in range(states)}
    if stack:
        ranks["rows"] = len(shape) + 1
    return {"n": trip_count(chance), **feeds}, ranks


def _apart(body: Lines, names: list[str]) -> list[str]:
    """The values under names that no other result has."""
    return [body.add(f"Identity ({name})") for name in names]


def rows(lines: Lines) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """A state over sliced rows."""
    chance = lines.chance
    trips, width = chance.choice((*TRIPS[1:], 70, 200)), chance.choice((0, 0, *EXTENTS))
    item = [width] if width else []
    feeds = {"s": numbers(chance, *item), "x": numbers(chance, trips, *item),
             "a": np.sign(numbers(chance, trips, *item))}  # fmt: skip
    lines.written.append(_scan(lines, ["o"], "y", ["s"], ["x", "a"], item, is_linear=True))
    return feeds, {"o": len(item), "y": len(item) + 1}


def _scan(
    lines: Lines, finals: list[str], stack: str, starts: list[str], sources: list[str],
    item: list[int], *, is_linear: bool = False, direction: int | None = None,
) -> str:  # fmt: skip
    """A Scan with a state of the item's shape for each start."""
    chance, body = lines.chance, lines.inner()
    kind = f"float[{','.join(map(str, item))}]" if item else "float"
    tag = f"{stack}_"
    states, items = ([f"{tag}{name}" for name in names] for names in (starts, sources))
    read = states + items
    if item and chance.random() < 0.4:
        read = [*read, body.shifted(chance.choice(read), "zero")]
    if is_linear and chance.random() < 0.6:
        product = body.add(f"Mul ({items[1]}, {states[0]})")
        nexts = [body.add(f"Add ({product}, {items[0]})")]
    else:
        nexts = [body.mixed(read, 3) for _ in states]
    out = body.add(f"{chance.choice(('Identity', 'Neg'))} ({chance.choice([*nexts, *read])})")
    backward = chance.random() < 0.25 if direction is None else direction
    flags = f", scan_input_directions = [{', '.join(['1'] * len(items))}]" if backward else ""
    flags += ", scan_output_directions = [1]" if chance.random() < 0.2 else ""
    given = ", ".join(f"{kind} {name}" for name in states + items)
    made = ", ".join(f"{kind} {name}" for name in [*_apart(body, nexts), out])
    return (
        f"{', '.join([*finals, stack])} = Scan <num_scan_inputs = {len(items)}{flags}, body = b"
        f" ({given}) => ({made}) {{\n  {body}\n  }}> ({', '.join(starts + sources)})"
    )


def grid(lines: Lines) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """A loop in a loop, whose elements read the row above and the element before."""
    chance = lines.chance
    rows, columns = chance.choice((*TRIPS[1:], 33)), chance.choice((*EXTENTS, 64, 90))
    feeds = {
        "above": numbers(chance, columns), "left": numbers(chance),
        "p": numbers(chance, rows), "q": numbers(chance, columns),
    }  # fmt: skip
    outer, inner = lines.inner(), lines.inner()
    outer.written.append("half1 = Unsqueeze (half, zero)")
    sources = ["row", *(outer.shifted("row", "zero") for _ in range(chance.choice((1, 2)))), "q"]
    items = [f"e{k}" for k in range(len(sources))]
    after = inner.mixed(["w", "pi", *items], chance.choice((3, 5)))
    given = ", ".join(f"float {name}" for name in ["w", *items])
    out, way = inner.add(f"Identity ({after})"), inner.mixed(["w", after], 2)
    outer.written.append(
        f"last, made, ways = Scan <num_scan_inputs = {len(items)}, body = c ({given}) => (float"
        f" {after}, float {out}, float {inner.add(f'Neg ({way})')}) {{\n  {inner}\n  }}>"
        f" (left, {', '.join(sources)})"
    )
    results, ends = {"o": 1}, [f"float[{columns}] {outer.add('Identity (made)')}"]
    kind = chance.choice(("rows", "rows", "ends", "nothing", "ways", "border", "border"))
    match kind:
        case "ways":
            ends.append(f"float[{columns}] {outer.add('Identity (ways)')}")
            results["y"] = 2
        case "border":
            edge = outer.add("Unsqueeze (pi, zero)")
            row = chance.choice(("made", "ways"))
            parts = chance.choice((f"{edge}, {row}", f"{edge}, half1, {row}", f"{row}, {edge}"))
            ends.append(f"float[w] {outer.add(f'Concat <axis = 0> ({parts})')}")
            results["y"] = 2
        case "rows":
            ends.append(f"float[{columns}] {outer.add('Identity (made)')}")
            results["y"] = 2
        case "ends":
            ends.append(f"float {outer.add('Identity (last)')}")
            results["y"] = 1
    lines.written.append(
        f"{', '.join(results)} = Scan <num_scan_inputs = 1, body = b (float[{columns}] row,"
        f" float pi) => ({', '.join(ends)}) {{\n  {outer}\n  }}> (above, p)"
    )
    return feeds, results


def stacked(lines: Lines) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """Loops that each slice the stacked output of the loop before them."""
    chance = lines.chance
    trips, width = chance.choice((*TRIPS[1:], 70)), chance.choice((0, 1, 4, 17, 40))
    item = [width] if width else []
    feeds = {"x": numbers(chance, trips, *item)}
    source, results = "x", {}
    for layer in range(chance.choice((2, 2, 3))):
        feeds[f"s{layer}"] = numbers(chance, *item)
        lines.written.append(
            _scan(lines, [f"o{layer}"], f"y{layer}", [f"s{layer}"], [source], item)
        )
        results[f"o{layer}"] = len(item)
        source = f"y{layer}"
        between = chance.choice(("", "", "", "Neg", "residual", "shift"))
        if between == "Neg":
            source = lines.add(f"Neg ({source})")
        elif between == "residual":
            source = lines.bounded(lines.add(f"Add ({source}, x)"))
        elif between == "shift":
            source = lines.shifted(source, "zero")
    results[source if source.startswith("y") else lines.written[-1].split(" ")[0]] = len(item) + 1
    return feeds, results


def updates(lines: Lines) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """An array of which a branch changes one row, or all."""
    chance, body = lines.chance, lines.inner()
    rows, width = chance.choice(EXTENTS), chance.choice((1, 4, 8, 12, 16, 17, 24, 48))
    kind = f"float[{rows},{width}]"
    count = body.add("Shape <end = 1> (a)")
    place = body.add(f"Mod ({body.add('Unsqueeze (i, zero)')}, {count})")
    index = body.add(f"Unsqueeze ({place}, zero)")
    row = body.add(f"Gather (a, {place})")
    new = body.mixed([row, body.shifted(row, "one")], 2)
    side, then, other = chance.choice(("ScatterND", "all", "both")), lines.inner(), lines.inner()
    put = then.add(f"ScatterND (a, {index}, {new})")
    whole = other.bounded(
        other.add(f"Sub ({chance.choice(('a', other.shifted('a', 'zero')))}, {row})")
    )
    odd = body.add(f"Cast <to = 9> ({body.add('Mod (i, number2)')})")
    (same,) = _apart(other if side != "all" else then, ["a"])
    ends = {"ScatterND": (put, same), "all": (same, whole), "both": (put, whole)}[side]
    made = body.add(
        f"If ({odd}) <then_branch = t () => ({kind} {ends[0]}) {{\n  {then}\n  }},"
        f" else_branch = u () => ({kind} {ends[1]}) {{\n  {other}\n  }}>"
    )
    seen = chance.choice(("before", "after", "nothing"))
    told = body.add(
        {"before": "Identity (a)", "after": f"Neg ({made})", "nothing": f"Neg ({row})"}[seen]
    )
    shape = f"float[1,{width}]" if seen == "nothing" else kind
    lines.written.append(
        f'o, y = Loop (n, "", s) <body = f (int64 i, bool go, {kind} a) => (bool on, {kind} {made},'
        f" {shape} {told}) {{\n    on = Identity (go)\n  {body}\n  }}>"
    )
    return {"n": trip_count(chance), "s": numbers(chance, rows, width)}, {"o": 2, "y": 3}


_REDUCTIONS = ("ReduceMax", "ReduceMin", "ReduceSum")


def reduced(lines: Lines) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """An array, a value of it, and the reduction of that value."""
    chance, body = lines.chance, lines.inner()
    rows, width = chance.choice(EXTENTS), chance.choice((1, 4, 8, 12, 16, 17, 24, 48))
    kind, axis = f"float[{rows},{width}]", chance.choice(("zero", "one"))
    read = ["a", body.shifted("a", axis)] if chance.random() < 0.3 else ["a"]
    item = body.add(f"Slice (a, zero, one, {axis})")
    first = body.bounded(body.add(f"Sub ({body.mixed(read, 2)}, {item})"))
    over = chance.choice(("zero", "one"))
    most = body.add(f"{chance.choice(_REDUCTIONS)} ({first}, {over})")
    later = [first, body.shifted(first, axis)] if chance.random() < 0.3 else [first]
    after = body.bounded(body.add(f"Add ({body.mixed(later, 1)}, {body.bounded(most)})"))
    told = body.add(f"Neg ({chance.choice(('a', first, most, after))})")
    body.written.append("on = Identity (go)")
    lines.written.append(
        f'o, y = Loop (n, "", s) <body = f (int64 i, bool go, {kind} a)'
        f" => (bool on, {kind} {after}, float[R,C] {told}) {{\n  {body}\n  }}>"
    )
    return {"n": trip_count(chance), "s": numbers(chance, rows, width)}, {"o": 2, "y": 3}


def fed(lines: Lines) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """A loop that slices values of other values, numbers and rows."""
    chance = lines.chance
    trips, width = chance.choice((*TRIPS[1:], 70)), chance.choice((0, 1, 4, 17))
    item = [width] if width else []
    feeds = {"s": numbers(chance, *item), "x": numbers(chance, trips, *item),
             "c": numbers(chance, *item), "column": numbers(chance, trips, *[1] * len(item)),
             "table": numbers(chance, 5, *item),
             "ids": numbers(chance, trips).astype(np.int64)}  # fmt: skip
    extent = lines.add("Squeeze (" + lines.add("Shape <start = 0, end = 1> (x)") + ")")
    first = lines.add("Constant <value = int64 {-3}> ()")
    limit = lines.add(f"Add ({extent}, {first})")
    number = lines.add(
        f"Cast <to = 1> ({lines.add(f'Range ({first}, {limit}, {lines.add(_ONE)})')})"
    )
    made = ["x", lines.add("Gather <axis = 0> (table, ids)"), lines.add("Mul (x, c)")]
    made.append(lines.add(f"Unsqueeze ({number}, one)") if item else number)
    if item:
        feeds["columns"] = np.arange(width)[::-1].copy()
        made.append(lines.add("Gather <axis = 1> (x, columns)"))
    for _ in range(chance.choice((1, 2, 4))):
        kind, other = chance.choice(("Add", "Max", "Sub", "Min")), chance.choice([*made, "column"])
        made.append(lines.add(f"{kind} ({lines.add(f'Add ({chance.choice(made)}, x)')}, {other})"))
    full = [name for name in made if name != made[3] or not item]
    sources = [chance.choice(full[3:]), lines.add(f"Identity ({chance.choice(full)})")]
    lines.written.append(_scan(lines, ["o"], "y", ["s"], sources, item))
    results = {"o": len(item), "y": len(item) + 1}
    if chance.random() < 0.2:
        lines.written.append(f"again = Identity ({sources[0]})")
        results["again"] = len(item) + 1
    return feeds, results


_ONE = "Constant <value = int64 {1}> ()"
