"""The kernel IR: a region between the program and LLVM, specialized to dtypes and shapes.

    kernel = (inputs, main: block, results)
    block  = node*                     in an order in which they can run
    node   = (op, dtype, shape, operands, home: block)
    extent = int | SymbolicDim         known now, or when the kernel runs

    op     = Input(position)           an operand of the region
           | Constant(array)
           | Empty()                   a tensor of no elements
           | InputDim(extent)          the extent of an input's axis
           | DimOf(number, axis)       an extent of a result or of a carried value
           | Guard()                   the kernel fails unless the operand is true
           | Iota()                    0, 1, 2 ... along the only axis
           | InductionVar()            the iteration number of the loop around it
           | CarriedArg(number)        a carried value at the start of an iteration
           | ScanSlice(axis, reverse)  the item of this iteration along the axis
           | Elementwise(function)     a scalar function of every element; operands broadcast
           | View(axes)                another order or choice of the elements
           | Reshape()                 the same elements in row-major order
           | Concat(axis)
           | Reduce(function, axes)
           | MatMul()                  np.matmul of operands of rank 2 or more; of int32 or of bytes
           | Cumulative(function, axis, exclusive)
           | ArgTopK(axis)             indices of the smallest along the axis, in order
           | FlatNonzero()             indices at which the operand, a list of bools, is true
           | Take(axis)                items of operand 0 at the indices of operand 1
           | Gather(axes)              elements of operand 0 at computed indices
           | Scatter(function, axes)   operand 0 with the elements of operand 1 put in
           | Loop(...) | Branch(then, otherwise)
           | HostCall(leaf)            an operator that Python runs
           | Result(number)            a result of a Loop, a Branch or a HostCall

All nodes are pure but Loop, HostCall, Take, Gather, Scatter and Guard, which can fail. A node is
read in its home block and in the blocks inside it. A SymbolicDim names the scalar that holds its
value: a node whose shape has one stands after that scalar. `printer` has the grammar of the text
form, `parser` reads it, `verifier` checks these rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeVar, cast

from treadle.ir import DType, Leaf
from treadle.jit.kernel.enclosing import Enclosing
from treadle.jit.kernel.plain_ops import (
    ArgTopK,
    CarriedArg,
    Concat,
    Constant,
    Cumulative,
    DimOf,
    Elementwise,
    Empty,
    FlatNonzero,
    Guard,
    InductionVar,
    Input,
    Iota,
    MatMul,
    Reduce,
    Reshape,
    Result,
    ScanSlice,
    Take,
)

__all__ = [
    "BOXED_DOMAIN",
    "ArgTopK",
    "Axis",
    "Block",
    "Branch",
    "CarriedArg",
    "Concat",
    "Constant",
    "Cumulative",
    "DimOf",
    "Elementwise",
    "Empty",
    "FlatNonzero",
    "Gather",
    "Guard",
    "HostCall",
    "IndexTuple",
    "InductionVar",
    "Input",
    "InputDim",
    "Iota",
    "Kernel",
    "Kind",
    "Loop",
    "MatMul",
    "Node",
    "Number",
    "Op",
    "Reduce",
    "Reshape",
    "Result",
    "ScanSlice",
    "Scatter",
    "Shape",
    "Stack",
    "SymbolicDim",
    "Take",
    "View",
    "op_of",
    "show_node",
    "show_shape",
    "static_shape",
]  # fmt: skip


@dataclass(frozen=True, eq=False, slots=True)
class SymbolicDim:
    """A number known at run time; two are certainly equal only if they are the same object.

    `source` is the int64 scalar that holds it; None: that of an input's axis.
    """

    name: str
    source: Node | None = None


Number = int | SymbolicDim
Shape = tuple[Number, ...]


@dataclass(frozen=True, eq=False, slots=True)
class InputDim:
    """The extent, which is known before the kernel runs."""

    extent: SymbolicDim


@dataclass(frozen=True, slots=True)
class Axis:
    """The index at which a View reads along an axis: offset + sum(step * index[axis])."""

    offset: Number = 0
    terms: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """result[index] = operand[axes(index)], one Axis for each axis of the operand."""

    axes: tuple[Axis, ...]


IndexTuple = tuple[Axis | int, ...]
"""The position to read or write, by axis: an Axis, or the value of operand `int`.

