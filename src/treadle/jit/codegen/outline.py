"""Outlines loop nests of a large kernel into functions, and merges equal functions.

LLVM's compile time grows with the square of a function's size: a decoder of twelve layers in one
function took minutes. A nest without results and with a single exit is moved out, with its inputs
as arguments; the layers of a network become the same functions over different memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.function_builder import LoopRegion
from treadle.jit.codegen.llvm_types import VOID
from treadle.jit.codegen.parallel_call import ParallelCall

_MIN_NESTS = 64
"""The number of loop nests in a kernel from which they are outlined."""
_NAME = re.compile(r'%"([^"]*)"|^([\w.]+)(?=:$)', re.MULTILINE)
_NODE = re.compile(r"!\d+")


def outline(module: llvm.Module, function: llvm.Function, nests: Sequence[LoopRegion]) -> list[Any]:
    """Outline the nests of a function that has many; returns the calls."""
    if len(nests) < _MIN_NESTS:
        return []
    uses = _Uses.of(function)
    found = [closed for nest in nests if (closed := _closed(nest, uses)) is not None]
    gone = {id(block) for closed in found for block in closed.nest.blocks}
    function.blocks[:] = [block for block in function.blocks if id(block) not in gone]
    return [_moved(module, closed, number) for number, closed in enumerate(found)]


def merge(module: llvm.Module, calls: Sequence[Any]) -> None:
    """Redirect calls of equal functions to one of them."""
    loops = {each.get_reference(): _hints(each) for each in module.metadata}
    made: dict[str, llvm.Function] = {}
    for call in calls:
        own = call.callee
        call.callee = made.setdefault(_key(own, loops), own)
        if call.callee is not own:
            del module.globals[own.name]


def merge_parts(module: llvm.Module, parts: Sequence[ParallelCall]) -> None:
    """Merge equal parts of parallel nests."""
    loops = {each.get_reference(): _hints(each) for each in module.metadata}
    made: dict[str, llvm.Function] = {}
    for part in parts:
        kept = made.setdefault(_key(part.function, loops), part.function)
        if kept is not part.function:
            del module.globals[part.function.name]
            part.take(kept)


@dataclass(frozen=True, eq=False, slots=True)
class _Closed:
    """A nest that can be outlined, its inputs, and the variables only it uses."""

    nest: LoopRegion
    reads: tuple[Any, ...]
    variables: tuple[Any, ...]


@dataclass(frozen=True, eq=False, slots=True)
class _Uses:
    """The instructions that use each value or branch to each block, by identity."""

    all: dict[int, list[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, function: llvm.Function) -> _Uses:
        """The uses in a whole function."""
        uses = cls()
        for block in function.blocks:
            for instruction in block.instructions:
                for each in _read(instruction):
                    uses.all.setdefault(id(each), []).append(instruction)
        return uses

    def blocks(self, value: Any) -> Iterator[Any]:
        """The blocks of the instructions that use the value."""
        for instruction in self.all.get(id(value), ()):
            yield instruction.parent


def _read(instruction: Any) -> Iterator[Any]:
    """The values and blocks an instruction refers to."""
    if isinstance(instruction, llvm.PhiInstr):
        for value, block in instruction.incomings:
            yield from (value, block)
        return
    yield from instruction.operands


def _closed(nest: LoopRegion, uses: _Uses) -> _Closed | None:
    """The nest with its inputs; None if it does more than write to memory."""
    inside = {id(block) for block in nest.blocks}
    reads: dict[int, Any] = {}
    for block in nest.blocks:
        for instruction in block.instructions:
            if any(id(user) not in inside for user in uses.blocks(instruction)):
                return None
            for each in _read(instruction):
                if isinstance(each, llvm.Block):
                    if id(each) not in inside and each not in (nest.before, nest.after):
                        return None
                elif isinstance(each, llvm.Instruction | llvm.Argument):
                    reads[id(each)] = each
    own = {id(i) for block in nest.blocks for i in block.instructions}
    outer = [value for key, value in reads.items() if key not in own]
    variables = [v for v in outer if isinstance(v, llvm.AllocaInstr)]
    if not all(_is_only_in(inside, each, uses) for each in variables):
        return None
    if _is_phi_of(nest, inside, uses):
        return None
    return _Closed(nest, tuple(v for v in outer if v not in variables), tuple(variables))


def _is_only_in(inside: set[int], variable: Any, uses: _Uses) -> bool:
    return all(id(block) in inside for block in uses.blocks(variable))


def _is_phi_of(nest: LoopRegion, inside: set[int], uses: _Uses) -> bool:
    """Whether a value outside depends on the block from which the nest was left."""
    return any(
        isinstance(user, llvm.PhiInstr) and id(user.parent) not in inside
        for block in nest.blocks
        for user in uses.all.get(id(block), ())
    )


def _moved(module: llvm.Module, closed: _Closed, number: int) -> Any:
    """Move the nest to a function; returns the call that replaces it.

    Values and blocks are referred to by name, so the new function's arguments have the names of the
    values outside.
    """
    nest, old = closed.nest, closed.nest.before.function
    type_ = llvm.FunctionType(VOID, [value.type for value in closed.reads])
    new = llvm.Function(module, type_, f"nest.{number}")
    new.linkage = "internal"
    new.attributes.add("noinline")
    new.attributes.add("nounwind")
    new.scope = type(new.scope)()  # without the initial names of arguments
    for value, argument in zip(closed.reads, new.args, strict=True):
        argument.name = value.name
    entry = new.append_basic_block(nest.before.name)
    for variable in closed.variables:
        variable.parent.instructions.remove(variable)
        variable.parent = entry
        entry.instructions.append(variable)
    llvm.IRBuilder(entry).branch(nest.head)
    for block in nest.blocks:
        block.parent = new
        new.blocks.append(block)
    llvm.IRBuilder(new.append_basic_block(nest.after.name)).ret_void()
    place = old.append_basic_block("nest")
    end = nest.before.terminator
    end.operands = [place if each is nest.head else each for each in end.operands]
    builder = llvm.IRBuilder(place)
    builder.debug_metadata = nest.head.instructions[-1].metadata.get("dbg")
    call = builder.call(new, closed.reads)
    builder.branch(nest.after)
    return call


def _key(function: llvm.Function, loops: Mapping[str, str]) -> str:
    """The text of a function with normalized names."""
    names: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        return names.setdefault(found[1] or found[2], f"%{len(names)}")

    text = _NAME.sub(number, str(function))
    return _NODE.sub(lambda found: loops.get(found[0], found[0]), text.partition("(")[2])


def _hints(node: Any) -> str:
    """A metadata node as text; of a loop's, which begins with itself, the rest."""
    rest = node.operands[1:] if node.operands and node.operands[0] is node else ()
    said = [str(each.get_reference()) for each in rest]
    return " ".join(said) if rest else str(node.get_reference())
