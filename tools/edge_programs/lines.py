"""The lines of a random program, and its numbers."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

EXTENTS = (1, 1, 2, 2, 3, 4, 5, 8, 9, 16, 17, 33, 40, 64, 70, 129)
TRIPS = (0, 1, 2, 2, 3, 5, 9, 20)
COMPARISONS = ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")
HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
CONSTANTS = """
  zero = Constant <value = int64[1] {0}> ()
  one = Constant <value = int64[1] {1}> ()
  two = Constant <value = int64[1] {2}> ()
  minus1 = Constant <value = int64[1] {-1}> ()
  minus2 = Constant <value = int64[1] {-2}> ()
  end = Constant <value = int64[1] {9999}> ()
  none = Constant <value = float {0}> ()
  none1 = Constant <value = float[1] {0}> ()
  half = Constant <value = float {0.5}> ()
  low = Constant <value = float {-40}> ()
  high = Constant <value = float {40}> ()
  number1 = Constant <value = int64 {1}> ()
  number2 = Constant <value = int64 {2}> ()"""


@dataclass
class Lines:
    """Lines of a graph, and the random choices of a program."""

    chance: random.Random
    written: list[str] = field(default_factory=list)
    count: list[int] = field(default_factory=lambda: [0])

    def inner(self) -> Lines:
        """The lines of a body."""
        return Lines(self.chance, [], self.count)

    def add(self, call: str) -> str:
        """Write a node; returns the name of its result."""
        self.count[0] += 1
        name = f"v{self.count[0]}"
        self.written.append(f"{name} = {call}")
        return name

    def __str__(self) -> str:
        return "\n  ".join(self.written)

    def step(self, kind: str, one: str, other: str) -> str:
        """A function of two values, `near` of neighbours in a row, or of one; each as wide as b."""
        if kind == "Where":
            condition = self.add(f"{self.chance.choice(COMPARISONS)} ({one}, {other})")
            return self.add(f"Where ({condition}, {one}, {other})")
        if kind == "near":
            first = self.add(f"Expand ({one}, {self.add('Shape (b)')})")
            spans = ("one, end", "zero, one")
            parts = [self.add(f"Slice ({first}, {span}, zero)") for span in spans]
            return self.add(f"Concat <axis = 0> ({', '.join(parts)})")
        return self.add(f"{kind} ({one})" if kind in ("Abs", "Neg") else f"{kind} ({one}, {other})")

    def shifted(self, x: str, axis: str) -> str:
        """X, 0 to 2 places further along an axis; the border is 0, cyclic, or its neighbours'."""
        far = self.chance.choice((0, 1, 1, 2))
        if not far:
            return x
        word = "one" if far == 1 else "two"
        is_up = self.chance.random() < 0.5
        least = f"minus{far}"
        kept = ("zero", least) if is_up else (word, "end")
        border = self.chance.choice(("none", "cyclic", "near"))
        near = ("zero", word) if is_up else (least, "end")
        far_end = (least, "end") if is_up else ("zero", word)
        bounds = near if border == "near" else far_end
        rest = self.add(f"Slice ({x}, {bounds[0]}, {bounds[1]}, {axis})")
        if border == "none":
            rest = self.add(f"Mul ({rest}, none)")
        middle = self.add(f"Slice ({x}, {kept[0]}, {kept[1]}, {axis})")
        number = 0 if axis == "zero" else 1
        parts = (rest, middle) if is_up else (middle, rest)
        return self.add(f"Concat <axis = {number}> ({', '.join(parts)})")

    def mixed(self, values: list[str], steps: int = 4) -> str:
        """An expression of all the values, of whole numbers of bounded size."""
        found = self.chance.choice(values)
        for _ in range(steps):
            other = self.chance.choice(values)
            kind = self.chance.choice(("Add", "Sub", "Max", "Min", "Where", "Neg", "Abs"))
            if kind == "Where":
                is_more = self.add(f"Greater ({found}, {other})")
                found = self.add(f"Where ({is_more}, {found}, {other})")
            elif kind in ("Neg", "Abs"):
                found = self.add(f"{kind} ({found})")
            else:
                found = self.add(f"{kind} ({found}, {other})")
        return self.bounded(found)

    def bounded(self, x: str) -> str:
        """The value between -40 and 40."""
        return self.add(f"Max ({self.add(f'Min ({x}, high)')}, low)")


def numbers(chance: random.Random, *shape: int) -> np.ndarray:
    """Whole numbers from -3 to 3, as float32."""
    generator = np.random.default_rng(chance.randrange(2**32))
    return generator.integers(-3, 4, shape).astype(np.float32)


def trip_count(chance: random.Random) -> np.ndarray:
    """A number of iterations."""
    return np.array(chance.choice(TRIPS), np.int64)
