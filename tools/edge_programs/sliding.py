"""Loops whose state loses rows at one end and gets rows at the other that it computes."""

from __future__ import annotations

import numpy as np

from tools.edge_programs.lines import Lines, numbers

_EXTENTS, _WIDTHS, _ROWS = (3, 8, 9, 20, 33, 70, 110), (0, 1, 2, 4, 5, 17), (1, 1, 1, 2, 3)
_TRIPS = (0, 1, 2, 3, 9, 40, 77, 150, 300)


def sliding(lines: Lines) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """A delay line with feedback along either axis; another state may hold what leaves it."""
    chance, body = lines.chance, lines.inner()
    extent, width, rows = chance.choice(_EXTENTS), chance.choice(_WIDTHS), chance.choice(_ROWS)
    axis = chance.choice((0, 1)) if width else 0
    shape = [extent, width][: 1 + bool(width)]
    shape = shape[::-1] if axis else shape
    place = ("zero", "one")[axis]
    feeds = {"n": np.array(chance.choice(_TRIPS), np.int64), "s": numbers(chance, *shape)}
    count = lines.add(f"Constant <value_ints = [{rows}]> ()")
    behind = lines.add(f"Constant <value_ints = [-{rows}]> ()")
    first = body.add(f"Slice (d, zero, {count}, {place})")
    last = body.add(f"Slice (d, {behind}, end, {place})")
    values = [first, last]
    if chance.random() < 0.3:
        most = body.add(f"ReduceMax <keepdims = 1> (d, {place})")
        values.append(most)
    if chance.random() < 0.2:
        start = body.add(f"Constant <value_ints = [{chance.randrange(extent - rows + 1)}]> ()")
        stop = body.add(f"Add ({start}, {count})")
        values.append(body.add(f"Slice (d, {start}, {stop}, {place})"))
    new = body.mixed(values, 3)
    new = body.add(f"Add ({new}, {body.add(f'Mul ({first}, none)')})")
    is_forward = chance.random() < 0.6
    bounds = f"{count}, end" if is_forward else f"zero, {behind}"
    kept = body.add(f"Slice (d, {bounds}, {place})")
    after = body.add(f"Concat <axis = {axis}> ({kept}, {new})" if is_forward
                     else f"Concat <axis = {axis}> ({new}, {kept})")  # fmt: skip
    seen = body.add(f"ReduceSum <keepdims = 0> ({chance.choice((first, last, new, after, 'd'))})")
    total = body.bounded(body.add(f"Add (t, {seen})"))
    kind = f"float[{','.join(map(str, shape))}]"
    out = [f"{kind} {after}", f"float {total}", f"float {body.add(f'Neg ({seen})')}"]
    names, ranks = ["o", "t1", "y"], {"o": len(shape), "t1": 0, "y": 1}
    if chance.random() < 0.3:
        whole = body.add(f"Identity ({chance.choice((after, 'd', new))})")
        out.append(f"float[{','.join(f'z{k}' for k in range(len(shape)))}] {whole}")
        names.append("z")
        ranks["z"] = 1 + len(shape)
    goes = "on = Identity (go)"
    if chance.random() < 0.25:
        goes = f"on = Less ({total}, high)"
    lines.written.append(
        f'{", ".join(names)} = Loop (n, "", s, none) <body = b (int64 i, bool go, {kind} d,'
        f" float t) => (bool on, {', '.join(out)}) {{\n  {body}\n    {goes}\n  }}>"
    )
    return feeds, ranks
