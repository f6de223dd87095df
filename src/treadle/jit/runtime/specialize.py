"""Specializes a region to the dtypes and shapes of a run.

Trip counts, and lengths of axes that only top-level loops slice, are not part of the signature.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from treadle import ops
from treadle.ir import (
    Block,
    Dim,
    DType,
    Leaf,
    Loop,
    Model,
    Step,
    Symbol,
    Tensor,
    Value,
    dtype_of,
    ports,
    reads,
    walk_block,
)
from treadle.jit.host.kernels import HostKernels
from treadle.jit.host.sequence_marshal import is_list
from treadle.jit.internal_errors import decline_on_internal_error
from treadle.jit.kernel.debugging import check_when_debugging
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Block as BlockNode
from treadle.jit.kernel.ir import (
    Constant,
    Elementwise,
    Empty,
    HostCall,
    Input,
    Kernel,
    Node,
    SymbolicDim,
    View,
)
from treadle.jit.kernel.ir import Loop as LoopNode
from treadle.jit.kernel.traversal import all_nodes, inner_blocks
from treadle.jit.lowering import lower_steps, nothing
from treadle.jit.lowering.lowering_builder import LoweringBuilder
from treadle.jit.lowering.sequences.scalarize import scalarize_sequences
from treadle.jit.policy.companions import expect_small
from treadle.jit.policy.producers import Sources, item_sources, may_drop_items, may_produce
from treadle.plan import Region, is_of_shape

Kind = tuple[DType | None, tuple[int, ...]]
"""A dtype and a shape; without a dtype: boxed."""
Given = Kind | tuple[DType | None, tuple[int, ...], bytes]
Signature = tuple[Given, ...]
"""For each input its dtype, its shape, and its elements if a kernel is made for them."""


@dataclass(frozen=True, eq=False, slots=True)
class DynamicDims:
    """The dynamic axes of inputs, and which of them have equal lengths.

    The length of a sequence is dynamic too, unless it is empty; `lists` are the sequences.
    """

    open: Mapping[tuple[int, int], SymbolicDim] = field(default_factory=dict)
    lists: frozenset[int] = frozenset()

    @classmethod
    def of(cls, region: Region) -> DynamicDims:
        """The dynamic axes: those that top-level loops slice, and no other step reads."""
        index = {value: k for k, value in enumerate(region.inputs)}
        sliced: dict[tuple[int, int], SymbolicDim] = {}
        slicings, otherwise = _slicings(region)
        for taken in slicings:
            _unite(sliced, [(index[value], axis) for value, axis in taken if value in index])
        closed = {index[value] for value in otherwise if value in index}
        axes: dict[int, set[int]] = {}
        for position, axis in sliced:
            axes.setdefault(position, set()).add(axis)
        closed |= {position for position, found in axes.items() if len(found) > 1 or -1 in found}
        open_ = {key: extent for key, extent in sliced.items() if key[0] not in closed}
        lists = frozenset(k for k, value in enumerate(region.inputs) if is_list(value))
        return cls({**open_, **{(k, 0): SymbolicDim(f"s{k}") for k in lists}}, lists)


def _slicings(region: Region) -> tuple[list[list[tuple[Value, int]]], set[Value]]:
    """The values that are sliced, each with the axis, loop by loop; and what is read otherwise.

    A step that computes what a loop slices item by item slices what it reads; what a step shortens
    has a length of its own. An extent is not read as a value is.
    """
    slicings: list[list[tuple[Value, int]]] = []
    otherwise = set(region.outputs)
    for step in region.steps:
        if isinstance(step, Loop):
            taken = [(p.operand, p) for p in ports(step).sliced if p.operand]
            operands = [v for v in reads(step) if v is not None]
            slices = [operand for operand, _ in taken]
            otherwise |= {v for v in operands if operands.count(v) > slices.count(v)}
            slicings.append([(value, _axis(value, port.role.axis)) for value, port in taken])
    others = [s for s in region.steps if not (isinstance(s, Loop) or is_of_shape(s))]
    for step in reversed(others):
        found = () if not otherwise.isdisjoint(step.results) else _sources(step, slicings)
        items = {value for value, _ in found}
        if may_produce(step):
            items.update(value for group in slicings for value, _ in group)
        otherwise |= {value for value in reads(step) if value is not None}.difference(items)
    return slicings, otherwise


def _sources(step: Step, slicings: list[list[tuple[Value, int]]]) -> Sources:
    """What a step slices, if loops slice its result along one axis; it is added to theirs."""
    groups = [(group, axis) for group in slicings for value, axis in group if value in step.results]
    axes = {axis for _, axis in groups}
    found = item_sources(step, axes.pop()) if len(axes) == 1 and may_produce(step) else None
    if found and may_drop_items(step):
        slicings.append(list(found))
        return found
    for group, _ in groups if found else ():
        group.extend(found or ())
    return found or ()


def _axis(value: Value | None, axis: int) -> int:
    """The axis counted from the front; -1 if the rank is unknown."""
    shape = getattr(value.type, "shape", None) if value is not None else None
    if axis >= 0:
        return axis
    return axis + len(shape) if shape is not None else -1


def _unite(sliced: dict[tuple[int, int], SymbolicDim], keys: Sequence[tuple[int, int]]) -> None:
    known = [sliced[key] for key in keys if key in sliced]
    extent = known[0] if known else SymbolicDim(f"n{len(sliced)}")
    for key, found in list(sliced.items()):
        if found in known:
            sliced[key] = extent
    for key in keys:
        sliced[key] = extent


def conditions(region: Region) -> tuple[int, ...]:
    """The inputs that are the condition of a loop of the region: kernels are made for true ones."""
    read = {step.condition for step in region.steps if isinstance(step, Loop)}
    return tuple(k for k, value in enumerate(region.inputs) if value in read)


def signature(arrays: Sequence[np.ndarray], lengths: DynamicDims) -> Signature:
    """The signature of a kernel; a dynamic extent is negative, equal ones have equal numbers."""
    return signature_key([(dtype_of(array.dtype), array.shape) for array in arrays], lengths)


def signature_key(kinds: Sequence[Kind], lengths: DynamicDims) -> Signature:
    """The signature of inputs of these dtypes and shapes, ignoring the extents of dynamic axes.

    An empty sequence keeps its extent of 0.
    """
    found: list[Kind] = []
    order = list(dict.fromkeys(lengths.open.values()))
    for position, (dtype, given) in enumerate(kinds):
        open_ = [lengths.open.get((position, axis)) for axis in range(len(given))]
        shape = tuple(
            length if extent is None else -1 - order.index(extent)
            for length, extent in zip(given, open_, strict=True)
        )
        if position in lengths.lists and given[:1] == (0,):
            shape = given
        found.append((dtype, shape))
    return tuple(found)


Known = Mapping[int, np.ndarray]
"""Inputs with a constant value, by position."""


def known_inputs(region: Region, model: Model) -> Known:
    """The inputs defined by a Constant."""
    wanted = {value: k for k, value in enumerate(region.inputs)}
    found: dict[int, np.ndarray] = {}
    for visit in walk_block(model.main):
        step = visit.step
        made = step.results[0] if isinstance(step, Leaf) and step.op == "Constant" else None
        if made is not None and made in wanted and isinstance(step, Leaf):
            array = ops.bind_kernel(step)(())[0]
            if isinstance(array, np.ndarray):
                found[wanted[made]] = array
    return found


@decline_on_internal_error
def specialize(
    region: Region,
    given: Signature,
    lengths: DynamicDims,
    known: Known,
    kernels: HostKernels,
    *,
    parts: bool = True,
    may_assume: bool = True,
    has_byte_products: bool = False,
    holding: Collection[int] | None = None,
) -> Kernel:
    """The kernel of a region for a signature; raises Declined if there is none.

    `may_assume`: it may expect of the data what holds in most runs. `has_byte_products`: it is for
    a machine that has them. `holding` are the inputs that
    it takes to be true: those that are the condition of a loop, unless others are told.

    If its loops would box values, the region is lowered again with scalarized sequences, if
    possible.
    """
    assumed = conditions(region) if holding is None else holding

    @decline_on_internal_error
    def attempted(block: Callable[[], Block | None]) -> Kernel | None:
        made = block()
        if made is None:
            return None
        start = LoweringBuilder.start()
        start.kernels, start.may_assume = kernels, may_assume
        start.has_byte_products = has_byte_products
        return _written(start, region, made, given, lengths, known, assumed)

    def written(block: Callable[[], Block | None]) -> Kernel | Declined | None:
        try:
            return attempted(block)
        except Declined as why:
            return why

    found = written(region.block)
    assert found is not None
    if parts and (isinstance(found, Declined) or _held(found.main)):
        other = written(lambda: scalarize_sequences(region.block(), _extents(region, given)))
        if isinstance(other, Kernel) and _is_fewer(other, found):
            return other
    if isinstance(found, Declined):
        try:
            raise found
        finally:
            del found  # it refers to this frame
    return found


def _extents(region: Region, given: Signature) -> dict[Dim, int]:
    """The extents of this run by the names that the types of inputs have for them."""
    found: dict[Dim, set[int]] = {}
    for value, (_, shape, *_) in zip(region.inputs, given, strict=True):
        dims = value.type.shape if isinstance(value.type, Tensor) else None
        for dim, extent in zip(dims or (), shape, strict=False):
            if isinstance(dim, Symbol):
                found.setdefault(dim, set()).add(extent)
    return {dim: min(sizes) for dim, sizes in found.items() if len(sizes) == 1 and min(sizes) >= 0}


def _is_fewer(kernel: Kernel, other: Kernel | Declined) -> bool:
    """Whether its loops contain fewer calls on boxed values."""
    return isinstance(other, Declined) or _held(kernel.main) < _held(other.main)


def _held(block: BlockNode, *, inside: bool = False) -> int:
    """The number of calls on boxed values in loops."""
    count = 0
    for node in block.nodes:
        count += inside and isinstance(node.op, HostCall) and node.op.has_objects
        for inner in inner_blocks(node):
            count += _held(inner, inside=inside or inner.is_loop)
    return count


def _written(
    builder: LoweringBuilder,
    region: Region,
    block: Block,
    given: Signature,
    lengths: DynamicDims,
    known: Known,
    holding: Collection[int],
) -> Kernel:
    """The kernel of a region's block, or of a block that replaces it, by a new builder."""
    inputs: list[Node] = []
    params: list[Node] = []
    for position, (dtype, shape, *value) in enumerate(given):
        if dtype is None:
            inputs.append(builder.param(Input(position), DType.INT64, ()))
            builder.objects.add(inputs[-1])
            params.append(inputs[-1])
            continue
        extents = tuple(
            lengths.open[position, axis] if extent < 0 else extent
            for axis, extent in enumerate(shape)
        )
        node = builder.param(Input(position), dtype, extents)
        inputs.append(node)
        if value:
            elements = np.frombuffer(value[0], dtype.numpy)
            params.append(builder.constant(elements.reshape(shape)))
        elif position in known:
            params.append(builder.constant(known[position]))
        elif position in lengths.lists and shape[0] == 0:
            params.append(builder.add(Empty(), dtype, shape))
        elif position in holding:
            params.append(builder.constant(np.ones(shape, np.bool_)))
        else:
            params.append(node)
    made = lower_steps(builder, block, params)
    expect_small(region, made)
    found = (None if value is None else made[value] for value in block.results)
    results = tuple(nothing(builder) if node is None else node for node in found)
    objects = tuple(k for k, node in enumerate(results) if node in builder.objects)
    kernel = Kernel(
        tuple(inputs),
        builder.main,
        results,
        builder.hoisted,
        boxed_results=objects,
        assumes=builder.assumes,
    )
    return check_when_debugging(kernel)


