"""Outlines loop nests of a large kernel into functions, and merges equal functions.

LLVM's compile time grows with the square of a function's size: a decoder of twelve layers in one
function took minutes. `schedule/steps/step_functions.py` says of which kernels. The code of a step
with a single exit is moved out, with its inputs as arguments and memory for its few results; or
else the nests inside it. The layers of a network become the same functions over different memory
and numbers. Which code has a single exit, and which functions are equal, only their text tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.function_builder import LoopRegion
from treadle.jit.codegen.llvm_types import VOID, internal_function
from treadle.jit.codegen.parallel_call import ParallelCall
from treadle.jit.schedule.steps.step_functions import StepFunctions

_NAME = re.compile(r'%"([^"]*)"|^([\w.]+)(?=:$)', re.MULTILINE)
_NODE = re.compile(r"!\d+")


def outline(
    module: llvm.Module,
    function: llvm.Function,
    nests: Sequence[LoopRegion],
    decided: StepFunctions,
) -> list[Any]:
    """Outline the steps of a function, or the nests in them; returns the calls."""
    uses = _Uses.of(function)
    found = [closed for nest in nests for closed in _all_closed(nest, uses, decided)]
    gone = {id(block) for closed in found for block in closed.nest.blocks}
    function.blocks[:] = [block for block in function.blocks if id(block) not in gone]
    return [_moved(module, closed, number, uses) for number, closed in enumerate(found)]


def _length(nest: LoopRegion) -> int:
    return sum(len(block.instructions) for block in nest.blocks)


def _all_closed(nest: LoopRegion, uses: _Uses, decided: StepFunctions) -> Iterator[_Closed]:
    """The nest if it can be outlined; else those inside it that can."""
    is_short = nest.is_step and not nest.inner and _length(nest) < decided.least
    has_steps = any(each.is_step for each in nest.inner)
    closed = None if is_short or has_steps else _closed(nest, uses, decided.results)
    if closed is not None:
        yield closed
        return
    for inner in nest.inner:
        yield from _all_closed(inner, uses, decided)


def merge(module: llvm.Module, calls: Sequence[Any]) -> None:
    """Redirect calls of equal functions to one of them."""
    loops = {each.get_reference(): _hints(each) for each in module.metadata}
    made: dict[str, llvm.Function] = {}
    kept: dict[int, llvm.Function] = {}
    for call in calls:
        own = call.callee
        if id(own) not in kept:
            kept[id(own)] = made.setdefault(_key(own, loops), own)
            if kept[id(own)] is not own:
                del module.globals[own.name]
        call.operands = [kept[id(own)], *call.operands[1:]]


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
    """A nest that can be outlined, its inputs, the variables only it uses, and its results."""

    nest: LoopRegion
    reads: tuple[Any, ...]
    variables: tuple[Any, ...]
    results: tuple[Any, ...]


@dataclass(frozen=True, eq=False, slots=True)
class _Uses:
    """The instructions that use each value or branch to each block, by identity.

    `loaded` are the results of outlined steps, as they are loaded after the call.
    """

    all: dict[int, list[Any]] = field(default_factory=dict)
    loaded: dict[int, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, function: llvm.Function) -> _Uses:
        """The uses in a whole function."""
        uses = cls()
        for block in function.blocks:
            for instruction in block.instructions:
                for each in operands_of(instruction):
                    uses.all.setdefault(id(each), []).append(instruction)
        return uses

    def blocks(self, value: Any) -> Iterator[Any]:
        """The blocks of the instructions that use the value."""
        for instruction in self.all.get(id(value), ()):
            yield instruction.parent


def operands_of(instruction: Any) -> Iterator[Any]:
    """The values and blocks an instruction refers to."""
    if isinstance(instruction, llvm.PhiInstr):
        for value, block in instruction.incomings:
            yield from (value, block)
        return
    yield from instruction.operands


def _closed(nest: LoopRegion, uses: _Uses, most: int) -> _Closed | None:
    """The nest with its inputs and results, `most` of them; None if it has other ways in or out."""
    inside = {id(block) for block in nest.blocks}
    if not _is_entered_at_head(nest, inside, uses):
        return None
    reads: dict[int, Any] = {}
    results: list[Any] = []
    for block in nest.blocks:
        for instruction in block.instructions:
            if any(id(user) not in inside for user in uses.blocks(instruction)):
                results.append(instruction)
            for each in operands_of(instruction):
                if isinstance(each, llvm.Block):
                    if id(each) not in inside and each not in (nest.before, nest.after):
                        return None
                elif isinstance(each, llvm.Instruction | llvm.Argument):
                    reads[id(each)] = each
    own = {id(i) for block in nest.blocks for i in block.instructions}
    outer = [value for key, value in reads.items() if key not in own]
    variables = [v for v in outer if isinstance(v, llvm.AllocaInstr)]
    if not own or len(results) > most:
        return None
    variables = [v for v in variables if inside.issuperset(map(id, uses.blocks(v)))]
    reads_ = tuple(v for v in outer if v not in variables)
    return _Closed(nest, reads_, tuple(variables), tuple(results))


def _is_entered_at_head(nest: LoopRegion, inside: set[int], uses: _Uses) -> bool:
    """Whether no block outside refers to one inside, but the one before it, to the head."""
    return all(
        id(user.parent) in inside or (block is nest.head and user is nest.before.terminator)
        for block in nest.blocks
        for user in uses.all.get(id(block), ())
    )


def _moved(module: llvm.Module, closed: _Closed, number: int, uses: _Uses) -> Any:
    """Move the nest to a function; returns the call that replaces it.

    Values and blocks are referred to by name, so the new function's arguments have the names of the
    values outside.
    """
    nest, old = closed.nest, closed.nest.before.function
    slots = [_variable(old, value.type) for value in closed.results]
    given = [*(uses.loaded.get(id(value), value) for value in closed.reads), *slots]
    types = [value.type for value in given]
    new = internal_function(module, f"nest.{number}", VOID, types, "noinline", "nounwind")
    new.scope = type(new.scope)()  # without the initial names of arguments
    for value, argument in zip(given, new.args, strict=True):
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
    end_of_new = llvm.IRBuilder(new.append_basic_block(nest.after.name))
    for value, slot in zip(closed.results, new.args[len(closed.reads) :], strict=True):
        end_of_new.store(value, slot)
    end_of_new.ret_void()
    place = old.append_basic_block("nest")
    end = nest.before.terminator
    end.operands = [place if each is nest.head else each for each in end.operands]
    builder = llvm.IRBuilder(place)
    builder.debug_metadata = nest.head.instructions[-1].metadata.get("dbg")
    call = builder.call(new, given)
    inside = {id(block) for block in nest.blocks}
    for value, slot in zip(closed.results, slots, strict=True):
        uses.loaded[id(value)] = found = builder.load(slot, typ=value.type)
        for user in uses.all[id(value)]:
            if id(user.parent) not in inside:
                replace_operand(user, value, found)
    builder.branch(nest.after)
    return call


def replace_operand(user: Any, old: Any, new: Any) -> None:
    """Have an instruction use another value, also in fields that repeat its operands."""
    user.replace_usage(old, new)
    for name in ("pointer", "aggregate", "value"):
        if getattr(user, name, None) is old:
            setattr(user, name, new)
    if isinstance(user, llvm.GEPInstr):
        user.indices = user.operands[1:]


def _variable(function: llvm.Function, type_: Any) -> Any:
    """A local variable of a function."""
    entry = function.blocks[0]
    builder = llvm.IRBuilder(entry)
    builder.position_at_start(entry)
    return builder.alloca(type_)


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
