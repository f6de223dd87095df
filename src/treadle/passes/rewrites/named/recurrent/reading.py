"""Reads the step of a loop into its normal form, operator by operator.

A tensor of the body has one row per sequence: its last axis holds the columns, the axes before it
the sequences. Only operators that treat all sequences alike are supported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from treadle.ir import Dim, Leaf, Range, Step, Value
from treadle.ops import attributes_of, defaults_of
from treadle.passes.rewrites.named.recurrent.constants import Constants
from treadle.passes.rewrites.named.recurrent.normal_form import Algebra, Row, Unreadable
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.operators import operand

Choice = Callable[[Value], bool | None]
"""Whether a condition means that a sequence continues (True), or has ended; None: neither."""
_MATRIX = 2


@dataclass(slots=True)
class Reader:
    """The rows of values; for a value without a row, the reason."""

    at: PassContext
    algebra: Algebra
    constants: Constants
    choice: Choice
    rows: dict[Value, Row | str] = field(default_factory=dict)

    def read(self, step: Step) -> None:
        """Read a step's results into the normal form."""
        try:
            made = self._made(step)
        except Unreadable as why:
            for result in step.results:
                if result is not None:
                    self.rows[result] = str(why)
            return
        for result, row in zip(step.results, made, strict=False):
            if result is not None:
                self.rows[result] = row

    def _made(self, step: Step) -> tuple[Row, ...]:
        if not isinstance(step, Leaf) or step.domain or step.op not in _READERS:
            name = step.op if isinstance(step, Leaf) else type(step).__name__
            raise Unreadable(f"its step has the operator {name}")
        made = _READERS[step.op](self, step)
        return made if isinstance(made, tuple) else (made,)

    def row(self, value: Value | None) -> Row:
        """The row of a value; raises Unreadable if it has none."""
        found = None if value is None else self.rows.get(value)
        if isinstance(found, Row):
            return found
        array = self.constants.array(value)
        if array is not None and array.dtype.kind == "f":
            if array.size > max(array.shape[-1:], default=1):
                raise Unreadable(f"a constant differs from sequence to sequence: {_name(value)}")
            return self.algebra.constant(array.reshape(-1))
        why = found or f"its step reads {_name(value)}, which is neither carried nor sliced"
        raise Unreadable(why)

    def is_row(self, value: Value | None) -> bool:
        """Whether the value depends on the loop, and is not constant."""
        row = None if value is None else self.rows.get(value)
        return isinstance(row, Row) and bool(row.linear or row.products)

    def matrix(self, value: Value | None) -> np.ndarray:
        """A constant matrix."""
        array = self.constants.array(value)
        if array is None:
            raise Unreadable(
                f"{_name(value)} is not constant: its weights are computed at run time"
            )
        if array.ndim != _MATRIX:
            raise Unreadable(f"a product with a constant of rank {array.ndim}")
        return array

    def numbers(self, value: Value | None) -> list[int]:
        """The integers of a constant."""
        array = self.constants.array(value)
        if array is None:
            raise Unreadable(f"{_name(value)} is not constant")
        return [int(number) for number in array.reshape(-1)]

    def sequences(self, value: Value | None) -> tuple[Dim, ...]:
        """The extents before the last axis, without those of 1."""
        shape = self.at.shape(value)
        if shape is None or any(dim is None or isinstance(dim, Range) for dim in shape[:-1]):
            raise Unreadable(f"the shape of {_name(value)} is not certain")
        return tuple(dim for dim in shape[:-1] if dim != 1)

    def expect_alike(self, *values: Value | None) -> None:
        """Raise Unreadable if rows of different sequences are combined."""
        found = {self.sequences(value) for value in values if self.is_row(value)}
        if len(found) > 1:
            raise Unreadable("tensors with (possibly) different numbers of sequences are combined")

    def attributes(self, step: Leaf) -> Mapping[str, object]:
        """The attributes as plain values, with defaults."""
        return defaults_of("", step.op, step.version) | attributes_of(step.attributes)


def _name(value: Value | None) -> str:
    return "an absent operand" if value is None else f'"{value.name}"'


def _elementwise(combine: Callable[[Algebra, Row, Row], Row]) -> Callable[[Reader, Leaf], Row]:
    def read(at: Reader, step: Leaf) -> Row:
        at.expect_alike(*step.operands)
        made = at.row(step.operands[0])
        for other in step.operands[1:]:
            made = combine(at.algebra, made, at.row(other))
        return made

    return read


