"""Generates stacks of Scans: each slices what the one before it stacks, or nearly so.

A stacked output or an item may be reversed, read again after the stack, or negated between two
Scans, and a Scan may start from the last state of another. `jit/schedule/stacked_loops.py` decides
which of them run as one loop.
"""

from __future__ import annotations

import random

import numpy as np

from tests.strategies import Program

_HEAD = '<ir_version: 10, opset_import: ["" : 18]>\n'
_SHAPES = ((), (1,), (3,), (2, 5), (40,))
_FUNCTIONS = ("Add", "Sub", "Mul", "Max", "Min")
_TRIPS = (0, 1, 2, 5, 17)
_SELDOM, _OFTEN = 0.15, 0.4


def random_stack(chance: random.Random) -> Program:
    """Two to four Scans with one or two states each, and their feed."""
    shape = chance.choice(_SHAPES)
    writer = _Writer(chance, shape)
    for layer in range(chance.randint(2, 4)):
        writer.scan(layer)
    numbers = np.random.default_rng(chance.randrange(2**32))
    feeds = {
        "x": numbers.uniform(-2, 2, (chance.choice(_TRIPS), *shape)).astype(np.float32),
        "z": numbers.uniform(-1, 1, shape).astype(np.float32),
        "lo": np.float32(-3),
        "hi": np.float32(3),
    }
    return Program(writer.model(), {name: np.asarray(value) for name, value in feeds.items()})


class _Writer:
    """One program: the lines of its main graph, its outputs, and what a Scan may read."""

    def __init__(self, chance: random.Random, shape: tuple[int, ...]) -> None:
        self.chance = chance
        extents = "".join(f",{extent}" for extent in shape)
        self.type = f"float[{extents[1:]}]" if shape else "float"
        self.rows = f"float[T{extents}]"
        self.lines: list[str] = []
        self.outputs: dict[str, str] = {}
        self.sources, self.states = ["x"], ["z"]

    def scan(self, layer: int) -> None:
        """Add a Scan that slices the last source, and perhaps the one before it."""
        chance, last, state_count = self.chance, self.sources[-1], self.chance.randint(1, 2)
        sliced = [last, chance.choice(self.sources[-2:])][: chance.randint(1, 2)]
        initials = [self._mostly("z", self.states[-1]) for _ in range(state_count)]
        results = [f"u{layer}_{k}" for k in range(state_count)]
        directions = [int(chance.random() < _SELDOM) for _ in sliced]
        carried = [f"p{k}" for k in range(state_count)]
        items = [f"i{k}" for k in range(len(sliced))]
        nexts = [f"n{k}" for k in range(state_count)]
        taken, made = self._typed(*carried, *items), self._typed(*nexts, "o")
        self.lines += [
            f"{', '.join((*results, f'y{layer}'))} = Scan <num_scan_inputs = {len(sliced)},",
            f"  scan_input_directions = {directions},",
            f"  scan_output_directions = [{int(chance.random() < _SELDOM)}],",
            f"  body = b{layer} ({taken}) => ({made}) {{",
            *(f"    {line}" for line in self._body([*carried, *items], nexts)),
            f"  }}> ({', '.join((*initials, *sliced))})",
        ]
        self.sources.append(f"y{layer}")
        self.states.append(results[0])
        self.outputs |= {name: self.type for name in results if chance.random() < _OFTEN}
        if chance.random() < _OFTEN:
            self.outputs[f"y{layer}"] = self.rows
        if chance.random() < _SELDOM:
            self.lines.append(f"m{layer} = Neg (y{layer})")
            self.sources.append(f"m{layer}")

    def model(self) -> str:
        """The text of the model."""
        outputs = {**self.outputs, self.sources[-1]: self.rows}
        given = f"{self.rows} x, {self.type} z, float lo, float hi"
        made = ", ".join(f"{type_} {name}" for name, type_ in outputs.items())
        lines = "\n".join(self.lines)
        return f"{_HEAD}g ({given}) => ({made}) {{\n{lines}\n}}"

    def _body(self, values: list[str], nexts: list[str]) -> list[str]:
        lines = []
        for number in range(self.chance.randint(2, 6)):
            one, other = self.chance.choices(values, k=2)
            lines.append(f"t{number} = {self.chance.choice(_FUNCTIONS)} ({one}, {other})")
            values = [*values, f"t{number}"]
        lines += [f"{name} = Clip ({self.chance.choice(values)}, lo, hi)" for name in nexts]
        return [*lines, f"o = Clip ({values[-1]}, lo, hi)"]

    def _mostly(self, usual: str, other: str) -> str:
        return other if self.chance.random() < _SELDOM else usual

    def _typed(self, *names: str) -> str:
        return ", ".join(f"{self.type} {name}" for name in names)
