"""Loop tiling: an elementwise body runs all iterations for one tile before the next tile.

    for part in parts of the elements:            as many as fit into the L1 cache
        for i in range(trips):
            the body, for the elements of the part

Declines if a body reads an element at another index than its own, stacks, has a condition, or if
all its data fit into the cache anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod

from treadle.jit.codegen.context import CodegenContext, Tile
from treadle.jit.kernel.ir import (
    CarriedArg,
    Elementwise,
    InductionVar,
    Loop,
    Node,
    ScanSlice,
    static_shape,
)
from treadle.jit.schedule.storage import Storage

_NEAR = 24_576
_FEWEST = 64


@contextmanager
def tiles(context: CodegenContext, node: Node) -> Iterator[None]:
    """Run the block for every part of the elements, or once for all."""
    window = None if context.tile else _window(context, node)
    if window is None:
        yield
        return
    axis, extent, count, inner = window
    with context.builder.range(extent // count) as number:
        start = context.builder.multiply(number, count)
        context.counts["tiled"] += 1
        context.tile = Tile(axis, start, count, inner, extent // count)
        yield
        context.tile = None


def _window(context: CodegenContext, node: Node) -> tuple[int, int, int, int] | None:
    """(axis, its extent, items of it in a part, elements in an item)."""
    op = node.op
    assert isinstance(op, Loop)
    shape = _shape(context, op)
    if shape is None or op.stacks or op.next_condition is not None:
        return None
    if op.has_condition and context.kernel.limits_iterations:
        return None
    if not all(_is_own_element(context, each, op, shape) for each in op.body.nodes):
        return None
    if not all(_is_carried(context, state, after, op) for state, after in zip(op.states, op.nexts,
                                                                        strict=True)):  # fmt: skip
        return None
    axis = next(k for k, extent in enumerate(shape) if extent > 1)
    extent, inner = shape[axis], prod(shape[axis + 1 :])
    most = max(_NEAR * extent // _bytes(context, op, shape), -(-_FEWEST // inner))
    count = next(n for n in range(min(most, extent), 0, -1) if extent % n == 0)
    return None if count * inner < _FEWEST or count == extent else (axis, extent, count, inner)


def _shape(context: CodegenContext, op: Loop) -> tuple[int, ...] | None:
    """The common shape of all states in memory."""
    if not all(state.is_static for state in op.states):
        return None
    shapes = {
        static_shape(state)
        for state in op.states
        if context.access.storage_of(state) is not Storage.REGISTERS
    }
    return shapes.pop() if len(shapes) == 1 else None


def _is_large(context: CodegenContext, node: Node) -> bool:
    return context.access.storage_of(node) is not Storage.REGISTERS


def _is_own_element(context: CodegenContext, node: Node, op: Loop, shape: tuple[int, ...]) -> bool:
    """Whether it is a scalar of the iteration, or reads elements of the body at its own index."""
    if not isinstance(node.op, InductionVar | CarriedArg | ScanSlice | Elementwise):
        return not _is_large(context, node) and not any(
            _is_large(context, o) for o in node.operands
        )
    if not _is_large(context, node):
        return all(o.home is not op.body or not _is_large(context, o) for o in node.operands)
    if node.shape != shape:
        return False
    return all(
        o.shape == shape for o in node.operands if o.home is op.body and _is_large(context, o)
    )


def _is_carried(context: CodegenContext, state: Node, after: Node, op: Loop) -> bool:
    if not _is_large(context, state):
        return not _is_large(context, after)
    return after is state or (
        after.home is op.body and context.access.storage_of(after) is Storage.NEST
    )


def _bytes(context: CodegenContext, op: Loop, shape: tuple[int, ...]) -> int:
    """The number of bytes an iteration accesses."""
    read = {o for node in op.body.nodes for o in node.operands if o.home is not op.body}
    touched = [node for node in (*op.states, *read) if node.is_static and _is_large(context, node)]
    return sum(prod(static_shape(node)) * node.dtype.numpy.itemsize for node in touched)
