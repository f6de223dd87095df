"""RNN, GRU and LSTM as kernel loops: directions, lengths, clipping, activations, layouts.

The input is multiplied by its weights before the loop, for all steps at once. bfloat16 is computed
in float32; for float16 every sum and function is rounded, in the order of the formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder, extents_of
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Axis, Gather, Node, Number
from treadle.jit.kernel.views import packed, same
from treadle.jit.lowering.counted_loop import Nodes, counted_loop
from treadle.jit.lowering.operators.activation import Numbers
from treadle.jit.lowering.operators.gather_scatter import steps
from treadle.jit.lowering.operators.layout import concat_along
from treadle.jit.lowering.operators.matmul import product
from treadle.jit.lowering.registry import (
    NARROW,
    Attributes,
    Operands,
    in_float32_except_float16,
    lowers,
)

Activation = Callable[[Node], Node]
Cell = Callable[[Node, Nodes], Nodes]
Formula = Callable[[Numbers, Node, Any, Any], Node]


def _softsign(numbers: Numbers, node: Node, _: Any, __: Any) -> Node:
    """X / (1 + |x|), rounded once."""
    wide = Numbers(numbers.builder, DType.FLOAT32 if numbers.dtype in NARROW else numbers.dtype)
    given = numbers.builder.cast(node, wide.dtype)
    return numbers.builder.cast(wide.div(given, wide.add(1, wide.abs(given))), numbers.dtype)


_FORMULAS: Mapping[str, tuple[Formula, float | None, float | None]] = {
    "relu": (lambda n, x, a, c: n.max(x, 0), None, None),
    "tanh": (lambda n, x, a, c: n.tanh(x), None, None),
    "sigmoid": (lambda n, x, a, c: n.sigmoid(x), None, None),
    "softsign": (_softsign, None, None),
    "softplus": (lambda n, x, a, c: n.softplus(x), None, None),
    "affine": (lambda n, x, a, c: n.add(n.mul(a, x), c), 1.0, 0.0),
    "leakyrelu": (lambda n, x, a, c: n.where(n.less(x, 0), n.mul(a, x), x), 0.01, None),
    "thresholdedrelu": (lambda n, x, a, c: n.where(n.greater(x, a), x, 0), 1.0, None),
    "scaledtanh": (lambda n, x, a, c: n.mul(a, n.tanh(n.mul(c, x))), 1.0, 1.0),
    "hardsigmoid": (lambda n, x, a, c: n.min(n.max(n.add(n.mul(a, x), c), 0), 1), 0.2, 0.5),
    "elu": (
        lambda n, x, a, c: n.where(n.less(x, 0), n.mul(a, n.expm1(n.min(x, 0))), x),
        1.0, None,
    ),
}  # fmt: skip
"""By name in lower case: the formula, and its alpha and beta if it has them."""


@dataclass(frozen=True, eq=False, slots=True)
class Recurrence:
    """The operands and attributes common to the three operators, with the batch on axis 1."""

    builder: KernelBuilder
    n: Numbers
    x: Node
    weights: Node
    recurrent: Node
    bias: Node | None
    lengths: Node | None
    initials: tuple[Node | None, ...]
    attributes: Attributes

    @property
    def hidden(self) -> int:
        """The length of a state."""
        return extents_of(self.recurrent)[2]

    def activations(self, defaults: Sequence[str]) -> list[Activation]:
        """The functions of all directions, one after the other."""
        names = self.attributes.get("activations") or list(defaults) * 2
        alphas = iter(self.attributes.get("activation_alpha") or ())
        betas = iter(self.attributes.get("activation_beta") or ())
        return [self._activation(name, alphas, betas) for name in names]

    def _activation(self, name: str, alphas: Iterator[float], betas: Iterator[float]) -> Activation:
        formula, alpha, beta = _FORMULAS[name.lower()]
        first = next(alphas, alpha) if alpha is not None else None
        second = next(betas, beta) if beta is not None else None
        return lambda x: formula(self.n, x, first, second)

    def clipped(self, activation: Activation) -> Activation:
        """The function applied to the clipped operand."""
        most = self.attributes.get("clip")
        if most is None:
            return activation
        return lambda x: activation(self.n.min(self.n.max(x, -most), most))

    def turned(self, weights: Node, number: int, first: int, count: int) -> Node:
        """Rows of the weights of one direction, transposed to columns in separate memory."""
        columns = extents_of(weights)[2]
        axes = (Axis(number), Axis(first, ((1, 1),)), same(0))
        return packed(self.builder, self.builder.view(weights, (columns, count), axes))

    def biases(self, number: int, first: int, count: int) -> Node | None:
        """A part of the biases of one direction."""
        if self.bias is None:
            return None
        return self.builder.view(self.bias, (count,), (Axis(number), Axis(first, ((0, 1),))))

    def all_biases(self, number: int, count: int) -> tuple[Node | None, Node | None]:
        """The biases of input and state: added to all steps at once, or in each step."""
        one, other = (self.biases(number, first, count) for first in (0, count))
        total = other if one is None else self.plus(one, other)
        return (None, total) if self.x.dtype in NARROW else (total, None)

    def plus(self, node: Node, bias: Node | None) -> Node:
        """Add the bias, if there is one."""
        return node if bias is None else self.n.add(node, bias)


def _recurrence(
    builder: KernelBuilder, operands: Operands, attributes: Attributes, gates: int
) -> Recurrence:
    x, w, r, bias, lengths, *initials = (*operands, *(None,) * 8)[:8]
    if any(each is not None and len(each.shape) != 3 for each in (x, w, r, *initials[:2])):
        raise Declined("an input, weights or a state of another rank than 3")
    if attributes.get("layout"):
        x = swapped(builder, x)
        states = [None if each is None else swapped(builder, each) for each in initials[:2]]
        initials = [*states, *initials[2:]]
    directions = 2 if attributes["direction"] == "bidirectional" else 1
    (_, batch, width), (_, _, hidden) = x.shape, extents_of(r)
    state = (directions, batch, hidden)
    for node, shape, what in (
        (w, (directions, gates * hidden, width), "weights"),
        (r, (directions, gates * hidden, hidden), "weights of the state"),
        (bias, (directions, 2 * gates * hidden), "biases"),
        (lengths, (batch,), "lengths"),
        *((each, state, "initial states") for each in initials[:2]),
        (initials[2], (directions, 3 * hidden), "peepholes"),
    ):
        if node is not None:
            builder.expect_shape(node.shape, shape, f"{what} of another shape")
    return Recurrence(
        builder, Numbers(builder, x.dtype), x, w, r, bias, lengths, tuple(initials), attributes
    )


def swapped(builder: KernelBuilder, node: Node) -> Node:
    """Swap the first two axes."""
    first, second, *rest = node.shape
    axes = (same(1), same(0), *map(same, range(2, 2 + len(rest))))
    return builder.view(node, (second, first, *rest), axes)


def _part(builder: KernelBuilder, node: Node, number: int, count: int) -> Node:
    """Part `number` of `count` columns each of a matrix."""
    rows = node.shape[0]
    return builder.view(node, (rows, count), (same(0), Axis(number * count, ((1, 1),))))


def _walk(
    recurrence: Recurrence, number: int, given: Node, initials: Nodes, cell: Cell
) -> tuple[Node, Nodes]:
    """Y of one direction, and its last states; an ended sequence keeps its state and outputs 0."""
    b, (count, batch, _) = recurrence.builder, given.shape
    backwards = recurrence.attributes["direction"] == "reverse" or number == 1
    ends, order = (
        _order(recurrence, count, batch) if recurrence.lengths is not None else (None, None)
    )
    if backwards and order is not None:
        given = b.add(Gather((0, same(1), same(2))), given.dtype, given.shape, given, order)
    turned = backwards and order is None

    def body(counter: Node, states: Nodes) -> tuple[Nodes, Nodes]:
        new = cell(b.item(given, reverse=turned), states)
        if ends is None:
            return new, new[:1]
        alive = b.map("less", counter, ends)
        kept = [recurrence.n.where(alive, n, old) for n, old in zip(new, states, strict=True)]
        return kept, (recurrence.n.where(alive, kept[0], 0),)

    lasts, (y,) = counted_loop(b, count, initials, body, backwards=turned)
    if backwards and order is not None:
        y = b.add(Gather((0, same(1), same(2))), y.dtype, y.shape, y, order)
    return y, lasts


def _order(recurrence: Recurrence, count: Number, batch: Number) -> tuple[Node, Node]:
    """The end of each sequence, and its steps in reverse from its own end."""
    assert recurrence.lengths is not None
    ends = recurrence.builder.reshape(
        recurrence.builder.cast(recurrence.lengths, DType.INT64), (batch, 1)
    )
    wide, now = (
        recurrence.builder.reshape(ends, (1, batch, 1)),
        steps(recurrence.builder, 3, 0, count),
    )
    back = recurrence.builder.map(
        "sub", recurrence.builder.map("sub", wide, recurrence.builder.scalar(1, DType.INT64)), now
    )
    is_in = recurrence.builder.map("less", now, wide)
    return ends, recurrence.builder.map("where", is_in, back, now)


def _directions(
    recurrence: Recurrence, states: int, cells: Callable[[int], tuple[Node, Cell]]
) -> list[Node]:
    """Run every direction; returns Y and the last states, in the requested layout."""
    b, (count, batch, _) = recurrence.builder, recurrence.x.shape
    directions = extents_of(recurrence.weights)[0]
    ys, lasts = [], []
    for number in range(directions):
        given, cell = cells(number)
        starts = [_initial(recurrence, k, number, batch) for k in range(states)]
        y, ends = _walk(recurrence, number, given, starts, cell)
        ys.append(b.reshape(y, (count, 1, batch, recurrence.hidden)))
        lasts.append([b.reshape(end, (1, batch, recurrence.hidden)) for end in ends])
    y = concat_along(b, ys, 1)
    ends = [concat_along(b, each, 0) for each in zip(*lasts, strict=True)]
    if not recurrence.attributes.get("layout"):
        return [y, *ends]
    axes = (same(1), same(2), same(0), same(3))
    return [
        b.view(y, (batch, count, directions, recurrence.hidden), axes),
        *(swapped(b, e) for e in ends),
    ]


def _initial(recurrence: Recurrence, position: int, number: int, batch: Number) -> Node:
    given = recurrence.initials[position]
    if given is None:
        return recurrence.builder.expand(recurrence.n.node(0), (batch, recurrence.hidden))
    axes = (Axis(number), same(0), same(1))
    return recurrence.builder.view(given, (batch, recurrence.hidden), axes)


def _from_input(recurrence: Recurrence, number: int, gates: int, bias: Node | None) -> Node:
    """X W' and the biases, for every step."""
    count, batch, width = recurrence.x.shape
    size = gates * recurrence.hidden
    rows = recurrence.builder.reshape(recurrence.x, (recurrence.builder.times(count, batch), width))
    made = product(recurrence.builder, rows, recurrence.turned(recurrence.weights, number, 0, size))
    return recurrence.builder.reshape(recurrence.plus(made, bias), (count, batch, size))


