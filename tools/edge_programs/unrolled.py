"""Loops of several steps an iteration: all alike, or one unlike the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tools.edge_programs.lines import TRIPS, Lines, numbers

_WIDTHS = (1, 2, 4, 9, 40)


def unrolled(lines: Lines) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """A Scan of pairs, triples or fours of rows, with a step for each of them."""
    chance, body = lines.chance, lines.inner()
    steps, width, trips = chance.choice((2, 2, 3, 4)), chance.choice(_WIDTHS), chance.choice(TRIPS)
    feeds = {
        "s": numbers(chance, width), "r": numbers(chance, width),
        "x": numbers(chance, trips * steps, width), "w": numbers(chance, width),
    }  # fmt: skip
    places = list(range(steps))
    backwards = chance.random() < 0.3
    if backwards:
        places.reverse()
    odd = chance.randrange(steps) if chance.random() < 0.4 else -1
    seed, s, r, made = chance.randrange(2**32), "p", "q", list[str]()
    for step, place in enumerate(places):
        at = place if step != odd or chance.random() < 0.5 else chance.randrange(steps)
        index = body.add(f"Constant <value = int64 {{{at}}}> ()")
        row = body.add(f"Gather <axis = 0> (xi, {index})")
        chance.seed(seed + (step == odd))
        s, r, out = _step(body, s, r, row)
        made.append(body.add(f"Unsqueeze ({out}, zero)"))
    chance.seed(seed + 2)
    if backwards and chance.random() < 0.9:
        made.reverse()
    whole = body.add(f"Concat <axis = 0> ({', '.join(made)})")
    ends = [f"float[{width}] {body.add(f'Identity ({name})')}" for name in (s, r)]
    flags = ", scan_input_directions = [1], scan_output_directions = [1]" if backwards else ""
    shape = lines.add(f"Constant <value = int64[3] {{{trips}, {steps}, {width}}}> ()")
    rows = lines.add(f"Reshape <allowzero = 1> (x, {shape})")
    lines.written.append(
        f"a, b, y = Scan <num_scan_inputs = 1{flags}, body = f (float[{width}] p, float[{width}] q,"
        f" float[{steps},{width}] xi) => ({', '.join(ends)}, float[{steps},{width}] {whole})"
        f" {{\n  {body}\n  }}> (s, r, {rows})"
    )
    return feeds, {"a": 1, "b": 1, "y": 3}


def _step(body: Lines, s: str, r: str, row: str) -> Sequence[str]:
    """The next values of both states, and what is stacked."""
    moved = body.add(f"Concat <axis = 0> ({body.add(f'Slice ({s}, one, end, zero)')}, none1)")
    after = body.mixed([s, r, row, "w", moved], 3)
    other = body.chance.choice((s, row, body.mixed([after, r, row], 2)))
    most = body.add(f"Min ({body.add(f'ReduceMax ({after}, zero)')}, w)")
    return after, other, body.mixed([after, s, r, row, most], 2)
