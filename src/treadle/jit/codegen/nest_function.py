"""Controls how loop nests are emitted: as separate functions, and in which vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.kernel.ir import Node
from treadle.jit.schedule.cost_model import interleave_hint, vector_lanes

_MIN_VECTORS = 4
"""The vectors of a row from which the elements after the last whole one hardly matter."""


@contextmanager
def outlined(context: CodegenContext, *, when: bool) -> Iterator[None]:
    """Emit the nests inside the block as separate functions."""
    before, context.functions.is_outlined = context.functions.is_outlined, when
    yield
    context.functions.is_outlined = before


def is_swapped(context: CodegenContext, buffer: Buffer) -> bool:
    """Whether the buffer is the second one of a double buffer, or part of it."""
    return buffer.scope in context.carried.swapped_scopes


@contextmanager
def in_lanes(context: CodegenContext, nodes: Sequence[Node]) -> Iterator[None]:
    """Emit a nest of these nodes in vectors of the lanes that suit them."""
    before = context.functions.lanes
    context.functions.lanes = vector_lanes(nodes, context.builder.target.vector_bytes)
    yield
    context.functions.lanes = before


def nest_hints(context: CodegenContext, cost: float, length: object) -> Sequence[str]:
    """Hints for a loop over elements of a nest that take `cost` each."""
    hints, lanes = interleave_hint(cost, length), context.functions.lanes
    is_long = not isinstance(length, int) or length >= _MIN_VECTORS * lanes
    if not lanes or not is_long:
        return hints
    return (*(hints or ("unroll.disable",)), f"vectorize.width={lanes}")
