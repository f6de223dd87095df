"""Loops whose states are kept from, or up to, a number of iterations, and loops in two parts."""

from __future__ import annotations

import numpy as np

from tools.edge_programs.lines import Lines, numbers

Feeds = dict[str, np.ndarray]
Kinds = dict[str, int | tuple[str, int]]


def masked(lines: Lines) -> tuple[Feeds, Kinds]:
    """Two states that a length masks, by an If or a Where; rows are stacked, also joined."""
    chance, body = lines.chance, lines.inner()
    width, trips = chance.choice((1, 2, 4, 9, 40)), chance.choice((0, 1, 7, 8, 9, 30, 100))
    length = chance.choice((-3, 0, 1, 2, 5, 8, trips - 1, trips, trips + 1, 2**40))
    feeds = {"n": np.array(trips, np.int64), "m": np.array(length, np.int64),
             "s": numbers(chance, width), "t": numbers(chance, width),
             "x": numbers(chance, trips + 1, width)}  # fmt: skip
    moved = chance.choice(("i", "i", body.add("Add (i, number2)"), body.add("Sub (m, i)")))
    limit = chance.choice(("m", "m", "m", "number2"))
    words = ("Less", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal")
    within = body.add(f"{chance.choice(words)} ({moved}, {limit})")
    if chance.random() < 0.2:
        within = body.add(f"Not ({within})")
    row = body.add("Gather <axis = 0> (x, i)")
    afters = []
    for state, values in (("a", ["a", "b", row]), ("b", ["b", row])):
        new = body.mixed(values, 3)
        sides = [new, state] if chance.random() < 0.7 else [state, new]
        if chance.random() < 0.1:
            sides = [new, row]
        if chance.random() < 0.6:
            afters.append(body.add(f"Where ({within}, {sides[0]}, {sides[1]})"))
            continue
        one, other = (body.add(f"Identity ({each})") for each in sides)
        then, rest = (f"f{len(afters)}_{k}" for k in range(2))
        afters.append(body.add(
            f"If ({within}) <then_branch = p () => (float[{width}] {then}) {{"
            f" {then} = Neg ({one}) }}, else_branch = q () => (float[{width}] {rest}) {{"
            f" {rest} = Identity ({other}) }}>" if chance.random() < 0.2 else
            f"If ({within}) <then_branch = p () => (float[{width}] {then}) {{"
            f" {then} = Identity ({one}) }}, else_branch = q () => (float[{width}] {rest}) {{"
            f" {rest} = Identity ({other}) }}>"
        ))  # fmt: skip
    outs = [body.add(f"Identity ({chance.choice(('a', *afters))})"), body.mixed(["a", row], 2)]
    on, kind = body.add("Identity (go)"), f"float[{width}]"
    lines.written.append(
        f'o, p, y, z = Loop (n, "", s, t) <body = b (int64 i, bool go, {kind} a, {kind} b) =>'
        f" (bool {on}, {kind} {afters[0]}, {kind} {afters[1]}, {kind} {outs[0]}, {kind} {outs[1]})"
        f" {{\n  {body}\n  }}>"
    )
    lines.written.append(f"joined = Concat <axis = {chance.choice((0, 0, 1))}> (y, z)")
    kinds: Kinds = {"o": 1, "p": 1, "y": 2, "joined": 2}
    return feeds, {name: kind for name, kind in kinds.items() if chance.random() < 0.7} or {"z": 2}
