"""RNN, GRU and LSTM as loops of the kernel: directions, lengths, clipping, activations, layouts.

What comes from the input goes through its weights before the loop, all steps at once. bfloat16 is
computed in float32; of float16 every sum and function is rounded, in the order of the formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treadle.ir import DType
from treadle.jit.building import Building, extents_of, packed
from treadle.jit.kernel_ir import Axis, Fetch, Node, Number
from treadle.jit.lower.activation import Numbers
from treadle.jit.lower.contract import product
from treadle.jit.lower.index import same, steps
from treadle.jit.lower.layout import joined
from treadle.jit.lower.registry import NARROW, lowers, wide_but_half
from treadle.jit.lower.repeat import Nodes, item, repeat

Attributes = Mapping[str, Any]
Activation = Callable[[Node], Node]
Cell = Callable[[Node, Nodes], Nodes]
Formula = Callable[[Numbers, Node, Any, Any], Node]


def _softsign(n: Numbers, x: Node, _: Any, __: Any) -> Node:
    """X / (1 + |x|), rounded once."""
    wide = Numbers(n.b, DType.FLOAT32 if n.dtype in NARROW else n.dtype)
    given = n.b.cast(x, wide.dtype)
    return n.b.cast(wide.div(given, wide.add(1, wide.abs(given))), n.dtype)


_FORMULAS: Mapping[str, tuple[Formula, float | None, float | None]] = {
    "relu": (lambda n, x, a, c: n.max(x, 0), None, None),
    "tanh": (lambda n, x, a, c: n.tanh(x), None, None),
    "sigmoid": (lambda n, x, a, c: n.sigmoid(x), None, None),
    "softsign": (_softsign, None, None),
    "softplus": (lambda n, x, a, c: n.softplus(x), None, None),
    "affine": (lambda n, x, a, c: n.add(n.mul(a, x), c), 1.0, 0.0),
    "leakyrelu": (lambda n, x, a, c: n.where(n.holds("less", x, 0), n.mul(a, x), x), 0.01, None),
    "thresholdedrelu": (lambda n, x, a, c: n.where(n.holds("greater", x, a), x, 0), 1.0, None),
    "scaledtanh": (lambda n, x, a, c: n.mul(a, n.tanh(n.mul(c, x))), 1.0, 1.0),
    "hardsigmoid": (lambda n, x, a, c: n.min(n.max(n.add(n.mul(a, x), c), 0), 1), 0.2, 0.5),
    "elu": (
        lambda n, x, a, c: n.where(n.holds("less", x, 0), n.mul(a, n.expm1(n.min(x, 0))), x),
        1.0, None,
    ),
}  # fmt: skip
"""By name in small letters: the formula, and its alpha and beta where it has them."""


@dataclass(frozen=True, eq=False, slots=True)
class Recurrence:
    """The operands and attributes the three operators share, with the batch on the second axis."""

    b: Building
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
        """The functions of every direction, one after the other."""
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
        """The function of what is clipped first."""
        most = self.attributes.get("clip")
        if most is None:
            return activation
        return lambda x: activation(self.n.min(self.n.max(x, -most), most))

    def turned(self, weights: Node, number: int, first: int, count: int) -> Node:
        """Rows of the weights of one direction, as columns in memory of their own."""
        columns = extents_of(weights)[2]
        axes = (Axis(number), Axis(first, ((1, 1),)), same(0))
        return packed(self.b, self.b.view(weights, (columns, count), axes))

    def biases(self, number: int, first: int, count: int) -> Node | None:
        """A part of the biases of one direction."""
        if self.bias is None:
            return None
        return self.b.view(self.bias, (count,), (Axis(number), Axis(first, ((0, 1),))))

    def all_biases(self, number: int, count: int) -> tuple[Node | None, Node | None]:
        """Of the input and of the state: to be added to all steps at once, or in each step."""
        one, other = (self.biases(number, first, count) for first in (0, count))
        total = other if one is None else self.plus(one, other)
        return (None, total) if self.x.dtype in NARROW else (total, None)

    def plus(self, x: Node, bias: Node | None) -> Node:
        """The sum, if there is a bias."""
        return x if bias is None else self.n.add(x, bias)


def _recurrence(b: Building, operands: Sequence[Any], attributes: Attributes) -> Recurrence:
    x, w, r, bias, lengths, *initials = (*operands, *(None,) * 8)[:8]
    if attributes.get("layout"):
        x = swapped(b, x)
        states = [None if each is None else swapped(b, each) for each in initials[:2]]
        initials = [*states, *initials[2:]]
    return Recurrence(b, Numbers(b, x.dtype), x, w, r, bias, lengths, tuple(initials), attributes)


def swapped(b: Building, x: Node) -> Node:
    """The first two axes exchanged."""
    first, second, *rest = x.shape
    axes = (same(1), same(0), *map(same, range(2, 2 + len(rest))))
    return b.view(x, (second, first, *rest), axes)


def _part(b: Building, x: Node, number: int, count: int) -> Node:
    """Columns of a matrix: the part `number` of the width `count`."""
    rows = x.shape[0]
    return b.view(x, (rows, count), (same(0), Axis(number * count, ((1, 1),))))


def _walk(
    r: Recurrence, number: int, given: Node, initials: Nodes, cell: Cell
) -> tuple[Node, Nodes]:
    """Y of one direction, and its last states; an ended sequence keeps its state and gives 0."""
    b, (count, batch, _) = r.b, given.shape
    backwards = r.attributes["direction"] == "reverse" or number == 1
    ends, order = _order(r, count, batch) if r.lengths is not None else (None, None)
    if backwards and order is not None:
        given = b.add(Fetch((0, same(1), same(2))), given.dtype, given.shape, given, order)
    turned = backwards and order is None

    def body(counter: Node, states: Nodes) -> tuple[Nodes, Nodes]:
        new = cell(item(b, given, backwards=turned), states)
        if ends is None:
            return new, new[:1]
        alive = b.map("less", counter, ends, dtype=DType.BOOL)
        kept = [r.n.where(alive, n, old) for n, old in zip(new, states, strict=True)]
        return kept, (r.n.where(alive, kept[0], 0),)

    lasts, (y,) = repeat(b, count, initials, body, backwards=turned)
    if backwards and order is not None:
        y = b.add(Fetch((0, same(1), same(2))), y.dtype, y.shape, y, order)
    return y, lasts


def _order(r: Recurrence, count: Number, batch: Number) -> tuple[Node, Node]:
    """Where each sequence ends, and its steps from its own end backwards."""
    assert r.lengths is not None
    ends = r.b.reshape(r.b.cast(r.lengths, DType.INT64), (batch, 1))
    wide, now = r.b.reshape(ends, (1, batch, 1)), steps(r.b, 3, 0, count)
    back = r.b.map("sub", r.b.map("sub", wide, r.b.scalar(1, DType.INT64)), now)
    is_in = r.b.map("less", now, wide, dtype=DType.BOOL)
    return ends, r.b.map("where", is_in, back, now, dtype=DType.INT64)


def _directions(
    r: Recurrence, states: int, cells: Callable[[int], tuple[Node, Cell]]
) -> list[Node]:
    """Y and the last of each state, over every direction, in the layout asked for."""
    b, (count, batch, _) = r.b, r.x.shape
    directions = extents_of(r.weights)[0]
    ys, lasts = [], []
    for number in range(directions):
        given, cell = cells(number)
        starts = [_initial(r, k, number, batch) for k in range(states)]
        y, ends = _walk(r, number, given, starts, cell)
        ys.append(b.reshape(y, (count, 1, batch, r.hidden)))
        lasts.append([b.reshape(end, (1, batch, r.hidden)) for end in ends])
    y = joined(b, ys, 1)
    ends = [joined(b, each, 0) for each in zip(*lasts, strict=True)]
    if not r.attributes.get("layout"):
        return [y, *ends]
    axes = (same(1), same(2), same(0), same(3))
    return [b.view(y, (batch, count, directions, r.hidden), axes), *(swapped(b, e) for e in ends)]


def _initial(r: Recurrence, k: int, number: int, batch: Number) -> Node:
    given = r.initials[k]
    if given is None:
        return r.b.expand(r.n.node(0), (batch, r.hidden))
    axes = (Axis(number), same(0), same(1))
    return r.b.view(given, (batch, r.hidden), axes)


def _from_input(r: Recurrence, number: int, gates: int, bias: Node | None) -> Node:
    """X W' and the biases, for every step."""
    count, batch, width = r.x.shape
    size = gates * r.hidden
    rows = r.b.reshape(r.x, (r.b.times(count, batch), width))
    made = product(r.b, rows, r.turned(r.weights, number, 0, size))
    return r.b.reshape(r.plus(made, bias), (count, batch, size))


