"""Reads elements: from registers, from memory, or computed where they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from math import prod
from typing import Any

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.codegen.abi_slots import AbiSlots
from treadle.jit.codegen.alias_metadata import AliasScopes
from treadle.jit.codegen.buffer import Buffer, Flat, Indices, by_stride, dense_strides
from treadle.jit.codegen.element_index import broadcast_index, element_of, is_known
from treadle.jit.codegen.function_builder import FunctionBuilder, Index
from treadle.jit.codegen.llvm_types import I8, I64, POINTER, literal, memory_type
from treadle.jit.codegen.masked_stores import stored_whole
from treadle.jit.codegen.ops.reduced_element import reduced_element
from treadle.jit.codegen.scalar import functions, half
from treadle.jit.codegen.scalar.bounded import bounded
from treadle.jit.kernel.element_types import SIXTEEN_BIT_FLOATS
from treadle.jit.kernel.ir import (
    Axis,
    Block,
    Concat,
    Constant,
    Elementwise,
    Iota,
    Node,
    Number,
    Reduce,
    Reshape,
    ScanSlice,
    SymbolicDim,
    Take,
    View,
    op_of,
    static_shape,
)
from treadle.jit.schedule.index_set_splitting import SplitPoint, moved, operand_at
from treadle.jit.schedule.layouts.memory_order import MemoryOrder, in_same_order
from treadle.jit.schedule.storage import Storage, StorageMap


@dataclass(eq=False, slots=True)
class ElementAccess:
    """The location of every node's elements while a kernel is emitted.

    `bounds` are the bounds of an index into a Concat; `is_packed` says whether a loop has packed a
    matrix, where that depends on its iterations.
    """

    builder: FunctionBuilder
    places: StorageMap
    order: MemoryOrder
    slots: AbiSlots
    aliases: AliasScopes
    registers: dict[Node, list[Any]] = field(default_factory=dict)
    buffers: dict[Node, Buffer] = field(default_factory=dict)
    counters: dict[Any, Any] = field(default_factory=dict)
    exact: frozenset[SymbolicDim] = frozenset()
    chains: Mapping[Node, Sequence[Node]] = field(default_factory=dict)
    packed: dict[Node, Buffer] = field(default_factory=dict)
    is_packed: dict[Node, Any] = field(default_factory=dict)
    bounds: dict[Index, tuple[SplitPoint, SplitPoint]] = field(default_factory=dict)
    anew: frozenset[Node] = frozenset()
    _memo: list[dict[Any, Any]] = field(default_factory=lambda: [{}])

    @contextmanager
    def scope(self, *, is_alone: bool = False) -> Iterator[None]:
        """Forget values computed inside the block afterwards; `is_alone`: use none of before."""
        before, self._memo = self._memo, [*([] if is_alone else self._memo), {}]
        yield
        self._memo = before

    @contextmanager
    def at_iteration(self, block: Block, counter: Index, nodes: Sequence[Node]) -> Iterator[None]:
        """Compute these nodes of the block for another iteration."""
        before = self.counters[block], self.registers, self.buffers, self._memo, self.anew
        self.counters[block] = counter
        self.registers = {n: kept for n, kept in self.registers.items() if n not in nodes}
        self.buffers = {n: kept for n, kept in self.buffers.items() if n not in nodes}
        self._memo, self.anew = [{}], frozenset(nodes)
        yield
        self.counters[block], self.registers, self.buffers, self._memo, self.anew = before

    def storage_of(self, node: Node) -> Storage:
        """The storage of the node."""
        return self.places.storage_of[node]

    def extent(self, extent: Number) -> Index:
        """An extent as an index."""
        if isinstance(extent, int):
            return extent
        if extent.source is None or extent in self.exact:
            return self.slots.extent(extent)
        return self.scalar(extent.source)

    def point(self, point: SplitPoint) -> Index:
        """A point at which a nest is split as an index."""
        if isinstance(point, int):
            return point
        result: Index = point.offset
        for dim, step in point.terms:
            assert isinstance(dim, SymbolicDim), "a point that is no sum of extents"
            result = self.builder.add(result, self.builder.multiply(self.extent(dim), step))
        return result

    def shape(self, node: Node) -> tuple[Index, ...]:
        """The shape of a node as indices."""
        return tuple(map(self.extent, node.shape))

    def size(self, node: Node) -> Index:
        """The number of elements."""
        return self.builder.product(self.shape(node))

    def strides(self, node: Node) -> tuple[Index, ...]:
        """The strides of the node in row-major order."""
        return self.builder.strides(self.shape(node))

    def read(self, node: Node, index: Indices) -> Any:
        """Read one element."""
        if node.is_static and not node.size:
            return literal(node.dtype, 0)
        if node in self.registers and not isinstance(index, Flat) and is_known(index):
            return self.registers[node][self.flat(index, static_shape(node))]
        if isinstance(node.op, Constant) and (node.is_single or is_known(index)):
            return literal(node.dtype, element_of(node.op.array, index))
        return self._once((node, index), lambda: self._read(node, index))

    def _once(self, key: tuple[Any, ...], made: Callable[[], Any]) -> Any:
        """The value emitted for the key, if it dominates this point; else emit it now."""
        for known in self._memo:
            if key in known:
                return known[key]
        value = made()
        self._memo[-1][key] = value
        return value

    def _read(self, node: Node, index: Indices) -> Any:
        if node in self.registers and node.is_single:
            return self.registers[node][0]
        if self.storage_of(node) is Storage.INLINE or node in self.anew or (
            node not in self.buffers and self.storage_of(node) in (Storage.NEST, Storage.REGISTERS)
            and node not in self.registers
        ):  # fmt: skip
            return self.compute(node, index)
        return self.load(self.buffer(node), index)

    def compute(self, node: Node, index: Indices) -> Any:
        """Compute one element from those of the operands; a Gather selects the iteration's item."""
        match node.op:
            case Elementwise(function):
                return self._applied(node, function, index)
            case View(axes):
                source = node.operands[0]
                if isinstance(index, Flat):
                    return self.read(source, index)
                return self.read(source, tuple(self.along(axis, index) for axis in axes))
            case Reshape():
                return self._reshaped(node, index)
            case ScanSlice():
                return self._item(node, index)
            case Reduce() if not isinstance(index, Flat):
                return reduced_element(self.builder, node, index, self.read)
            case Iota():
                return self.builder.index(index.value if isinstance(index, Flat) else index[0])
            case Concat(axis) if not isinstance(index, Flat):
                return self._piece(node, axis, index)
            case Take(axis) if not isinstance(index, Flat):
                return self._taken(node, axis, index)
        raise AssertionError(f"{type(node.op).__name__} is not computed element by element")

    def _applied(self, node: Node, function: str, index: Indices) -> Any:
        apply = partial(functions.apply, self.builder, function)
        if node in self.chains:
            step = partial(apply, (node.dtype,) * 2, node.dtype)
            return reduce(step, [self.scalar(operand) for operand in self.chains[node]])
        args = [self.read(o, broadcast_index(o, index)) for o in node.operands]
        dtypes = tuple(operand.dtype for operand in node.operands)
        found = bounded(self.builder, node, args)
        return apply(dtypes, node.dtype, *args) if found is None else found

    def along(self, axis: Axis, index: Sequence[Index]) -> Index:
        """The index at which a View reads along one axis of its operand."""
        result = self.extent(axis.offset)
        for number, step in axis.terms:
            result = self.builder.add(result, self.builder.multiply(index[number], step))
        return result

    def _reshaped(self, node: Node, index: Indices) -> Any:
        source = node.operands[0]
        flat = index.value if isinstance(index, Flat) else self.flat(index, self.shape(node))
        if self.is_flat(source):
            return self.read(source, Flat(flat))
        return self.read(source, self.unflat(flat, self.shape(source)))

    def _item(self, node: Node, index: Indices) -> Any:
        op, source = op_of(node, ScanSlice), node.operands[0]
        at = self.item_number(node)
        if isinstance(index, Flat):
            size = self.size(node)
            return self.read(
                source, Flat(self.builder.add(self.builder.multiply(at, size), index.value))
            )
        return self.read(source, (*index[: op.axis], at, *index[op.axis :]))

    def _piece(self, node: Node, axis: int, index: tuple[Index, ...]) -> Any:
        """An element of a Concat, from the only operand that the index's bounds allow."""
        at = index[axis]
        low, end = (at, at + 1) if isinstance(at, int) else self.bounds[at]
        operand, first = operand_at(node, low, end)
        start = self.builder.multiply(self.point(first), -1)
        own = self._once((at, first), partial(self.builder.add, at, start))
        if not isinstance(own, int) and isinstance(first, int):
            self.bounds[own] = moved(low, -first), moved(end, -first)
        return self.read(operand, (*index[:axis], own, *index[axis + 1 :]))

    def _taken(self, node: Node, axis: int, index: tuple[Index, ...]) -> Any:
        """An element at an index that is known to be in range, or of the iteration's item."""
        data, indices = node.operands
        last, place = axis + len(indices.shape), self.counters.get(node.home)
        if self.storage_of(node) is Storage.INLINE:
            item = self.read(indices, index[axis:last])
            place = functions.cast(self.builder, item, indices.dtype, DType.INT64)
        return self.read(data, (*index[:axis], place, *index[last:]))

    def item_number(self, node: Node) -> Index:
        """The number of the item of its source that a ScanSlice is in this iteration."""
        op = op_of(node, ScanSlice)
        counter = self.counters[node.home]
        if not op.reverse:
            return counter
        length = self.builder.index(self.extent(node.operands[0].shape[op.axis]))
        last = self.builder.builder.sub(length, llvm.Constant(I64, 1))
        return self.builder.builder.sub(last, counter)

    def flat(self, index: Sequence[Index], shape: Sequence[Index]) -> Index:
        """The row-major position of an index."""
        result: Index = 0
        for each, stride in zip(index, self.builder.strides(shape), strict=True):
            result = self.builder.add(result, self.builder.multiply(each, stride))
        return result

    def unflat(self, position: Index, shape: Sequence[Index]) -> tuple[Index, ...]:
        """The index at a row-major position."""
        index: list[Index] = []
        for extent in shape[:0:-1]:
            position, rest = self.builder.split(position, extent)
            index.append(rest)
        return (position, *index[::-1]) if shape else ()

    def is_flat(self, node: Node) -> bool:
        """Whether the node can be read by a row-major position."""
        return self.order.is_flat(node)

    def is_in_memory(self, node: Node) -> bool:
        """Whether all elements are already in memory."""
        return node in self.buffers or isinstance(node.op, Constant)

    def buffer(self, node: Node) -> Buffer:
        """The memory of a node stored there; a constant or an input is located on first use."""
        if node not in self.buffers:
            assert isinstance(node.op, Constant), f"{type(node.op).__name__} has no memory yet"
            pointer = self.slots.array(node.op.array)
            strides = dense_strides(static_shape(node))
            self.buffers[node] = Buffer(pointer, node.dtype, strides, "given")
        return self.buffers[node]

    def allocate(self, node: Node, scope: str = "", spare: int = 0) -> Buffer:
        """Memory for the elements of a node, and `spare` bytes."""
        size = prod(static_shape(node)) * node.dtype.numpy.itemsize + spare
        pointer = self.slots.workspace(size)
        name = scope or self.aliases.fresh()
        return Buffer(pointer, node.dtype, dense_strides(static_shape(node)), name)

    def address(self, buffer: Buffer, index: Indices) -> Any:
        """The address of an element."""
        offset: Index = 0
        if isinstance(index, Flat):
            offset = index.value
        else:
            for each, stride in by_stride(self.builder, buffer, index):
                offset = self.builder.add(offset, self.builder.multiply(each, stride))
        type_ = memory_type(buffer.dtype)
        found = self.builder.builder.gep(
            buffer.pointer, [self.builder.index(offset)], inbounds=True, source_etype=type_
        )
        found.type = POINTER  # that of a variable has a type, which vectors have not
        return found

    def has_rows(self, node: Node) -> bool:
        """Whether neighbouring elements along the last axis are neighbours in memory."""
        return self.order.has_rows(node)

    def is_located(self, node: Node) -> bool:
        """Whether a node has contiguous rows, and they are in memory already."""
        if not self.has_rows(node):
            return False
        while self.storage_of(node) is Storage.INLINE:
            node = node.operands[0]
        return self.is_in_memory(node)

    def located(self, node: Node, index: tuple[Index, ...]) -> Any:
        """The address of an element of a node with contiguous rows."""
        while self.storage_of(node) is Storage.INLINE:
            match node.op:
                case Reshape():
                    whole = in_same_order(node, self.places)
                    place = self.flat(index, self.shape(node))
                    if self.storage_of(whole) is Storage.INLINE:  # an item
                        size = self.builder.product(self.shape(whole))
                        first = self.builder.multiply(self.item_number(whole), size)
                        whole, place = whole.operands[0], self.builder.add(first, place)
                    return self.address(self.buffer(whole), Flat(place))
                case ScanSlice(axis, _):
                    index = (*index[:axis], self.item_number(node), *index[axis:])
                case View(axes):
                    index = tuple(self.along(axis, index) for axis in axes)
            node = node.operands[0]
        return self.address(self.buffer(node), index)

    def dense_buffer(self, node: Node) -> Buffer:
        """The memory of a value that is dense in memory, or an item of a dense one."""
        if self.storage_of(node) is not Storage.INLINE:
            return self.buffer(node)
        start = self.located(node, (0,) * len(node.shape))
        strides = self.builder.strides(self.shape(node))
        return Buffer(start, node.dtype, strides, self.scope_of(node))

    def scope_of(self, node: Node) -> str:
        """The alias scope of a node with contiguous rows."""
        while self.storage_of(node) is Storage.INLINE:
            node = node.operands[0]
        return self.buffer(node).scope

    def load(self, buffer: Buffer, index: Indices) -> Any:
        """Load an element from memory."""
        value = self.builder.builder.load(
            self.address(buffer, index), typ=memory_type(buffer.dtype)
        )
        self.aliases.mark(value, buffer.scope)
        if buffer.dtype in SIXTEEN_BIT_FLOATS:
            return half.widened(self.builder, value, buffer.dtype)
        if buffer.dtype is DType.BOOL:
            return self.builder.builder.icmp_unsigned("!=", value, llvm.Constant(I8, 0))
        return value

    def store(self, buffer: Buffer, index: Indices, value: Any, *, is_scalar: bool = False) -> None:
        """Store an element to memory; `is_scalar`: LLVM does not merge it into a vector store."""
        if buffer.dtype in SIXTEEN_BIT_FLOATS:
            value = half.narrowed(self.builder, value, buffer.dtype)
        if buffer.dtype is DType.BOOL:
            value = self.builder.builder.zext(value, I8)
        whole = stored_whole(self.builder, value)
        place, builder = self.address(buffer, index), self.builder.builder
        if is_scalar:
            place.type = llvm.PointerType(whole.type)  # llvmlite compares the types of both
            size = buffer.dtype.numpy.itemsize
            instruction = builder.store_atomic(whole, place, "unordered", size)
        else:
            instruction = builder.store(whole, place)
        self.aliases.mark(instruction, buffer.scope)

    def spill(self, node: Node) -> None:
        """Also store elements in registers to memory, for readers with a dynamic index."""
        values = self.registers[node]
        pointer = self.builder.variable(memory_type(node.dtype), count=len(values))
        buffer = Buffer(
            pointer, node.dtype, dense_strides(static_shape(node)), self.aliases.fresh()
        )
        for position, value in enumerate(values):
            self.store(buffer, Flat(position), value)
        self.buffers[node] = buffer

    def keep(self, node: Node, values: list[Any]) -> None:
        """Set the elements of a node in registers."""
        self.registers[node] = values
        if node in self.places.spilled:
            self.spill(node)

    def scalar(self, node: Node) -> Any:
        """The one element of a node."""
        return self.read(node, (0,) * len(node.shape))