@lowers("RNN", 1, 7, 14, 22)
@in_float32_except_float16
def rnn(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Sequence[Node]:
    """H = f(X W' + H R' + Wb + Rb)."""
    r = _recurrence(builder, operands, attributes, 1)
    functions = r.activations(["Tanh"])

    def cell_of(number: int) -> tuple[Node, Cell]:
        from_h, f = r.turned(r.recurrent, number, 0, r.hidden), r.clipped(functions[number])
        early, late = r.all_biases(number, r.hidden)

        def cell(step: Node, states: Nodes) -> Nodes:
            return (f(r.plus(r.n.add(step, product(builder, states[0], from_h)), late)),)

        return _from_input(r, number, 1, early), cell

    return _directions(r, 1, cell_of)


@lowers("GRU", 1, 3, 7, 14, 22)
@in_float32_except_float16
def gru(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Sequence[Node]:
    """GRU with gates z, r and h; `linear_before_reset` decides if r applies before or after R."""
    r = _recurrence(builder, operands, attributes, 3)
    functions, size = r.activations(["Sigmoid", "Tanh"]), r.hidden
    is_after = bool(attributes.get("linear_before_reset"))

    def cell_of(number: int) -> tuple[Node, Cell]:
        f, g = map(r.clipped, functions[2 * number : 2 * number + 2])
        gates, last = (r.turned(r.recurrent, number, *part)
                       for part in ((0, 2 * size), (2 * size, size)))  # fmt: skip
        gate_bias, bias = (r.biases(number, *part) for part in ((3 * size, 2 * size),
                                                                (5 * size, size)))  # fmt: skip
        n = r.n

        def cell(step: Node, states: Nodes) -> Nodes:
            (h,) = states
            both = n.add(_part(builder, step, 0, 2 * size), product(builder, h, gates))
            both = r.plus(both, gate_bias)
            z, reset = (f(_part(builder, both, k, size)) for k in range(2))
            given = _part(builder, step, 2, size)
            if is_after:
                new = n.add(given, n.mul(reset, r.plus(product(builder, h, last), bias)))
            else:
                new = r.plus(n.add(given, product(builder, n.mul(reset, h), last)), bias)
            new = g(new)
            return (n.add(n.mul(n.sub(1, z), new), n.mul(z, h)),)

        return _from_input(r, number, 3, r.biases(number, 0, 3 * size)), cell

    return _directions(r, 1, cell_of)


@lowers("LSTM", 1, 7, 14, 22)
@in_float32_except_float16
def lstm(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Sequence[Node]:
    """Gates i, o, f and c; peepholes let i, f and o see the cell state."""
    r = _recurrence(builder, operands, attributes, 4)
    functions, n = r.activations(["Sigmoid", "Tanh", "Tanh"]), r.n
    is_coupled, peepholes = bool(attributes.get("input_forget")), r.initials[2]

    def cell_of(number: int) -> tuple[Node, Cell]:
        *gates, h_of = functions[3 * number : 3 * number + 3]
        f, g = map(r.clipped, gates)
        from_h = r.turned(r.recurrent, number, 0, 4 * r.hidden)
        early, late = r.all_biases(number, 4 * r.hidden)

        def seen(node: Node, condition: Node, part: int) -> Node:
            if peepholes is None:
                return node
            axes = (Axis(number), Axis(part * r.hidden, ((0, 1),)))
            return n.add(node, n.mul(builder.view(peepholes, (r.hidden,), axes), condition))

        def cell(step: Node, states: Nodes) -> Nodes:
            h, c = states
            every = r.plus(n.add(step, product(builder, h, from_h)), late)
            i, o, forget, new = (_part(builder, every, k, r.hidden) for k in range(4))
            i = f(seen(i, c, 0))
            forget = n.sub(1, i) if is_coupled else f(seen(forget, c, 2))
            c = n.add(n.mul(forget, c), n.mul(i, g(new)))
            return n.mul(f(seen(o, c, 1)), h_of(c)), c

        return _from_input(r, number, 4, early), cell

    return _directions(r, 2, cell_of)
