"""Loops over matrices: products, long bodies of equal steps, places of maxima."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np

from tools.edge_programs.lines import TRIPS, Lines, numbers, trip_count

_ROWS = (1, 1, 1, 2, 3, 4, 5, 8, 16, 17)
_WIDTHS = (1, 2, 3, 4, 8, 15, 16, 17, 32, 33, 64, 70, 128)


def products(lines: Lines) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """A state and rows, multiplied by weights: apart, or joined; gates apart, or split."""
    chance, body = lines.chance, lines.inner()
    rows, width, state = (chance.choice(each) for each in (_ROWS, _WIDTHS, _WIDTHS))
    trips, gates = chance.choice((*TRIPS[1:], 20, 70)), chance.choice((1, 1, 2, 4))
    feeds = {"s": numbers(chance, rows, state), "x": numbers(chance, trips, rows, width)}
    form = chance.choice(("constant", "constant", "input", "carried"))
    carried = ["h", "w"] if form == "carried" else ["h"]
    joined = chance.random() < 0.3
    shapes = {"u": (width + state, gates * state)} if joined else {
        "u": (width, gates * state), "w": (state, gates * state)}  # fmt: skip
    if "w" not in shapes:
        carried = ["h"]
    for name, shape in shapes.items():
        feeds |= _weight(lines, name, shape, "input" if name in carried else form)
    if joined:
        total = _product(body, body.add("Concat <axis = -1> (xi, h)"), "u", shapes["u"])
    else:
        parts = [_product(body, "xi", "u", shapes["u"]), _product(body, "h", "w", shapes["w"])]
        total = body.add(f"Add ({', '.join(parts)})")
    after = body.mixed([*_gates(body, total, gates, state), "h"], chance.choice((2, 4)))
    out = body.add(f"{chance.choice(('Identity', 'Neg'))} ({chance.choice((after, 'h'))})")
    (end,) = ends = [body.add(f"Identity ({after})")]
    if "w" in carried:
        ends = [end, body.add("Identity (w)")]
    kinds = {"h": f"float[{rows},{state}]", "w": f"float[{state},{gates * state}]"}
    given = ", ".join([*(f"{kinds[name]} {name}" for name in carried), f"float[{rows},{width}] xi"])
    made = ", ".join(f"{kinds[name]} {end}" for name, end in zip(carried, ends, strict=True))
    finals = ["o", "kept"][: len(carried)]
    starts = ["s", "w"][: len(carried)]
    lines.written.append(
        f"{', '.join(finals)}, y = Scan <num_scan_inputs = 1, body = b ({given}) =>"
        f" ({made}, {kinds['h']} {out}) {{\n  {body}\n  }}> ({', '.join(starts)}, x)"
    )
    return feeds, {"o": 2, "y": 3}


def _weight(lines: Lines, name: str, shape: tuple[int, ...], form: str) -> dict[str, np.ndarray]:
    """A matrix of weights as a constant or an input; transposed in memory in some."""
    value = np.sign(numbers(lines.chance, *shape))
    if form != "constant":
        return {name: value}
    is_turned = lines.chance.random() < 0.3
    stored = value.T if is_turned else value
    extents = ",".join(map(str, stored.shape))
    text = ",".join(str(int(each)) for each in stored.ravel())
    tensor = f"Constant <value = float[{extents}] {{{text}}}> ()"
    if is_turned:
        turned = lines.add(tensor)
        lines.written.append(f"{name} = Transpose <perm = [1, 0]> ({turned})")
    else:
        lines.written.append(f"{name} = {tensor}")
    return {}


def _product(body: Lines, x: str, weight: str, shape: tuple[int, ...]) -> str:
    """A product by a matrix, in one of the ways that exporters write it."""
    form = body.chance.choice(("MatMul", "Gemm", "transB", "halves"))
    if form == "MatMul":
        return body.add(f"MatMul ({x}, {weight})")
    if form == "Gemm":
        return body.add(f"Gemm ({x}, {weight})")
    if form == "transB":
        turned = body.add(f"Transpose <perm = [1, 0]> ({weight})")
        return body.add(f"Gemm <transB = 1> ({x}, {turned})")
    middle = shape[1] // 2
    if not middle:
        return body.add(f"MatMul ({x}, {weight})")
    sizes = body.add(f"Constant <value = int64[2] {{{middle}, {shape[1] - middle}}}> ()")
    one, other = body.add("Identity (one)"), body.add("Identity (one)")
    body.written.append(f"a{one}, a{other} = Split <axis = 1> ({weight}, {sizes})")
    parts = [body.add(f"MatMul ({x}, a{half})") for half in (one, other)]
    return body.add(f"Concat <axis = 1> ({', '.join(parts)})")


def _gates(body: Lines, total: str, gates: int, state: int) -> list[str]:
    if gates == 1:
        return [total]
    if body.chance.random() < 0.5:
        names = [f"g{k}" for k in range(gates)]
        made = f"Split <axis = 1, num_outputs = {gates}> ({total})"
        body.written.append(f"{', '.join(names)} = {made}")
        return names
    places = (k * state for k in range(gates + 1))
    bounds = [body.add(f"Constant <value = int64[1] {{{each}}}> ()") for each in places]
    pairs = pairwise(bounds)
    return [body.add(f"Slice ({total}, {first}, {last}, one)") for first, last in pairs]


def layers(lines: Lines) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """A body of many equal steps, of which one or two differ."""
    chance, body = lines.chance, lines.inner()
    rows, width = chance.choice((1, 1, 2, 5)), chance.choice((2, 4, 8, 17))
    count = chance.choice((6, 12, 26))
    feeds = {"s": numbers(chance, rows, width), "c": numbers(chance, count, width)}
    template = chance.randrange(2**32)
    odd = {chance.randrange(count) for _ in range(chance.choice((0, 1, 2)))}
    before, after = "h", "h"
    for layer in range(count):
        number = body.add(f"Constant <value = int64 {{{layer}}}> ()")
        given = body.add(f"Gather <axis = 0> (c, {number})")
        feeds |= _weight(lines, f"w{layer}", (width, width), "constant")
        choices = random.Random(template + (layer in odd))
        made = _layer(body, after, before, given, f"w{layer}", choices)
        before, after = (after, made) if choices.random() < 0.5 else (before, made)
    end, out = body.add(f"Identity ({after})"), body.add(f"Neg ({before})")
    kind = f"float[{rows},{width}]"
    lines.written.append(
        f'o, y = Loop (n, "", s) <body = f (int64 i, bool go, {kind} h) => (bool on, {kind} {end},'
        f" {kind} {out}) {{\n    on = Identity (go)\n  {body}\n  }}>"
    )
    return {"n": trip_count(chance), **feeds}, {"o": 2, "y": 3}


def _layer(
    body: Lines, h: str, before: str, given: str, weight: str, choices: random.Random
) -> str:
    made = body.add(f"MatMul ({h}, {weight})")
    if choices.random() < 0.5:
        made = body.bounded(made)
    axis = choices.choice(("zero", "one"))
    most = body.add(f"{choices.choice(('ReduceMax', 'ReduceSum'))} ({made}, {axis})")
    number = body.add(f"Constant <value = float {{{choices.choice((-1, 2, 3))}}}> ()")
    for value in (given, before, body.bounded(most), number):
        kind = choices.choice(("Add", "Sub", "Max", "Min"))
        made = body.add(f"{kind} ({made}, {value})")
    if choices.random() < 0.4:
        is_more = body.add(f"Greater ({made}, {given})")
        made = body.add(f"Where ({is_more}, {made}, {before})")
    return body.bounded(made)


def chosen(
    lines: Lines,
) -> tuple[dict[str, np.ndarray], dict[str, int | tuple[str, int]]]:
    """Scores of which every step keeps the best way to each place; and the walk back."""
    chance, body, back = lines.chance, lines.inner(), lines.inner()
    width, trips = chance.choice((1, 2, 3, 4, 8, 17, 40, 70)), chance.choice((*TRIPS[1:], 33))
    feeds = {"s": numbers(chance, width), "x": numbers(chance, trips, width)}
    feeds |= _weight(lines, "t", (width, width), chance.choice(("constant", "input")))
    axis = chance.choice((0, 1))
    column = body.add(f"Unsqueeze (a, {('one', 'zero')[axis]})")
    total = body.add(f"Add ({column}, t)")
    word, last = chance.choice(("Max", "Min")), chance.choice((0, 1))
    if chance.random() < 0.3 and not last:
        largest = int(word == "Max")
        (best, places) = ("top", "tops")
        body.written.append(
            f"{best}, {places} = TopK <axis = {axis}, largest = {largest}> ({total}, one)"
        )
        value = body.add(f"Squeeze ({best}, {('zero', 'one')[axis]})")
        place = body.add(f"Squeeze ({places}, {('zero', 'one')[axis]})")
    else:
        value = body.add(f"Reduce{word} <keepdims = 0> ({total}, {('zero', 'one')[axis]})")
        flags = f"axis = {axis}, keepdims = 0, select_last_index = {last}"
        place = body.add(f"Arg{word} <{flags}> ({total})")
    after = body.bounded(body.add(f"Add ({value}, xi)"))
    kind = f"float[{width}]"
    lines.written.append(
        f"o, y = Scan <num_scan_inputs = 1, body = b ({kind} a, {kind} xi) => ({kind} {after},"
        f" int64[{width}] {place}) {{\n  {body}\n  }}> (s, x)"
    )
    results: dict[str, int | tuple[str, int]] = {"o": 1, "y": ("int64", 2)}
    if chance.random() < 0.5:
        start = lines.add("ArgMax <axis = 0, keepdims = 0> (o)")
        step = back.add("Gather <axis = 0> (row, at)")
        end, out = back.add(f"Identity ({step})"), back.add("Identity (at)")
        lines.written.append(
            "first, path = Scan <num_scan_inputs = 1, scan_input_directions = [1], body = b2"
            f" (int64 at, int64[{width}] row) => (int64 {end}, int64 {out}) {{\n  {back}\n  }}>"
            f" ({start}, y)"
        )
        results |= {"first": ("int64", 0), "path": ("int64", 1)}
    return feeds, results