def trip_count_inputs(kernel: Kernel) -> dict[SymbolicDim, int]:
    """The extents that are trip counts, max(input, 0), and their inputs."""
    counts = ((extent, _input_of(count)) for extent, count in _trip_counts(kernel))
    return {extent: position for extent, position in counts if position is not None}


def counting_inputs(kernel: Kernel) -> set[int]:
    """The inputs that are trip counts, also of loops whose first iteration is peeled off."""
    counts = [count for _, count in _trip_counts(kernel)]
    counts += [count.operands[0] for count in counts if count.op == Elementwise("sub")]
    return {position for count in counts if (position := _input_of(count)) is not None}


def _trip_counts(kernel: Kernel) -> Iterator[tuple[SymbolicDim, Node]]:
    """The extents of loops that are max(count, 0), and the counts."""
    for node in all_nodes(kernel.main):
        extent = node.op.extent if isinstance(node.op, LoopNode) else None
        source = extent.source if isinstance(extent, SymbolicDim) else None
        if isinstance(extent, SymbolicDim) and source and source.op == Elementwise("max"):
            count, least = source.operands
            if isinstance(least.op, Constant) and least.op.array == 0:
                yield extent, count


def _input_of(node: Node) -> int | None:
    """The input whose only element the scalar is."""
    while not isinstance(node.op, Input):
        if not isinstance(node.op, View) and node.op != Elementwise("cast"):
            return None
        (node,) = node.operands
    return node.op.position if node.is_single and node.dtype in _TRIP_COUNT_TYPES else None


_TRIP_COUNT_TYPES = (DType.INT64, DType.INT32)
