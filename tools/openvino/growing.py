"""Generates random IR bodies without control flow, over a dozen operators."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tools.openvino.sketch import Sketch, Weights

Shape = tuple[int, ...]
SHAPES: tuple[Shape, ...] = ((2, 3), (1, 3), (2, 1), (1, 1))
_DEEPEST = 3
TRUE = np.array([True])


class Term(NamedTuple):
    """A value of a body: which layer gives it, its element type, its shape."""

    source: int | tuple[int, int]
    word: str
    shape: Shape


Step = Callable[["Grower"], list[Term]]


class Grower:
    """A body being made: its sketch, the values it has, and how deep inside it stands.

    `stacks` are values with a dynamic extent; they are results of the program.
    `iterates`: a TensorIterator is around it. `slice`: what every float result of it depends on.
    """

    def __init__(self, weights: Weights, chance: random.Random, depth: int) -> None:
        self.sketch, self.chance, self.depth = Sketch(weights), chance, depth
        self.pool: list[Term] = []
        self.stacks: list[Term] = []
        self.iterates = False
        self.slice: Term | None = None

    # ---- layers

    def layer(
        self, type_: str, given: Sequence[Term], word: str, shape: Shape, version: int = 1,
        **data: object,
    ) -> Term:  # fmt: skip
        """Append a layer of one output of the given element type and shape."""
        sources = [term.source for term in given]
        made = self.sketch.layer(type_, sources, [(word, shape)], f"opset{version}", data=data)
        return Term(made, word, shape)

    def constant(self, array: np.ndarray) -> Term:
        """Append a constant of float32, int64 or boolean."""
        word = {"f": "f32", "i": "i64", "b": "boolean"}[array.dtype.kind]
        return Term(self.sketch.constant(array), word, array.shape)

    def number(self, least: int, most: int) -> Term:
        """Append a random whole number between two bounds, as a vector of one."""
        return self.constant(np.array([self.chance.randint(least, most)]))

    def floats(self, shape: Shape) -> Term:
        """Append a random constant of multiples of 1/4 between -2 and 2."""
        values = [self.chance.randint(-8, 8) / 4 for _ in range(int(np.prod(shape)))]
        return self.constant(np.array(values, np.float32).reshape(shape))

    def parameter(self, term: Term) -> Term:
        """Append an input of a term's type, which the layers to come may read."""
        made = Term(self.sketch.parameter("p", term.word, *term.shape), term.word, term.shape)
        self.pool.append(made)
        return made

    # ---- what there is

    def pick(self, word: str, shape: Shape | None = None) -> Term:
        """A term of the element type (and shape, where given); a constant where there is none."""
        fitting = [t for t in self.pool if t.word == word and (shape is None or t.shape == shape)]
        if fitting and self.chance.random() < 0.9:
            return self.chance.choice(fitting)
        if word == "f32":
            return self.floats(shape or self.chance.choice(SHAPES))
        return self.number(-3, 3) if word == "i64" else self.constant(TRUE)

    def fitting(self, shape: Shape) -> Term:
        """A float that can be broadcast to a shape."""
        fits = [t for t in self.pool if t.word == "f32" and _broadcast(t.shape, shape) == shape]
        return self.chance.choice(fits) if fits else self.floats(shape)

    def dependent(self, term: Term) -> Term:
        """The same, and the mean of the slice, where there is one to depend on."""
        if self.slice is None or term.word != "f32":
            return term
        axes = self.constant(np.array([0, 1]))
        mean = self.layer("ReduceMean", [self.slice, axes], "f32", (1, 1), keep_dims=True)
        return self.layer("Add", [term, mean], "f32", term.shape)

    def bounded(self, term: Term) -> Term:
        """The same between two numbers, so that nothing grows without end."""
        if term.word == "f32":
            return self.layer("Tanh", [term], "f32", term.shape)
        return self.layer("Clamp", [term], "i64", term.shape, min=-8, max=8)

    # ---- growing

    def grow(self, count: int, control: Sequence[Step]) -> None:
        """Add this number of steps; those of `control` have bodies."""
        for _ in range(count):
            inner = self.depth < _DEEPEST and self.chance.random() < 0.3
            self.pool += self.chance.choice(control if inner else _STEPS)(self)


