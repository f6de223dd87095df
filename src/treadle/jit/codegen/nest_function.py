"""Emits loop nests as separate functions: those that write the second buffer of a carried value.

No decision is taken here: where a value has two buffers (`schedule/carried_storage.py`), they are
known not to alias in such a function only (`carried/double_buffer.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.context import CodegenContext


@contextmanager
def outlined(context: CodegenContext, *, when: bool) -> Iterator[None]:
    """Emit the nests inside the block as separate functions."""
    before, context.functions.is_outlined = context.functions.is_outlined, when
    yield
    context.functions.is_outlined = before


def is_swapped(context: CodegenContext, buffer: Buffer) -> bool:
    """Whether the buffer is the second one of a double buffer, or part of it."""
    return buffer.scope in context.carried.swapped_scopes
