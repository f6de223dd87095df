"""A block that a strategy writes as text, and the state of drawing it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st

KINDS = {
    "F": "float",
    "I": "int64",
    "B": "bool",
    "V": "float[3]",
    "W": "int64[3]",
    "L": "float[]",  # a list of at least one
    "E": "float[]",  # a list that may be empty
    "J": "int64[]",  # one of whole numbers
    "S": "seq(float)",
    "T": "string[3]",
    "O": "optional(float)",
}


@dataclass
class Block:
    """A block being written: what it can see, and its lines."""

    depth: int
    visible: list[tuple[str, str]]
    own: list[tuple[str, str]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    number: itertools.count = field(default_factory=itertools.count)

    def name(self, kind: str) -> str:
        """A new name; the same ones come up in every sibling."""
        return f"{kind.lower()}{self.depth}_{next(self.number)}"

    def define(self, name: str, kind: str) -> str:
        """A name that is visible from now on, and this block's own."""
        self.visible.append((name, kind))
        self.own.append((name, kind))
        return name

    def step(self, kind: str, text: str) -> str:
        """A line with one result."""
        name = self.name(kind)
        self.lines.append(f"{name} = {text}")
        return self.define(name, kind)

    def of(self, kind: str, *, own: bool = False) -> list[str]:
        """The names of a kind."""
        return [n for n, k in (self.own if own else self.visible) if k == kind]

    def line(self, text: str) -> str:
        """A line with one result that nothing else reads."""
        name = f"t{self.depth}_{next(self.number)}"
        self.lines.append(f"{name} = {text}")
        return name

    def constant(self, kind: str, value: object) -> str:
        """A scalar constant."""
        return self.step(kind, f"Constant <value = {KINDS[kind]} {{{value}}}> ()")


@dataclass(frozen=True)
class Writer:
    """What one program is drawn with, and which programs are wanted."""

    draw: Callable
    careful: bool
    grows: bool
    wild: bool = False

    def pick(self, options: Sequence):
        return self.draw(st.sampled_from(list(options)))

    def chance(self) -> bool:
        return self.draw(st.booleans())