That operand, counted after the tensors, holds integers, has the rank of the read or written
elements, and broadcasts; an index out of range fails, a negative one counts from the end.
"""


@dataclass(frozen=True, slots=True)
class Gather:
    """result[index] = operands[0][axes(index)]; `is_in_range` as of Take."""

    axes: IndexTuple
    is_in_range: bool = False


@dataclass(frozen=True, slots=True)
class Scatter:
    """Operand 0 with the elements of operand 1 written to it, in the order of their index.

    result[axes(index)] = function(result[axes(index)], operands[1][index])

    `function` "": the element itself; `is_in_range` as of Take.
    """

    function: str
    axes: IndexTuple
    is_in_range: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Stack:
    """One stacked result: the element of each iteration, axis and direction.

    `is_given`: it is a result of the program, so it counts among the bytes that loops hold.
    """

    element: Node
    axis: int
    reverse: bool
    is_given: bool = True


@dataclass(frozen=True, eq=False, slots=True)
class Loop:
    """Operands: (trip?, condition?, *initial). Parts: the last states, then the stacks.

    `length` is the greatest number of iterations if a sliced axis limits them, `extent` the number
    of iterations if it is known in advance. `next_condition` None: true.
    """

    body: Block
    has_trip: bool
    has_condition: bool
    length: Number | None
    states: tuple[Node, ...]
    nexts: tuple[Node, ...]
    next_condition: Node | None
    stacks: tuple[Stack, ...]
    extent: Number | None
    path: str = ""

    @property
    def heads(self) -> int:
        """The number of operands before the initial values."""
        return self.has_trip + self.has_condition

    @property
    def is_counted(self) -> bool:
        """Whether only the number of its iterations ends it."""
        return not self.has_condition and self.next_condition is None


@dataclass(frozen=True, eq=False, slots=True)
class Branch:
    """Operands: (condition,). Parts: the results of the block that is taken."""

    then: Block
    otherwise: Block
    then_results: tuple[Node, ...]
    otherwise_results: tuple[Node, ...]


Kind = tuple[DType, tuple[Number | None, ...]]
"""The dtype and the shape of a HostCall's result; None: an extent that the call determines."""


@dataclass(frozen=True, eq=False, slots=True)
class HostCall:
    """The kernel of the leaf, called with the operands that are present (`given`).

    `results` are the kinds of its results, None for unread ones. Node operands in `takes` and
    results in `makes` are boxed Python objects, natively handles.
    """

    leaf: Leaf
    given: tuple[bool, ...]
    results: tuple[Kind | None, ...]
    takes: tuple[bool, ...] = ()
    makes: tuple[bool, ...] = ()

    @property
    def has_objects(self) -> bool:
        """Whether it takes or returns boxed values."""
        return any(self.takes) or any(self.makes) or self.leaf.domain == BOXED_DOMAIN


BOXED_DOMAIN = "treadle.boxed"
"""The domain of the operators on boxed values: see host/boxed_values.py."""


Op = (
    Input | Constant | Empty | InputDim | DimOf | Guard | Iota | InductionVar | CarriedArg
    | ScanSlice | Elementwise | View | Reshape | Concat | Reduce | MatMul | Cumulative | Take
    | Gather | Scatter | Loop | Branch | HostCall | Result | FlatNonzero | ArgTopK
)  # fmt: skip