def _broadcast(one: Shape, two: Shape) -> Shape:
    return np.broadcast_shapes(one, two)


# ---- steps without a body


def _unary(body: Grower) -> list[Term]:
    x = body.pick("f32")
    word = body.chance.choice(("Tanh", "Sigmoid", "ReLU", "Abs", "Negative", "Floor"))
    return [body.layer(word, [x], "f32", x.shape)]


def _binary(body: Grower) -> list[Term]:
    one, two = body.pick("f32"), body.pick("f32")
    word = body.chance.choice(("Add", "Subtract", "Multiply", "Maximum", "Minimum"))
    made = body.layer(word, [one, two], "f32", _broadcast(one.shape, two.shape))
    return [body.layer("Clamp", [made], "f32", made.shape, min=-16, max=16)]


def _reduced(body: Grower) -> list[Term]:
    x, axis = body.pick("f32"), body.chance.choice((0, 1))
    shape = (1, x.shape[1]) if axis == 0 else (x.shape[0], 1)
    word = body.chance.choice(("ReduceSum", "ReduceMax", "ReduceMean"))
    axes = body.constant(np.array([axis]))
    return [body.layer(word, [x, axes], "f32", shape, keep_dims=True)]


def _product(body: Grower) -> list[Term]:
    x = body.pick("f32")
    matrix = body.floats((x.shape[1], x.shape[1]))
    flags = {"transpose_a": False, "transpose_b": body.chance.random() < 0.5}
    return [body.bounded(body.layer("MatMul", [x, matrix], "f32", x.shape, **flags))]


def _chosen(body: Grower) -> list[Term]:
    one = body.pick("f32")
    two = body.pick("f32", one.shape)
    return [body.layer("Select", [body.pick("boolean"), one, two], "f32", one.shape)]


def _row(body: Grower) -> list[Term]:
    x = body.pick("f32")
    index = body.layer("Clamp", [body.pick("i64")], "i64", (1,), min=0, max=x.shape[0] - 1)
    axis = body.constant(np.array(0))
    return [body.layer("Gather", [x, index, axis], "f32", (1, x.shape[1]), 8)]


def _sums(body: Grower) -> list[Term]:
    x = body.pick("f32")
    axis = body.constant(np.array(body.chance.choice((0, 1))))
    flags = {"exclusive": body.chance.random() < 0.5, "reverse": body.chance.random() < 0.5}
    return [body.bounded(body.layer("CumSum", [x, axis], "f32", x.shape, 3, **flags))]


def _whole(body: Grower) -> list[Term]:
    one, two = body.pick("i64"), body.pick("i64")
    word = body.chance.choice(("Add", "Subtract", "Multiply", "Maximum", "Minimum"))
    return [body.bounded(body.layer(word, [one, two], "i64", (1,)))]


def _from_whole(body: Grower) -> list[Term]:
    made = body.layer("Convert", [body.pick("i64")], "f32", (1,), destination_type="f32")
    shape = body.constant(np.array([1, 1]))
    return [body.layer("Reshape", [made, shape], "f32", (1, 1), special_zero=False)]


def _compared(body: Grower) -> list[Term]:
    if body.chance.random() < 0.5:
        word = body.chance.choice(("Less", "Greater", "Equal", "NotEqual", "LessEqual"))
        return [body.layer(word, [body.pick("i64"), body.pick("i64")], "boolean", (1,))]
    axes, shape = body.constant(np.array([0, 1])), body.constant(np.array([1]))
    total = body.layer("ReduceSum", [body.pick("f32"), axes], "f32", (1, 1), keep_dims=True)
    flat = body.layer("Reshape", [total, shape], "f32", (1,), special_zero=False)
    limit = body.constant(np.array([body.chance.randint(-8, 8) / 7], np.float32))
    return [body.layer("Less", [flat, limit], "boolean", (1,))]


def _logical(body: Grower) -> list[Term]:
    one, two = body.pick("boolean"), body.pick("boolean")
    word = body.chance.choice(("LogicalAnd", "LogicalOr", "LogicalXor"))
    return [body.layer(word, [one, two], "boolean", (1,))]


_STEPS: tuple[Step, ...] = (
    _unary, _unary, _binary, _binary, _binary, _reduced, _product, _chosen, _row, _sums, _whole,
    _from_whole, _compared, _logical,
)  # fmt: skip
