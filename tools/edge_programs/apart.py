"""Loops with products that no later iteration waits for, before and behind what is carried."""

from __future__ import annotations

import numpy as np

from tools.edge_programs.lines import Lines, numbers

_ROWS, _WIDTHS = (1, 1, 1, 2, 4, 5), (33, 63, 64, 65, 96)
_TRIPS = (0, 1, 2, 15, 16, 17, 70, 170, 257, 300)


def apart(lines: Lines) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """Layers of products: of the item, of the item before it, of what is carried, of each other."""
    chance, body = lines.chance, lines.inner()
    rows, width, trips = chance.choice(_ROWS), chance.choice(_WIDTHS), chance.choice(_TRIPS)
    feeds = {"x": numbers(chance, trips, rows, width), "n": np.array(trips, np.int64)}
    carried = [f"s{k}" for k in range(chance.choice((1, 1, 2, 3)))]
    for name in (*(f"w{k}" for k in range(len(carried) + 2)),):
        feeds |= _weight(lines, name, width)
    feeds |= {f"{name}_0": numbers(chance, rows, width) for name in carried}
    kind = f"float[{rows},{width}]"
    value, ends = "xi", []
    for number, state in enumerate(carried):
        if chance.random() < 0.3:  # what was computed in the iteration before
            ends.append(body.add(f"Identity ({value})"))
            value = body.bounded(body.add(f"Add ({state}, {value})"))
            continue
        if chance.random() < 0.7:
            value = _multiplied(body, body.mixed([value, "xi"], 2), f"w{number}")
        value = body.mixed([state, value], 3)
        ends.append(value)
    out = body.mixed([value, chance.choice(carried)], 2)
    for number in range(chance.choice((0, 1, 1, 2))):
        out = _multiplied(body, out, f"w{len(carried) + number}")
    collected = {"y": out}
    if chance.random() < 0.4:
        collected["z"] = body.mixed([chance.choice((value, *carried)), "xi"], 2)
    _write(lines, body, kind, carried, [body.add(f"Neg ({end})") for end in ends], collected)
    return feeds, {f"o{k}": 2 for k in range(len(carried))} | dict.fromkeys(collected, 3)


def _write(
    lines: Lines, body: Lines, kind: str, carried: list[str], ends: list[str], out: dict[str, str]
) -> None:
    """The body as a Scan, in either direction, or as a Loop that takes its items."""
    states = ", ".join(f"{kind} {name}" for name in carried)
    made = [f"{kind} {end}" for end in ends]
    made += [f"{kind} {body.add(f'Identity ({name})')}" for name in out.values()]
    names = ", ".join([*(f"o{k}" for k in range(len(carried))), *out])
    starts = ", ".join(f"{name}_0" for name in carried)
    if lines.chance.random() < 0.5:
        way = ", scan_input_directions = [1]" if lines.chance.random() < 0.3 else ""
        lines.written.append(
            f"{names} = Scan <num_scan_inputs = 1{way}, body = b ({states}, {kind} xi) =>"
            f" ({', '.join(made)}) {{\n  {body}\n  }}> ({starts}, x)"
        )
        return
    lines.written.append(
        f'{names} = Loop (n, "", {starts}) <body = b (int64 i, bool go, {states}) => (bool on,'
        f" {', '.join(made)}) {{\n    on = Identity (go)\n    xi = Gather <axis = 0> (x, i)\n"
        f"  {body}\n  }}>"
    )


def _weight(lines: Lines, name: str, width: int) -> dict[str, np.ndarray]:
    """A matrix as a constant or an input."""
    value = np.sign(numbers(lines.chance, width, width))
    if lines.chance.random() < 0.4:
        return {name: value}
    text = ",".join(str(int(each)) for each in value.ravel())
    lines.written.append(f"{name} = Constant <value = float[{width},{width}] {{{text}}}> ()")
    return {}


def _multiplied(body: Lines, x: str, weight: str) -> str:
    form = body.chance.choice(("MatMul", "Gemm", "Gemm <transB = 1>"))
    return body.bounded(body.add(f"{form} ({x}, {weight})"))
