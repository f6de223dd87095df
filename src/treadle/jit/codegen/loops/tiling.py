"""Emits a tiled loop: all iterations for one tile before the next one.

`schedule/loops/tiling.py` says which loops are tiled.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from treadle.jit.codegen.context import CodegenContext, Tile
from treadle.jit.kernel.ir import Node
from treadle.jit.schedule.loops.tiling import Tiling


@contextmanager
def tiles(context: CodegenContext, node: Node) -> Iterator[None]:
    """Run the block for every tile of the loop, or once if it is not tiled."""
    tiling = context.schedule.loops[node].strategy
    if not isinstance(tiling, Tiling):
        yield
        return
    with context.builder.range(tiling.parts) as number:
        start = context.builder.multiply(number, tiling.count)
        context.counts["tiled"] += 1
        context.tile = Tile(tiling.axis, start, tiling.count, tiling.inner)
        yield
        context.tile = None
