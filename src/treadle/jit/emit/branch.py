"""A branch: the block its condition chooses runs and puts its results where both would.

A result that goes into memory both sides take over is there already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.emit.buffer import Buffer
from treadle.jit.emit.emitter import Emitter
from treadle.jit.emit.inplace import side, taken
from treadle.jit.emit.nest import Ending, Nests
from treadle.jit.emit.place import Place
from treadle.jit.emit.scratch import Scratch
from treadle.jit.emit.types import I64, in_register
from treadle.jit.kernel_ir import Block, Branch, Node, extents

EmitBlock = Callable[[Emitter, Block, Ending], None]


def emit_branch(e: Emitter, node: Node, emit_block: EmitBlock, nests: Nests) -> None:
    """The blocks one beside the other; the parts are in variables or in memory."""
    op, b = node.op, e.w.builder
    assert isinstance(op, Branch)
    own, dims = taken(e, node, nests), _dims(e, node, op)
    parts = [e.part(node, number) for number in range(len(op.then_results))]
    homes = [_home(e, op, number, part, own.get(number)) for number, part in enumerate(parts)]
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
            for (number, axis), variable in dims.items():
                b.store(e.w.index(e.t.extent(results[number].shape[axis])), variable)
            for number in order:
                _put(e, homes[number], results[number], block)
        b.branch(after)
    b.position_at_end(after)
    for (number, axis), variable in dims.items():
        e.dims[node, number, axis] = b.load(variable, typ=I64)
    e.parts.update({(node, number): home for number, home in enumerate(homes)})


@dataclass(frozen=True, eq=False, slots=True)
class Home:
    """Where a part of a branch goes: variables, memory, or memory as large as will be wanted."""

    part: Node
    variables: Sequence[Any] = ()
    memory: Buffer | None = None
    scratch: Scratch | None = None
    scope: str = ""

    def found(self, e: Emitter) -> Buffer | list[Any]:
        """The part behind the branch."""
        if self.scratch is not None:
            pointer, strides = self.scratch.at(e.w), e.t.strides(self.part)
            return Buffer(pointer, self.part.dtype, strides, self.scope, owner=self.scratch)
        type_ = in_register(self.part.dtype)
        return self.memory or [e.w.builder.load(each, typ=type_) for each in self.variables]


def _dims(e: Emitter, node: Node, op: Branch) -> dict[tuple[int, int], Any]:
    """Variables for the extents that the two sides do not have in common."""
    none = llvm.Constant(I64, 0)
    pairs = zip(op.then_results, op.otherwise_results, strict=True)
    return {
        (number, axis): e.w.variable(I64, none)
        for number, (one, other) in enumerate(pairs)
        for axis, (left, right) in enumerate(zip(one.shape, other.shape, strict=True))
        if left != right
    }


def _home(
    e: Emitter, op: Branch, number: int, part: Node | None, own: Buffer | None
) -> Home | None:
    if part is None:
        return None
    if own is not None:
        return Home(part, memory=own)
    if e.t.place(part) is Place.REGISTERS:
        type_ = in_register(part.dtype)
        return Home(part, [e.w.variable(type_) for _ in range(part.size)])
    if part.is_static or part in e.bound:
        return Home(part, memory=e.allocate(part))
    scope = e.scope(part)
    for block, results in ((op.then, op.then_results), (op.otherwise, op.otherwise_results)):
        if results[number].home is block and results.count(results[number]) == 1:
            e.scopes[results[number]] = scope
    return Home(part, scratch=e.scratch(), scope=scope)


def _put(e: Emitter, home: Home | None, result: Node, block: Block) -> None:
    if home is None:
        return
    if home.memory is not None:
        if e.t.buffers.get(result) is not home.memory:
            e.copy(result, home.memory)
    elif home.scratch is not None:
        found = e.t.buffers.get(result) if result.home is block else None
        if found is not None and found.owner is not None and found.scope == home.scope:
            home.scratch.swap(e.w, found.owner)
        else:
            e.copy(result, e.fill(home.scratch, result, home.scope))
    for position, variable in enumerate(home.variables):
        index = e.t.unflat(position, extents(home.part))
        e.w.builder.store(e.t.read(result, index), variable)
