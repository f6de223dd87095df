"""A branch: the block its condition chooses runs and puts its results where both would.

A result that goes into memory both sides take over is there already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from treadle.jit.emit.emitter import Emitter
from treadle.jit.emit.inplace import side, taken
from treadle.jit.emit.nest import Ending, Nests
from treadle.jit.emit.place import Place
from treadle.jit.emit.tensors import Buffer
from treadle.jit.emit.types import in_register
from treadle.jit.kernel_ir import Block, Branch, Node, extents

EmitBlock = Callable[[Emitter, Block, Ending], None]


def emit_branch(e: Emitter, node: Node, emit_block: EmitBlock, nests: Nests) -> None:
    """The blocks one beside the other; the parts are in variables or in memory."""
    op, b = node.op, e.w.builder
    assert isinstance(op, Branch)
    own = taken(e, node, nests)
    parts = [e.part(node, number) for number in range(len(op.then_results))]
    homes = [own.get(number) or _home(e, part) for number, part in enumerate(parts)]
    order = sorted(range(len(parts)), key=lambda number: number in own)
    then = e.w.function.append_basic_block("then")
    otherwise = e.w.function.append_basic_block("else")
    after = e.w.function.append_basic_block("after_if")
    b.cbranch(e.t.scalar(node.operands[0]), then, otherwise)
    for start, block, results in (
        (then, op.then, op.then_results),
        (otherwise, op.otherwise, op.otherwise_results),
    ):
        b.position_at_end(start)
        with e.t.scope():
            emit_block(e, block, side(e, node, block, nests, own))
            for number in order:
                _put(e, homes[number], parts[number], results[number])
        b.branch(after)
    b.position_at_end(after)
    for number, (home, part) in enumerate(zip(homes, parts, strict=True)):
        if isinstance(home, Buffer):
            e.parts[node, number] = home
        elif part is not None:
            type_ = in_register(part.dtype)
            e.parts[node, number] = [b.load(variable, typ=type_) for variable in home]


def _home(e: Emitter, part: Node | None) -> Any:
    if part is None:
        return []
    if e.t.place(part) is Place.REGISTERS:
        return [e.w.variable(in_register(part.dtype)) for _ in range(part.size)]
    return e.allocate(part)


def _put(e: Emitter, home: Buffer | Sequence[Any], part: Node | None, result: Node) -> None:
    if part is None:
        return
    if isinstance(home, Buffer):
        if e.t.buffers.get(result) is not home:
            e.copy(result, home)
        return
    for position, variable in enumerate(home):
        index = e.t.unflat(position, extents(result))
        e.w.builder.store(e.t.read(result, index), variable)
