"""Equal steps of a large kernel are written once, as a function, and called.

The first step of a description is emitted into a function of its own, whose arguments are the
values that it reads. Steps of the same description after it are calls with other arguments: the
layers of a network, which differ in memory and numbers only. Steps that are like each other in no
description may still be merged (outline.py).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.failure import is_in_parallel_part
from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.llvm_types import VOID, internal_function
from treadle.jit.codegen.steps.description import StepDescription, Undescribed
from treadle.jit.codegen.steps.outline import operands_of, replace_operand
from treadle.jit.kernel.ir import Node
from treadle.jit.schedule.fusion import Nest
from treadle.jit.schedule.parallelism import Parallelism


@dataclass(frozen=True, eq=False, slots=True)
class StepFunction:
    """The function of a step, and which values of its description are the arguments."""

    function: Any
    arguments: Sequence[int]


def emit_nest_once(
    context: CodegenContext,
    nest: Nest,
    targets: dict[Node, list[Buffer]],
    found: Parallelism,
    emit: Callable[[], None],
) -> None:
    """Emit the code of a nest, or call the function of an equal one."""
    described = _described(context, nest, targets, found)
    if described is None:
        emit()
        return
    key, values = described
    made = context.functions.made.get(key)
    if made is not None:
        _call(context, made.function, [values[number] for number in made.arguments])
        return
    function, arguments = _emit_function(context, emit)
    _call(context, function, arguments)
    place = {id(value): number for number, value in enumerate(values)}
    numbers = [place.get(id(each), -1) for each in arguments]
    if -1 not in numbers:
        context.functions.made[key] = StepFunction(function, numbers)


def _call(context: CodegenContext, function: Any, arguments: list[Any]) -> None:
    context.functions.step_calls.append(context.builder.builder.call(function, arguments))


def _described(
    context: CodegenContext, nest: Nest, targets: dict[Node, list[Buffer]], found: Parallelism
) -> tuple[Hashable, list[Any]] | None:
    """The description of a nest and its values; None if it is emitted where it stands."""
    if nest not in context.schedule.functions.once or context.access.anew:
        return None
    if context.functions.is_outlined or is_in_parallel_part(context):
        return None
    description = StepDescription(context, nest.nodes)
    try:
        key = (
            found,
            tuple(map(description.node, nest.nodes)),
            tuple(tuple(map(description.buffer, targets[node])) for node in nest.nodes),
        )
    except Undescribed:
        return None
    return key, description.values


def _emit_function(context: CodegenContext, emit: Callable[[], None]) -> tuple[Any, list[Any]]:
    """A function of the code that `emit` writes, and the values to call it with."""
    outer, access = context.builder, context.access
    module, count = outer.module, len(context.functions.step_calls)
    draft = llvm.Function(module, llvm.FunctionType(VOID, []), f"draft.{count}")
    own = context.builder = access.builder = FunctionBuilder(module, draft, outer.target)
    with access.scope(is_alone=True):
        emit()
    own.builder.ret_void()
    own.close_entry()
    context.builder = access.builder = outer
    del module.globals[draft.name]
    return _with_arguments(module, draft, f"step.{count}")


def _with_arguments(module: llvm.Module, draft: llvm.Function, name: str) -> tuple[Any, list[Any]]:
    """The draft's code as a function whose arguments are the values it reads, and these."""
    read = _outer_values(draft)
    types = [value.type for value in read]
    function = internal_function(module, name, VOID, types, "noinline", "nounwind")
    function.scope = draft.scope
    arguments = {id(value): own for value, own in zip(read, function.args, strict=True)}
    for argument in function.args:
        argument.name = "given"
    for block in draft.blocks:
        block.parent = function
        function.blocks.append(block)
        for instruction in block.instructions:
            _substitute(instruction, arguments)
    return function, read


def _outer_values(draft: llvm.Function) -> list[Any]:
    """The values of other functions that the code reads, in order of use."""
    found: dict[int, Any] = {}
    for block in draft.blocks:
        for instruction in block.instructions:
            for value in operands_of(instruction):
                if isinstance(value, llvm.Instruction | llvm.Argument):
                    owner = value.parent if isinstance(value, llvm.Argument) else value.function
                    if owner is not draft:
                        found[id(value)] = value
    return list(found.values())


def _substitute(instruction: Any, arguments: dict[int, Any]) -> None:
    """Have an instruction read the arguments instead of values of other functions."""
    for value in list(operands_of(instruction)):
        if id(value) in arguments:
            replace_operand(instruction, value, arguments[id(value)])