def _quotient(algebra: Algebra, left: Row, right: Row) -> Row:
    if right.linear or right.products:
        raise Unreadable("its step divides by a value that is not constant")
    return algebra.multiply(left, algebra.constant(1 / right.bias))


def _function(op: str, *parameters: str) -> Callable[[Reader, Leaf], Row]:
    def read(at: Reader, step: Leaf) -> Row:
        given = at.attributes(step)
        numbers = tuple(float(str(given[name])) for name in parameters)
        return at.algebra.apply(op, at.row(step.operands[0]), numbers)

    return read


def _negative(at: Reader, step: Leaf) -> Row:
    row = at.row(step.operands[0])
    return at.algebra.multiply(row, at.algebra.constant(-np.ones(1)))


def _clip(at: Reader, step: Leaf) -> Row:
    given = at.attributes(step)
    bounds = []
    for position, name in ((1, "min"), (2, "max")):
        value = operand(step, position)
        number = given.get(name) if value is None else at.row(value).bias[0]
        if number is None:
            raise Unreadable("its step has a Clip with one bound")
        bounds.append(float(str(number)))
    return at.algebra.apply("clip", at.row(step.operands[0]), tuple(bounds))


def _same(at: Reader, step: Leaf) -> Row:
    """The same rows in another shape: only axes of extent 1 before the last one change."""
    (source, result), row = (step.operands[0], step.results[0]), at.row(step.operands[0])
    shape = at.at.shape(result)
    same = shape is not None and shape[-1:] == (row.width,)
    if not same or at.sequences(result) != at.sequences(source):
        raise Unreadable(f"its step has a {step.op} that moves columns")
    return row


def _cast(at: Reader, step: Leaf) -> Row:
    if at.at.dtype(step.operands[0]) is not at.at.dtype(step.results[0]):
        raise Unreadable("its step changes the element type")
    return at.row(step.operands[0])


def _product(at: Reader, step: Leaf) -> Row:
    left, right = step.operands
    if at.is_row(left):
        return at.algebra.mix(at.row(left), at.matrix(right))
    shape = at.at.shape(right)
    if at.is_row(right) and shape is not None and len(shape) == 1:
        return at.algebra.mix(at.row(right), at.matrix(left).T)
    raise Unreadable("its step has a MatMul of no row and a constant matrix")


def _gemm(at: Reader, step: Leaf) -> Row:
    given = at.attributes(step)
    if given["transA"] or not at.is_row(step.operands[0]):
        raise Unreadable("its step has a Gemm of no row and a constant matrix")
    matrix = at.matrix(step.operands[1]).astype(np.float64)
    matrix = (matrix.T if given["transB"] else matrix) * float(str(given["alpha"]))
    made = at.algebra.mix(at.row(step.operands[0]), matrix)
    beta, added = float(str(given["beta"])), operand(step, 2)
    if beta == 0 or added is None:
        return made
    at.expect_alike(step.operands[0], added)
    scaled = at.algebra.multiply(at.row(added), at.algebra.constant(np.array([beta])))
    return at.algebra.add(made, scaled)


def _einsum(at: Reader, step: Leaf) -> Row:
    """A row and a matrix that share one letter: `bi,ij->bj`."""
    equation = str(at.attributes(step)["equation"]).replace(" ", "")
    terms, _, output = equation.partition("->")
    letters = terms.split(",")
    if len(letters) != _MATRIX or "." in equation:
        raise Unreadable("its step has an Einsum of another form")
    pairs = list(zip(letters, step.operands, strict=True))
    if not at.is_row(pairs[0][1]):
        pairs.reverse()
    (of_row, row), (of_matrix, weights) = pairs
    matrix, last = at.matrix(weights), of_row[-1]
    if of_matrix[0] != last:
        of_matrix, matrix = of_matrix[::-1], matrix.T
    if of_matrix[0] != last or output != of_row[:-1] + of_matrix[1] or last in of_row[:-1]:
        raise Unreadable("its step has an Einsum of another form")
    return at.algebra.mix(at.row(row), matrix)


