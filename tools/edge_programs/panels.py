"""Loops that multiply by the same matrix of weights, which is large enough to be in panels."""

from __future__ import annotations

import numpy as np

from tools.edge_programs.lines import Lines, numbers

_EXTENTS = (17, 40, 63, 64, 65, 70, 96, 128, 130)


def panels(lines: Lines) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """A matrix of weights that products read whole, transposed, in part, and in several loops."""
    chance = lines.chance
    rows, width = chance.randrange(1, 21), chance.choice(_EXTENTS)
    feeds = {"s": numbers(chance, rows, width), "n": np.array(chance.randrange(13), np.int64),
             "m": np.array(chance.randrange(4), np.int64)}  # fmt: skip
    weight = np.sign(numbers(chance, width, width))
    if chance.random() < 0.5:
        feeds["w"] = weight
    else:
        text = ",".join(str(int(each)) for each in weight.ravel())
        lines.written.append(f"w = Constant <value = float[{width},{width}] {{{text}}}> ()")
    if chance.random() < 0.3:
        lines.written.append(f"w2 = {chance.choice(('Neg', 'Transpose <perm = [1, 0]>'))} (w)")
    else:
        lines.written.append("w2 = Identity (w)")
    kind, start, made = f"float[{rows},{width}]", "s", {}
    for loop in range(chance.choice((1, 1, 2))):
        body = lines.inner()
        after = "h"
        for _ in range(chance.choice((1, 2, 3))):
            after = _multiplied(body, after, width)
        if chance.random() < 0.3:
            after = _inner_loop(body, after, kind, width)
        if chance.random() < 0.3:
            after = _in_branch(body, after, width)
        end = body.mixed([after, "h"], 2)
        out, y = f"o{loop}", f"y{loop}"
        lines.written.append(
            f'{out}, {y} = Loop (n, "", {start}) <body = f{loop} (int64 i, bool go, {kind} h) =>'
            f" (bool on, {kind} {end}, {kind} {body.add(f'Neg ({after})')})"
            f" {{\n    on = Identity (go)\n  {body}\n  }}>"
        )
        start, made = out, made | {out: 2, y: 3}
    return feeds, made


def _multiplied(body: Lines, x: str, width: int) -> str:
    """The rows times the weights, in either orientation, or by the first of their columns."""
    weight, middle = body.chance.choice(("w", "w", "w2")), width // 2
    form = body.chance.choice(("MatMul", "transB", "turned", "columns", "rows"))
    if form == "MatMul":
        return body.bounded(body.add(f"MatMul ({x}, {weight})"))
    if form == "transB":
        return body.bounded(body.add(f"Gemm <transB = 1> ({x}, {weight})"))
    if form == "turned":
        turned = body.add(f"Transpose <perm = [1, 0]> ({weight})")
        return body.bounded(body.add(f"MatMul ({x}, {turned})"))
    half = body.add(f"Constant <value = int64[1] {{{middle}}}> ()")
    if form == "columns":
        part = body.add(f"Slice ({weight}, zero, {half}, one)")
        made = body.add(f"MatMul ({x}, {part})")
        rest = body.add(f"Slice ({x}, {half}, end, one)")
        return body.bounded(body.add(f"Concat <axis = 1> ({made}, {rest})"))
    part = body.add(f"Slice ({weight}, {half}, end, zero)")
    rest = body.add(f"Slice ({x}, {half}, end, one)")
    return body.bounded(body.add(f"MatMul ({rest}, {part})"))


def _inner_loop(body: Lines, x: str, kind: str, width: int) -> str:
    inner = body.inner()
    after = _multiplied(inner, "q", width)
    body.written.append(
        f'{after}l = Loop (m, "", {x}) <body = in{after} (int64 j, bool more, {kind} q) =>'
        f" (bool yet, {kind} {after}) {{\n    yet = Identity (more)\n  {inner}\n  }}>"
    )
    return f"{after}l"


def _in_branch(body: Lines, x: str, width: int) -> str:
    """A product on one side of a branch, which some iterations take."""
    then, otherwise = body.inner(), body.inner()
    made, other = _multiplied(then, x, width), otherwise.add(f"Neg ({x})")
    parity = body.add("Mod (i, number2)")
    is_odd = body.add(f"Cast <to = 9> ({parity})")
    return body.add(
        f"If ({is_odd}) <then_branch = t{made} () => (float[a,b] {made}) {{\n  {then}\n  }},"
        f" else_branch = e{made} () => (float[a,b] {other}) {{\n  {otherwise}\n  }}>"
    )
