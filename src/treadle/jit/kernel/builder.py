"""Builds a kernel: nodes, arithmetic on dims, guards and single elements.

Dynamic extents are symbolic numbers: `plus`, `times`, `match` ... return an int if the result is
known, else a SymbolicDim. If two extents must be equal and it is unknown whether they are, a guard
checks them at run time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

import numpy as np

from treadle.ir import DType
from treadle.jit.kernel.constant_view import COMPARISONS, compared_truth, viewed
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.element_types import is_exact_in
from treadle.jit.kernel.ir import (
    Axis,
    Concat,
    Constant,
    DimOf,
    Elementwise,
    Guard,
    InputDim,
    Node,
    Number,
    Reshape,
    Shape,
    SymbolicDim,
    View,
    show_node,
    static_shape,
)
from treadle.jit.kernel.node_builder import NodeBuilder
from treadle.jit.kernel.scalar_functions import default_type
from treadle.jit.kernel.view_bounds import (
    before_reshapes,
    broadcast_index,
    element_of_concat,
    is_identity,
    is_rest_of_extent,
    part_of_concat,
    view_place,
    whole_of,
)

_MAX_DEPTH = 6
"""The number of Elementwise nodes through which a single element is traced to its source."""
_MAX_LIST_ELEMENTS = 64
"""The length of lists, such as shapes, whose elements are read one by one."""
_MAX_EXTENT = 2**47
"""The greatest extent: no memory has more elements, and sums of a few do not overflow."""


class WrongElementGuess(Declined):
    """A carried sequence holds elements of another dtype or shape than guessed: of these."""

    def __init__(self, state: Node, dtype: DType, shape: Shape) -> None:
        super().__init__("a sequence of elements that differ")
        self.state, self.dtype, self.shape = state, dtype, shape


@dataclass(eq=False, slots=True)
class KernelBuilder(NodeBuilder):
    """Adds nodes, arithmetic on dims, guards, and reads of single elements.

    `may_assume`: guards may rely on conditions that hold in most runs; `assumes`: one does.
    `has_byte_products`: the kernel is for a machine that has them.
    """

    may_assume: bool = True
    has_byte_products: bool = False
    assumes: bool = False

    def scalar(self, number: float | bool, dtype: DType) -> Node:
        """A constant of rank 0."""
        return self.constant(np.asarray(number).astype(dtype.numpy))

    def map(self, function: str, *operands: Node, dtype: DType | None = None) -> Node:
        """A scalar function of every element; the dtype is by default the one it always has.

        That is bool for a comparison, that of the sides for a choice; else the first operand's.
        """
        shape = self.broadcast(*(operand.shape for operand in operands))
        truth = compared_truth(function, operands)
        if truth is not None and truth[0].shape == shape:
            return truth[0] if truth[1] else self.map("not", truth[0])
        if dtype is None:
            dtype = default_type(function, tuple(operand.dtype for operand in operands))
        return self.add(Elementwise(function), dtype, shape, *operands)

    def cast(self, operand: Node, dtype: DType) -> Node:
        """The elements in another dtype."""
        if operand.dtype == dtype:
            return operand
        if isinstance(operand.op, Constant) and np.can_cast(operand.dtype.numpy, dtype.numpy):
            return self.constant(operand.op.array.astype(dtype.numpy))
        given = operand.operands[0] if operand.op == Elementwise("cast") else None
        if given is not None and is_exact_in(given.dtype, operand.dtype):
            return self.cast(given, dtype)
        return self.map("cast", operand, dtype=dtype)

    def view(self, operand: Node, shape: Sequence[Number], axes: Sequence[Axis]) -> Node:
        """Another order or choice of the elements; a view of a view is one."""
        while True:
            if isinstance(operand.op, View):
                axes = [self._through(axis, axes) for axis in operand.op.axes]
                operand = operand.operands[0]
            elif (found := part_of_concat(operand, shape, axes)) is not None:
                operand, axes = found
            else:
                break
        if tuple(shape) == operand.shape and is_identity(shape, axes):
            return operand
        folded = self._folded_view(operand, tuple(shape), tuple(axes))
        return folded or self.add(View(tuple(axes)), operand.dtype, tuple(shape), operand)

    def _folded_view(self, operand: Node, shape: Shape, axes: tuple[Axis, ...]) -> Node | None:
        """A view of a constant as a constant, unless it would have too many elements."""
        if not isinstance(operand.op, Constant):
            return None
        key = ("view", operand, shape, axes)
        if key not in self.values.known:
            array = viewed(operand.op.array, shape, axes)
            if array is None:
                return None
            self.values.known[key] = self.constant(array)
        return self.values.known[key]

    def _through(self, axis: Axis, outer: Sequence[Axis]) -> Axis:
        """An axis of the inner view in terms of the outer view's index."""
        offset, terms = axis.offset, dict[int, int]()
        for number, step in axis.terms:
            offset = self.plus(offset, self.times(step, outer[number].offset))
            for inner, inner_step in outer[number].terms:
                terms[inner] = terms.get(inner, 0) + step * inner_step
        return Axis(offset, tuple(sorted(terms.items())))

    def reshape(self, operand: Node, shape: Sequence[Number]) -> Node:
        """The same elements in another shape; a view if only axes of one are added or removed."""
        operand = before_reshapes(operand)
        if tuple(shape) == operand.shape:
            return operand
        given, long = operand.shape, [k for k, extent in enumerate(shape) if extent != 1]
        if [extent for extent in given if extent != 1] == [shape[k] for k in long]:
            rest = iter(long)
            axes = [Axis() if extent == 1 else Axis(0, ((next(rest), 1),)) for extent in given]
            return self.view(operand, shape, axes)
        self._expect_same_size(shape, given)
        if isinstance(operand.op, Constant) and all(isinstance(extent, int) for extent in shape):
            return self.constant(operand.op.array.reshape([int(str(extent)) for extent in shape]))
        return self.add(Reshape(), operand.dtype, tuple(shape), operand)

    def _expect_same_size(self, shape: Sequence[Number], given: Shape) -> None:
        """Require that the products are equal, and that the new one does not overflow."""
        open_ = [extent for extent in shape if isinstance(extent, SymbolicDim)]
        if len(open_) > 1 and any(extent not in given for extent in open_):
            self.expect_countable(shape)
        self.expect_equal(self.product(shape), self.product(given))

    def expect_countable(self, shape: Sequence[Number]) -> None:
        """Require that the product of the extents does not overflow."""
        factors = [self.cast(self.dim(extent), DType.FLOAT64) for extent in shape]
        total = reduce(lambda one, other: self.map("mul", one, other), factors)
        most = self.scalar(2.0**53, DType.FLOAT64)
        self.expect(self.map("less", total, most))

    def expand(self, operand: Node, shape: Sequence[Number]) -> Node:
        """The operand broadcast to the shape."""
        shift = len(shape) - len(operand.shape)
        axes = [
            Axis() if extent == 1 else Axis(0, ((k + shift, 1),))
            for k, extent in enumerate(operand.shape)
        ]
        return self.view(operand, shape, axes)

    # numbers that may be known only at run time

    def number(self, node: Node) -> Number:
        """The value of a nonnegative integer scalar."""
        node = self.cast(self.resolved(node), DType.INT64)
        if isinstance(node.op, Constant):
            return int(node.op.array.item())
        if isinstance(node.op, InputDim):
            return node.op.extent
        if node not in self._extents:
            self._extents[node] = SymbolicDim(f"e{len(self._extents)}", node)
        return self._extents[node]

    def dim_of(self, node: Node, name: str) -> Number:
        """The value of an int64 scalar that is known to be an extent; `name` is for a new dim."""
        if isinstance(node.op, Constant):
            return int(node.op.array.item())
        return self._extents.setdefault(node, SymbolicDim(name, node))

    def extent(self, node: Node) -> Number:
        """The value of an integer scalar as an extent; the kernel declines if it is not one.

        An extent is at most 2**47: no memory has more elements, and sums of a few do not overflow.
        """
        found = self.number(node)
        if isinstance(found, int):
            if found < 0:
                raise Declined(f"a negative extent, {found}")
            return found
        source = self.dim(found)
        if not isinstance(source.op, DimOf | InputDim):
            most, unsigned = self.scalar(_MAX_EXTENT, DType.UINT64), self.cast(source, DType.UINT64)
            self.expect(self.map("less_equal", unsigned, most))
        return found

    def dim(self, number: Number) -> Node:
        """The number as a scalar of int64."""
        if isinstance(number, int):
            return self.scalar(number, DType.INT64)
        if number.source is not None:
            return number.source
        key = ("length", number)
        if key not in self.values.known:
            node = Node(InputDim(number), DType.INT64, (), (), self.main)
            self.main.nodes.insert(0, node)
            self.values.known[key] = node
        return self.values.known[key]

    def plus(self, left: Number, right: Number) -> Number:
        """The sum."""
        if isinstance(left, int) and isinstance(right, int):
            return left + right
        if 0 in (left, right):
            return right if left == 0 else left
        one, other = self.dim(left), self.dim(right)
        whole = whole_of(one, other) or whole_of(other, one)
        return self.number(whole or self.map("add", one, other))

    def minus(self, left: Number, right: Number) -> Number:
        """The difference, which the caller knows to be nonnegative."""
        if isinstance(left, int) and isinstance(right, int):
            return left - right
        if left is right or right == 0:
            return 0 if left is right else left
        return self.number(self.map("sub", self.dim(left), self.dim(right)))

    def times(self, left: Number, right: Number) -> Number:
        """The product."""
        if isinstance(left, int) and isinstance(right, int):
            return left * right
        for one, other in ((left, right), (right, left)):
            if one == 0 or one == 1:
                return other if one else 0
        return self.number(self.map("mul", self.dim(left), self.dim(right)))

    def product(self, numbers: Sequence[Number]) -> Number:
        """The product of all; one object for the same extents in any order."""
        whole = prod(n for n in numbers if isinstance(n, int))
        result: Number = 1
        open_ = (n for n in numbers if isinstance(n, SymbolicDim))
        for number in sorted(open_, key=lambda extent: (extent.name, id(extent))):
            result = self.times(result, number)
        return self.times(whole, result)

    def most(self, left: Number, right: Number) -> Number:
        """The larger one."""
        return self._chosen("max", left, right)

    def least(self, left: Number, right: Number) -> Number:
        """The smaller one."""
        return self._chosen("min", left, right)

    def _chosen(self, function: str, left: Number, right: Number) -> Number:
        if isinstance(left, int) and isinstance(right, int):
            return max(left, right) if function == "max" else min(left, right)
        if left is right:
            return left
        for one, other in ((left, right), (right, left)):
            if other == 0 and isinstance(one, SymbolicDim):
                if one.source is None:
                    return one if function == "max" else 0
                if function == "max" and is_rest_of_extent(one.source):
                    return one
        return self.number(self.map(function, self.dim(left), self.dim(right)))

    # guards

    def expect(self, condition: Node, *, is_of_shapes: bool = False) -> None:
        """Decline at run time if the scalar is false."""
        if not isinstance(condition.op, Constant):
            self.add(Guard(is_of_shapes), DType.BOOL, (), condition)
        elif not condition.op.array.all():
            raise Declined("a condition of the operator is never true")

    def assume(self, condition: Node) -> bool:
        """Add a guard for a condition that holds in most runs, if allowed.

        Returns whether it was.
        """
        if self.may_assume:
            self.assumes = True
            self.expect(condition, is_of_shapes=True)
        return self.may_assume

    def expect_equal(self, left: Number, right: Number) -> None:
        """Decline at run time if the numbers differ."""
        if isinstance(left, int) and isinstance(right, int):
            if left != right:
                raise Declined(f"an extent of {left}, wanted {right}")
        elif left is not right:
            self.expect(self.compare("equal", left, right), is_of_shapes=True)

    def expect_shape(self, found: Shape, wanted: Shape, what: str) -> None:
        """Decline at run time if the shapes differ."""
        if len(found) != len(wanted):
            raise Declined(what)
        for left, right in zip(found, wanted, strict=True):
            self.expect_equal(left, right)

    def compare(self, function: str, left: Number, right: Number) -> Node:
        """A comparison of two numbers, folded if both are known."""
        if isinstance(left, int) and isinstance(right, int):
            return self.scalar(COMPARISONS[function](left, right), DType.BOOL)
        return self.map(function, self.dim(left), self.dim(right))

    def match(self, left: Number, right: Number) -> Number:
        """The extent of an axis along which two operands broadcast."""
        if left is right or right == 1:
            return left
        if left == 1:
            return right
        try:
            self.expect_equal(left, right)
        except Declined as error:
            raise Declined(f"extents {left} and {right} do not broadcast") from error
        return left if isinstance(left, int) else right

    def broadcast(self, *shapes: Shape) -> Shape:
        """np.broadcast_shapes."""
        result: list[Number] = [1] * max(map(len, shapes), default=0)
        for shape in shapes:
            first = len(result) - len(shape)
            for k, extent in enumerate(shape, first):
                result[k] = self.match(result[k], extent)
        return tuple(result)

    # elements of small tensors

    def resolved(self, node: Node) -> Node:
        """The one element of a node as a scalar, traced towards its source."""
        return self.element(node, (0,) * len(node.shape))

    def element(self, node: Node, index: Sequence[int], deepest: int = _MAX_DEPTH) -> Node:
        """One element as a scalar, traced through nodes that only rearrange elements."""
        match node.op:
            case Constant(array=array):
                return self.constant(array[tuple(index)])
            case View(axes=axes) if all(isinstance(axis.offset, int) for axis in axes):
                position = [view_place(axis, index) for axis in axes]
                return self.element(node.operands[0], position, deepest)
            case Concat(axis=axis) if all(isinstance(o.shape[axis], int) for o in node.operands):
                return self.element(*element_of_concat(node, axis, index), deepest)
            case Elementwise(function=function) if deepest:
                operands = [
                    self.element(o, broadcast_index(o, index), deepest - 1) for o in node.operands
                ]
                return self.map(function, *operands, dtype=node.dtype)
        if not node.shape:
            return node
        return self.view(node, (), [Axis(number) for number in index])

    def elements(self, node: Node, what: str) -> list[int | Node]:
        """The integers of a list: ints if they are known, else scalars of int64."""
        if not node.is_static or node.size > _MAX_LIST_ELEMENTS:
            raise Declined(
                f"{what} of {show_node(node)}: static extents and at most {_MAX_LIST_ELEMENTS}"
                " elements are needed"
            )
        found: list[int | Node] = []
        for index in np.ndindex(static_shape(node)):
            scalar = self.element(node, index)
            is_known = isinstance(scalar.op, Constant)
            found.append(
                int(array_of(scalar, what).item()) if is_known else self.cast(scalar, DType.INT64)
            )
        return found


def extents_of(node: Node) -> tuple[int, ...]:
    """The static shape of a node; raises Declined for a dynamic extent."""
    if not node.is_static:
        raise Declined(f"a dynamic extent in {show_node(node)}: static extents are needed")
    return static_shape(node)


def array_of(node: Node, what: str) -> np.ndarray:
    """The elements of a constant; raises Declined for other nodes."""
    if not isinstance(node.op, Constant):
        raise Declined(f"{what} must be constant")
    return node.op.array