@lowers("RNN", 1, 7, 14, 22)
@wide_but_half
def rnn(b: Building, operands: Sequence[Any], attributes: Attributes) -> Sequence[Node]:
    """H = f(X W' + H R' + Wb + Rb)."""
    r = _recurrence(b, operands, attributes)
    functions = r.activations(["Tanh"])

    def cell_of(number: int) -> tuple[Node, Cell]:
        from_h, f = r.turned(r.recurrent, number, 0, r.hidden), r.clipped(functions[number])
        early, late = r.all_biases(number, r.hidden)

        def cell(step: Node, states: Nodes) -> Nodes:
            return (f(r.plus(r.n.add(step, product(b, states[0], from_h)), late)),)

        return _from_input(r, number, 1, early), cell

    return _directions(r, 1, cell_of)


@lowers("GRU", 1, 3, 7, 14, 22)
@wide_but_half
def gru(b: Building, operands: Sequence[Any], attributes: Attributes) -> Sequence[Node]:
    """Gates z, r and h; `linear_before_reset` says whether r acts before or after R."""
    r = _recurrence(b, operands, attributes)
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
            both = n.add(_part(b, step, 0, 2 * size), product(b, h, gates))
            both = r.plus(both, gate_bias)
            z, reset = (f(_part(b, both, k, size)) for k in range(2))
            given = _part(b, step, 2, size)
            if is_after:
                new = n.add(given, n.mul(reset, r.plus(product(b, h, last), bias)))
            else:
                new = r.plus(n.add(given, product(b, n.mul(reset, h), last)), bias)
            new = g(new)
            return (n.add(n.mul(n.sub(1, z), new), n.mul(z, h)),)

        return _from_input(r, number, 3, r.biases(number, 0, 3 * size)), cell

    return _directions(r, 1, cell_of)


