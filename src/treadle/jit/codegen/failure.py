"""Leaving a kernel that cannot go on."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.llvm_types import I64


def is_in_parallel_part(context: CodegenContext) -> bool:
    """Whether the function being written is a part of a nest that several threads share."""
    return bool(context.builder.function.name != context.exit.block.function.name)


def fail_if(context: CodegenContext, condition: Any, status: int) -> None:
    """Leave the kernel with the status where the condition holds; not from a parallel part."""
    assert not is_in_parallel_part(context), "what several threads write cannot fail"
    with context.builder.rarely(condition):
        context.builder.builder.store(llvm.Constant(I64, status), context.exit.status)
        context.builder.builder.branch(context.exit.block)