def _on_last_axis(at: Reader, step: Leaf, axis: int) -> int:
    """The width of the row; raises Unreadable if the axis is not the last."""
    shape = at.at.shape(step.operands[0])
    if shape is None or axis % len(shape) != len(shape) - 1:
        raise Unreadable(f"its step has a {step.op} along another axis than the last")
    return at.row(step.operands[0]).width


def _split(at: Reader, step: Leaf) -> tuple[Row, ...]:
    given = at.attributes(step)
    width = _on_last_axis(at, step, int(str(given["axis"])))
    said, sizes = operand(step, 1), given.get("split")
    if said is not None:
        sizes = at.numbers(said)
    if not sizes:
        each = -(-width // len(step.results))
        sizes = [each] * (len(step.results) - 1)
        sizes.append(width - sum(sizes))
    assert isinstance(sizes, list | tuple)
    bounds = np.cumsum([0, *sizes])
    row = at.row(step.operands[0])
    return tuple(at.algebra.take(row, np.arange(*each)) for each in pairwise(bounds))


def _slice(at: Reader, step: Leaf) -> Row:
    given = at.attributes(step)
    if "starts" in given:
        starts, ends = list(given["starts"]), list(given["ends"])  # type: ignore[call-overload]
        axes = list(given.get("axes") or range(len(starts)))  # type: ignore[call-overload]
        steps = [1]
    else:
        starts, ends = at.numbers(step.operands[1]), at.numbers(step.operands[2])
        axes = at.numbers(operand(step, 3)) if operand(step, 3) else [*range(len(starts))]
        steps = at.numbers(operand(step, 4)) if operand(step, 4) else [1]
    if len(axes) != 1 or steps != [1]:
        raise Unreadable("its step has a Slice along several axes, or with steps")
    width = _on_last_axis(at, step, axes[0])
    columns = np.arange(width)[starts[0] : ends[0]]
    return at.algebra.take(at.row(step.operands[0]), columns)


def _concat(at: Reader, step: Leaf) -> Row:
    _on_last_axis(at, step, int(str(at.attributes(step)["axis"])))
    at.expect_alike(*step.operands)
    return at.algebra.concat([at.row(value) for value in step.operands])


def _where(at: Reader, step: Leaf) -> Row:
    condition, then, other = step.operands
    going = None if condition is None else at.choice(condition)
    if going is None:
        raise Unreadable(
            "its step has a Where whose condition is not proven to be a sequence's end"
        )
    at.expect_alike(then, other)
    shape = at.at.shape(condition)
    if shape is None or shape[-1:] != (1,):
        raise Unreadable("its step has a Where that chooses among columns")
    if any(at.is_row(v) and at.sequences(v) != at.sequences(condition) for v in (then, other)):
        raise Unreadable("its step has a Where for another number of sequences")
    pair = (then, other) if going else (other, then)
    return at.algebra.choose(at.row(pair[0]), at.row(pair[1]))


_READERS: Mapping[str, Callable[[Reader, Leaf], Row | tuple[Row, ...]]] = {
    "Add": _elementwise(lambda algebra, a, b: algebra.add(a, b)),
    "Sum": _elementwise(lambda algebra, a, b: algebra.add(a, b)),
    "Sub": _elementwise(lambda algebra, a, b: algebra.add(a, b, -1.0)),
    "Mul": _elementwise(lambda algebra, a, b: algebra.multiply(a, b)),
    "Div": _elementwise(_quotient),
    "Neg": _negative,
    "Sigmoid": _function("sigmoid"),
    "Tanh": _function("tanh"),
    "Relu": _function("relu"),
    "Softsign": _function("softsign"),
    "Softplus": _function("softplus"),
    "LeakyRelu": _function("leakyrelu", "alpha"),
    "ThresholdedRelu": _function("thresholdedrelu", "alpha"),
    "HardSigmoid": _function("hardsigmoid", "alpha", "beta"),
    "Elu": _function("elu", "alpha"),
    "Clip": _clip,
    "Identity": lambda at, step: at.row(step.operands[0]),
    "Cast": _cast,
    "Reshape": _same,
    "Squeeze": _same,
    "Unsqueeze": _same,
    "Expand": _same,
    "MatMul": _product,
    "Gemm": _gemm,
    "Einsum": _einsum,
    "Split": _split,
    "Slice": _slice,
    "Concat": _concat,
    "Where": _where,
}