@lowers("LSTM", 1, 7, 14, 22)
@wide_but_half
def lstm(b: Building, operands: Sequence[Any], attributes: Attributes) -> Sequence[Node]:
    """Gates i, o, f and c; peepholes let i, f and o see the cell state."""
    r = _recurrence(b, operands, attributes)
    functions, n = r.activations(["Sigmoid", "Tanh", "Tanh"]), r.n
    is_coupled, peepholes = bool(attributes.get("input_forget")), r.initials[2]

    def cell_of(number: int) -> tuple[Node, Cell]:
        *gates, h_of = functions[3 * number : 3 * number + 3]
        f, g = map(r.clipped, gates)
        from_h = r.turned(r.recurrent, number, 0, 4 * r.hidden)
        early, late = r.all_biases(number, 4 * r.hidden)

        def seen(x: Node, c: Node, part: int) -> Node:
            if peepholes is None:
                return x
            axes = (Axis(number), Axis(part * r.hidden, ((0, 1),)))
            return n.add(x, n.mul(b.view(peepholes, (r.hidden,), axes), c))

        def cell(step: Node, states: Nodes) -> Nodes:
            h, c = states
            every = r.plus(n.add(step, product(b, h, from_h)), late)
            i, o, forget, new = (_part(b, every, k, r.hidden) for k in range(4))
            i = f(seen(i, c, 0))
            forget = n.sub(1, i) if is_coupled else f(seen(forget, c, 2))
            c = n.add(n.mul(forget, c), n.mul(i, g(new)))
            return n.mul(f(seen(o, c, 1)), h_of(c)), c

        return _from_input(r, number, 4, early), cell

    return _directions(r, 2, cell_of)
