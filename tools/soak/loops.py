"""Generates loops over random shapes: chains of operators on carried, sliced, stacked arrays."""

from __future__ import annotations

import random

import numpy as np

from tests.strategies import Program

_HEAD = '<ir_version: 10, opset_import: ["" : 18]>\n'
_EXTENTS = (1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 64, 100)
_MOST = 20_000
_UNARY = ("Tanh", "Neg", "Abs", "Sigmoid", "Cos", "Relu", "Identity", "Softsign", "Erf")
_BINARY = ("Add", "Sub", "Mul", "Max", "Min")


def random_loop(chance: random.Random) -> Program:
    """A Loop with one or two carried arrays, or a Scan over any axis in any direction."""
    writer = _Writer(chance)
    return writer.scan() if chance.random() < 0.5 else writer.loop()


class _Writer:
    """One program: `shape` is that of everything carried."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        shape = [chance.choice(_EXTENTS) for _ in range(chance.randrange(4))]
        while np.prod(shape, dtype=int) > _MOST:
            shape.pop()
        self.shape = tuple(shape)
        self.lines: list[str] = []
        self.numbers = np.random.default_rng(chance.randrange(2**32))

    def array(self, shape: tuple[int, ...]) -> np.ndarray:
        return self.numbers.uniform(-1, 1, shape).astype(np.float32)

    def text(self, shape: tuple[int, ...] | None = None) -> str:
        shape = self.shape if shape is None else shape
        return f"float[{','.join(map(str, shape))}]" if shape else "float"

    def chain(self, values: list[str], steps: int, prefix: str = "t") -> list[str]:
        """The values, and those of some more operators on them."""
        found = list(values)
        for number in range(steps):
            found.append(f"{prefix}{number}")
            self.lines.append(f"{found[-1]} = {self.operator(found[:-1])}")
        return found

    def operator(self, values: list[str]) -> str:
        pick = self.chance.choice
        kind = self.chance.random()
        if kind < 0.35:
            return f"{pick(_UNARY)} ({pick(values)})"
        if kind < 0.75 or not self.shape:
            return f"{pick(_BINARY)} ({pick(values)}, {pick(values)})"
        if kind < 0.85:
            return f"Softmax <axis = {self.chance.randrange(len(self.shape))}> ({pick(values)})"
        if kind < 0.93:
            return f"Sub ({pick(values)}, row)"
        return f"Where (small, {pick(values)}, {pick(values)})"

    def body(self, states: list[str], seen: list[str]) -> tuple[str, list[str]]:
        """The lines of a body, the names of what is carried on, and of what is stacked."""
        self.lines = [f"small = Less ({states[0]}, half)"]
        found = self.chain([*states, *seen], self.chance.randrange(1, 9))
        ends = []
        for number in range(len(states) + 1):
            ends.append(f"out{number}")
            self.lines.append(f"{ends[-1]} = Clip ({self.chance.choice(found)}, low, half)")
        return "\n".join(self.lines), ends

    def constants(self) -> str:
        row = self.shape[-1:]
        values = ", ".join(f"{x:.3f}" for x in self.array(row or (1,)).ravel())
        row_text = f"float[{row[0]}] {{{values}}}" if row else f"float {{{values}}}"
        return (
            "half = Constant <value = float {0.5}> ()\n low = Constant <value = float {-0.75}> ()\n"
            f"row = Constant <value = {row_text}> ()\n"
        )

    def loop(self) -> Program:
        count = self.chance.choice((1, 2))
        states = [f"s{k}" for k in range(count)]
        body, ends = self.body(states, [])
        t = self.text()
        stacked = self.text(self.shape).replace("float", "float[N]") if not self.shape else (
            f"float[N,{','.join(map(str, self.shape))}]"
        )  # fmt: skip
        inputs = ", ".join(f"{t} p{k}" for k in range(count))
        outputs = ", ".join(f"{t} q{k}" for k in range(count))
        carried = ", ".join(f"{t} {state}" for state in states)
        given = ", ".join(f"{t} {end}" for end in ends)
        text = f"""{_HEAD}g (int64 n, {inputs}) => ({outputs}, {stacked} all) {{
          {self.constants()}
          {", ".join(f"q{k}" for k in range(count))}, all = Loop (n, , {
            ", ".join(f"p{k}" for k in range(count))
        }) <body = b (int64 i, bool go, {carried}) => (bool on, {given}) {{
            on = Identity (go)
            {body}
          }}>
        }}"""
        trips = self.chance.choice((0, 1, 2, 5, 17))
        feeds = {"n": np.array(trips), **{f"p{k}": self.array(self.shape) for k in range(count)}}
        return Program(text, feeds)

    def scan(self) -> Program:
        body, ends = self.body(["s"], ["x"])
        axis = self.chance.randrange(len(self.shape) + 1)
        length = self.chance.choice((1, 2, 5, 17))
        out_axis = self.chance.randrange(len(self.shape) + 1)
        turned, out_turned = self.chance.randrange(2), self.chance.randrange(2)
        t = self.text()
        ranks = ",".join(f"D{k}" for k in range(len(self.shape) + 1))
        text = f"""{_HEAD}g ({t} p, float[{ranks}] xs) => ({t} q, float[{
            ranks.replace("D", "E")
        }] ys) {{
          {self.constants()}
          q, ys = Scan <num_scan_inputs = 1, scan_input_axes = [{axis}],
            scan_input_directions = [{turned}], scan_output_axes = [{out_axis}],
            scan_output_directions = [{out_turned}],
            body = b ({t} s, {t} x) => ({t} {ends[0]}, {t} {ends[1]}) {{
            {body}
          }}> (p, xs)
        }}"""
        shape = list(self.shape)
        shape.insert(axis, length)
        return Program(text, {"p": self.array(self.shape), "xs": self.array(tuple(shape))})