@dataclass(eq=False, repr=False)
class Block:
    """Nodes in order. `parent` is the enclosing block; `is_loop`: it runs repeatedly.

    `depth` is the number of enclosing blocks.
    """

    name: str
    parent: Enclosing[Block | None] = Enclosing(None)  # noqa: RUF009 (a descriptor)
    is_loop: bool = False
    nodes: list[Node] = field(default_factory=list)
    depth: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.depth = 0 if self.parent is None else self.parent.depth + 1

    def outward(self) -> Iterator[Block]:
        """The block itself, then those around it."""
        block: Block | None = self
        while block is not None:
            yield block
            block = block.parent

    def __getstate__(self) -> _BlockState:
        return self.name, self.parent, self.is_loop, self.nodes, self.depth

    def __setstate__(self, state: _BlockState) -> None:
        self.name, self.parent, self.is_loop, self.nodes, self.depth = state


_BlockState = tuple[str, Block | None, bool, list["Node"], int]


@dataclass(frozen=True, eq=False, repr=False)
class Node:
    """One value of a kernel. Loops and branches have no dtype of their own."""

    __slots__ = ("_home", "dtype", "op", "operands", "shape")

    op: Op
    dtype: DType
    shape: Shape
    operands: tuple[Node, ...]
    home: Enclosing[Block] = Enclosing()  # noqa: RUF009 (a descriptor)

    @property
    def is_static(self) -> bool:
        """Whether every extent is known."""
        return SymbolicDim not in map(type, self.shape)

    @property
    def size(self) -> int:
        """The number of elements; of a static node only."""
        return prod(static_shape(self))

    @property
    def is_single(self) -> bool:
        """Whether it certainly has one element."""
        return self.shape.count(1) == len(self.shape)


@dataclass(frozen=True, eq=False, slots=True)
class Kernel:
    """A region as a function of its inputs.

    `hoisted` are the nodes that were written in a loop and moved out of it. `boxed_results` are the
    numbers of the results that are handles of boxed values. `limits_iterations` and
    `limits_memory`: the kernel counts the iterations and the bytes of its loops, and fails where a
    limit of the run is exceeded. A loop nest that takes `parallel_threshold_ns` nanoseconds or more
    runs on several threads; 0: none does. `assumes`: some guards hold in most runs only, and a
    kernel without them can be made. `is_profiled`: the kernel tells how long its parts take.
    `is_recorded`: it tells how many rows of each stacked result it has written. `narrowed` is the
    number of nodes with fewer bits than the 64 of the program, for `explain`.
    """

    inputs: tuple[Node, ...]
    main: Block
    results: tuple[Node, ...]
    hoisted: tuple[Node, ...] = ()
    limits_iterations: bool = False
    limits_memory: bool = False
    boxed_results: tuple[int, ...] = ()
    parallel_threshold_ns: int = 0
    assumes: bool = False
    is_profiled: bool = False
    is_recorded: bool = False
    narrowed: int = 0

    @property
    def counts_loops(self) -> bool:
        """Whether it counts what each loop of the program does, so that none may be rewritten."""
        return self.limits_iterations or self.limits_memory or self.is_profiled


_AnyOp = TypeVar("_AnyOp", bound=Op)


def op_of(node: Node, kind: type[_AnyOp]) -> _AnyOp:
    """The operation of a node that is known to be of a kind."""
    assert isinstance(node.op, kind)
    return node.op


def static_shape(node: Node) -> tuple[int, ...]:
    """The shape of a static node."""
    assert node.is_static, "an extent is not known"
    return cast(tuple[int, ...], node.shape)


def show_shape(shape: Sequence[Number | None]) -> str:
    """Print a shape; an unknown extent is "?"."""
    words = ("?" if e is None else str(e) if isinstance(e, int) else e.name for e in shape)
    return f"[{','.join(words)}]"


def show_node(node: Node) -> str:
    """Print the type of a node: float32[2,n0]."""
    return f"{node.dtype}{show_shape(node.shape)}"
